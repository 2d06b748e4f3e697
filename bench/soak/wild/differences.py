"""Differences of two readings: the first one of each column and kind, so that each can be told by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from readers import Cells, Table, table_of_rows
from values import Clock, Span, Stamp, agree, cell_agrees

__all__ = ["Difference", "differences", "kind_of", "rows_of"]

_NUMBERS = (int, float, Decimal)
_TIMES = (Stamp, Clock, Span)
_PLAIN = frozenset({int, float, str, bool, bytes, type(None), Stamp, Clock, Span, Decimal})
_MOST = 40  # paths of a document


@dataclass(frozen=True)
class Difference:
    """One difference between two readings.

    Attributes:
        column: The column, or the path of a document; empty if it is all of it.
        kind: What differs: ``rows`` or ``columns`` are their numbers or names, else the values, by `kind_of`.
        text: What the report says.
        word: The first reading's value, if it is a text.
    """

    column: str
    kind: str
    text: str
    word: str = ""


def kind_of(a: Any, b: Any) -> str:
    """Return the kind of difference between two values.

    >>> kind_of(None, 1), kind_of(1, 2.5), kind_of("1", 1), kind_of("x", "y"), kind_of([1], [2]), kind_of(True, "no")
    ('null', 'number', 'type', 'text', 'nested', 'boolean')
    """
    if a is None or b is None:
        return "null"
    if isinstance(a, _TIMES) or isinstance(b, _TIMES):
        return "time"
    if isinstance(a, bool) or isinstance(b, bool):
        return "boolean"
    if isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
        return "number"
    if isinstance(a, (list, dict)) or isinstance(b, (list, dict)):
        return "nested"
    if isinstance(a, bytes) or isinstance(b, bytes):
        return "bytes"
    return "text" if isinstance(a, str) and isinstance(b, str) else "type"


def differences(truth: Any, other: Any) -> list[Difference]:
    """Return the first difference of each column and kind; none if two readings are the same."""
    if isinstance(truth, Cells) and isinstance(other, Cells):
        return _first_of_each(_cells_beside_cells(truth, other))
    if isinstance(truth, Cells) and isinstance(other, Table):
        return _first_of_each(_cells_beside_table(truth, other))
    if isinstance(truth, Table) and isinstance(other, Cells):
        return _first_of_each(_cells_beside_table(other, truth))
    if isinstance(truth, Table) and isinstance(other, Table):
        return _first_of_each(_tables(truth, other))
    if isinstance(truth, Table) and isinstance(other, list):
        return differences(truth, rows_of(other))
    if isinstance(truth, list) and isinstance(other, Table):
        return differences(rows_of(truth), other)
    if isinstance(truth, (Table, Cells)) or isinstance(other, (Table, Cells)):
        text = f"{type(truth).__name__} beside {type(other).__name__}"
        return [Difference("", "columns", text)]
    if agree(truth, other):
        return []
    return _first_of_each(_documents(truth, other, ""))


def _first_of_each(found: Iterator[Difference]) -> list[Difference]:
    first: dict[tuple[str, str], Difference] = {}
    for one in found:
        first.setdefault((one.column, one.kind), one)
        if len(first) >= _MOST:
            break
    return list(first.values())


def rows_of(rows: list[Any]) -> Any:
    """Return a list as a table, if it is one of objects."""
    try:
        return table_of_rows(rows, None)
    except TypeError:
        return rows if not rows else {"": rows}


def _tables(one: Table, other: Table) -> Iterator[Difference]:
    if one.rows != other.rows:
        yield Difference("", "rows", f"{one.rows} rows, {other.rows} rows")
        return
    given = dict(other.columns)
    if len(given) != len(other.columns) or len(dict(one.columns)) != len(one.columns):
        pairs = [
            (name, values, back)
            for (name, values), (_, back) in zip(one.columns, other.columns, strict=False)
        ]
        if len(one.columns) != len(other.columns):
            yield Difference("", "columns", f"{len(one.columns)} columns, {len(other.columns)} columns")
    else:
        # A column of nulls may be missing where records leave nulls out.
        pairs = [(name, values, given.get(name, [None] * len(values))) for name, values in one.columns]
        known = dict(one.columns)
        for name, values in other.columns:
            if name not in known and any(value is not None for value in values):
                yield Difference(name, "columns", f"column {name} beside none")
    for name, values, back in pairs:
        if not _are_the_same(values, back):
            yield from _of_column(name, values, back)


def _are_the_same(values: list[Any], back: list[Any]) -> bool:
    """Return whether two columns are equal beyond doubt, at the speed of lists."""
    kinds = [*map(type, values)]
    return set(kinds) <= _PLAIN and kinds == [*map(type, back)] and values == back


def _of_column(name: str, values: list[Any], back: list[Any]) -> Iterator[Difference]:
    for row, (a, b) in enumerate(zip(values, back, strict=False), 1):
        if a is not b and not agree(a, b):
            yield _of_values(name, row, a, b)


def _of_values(name: str, row: int, a: Any, b: Any) -> Difference:
    text = f"column {name}, row {row}: {_short(a)} beside {_short(b)}"
    return Difference(name, kind_of(a, b), text, a if isinstance(a, str) else "")


def _cells_beside_table(cells: Cells, table: Table) -> Iterator[Difference]:
    rows = cells.rows
    names = [name for name, _ in table.columns]
    body = (
        rows[1:] if rows and [name.strip() for name in rows[0]] == [name.strip() for name in names] else rows
    )
    if len(body) not in (table.rows, table.rows + 1) or not rows:
        yield Difference("", "rows", f"{len(body)} rows, {table.rows} rows")
        return
    if len(body) == table.rows + 1:
        body = body[1:]
    widest = max((len(row) for row in body), default=0)
    if widest > len(names) and any(cell.strip() for row in body for cell in row[len(names) :]):
        yield Difference("", "columns", f"{widest} columns, {len(names)} columns")
    for at, (name, values) in enumerate(table.columns):
        known: set[tuple[str, type, Any]] = set()  # cells that agree; most columns have few
        for row, (cells_of_row, value) in enumerate(zip(body, values, strict=False), 1):
            cell = cells_of_row[at] if at < len(cells_of_row) else ""
            key = (cell, type(value), value if type(value) in _PLAIN else repr(value))
            if key in known:
                continue
            if cell_agrees(cell, value):
                known.add(key)
            else:
                yield _of_values(name, row, cell, value)


def _cells_beside_cells(one: Cells, other: Cells) -> Iterator[Difference]:
    if len(one.rows) != len(other.rows):
        yield Difference("", "rows", f"{len(one.rows)} rows, {len(other.rows)} rows")
        return
    for row, (a, b) in enumerate(zip(one.rows[1:], other.rows[1:], strict=True), 1):
        for at, (cell, back) in enumerate(zip(a, b, strict=False)):
            if cell == back or cell_agrees(cell, back) or (back == "" and cell_agrees(cell, None)):
                continue
            name = one.rows[0][at] if at < len(one.rows[0]) else str(at)
            text = f"column {name}, row {row}: {_short(cell)} beside {_short(back)}"
            yield Difference(name, "null" if not (cell and back) else "text", text, cell)


def _documents(a: Any, b: Any, path: str) -> Iterator[Difference]:
    """Yield where two documents differ; a value in a place that the other does not have is one of its keys."""
    if isinstance(a, dict) and isinstance(b, dict):
        missing, more = [key for key in a if key not in b], [key for key in b if key not in a]
        text = f"{path}: keys {_short(missing)} beside {_short(more)}"
        # A word that is read otherwise is another key.
        for key in missing or more:
            yield Difference(f"{path}/{key}", "columns", text, key)
        if len(missing) < len(more):
            yield Difference(path, "columns", text)
        for key in (key for key in a if key in b):
            yield from _documents(a[key], b[key], f"{path}/{key}")
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield Difference(path, "rows", f"{path}: {len(a)} items, {len(b)} items")
            return
        for at, (x, y) in enumerate(zip(a, b, strict=True)):
            if x is not y:
                yield from _documents(x, y, f"{path}/{at}")
    elif not agree(a, b):
        word = a if isinstance(a, str) else b if isinstance(b, str) else ""
        yield Difference(path, kind_of(a, b), f"{path}: {_short(a)} beside {_short(b)}", word)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return json.dumps(text if len(text) <= 60 else text[:57] + "...") if isinstance(value, str) else text[:80]
