"""Parquet that is written on all cores has the very bytes that Arrow's own writer gives on one."""

from __future__ import annotations

import datetime as dt
import functools
import io
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.capabilities import need_module

import tare
from tare.codec import Codec
from tare.errors import EncodeError
from tare.formats.parquet_footer import read_footer
from tare.formats.parquet_parts import parquet_parts

ROWS = 24_000


pytestmark = pytest.mark.usefixtures("two_threads")


@functools.cache
def of_many_types(rows: int = ROWS) -> pa.Table:
    numbers = np.arange(rows)
    texts = [f"text {n % 977}" if n % 7 else None for n in range(rows)]
    lists = pa.array([list(range(n % 4)) if n % 5 else None for n in range(rows)])
    structs = pa.array([{"x": n, "y": {"z": str(n % 3)}} if n % 11 else None for n in range(rows)])
    maps = pa.array([[(str(n % 3), n)] for n in range(rows)], pa.map_(pa.string(), pa.int64()))
    return pa.table({
        "i8": pa.array(numbers % 100, pa.int8()),
        "u64": pa.array(numbers.astype(np.uint64) + 2**63),
        "f": pa.array(np.where(numbers % 13 == 0, np.nan, numbers / 7)),
        "f32": pa.array((numbers / 7).astype(np.float32)),
        "s": pa.array(texts),
        "ls": pa.array(texts, pa.large_string()),
        "unique": pa.array([f"{n:032}" for n in range(rows)]),
        "b": pa.array([bytes([n % 256]) * (n % 5) for n in range(rows)]),
        "t": pa.array(numbers % 3 == 0),
        "d": pa.array([dt.date(2020, 1, 1) + dt.timedelta(n % 900) for n in range(rows)]),
        "ts": pa.array(numbers, pa.timestamp("ns", "Europe/Zurich")),
        "tus": pa.array(numbers, pa.timestamp("us")),
        "time": pa.array(numbers, pa.time64("us")),
        "duration": pa.array(numbers, pa.duration("ms")),
        "dec": pa.array([Decimal(n) / 100 for n in range(rows)], pa.decimal128(20, 2)),
        "none": pa.nulls(rows),
        "l": lists,
        "st": structs,
        "m": maps,
        "k": pa.array(texts).dictionary_encode(),
        "fixed": pa.array([bytes(16)] * rows, pa.binary(16)),
        "": pa.array(numbers),
    })  # fmt: skip


def by_arrow(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink, **{"compression": "snappy", **options})  # type: ignore[arg-type]
    return sink.getvalue()


def in_parts(table: pa.Table, compression: str = "snappy", level: int | None = None) -> bytes:
    parts = parquet_parts(table, compression=compression, level=level)
    assert parts is not None
    return b"".join(parts)


@pytest.mark.parametrize(
    ("compression", "level"), [("snappy", None), ("none", None), ("zstd", 3), ("gzip", 1), ("lz4", None)]
)
def test_the_bytes_are_arrows(compression: str, level: int | None) -> None:
    table = of_many_types()
    expected = by_arrow(table, compression=compression, compression_level=level)
    assert in_parts(table, compression, level) == expected


def test_the_bytes_are_arrows_of_columns_in_chunks_that_begin_anywhere() -> None:
    table = of_many_types()
    table = pa.concat_tables([table.slice(5, 9_000), table.slice(3), table.slice(7, 1), table.slice(11, 9)])
    names = [f"c{at}" if at % 3 else "same" for at in range(table.num_columns)]
    table = table.rename_columns(names).replace_schema_metadata({"key": "value"}).slice(13)
    assert in_parts(table) == by_arrow(table)


def test_the_bytes_are_arrows_of_several_row_groups() -> None:
    rows = 2_100_000
    table = pa.table({"n": np.arange(rows) % 1000, "t": np.arange(rows) % 3 == 0, "f": np.arange(rows) / 3})
    data = in_parts(table)
    assert parquet.read_metadata(io.BytesIO(data)).num_row_groups == 3
    assert data == by_arrow(table)


def test_the_bytes_are_arrows_of_many_columns() -> None:
    """Of which several are written together."""
    table = pa.table({f"c{at}": np.arange(4_000) * at for at in range(300)})
    assert in_parts(table) == by_arrow(table)


def test_other_readers_read_it(tmp_path: Path) -> None:
    need_module("polars")
    need_module("duckdb")
    import duckdb
    import polars as pl

    table = of_many_types().select(["i8", "f", "s", "unique", "t", "d", "tus", "dec", "l", "st"])
    table = pa.concat_tables([table] * 4)
    data = in_parts(table, "zstd")
    expected = pl.from_arrow(table)
    assert isinstance(expected, pl.DataFrame)
    assert pl.read_parquet(io.BytesIO(data)).equals(expected)
    (tmp_path / "a.parquet").write_bytes(data)
    with duckdb.connect() as opened:
        said = f"SELECT count(*), sum(i8), count(s), count(DISTINCT \"unique\") FROM '{tmp_path}/a.parquet'"
        (sums,) = opened.sql(said).fetchall()
    assert sums == (4 * ROWS, sum(table["i8"].to_pylist()), 4 * ROWS - table["s"].null_count, ROWS)


@pytest.mark.parametrize("change", ["small", "one column", "one thread"])
def test_what_threads_do_not_pay_for_is_left_to_arrow(change: str) -> None:
    table = of_many_types()
    if change == "one thread":
        pa.set_cpu_count(1)
    table = {"small": table.slice(0, 100), "one column": table.select(["i8"])}.get(change, table)
    assert parquet_parts(table, compression="snappy", level=None) is None


def test_a_conversion_writes_so(tmp_path: Path) -> None:
    table = of_many_types().drop_columns(["f", "none", "fixed", ""])
    tare.write(table, tmp_path / "a.arrow")
    tare.convert(tmp_path / "a.arrow", tmp_path / "a.parquet", verify=False)
    tare.convert(tmp_path / "a.arrow", tmp_path / "b.parquet", verify=True)
    expected = by_arrow(tare.read(tmp_path / "a.arrow"))
    assert (tmp_path / "a.parquet").read_bytes() == expected
    assert (tmp_path / "b.parquet").read_bytes() == expected
    assert tare.write(table, tmp_path / "c.parquet") == len(expected)
    assert parquet.read_table(tmp_path / "c.parquet").equals(table)


def out_of_range() -> pa.Table:
    """Seconds, which Parquet has not, of which the last are too many milliseconds."""
    seconds = np.arange(ROWS)
    seconds[-1] = 2**62
    more = {f"c{at}": np.arange(ROWS) for at in range(30)}
    return pa.table({**more, "s": pa.array(seconds, pa.timestamp("s"))})


def test_a_value_that_is_refused_in_the_midst_is_an_error_of_ours(tmp_path: Path) -> None:
    table = out_of_range()
    with pytest.raises(pa.ArrowInvalid):
        by_arrow(table)
    with pytest.raises(EncodeError, match=r"parquet:pyarrow: .*overflow"):
        Codec.parse("parquet").write(table, io.BytesIO())
    with pytest.raises(EncodeError, match="overflow"):
        tare.write(table, tmp_path / "a.parquet")
    for verify in (True, False):
        with pytest.raises(EncodeError, match="overflow"):
            tare.convert(table, tmp_path / "b.parquet", verify=verify)
    assert list(tmp_path.iterdir()) == []


def test_types_that_are_refused_are_refused_as_by_arrow() -> None:
    table = pa.table({"n": np.arange(ROWS * 40), "x": pa.nulls(ROWS * 40, pa.month_day_nano_interval())})
    assert parquet_parts(table, compression="snappy", level=None) is None


def test_a_footer_is_written_as_it_was_read() -> None:
    data = by_arrow(of_many_types(100))
    footer = read_footer(data)
    assert footer.is_movable()
    assert footer.with_groups(footer.groups) == data[footer.start :]


def test_what_says_where_other_things_lie_is_not_moved() -> None:
    """Indexes of pages lie behind the columns."""
    footer = read_footer(by_arrow(of_many_types(100), write_page_index=True))
    assert not footer.is_movable()
