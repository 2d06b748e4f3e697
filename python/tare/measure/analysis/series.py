"""From the launches of a case to its series: launch -> round -> time per call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from tare.measure.analysis.pace import Paces, at_one_speed
from tare.measure.analysis.ranked_cases import SPAN
from tare.measure.analysis.statistics import median, sample_times

__all__ = ["series_of"]

CONTENDED = 1.1
# Some task waited for a CPU for this share of the time.
CROWDED = 0.5
# A launch, and which of the groups that took turns in it, where memory could not hold all workers at once.
Unit = tuple[int, int]
Values = dict[Unit, dict[int, float]]


def series_of(
    cases: Iterable[dict[str, Any]],
    bases: Sequence[dict[str, Any]],
    *,
    least: bool = False,
    paces: Paces | None = None,
) -> dict[tuple[str, str], tuple[Values, dict[str, Any]]]:
    """The series of some cases: (key, operation) -> (launch -> round -> nanoseconds, what else is known).

    Args:
        cases: Cases of one group, with samples.
        bases: Cases of the base codec, the one that stands for it first.
        least: Whether the least of several calls of a round stands for it, and not their median: the first of them
            pays for memory that was given back to the system since the round before.
        paces: The speeds of the record, of which times are brought to the usual one; None: as they are.
    """
    starts = _starts(bases[0]) if bases else {}
    found: dict[tuple[str, str], tuple[Values, dict[str, Any]]] = {}
    for case in cases:
        parts: dict[str, list[tuple[Unit, dict[str, Any]]]] = defaultdict(list)
        for launch in case["launches"]:
            unit = _unit(launch, starts)
            for op, columns in launch["samples"].items():
                if op != "null" and columns.get("batch"):
                    told = (
                        columns if paces is None else paces.columns_of(int(launch.get("pid") or 0), columns)
                    )
                    parts[op].append((unit, told))
        for op, pieces in parts.items():
            found[case["key"], op] = _one_series(
                case, op, pieces, least=least, pace_ns=None if paces is None else paces.usual_ns
            )
    return found


def _one_series(
    case: dict[str, Any],
    op: str,
    pieces: list[tuple[Unit, dict[str, Any]]],
    *,
    least: bool,
    pace_ns: float | None,
) -> tuple[Values, dict[str, Any]]:
    joined = _joined([columns for _, columns in pieces])
    wall = op == SPAN or case["labels"].get("threads", "1") == "all"
    times = sample_times(joined, wall=wall, crowded=_is_crowded(case, joined))
    times_ns = at_one_speed(times.time_ns.tolist(), joined, pace_ns)
    values: Values = defaultdict(dict)
    place = 0
    for unit, columns in pieces:
        repeated: dict[int, list[float]] = defaultdict(list)
        for round_ in columns["round"]:
            repeated[int(round_)].append(times_ns[place])
            place += 1
        for round_, several in repeated.items():
            # What a busy machine left no figure of is NaN.
            values[unit][round_] = float(np.fmin.reduce(several) if least else np.median(several))
    cpu, wall_ns = float(median(times.cpu_ns)), float(median(times.wall_ns))
    blocked = None if np.isnan(times.blocked_ns) else times.blocked_ns
    busy = cpu + (blocked or 0.0)
    floor = float(np.nanmin(times_ns)) if not np.isnan(times_ns).all() else float("nan")
    more = {
        "floor_ns": floor,
        "cpu_ns": None if np.isnan(cpu) else cpu,
        "wall_ns": wall_ns,
        "blocked_ns": blocked,
        "contended": bool(not wall and wall_ns > CONTENDED * busy),
        "marked": times.marked,
        **(_first_call(case, op, joined, pieces, pace_ns) if least else {}),
    }
    return dict(values), more


def _is_crowded(case: Mapping[str, Any], joined: Mapping[str, Any]) -> bool:
    """Whether others used the CPU while a codec was called in memory: all of the time, or whenever it was sampled."""
    if case["labels"].get("medium", "memory") != "memory":
        return False
    stalled = [launch.get("psi_some") or 0.0 for launch in case["launches"]]
    return min(stalled) > CROWDED or bool(np.all(joined.get("nivcsw", 0)))


def _first_call(
    case: Mapping[str, Any],
    op: str,
    joined: Mapping[str, Any],
    pieces: Sequence[tuple[Unit, dict[str, Any]]],
    pace_ns: float | None,
) -> dict[str, Any]:
    """Whether the one sample of an operation is the codec's first call of it, and the time in its own code."""
    only = len(joined["batch"]) == 1 and list(pieces[0][1]["round"]) == [0]
    if not only or op not in (case.get("first_calls") or ()):
        return {}
    own = joined["user_ns"][0] / max(1.0, joined["batch"][0]) if "user_ns" in joined else 0.0
    return {"cold": True, "own_ns": at_one_speed([float(own)], joined, pace_ns)[0] or None}


def _joined(pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Columns of several launches as one: those that each of them has."""
    names = set.intersection(*(set(columns) for columns in pieces))
    if any("sys_ns" in columns for columns in pieces):
        names.add("sys_ns")  # where it is absent, user_ns is all CPU time
    return {
        name: np.concatenate(
            [
                np.asarray(columns.get(name, [0] * len(columns["batch"])), dtype=np.float64)
                for columns in pieces
            ]
        )
        for name in ("batch", "wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw", "pace_ns")
        if name in names
    }


def _starts(base: Mapping[str, Any]) -> dict[int, list[float]]:
    """When the base's processes of each launch started; several if the codecs ran in groups."""
    starts: dict[int, list[float]] = defaultdict(list)
    for launch in base["launches"]:
        starts[int(launch["n"])].append(_moment(launch.get("started")))
    return starts


def _unit(launch: Mapping[str, Any], starts: Mapping[int, list[float]]) -> Unit:
    """The launch, and which group of it: the one whose base started nearest in time."""
    n = int(launch["n"])
    known = starts.get(n, ())
    if len(known) < 2:
        return n, 0
    moment = _moment(launch.get("started"))
    return n, min(range(len(known)), key=lambda i: abs(known[i] - moment))


def _moment(started: Any) -> float:
    if isinstance(started, (int, float)):
        return float(started)
    try:
        return datetime.fromisoformat(str(started)).timestamp()
    except ValueError:
        return 0.0
