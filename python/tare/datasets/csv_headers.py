"""Notes on the names of a CSV's columns: a first line that looks like a row, and names that stand twice."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from tare.datasets.source import Source, printable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["note", "repeated_notes"]

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?.*)?|\d\d:\d\d:\d\d(\.\d+)?")
_ADVICE = "if it is a row, write a line of names above it"
_TOLD = 3


def note(source: Source, schema: pa.Schema) -> None:
    """Notes a first line that looks like a row, and names that several columns have.

    Args:
        source: The file; it gets the notes.
        schema: Its columns with the types of what stands below their names.
    """
    names = schema.names
    if names and all(map(_NUMBER.fullmatch, names)):
        source.notes.append(f"its first line holds numbers only, and was read as column names; {_ADVICE}")
    elif values := _values(schema):
        told = ", ".join(printable(name, 30) for name in values[:_TOLD]) + ", ..." * (len(values) > _TOLD)
        source.notes.append(f"its first line, with {told}, was read as column names; {_ADVICE}")
    source.notes += repeated_notes(schema)


def repeated_notes(schema: pa.Schema) -> list[str]:
    """Returns the note on names that several columns have; none if each has its own.

    >>> import pyarrow as pa
    >>> repeated_notes(pa.table([[1], [2]], names=["a", "a"]).schema)
    ["several columns are named 'a': many readers, polars among them, take no such table"]
    """
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if not twice:
        return []
    told = ", ".join(repr(printable(name, 30)) for name in twice[:_TOLD]) + ", ..." * (len(twice) > _TOLD)
    return [f"several columns are named {told}: many readers, polars among them, take no such table"]


def _values(schema: pa.Schema) -> list[str]:
    """Returns the names that are values of their column's type, but for those of a table that has a column for each year or step."""
    import pyarrow as pa

    numbers = [field.name for field in schema if _is_numeric(field.type) and _NUMBER.fullmatch(field.name)]
    if _are_steps([float(name) for name in numbers]):
        numbers = []
    times = [
        field.name for field in schema if pa.types.is_temporal(field.type) and _TIME.fullmatch(field.name)
    ]
    return [*numbers, *times]


def _is_numeric(type: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_integer(type) or pa.types.is_floating(type)


def _are_steps(numbers: list[float]) -> bool:
    """Whether numbers name columns, as years, quantiles and places do.

    >>> _are_steps([2023.0, 2024.0]), _are_steps([0.05, 0.5, 0.99]), _are_steps([1999.0]), _are_steps([0.0])
    (True, True, True, True)
    >>> _are_steps([34.0]), _are_steps([34.0, 12.5]), _are_steps([34.0, 120.5])
    (False, False, False)
    """
    if len(numbers) == 1:
        return numbers[0] == 0 or (numbers[0].is_integer() and 1000 <= numbers[0] < 3000)
    rising = all(one < two for one, two in pairwise(numbers))
    return rising and (
        len(numbers) > 2 or all(1000 <= one < 3000 for one in numbers) or numbers[1] - numbers[0] == 1
    )
