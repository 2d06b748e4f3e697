"""What is noted of the names of a CSV: a first line that looks like a row, and names that stand twice."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tare
from tare import io as tare_io
from tare import open_dataset
from tare.datasets import csvload

ROW = "was read as column names; if it is a row, write a line of names above it"
TWICE = "several columns are named 'a': many readers, polars among them, take no such table"


@pytest.mark.parametrize("stream_bytes", [1, 1 << 30])
@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("1,2\n3,4\n", f"its first line holds numbers only, and {ROW}"),
        ("1,Ann,2024-01-02\n2,Bob,2024-01-03\n", f"its first line, with 1, 2024-01-02, {ROW}"),
        ("Ann,34\nBob,27\n", f"its first line, with 34, {ROW}"),
        ("Ann;34.5;0.25\nBob;27.5;0.5\n", f"its first line, with 34.5, 0.25, {ROW}"),
        (
            "2024-01-02 10:00:00,a\n2024-01-03 11:00:00,b\n",
            f"its first line, with 2024-01-02 10:00:00, {ROW}",
        ),
        ("country,1990,1991\nDE,1,2\n", ""),
        ("country,2020-01-22,2020-01-23\nDE,1,2\n", ""),
        ("name,0\nx,5\n", ""),
        ("id,0.05,0.5,0.95\n1,2.5,3.5,4.5\n", ""),
        ("id,name\n1,a\n", ""),
        ("id,34\n1,a\n", ""),
        ("a,a,b\n1,2,3\n", TWICE),
        ("a,b,a,c,c\n1,2,3,4,5\n", TWICE.replace("'a'", "'a', 'c'")),
    ],
)
def test_names_that_are_not_what_they_seem_are_noted(tmp_path, monkeypatch, text, note, stream_bytes):
    """At once as in blocks."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", stream_bytes)
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert [note] * bool(note) == list(open_dataset(path).notes)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow"])
def test_a_conversion_notes_names_that_stand_twice(tmp_path, monkeypatch, name, stream):
    """Whatever the source, once; polars does not read the result, which has all columns."""
    table = pa.table([[1], [2], [3]], names=["a", "a", "b"])
    if name == "a.csv":
        (tmp_path / name).write_text("a,a,b\n1,2,3\n")
    else:
        tare.write(table, tmp_path / name)
    if stream:
        monkeypatch.setattr(tare_io, "STREAM_BYTES", 1)
    done = tare.convert(tmp_path / name, tmp_path / "out.parquet")
    assert 1 == done.notes.count(TWICE)
    assert table.equals(pq.ParquetFile(tmp_path / "out.parquet").read())
    with pytest.raises(pl.exceptions.PolarsError):
        pl.read_parquet(tmp_path / "out.parquet")


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.ndjson"])
def test_a_name_with_nul_is_a_name(tmp_path, name):
    """The interface of C between the core and Arrow ends a name there."""
    (tmp_path / "a.csv").write_bytes(b"a,b\0c\n1,x\n")
    tare.convert(tmp_path / "a.csv", tmp_path / name, format="csv")
    back = tare.read(tmp_path / name, format="csv" if name == "x.csv" else None)
    assert tare.kinds.convert(back, "records") == [{"a": 1, "b\0c": "x"}]
    assert tare.inspect(tmp_path / "a.csv", format="csv").format == "csv"
