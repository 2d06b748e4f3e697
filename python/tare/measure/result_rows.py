"""The measured codecs of a record as rows: for a list of dicts, a data frame or an Arrow table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tare.codec.titles import title_of
from tare.measure.cases import case_key

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "arrow_table", "rows_of"]

COLUMNS = {
    "name": "string",
    "codec": "string",
    "medium": "string",
    "delivery": "string",
    "size": "string",
    "key": "string",
    "stage": "string",
    "status": "string",
    "reason": "string",
    "bytes": "int64",
    "write_ns": "float64",
    "read_ns": "float64",
    "total_ns": "float64",
    "ratio": "float64",
    "ratio_lo": "float64",
    "ratio_hi": "float64",
    "letters": "string",
    "peak_bytes": "int64",
    "kept": "string",
}
"""Name -> Arrow type of a row's values; `Result.table` says what they are."""

_UNRANKED = ("unproven", "refused", "error", "timeout", "killed", "n/a", "pending")


def rows_of(
    cases: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Any],
    costs: Mapping[str, float],
    *,
    medium: str | None,
    every: bool,
) -> list[dict[str, Any]]:
    """Returns a row for each combination of levels, the measured ones first, what costs least first.

    Args:
        cases: The cases of a record.
        figures: Their derived figures, by key.
        costs: Codec -> its cost in the use of the run. Those without one come behind, the least total time first.
        medium: Only this medium; None for all.
        every: Whether there are rows of what was not measured too.
    """
    shown = [
        case
        for case in cases
        if not case["labels"].get("twin")
        and case["labels"].get("codec") != "copy"
        and medium in (None, case["labels"].get("medium", "memory"))
    ]
    rows = [_row(case, figures.get(case["key"]) or {}) for case in _one_each(shown)]
    if not every:
        rows = [row for row in rows if row["total_ns"] is not None]

    def order(row: Mapping[str, Any]) -> tuple[bool, bool, float, float]:
        spent = row["total_ns"]
        cost = costs.get(row["codec"], math.inf)
        return (row["status"] in _UNRANKED, spent is None, cost, spent or 0.0)

    return sorted(rows, key=order)


def arrow_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Returns rows as an Arrow table, of the same types whatever the rows hold.

    Raises:
        MissingLibrary: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        from tare.errors import MissingLibrary

        raise MissingLibrary("an Arrow table needs pyarrow. Install it with: pip install pyarrow") from error
    types: dict[str, pa.DataType] = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64()}
    schema = pa.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
    whole = {name for name, kind in COLUMNS.items() if kind == "int64"}
    cells = [
        {name: round(value) if name in whole and value is not None else value for name, value in row.items()}
        for row in rows
    ]
    return pa.Table.from_pylist(cells, schema=schema)


def _row(case: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, Any]:
    operations = figures.get("ops") or {}
    # Where a plan times one operation only, that one is what a user waits for.
    total = figures.get("total") or (next(iter(operations.values())) if len(operations) == 1 else None) or {}
    labels = case["labels"]

    def time_of(*names: str) -> float | None:
        return next((operations[name].get("t_ns") for name in names if operations.get(name)), None)

    shown = case["status"] not in _UNRANKED
    return {
        "name": title_of(labels.get("codec", "")),
        "codec": labels.get("codec", ""),
        "medium": labels.get("medium", "memory"),
        "delivery": labels.get("delivery", "whole"),
        "size": labels.get("size", "1"),
        "key": case["key"],
        "stage": case.get("stage"),
        "status": case["status"],
        "reason": case.get("reason") or "",
        "bytes": case.get("bytes"),
        "write_ns": time_of("write", "encode", "send"),
        "read_ns": time_of("read", "decode", "receive") if shown else None,
        "total_ns": total.get("t_ns") if shown else None,
        "ratio": total.get("ratio") if shown else None,
        "ratio_lo": total.get("ratio_lo") if shown else None,
        "ratio_hi": total.get("ratio_hi") if shown else None,
        "letters": total.get("letters") or "",
        "peak_bytes": figures.get("peak_bytes"),
        "kept": figures.get("kept") or "",
    }


def _one_each(cases: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One case for each combination: as weighed, else at the largest size, else as screened."""
    worth = {"weigh": 2, "growth": 1}
    best: dict[str, tuple[tuple[int, float], Mapping[str, Any]]] = {}
    for case in cases:
        labels = case["labels"]
        place = case_key({name: level for name, level in labels.items() if name != "size"})
        rank = (worth.get(case.get("stage") or "", 0), _share(labels.get("size", "1")))
        if place not in best or rank > best[place][0]:
            best[place] = (rank, case)
    weighed = {case["labels"].get("codec") for rank, case in best.values() if rank[0] > 0}
    return [case for rank, case in best.values() if rank[0] > 0 or case["labels"].get("codec") not in weighed]


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
