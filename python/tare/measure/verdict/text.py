"""The words of a verdict: numbers in, sentences out."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tare.codec.titles import title_of, titles_of
from tare.measure.analysis.extrapolate import OPERATIONS
from tare.measure.verdict.gains import WORTH, against
from tare.measure.verdict.kept import came_back
from tare.measure.verdict.units import duration, listed, noise_floor, percent, rate, size, times
from tare.quantities import amount

if TYPE_CHECKING:
    from tare.measure.verdict.choice import Choice
    from tare.measure.verdict.cost_model import Costed, Crossing, Profile

__all__ = [
    "CANNOT_TELL",
    "CLEAR",
    "CLOSE",
    "IDLE",
    "READING_ALONE",
    "WRITING_ALONE",
    "alone",
    "amount",
    "came_back",
    "costing",
    "counts",
    "doubt",
    "duration",
    "failure",
    "flip",
    "is_estimated",
    "listed",
    "noise_floor",
    "nothing",
    "percent",
    "rate",
    "reasons",
    "round_trip",
    "sentence",
    "size",
    "sized",
    "spent",
    "unreached",
    "weights",
]

# Of a record that measured one of the two ways: reports put it beside the verdict.
READING_ALONE = "writing was not measured: of reading alone"
WRITING_ALONE = "reading was not measured: of writing alone"

# How sure a recommendation is.
CLEAR, CLOSE, CANNOT_TELL = "clear", "close", "can't tell"

# From this share on, it is all of the data.
WHOLE = 0.9995
# As many rivals are named, with what they cost.
NAMED = 3
SAYS = {
    "unproven": "",
    "error": "failed: ",
    "timeout": "took too long: ",
    "killed": "",
    "refused": "refuses the data: ",
    "n/a": "does not apply: ",
    "screened": "",
}


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


def flip(axis: str, side: str, where: Crossing, codec: str) -> str:
    """One change of the choice, with its interval where there is one.

    >>> from tare.measure.verdict.cost_model import Crossing
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


def sentence(verdict: Mapping[str, Any], choice: Choice) -> str:
    """The answer in one or two sentences."""
    own = verdict["chosen"]
    case = choice.cases[own["codec"]]
    facts = [
        ", ".join([sized(own), *spent(own, spans=choice.medium not in OPERATIONS)]),
        came_back(case, choice.source_format, index=choice.index),
    ]
    facts += [said for said in (verdict["beside"], verdict["only_ours"]) if said]
    facts += [_alone(choice)] if len(choice.several) == 1 and not choice.waiting else []
    facts += [DANGER] if verdict["executes_code"] else []
    lead = "Use" if verdict["confidence"] != CANNOT_TELL else "By default use"
    if keeps := verdict.get("keeps_file"):
        lead = f"{keeps[:1].upper()}{keeps[1:]}. Cheapest is"
    told = f"{lead} {title_of(own['codec'])} (`{verdict['route']}`): {'; '.join(facts)}."
    more = doubt(verdict)
    return f"{told} {more}" if more else told


def is_estimated(own: Mapping[str, Any]) -> bool:
    """Returns whether a codec's bytes are estimated from those of a part of the data.

    Args:
        own: Its figures; records of before that was kept do not tell.
    """
    share = own.get("size_share")
    return isinstance(share, (int, float)) and 0 < share < WHOLE


def sized(own: Mapping[str, Any]) -> str:
    """Returns the size of what a codec writes, behind a tilde where it is estimated from a part of the data.

    >>> sized({"bytes": 5.7e6}), sized({"bytes": 5.7e6, "size_share": 0.2})
    ('5.7 MB', '~5.7 MB')
    """
    return f"{'~' * is_estimated(own)}{amount(own.get('bytes') or 0.0)}"


def spent(own: Mapping[str, Any], *, spans: bool = False) -> list[str]:
    """The times of a codec in words; what was not measured is left out.

    Args:
        own: ``write_s``, ``read_s``, and ``part_s`` where parts are read.
        spans: Whether both ends worked at once, so that one time is of both.

    >>> spent({"write_s": 0.065, "read_s": 0.016}), spent({"write_s": 0.065, "read_s": 0}, spans=True)
    (['write 65 ms', 'read 16 ms'], ['65 ms from end to end'])
    >>> spent({"write_s": 0.065, "read_s": 0.016, "part_s": 0.001})
    ['read a part 1 ms', 'all 16 ms']
    """
    if spans:
        return [f"{duration(own['write_s'])} from end to end"]
    if own.get("part_s"):
        return [f"read a part {duration(own['part_s'])}", f"all {duration(own['read_s'])}"]
    return [f"{way} {duration(own[f'{way}_s'])}" for way in ("write", "read") if own.get(f"{way}_s")]


def _alone(choice: Choice) -> str:
    """Why there is nothing to compare the only one with."""
    asked = any(names[0] == "asked" for _, names, _ in choice.excluded)
    return f"the only codec that {'was asked for' if asked else 'qualifies'}"


def doubt(verdict: Mapping[str, Any]) -> str:
    """What keeps the answer from being clear, in a sentence; empty where it is."""
    level, why = verdict["confidence"], list(verdict["why"])
    chosen = f" {said}." if (said := verdict.get("preferred")) else ""
    if level == CANNOT_TELL:
        near = listed([title_of(codec) for codec in verdict["rivals"]], word="or")
        among = f" Among the measured, {near} may be as good." if near else ""
        return f"Can't tell whether it is the best: {'; '.join(why)}.{among}{chosen}"
    if level != CLOSE:
        return ""
    near = verdict["rivals"][:NAMED]
    parts = [costing(verdict, codec) for codec in near]
    if not parts:
        return f"Close: probably the best, but {'; '.join(why) or 'the times vary by more than the codecs differ'}."
    others = len(verdict["rivals"]) - NAMED
    more = f" {others} more cost{'s' * (others == 1)} about as much." if others > 0 else ""
    own = verdict["cost_s"][verdict["codec"]][0]
    far = own and any(verdict["cost_s"][codec][0] / own > WORTH for codec in near)
    varies = " The times vary by as much." if far else ""
    return f"Close: {'; '.join(parts)}.{varies}{chosen}{more}{f' Also, {why[0]}.' if why else ''}"


def costing(verdict: Mapping[str, Any], codec: str) -> str:
    """Returns what a codec costs beside the recommended one, and how it differs.

    Args:
        verdict: The verdict, with ``cost_s``, ``figures`` and ``chosen``.
        codec: Another codec that qualifies.

    >>> figures = {"a": {"bytes": 1e6, "read_s": 0.1}, "b": {"bytes": 2e6, "read_s": 0.1}}
    >>> found = {"codec": "a", "cost_s": {"a": [1.0], "b": [1.3]}, "figures": figures, "chosen": figures["a"]}
    >>> costing(found | {"profile": "keep"}, "b")
    'b costs 30 % more in all (2.0x larger)'
    """
    own, its = verdict["cost_s"][verdict["codec"]][0], verdict["cost_s"][codec][0]
    more = its / own - 1 if own else 0.0
    spent = (
        "costs the same"
        if abs(more) < 0.01
        else f"costs {times(1 + more)} as much in all"
        if more >= 1
        else f"costs {percent(abs(more))} {'more' if more > 0 else 'less'} in all"
    )
    ways = ("write", "read") if verdict["profile"] == "message" else ("read",)
    differs = against(verdict["figures"][codec], verdict["chosen"], ways)
    return f"{title_of(codec)} {spent}{f' ({differs})' if differs else ''}"


def reasons(verdict: Mapping[str, Any], choice: Choice, others: Sequence[Costed]) -> list[str]:
    """What the answer rests on, one line each."""
    lines = [weights(choice.profile)]
    if others:
        lines.append(costing(verdict, others[0].codec))
    lines.append(came_back(choice.cases[verdict["codec"]], choice.source_format, index=choice.index))
    # A codec that falls to its own data or to a failure is no news of the profile's conditions.
    return lines + _left_out(choice.excluded, but=ABSENT) + choice.notes


def weights(use: Profile) -> str:
    """Returns what a use is for, and what it counts.

    >>> from tare.measure.verdict.cost_model import PROFILES
    >>> weights(PROFILES["keep"])
    'files you keep and come back to: 1 write + 5 reads + 20 s/GB'
    """
    numbers = use.weights()
    return "; ".join(filter(None, (f"{use.says}: {counts(numbers)}", round_trip(numbers))))


def counts(numbers: Mapping[str, float | None]) -> str:
    """Returns what a cost is the cost of, without the round trip, which `round_trip` tells of.

    Args:
        numbers: Weights of a use: ``w, r, n, v, s``, as a verdict has them.

    >>> counts({"w": 1, "r": 10, "v": 125e6, "s": 1e-9}), counts({"w": 1, "r": 1, "n": 1000})
    ('1 write + 10 reads at 125 MB/s + 1 s/GB', '1 write + 1 read + 1,000 reads of one column')
    """
    w, r, n, v, s = (numbers.get(name) or 0.0 for name in ("w", "r", "n", "v", "s"))
    parts = [
        f"{_count(times)} {what}{'s' * (times != 1)}" for times, what in ((w, "write"), (r, "read")) if times
    ]
    parts += [f"{_count(n)} read{'s' * (n != 1)} of one column"] if n else []
    link = f" at {rate(v)}" * bool(v)
    price = f" + {s * 1e9:.3g} s/GB" if s else ""
    return f"{' + '.join(parts) or 'nothing'}{link}{price}"


def round_trip(numbers: Mapping[str, float | None]) -> str:
    """Says that the round trip is no part of a cost; empty where there is none.

    >>> round_trip({"rtt": 0.3e-3}), round_trip({})
    ('the round trip of 0.3 ms, the same for all, is left out', '')
    """
    trip = numbers.get("rtt")
    return f"the round trip of {trip * 1e3:.3g} ms, the same for all, is left out" if trip else ""


def _count(times: float) -> str:
    return f"{times:,.0f}" if float(times).is_integer() else f"{times:g}"


def _left_out(excluded: Sequence[tuple[str, tuple[str, ...], str]], but: Sequence[str]) -> list[str]:
    """Who was left out and why, one part for codecs that fell to the same conditions."""
    reasons_of: dict[tuple[str, ...], list[str]] = defaultdict(list)
    names_of = titles_of(codec for codec, _, _ in excluded)
    for codec, names, _ in excluded:
        told = tuple(name for name in names if name not in but)
        if told:
            reasons_of[told].append(names_of[codec])
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
IDLE = "reads in less time than copying its bytes takes, so it did no work"
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
    timed: bool = True,
    lines: bool = False,
) -> tuple[str, list[str]]:
    """The sentence when no codec qualifies, and lines that say what to give up.

    Args:
        profile: Name of the use.
        excluded: (codec, names of the conditions it fails, reason).
        own: Conditions of the use itself, which no option gives up.
        must: Conditions that the user added, or repeated.
        provisional: Whether codecs may still come.
        timed: Whether any codec was timed: if none was, and some were waited for, the time was too short.
        lines: Whether it is of documents, one call each.

    >>> nothing("cache", [("a", ("append",), "cannot be appended to"), ("b", ("append", "untrusted"), "...")])[0]
    'No codec fits cache: a left out (cannot be appended to); b left out (cannot be appended to; not safe for bytes from others).'
    """
    lead = f"{'Provisional: no' if provisional else 'No'} codec fits {profile}: "
    waited = any(names[0] == "measured" for _, names, _ in excluded)
    if all(names[0] in ABSENT for _, names, _ in excluded) or (waited and not timed):
        if any(names[0] == "asked" for _, names, _ in excluded):
            return f"{lead}no codec asked for was measured.", []
        broken = _broken(excluded)
        if waited and broken:
            more = sum(names[0] == "measured" for _, names, _ in excluded)
            were = f"{more} others were" if more > 1 else "another was"
            return f"No answer yet: {broken}; {were} not tried in the time given.", ["--time gives more"]
        if waited:
            if lines:
                said = "No answer yet: the time was over before a single message was measured."
                return said, ["--time gives more", "--for keep is of the file as a whole"]
            return "No answer yet: the time was over before a codec was measured.", ["--time gives more"]
        return f"{lead}no codec was measured.", []
    names_of = titles_of(codec for codec, _, _ in excluded)
    alone: dict[str, list[str]] = defaultdict(list)
    for codec, names, _ in excluded:
        # Nothing that a user gives up makes reading of what does not read.
        if len(names) == 1 and names[0] not in (*ABSENT, *BROKEN, "idle"):
            alone[names[0]].append(names_of[codec])
    parts = _left_out(excluded, but=ABSENT + BROKEN)
    if broken := _broken(excluded):
        parts.append(broken)
    relax = [_without(name, codecs, own, must) for name, codecs in alone.items()]
    return f"{lead}{'; '.join(parts)}.", relax


def _broken(excluded: Collection[tuple[str, tuple[str, ...], str]]) -> str:
    """How many codecs failed, and why the first did; empty where none did.

    >>> _broken([("csv:pyarrow", ("error",), "failed: encode: no lists"), ("json:orjson", ("measured",), "")])
    '1 failed: CSV failed: encode: no lists'
    """
    names_of = titles_of(codec for codec, _, _ in excluded)
    broken = [f"{names_of[codec]} {reason}" for codec, names, reason in excluded if names[0] in BROKEN]
    return f"{len(broken)} failed: {broken[0].rstrip('.')}" if broken else ""


def alone(own: Mapping[str, Any], others: int) -> tuple[str, list[str]]:
    """The sentence when one codec alone was measured, of several that would qualify, and what to do.

    Args:
        own: ``codec, bytes, write_s, read_s`` of the one.
        others: How many others would qualify as far as is known.

    >>> alone({"codec": "json:orjson", "bytes": 5e6, "write_s": 0.02, "read_s": 0.05}, 11)[0]
    'No answer yet: the time was over when one codec was measured, JSON (orjson) (5.0 MB, write 20 ms, read 50 ms), and 11 others were not.'
    """
    figures = ", ".join([sized(own), *spent(own)])
    were = f"{others} others were" if others > 1 else "another was"
    one = f"{title_of(own['codec'])} ({figures})"
    return (
        f"No answer yet: the time was over when one codec was measured, {one}, and {were} not.",
        ["--time gives more"],
    )


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
    documents = listed([_plain(format.id) for format in able if "document" in format.kinds])
    tables = listed([_plain(format.id) for format in able if "document" not in format.kinds])
    return f"{documents} can be read in part, and so can {tables}, which hold tables"


def _plain(format: str) -> str:
    """The name of a format in titles of codecs, without what tells these apart.

    >>> _plain("arrow"), _plain("parquet")
    ('Arrow / Feather', 'Parquet')
    """
    return re.split(r", | \(", title_of(format))[0]
