"""Avro of plain columns is written by polars' code for rows: the same schema and the same rows as by fastavro."""

from __future__ import annotations

import datetime as dt
import functools
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.capabilities import need_module

import tare
from tare.codec import Codec
from tare.errors import TareError
from tare.formats import avro_columns
from tare.formats.avro_columns import write_columns

fastavro: Any = need_module("fastavro")
need_module("polars")

ROWS = 10_000


pytestmark = pytest.mark.usefixtures("two_threads")


@functools.cache
def of_plain_types(rows: int = ROWS) -> pa.Table:
    numbers = np.arange(rows)
    texts = [f"text {n} \u00e9" if n % 7 else None for n in range(rows)]
    whole = pa.array([n * 1000 if n % 3 else None for n in range(rows)])
    return pa.table({
        "i8": pa.array(numbers % 100 - 50, pa.int8()),
        "u16": pa.array(numbers, pa.uint16()),
        "i32": pa.array([n - 2**31 if n % 5 else None for n in range(rows)], pa.int32()),
        "u32": pa.array(numbers + 2**31, pa.uint32()),
        "i64": pa.array([(n - 7) * 2**45 for n in range(rows)]),
        "u64": pa.array(numbers, pa.uint64()),
        "f32": pa.array((numbers / 7).astype(np.float32)),
        "f64": pa.array([n / 7 if n % 11 else None for n in range(rows)]),
        "odd": pa.array(np.where(numbers % 13 == 0, np.nan, np.where(numbers % 2 == 0, -0.0, np.inf))),
        "t": pa.array([n % 3 == 0 if n % 4 else None for n in range(rows)]),
        "s": pa.array(texts),
        "ls": pa.array(texts, pa.large_string()),
        "b": pa.array([bytes([n % 256]) * (n % 5) for n in range(rows)]),
        "fixed": pa.array([b"%08d" % n for n in range(rows)], pa.binary(8)),
        "d": pa.array([dt.date(1, 1, 1) + dt.timedelta(n) for n in range(rows)]),
        "last": pa.array([dt.date(9999, 12, 31)] * rows),
        "ms": whole.cast(pa.timestamp("ms")),
        "us": pa.array([dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)] * rows, pa.timestamp("us")),
        "utc": whole.cast(pa.timestamp("us", "UTC")),
        "zone": whole.cast(pa.timestamp("s", "Europe/Zurich")),
        "ns": whole.cast(pa.timestamp("ns")),
        "fine": pa.array(numbers, pa.timestamp("ns", "UTC")),
        "time": pa.array((numbers % 1000).astype(np.int32)).cast(pa.time32("ms")),
        "tus": pa.array(numbers, pa.time64("us")),
        "k": pa.array(texts).dictionary_encode(),
    })  # fmt: skip


def by_fastavro(table: pa.Table, compression: str = "none") -> bytes:
    return Codec.parse(f"avro:fastavro,compression={compression}").encode(table)


def in_parts(table: pa.Table, compression: str = "none", default: str = "refuse") -> bytes:
    parts = write_columns(table, compression=compression, default=default)
    assert parts is not None
    return b"".join(parts)


def rows(data: bytes) -> list[Any]:
    return list(fastavro.reader(io.BytesIO(data)))


def schema(data: bytes) -> Any:
    return json.loads(fastavro.reader(io.BytesIO(data)).metadata["avro.schema"])


@pytest.mark.parametrize("compression", ["none", "deflate"])
def test_the_rows_are_those_that_fastavro_writes(compression: str) -> None:
    table = of_plain_types()
    data, expected = in_parts(table, compression), by_fastavro(table, compression)
    assert schema(data) == schema(expected)
    assert repr(rows(data)) == repr(rows(expected))
    assert fastavro.reader(io.BytesIO(data)).codec == {"none": "null"}.get(compression, compression)


def test_other_readers_read_it() -> None:
    import polars as pl

    table = pa.concat_tables([of_plain_types().select(["i32", "i64", "f64", "t", "s", "b", "d", "ms"])] * 3)
    expected = pl.from_arrow(table)
    assert isinstance(expected, pl.DataFrame)
    assert pl.read_avro(io.BytesIO(in_parts(table))).equals(expected)


def test_conversions_go_this_way(tmp_path: Path) -> None:
    table = of_plain_types()
    tare.write(table, tmp_path / "a.parquet")
    for verify in (True, False):
        done = tare.convert(tmp_path / "a.parquet", tmp_path / "a.avro", verify=verify)
        assert done.rows == ROWS
        assert not [change for change in done.changes if change["verdict"] == "lossy"]
        tare.convert(tmp_path / "a.avro", tmp_path / "b.parquet")
        names = ["i64", "f64", "t", "s", "b", "d", "utc"]
        assert tare.read(tmp_path / "b.parquet").select(names).equals(table.select(names))


LONG = "x" * 300


def test_years_that_dates_have_not_are_refused_as_before() -> None:
    moments = pa.array([253_402_300_800] * ROWS, pa.timestamp("s"))
    table = pa.table({"a": moments, "s": [LONG] * ROWS})
    assert write_columns(table, compression="none", default="refuse") is None
    with pytest.raises(TareError):
        tare.encode(table, "avro")


def test_a_process_that_was_forked_leaves_it_to_fastavro(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where polars was loaded before, its threads stayed behind."""
    need_module("polars")
    monkeypatch.setattr(avro_columns, "_forked", [])
    avro_columns._note_fork()
    assert write_columns(of_plain_types(), compression="none", default="refuse") is None


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1]] * ROWS),
        pa.array([2**64 - 1] * ROWS, pa.uint64()),
        pa.array([1] * ROWS, pa.decimal128(5, 2)),
        pa.nulls(ROWS),
        pa.array([1] * ROWS, pa.time64("ns")),
    ],
    ids=lambda column: str(column.type),
)
def test_other_columns_are_left_to_rows(column: Any) -> None:
    table = pa.table({"a": column, "s": [LONG] * ROWS})
    assert write_columns(table, compression="none", default="text") is None
