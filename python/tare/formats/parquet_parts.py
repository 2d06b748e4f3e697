"""Writes Parquet on all cores, in the bytes that Arrow's own writer gives, which uses one. Not a format.

Columns of a row group hang on nothing but their own values. So each is written into a file of its own in memory, some at a
time, and what lies in these stands one behind the other in the result, whose footer says where.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tare.categories import one_dictionary
from tare.formats.parquet_footer import Footer, Struct, join_columns, read_footer
from tare.formats.side_by_side import in_order
from tare.kinds import resident_bytes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["parquet_parts"]

# Arrow's own, unless it is told otherwise.
_GROUP_ROWS = 1 << 20
# Below, threads cost more than they bring.
_LEAST_BYTES = 4 << 20
# A footer is read as Python's values, field by field.
_MOST_COLUMNS = 2_000
_PARTS_A_CORE = 8
_START = 4  # of a file's first column: behind the magic

_Write = Callable[["pa.Table", Any], object]


def parquet_parts(table: pa.Table, *, compression: Any, level: int | None) -> Iterator[memoryview] | None:
    """Returns the bytes that Arrow writes of a table, in parts; None if it is small, or has what is not known here.

    Args:
        table: The table.
        compression: As of `pyarrow.parquet.write_table`.
        level: Its level; None for the usual one.
    """
    import pyarrow as pa
    from pyarrow import parquet

    cores = pa.cpu_count()
    if cores < 2 or not 1 < table.num_columns <= _MOST_COLUMNS or resident_bytes(table) < _LEAST_BYTES:
        return None

    def write(rows: pa.Table, sink: Any) -> None:
        parquet.write_table(rows, sink, compression=compression, compression_level=level)

    try:
        table = one_dictionary(table)
        footer = read_footer(_written(table.slice(0, 1), write))
    except (pa.ArrowException, ValueError, IndexError):  # said where it is written as a whole
        return None
    if not footer.is_movable() or len(footer.groups) != 1:
        return None
    return _parts(table, write, footer, cores)


def _parts(table: pa.Table, write: _Write, footer: Footer, cores: int) -> Iterator[memoryview]:
    yield memoryview(b"PAR1")
    at = _START
    groups: list[Struct] = []
    runs = _runs(table, cores * _PARTS_A_CORE)
    with contextlib.closing(
        in_order(_runs_of_groups(table, runs), lambda rows: _written(rows, write))
    ) as written:
        for ordinal in range(-(-table.num_rows // _GROUP_ROWS)):
            found: list[tuple[Struct, int]] = []
            for _ in runs:
                data = next(written)
                own = read_footer(data)
                found.append((own.groups[0], at - _START))
                yield data[_START : own.start]
                at += own.start - _START
            groups.append(join_columns(found, ordinal))
    yield memoryview(footer.with_groups(groups))


def _runs_of_groups(table: pa.Table, runs: list[range]) -> Iterator[pa.Table]:
    """Yields each run of columns of each row group."""
    for start in range(0, table.num_rows, _GROUP_ROWS):
        rows = table.slice(start, _GROUP_ROWS)
        for run in runs:
            yield rows.select(list(run))


def _written(rows: pa.Table, write: _Write) -> memoryview:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    write(rows, sink)
    return memoryview(sink.getvalue())


def _runs(table: pa.Table, most: int) -> list[range]:
    """Returns neighbouring columns that are written together: about so many runs, of about as many bytes each."""
    if table.num_columns <= most:
        return [range(at, at + 1) for at in range(table.num_columns)]
    least = resident_bytes(table) / most
    runs: list[range] = []
    start, size = 0, 0
    for at in range(table.num_columns):
        size += resident_bytes(table.select([at]))
        if size >= least:
            runs.append(range(start, at + 1))
            start, size = at + 1, 0
    if start < table.num_columns:
        runs.append(range(start, table.num_columns))
    return runs
