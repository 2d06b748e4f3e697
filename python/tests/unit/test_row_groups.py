"""Parquet of several row groups with categories within lists and structs, which Arrow reads one group at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.capabilities import need_codec

import tare
from tare import scale
from tare.measure.worker.materialize import touch

ROWS = 3000
GROUP = 700  # no batch ends where a group does


def nested(rows: int = ROWS) -> pa.Table:
    coded = pa.DictionaryArray.from_arrays(np.arange(rows, dtype=np.int32) % 3, ["a", "b", "c"])
    lists = pa.ListArray.from_arrays(np.arange(rows + 1, dtype=np.int32), coded)
    return pa.table({
        "n": np.arange(rows),
        "l": lists,
        "s": pa.StructArray.from_arrays([coded], ["k"]),
    })  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    parquet.write_table(nested(), tmp_path / "a.parquet", row_group_size=GROUP)
    return tmp_path / "a.parquet"


def test_more_rows_than_a_group_has_come_back() -> None:
    """A group has 2^20 rows, if nobody says another number."""
    table = nested(1_100_000)
    data = tare.encode(table, "parquet")
    assert parquet.ParquetFile(pa.BufferReader(data)).num_row_groups == 2
    assert tare.decode(data, "parquet").equals(table)


@pytest.mark.parametrize("columns", [["l"], ["s", "n"], ["n"]])
def test_some_columns_are_read(path: Path, columns: list[str]) -> None:
    library = tare.Codec.parse("parquet").library
    assert library.subset is not None
    got = library.subset(path.read_bytes(), columns, compression="snappy", level=None)
    assert got.equals(nested().select(columns))
    assert tare.read(path, columns=columns).equals(nested().select(columns))


@pytest.mark.parametrize(("start", "count"), [(0, ROWS), (650, 100), (2100, 5000), (10, 1)])
def test_some_rows_are_read(path: Path, start: int, count: int) -> None:
    library = tare.Codec.parse("parquet").library
    assert library.rows is not None
    assert library.rows(path.read_bytes(), start, count).equals(nested().slice(start, count))


def test_an_opened_file_is_read_to_the_end(path: Path) -> None:
    library = tare.Codec.parse("parquet").library
    assert library.open is not None
    assert touch(library.open(path.read_bytes())) == ROWS * 3


def test_polars_gets_what_arrow_has_looked_at(path: Path) -> None:
    assert need_codec("parquet:polars").decode(path.read_bytes()).height == ROWS


@pytest.mark.parametrize("size", [20_000, 30_000, 40_000, 1 << 30])
def test_as_many_groups_as_fit_are_opened(path: Path, size: int) -> None:
    """Each is read, whichever they are."""
    data = tare.open_dataset(path, max_bytes=size)
    assert data.items == (ROWS if size == 1 << 30 else data.value.num_rows)
    assert GROUP <= data.items <= ROWS
    assert data.value.slice(0, GROUP).equals(nested().slice(0, GROUP))


def test_parts_are_converted(path: Path, tmp_path: Path) -> None:
    report = scale.convert(str(path), str(tmp_path / "out"), to="parquet", split=5000, executor="inline")
    assert (report.ok, report.rows) == (True, ROWS)
