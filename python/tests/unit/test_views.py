"""Texts as views of themselves, which polars writes to Arrow files unless it is told not to: much of Arrow does not take those."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import ipc
from support.capabilities import need_module
from support.plans import one_round_plan
from support.soak import scaled

import tare
from tare import io as tare_io
from tare import measure
from tare.datasets import views
from tare.datasets.views import note, plain_batches, without_views
from tare.errors import EncodeError, Unsupported
from tare.scale import readers

pl = need_module("polars")

FRAME = pl.DataFrame(
    {
        "n": range(9),
        "s": ["a", "\u00fc" * 30, None] * 3,
        "b": [b"1", None, b"2" * 30] * 3,
        "c": pl.Series(["x", "y", None] * 3, dtype=pl.Categorical),
        "e": pl.Series(["b", "a", None] * 3, dtype=pl.Enum(["b", "a"])),
        "l": [["a"], None, ["b", None]] * 3,
        "st": [{"k": "a", "n": 1}, {"k": None, "n": 2}, None] * 3,
        "lc": pl.Series([["x"], None, ["y"]] * 3, dtype=pl.List(pl.Categorical)),
        "sc": pl.Series([{"q": "x"}, None, {"q": "y"}] * 3, dtype=pl.Struct({"q": pl.Categorical})),
    }
)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "polars.arrow"
    FRAME.write_ipc(path)
    return path


def read(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as file:
        return ipc.open_file(file).read_all()


def test_values_stay_whatever_is_cut_out(written: Path) -> None:
    table = read(written)
    assert "view" in str(table.schema)
    for part in (table, table.slice(2, 5), table.slice(9)):
        plain = without_views(part)
        plain.validate(full=True)
        assert "view" not in str(plain.schema)
        assert plain.to_pylist() == part.to_pylist()
        schema, batches = plain_batches(part.schema, iter(part.to_batches()))
        assert schema.equals(plain.schema)
        assert pa.Table.from_batches(batches, schema).equals(plain)
    assert without_views(plain) is plain
    assert plain_batches(plain.schema, batches) == (plain.schema, batches)
    assert without_views(table).schema.field("e").type.ordered


def test_fixed_lists_and_maps_too() -> None:
    lists = pa.array([["a", "b"], None], pa.list_(pa.string_view(), 2))
    maps = pa.array([[("k", "v")], None], pa.map_(pa.string_view(), pa.binary_view()))
    table = pa.table({"l": lists, "m": maps})
    plain = without_views(table)
    assert plain.schema.types == [pa.list_(pa.string(), 2), pa.map_(pa.string(), pa.binary())]
    assert plain.to_pylist() == table.to_pylist()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "target", ["csv", "parquet", "orc", "rds", "fst", "ndjson", "arrow:pyarrow,compression=lz4"]
)
def test_they_are_converted(written: Path, tmp_path: Path, monkeypatch, target: str, streamed: bool) -> None:
    """And the type that became another is told; of categories into ORC, which has none, nothing is asked."""
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0 if streamed else 1 << 40)
    columns = (
        ["n", "s"]
        if target in ("csv", "orc")
        else ["n", "s", "c", "e"]
        if target != "fst"
        else ["s", "c", "e"]
    )
    done = tare.convert(
        written,
        tmp_path / "out",
        codec=target,
        columns=columns,
        allow_loss=target == "ndjson",
        verify=not streamed,
    )
    assert done.streamed == (
        streamed and target.split(":", maxsplit=1)[0] in ("csv", "parquet", "ndjson", "arrow")
    )
    assert note(read(written).select(columns).schema) in done.notes
    assert any("(s: string_view" in one for one in done.notes)
    back = tare.read(tmp_path / "out", format=target.split(":", maxsplit=1)[0])
    rows = back if isinstance(back, list) else back.to_pylist()
    wanted = read(written).select(columns).to_pylist()
    if target in ("csv", "ndjson"):
        rows = [{name: row.get(name) or None for name in columns} for row in rows]
        wanted = [{name: row[name] or None for name in columns} for row in wanted]
    assert rows == wanted


def test_they_are_measured(written: Path) -> None:
    result = measure.run(written, plan=one_round_plan("arrow:pyarrow", "csv:polars"))
    told = {case["labels"]["codec"]: case["status"] for case in result.cases if case["stage"] == "weigh"}
    assert told["arrow:pyarrow"] == "ok"


def test_they_are_parted_by_a_column(written: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    FRAME.select("n", "s", "c").write_ipc(folder / "a.arrow")
    command = ["convert", str(folder), str(tmp_path / "o"), "--to", "parquet", "--partition", "s"]
    done = subprocess.run(
        [sys.executable, "-m", "tare", *command], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "o").rglob("*.parquet"))) == 3


def test_more_than_32_bits_of_text_that_views_share(monkeypatch) -> None:
    """Rows that show one text of a megabyte: small in memory, beyond 32 bits where each row has its own.

    Of 2,200 rows that is 2.2 GB. In ``make test`` they are 22, and an array has room for 11 of them.
    """
    rows = scaled(22, 2200)
    if rows < 2200:
        converted = views._plain

        def limited(array: pa.Array, wanted: pa.DataType) -> pa.Array:
            if "large" not in str(wanted) and len(array) > rows // 2:
                raise pa.ArrowInvalid("offsets of 32 bits do not lead so far")
            return converted(array, wanted)

        monkeypatch.setattr(views, "_plain", limited)
    view_of_all = struct.pack("<i4sii", 1_000_000, b"xxxx", 0, 0)
    buffers = [None, pa.py_buffer(view_of_all * rows), pa.py_buffer(b"x" * 1_000_000)]
    shared = pa.chunked_array([pa.Array.from_buffers(pa.string_view(), rows, buffers)])
    for view in (shared, pa.chunked_array([pa.StructArray.from_arrays([shared.chunk(0)], ["t"])])):
        table = pa.table({"t": view, "n": range(rows)})
        assert table.nbytes < 10_000_000
        plain = without_views(table)
        plain.validate()
        assert "large_string" in str(plain.schema.field("t").type)
        del plain
        schema, batches = plain_batches(table.schema, iter(table.to_batches()))
        counts = []
        for batch in batches:
            assert batch.schema.equals(schema)
            assert "large" not in str(schema)
            counts.append(batch.num_rows)
        assert counts == [rows // 2] * 2


def test_parts_of_files_have_none(tmp_path: Path) -> None:
    """What is read in parts has the types of what is read whole: partitions of Dask are held to that."""
    small, large = FRAME.select("n", "s", "c"), pl.concat([FRAME.select("n", "s", "c")] * 2000)
    folder = tmp_path / "in"
    folder.mkdir()
    small.write_ipc(folder / "a.arrow")
    large.write_ipc(folder / "b.arrow", record_batch_size=2000)
    units = list(readers.units_of(folder, split=20_000))
    assert len(units) > 2
    tables = [readers.read_unit(unit) for unit in units]
    assert {str(table.schema.remove_metadata()) for table in tables} == {
        str(tables[0].schema.remove_metadata())
    }
    assert "view" not in str(tables[0].schema)
    assert sum(table.num_rows for table in tables) == 9 + 18_000


@pytest.mark.parametrize("target", ["csv", "ndjson", "parquet", "arrow"])
def test_no_second_way_begins_behind_what_is_gone(written: Path, monkeypatch, target: str) -> None:
    """What cannot be written in batches is read whole, but not behind batches that a pipe has taken."""

    def fails(batch: pa.RecordBatch, schema: pa.Schema):
        yield from ()
        raise Unsupported("a row has more than 2 GiB of texts")

    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    monkeypatch.setattr(views, "_parts", fails)
    sink = io.BytesIO()
    if target != "ndjson":  # which alone begins with its rows
        with pytest.raises(EncodeError, match="2 GiB"):
            tare.convert(written, sink, codec=target, columns=["n", "s"])
    else:
        tare.convert(written, sink, codec=target, columns=["n", "s"])
        assert tare.read(io.BytesIO(sink.getvalue()), format=target) is not None
