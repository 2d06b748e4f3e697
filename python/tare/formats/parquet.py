"""Apache Parquet, as defined in https://parquet.apache.org/docs/file-format/."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from tare.categories import one_dictionary
from tare.formats import duck
from tare.formats.base import Buffer, Format, Library, Option
from tare.formats.columnar import (
    CHUNK_ROWS,
    batches,
    batches_of_groups,
    levels,
    naming_column,
    need_columns,
    plain_name,
    polars_library,
    pyarrow_library,
    read_groups,
    run_of_rows,
    written,
)
from tare.formats.parquet_file import open_parquet
from tare.formats.parquet_parts import parquet_parts

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["FORMAT"]

_LEVEL = Option(
    None,
    (),
    "Level of the compression; unset = the library's own default for it, which the record names.",
    "int",
)


def _compression(default: str, *names: str) -> Option:
    return Option(default, names, "Compression of the column pages.")


_SNAPPY_FIRST = _compression("snappy", "snappy", "none", "lz4", "zstd", "gzip", "brotli")

# Default levels of each library, by compression; a test compares the bytes with level unset.
_LEVELS_PYARROW = {"zstd": 1, "gzip": 9, "brotli": 8}
_LEVELS_POLARS = {"zstd": 3, "gzip": 6, "brotli": 1}
_LEVELS_DUCKDB = {"zstd": 3}


def _encode_pyarrow(obj: pa.Table, *, compression: Any, level: int | None) -> bytes:
    return written(partial(_into_pyarrow, obj, compression=compression, level=level))


def _into_pyarrow(obj: pa.Table, sink: Any, *, compression: Any, level: int | None) -> None:
    from pyarrow import parquet

    need_columns(obj)
    with naming_column(obj.schema):
        parquet.write_table(one_dictionary(obj), sink, compression=compression, compression_level=level)


def _decode_pyarrow(data: Buffer, *, compression: str, level: int | None) -> pa.Table:
    return _read_pyarrow(data, None)


def _subset_pyarrow(data: Buffer, columns: list[str], *, compression: str, level: int | None) -> pa.Table:
    return _read_pyarrow(data, columns)


def _read_pyarrow(data: Buffer, columns: list[str] | None) -> pa.Table:
    import pyarrow as pa

    with open_parquet(pa.BufferReader(data), columns=columns) as file:
        return read_groups(file, columns=columns)


def _subset_file_pyarrow(path: str, columns: list[str]) -> pa.Table:
    with open_parquet(path, columns=columns) as file:
        return read_groups(file, columns=columns)


def _rows_pyarrow(data: Buffer, start: int, count: int, **options: Any) -> pa.Table:
    """Those rows; of the row groups that hold them, what lies before is read too."""
    import pyarrow as pa

    with open_parquet(pa.BufferReader(data)) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
        group = 0
        while group < len(sizes) - 1 and start >= sizes[group]:
            start -= sizes[group]
            group += 1
        groups = list(range(group, len(sizes)))
        return run_of_rows(batches(batches_of_groups(file, CHUNK_ROWS, groups)), start, count)


def _open_pyarrow(data: Buffer, **options: Any) -> Any:
    """The file's footer read, its columns not."""
    import pyarrow as pa

    return open_parquet(pa.BufferReader(data))


def _check(data: Buffer) -> None:
    """Read everything with Arrow and keep nothing: what it refuses crashes the other readers."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(pa.BufferReader(data)) as file:
        rows = sum(batch.num_rows for batch in batches_of_groups(file, CHUNK_ROWS))
        if rows != file.metadata.num_rows:
            raise ValueError(f"{rows} rows where the footer says {file.metadata.num_rows}")


def _encode_polars(obj: pl.DataFrame, *, compression: Any, level: int | None) -> bytes:
    file = BytesIO()
    name: Any = plain_name(compression)
    obj.write_parquet(file, compression=name, compression_level=level)
    return file.getvalue()


def _decode_polars(data: Buffer, *, compression: str, level: int | None) -> pl.DataFrame:
    import polars as pl

    return pl.read_parquet(BytesIO(data))


def _subset_polars(data: Buffer, columns: list[str], *, compression: str, level: int | None) -> pl.DataFrame:
    import polars as pl

    return pl.read_parquet(BytesIO(data), columns=columns)


def _subset_file_polars(path: str, columns: list[str]) -> pl.DataFrame:
    import polars as pl

    return pl.read_parquet(path, columns=columns, glob=False)


def _rows_polars(data: Buffer, start: int, count: int, **options: Any) -> pl.DataFrame:
    import polars as pl

    return pl.scan_parquet(BytesIO(data)).slice(start, count).collect()


class _Kept(BytesIO):
    """A file in memory that closing does not empty: fastparquet closes what it wrote."""

    def close(self) -> None:
        pass


def _encode_fastparquet(obj: pd.DataFrame, *, compression: str) -> bytes:
    import fastparquet

    file = _Kept()
    name = None if compression == "none" else compression.upper()
    # Of parts the rows are numbered from elsewhere on: an index without a name is left out.
    index = obj.index
    named = index.nlevels > 1 or index.name is not None or index.dtype.kind not in "iu"
    fastparquet.write("memory", obj, compression=name, open_with=lambda *_: file, write_index=named)
    return file.getvalue()


def _opened(data: Buffer) -> Any:
    import fastparquet

    # Unverified, it parses whatever lies where a footer would, beyond its end: a crash.
    return fastparquet.ParquetFile(BytesIO(data), verify=True)


def _decode_fastparquet(data: Buffer, *, compression: str) -> pd.DataFrame:
    frame: pd.DataFrame = _opened(data).to_pandas()
    return frame


def _subset_fastparquet(data: Buffer, columns: list[str], *, compression: str) -> pd.DataFrame:
    frame: pd.DataFrame = _opened(data).to_pandas(columns=columns, index=False)
    return frame


def _rows_fastparquet(data: Buffer, start: int, count: int, **options: Any) -> pd.DataFrame:
    """Those rows, out of the row groups that hold them."""
    file = _opened(data)
    sizes = [group.num_rows for group in file.row_groups]
    first, last = 0, len(sizes)
    while first < last - 1 and start >= sizes[first]:
        start -= sizes[first]
        first += 1
    while last > first + 1 and sum(sizes[first : last - 1]) >= start + count:
        last -= 1
    frame: pd.DataFrame = file[first:last].to_pandas()
    return frame.iloc[start : start + count]


def _encode_duckdb(obj: pa.Table, *, compression: str, level: int | None) -> bytes:
    more = f", COMPRESSION_LEVEL {level}" if level is not None else ""
    return duck.copy_to(obj, f"FORMAT parquet, COMPRESSION {plain_name(compression)}{more}")


def _decode_duckdb(data: Buffer, *, compression: str, level: int | None) -> pa.Table:
    return duck.query(data, "FROM read_parquet({path})")


def _subset_duckdb(data: Buffer, columns: list[str], *, compression: str, level: int | None) -> pa.Table:
    return duck.query(data, f"SELECT {duck.quote(columns)} FROM read_parquet({{path}})")  # noqa: S608 - quoted


def _rows_duckdb(data: Buffer, start: int, count: int, **options: Any) -> pa.Table:
    return duck.query(data, f"FROM read_parquet({{path}}) LIMIT {count} OFFSET {start}")


_ZSTD: tuple[dict[str, object], ...] = ({}, {"compression": "zstd"})

FORMAT = Format(
    id="parquet",
    title="Parquet",
    extensions=(".parquet", ".pq"),
    kinds=frozenset({"table"}),
    magic=(b"PAR1",),
    spec="https://parquet.apache.org/docs/file-format/",
    languages=("c++", "csharp", "go", "java", "javascript", "julia", "python", "r", "rust"),
    subset=("columns", "rows"),
    libraries=(
        pyarrow_library(
            encode=_encode_pyarrow,
            decode=_decode_pyarrow,
            options={
                "compression": _SNAPPY_FIRST,
                "level": _LEVEL,
            },
            variants={
                "table": (*_ZSTD, {"compression": "zstd", "level": 9}, {"compression": "none"}),
            },
            resolve=levels(_LEVELS_PYARROW),
            write=_into_pyarrow,
            of_arrow=parquet_parts,
            subset=_subset_pyarrow,
            subset_file=_subset_file_pyarrow,
            rows=_rows_pyarrow,
            open=_open_pyarrow,
        ),
        polars_library(
            encode=_encode_polars,
            decode=_decode_polars,
            options={
                "compression": _compression("zstd", "zstd", "snappy", "none", "lz4", "gzip", "brotli"),
                "level": _LEVEL,
            },
            resolve=levels(_LEVELS_POLARS),
            subset=_subset_polars,
            subset_file=_subset_file_polars,
            rows=_rows_polars,
            check=_check,
            notes=("Damaged bytes can abort it: they are read with Arrow first unless trusted.",),
        ),
        duck.library(
            encode=_encode_duckdb,
            decode=_decode_duckdb,
            options={
                "compression": _SNAPPY_FIRST,
                "level": _LEVEL,
            },
            resolve=levels(_LEVELS_DUCKDB),
            subset=_subset_duckdb,
            rows=_rows_duckdb,
        ),
        Library(
            name="fastparquet",
            native={"table": "pandas"},
            encode=_encode_fastparquet,
            decode=_decode_fastparquet,
            modules=("fastparquet", "pandas"),
            distribution="fastparquet",
            extra="tables",
            options={"compression": _SNAPPY_FIRST},
            subset=_subset_fastparquet,
            rows=_rows_fastparquet,
            check=_check,
            executes_code=True,  # not by design, but damaged footers overrun its memory or never end
            notes=("Damaged bytes can crash it or hang it: trusted files only.",),
        ),
    ),
)
