"""Decimals in CSV: a reader that guesses types makes doubles of them, and the text has every digit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from tare import kinds
from tare.datasets import csvs
from tare.datasets.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["compare_decimals"]

Changes = list[dict[str, Any]]


def compare_decimals(
    found: Changes, value: Any, back: pa.Table, result: Source, compare: Callable[[Any], Changes]
) -> Changes:
    """Returns what changed in a CSV, decimals by their text where a double has too few digits for one.

    Args:
        found: What changed as it is read.
        value: The table or the rows that were written.
        back: What was read.
        result: What was written.
        compare: Compares another table with what was written.
    """
    names = [name for name in _decimals_of(value) if _is_double(back, name)]
    if not names or not any(one["verdict"] == "lossy" for one in found):
        return found
    import pyarrow.compute as pc

    texts = _texts_of(result, names)
    exact = back
    for name in names:
        column: Any = texts.column(name)
        column = pc.if_else(pc.equal(column, cast(Any, "")), None, column)
        exact = exact.set_column(exact.column_names.index(name), name, column)
    return [
        {**one, "to": "double, and its text has every digit"} if one["to"] == "string" else one
        for one in compare(exact)
    ]


def _decimals_of(value: Any) -> list[str]:
    """Returns the names of columns of decimals, each of which is there once."""
    import pyarrow as pa

    if kinds.kind_of(value) == "table":
        names = [field.name for field in value.schema if pa.types.is_decimal(field.type)]
        return [name for name in names if value.column_names.count(name) == 1]
    found: dict[str, None] = {}
    for row in value if isinstance(value, list) else ():
        found |= dict.fromkeys(name for name, cell in row.items() if _is_decimal(cell))
    return list(found)


def _is_decimal(cell: Any) -> bool:
    return isinstance(cell, Decimal) or type(cell).__name__ == "Decimal128"


def _is_double(table: pa.Table, name: str) -> bool:
    import pyarrow as pa

    return name in table.column_names and pa.types.is_floating(table.schema.field(name).type)


def _texts_of(result: Source, names: list[str]) -> Any:
    source = replace(result, notes=[])
    text = csvs.text_of(source, source.read()[0], None, final=True)
    return csvs.texts_of(source, text, csvs.settled(source, text), names)
