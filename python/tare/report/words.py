"""The sentences that every report shares: the dataset, the verdict, what is lost, how quiet it was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from tare.codec.titles import title_of
from tare.measure.analysis.figures import takes_least
from tare.measure.analysis.pace import other_share
from tare.measure.analysis.ranked_cases import STAGES, is_ranked
from tare.measure.verdict.kept import quoted_path
from tare.measure.verdict.text import IDLE, READING_ALONE, WRITING_ALONE, listed, noise_floor, parted
from tare.report import text
from tare.report.digest import TIMED, Digest, Grid, Row, items, mapping, number

__all__ = [
    "ALIKE",
    "GROWTH",
    "RATIO",
    "STATUS",
    "VERDICTS",
    "collector_line",
    "dataset_line",
    "empty_call_line",
    "flag_lines",
    "flips",
    "freeing_line",
    "full_mark",
    "headline",
    "idle_line",
    "left_out",
    "link_line",
    "losses",
    "noise_line",
    "p_best",
    "part_line",
    "partial_line",
    "predicted",
    "provisional_line",
    "row_note",
    "row_size",
    "runs_code",
    "share_line",
    "size_mark",
    "speed_line",
    "stopped",
]

# Status -> the word shown in place of figures.
STATUS = {
    "unproven": "unproven",
    "refused": "refused",
    "error": "error",
    "timeout": "timeout",
    "killed": "killed",
    "n/a": "n/a",
    "screened": "screened",
    "pending": "not measured",
    "lossy": "lossy",
    "ok": "ok",
}
# Heading of one write and one read together as a multiple of the base's. A verdict's "cost" is another
# thing: it weighs writes, reads and the link as the use does.
RATIO, ALIKE, GROWTH = "times base", "alike", "growth"
# From this share of a call on, freeing its result is said apart; one freeing is timed by itself, so that of less
# than so many ns most is the reading of the clocks.
_FREEING, _OF_FREEING, _TOLD_NS = 0.1, ("drop_ns", "batch", "wall_ns"), 50e3
# A range beyond this is not a prediction.
RANGE = 3.0
# Verdict -> what it means, for legends.
VERDICTS = {
    "same": "value and type came back",
    "type": "another type, from which the value can be rebuilt",
    "lossy": "the value changed silently",
    "refused": "a loud error",
    "hook": "came back with a named option",
    "n/a": "does not apply",
}


def dataset_line(found: Digest) -> str:
    """Name, kind, shape, size, types and nulls of the data, in one line."""
    data = found.dataset
    name = text.visible(data.get("name") or "data", 40)
    kind = str(data.get("kind") or "")
    rows, columns = number(data.get("rows")), data.get("columns")
    parts = [name]
    if kind == "table" and rows is not None:
        n = number(data.get("n_columns")) or (len(columns) if isinstance(columns, list) else 0)
        index = number(data.get("index_columns")) or 0
        wide = f" x {text.count(n - index)}{' and the index' * bool(index)}" if n else ""
        parts.append(f"table {text.count(rows)}{wide}{_of_total(data)}")
    elif kind:
        items, depth = number(data.get("items")), number(data.get("depth"))
        shape = f" of {text.count(items)} items" if items is not None and items > 1 else ""
        parts.append(f"{kind}{shape}{_of_total(data)}" + (f", depth {depth:.0f}" if depth else ""))
    if number(data.get("bytes_memory")):
        parts.append(f"{text.memory(number(data.get('bytes_memory')))} in memory")
    types = data.get("types")
    if isinstance(types, dict) and types:
        top = sorted(types.items(), key=lambda item: -(number(item[1]) or 0))[:5]
        parts.append(" ".join(f"{text.count(number(n))} {text.visible(name, 16)}" for name, n in top))
    if number(data.get("null_share")) is not None:
        parts.append(f"nulls {text.percent(number(data.get('null_share')))}")
    return "  ".join(parts)


def _of_total(data: Mapping[str, Any]) -> str:
    """How many rows or items there are, where a file was opened in part."""
    part = mapping(data.get("partial"))
    total, count = number(part.get("rows_total")), number(data.get("items")) or number(data.get("rows"))
    if total is None or count is None or total <= count:
        return ""
    return f" (of {'about ' * bool(part.get('estimated'))}{text.count(float(f'{total:.3g}') if part.get('estimated') else total)})"


def partial_line(found: Digest) -> str:
    """What part of the data was measured; empty when it was all."""
    share = found.partial
    if share is None:
        return ""
    rule = (
        (found.dataset.get("partial") or {}).get("rule")
        if isinstance(found.dataset.get("partial"), dict)
        else None
    )
    how = f" ({text.visible(rule, 30)})" if rule else ""
    return f"measured on {text.percent(share)} of the data{how}: the full size is predicted"


def part_line(found: Digest) -> str:
    """Whose sizes and times the tables show, where only a part of the data was measured; empty when it was all."""
    if found.partial is None:
        return ""
    told = any(row.predicted_ns for grid in found.grids for row in grid.rows if row.timed)
    whole = "; a column 'full size' predicts one write and one read of all of it" if told else ""
    loaded = found.partial / max((grid.size for grid in found.grids), default=1.0)
    shares = {
        grid.title: text.percent(loaded * grid.size)
        for grid in found.grids
        if any(row.timed for row in grid.rows)
    }
    said = text.percent(found.partial)
    if len(set(shares.values())) > 1:
        said = ", ".join(f"{share} ({title})" for title, share in shares.items())
    elif shares:
        said = next(iter(shares.values()))
    return f"in the tables sizes and times are of the part that was measured, {said}{whole}"


def stopped(said: str) -> str:
    """Returns a sentence with a stop at its end.

    >>> stopped("blit can be read in part"), stopped("No codec fits.")
    ('blit can be read in part.', 'No codec fits.')
    """
    return said if not said or said[-1] in ".!?" else f"{said}."


def p_best(value: Any) -> str:
    """Says in how many of the draws a codec costs least, never that it is certain.

    >>> p_best(0.974), p_best(1.0), p_best(0.001), p_best(None)
    ('97 %', 'over 99 %', 'under 1 %', '-')
    """
    p = number(value)
    if p is None:
        return "-"
    if p > 0.995:
        return "over 99 %"
    return "under 1 %" if p < 0.005 else f"{100 * p:.0f} %"


def headline(found: Digest, profile: str | None = None) -> dict[str, Any]:
    """The verdict of a profile as plain parts: route, name, confidence, sentence; all may be empty."""
    verdicts = found.derived.get("profiles")
    verdict = found.verdict if profile in (None, found.profile) else (verdicts or {}).get(profile) or {}
    return {
        "profile": profile or found.profile,
        "route": text.visible(verdict.get("route") or "", 200),
        "title": text.visible(title_of(str(verdict.get("codec") or "")), 100),
        "confidence": str(verdict.get("confidence") or ""),
        "p_best": p_best(verdict.get("p_best")),
        "runner_up": text.visible(verdict.get("runner_up") or "", 200),
        "sentence": text.one_line(verdict.get("sentence") or "", 800),
        "provisional": bool(verdict.get("provisional")),
        "runs_code": runs_code(found, verdict.get("codec")),
        "reasons": [text.one_line(reason, 300) for reason in verdict.get("reasons") or []],
        "excluded": [
            (text.visible(entry.get("codec"), 100), text.one_line(entry.get("reason") or "", 200))
            for entry in verdict.get("excluded") or []
            if isinstance(entry, dict)
        ],
        "transfer": "" if found.imported else _reckoned(verdict),
        "empty": not verdict,
    }


def _reckoned(verdict: dict[str, Any]) -> str:
    """What of a verdict was not measured, in sentences: one of the two ways, and the bytes' way over the medium."""
    alone = [one for one in (READING_ALONE, WRITING_ALONE) if one in (verdict.get("reasons") or [])]
    said = [f"{one[0].upper()}{one[1:]}." for one in alone]
    return " ".join(filter(None, (*said, _transfer(verdict))))


def _transfer(verdict: dict[str, Any]) -> str:
    """That the bytes' way over the route's medium was reckoned; empty where the medium's own time was taken."""
    weights = verdict.get("weights")
    given = weights if isinstance(weights, dict) else {}
    rate, rtt = number(given.get("v")), number(given.get("rtt"))
    medium = str(verdict.get("route") or "").partition("@")[2].partition(",")[0]
    if not rate or not medium:
        return ""
    trip = f" and {rtt * 1e3:.3g} ms round trip" if rtt else ""
    said = f"The transfer ({text.visible(medium, 20)}) is computed from size at {text.rate(rate)}{trip}"
    return f"{said}, not measured."


def provisional_line(found: Digest, said: dict[str, Any]) -> str:
    """Why a named verdict is provisional, in one line; empty where it is not, or was imported.

    Args:
        found: The record.
        said: What `headline` gave of the verdict.
    """
    if not said["provisional"] or found.imported:
        return ""
    mark = "provisional: "
    why = [reason.removeprefix(mark) for reason in said["reasons"] if reason.startswith(mark)]
    return f"Provisional: {'; '.join(why) or 'measured too seldom'}."


def idle_line(said: dict[str, Any], limit: int = 3) -> str:
    """Which codecs a verdict passed over because they read nothing; empty where there are none.

    Args:
        said: What `headline` gave of the verdict.
        limit: As many are named.
    """
    idle = [codec for codec, reason in said["excluded"] if reason == IDLE]
    if not idle:
        return ""
    return f"Passed over: {listed(idle, limit, 200)}: {IDLE}."


def left_out(found: Digest, limit: int = 12) -> list[str]:
    """What a ``*`` of ``--codec`` meant too and was not tried, and why, a line each.

    Args:
        found: The record.
        limit: As many are told one by one.
    """
    given = found.record.get("left_out")
    lines = [text.one_line(line, 400) for line in given if line] if isinstance(given, list) else []
    more = [f"and {text.count(len(lines) - limit)} more"] if len(lines) > limit else []
    return lines[:limit] + more


_DRIFT = 0.1  # as far as a link may change between the first sample and the last


def link_line(found: Digest) -> str:
    """What the emulated link was asked to be, how it was made and what it reached; empty without one."""
    link = found.noise.get("link")
    if not isinstance(link, dict) or all(grid.medium != "link" for grid in found.grids):
        return ""
    rate, trip = number(link.get("bytes_per_second")), number(link.get("round_trip_s"))
    asked, method = (
        text.visible(link.get("asked") or "a link", 40),
        text.visible(link.get("method") or "", 80),
    )
    reached = [text.rate(rate)] if rate else []
    reached += [f"{trip * 1e3:.3g} ms round trip"] if trip is not None else []
    how = f" ({method})" if method else ""
    got = f"; reached {' and '.join(reached)}" if reached else ""
    drift = number(link.get("drift"))
    after = f"; after the samples {drift:.0%} off that: contended" if drift and drift > _DRIFT else ""
    return f"Emulated link {asked}{how}{got}{after}."


def flips(found: Digest, profile: str | None = None) -> list[str]:
    """What would change the choice, in words."""
    verdicts = found.derived.get("profiles")
    verdict = found.verdict if profile in (None, found.profile) else (verdicts or {}).get(profile) or {}
    return [
        text.one_line(flip.get("text") or "", 200)
        for flip in verdict.get("flips") or []
        if isinstance(flip, dict) and flip.get("text")
    ]


def losses(row: Row, limit: int = 3) -> str:
    """What a codec changed silently in the user's own data; empty when nothing."""
    verify = row.case.get("verify")
    if not isinstance(verify, dict):
        return ""
    silent = [
        change
        for change in verify.get("changes") or []
        if isinstance(change, dict) and change.get("verdict") == "lossy"
    ]
    if not silent:
        return ""
    shown = []
    for change in silent[:limit]:
        n = number(change.get("count"))
        times = f" ({text.count(n)} values)" if n and n > 1 else ""
        shown.append(f"{text.visible(quoted_path(change, 40), 60)}{times}")
    more = f" and {len(silent) - limit} more" if len(silent) > limit else ""
    return ", ".join(shown) + more


def runs_code(found: Digest, codec: Any) -> bool:
    """Whether reading a codec's bytes runs code that they name."""
    codecs = found.record.get("codecs")
    entry = codecs.get(codec) if isinstance(codecs, dict) else None
    flags = entry.get("flags") if isinstance(entry, dict) else None
    return bool(isinstance(flags, dict) and flags.get("executes_code"))


def flag_lines(rows: list[Row], limit: int = 4) -> list[str]:
    """Each flag once, with the codecs that carry it."""
    carriers: dict[str, list[str]] = {}
    for row in rows:
        for flag in row.flags:
            name = text.visible(row.codec, 60)
            # The marks beside the times say this one already.
            if flag.startswith("contended"):
                continue
            if row.timed and name not in carriers.setdefault(text.one_line(flag, 100), []):
                carriers[text.one_line(flag, 100)].append(name)
    shown = []
    for flag, names in list(carriers.items())[:limit]:
        if names:
            shown.append(f"{flag}: {listed(names)}")
    return shown


def row_size(row: Row) -> str:
    """A row's size, with a tilde where only a smaller part was encoded; empty where it is not known."""
    if row.bytes is None:
        return ""
    return ("~" if row.bytes_predicted else "") + text.size(row.bytes)


def size_mark(rows: Iterable[Row]) -> str:
    """What the tilde of `row_size` means, where a row has one."""
    return "size ~: predicted from a smaller part" if any(row.bytes_predicted for row in rows) else ""


def predicted(row: Row, *, ends: bool = True) -> str:
    """A row's predicted time of one write and one read, with the range where one is known: ``~287 ms (150-600)``.

    Args:
        row: The row.
        ends: Whether there is room for the range.
    """
    if row.predicted_ns is None:
        return ""
    t_ns, lo_ns, hi_ns = row.predicted_ns
    shown = f"~{text.duration(t_ns)}"
    if lo_ns is None or hi_ns is None or hi_ns <= lo_ns:
        return shown
    if hi_ns > RANGE * t_ns or lo_ns < t_ns / RANGE:
        return ""
    if not ends:
        return shown
    _, unit_ns = text.unit_for([t_ns])
    return f"{shown} ({text.significant(lo_ns / unit_ns)}\u2013{text.significant(hi_ns / unit_ns)})"


def full_mark(found: Digest) -> str:
    """How far predictions of the whole data may be off, all rows together; empty where nothing was predicted."""
    if found.partial is None:
        return ""
    known = [row.predicted_ns for grid in found.grids for row in grid.rows if row.timed and row.predicted_ns]
    shares = [(lo / t, hi / t) for t, lo, hi in known if t > 0 and lo is not None and hi is not None]
    if not shares:
        return ""
    least, most = min(lo for lo, _ in shares), max(hi for _, hi in shares)
    ends = [text.significant(end, 2) for end in (least, most)]
    if most > RANGE or least < 1 / RANGE:
        return "full size: too little was measured to predict it; it may be far off"
    return f"full size: it may be {ends[0]} to {ends[1]} times the figure"


def row_note(row: Row, *, exponent: bool = True) -> str:
    """What stands in place of a row's figures.

    Args:
        row: The row.
        exponent: Whether the exponent of its growth is told.
    """
    note = row.reason or str(row.case.get("note") or "")
    cause, held = parted(note)
    said = (
        text.one_line(cause, 200 - len(held)) + held
        if note
        else STATUS.get(row.status, text.visible(row.status, 20))
    )
    if row.status == "unproven" and row.write.t_ns is not None:
        return f"wrote in {text.duration(row.write.t_ns)}; {said}"
    if row.status in ("timeout", "killed", "error") and row.predicted_ns is not None:
        grows = f", k={row.k:.1f}" if row.k is not None and exponent else ""
        return f"predicted {text.duration(row.predicted_ns[0])}{grows}; {said}"
    return said


def noise_line(found: Digest) -> str:
    """Noise floor, contention, launches and rounds, and the clock that ranks."""
    noise = found.noise
    if found.imported:
        return (
            f"figures of {text.visible(found.imported, 60)}: one run each, so no noise floor and no intervals"
        )
    if not noise:
        return "noise was not measured"
    parts = [_floor(number(noise.get("floor")))]
    contended = number(noise.get("contended_share"))
    parts.append(
        "contention not measured"
        if contended is None
        else f"other processes had the CPU {text.percent(contended)} of the time"
    )
    if number(noise.get("launches")):
        rounds = (
            f", {text.count(number(noise.get('rounds')))} round{'' if number(noise.get('rounds')) == 1 else 's'}"
            if number(noise.get("rounds"))
            else ""
        )
        launches = number(noise.get("launches")) or 0
        parts.append(f"{launches:.0f} process{'' if launches == 1 else 'es'} each{rounds}")
    clock = _clock(found)
    parts.append(_ranked(_unquiet(noise), clock))
    return " \xb7 ".join(parts)


def collector_line(found: Digest) -> str:
    """That Python's garbage collector was off while calls were timed; empty where it was not, or is not known."""
    cases = (row.case for grid in found.grids for row in grid.rows if row.timed)
    levels = {str(mapping(case.get("labels")).get("gc") or "") for case in cases}
    if found.imported or "off" not in levels:
        return ""
    but = ", but where gc is on" if "on" in levels else ""
    return f"Python's garbage collector was off while calls were timed{but}"


def empty_call_line(found: Digest) -> str:
    """Says what a call that does nothing takes, which is part of every time; empty where it is not known."""
    floor_ns = number(found.noise.get("timer_floor_ns"))
    if not floor_ns or found.imported or not _drops_each(found):
        return ""
    return f"an empty call takes {text.duration(floor_ns)}, which is part of every time"


def speed_line(found: Digest) -> str:
    """Says how many samples were taken at another speed of the CPU; empty where none was, or times are as they were."""
    share = other_share(found.record) if takes_least(found.record) else 0.0
    if not share:
        return ""
    return f"the CPU ran at another speed in {text.percent(share)} of the samples: their times are brought to the usual one"


def freeing_line(found: Digest) -> str:
    """Names the codecs that spend more than a tenth of a call in freeing its result; empty where none does, or it is not known."""
    if not _drops_each(found):
        return ""
    shares: dict[str, float] = {}
    for grid in found.grids:
        for row in (row for row in grid.rows if row.timed):
            for op in grid.ops:
                share = _freeing(row, op)
                name = f"{text.visible(row.codec, 60)} {op} {text.percent(share)}"
                if share > _FREEING:
                    shares[name] = max(share, shares.get(name, 0.0))
    names = sorted(shares, key=lambda name: -shares[name])
    return f"freeing the result is part of the time: {listed(names, width=300)}" if names else ""


def _drops_each(found: Digest) -> bool:
    """Whether each result was freed before the next call, so that freeing is part of its time."""
    return (number(found.record.get("method")) or 1) > 1


def _freeing(row: Row, op: str) -> float:
    """The share of a call that freeing its result takes: the median over its samples; 0 where it is too short to tell."""
    shares = []
    for launch in row.case.get("launches") or []:
        column = mapping(mapping(mapping(launch).get("samples")).get(op))
        cells = zip(*(map(number, items(column.get(name))) for name in _OF_FREEING), strict=False)
        shares += [
            drop * batch / wall if drop >= _TOLD_NS else 0.0
            for drop, batch, wall in cells
            if drop and batch and wall
        ]
    return median(shares) if shares else 0.0


def _ranked(busy: str, clock: str) -> str:
    """Says which clock ranks, and on a busy machine why it is no other.

    >>> _ranked("the machine was busy", "CPU time"), _ranked("", "wall time")
    ('the machine was busy, so this ranks by CPU time', 'ranked by wall time')
    """
    if not clock:
        return f"{busy}; nothing was ranked" if busy else "nothing was ranked"
    if busy and clock.startswith("CPU"):
        return f"{busy}, so this ranks by {clock}"
    return f"{busy}; ranked by {clock}" if busy else f"ranked by {clock}"


def _unquiet(noise: Mapping[str, Any]) -> str:
    """That the machine was not quiet, and what says so: contention is but one of several.

    >>> _unquiet({"quiet": False, "floor": 0.28, "contended_share": 0.0, "psi_some": 0.01})
    'the machine was busy (noise floor above 5 %)'
    >>> _unquiet({"quiet": False, "psi_some": 0.4, "stalled_share": 0.29})
    'the machine was busy at times (processes waited for a CPU above 5 % of the time in 29 % of the processes)'
    """
    from tare.measure.derive import QUIET_FLOOR, QUIET_PSI, STALLED

    if noise.get("quiet") is not False:
        return ""
    floor, stalled = number(noise.get("floor")), number(noise.get("psi_some"))
    share = number(noise.get("stalled_share"))
    reasons = (
        [f"noise floor above {text.percent(QUIET_FLOOR)}"]
        if floor is not None and floor >= QUIET_FLOOR
        else []
    )
    if (number(noise.get("contended_share")) or 0.0) >= QUIET_PSI:
        reasons.append("other processes had the CPU")
    waited = "processes waited for a CPU"
    head = "the machine was busy"
    if share is not None and share >= QUIET_PSI:
        head = head if reasons else f"{head} at times"
        above = f"above {text.percent(STALLED)} of the time"
        reasons.append(f"{waited} {above} in {text.percent(share)} of the processes")
    elif stalled is not None and stalled >= QUIET_PSI:
        reasons.append(f"{waited} {text.percent(stalled)} of the time")
    return f"{head} ({', '.join(reasons)})" if reasons else head


def _floor(floor: float | None) -> str:
    if floor is None:
        return "noise floor not measured"
    return noise_floor(floor) if floor >= 1 else f"noise floor {text.percent(floor)}"


# What a case that is not ranked on CPU and blocked time is called beside others that are.
_WALLS = {"span": "streams", "threads": "cases of all threads", "clock": "cases without a CPU clock"}


def _clock(found: Digest) -> str:
    """What the times that are ranked are of; empty where none are.

    Two processes at work at once have one clock in common, that on the wall; so have all threads of one,
    and a runtime that tells no CPU time.
    """
    by_stage: dict[str, set[str]] = {}
    for case in items(found.record.get("cases")):
        row = mapping(mapping(found.derived.get("cases")).get(case["key"]))
        if is_ranked(case) and case.get("status") in TIMED and mapping(row.get("total")).get("t_ns"):
            by_stage.setdefault(case.get("stage", STAGES[0]), set()).add(_clock_of(case, row))
    clocks = next((by_stage[stage] for stage in STAGES if stage in by_stage), set())
    walls = [name for clock, name in _WALLS.items() if clock in clocks]
    if not clocks or clocks == {"cpu"}:
        return "CPU time" if clocks else ""
    if "cpu" in clocks:
        return f"CPU time, {' and '.join(walls)} by wall time"
    return "wall time of both ends" if clocks == {"span"} else "wall time"


def _clock_of(case: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Which clock a case's total is of."""
    if "span" in mapping(row.get("ops")):
        return "span"
    total = mapping(row.get("total"))
    if "blocked_ns" not in total or total["blocked_ns"] is not None:
        return "cpu"
    return "threads" if case["labels"].get("threads", "1") == "all" else "clock"


def share_line(grid: Grid) -> str:
    """How many codecs of a grid were measured, screened, and failed."""
    timed = sum(row.timed for row in grid.rows)
    screened = sum(row.status == "screened" for row in grid.rows)
    rest = len(grid.rows) - timed - screened
    parts = (
        [f"{timed} measured"]
        + ([f"{screened} screened"] if screened else [])
        + ([f"{rest} without a figure"] if rest else [])
    )
    return ", ".join(parts)
