"""From the cases of a record to grids of rows: who is compared with whom, in which order, with what to show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tare.fidelity.comparison import column_of
from tare.fidelity.guesses import is_guessed
from tare.measure.worker.peak_memory import copies
from tare.report.digest import TIMED, Grid, Row, Times, items, mapping, number

__all__ = ["Source", "grids_of"]

_MEDIA = ("memory", "file", "conn", "fifo", "unix", "tcp", "remote", "link", "store")
_PAIRS = (("write", "read"), ("encode", "decode"), ("send", "receive"), ("open", "subset"))
_HIDDEN = frozenset({"codec", "size", "twin"})
_FACTORS = (
    "dataset",
    "medium",
    "delivery",
    "cache",
    "sync",
    "threads",
    "gc",
    "materialise",
    "subset",
    "kind",
    "grain",
    "orient",
    "order",
    "content",
)
_RANK = {"ok": 0, "lossy": 0, "screened": 1}


@dataclass(frozen=True)
class Source:
    """The parts of ``derived`` that grids are made of, and the format that the data came in."""

    derived: dict[str, Any]
    verdict: dict[str, Any]
    growth: tuple[dict[str, Any], ...]
    format: str = ""


def grids_of(record: dict[str, Any], source: Source) -> tuple[Grid, ...]:
    """Group the cases by their conditions and order each group; the headline's grid comes first."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for case in items(record.get("cases")):
        labels = mapping(mapping(case).get("labels"))
        if labels.get("twin") or labels.get("codec") in (None, "copy"):
            continue
        name = "|".join(f"{k}={labels[k]}" for k in sorted(labels) if k not in _HIDDEN and k != "delivery")
        groups.setdefault(name, []).append(case)
    groups = _by_delivery(groups)
    varying = _varying(groups)
    headline = str(source.verdict.get("key") or "")
    grids = []
    for name, cases in groups.items():
        labels = {k: str(v) for k, v in cases[0]["labels"].items() if k not in _HIDDEN}
        if len({case["labels"].get("delivery") for case in cases}) > 1:
            labels.pop("delivery", None)
        grid = _grid((name, _title(labels, varying, _each(record))), labels, cases, source)
        grids.append(grid)
    medium = {name: place for place, name in enumerate(_MEDIA)}
    grids.sort(
        key=lambda grid: (
            all(row.key != headline for row in grid.rows),
            not any(row.timed for row in grid.rows),
            medium.get(grid.medium, 99),
            grid.id,
        )
    )
    return tuple(grids)


def _by_delivery(groups: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Split a grid by delivery only where a codec has more than one: else each codec shows its own."""
    out: dict[str, list[dict[str, Any]]] = {}
    for name, cases in groups.items():
        seen: dict[str, set[str]] = {}
        for case in cases:
            seen.setdefault(str(case["labels"]["codec"]), set()).add(str(case["labels"].get("delivery")))
        if all(len(deliveries) == 1 for deliveries in seen.values()):
            out[name] = cases
            continue
        for case in cases:
            out.setdefault(f"{name}|delivery={case['labels'].get('delivery')}", []).append(case)
    return out


def _varying(groups: dict[str, list[dict[str, Any]]]) -> set[str]:
    levels: dict[str, set[str]] = {}
    for cases in groups.values():
        labels = cases[0]["labels"]
        for factor in _FACTORS:
            if factor == "delivery" and len({case["labels"].get(factor) for case in cases}) > 1:
                continue
            # A factor that only one medium has (sync, cache) tells nothing between media.
            levels.setdefault(f"{labels.get('medium')}/{factor}", set()).add(str(labels.get(factor)))
    return {name.partition("/")[2] for name, seen in levels.items() if len(seen) > 1}


def _each(record: dict[str, Any]) -> str:
    """What it is called that each item of the data is encoded on its own."""
    lines = mapping(record.get("dataset")).get("source_format") == "ndjson"
    return "line by line" if lines else "item by item"


def _title(labels: dict[str, str], varying: set[str], each: str) -> str:
    medium = labels.get("medium", "memory")
    words = ["link(emulated)" if medium == "link" else medium]  # never taken for a network
    for factor in _FACTORS:
        if factor == "medium" or factor not in varying or factor not in labels:
            continue
        level = labels[factor]
        if (factor, level) == ("grain", "each"):
            words.append(each)
            continue
        words.append(level if factor in ("dataset", "delivery", "cache") else f"{factor} {level}")
    return ", ".join(words)


def _size(case: dict[str, Any]) -> float:
    try:
        value = float(case["labels"].get("size", 1))
    except (TypeError, ValueError):
        return 1.0
    return value if math.isfinite(value) else 1.0


def _grid(
    names: tuple[str, str], labels: dict[str, str], cases: list[dict[str, Any]], source: Source
) -> Grid:
    weighed = [case for case in cases if case.get("stage") in (None, "weigh")] or cases
    full = max(_size(case) for case in weighed)
    best: dict[str, dict[str, Any]] = {}
    for case in cases:
        codec = str(case["labels"]["codec"])
        if codec not in best or _size(case) > _size(best[codec]):
            best[codec] = case
    figures = mapping(source.derived.get("cases"))
    ops = _ops(best, figures)
    scale = _base_total(best, figures, source.derived)
    excluded = {
        str(entry.get("codec")): str(entry.get("reason") or "")
        for entry in items(source.verdict.get("excluded"))
        if isinstance(entry, dict)
    }
    rows = []
    for codec, case in best.items():
        curve = [
            entry
            for entry in source.growth
            if entry.get("codec") == codec
            and entry.get("medium") == labels.get("medium")
            and entry.get("delivery") in (None, case["labels"].get("delivery"))
        ]
        small = [other for other in cases if other["labels"]["codec"] == codec and other is not case]
        rows.append(
            _row(
                case,
                ops,
                figures,
                curve,
                _Around(full, scale, small, source.verdict, excluded, source.format),
            )
        )
    return Grid(*names, labels, full, ops, tuple(sorted(rows, key=_order)))


@dataclass(frozen=True)
class _Around:
    """What a row needs to know of its grid."""

    full: float
    base_total: float | None
    smaller: list[dict[str, Any]]
    verdict: dict[str, Any]
    excluded: dict[str, str]
    format: str


def _ops(cases: dict[str, dict[str, Any]], figures: dict[str, Any]) -> tuple[str, str]:
    seen: set[str] = set()
    for case in cases.values():
        seen |= set(mapping(mapping(figures.get(str(case.get("key")))).get("ops")))
    for pair in _PAIRS:
        if seen & set(pair):
            return pair
    medium = next(iter(cases.values()))["labels"].get("medium") if cases else "memory"
    return {"memory": _PAIRS[1], "file": _PAIRS[0], "store": _PAIRS[0]}.get(str(medium), _PAIRS[2])


def _base_total(
    cases: dict[str, dict[str, Any]], figures: dict[str, Any], derived: dict[str, Any]
) -> float | None:
    case = cases.get(str(derived.get("base")), {})
    return Times.of(mapping(figures.get(str(case.get("key")))).get("total")).t_ns


def _row(
    case: dict[str, Any],
    ops: tuple[str, str],
    figures: dict[str, Any],
    curve: list[dict[str, Any]],
    around: _Around,
) -> Row:
    labels = case["labels"]
    codec = str(labels["codec"])
    own = mapping(figures.get(str(case.get("key"))))
    timings = mapping(own.get("ops"))
    status = str(case.get("status") or "pending")
    if status in TIMED and (_size(case) < around.full * 0.9995 or not own.get("total")):
        # A codec that got no further than the screening sample has a prediction, not a figure.
        status = "screened" if _size(case) < around.full * 0.9995 else "pending"
    steepest = max(curve, key=lambda entry: number(entry.get("k")) or 0.0, default={})
    reason = str(case.get("reason") or "")
    if status == "pending" and case.get("bytes") is None:
        reason = around.excluded.get(codec) or reason  # time would not help what does not qualify
    cost = [number(value) for value in items(mapping(around.verdict.get("cost_s")).get(codec))]
    n_bytes, share, scaled = _bytes(case, own, status, around.full)
    return Row(
        codec=codec,
        key=str(case.get("key")),
        status=status,
        reason=reason,
        size=_size(case),
        write=Times.of(timings.get(ops[0])),
        read=Times.of(timings.get(ops[1])),
        total=Times.of(own.get("total")),
        bytes=n_bytes,
        bytes_predicted=scaled,
        size_share=share,
        peak_bytes=number(own.get("peak_bytes")),
        copies=copies(number(own.get("peak_bytes")), n_bytes),
        k=number(steepest.get("k")),
        k_lo=number(steepest.get("k_lo")),
        superlinear=any(bool(entry.get("superlinear")) for entry in curve),
        kept=_kept(case, own, around.format),
        predicted_ns=_predicted(status, own, curve, figures, around),
        flags=tuple(map(str, items(own.get("flags")))),
        cost=(cost[0], cost[1], cost[2]) if len(cost) == 3 and None not in cost else None,  # type: ignore[arg-type]
        excluded=around.excluded.get(codec, ""),
        case=case,
        derived=own,
    )


def _bytes(
    case: dict[str, Any], own: dict[str, Any], status: str, full: float
) -> tuple[float | None, float | None, bool]:
    """Encoded bytes of the grid's part of the data, as a share of those in memory, and whether predicted.

    What was encoded of a smaller part only is scaled, whatever became of the codec:
    the sizes of one table are all of the same part.
    """
    derived, known = number(own.get("bytes")), number(case.get("bytes"))
    share, raw = number(own.get("size_share")), number(case.get("raw_bytes"))
    if share is None and known is not None and raw:
        share = known / raw
    if status in TIMED:
        return (known if derived is None else derived), share, False
    if _size(case) >= full * 0.9995:
        # The part that was screened is all of it: what it encoded to is known, not predicted.
        return (derived if known is None else known), share, False
    predicted = number(mapping(case.get("predicted")).get("bytes"))
    if predicted is None:
        small = derived if known is None else known
        predicted = None if small is None else small * full / _size(case)
    return predicted, share, predicted is not None


def _kept(case: dict[str, Any], own: dict[str, Any], format: str) -> str:
    """What came back: all columns, ``6+1 type`` where one is of another type, ``6+1 silent`` where one was changed."""
    verify = mapping(case.get("verify"))
    columns = number(verify.get("columns"))
    changes = [mapping(change) for change in items(verify.get("changes"))]
    silent = sum(1 for change in changes if change.get("verdict") == "lossy")
    typed = len(
        {
            column_of(change)
            for change in changes
            if change.get("verdict") == "type" and column_of(change) and not is_guessed(change, format)
        }
    )
    if columns and typed and not silent and not verify.get("unchecked"):
        return f"{columns - typed:,.0f}+{typed:,} type{'s' * (typed > 1)}"
    if not verify or (own.get("kept") and not silent):
        return str(own.get("kept") or "")
    if columns is None:
        return f"{silent} silent" if silent else str(verify.get("verdict") or "")
    return f"{columns - silent:,.0f}+{silent:,} silent" if silent else f"{columns:,.0f}/{columns:,.0f}"


def _predicted(
    status: str, own: dict[str, Any], curve: list[dict[str, Any]], figures: dict[str, Any], around: _Around
) -> tuple[float, float | None, float | None] | None:
    """The predicted time of one write and one read: the record's own, the growth curve's, or by the screening ratio."""
    total = mapping(own.get("total"))
    if total.get("predicted") and number(total.get("t_ns")) is not None:
        return float(total["t_ns"]), number(total.get("lo_ns")), number(total.get("hi_ns"))
    by_op = {str(entry.get("op")): entry for entry in curve if number(entry.get("predicted_ns")) is not None}
    chosen = (
        [by_op["total"]] if "total" in by_op else [by_op["span"]] if "span" in by_op else list(by_op.values())
    )
    if chosen and (len(chosen) > 1 or "total" in by_op or "span" in by_op):
        parts = [
            [number(entry.get(name)) for entry in chosen]
            for name in ("predicted_ns", "predicted_lo_ns", "predicted_hi_ns")
        ]
        sums = [None if None in part else sum(part) for part in parts]  # type: ignore[arg-type]
        return float(sums[0] or 0.0), sums[1], sums[2]
    if status != "screened" or around.base_total is None:
        return None
    for case in sorted(around.smaller, key=_size, reverse=True):
        times = Times.of(mapping(figures.get(str(case.get("key")))).get("total"))
        if times.ratio is not None:
            lo = None if times.ratio_lo is None else times.ratio_lo * around.base_total
            hi = None if times.ratio_hi is None else times.ratio_hi * around.base_total
            return times.ratio * around.base_total, lo, hi
    return None


def _order(row: Row) -> tuple[Any, ...]:
    # Codecs with a cost come first, then by time: a prediction after every figure, reasons last.
    figure = row.cost[0] if row.cost else row.total.t_ns
    if row.status == "screened":
        figure = row.predicted_ns[0] if row.predicted_ns else None
    place = _RANK.get(row.status, 2) if figure is not None or row.status == "screened" else 2
    uncosted = row.cost is None and place == 0
    return (place, uncosted, math.inf if figure is None else figure, row.codec)
