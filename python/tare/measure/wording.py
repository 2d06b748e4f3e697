"""The verdict in words. Numbers in, sentences out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.measure.cost import Costed, Crossing
    from tare.measure.recommend import Choice

__all__ = ["failure", "flip", "listed", "nothing", "rate", "reasons", "sentence", "size"]

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


def listed(names: Sequence[str], most: int = 3) -> str:
    """A few names, and how many more there are.

    >>> listed(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    shown = ", ".join(name[:60] for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


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
    """One change of the choice: ``below 21 MB/s [18, 25]: parquet``."""
    if axis == "bandwidth":
        unit = size(where.at).split()[1]
        by = 1000 ** ("B", "kB", "MB", "GB", "TB").index(unit)
        return f"{side} {where.at / by:.3g} {unit}/s [{where.lo / by:.3g}, {where.hi / by:.3g}]: {codec}"
    more = "more" if side == "above" else "fewer"
    return f"{more} than {where.at:.3g} reads [{where.lo:.3g}, {where.hi:.3g}]: {codec}"


def came_back(case: Mapping[str, Any]) -> str:
    """What became of the own data, in words."""
    verify = case.get("verify") or {}
    columns, changes = verify.get("columns"), verify.get("changes") or ()
    lost = [change["path"] for change in changes if change.get("verdict") == "lossy"]
    typed = [change["path"] for change in changes if change.get("verdict") == "type"]
    if lost:
        return f"silently changed: {listed(lost)}"
    if typed:
        of = f"{len(typed)} of {columns} columns" if columns else f"{len(typed)} path{'s' * (len(typed) > 1)}"
        return f"{of} came back as another type"
    if verify.get("verdict") not in ("same", "type"):
        return "what came back was not compared"
    if columns:
        return (
            "its one column came back unchanged"
            if columns == 1
            else f"all {columns} columns came back unchanged"
        )
    return "everything came back unchanged"


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


def against_base(codec: str, base: Costed | None, cost_s: float, base_cost: float | None) -> str:
    """The cost as a multiple of the base's."""
    if base is None or not base_cost:
        return ""
    if base.codec == codec:
        return "the base all others are measured against"
    return f"{cost_s / base_cost:.2f}x the base (`{base.codec}`) in total"


def sentence(
    verdict: Mapping[str, Any],
    choice: Choice,
    winner: Costed,
    others: Sequence[Costed],
    base_cost: float | None,
) -> str:
    """The answer in one sentence."""
    cost_s = verdict["cost_s"][winner.codec][0]
    if not verdict["named"]:
        names = ", ".join(f"`{codec}`" for codec in verdict["tie"])
        return (
            f"A tie for {verdict['profile']}, smallest first: {names}. None is shown to be better; choose by size "
            f"or fidelity: `{winner.codec}` takes {size(winner.bytes)}."
        )
    parts = [against_base(winner.codec, choice.base, cost_s, base_cost), f"P(best) {verdict['p_best']:.2f}"]
    use = "Provisional: use" if verdict["provisional"] else "Use"
    text = f"{use} `{verdict['route']}`: {', '.join(part for part in parts if part)}; {came_back(choice.cases[winner.codec])}"
    if verdict["executes_code"]:
        text += "; bytes from others can run code or crash it, so only read your own"
    given_up = rival(winner, others)
    if given_up:
        text += f"; {given_up}"
    return text + "."


def reasons(
    verdict: Mapping[str, Any],
    choice: Choice,
    winner: Costed,
    others: Sequence[Costed],
    base_cost: float | None,
) -> list[str]:
    """What the answer rests on, one line each."""
    use, costs = choice.profile, verdict["cost_s"]
    weigh = f"{use.says}: {use.writes:g} write{'s' * (use.writes != 1)}, {use.reads:g} read{'s' * (use.reads != 1)}"
    if use.subset_reads:
        weigh += f", {use.subset_reads:g} partial reads"
    if use.bytes_per_s < float("inf"):
        weigh += f", {rate(use.bytes_per_s)}"
    if use.rtt_s:
        weigh += f", {use.rtt_s * 1e3:.3g} ms round trip"
    if use.seconds_per_byte:
        weigh += f", {use.seconds_per_byte * 1e9:.3g} s per GB saved"
    lines = [weigh]
    if others:
        ratio = costs[others[0].codec][0] / max(costs[winner.codec][0], 1e-30)
        lines.append(f"next: `{others[0].codec}`, {ratio:.2f}x the cost")
    if verdict["named"] and len(verdict["tie"]) > 1:
        ties = [f"`{codec}`" for codec in verdict["tie"] if codec != winner.codec]
        lines.append(f"a tie with {listed(ties)}: choose by size or fidelity")
    lines.append(came_back(choice.cases[winner.codec]))
    # A codec that falls to its own data or to a failure is no news of the profile's conditions.
    removed: dict[str, list[str]] = defaultdict(list)
    for codec, names, _ in choice.excluded:
        for name in names:
            removed[name].append(f"`{codec}`")
    lines += [
        f"{LEFT_OUT.get(name, name)} left out {listed(codecs)}"
        for name, codecs in sorted(removed.items())
        if name not in ABSENT
    ]
    return lines + choice.notes


# What is no news in a verdict: codecs that were not in the race, and those that fell by themselves.
ABSENT = ("measured", "screened", "n/a", "pending")
BROKEN = ("error", "timeout", "killed", "refused", "unproven")
LEFT_OUT = {
    "loss": "silent changes of the data",
    "spec": "no written spec",
    "no code": "running code when read",
    "two readers": "fewer than 2 independent readers",
    "three languages": "fewer than 3 languages",
    "subset": "no reading of a part",
    "subset measured": "no measured reading of a part",
    "error": "failing",
    "timeout": "taking too long",
    "killed": "being killed",
    "refused": "refusing the data",
    "unproven": "nothing coming back",
}


def nothing(profile: str, excluded: Sequence[tuple[str, tuple[str, ...], str]]) -> tuple[str, list[str]]:
    """The sentence when no codec qualifies, and lines that say what to give up.

    >>> nothing("cache", [("a", ("append",), "cannot be appended to"), ("b", ("append", "untrusted"), "...")])
    ('No route for cache: append removed `a`, `b`; untrusted removed `b`.', ['without append `a` would qualify'])
    """
    if all(names[0] in ABSENT for _, names, _ in excluded):
        return f"No route for {profile}: no codec was measured.", []
    removed: dict[str, list[str]] = defaultdict(list)
    alone: dict[str, list[str]] = defaultdict(list)
    for codec, names, _ in excluded:
        for name in names:
            removed[name].append(f"`{codec}`")
        if len(names) == 1:
            alone[names[0]].append(f"`{codec}`")
    parts = [
        f"{LEFT_OUT.get(name, name)} removed {listed(codecs)}"
        for name, codecs in removed.items()
        if name not in ABSENT + BROKEN
    ]
    broken = sum(len(codecs) for name, codecs in removed.items() if name in BROKEN)
    if broken:
        parts.append(f"{broken} failed")
    relax = [_without(name, codecs) for name, codecs in alone.items() if name not in ABSENT + BROKEN]
    return f"No route for {profile}: {'; '.join(parts) or 'nothing was measured well enough'}.", relax


def _without(name: str, codecs: Sequence[str]) -> str:
    if name == "loss":
        return f"with --allow-loss for their paths {listed(codecs)} would qualify"
    if name == "subset measured":
        return f"with a partial read measured {listed(codecs)} could qualify"
    return f"without {name} {listed(codecs)} would qualify"
