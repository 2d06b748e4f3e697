"""The plain calls of the libraries that write and read tables; see ``calls``."""

from __future__ import annotations

import atexit
import csv
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from io import BytesIO, StringIO
from typing import Any

from regret.calls import Calls

_Options = dict[str, str]


def _level(options: _Options) -> int | None:
    return int(options["level"]) if options.get("level", "auto") != "auto" else None


def _plain(name: str) -> str:
    return "uncompressed" if name == "none" else name


def _buffer(write: Callable[[Any], object]) -> Any:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    write(sink)
    return sink.getvalue()


# --- pyarrow -----------------------------------------------------------------------------


def _parquet_pyarrow(options: _Options) -> Calls:
    import pyarrow as pa
    from pyarrow import parquet

    more: dict[str, Any] = {
        "compression": options.get("compression", "snappy"),
        "compression_level": _level(options),
    }
    return Calls(
        "arrow",
        lambda table: _buffer(partial(parquet.write_table, table, **more)),
        lambda data: parquet.ParquetFile(pa.BufferReader(data)).read(),
        lambda data, column: parquet.ParquetFile(pa.BufferReader(data)).read(columns=[column]),
    )


def _arrow_pyarrow(options: _Options) -> Calls:
    import pyarrow as pa
    from pyarrow import ipc

    name: Any = options.get("compression", "none")
    pressed = None if name == "none" else pa.Codec(name, compression_level=_level(options))
    how = ipc.IpcWriteOptions(compression=pressed)
    stream = options.get("layout", "file") == "stream"
    new, opened = (ipc.new_stream, ipc.open_stream) if stream else (ipc.new_file, ipc.open_file)

    def encode(table: Any) -> Any:
        sink = pa.BufferOutputStream()
        with new(sink, table.schema, options=how) as writer:
            writer.write_table(table)
        return sink.getvalue()

    def part(data: Any, column: str) -> Any:
        place = opened(data).schema.get_field_index(column)
        return opened(data, options=ipc.IpcReadOptions(included_fields=[place])).read_all()

    # What is read lies in the encoded bytes themselves, which the cost counts as they are read from a file.
    return Calls("arrow", encode, lambda data: opened(data).read_all(), part)


def _orc_pyarrow(options: _Options) -> Calls:
    import pyarrow as pa
    from pyarrow import orc

    name: Any = _plain(options.get("compression", "none"))
    return Calls(
        "arrow",
        lambda table: _buffer(lambda sink: orc.write_table(table, sink, compression=name)),
        lambda data: orc.ORCFile(pa.BufferReader(data)).read(),
        lambda data, column: orc.ORCFile(pa.BufferReader(data)).read(columns=[column]),
    )


def _csv_pyarrow(options: _Options) -> Calls:
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    read: Any = pa_csv.read_csv  # its stubs know no buffers
    parse = pa_csv.ParseOptions(newlines_in_values=options.get("newlines", "false") == "true")
    return Calls(
        "arrow",
        lambda table: _buffer(partial(pa_csv.write_csv, table)),
        lambda data: read(pa.BufferReader(data), parse_options=parse),
    )


# --- polars --------------------------------------------------------------------------------


def _written(write: Callable[[Any], object]) -> bytes:
    file = BytesIO()
    write(file)
    return file.getvalue()


def _parquet_polars(options: _Options) -> Calls:
    import polars as pl

    more: Any = {
        "compression": _plain(options.get("compression", "zstd")),
        "compression_level": _level(options),
    }
    return Calls(
        "polars",
        lambda frame: _written(lambda file: frame.write_parquet(file, **more)),
        lambda data: pl.read_parquet(BytesIO(data)),
        lambda data, column: pl.read_parquet(BytesIO(data), columns=[column]),
    )


def _arrow_polars(options: _Options) -> Calls:
    import polars as pl

    name: Any = _plain(options.get("compression", "none"))
    return Calls(
        "polars",
        lambda frame: _written(lambda file: frame.write_ipc(file, compression=name)),
        lambda data: pl.read_ipc(BytesIO(data)),
        lambda data, column: pl.read_ipc(BytesIO(data), columns=[column]),
    )


def _csv_polars(options: _Options) -> Calls:
    import polars as pl

    more: Any = {
        "infer_schema_length": int(options.get("infer_rows", "100")) or None,
        "try_parse_dates": options.get("dates", "false") == "true",
    }
    return Calls(
        "polars",
        lambda frame: _written(frame.write_csv),
        lambda data: pl.read_csv(bytes(data), **more),
    )


def _ndjson_polars(options: _Options) -> Calls:
    import polars as pl

    rows = int(options.get("infer_rows", "100")) or None
    return Calls(
        "polars",
        lambda frame: _written(frame.write_ndjson),
        lambda data: pl.read_ndjson(bytes(data), infer_schema_length=rows),
    )


# --- DuckDB, which writes and reads files alone ------------------------------------------------


def _duckdb(how: str, reader: str) -> Calls:
    import duckdb

    folder = tempfile.mkdtemp(prefix="regret-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "x")
    connection = duckdb.connect(config={"threads": 1})

    def encode(table: Any) -> str:
        connection.register("input", table)
        connection.execute(f"COPY input TO '{path}' ({how})")
        return path

    def query(what: str) -> Any:
        return connection.sql(f"SELECT {what} FROM {reader.format(path)}").to_arrow_table()

    def decode(_: str) -> Any:
        return query("*")

    def part(_: str, column: str) -> Any:
        return query('"' + column.replace('"', '""') + '"')

    return Calls("arrow", encode, decode, part, path)


def _parquet_duckdb(options: _Options) -> Calls:
    level = _level(options)
    more = "" if level is None else f", COMPRESSION_LEVEL {level}"
    return _duckdb(
        f"FORMAT parquet, COMPRESSION {_plain(options.get('compression', 'snappy'))}{more}",
        "read_parquet('{}')",
    )


def _csv_duckdb(options: _Options) -> Calls:
    return replace(_duckdb("FORMAT csv, HEADER", "read_csv('{}', header = true, delim = ',')"), part=None)


# --- pandas, and without data frames -------------------------------------------------------------


class _Kept(BytesIO):
    """A file in memory that closing does not empty."""

    def close(self) -> None:
        """Stays open: fastparquet closes what it wrote."""


def _parquet_fastparquet(options: _Options) -> Calls:
    import fastparquet

    name = options.get("compression", "snappy")

    def encode(frame: Any) -> bytes:
        file = _Kept()
        fastparquet.write(
            "memory",
            frame,
            compression=None if name == "none" else name.upper(),
            open_with=lambda *_: file,
            write_index=False,
        )
        return file.getvalue()

    return Calls(
        "pandas",
        encode,
        lambda data: fastparquet.ParquetFile(BytesIO(data)).to_pandas(),
        lambda data, column: fastparquet.ParquetFile(BytesIO(data)).to_pandas(columns=[column]),
    )


def _csv_pandas(_: _Options) -> Calls:
    import pandas as pd

    return Calls(
        "pandas",
        lambda frame: frame.to_csv(index=False).encode(),
        lambda data: pd.read_csv(BytesIO(data), low_memory=False),
    )


def _csv_stdlib(_: _Options) -> Calls:
    def encode(columns: dict[str, list[Any]]) -> bytes:
        file = StringIO(newline="")
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
        return file.getvalue().encode()

    def decode(data: bytes) -> dict[str, list[Any]]:
        names, *rows = csv.reader(StringIO(str(data, "utf-8"), newline=""))
        return dict(zip(names, map(list, zip(*rows))))

    return Calls("columns", encode, decode)


TABLES: dict[str, Callable[[_Options], Calls]] = {
    "parquet:pyarrow": _parquet_pyarrow,
    "parquet:polars": _parquet_polars,
    "parquet:duckdb": _parquet_duckdb,
    "parquet:fastparquet": _parquet_fastparquet,
    "arrow:pyarrow": _arrow_pyarrow,
    "arrow:polars": _arrow_polars,
    "orc:pyarrow": _orc_pyarrow,
    "csv:pyarrow": _csv_pyarrow,
    "csv:polars": _csv_polars,
    "csv:duckdb": _csv_duckdb,
    "csv:pandas": _csv_pandas,
    "csv:stdlib": _csv_stdlib,
    "ndjson:polars": _ndjson_polars,
}
