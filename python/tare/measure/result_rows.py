"""The measured codecs of a record as rows: for a list of dicts that shows as a table, a data frame or an Arrow table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tare.codec.titles import title_of
from tare.measure.cases import case_key
from tare.measure.verdict.units import duration
from tare.quantities import amount

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["COLUMNS", "Rows", "arrow_table", "pandas_frame", "rows_of"]

COLUMNS = {
    "name": "string",
    "codec": "string",
    "medium": "string",
    "delivery": "string",
    "grain": "string",
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

# Shown only where they tell rows of one codec apart.
_APART = ("medium", "delivery", "grain", "size")
_UNRANKED = ("unproven", "refused", "error", "timeout", "killed", "n/a", "pending")


class Rows(list[dict[str, Any]]):
    """Rows of `Result.table`: a list of dicts, which shows itself as a table.

    >>> Rows([{"name": "CSV", "codec": "csv:pyarrow", "bytes": 5.7e6, "write_ns": 65e6, "read_ns": 2e6, "kept": "2/3"}])
    name  size    write  read  kept
    CSV   5.7 MB  65 ms  2 ms  2/3
    """

    def __repr__(self) -> str:
        if not self:
            return "[]"
        head, *lines = self._cells()
        widths = [max(len(line[place]) for line in (head, *lines)) for place in range(len(head))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in (head, *lines)
        )

    def _repr_html_(self) -> str:
        """The rows as a table, for notebooks."""
        from html import escape

        head, *lines = self._cells()
        top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
        return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"

    def _cells(self) -> list[list[str]]:
        """The head and the rows as they are shown, in units for people."""
        apart = [name for name in _APART if len({row.get(name) for row in self}) > 1]
        shown = [["name", *apart, "size", "write", "read", "kept"]]
        if "size" in apart:
            shown[0][1 + apart.index("size")] = "share"
        for row in self:
            status = str(row.get("status") or "")
            shown.append(
                [
                    str(row.get("name") or row.get("codec") or ""),
                    *(str(row.get(name) or "") for name in apart),
                    "" if row.get("bytes") is None else amount(row["bytes"]),
                    *(
                        "" if row.get(at) is None else duration(row[at] / 1e9)
                        for at in ("write_ns", "read_ns")
                    ),
                    str(row.get("kept") or "") or (status if status != "ok" else ""),
                ]
            )
        return shown


def rows_of(
    cases: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Any],
    costs: Mapping[str, float],
    *,
    medium: str | None,
    every: bool,
) -> Rows:
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

    return Rows(sorted(rows, key=order))


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
    return pa.Table.from_pylist(_whole(rows), schema=schema)


def pandas_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Returns rows as a data frame of pandas; whole numbers are ``Int64``, which holds missing ones.

    Raises:
        MissingLibrary: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        from tare.errors import MissingLibrary

        raise MissingLibrary("a data frame needs pandas. Install it with: pip install pandas") from error
    of_kind = {"int64": "Int64", "float64": "float64"}
    frame = pd.DataFrame(_whole(rows), columns=list(COLUMNS))
    return frame.astype({name: of_kind[kind] for name, kind in COLUMNS.items() if kind in of_kind})


def _whole(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with numbers of bytes that are whole."""
    whole = {name for name, kind in COLUMNS.items() if kind == "int64"}
    return [
        {name: round(value) if name in whole and value is not None else value for name, value in row.items()}
        for row in rows
    ]


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
        "grain": labels.get("grain", "whole"),
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
        "kept": _kept(case, str(figures.get("kept") or "")),
    }


def _kept(case: Mapping[str, Any], columns: str) -> str:
    """The columns that came back, and what beside them did not: the index of a data frame, the labels of its columns.

    >>> _kept({"verify": {"changes": [{"side": "index"}]}}, "2/2")
    '2/2, not the index'
    """
    sides = {change.get("side") for change in (case.get("verify") or {}).get("changes") or ()}
    gone = [name for side, name in (("index", "index"), ("column labels", "labels")) if side in sides]
    return f"{columns}, not the {' and '.join(gone)}" if gone and columns else columns


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
