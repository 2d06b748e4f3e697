"""The verdict in words. Numbers in, sentences out."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tare.fidelity.comparison import column_of

if TYPE_CHECKING:
    from tare.measure.cost import Costed, Crossing, Profile
    from tare.measure.recommend import Choice

__all__ = [
    "IDLE",
    "READING_ALONE",
    "WRITING_ALONE",
    "failure",
    "flip",
    "listed",
    "noise_floor",
    "nothing",
    "odds",
    "percent",
    "rate",
    "reasons",
    "sentence",
    "size",
    "unreached",
]

# Of a record that measured one of the two ways: reports put it beside the verdict.
READING_ALONE = "writing was not measured: of reading alone"
WRITING_ALONE = "reading was not measured: of writing alone"

# Below this, a difference is not worth a sentence.
WORTH = 1.15
SAYS = {
    "unproven": "",
    "error": "failed: ",
    "timeout": "took too long: ",
    "killed": "",
    "refused": "refuses the data: ",
    "n/a": "does not apply: ",
    "screened": "",
}


def scaled(value: float, units: Sequence[str]) -> str:
    """A number with a decimal prefix, three digits.

    >>> scaled(5_140_000, ("B", "kB", "MB", "GB"))
    '5.14 MB'
    """
    place = 0
    while abs(value) >= 999.5 and place < len(units) - 1:
        value, place = value / 1000, place + 1
    return f"{value:.3g} {units[place]}"


def size(value: float) -> str:
    """Bytes for people.

    >>> size(27_500_000)
    '27.5 MB'
    """
    return scaled(value, ("B", "kB", "MB", "GB", "TB"))


def rate(value: float) -> str:
    """Bytes per second for people.

    >>> rate(21e6)
    '21 MB/s'
    """
    return size(value) + "/s"


def percent(share: float) -> str:
    """A share for people.

    >>> percent(0.3333), percent(0.044), percent(0.00012)
    ('33 %', '4.4 %', '0.012 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def noise_floor(share: float) -> str:
    """The noise floor for people.

    >>> noise_floor(0.34), noise_floor(8.009)
    ('noise floor 34 %', 'noise floor above 100 %: nothing can be told apart')
    """
    return f"noise floor {percent(share) if share < 1 else 'above 100 %: nothing can be told apart'}"


def odds(p: float) -> str:
    """P(best), never printed as certain.

    >>> odds(0.974), odds(1.0), odds(0.001)
    ('0.97', '> 0.99', '< 0.01')
    """
    if p > 0.995:
        return "> 0.99"
    return "< 0.01" if p < 0.005 else f"{p:.2f}"


def unreached(some: int, of: int, untimed: int = 0) -> str:
    """How many codecs the time did not suffice for.

    Args:
        some: Codecs that were never called.
        of: All codecs.
        untimed: Codecs of which only first calls were timed.

    >>> unreached(1, 9), unreached(5, 9, 3)
    ('1 of 9 codecs was not reached in the time given', '5 of 9 codecs were not reached in the time given, and 3 not timed enough')
    >>> unreached(0, 9, 3)
    '3 of 9 codecs were not timed enough in the time given'
    """
    were = "was" if (some or untimed) == 1 else "were"
    if not some:
        return f"{untimed} of {of} codecs {were} not timed enough in the time given"
    more = f", and {untimed} not timed enough" if untimed else ""
    return f"{some} of {of} codecs {were} not reached in the time given{more}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """A few names, and how many more there are.

    >>> listed(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    shown = ", ".join(name[:60] for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


# How a reason ends that memory may have to do with: by the limit that its process was given.
HELD = "; its process was held to "
# Where an address stood before it, the semicolon went with that when the record was cleaned.
_HELD_AT_END = re.compile(r"(?:; | )its process was held to ([0-9.e+]{1,12} GB)$")
_OF_MEMORY = re.compile(r"memory|cannot allocate|heap space", re.IGNORECASE)


def of_memory(reason: str) -> bool:
    """Whether a failure's own words are of memory.

    >>> of_memory("decode: MemoryError"), of_memory("no answer within 30 s")
    (True, False)
    """
    return _OF_MEMORY.search(reason) is not None


def parted(reason: str) -> tuple[str, str]:
    """A reason and how it ends if it names the limit of its process: where a reason is cut, that stays.

    >>> parted(f"decode: MemoryError{HELD}6.11 GB")
    ('decode: MemoryError', '; its process was held to 6.11 GB')
    >>> parted("no answer within 30 s")
    ('no answer within 30 s', '')
    >>> parted("see https://... its process was held to 5.92 GB")
    ('see https://...', '; its process was held to 5.92 GB')
    """
    found = _HELD_AT_END.search(reason)
    return (reason[: found.start()], f"{HELD}{found[1]}") if found else (reason, "")


def failure(status: str, reason: str) -> str:
    """Why a case that is not ``ok`` was left out."""
    if not reason:
        return {"n/a": "does not apply", "refused": "refuses the data"}.get(status, status)
    return SAYS.get(status, f"{status}: ") + reason


def times(ratio: float) -> str:
    """A ratio of 1 or more.

    >>> times(2.14), times(31.7)
    ('2.1x', '32x')
    """
    return f"{ratio:.1f}x" if ratio < 9.95 else f"{ratio:.0f}x"


def flip(axis: str, side: str, where: Crossing, codec: str) -> str:
    """One change of the choice, with its interval where there is one.

    >>> from tare.measure.cost import Crossing
    >>> flip("bandwidth", "below", Crossing(21e6, 18e6, 25e6), "parquet")
    'below 21 MB/s [18, 25]: parquet'
    >>> flip("bandwidth", "below", Crossing(12.5e6, 12.5e6, 12.5e6), "parquet")
    'below 12.5 MB/s: parquet'
    >>> flip("bandwidth", "below", Crossing(912e3, 455e3, 3.61e6), "parquet")
    'below 912 kB/s [455 kB/s, 3.61 MB/s]: parquet'
    >>> flip("reads", "below", Crossing(2.49, 1.52, 7.85), "json")
    'fewer than 3 reads [2, 8]: json'
    """
    if axis == "bandwidth":
        ends = [rate(end) for end in (where.at, where.lo, where.hi)]
        (at, unit), (lo, its), (hi, another) = (end.split() for end in ends)
        if not unit == its == another:
            lo, hi = ends[1:]
        lead = side
    else:
        # Reads are whole: fewer than 2.49 are at most 2, more than 2.49 at least 3.
        whole = math.floor if side == "above" else math.ceil
        at, lo, hi = (f"{whole(reads):,}" for reads in (where.at, where.lo, where.hi))
        lead, unit = "more than" if side == "above" else "fewer than", "read" if at == "1" else "reads"
    # One run has no interval, and one that rounding closes says nothing.
    between = "" if lo == hi else f" [{lo}, {hi}]"
    return f"{lead} {at} {unit}{between}: {codec}"


def came_back(case: Mapping[str, Any]) -> str:
    """What became of the own data, in words."""
    verify = case.get("verify") or {}
    columns, changes = verify.get("columns"), verify.get("changes") or ()
    lost = [change["path"] for change in changes if change.get("verdict") == "lossy"]
    typed = [change for change in changes if change.get("verdict") == "type"]
    said = ", says its own worker alone" if verify.get("unchecked") else ""
    if lost:
        return f"silently changed: {listed(lost)}"
    if typed:
        return f"{_typed(typed, columns)}{said}"
    if verify.get("verdict") not in ("same", "type"):
        return "what came back was not compared"
    if columns:
        of = {1: "its one column", 2: "both columns"}.get(columns, f"all {columns:,} columns")
        return f"{of} came back unchanged{said}"
    return f"every value came back unchanged{said}"


def _typed(changes: Sequence[Mapping[str, Any]], columns: int | None) -> str:
    """What came back as another type: columns, paths, or what lies beside the columns (``(metadata)``)."""
    if not columns:
        return f"{len(changes)} path{'s' * (len(changes) > 1)} came back as another type, nothing lost"
    changed = {column for change in changes if (column := column_of(change))}
    if not changed:
        return f"all columns came back unchanged, but for {listed([one['path'] for one in changes])}"
    return f"{min(len(changed), columns):,} of {columns:,} columns came back as another type, nothing lost"


def rival(winner: Costed, others: Sequence[Costed]) -> str:
    """What is given up by the choice: the quickest reader, else the smallest."""
    if not others:
        return ""
    quick = min(others, key=lambda one: one.read_s)
    if 0 < quick.read_s * WORTH < winner.read_s and quick.bytes > winner.bytes * WORTH:
        return (
            f"`{quick.codec}` reads {times(winner.read_s / quick.read_s)} faster but is "
            f"{times(quick.bytes / winner.bytes)} larger"
        )
    small = min(others, key=lambda one: one.bytes)
    took, takes = winner.write_s + winner.read_s, small.write_s + small.read_s
    if 0 < small.bytes * WORTH < winner.bytes and takes > took * WORTH:
        return (
            f"`{small.codec}` is {times(winner.bytes / small.bytes)} smaller but takes "
            f"{times(takes / took)} the time"
        )
    return ""


def against_base(codec: str, choice: Choice, cost_s: float, base_cost: float | None) -> str:
    """The cost as a multiple of the base's, and what it is the cost of."""
    base = choice.base
    if base is None or not base_cost:
        return ""
    if base.codec == codec:
        return "the base all others are measured against"
    ratio = cost_s / base_cost
    return f"{f'{ratio:.2f}' if ratio >= 0.1 else f'{ratio:.2g}'}x the base (`{base.codec}`) in total for {_counts(choice.profile)}"


def sentence(
    verdict: Mapping[str, Any],
    choice: Choice,
    winner: Costed,
    others: Sequence[Costed],
    base_cost: float | None,
) -> str:
    """The answer in one sentence; of a tie, in two."""
    if not verdict["named"]:
        return _tie(verdict, choice, winner)
    parts = [against_base(winner.codec, choice, verdict["cost_s"][winner.codec][0], base_cost)]
    if others:
        parts.append(f"P(best) {odds(verdict['p_best'])}{_among(choice)}")
    elif choice.base is winner:
        parts = [_alone(choice)]
    else:
        parts.insert(0, _alone(choice))
    use = "Provisional: use" if verdict["provisional"] else "Use"
    text = f"{use} `{verdict['route']}`: {', '.join(part for part in parts if part)}; {came_back(choice.cases[winner.codec])}"
    if verdict["executes_code"]:
        text += f"; {DANGER}"
    given_up = rival(winner, others)
    if given_up:
        text += f"; {given_up}"
    return text + "."


def _tie(verdict: Mapping[str, Any], choice: Choice, winner: Costed) -> str:
    names = listed([f"`{codec}`" for codec in verdict["tie"]], most=6)
    kept = came_back(choice.cases[winner.codec])
    if verdict["p_best"] is None:
        text = (
            f"Too early to choose for {verdict['profile']}: of {len(choice.waiting) + 1} codecs only "
            f"`{winner.codec}` was weighed. By default `{verdict['route']}`: {size(winner.bytes)}; {kept}"
        )
    elif verdict["vague"]:
        # Few launches and a part of the data make draws wide on a quiet machine too.
        noisy = verdict["noise"] > 0 or not verdict["provisional"]
        spent = [verdict["cost_s"][codec][0] for codec in verdict["tie"]]
        text = (
            f"Too {'noisy' if noisy else 'early'} to choose for {verdict['profile']}: costs up to "
            f"{times(max(spent) / min(spent))} apart are not told apart: {names}. The most likely best, by "
            f"default, is `{verdict['route']}`: P(best) {odds(verdict['p_best'])}{_among(choice)}, "
            f"{size(winner.bytes)}; {kept}"
        )
    else:
        noisy = f" ({noise_floor(verdict['noise'])})" if verdict["noise"] else ""
        text = (
            f"{'Provisional: a' if verdict['provisional'] else 'A'} tie for {verdict['profile']}, smallest first: "
            f"{names}. None is shown to be better{noisy}; choose by size or fidelity: `{winner.codec}` takes "
            f"{size(winner.bytes)}; {kept}"
        )
    unsafe = [f"`{codec}`" for codec in verdict["tie"] if choice.runs_code(codec)]
    return f"{text}{f'; of {listed(unsafe)}: {DANGER}' if unsafe else ''}."


def _among(choice: Choice) -> str:
    """Whom odds are the odds among, where some that may be better were not weighed."""
    return f" among the {len(choice.several)} weighed" if choice.waiting else ""


def _alone(choice: Choice) -> str:
    """Why there is nothing to compare the only one with."""
    if any(names[0] == "asked" for _, names, _ in choice.excluded):
        return "the only codec that was asked for"
    rest = [names for _, names, _ in choice.excluded if names[0] not in ABSENT + BROKEN]
    return "the only codec that qualifies" if rest else "the only codec that was weighed"


def reasons(
    verdict: Mapping[str, Any],
    choice: Choice,
    winner: Costed,
    others: Sequence[Costed],
) -> list[str]:
    """What the answer rests on, one line each."""
    use, costs = choice.profile, verdict["cost_s"]
    weigh = f"{use.says}: {_counts(use)}"
    if use.rtt_s:
        weigh += f", {use.rtt_s * 1e3:.3g} ms round trip"
    if use.seconds_per_byte:
        weigh += f", {use.seconds_per_byte * 1e9:.3g} s per GB saved"
    lines = [weigh]
    if others and verdict["named"]:
        ratio = costs[others[0].codec][0] / max(costs[winner.codec][0], 1e-30)
        lines.append(f"next: `{others[0].codec}`, {ratio:.3g}x the cost")
    if verdict["named"] and len(verdict["tie"]) > 1:
        ties = [f"`{codec}`" for codec in verdict["tie"] if codec != winner.codec]
        lines.append(f"a tie with {listed(ties)}: choose by size or fidelity")
    lines.append(came_back(choice.cases[winner.codec]))
    # A codec that falls to its own data or to a failure is no news of the profile's conditions.
    return lines + _left_out(choice.excluded, but=ABSENT) + choice.notes


def _counts(use: Profile) -> str:
    """What a cost is the cost of: ``1 write and 10 reads at 125 MB/s``."""
    numbers = ((use.writes, "write"), (use.reads, "read"), (use.subset_reads, "partial read"))
    parts = [f"{_count(times)} {what}{'s' * (times != 1)}" for times, what in numbers if times]
    said = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or "nothing"
    return said + (f" at {rate(use.bytes_per_s)}" if use.bytes_per_s < float("inf") else "")


def _count(times: float) -> str:
    return f"{times:,.0f}" if float(times).is_integer() else f"{times:g}"


def _left_out(excluded: Sequence[tuple[str, tuple[str, ...], str]], but: Sequence[str]) -> list[str]:
    """Who was left out and why, one part for codecs that fell to the same conditions."""
    reasons_of: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for codec, names, _ in excluded:
        told = tuple(name for name in names if name not in but)
        if told:
            reasons_of[told].append(f"`{codec}`")
    return [
        f"{listed(codecs)} left out ({'; '.join(_why(name) for name in names)})"
        for names, codecs in sorted(reasons_of.items())
    ]


def _why(name: str) -> str:
    head, _, language = name.partition(":")
    return f"not read in {language}" if head == "readable" else LEFT_OUT.get(name, name)


# What is no news in a verdict: codecs that were not in the race, and those that fell by themselves.
ABSENT = ("measured", "screened", "n/a", "pending", "asked")
BROKEN = ("error", "timeout", "killed", "refused", "unproven")
IDLE = "reads in less time than copying its bytes takes: lazy or did not run"
LEFT_OUT = {
    "idle": IDLE,
    "loss": "data changed silently",
    "spec": "no written spec",
    "no code": "can run code or crash when read",
    "two readers": "fewer than 2 independent readers",
    "three languages": "fewer than 3 languages",
    "subset": "cannot be read in part",
    "subset measured": "reading a part was not measured",
    "keep-types": "types or values changed",
    "untrusted": "not safe for bytes from others",
    "append": "cannot be appended to",
    "error": "failed",
    "timeout": "took too long",
    "killed": "killed",
    "refused": "refused the data",
    "unproven": "nothing came back",
}
DANGER = "bytes from others can run code or crash it, so only read your own"


def nothing(
    profile: str,
    excluded: Sequence[tuple[str, tuple[str, ...], str]],
    *,
    own: Collection[str] = (),
    must: Collection[str] = (),
    provisional: bool = False,
) -> tuple[str, list[str]]:
    """The sentence when no codec qualifies, and lines that say what to give up.

    Args:
        profile: Name of the use.
        excluded: (codec, names of the conditions it fails, reason).
        own: Conditions of the use itself, which no option gives up.
        must: Conditions that the user added, or repeated.
        provisional: Whether codecs may still come.

    >>> nothing("cache", [("a", ("append",), "cannot be appended to"), ("b", ("append", "untrusted"), "...")])[0]
    'No route for cache: `a` left out (cannot be appended to); `b` left out (cannot be appended to; not safe for bytes from others).'
    """
    lead = f"{'Provisional: no' if provisional else 'No'} route for {profile}: "
    if all(names[0] in ABSENT for _, names, _ in excluded):
        asked = any(names[0] == "asked" for _, names, _ in excluded)
        return f"{lead}no codec {'asked for ' if asked else ''}was measured.", []
    alone: dict[str, list[str]] = defaultdict(list)
    for codec, names, _ in excluded:
        # Nothing that a user gives up makes reading of what does not read.
        if len(names) == 1 and names[0] not in (*ABSENT, *BROKEN, "idle"):
            alone[names[0]].append(f"`{codec}`")
    parts = _left_out(excluded, but=ABSENT + BROKEN)
    broken = [f"`{codec}` {reason}" for codec, names, reason in excluded if names[0] in BROKEN]
    if broken:
        parts.append(f"{len(broken)} failed: {broken[0].rstrip('.')}")
    relax = [_without(name, codecs, own, must) for name, codecs in alone.items()]
    return f"{lead}{'; '.join(parts)}.", relax


def _without(name: str, codecs: Sequence[str], own: Collection[str], must: Collection[str]) -> str:
    if name == "loss":
        return f"with --allow-loss for their paths {listed(codecs)} would qualify"
    if name == "subset measured":
        return f"with a plan that measures reading a part (factor subset) {listed(codecs)} could qualify"
    if name not in own:
        return f"without {name} {listed(codecs)} would qualify"
    more = f", without --must {name}" if name in must else ""
    other = f"for another use (--for cache, say{more}) {listed(codecs)} could qualify"
    return f"{_in_part()}; {other}" if name == "subset" else other


def _in_part() -> str:
    """Which formats that have files of their own can be read in part."""
    from tare.formats import FORMATS

    able = [format for format in FORMATS if format.subset and format.extensions]
    documents = listed([format.id for format in able if "document" in format.kinds])
    tables = listed([format.id for format in able if "document" not in format.kinds])
    return f"{documents} can be read in part, and so can {tables}, which hold tables"
