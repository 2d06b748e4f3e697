"""Tables are encoded as rows a slice at a time: the same bytes, in memory that does not grow with the rows."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import tracemalloc

import pyarrow as pa
import pytest
from support.capabilities import need_codec, need_posix
from support.peaks import PEAK

import tare
from tare import formats, kinds
from tare.codec import Codec
from tare.errors import Unsupported

CODECS = [
    f"{format.id}:{library.name}{option}"
    for format in (formats.get("json"), formats.get("ndjson"))
    for library in format.libraries
    if library.join is not None
    for option in ["", ",compact=true", ",sort_keys=true"]
    if not option or option[1:].split("=")[0] in library.options
]
FINE = pa.array([1_000, None, 2_001] * 70, pa.timestamp("ns"))  # not all are whole microseconds
TABLES = {
    "numbers": pa.table({"b": range(210), "a": [0.5, None, 1.0] * 70}),
    "chunks": pa.concat_tables([pa.table({"a": [1]}), pa.table({"a": pa.array([], pa.int64())}), pa.table({"a": [2, 3]})]),
    "none": pa.table({"a": pa.array([], pa.int64())}),
    "one": pa.table({"a": ["x"]}),
    "rows alone": kinds.rows_alone(3),
    "levels": pa.table({"c": pa.array(["x", None, "y"] * 70).dictionary_encode()}),
    "nested": pa.table({"n": [[{"k": 1}], None, []] * 70}),
}  # fmt: skip


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_the_bytes_are_those_of_all_rows_at_once(monkeypatch, name, table):
    need_codec(name)
    monkeypatch.setattr(kinds, "_SLICE_CELLS", 1)
    codec = Codec.parse(name)
    wanted = bytes(codec.library.encoder(codec.options)(kinds.convert(table, "records")))
    assert codec.encode(table) == wanted
    assert Codec.parse(f"{name}+zstd").decode(Codec.parse(f"{name}+zstd").encode(table)) == codec.decode(
        wanted
    )


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_a_unit_of_time_is_that_of_the_whole_column(monkeypatch, kind):
    monkeypatch.setattr(kinds, "_SLICE_CELLS", 1)
    table = pa.table({"t": FINE, "d": pa.array([dt.date(2020, 1, 1)] * 210)})
    rows = [row for part in kinds.record_slices(kinds.convert(table, kind)) for row in part]
    assert rows == kinds.convert(table, "records")
    assert {type(row["t"]) for row in rows} == {type(row["t"]) for row in kinds.convert(table, "records")}


def test_files_have_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(kinds, "_SLICE_CELLS", 1)
    for name in ("x.ndjson", "x.json", "x.ndjson.gz"):
        tare.write(TABLES["numbers"], tmp_path / name)
        assert tare.read(tmp_path / name) == TABLES["numbers"].to_pylist()


def test_two_columns_of_one_name_are_refused_before_the_first_slice():
    with pytest.raises(Unsupported, match="two columns are named 'a'"):
        Codec.parse("ndjson:orjson").encode(pa.table([[1], [2]], ["a", "a"]))


@pytest.mark.parametrize(
    "name", ["ndjson:orjson", "ndjson:msgspec", "ndjson:stdlib", "json:orjson", "json:stdlib"]
)
def test_the_rows_of_a_table_are_never_all_of_python(monkeypatch, name):
    monkeypatch.setattr(kinds, "_SLICE_CELLS", 1 << 12)
    table = pa.table({name: range(40_000) for name in "abcd"})
    codec = Codec.parse(name)
    codec.encode(table.slice(0, 10))
    tracemalloc.start()
    try:
        size = len(codec.encode(table))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * size  # as rows they are ten times as large


def test_lines_leave_no_holes_in_memory():
    """A kilobyte is what orjson asks for with each line: 200,000 of them at once took 0.9 GB."""
    need_posix()
    code = (
        PEAK
        + """
from tare.codec import Codec
rows = [{"a": k} for k in range(200_000)]
codec = Codec.parse("ndjson:orjson")
codec.encode(rows[:10])
before = peak()
codec.encode(rows)
print((peak() - before) // 1024)
"""
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=120)
    assert int(done.stdout) < 100
