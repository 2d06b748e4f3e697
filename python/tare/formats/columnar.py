"""What table formats share: how pyarrow and polars are listed, written to and read from. Not a format.

Each library stands here once, with what is the same in every format it writes: its kind in
memory, what must be installed, and its threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tare.categories import has_levels
from tare.formats.base import Library, Option
from tare.kinds import rows_alone

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = [
    "CHUNK_ROWS",
    "INFER_ROWS",
    "batches",
    "batches_of_groups",
    "check_names",
    "check_values",
    "join",
    "levels",
    "naming_column",
    "need_columns",
    "plain_name",
    "polars_library",
    "pyarrow_library",
    "read_groups",
    "row_groups_at_once",
    "run_of_rows",
    "written",
]

CHUNK_ROWS = 65_536  # rows of a part, where a table is written in parts
_LEAST_BYTES = 4 << 20  # of a table that is looked at by several threads
INFER_ROWS = Option(100, (), "Rows from which types are guessed; 0 = all, slower and safer.")


def written(write: Callable[[Any], object]) -> bytes:
    """The bytes that ``write(sink)`` writes to an Arrow buffer."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    write(sink)
    return sink.getvalue().to_pybytes()


def batches(reader: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Each batch that an Arrow reader gives, as a table."""
    import pyarrow as pa

    for batch in reader:
        yield pa.Table.from_batches([batch])


def join(parts: list[pa.Table]) -> pa.Table:
    """The tables below each other, without a copy."""
    import pyarrow as pa

    if parts and not parts[0].num_columns:
        return rows_alone(sum(map(len, parts)), parts[0].schema.metadata)
    return pa.concat_tables(parts)


def check_names(schema: pa.Schema) -> None:
    """Looks at every name of a schema of foreign bytes, which Arrow takes as they are.

    Args:
        schema: The schema.

    Raises:
        pyarrow.ArrowInvalid: A name is not UTF-8.
    """
    import pyarrow as pa

    left: list[tuple[Any, int, str]] = [(field, place, "") for place, field in enumerate(schema)]
    while left:
        field, place, within = left.pop()
        try:
            name = field.name
        except UnicodeDecodeError:
            where = f"field {place + 1} within column {within[:40]!r}" if within else f"column {place + 1}"
            raise pa.ArrowInvalid(f"the name of {where} is not UTF-8") from None
        kind = field.type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        left += [(kind.field(at), at, within or name or "?") for at in range(kind.num_fields)]


def check_values(table: pa.Table) -> None:
    """Looks at every name, offset and text of a table, on as many cores as Arrow uses.

    Args:
        table: A table of foreign bytes, whose users would crash if it were not valid.

    Raises:
        pyarrow.ArrowInvalid: It is not; the column is named.
    """
    import pyarrow as pa

    check_names(table.schema)
    # Counted without a look into it, which may not be safe yet.
    if pa.cpu_count() < 2 or table.num_columns < 2 or table.get_total_buffer_size() < _LEAST_BYTES:
        table.validate(full=True)
        return
    from concurrent.futures import ThreadPoolExecutor

    table.validate()
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        try:
            for _ in pool.map(lambda column: column.validate(full=True), table.columns):
                pass
        except pa.ArrowInvalid:
            table.validate(full=True)  # which says in which column it is
            raise


def need_columns(table: Any) -> None:
    """Refuse rows without a column, of which a format that counts rows by columns would keep none.

    Args:
        table: A table of Arrow's or a data frame of pandas.

    Raises:
        ValueError: There are some.
    """
    rows, columns = table.shape
    if rows and not columns:
        raise ValueError(f"the table has no column: that it has {rows:,} rows would be lost")


@contextmanager
def naming_column(schema: pa.Schema) -> Iterator[None]:
    """Names the column in an error of Arrow: the first of a type of pandas', or of categories that are not plain values.

    Raises:
        ArrowNotImplementedError: The block raised it.
    """
    import pyarrow as pa

    try:
        yield
    except pa.ArrowNotImplementedError as error:
        odd = next((field for field in schema if _is_odd(field.type)), None)
        if odd is None:
            raise
        said = f"column {odd.name[:80]!r} ({odd.type}): {error}. Make it text with .astype(str)"
        raise pa.ArrowNotImplementedError(said) from error


def _is_odd(kind: Any) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else None
    return isinstance(kind, pa.BaseExtensionType) or (inner is not None and pa.types.is_nested(inner))


def row_groups_at_once(schema: pa.Schema, groups: Sequence[int]) -> list[list[int]]:
    """Row groups of a Parquet file as Arrow reads them: of categories within lists and structs one at a time, else all.

    >>> import pyarrow as pa
    >>> row_groups_at_once(pa.schema({"k": pa.list_(pa.dictionary(pa.int8(), pa.string()))}), [0, 1])
    [[0], [1]]
    """
    import pyarrow as pa

    if any(has_levels(kind) and not pa.types.is_dictionary(kind) for kind in schema.types):
        return [[group] for group in groups]
    return [list(groups)]


def read_groups(
    file: pq.ParquetFile, groups: Sequence[int] | None = None, columns: list[str] | None = None
) -> pa.Table:
    """The rows of a Parquet file, or of some of its row groups, whatever their types are: see `row_groups_at_once`.

    Args:
        file: The file.
        groups: Numbers of row groups; None for all.
        columns: Names of columns; None for all.
    """
    import pyarrow as pa

    known = list(range(file.num_row_groups) if groups is None else groups)
    parts = row_groups_at_once(file.schema_arrow, known) if len(known) > 1 else [known]
    if len(parts) < 2:
        try:
            return (
                file.read(columns=columns) if groups is None else file.read_row_groups(known, columns=columns)
            )
        except pa.ArrowNotImplementedError:  # nor does it read more than 2 GiB of texts within lists at once
            if len(known) < 2:
                raise
    return join([file.read_row_group(group, columns=columns) for group in known])


def batches_of_groups(
    file: pq.ParquetFile, rows: int, groups: Sequence[int] | None = None, columns: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """As `read_groups`, in batches of at most so many rows."""
    known = range(file.num_row_groups) if groups is None else groups
    for part in row_groups_at_once(file.schema_arrow, known):
        yield from file.iter_batches(rows, row_groups=part, columns=columns)


def run_of_rows(tables: Iterable[pa.Table], start: int, count: int) -> pa.Table:
    """Rows ``start`` to ``start + count`` of tables below each other; later ones are not asked for.

    Args:
        tables: The tables, at least one.
        start: First row.
        count: Rows wanted; fewer if the tables end before.
    """
    found: list[pa.Table] = []
    for table in tables:
        if start < len(table) or not found:
            piece = table.slice(start, count) if table.num_columns else _some(table, start, count)
            found.append(piece)
            count -= len(piece)
        start = max(0, start - len(table))
        if count <= 0:
            break
    return join(found)


def _some(table: pa.Table, start: int, count: int) -> pa.Table:
    """Those rows of a table without columns, of which Arrow gives all."""
    return rows_alone(max(0, min(count, len(table) - start)), table.schema.metadata)


def plain_name(compression: str) -> str:
    """A compression as polars, DuckDB and ORC name it: ``uncompressed`` for ``none``."""
    return "uncompressed" if compression == "none" else compression


def levels(defaults: Mapping[str, int]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The ``resolve`` of a library with the options ``compression`` and ``level``.

    It raises ValueError for a level of a compression that has none.

    Args:
        defaults: The library's own level of each compression that has levels.

    >>> levels({"zstd": 1})({"compression": "zstd", "level": None})
    {'compression': 'zstd', 'level': 1}
    """

    def resolve(options: dict[str, Any]) -> dict[str, Any]:
        if options["level"] is None:
            return {**options, "level": defaults.get(options["compression"])}
        if options["compression"] not in defaults:
            raise ValueError(f"compression {options['compression']} has no levels")
        return options

    return resolve


def _set_arrow_threads(threads: int | None) -> int:
    import pyarrow as pa

    before, wanted = pa.cpu_count(), threads or os.cpu_count() or 1
    if wanted != before:  # it ends or starts threads
        pa.set_cpu_count(wanted)
    return before


pyarrow_library = partial(
    Library,
    name="pyarrow",
    native={"table": "arrow"},
    modules=("pyarrow",),
    distribution="pyarrow",
    threads=(1, "all"),
    set_threads=_set_arrow_threads,
)
polars_library = partial(
    Library,
    name="polars",
    native={"table": "polars"},
    modules=("polars",),
    distribution="polars",
    extra="tables",
    threads=(1, "all"),
)
