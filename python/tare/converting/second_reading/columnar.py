"""Parquet, Arrow and Avro by polars or DuckDB."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any

from tare.bare_arrays import python_values
from tare.converting.second_reading.agreement import first_difference
from tare.converting.second_reading.outcome import (
    Difference,
    Request,
    SecondReading,
    may_load,
    numbered,
    sampled,
)
from tare.converting.second_reading.time_units import in_unit_of, is_finer
from tare.datasets.avro_plain import has_plain_fields
from tare.datasets.source import printable
from tare.fidelity.comparison import show
from tare.frames import with_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_arrow", "read_avro", "read_parquet"]

# DuckDB's time grows with the square of the number of columns: 4.4 s for 30,000 of them, polars' 0.3 s.
_MOST_COLUMNS_OF_DUCKDB = 1000
# What polars makes of moments of 96 bits that nanoseconds of 64 bits do not reach.
_ENDS_OF_NANOSECONDS = ("2262-04-11 23:47:16.854775807", "1677-09-21 00:12:43.145224192")
# Records of a block of Avro, which are read one after another, up to which all that are to be compared are.
_LARGE_BLOCK = 50_000
_Blocks = list[tuple[int, int]]
# A library's rows in some blocks, as a table, and how many rows it counts in all.
_Reader = Callable[[Request, "list[str] | None", _Blocks], "tuple[pa.Table, int]"]


def read_parquet(request: Request) -> SecondReading:
    """Reads a Parquet file by DuckDB, by polars if it has very many columns."""
    wide = request.value.num_columns > _MOST_COLUMNS_OF_DUCKDB
    names, why = may_load(request, *(("polars",) if wide else ("duckdb", "polars")))
    return _by(request, {name: _PARQUET[name] for name in names}, why)


def read_arrow(request: Request) -> SecondReading:
    """Reads an Arrow file or stream by polars."""
    names, why = may_load(request, "polars")
    return _by(request, dict.fromkeys(names, _arrow_by_polars), why)


def read_avro(request: Request) -> SecondReading:
    """Reads some blocks of an Avro file by fastavro, if its fields are plain; which made the table else, and polars reads it.

    Where polars does not, the table is compared with the records that its maker made it of.
    """
    import fastavro

    with request.source.open() as file:
        schema = fastavro.reader(file).writer_schema
    if has_plain_fields(schema):
        return _avro_records(request, "fastavro", "")
    names, why = may_load(request, "polars")
    if names and any(
        f"'type': '{kind}'" in repr(schema) for kind in ("map", "enum")
    ):  # of which polars panics
        names, why = [], "polars does not read its maps or enums"
    found = _by(request, dict.fromkeys(names, _avro_by_polars), why)
    return found if found.reader else _avro_records(request, "", found.why)


def _by(request: Request, readers: dict[str, _Reader], why: str) -> SecondReading:
    """What the first of some libraries says that reads the file."""
    table: pa.Table = request.value
    names = table.column_names if request.columns is not None else None
    blocks = sampled(table.num_rows, table.num_columns)
    if not table.num_columns or (names is not None and not _are_distinct(names)):
        return SecondReading(why="its columns cannot be told apart")
    for name, read in readers.items():
        if name == "polars" and not (
            _are_distinct(table.schema.names)
            and all(map(_is_of_polars, table.schema.types))
            and not any("\0" in f"{field.name}{field.type}" for field in table.schema)  # of which it panics
        ):
            why = "polars does not read its types or names"
            continue
        try:
            back, total = read(request, names, blocks)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException:  # polars panics, and each of them has errors of its own
            why = f"{name} does not read it"
            continue
        if back.num_columns != table.num_columns:
            why = f"{name} reads other columns of it"
            continue
        return _compared(name, table, back.rename_columns(table.column_names), blocks, total)
    return SecondReading(why=why)


def _compared(name: str, table: pa.Table, back: pa.Table, blocks: _Blocks, total: int) -> SecondReading:
    from tare.fidelity.tables import compare_tables

    rows = list(numbered(blocks))
    outcome = SecondReading(name, rows=len(rows), total=table.num_rows)
    if total != table.num_rows:
        return _differs(outcome, "the number of rows", f"{table.num_rows:,}", f"{total:,}")
    own = _in_units_of(back, _blocks_of(table, blocks))
    both = zip(own.schema.types, back.schema.types, strict=True)
    places = [at for at, (kind, other) in enumerate(both) if _can_hold(kind, other)]
    found = compare_tables(own.select(places), back.select(places), limit=len(places) + 1)
    for change in found.changes:
        of_a_cell = change.verdict == "lossy" and not change.side and change.at.startswith("row ")
        if of_a_cell and not change.out.startswith(_ENDS_OF_NANOSECONDS):
            row = rows[int(change.at[4:])] + 1
            return _differs(
                outcome, f"column {printable(change.path)!r}, row {row:,}", change.in_, change.out
            )
    return outcome


def _are_distinct(names: list[str]) -> bool:
    return len(set(names)) == len(names)


def _is_zone(name: str) -> bool:
    """Returns whether a zone has a name: of one that is an offset polars panics, too."""
    try:
        zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return False
    return True


def _is_of_polars(kind: Any) -> bool:
    """Returns whether polars has a type; of others it panics, which prints a page."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return bool(types.is_string(kind.value_type) or types.is_large_string(kind.value_type))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_struct(kind):
        inner = [kind.field(at) for at in range(kind.num_fields)]
        return _are_distinct([field.name for field in inner]) and all(
            _is_of_polars(field.type) for field in inner
        )
    texts = (
        types.is_string,
        types.is_large_string,
        types.is_string_view,
        types.is_binary,
        types.is_large_binary,
    )
    if types.is_timestamp(kind) and kind.tz is not None and not _is_zone(kind.tz):
        return False
    times = (types.is_date, types.is_time, types.is_timestamp, types.is_duration)
    numbers = (types.is_boolean, types.is_integer, types.is_float32, types.is_float64, types.is_decimal128)
    return any(is_one(kind) for is_one in (*texts, *times, *numbers, types.is_null))


def _differs(outcome: SecondReading, place: str, first: str, second: str) -> SecondReading:
    return SecondReading(outcome.reader, "", outcome.rows, outcome.total, Difference(place, first, second))


def _blocks_of(table: pa.Table, blocks: _Blocks) -> pa.Table:
    import pyarrow as pa

    parts = [table.slice(start, end - start) for start, end in blocks]
    return parts[0] if len(parts) == 1 else pa.concat_tables(parts) if parts else table.slice(0, 0)


def _in_units_of(back: pa.Table, table: pa.Table) -> pa.Table:
    """Returns a table whose times are as coarse as another reader has them: DuckDB cuts INT96 to microseconds."""
    import pyarrow as pa

    changed = {}
    # Lists of names and types are made anew whenever they are asked for.
    for at, (field, column, kind) in enumerate(
        zip(table.schema, table.columns, back.schema.types, strict=True)
    ):
        if is_finer(field.type, kind) and column.num_chunks:
            coarse = pa.chunked_array([in_unit_of(chunk, kind) for chunk in column.chunks])
            changed[at] = pa.field(field.name, coarse.type), coarse
    return with_columns(table, changed)


def _can_hold(kind: Any, other: Any) -> bool:
    """Returns whether the other reader's type holds the values of the first's, so that a difference is one of values."""
    import pyarrow as pa

    if (
        any(map(pa.types.is_interval, (kind, other)))
        or pa.types.is_decimal256(kind)
        or pa.types.is_union(kind)
    ):
        return bool(kind == other)
    inner = [kind.field(at).type for at in range(kind.num_fields)]
    others = [other.field(at).type for at in range(other.num_fields)]
    if pa.types.is_map(kind) and pa.types.is_list(other):
        return True
    if pa.types.is_struct(kind) and not _are_distinct(
        [kind.field(at).name.lower() for at in range(len(inner))]
    ):
        return False  # DuckDB gives new names to some of its fields
    return len(inner) != len(others) or all(map(_can_hold, inner, others))


# --- the libraries ---------------------------------------------------------------------------


def _path_or_bytes(request: Request) -> Any:
    source = request.source
    return source.path if source.path is not None and not source.compressors else source.read()[0]


def _parquet_by_duckdb(request: Request, names: list[str] | None, blocks: _Blocks) -> tuple[pa.Table, int]:
    from tare.formats import duck

    columns = "* EXCLUDE (file_row_number)" if names is None else duck.quote(names)
    where = " OR ".join(f"file_row_number BETWEEN {start} AND {end - 1}" for start, end in blocks) or "false"
    rows = (
        f"SELECT {columns} FROM read_parquet({{path}}, file_row_number = true) "  # noqa: S608 - quoted
        f"WHERE {where} ORDER BY file_row_number"
    )
    count = "SELECT count(*) FROM read_parquet({path})"
    table, counted = duck.queries(_path_or_bytes(request), rows, count)
    return table, int(counted.column(0)[0].as_py())


def _parquet_by_polars(request: Request, names: list[str] | None, blocks: _Blocks) -> tuple[pa.Table, int]:
    import polars as pl

    given = _path_or_bytes(request)
    lazy = pl.scan_parquet(given, glob=False, hive_partitioning=False, use_statistics=False)
    return _lazily(lazy, names, blocks)


def _arrow_by_polars(request: Request, names: list[str] | None, blocks: _Blocks) -> tuple[pa.Table, int]:
    import polars as pl

    given: Any = _path_or_bytes(request)
    if request.source.head.startswith(b"ARROW1"):
        return _in_one_pass(pl.scan_ipc(given, glob=False, hive_partitioning=False), names, blocks)
    return _lazily(pl.read_ipc_stream(given).lazy(), names, blocks)


def _avro_by_polars(request: Request, names: list[str] | None, blocks: _Blocks) -> tuple[pa.Table, int]:
    import polars as pl

    return _lazily(pl.read_avro(_path_or_bytes(request)).lazy(), names, blocks)


def _lazily(lazy: Any, names: list[str] | None, blocks: _Blocks) -> tuple[pa.Table, int]:
    import polars as pl

    total = int(lazy.select(pl.len()).collect().item())
    chosen = lazy if names is None else lazy.select(names)
    parts = [chosen.slice(start, end - start).collect() for start, end in blocks]
    return pl.concat(parts or [chosen.head(0).collect()], rechunk=False).to_arrow(), total


def _in_one_pass(lazy: Any, names: list[str] | None, blocks: _Blocks) -> tuple[pa.Table, int]:
    """As `_lazily`, where a row is read with all rows of its batch: each block would read them again."""
    import polars as pl

    total = int(lazy.select(pl.len()).collect().item())
    chosen = lazy if names is None else lazy.select(names)
    if not blocks or blocks == [(0, total)]:
        return chosen.collect().to_arrow(), total
    number = "number"
    while number in chosen.collect_schema().names():
        number += "_"
    is_wanted = pl.any_horizontal(pl.col(number).is_between(start, end - 1) for start, end in blocks)
    return chosen.with_row_index(number).filter(is_wanted).drop(number).collect().to_arrow(), total


_PARQUET: dict[str, _Reader] = {"duckdb": _parquet_by_duckdb, "polars": _parquet_by_polars}


def _avro_records(request: Request, name: str, why: str) -> SecondReading:
    """Compares the table with records, block by block of the file; of a large block with its first ones."""
    import fastavro

    table: pa.Table = request.value
    blocks = sampled(table.num_rows, table.num_columns)
    total, seen = 0, 0
    for block in fastavro.block_reader(BytesIO(request.source.read()[0])):
        start, total = total, total + block.num_records
        wanted = [(max(first, start), min(last, total)) for first, last in blocks]
        wanted = [(first, last) for first, last in wanted if first < last]
        if not wanted:
            continue
        end = wanted[0 if block.num_records > _LARGE_BLOCK else -1][1]
        records: list[Any] = list(islice(block, end - start))
        for first, last in wanted:
            if last > end:
                break
            own = _rows_of(table.slice(first, last - first))
            seen += len(own)
            for row, (one, other) in enumerate(
                zip(own, records[first - start : last - start], strict=False), first + 1
            ):
                if request.columns is not None:
                    other = {name: other[name] for name in one if name in other}  # noqa: PLW2901
                if (found := first_difference(one, other)) is not None:
                    path, *values = found
                    difference = Difference(f"column {printable(path)!r}, row {row:,}", *map(show, values))
                    return SecondReading(name, why, seen, table.num_rows, difference)
    if total != table.num_rows:
        counts = Difference("the number of rows", f"{table.num_rows:,}", f"{total:,}")
        return SecondReading(name, why, seen, table.num_rows, counts)
    return SecondReading(name, why, seen, table.num_rows)


def _rows_of(table: pa.Table) -> list[dict[str, Any]]:
    names = table.column_names
    columns = map(python_values, table.columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
