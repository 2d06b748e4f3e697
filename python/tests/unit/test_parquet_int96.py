"""Moments of the type INT96 in Parquet: each comes back as it was written, or is refused, wherever the file is read."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import tare
from tare import scale
from tare.errors import Unsupported
from tare.measure.worker.materialize import touch

FAR = [dt.datetime(2024, 1, 5), dt.datetime(9999, 12, 31), None, dt.datetime(1, 1, 1, 0, 0, 0, 7)]
NEAR_NS = [0, None, 2**63 - 1, -(2**63) + 1]


def write(path: Path, table: pa.Table) -> Path:
    """Writes a file whose moments are INT96, in two row groups."""
    parquet.write_table(table, path, use_deprecated_int96_timestamps=True, row_group_size=2)
    return path


@pytest.fixture
def far(tmp_path: Path) -> Path:
    return write(
        tmp_path / "far.parquet",
        pa.table({"id": range(4), "when": pa.array(FAR, pa.timestamp("us"))}),
    )


def test_years_beyond_nanoseconds_come_back(far: Path) -> None:
    """polars, whose reader has nothing of Arrow's, is asked too."""
    assert tare.read(far)["when"].to_pylist() == FAR
    assert pl.read_parquet(far)["when"].to_list() == FAR


def test_every_way_that_pyarrow_reads_has_them(far: Path, tmp_path: Path) -> None:
    library, data = tare.Codec.parse("parquet:pyarrow").library, far.read_bytes()
    assert library.subset is not None
    assert library.rows is not None
    assert library.open is not None
    assert tare.decode(data, "parquet")["when"].to_pylist() == FAR
    assert library.subset(data, ["when"], compression="snappy", level=None)["when"].to_pylist() == FAR
    assert library.rows(data, 1, 2)["when"].to_pylist() == FAR[1:3]
    opened = library.open(data)
    assert opened.read()["when"].to_pylist() == FAR
    assert touch(opened) == 8
    store = tare.open_store("memory:")
    store.set("far", tare.read(far), codec="parquet")
    assert store.get("far")["when"].to_pylist() == FAR


@pytest.mark.parametrize("stream", [False, True])
def test_conversions_have_them(
    far: Path, tmp_path: Path, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if stream:
        monkeypatch.setattr("tare.io.STREAM_BYTES", 1)
    done = tare.convert(far, tmp_path / "far.ndjson")
    assert done.streamed == stream
    rows = [json.loads(line) for line in (tmp_path / "far.ndjson").read_text().splitlines()]
    assert [row["when"] for row in rows] == [one and one.isoformat() for one in FAR]


def test_parts_of_a_run_have_one_unit(far: Path, tmp_path: Path) -> None:
    """The second row group alone reaches beyond; the first is read in microseconds too."""
    result = scale.convert(str(far), str(tmp_path / "out"), to="parquet", split=1, executor="inline")
    assert result.ok
    parts = [parquet.read_table(path) for path in sorted((tmp_path / "out").rglob("*.parquet"))]
    assert len(parts) == 2
    assert [part.schema.field("when").type for part in parts] == [pa.timestamp("us")] * 2
    assert pa.concat_tables(parts)["when"].to_pylist() == FAR


def test_nested_moments_come_back(tmp_path: Path) -> None:
    us = pa.timestamp("us")
    table = pa.table(
        {
            "list": pa.array([FAR, [], None], pa.list_(us)),
            "struct": pa.array([{"x": FAR[1]}, None, {"x": None}], pa.struct([("x", us)])),
            "map": pa.array([[("k", FAR[1])], None, []], pa.map_(pa.string(), us)),
        }
    )
    assert tare.read(write(tmp_path / "a.parquet", table)).to_pylist() == table.to_pylist()


def test_nanoseconds_stay_where_they_reach(tmp_path: Path) -> None:
    """Both ends of 64 bits, which microseconds would cut."""
    table = pa.table({"when": pa.array(NEAR_NS, pa.timestamp("ns"))})
    assert tare.read(write(tmp_path / "a.parquet", table)).equals(table)


def test_moments_that_no_unit_holds_are_refused(tmp_path: Path) -> None:
    """Unless they stand in columns that are read apart."""
    table = pa.table(
        {"fine": pa.array([1], pa.timestamp("ns")), "far": pa.array([FAR[1]], pa.timestamp("us"))}
    )
    path = write(tmp_path / "a.parquet", table)
    with pytest.raises(Unsupported, match=r"'fine, far'.*1677 to 2262.*--columns"):
        tare.read(path)
    assert tare.read(path, columns=["far"])["far"].to_pylist() == [FAR[1]]
    assert tare.read(path, columns=["fine"])["fine"].type == pa.timestamp("ns")


def test_inspect_says_it(far: Path) -> None:
    assert "'when' of the type INT96" in " ".join(tare.inspect(far).notes)
