"""DuckDB reads and writes files only: this lends it memory as a file. Not a format.

On Linux the file is an anonymous one (``memfd_create``), elsewhere one in the
temporary folder; either way the bytes are copied once more than DuckDB's own
file access would.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from tare.formats.base import Buffer, Library

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["copy_query", "copy_to", "library", "queries", "query", "quote"]


@lru_cache(maxsize=1)
def connection() -> duckdb.DuckDBPyConnection:
    """The process's own DuckDB: in memory, opened once, reaching no network and no extension."""
    import duckdb

    config: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    opened = duckdb.connect(config=config)
    atexit.register(opened.close)  # its threads end before the interpreter does
    return opened


def _set_threads(threads: int | None) -> None:
    """Let Tare's own DuckDB use that many threads; None is all cores. A user's connections keep theirs."""
    connection().execute(f"SET threads = {int(threads or os.cpu_count() or 1)}")


def copy_to(table: pa.Table, options: str) -> bytes:
    """Write a table with ``COPY ... TO`` and those options; return the bytes of the file."""
    con = connection().cursor()
    con.register("tare_table", table)
    with _file() as (path, file):
        con.execute(f"COPY tare_table TO '{path}' ({options}, USE_TMP_FILE false)")
        file.seek(0)
        return bytes(file.read())


def copy_query(sql: str, values: list[Any], options: str) -> bytes:
    """Write a query's rows with ``COPY ... TO`` and those options; return the bytes of the file."""
    with _file() as (path, file):
        connection().cursor().execute(f"COPY ({sql}) TO '{path}' ({options}, USE_TMP_FILE false)", values)
        file.seek(0)
        return bytes(file.read())


def query(data: Buffer, sql: str) -> pa.Table:
    """Run a query over encoded bytes; ``{path}`` in it becomes the quoted file."""
    with _file() as (path, file):
        file.write(data)
        file.flush()
        table: pa.Table = connection().cursor().sql(sql.replace("{path}", f"'{path}'")).to_arrow_table()
        return table


def queries(data: Buffer | str, *sql: str) -> list[pa.Table]:
    """Run queries over encoded bytes or over the file at a path; see `query`."""
    if not isinstance(data, str):
        with _file() as (path, file):
            file.write(data)
            file.flush()
            return _all(path, sql)
    if not hasattr(os, "memfd_create"):
        return _all(data.replace("'", "''"), sql)
    with open(data, "rb") as file:  # by its number: DuckDB would take some characters of a name for a pattern
        return _all(f"/proc/self/fd/{file.fileno()}", sql)


def _all(path: str, sql: Iterable[str]) -> list[pa.Table]:
    cursor = connection().cursor()
    return [cursor.sql(one.replace("{path}", f"'{path}'")).to_arrow_table() for one in sql]


def quote(names: list[str]) -> str:
    """Column names as SQL writes them."""
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


@contextmanager
def _file() -> Iterator[tuple[str, Any]]:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("tare")
        with os.fdopen(fd, "w+b") as file:
            yield f"/proc/self/fd/{fd}", file
        return
    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        path = os.path.join(folder, "data")
        with open(path, "w+b") as file:
            yield path.replace("'", "''"), file


# DuckDB as every format lists it.
library = partial(
    Library,
    name="duckdb",
    native={"table": "arrow"},
    modules=("duckdb", "pyarrow"),
    distribution="duckdb",
    extra="tables",
    threads=(1, "all"),
    set_threads=_set_threads,
    notes=("It reads and writes files only: bytes in memory go through an anonymous file.",),
)
