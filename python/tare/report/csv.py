"""The report as CSV: one row per case, in plain numbers, with the names of R's bench::mark beside ours."""

from __future__ import annotations

import csv
import io
from typing import Any

from tare.report import words
from tare.report.digest import Digest, Grid, Row, Times, digest, number
from tare.report.rendering import rendering

__all__ = ["COLUMNS", "render"]

# Seconds and bytes. The eight names from min to total_time are bench::mark's, for one write and one read
# together; mem_alloc holds the peak above the start.
COLUMNS = (
    "dataset",
    "codec",
    "medium",
    "delivery",
    "threads",
    "gc",
    "cache",
    "sync",
    "kind",
    "grain",
    "size",
    "status",
    "reason",
    "bytes",
    "raw_bytes",
    "write_s",
    "write_lo_s",
    "write_hi_s",
    "read_s",
    "read_lo_s",
    "read_hi_s",
    "total_s",
    "total_lo_s",
    "total_hi_s",
    "ratio",
    "ratio_lo",
    "ratio_hi",
    "letters",
    "predicted_full_s",
    "peak_bytes",
    "copies",
    "k",
    "kept",
    "lost",
    "p_best",
    "provisional",
    "published_total_s",
    "min",
    "median",
    "itr/sec",
    "mem_alloc",
    "gc/sec",
    "n_itr",
    "n_gc",
    "total_time",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@rendering
def render(result: Any, *, profile: str | None = None) -> str:
    """Write the rows of every grid.

    Args:
        result: A Result, or a record as a dict.
        profile: Profile that orders the rows; the record's headline by default.

    Returns:
        CSV with a header, LF line ends. What was not measured is empty, never 0.
    """
    found = digest(result, profile=profile)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for grid in found.grids:
        for row in grid.rows:
            cells = _cells(found, grid, row)
            writer.writerow([_safe(cells.get(name)) for name in COLUMNS])
    return out.getvalue()


def _safe(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str) and value.startswith(_FORMULA):
        # Spreadsheets run a text that starts like this; an apostrophe makes it text.
        return "'" + value
    return value


def _seconds(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e9


def _whole(n: float | None) -> int | None:
    return None if n is None else round(n)


def _side(name: str, times: Times) -> dict[str, Any]:
    return {
        f"{name}_s": _seconds(times.t_ns),
        f"{name}_lo_s": _seconds(times.lo_ns),
        f"{name}_hi_s": _seconds(times.hi_ns),
    }


def _cells(found: Digest, grid: Grid, row: Row) -> dict[str, Any]:
    labels = {name: str(level) for name, level in row.case["labels"].items()}
    odds = found.verdict.get("p")
    cells: dict[str, Any] = {
        **{name: labels.get(name, "") for name in COLUMNS[:11]},
        "dataset": labels.get("dataset") or str(found.dataset.get("name") or ""),
        "status": row.status,
        "reason": words.row_note(row) if not row.timed else row.reason,
        # Of the part that ``size`` names and ``raw_bytes`` counts: nothing is predicted here.
        "bytes": _whole(number(row.case.get("bytes")) if row.bytes_predicted else row.bytes),
        "raw_bytes": row.case.get("raw_bytes"),
        "predicted_full_s": None if row.predicted_ns is None else _seconds(row.predicted_ns[0]),
        "peak_bytes": _whole(row.peak_bytes),
        "copies": row.copies,
        "k": row.k,
        "kept": row.kept,
        "lost": words.losses(row, 20),
        "p_best": odds.get(row.codec) if isinstance(odds, dict) else None,
        "published_total_s": _seconds(row.published.t_ns),
    }
    if not row.timed:
        return cells
    cells |= {
        **_side("write", row.write),
        **_side("read", row.read),
        **_side("total", row.total),
        "ratio": row.total.ratio,
        "ratio_lo": row.total.ratio_lo,
        "ratio_hi": row.total.ratio_hi,
        "letters": row.total.letters,
        "provisional": int(row.provisional),
    }
    return cells | _bench_mark(grid, row)


def _bench_mark(grid: Grid, row: Row) -> dict[str, Any]:
    """bench::mark's columns: of a write and a read together, as that table would have timed the pair."""
    samples, collections, spent_ns = 0, 0, 0.0
    for launch in row.case.get("launches") or []:
        for place, op in enumerate(grid.ops):
            columns = (launch.get("samples") or {}).get(op) or {}
            batches = columns.get("batch") or []
            samples += sum(batches) if place == 0 else 0
            collections += sum(columns.get("gc_n") or [])
            spent_ns += sum(columns.get("wall_ns") or [])
    median = row.total.t_ns
    return {
        "min": _seconds(row.total.floor_ns),
        "median": _seconds(median),
        "itr/sec": 1e9 / median if median else None,
        "mem_alloc": _whole(row.peak_bytes),
        "gc/sec": collections / (spent_ns / 1e9) if spent_ns else None,
        "n_itr": samples,
        "n_gc": collections,
        "total_time": spent_ns / 1e9,
    }
