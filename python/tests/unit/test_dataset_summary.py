"""Summaries, hashes, and data handed to workers."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from support.synthetic_records import synthetic_record

from tare.dataset import Dataset, load_saved, open_dataset
from tare.datasets import shape
from tare.datasets.summary import short_type
from tare.datasets.synthpop import synthpop
from tare.errors import UsageError
from tare.measure.derive import derive
from tare.report.answer import parts_of
from tare.report.digest import digest
from tare.report.measured import kept_by
from tare.report.words import dataset_line


def test_a_table_is_described():
    """Types, missing values, distinct shares, sizes: ready for JSON."""
    summary = open_dataset("synthpop:5000").summary()
    assert {"text": 6, "int": 3, "bool": 3, "num": 1} == summary["types"]
    by_name = {column["name"]: column for column in summary["columns"]}
    assert {"name": "sex", "type": "string", "nulls": 0, "distinct_share": 2 / 5000} == by_name["sex"]
    assert by_name["nociga"]["nulls"] > 3000
    assert 0.05 < summary["null_share"] < 0.12
    assert 1 < summary["entropy_bits"] < 8
    assert (5000, 0, None) == (summary["rows"], summary["depth"], summary["partial"])
    assert json.loads(json.dumps(summary)) == summary


def test_a_document_is_described():
    """Depth, maps, lists, leaves by type, mean size of an item."""
    value = [{"a": 1, "b": [1.5, None, "x", {"c": True}]} for _ in range(50)]
    summary = Dataset(value, name="d").summary()
    assert (4, 50) == (summary["depth"], summary["items"])
    assert {"int": 50, "num": 50, "null": 50, "text": 50, "bool": 50} == summary["types"]
    assert {"maps": 100, "lists": 51, "leaves": 250, "keys": 150} == {
        key: summary["shape"][key] for key in ("maps", "lists", "leaves", "keys")
    }
    assert 37 == summary["shape"]["mean_doc_bytes"]
    assert 0.2 == summary["null_share"]
    assert json.dumps(summary)


def test_a_large_document_is_sampled_and_says_so():
    """Counts of a document too large to walk are estimates close to the truth."""
    value = [{"id": k, "tags": ["a", {"b": [k]}]} for k in range(60_000)]
    found = shape.measure(value)
    assert found.sampled
    assert 4 + 1 == found.depth
    for wanted, got in ((120_000, found.maps), (120_001, found.lists), (180_000, found.leaves)):
        assert abs(got / wanted - 1) < 0.05


def test_shared_and_odd_values_do_not_stop_a_summary():
    """Sets, bytes, dates and objects are counted by their type's name."""
    value = {"s": {1, 2}, "b": b"x", "d": dt.date(2020, 1, 1), "n": Decimal("1.5"), 5: math.nan}
    types = Dataset(value, name="odd").summary()["types"]
    assert {"int": 2, "binary": 1, "date": 1, "Decimal": 1, "num": 1} == types


@pytest.mark.parametrize(
    ("index", "wide", "kept"),
    [
        (None, "3 columns", "all 3 columns"),
        (["x", "y"], "3 columns and the index", "all 3 columns and the index"),
        ([[1, 1], [2, 3]], "3 columns and the index", "all 3 columns and the index"),
    ],
)
def test_the_index_of_a_data_frame_is_not_counted_as_a_column(index, wide, kept):
    """It is kept as one, or as several: neither in the headline nor in what a codec keeps is it one of them."""
    frame = pd.DataFrame({"a": [1, 2], "b": ["p", "q"], "c": [0.5, 1.5]})
    if index is not None:
        several = isinstance(index[0], list)
        frame.index = pd.MultiIndex.from_arrays(index) if several else pd.Index(index, name="k")
    about = open_dataset(frame).summary()
    assert about["index_columns"] == len(about["columns"]) - 3
    assert f"table 2 x {wide.replace(' columns', '')}  " in open_dataset(frame).headline()
    record = synthetic_record("table", growth=False, derived=False)
    record["dataset"] |= about
    for case in record["cases"]:
        if case.get("verify"):
            case["verify"]["columns"] = len(about["columns"])
    found = digest(record | {"derived": derive(record)})
    assert f"2 rows \xd7 {wide}" in parts_of(found)
    assert kept_by(found, found.verdict["codec"]) == found.verdict["keeps"] == f"keeps {kept}"
    assert f"table 2 x {wide.replace(' columns', '')}  " in dataset_line(found)


def test_headlines_are_one_line():
    """The first line of a report, as the design draws it."""
    text = open_dataset("synthpop:5000").headline()
    assert text.startswith("synthpop:5000  table 5,000 x 13  ")
    assert "6 text 3 int 3 bool 1 num  nulls 7." in text
    data = Dataset([1, 2], name="a\x1b[31m\nb")
    assert "\n" not in data.headline()
    assert "\x1b" not in data.headline()


@pytest.mark.parametrize(
    ("type_", "word"),
    [(pa.int8(), "int"), (pa.float32(), "num"), (pa.large_string(), "text"), (pa.timestamp("ns", "UTC"), "time"),
     (pa.dictionary(pa.int8(), pa.string()), "category"), (pa.list_(pa.int8()), "list"), (pa.null(), "null"),
     (pa.struct([("a", pa.int8())]), "struct"), (pa.decimal128(5, 2), "decimal"), (pa.binary(4), "binary"),
     (pa.duration("s"), "time"), (pa.map_(pa.string(), pa.int8()), "map"), (pa.bool_(), "bool")],
)  # fmt: skip
def test_types_have_one_word(type_, word):
    """Every Arrow type is one of a dozen words."""
    assert word == short_type(type_)


def test_nested_and_empty_tables_have_summaries():
    """Columns of lists, structs, dictionaries and no rows at all."""
    table = pa.table(
        {"l": [[1], None], "s": [{"a": 1}, {"a": 2}], "d": pa.array(["x", "x"]).dictionary_encode()}
    )
    summary = Dataset(table, name="n").summary()
    assert {"list": 1, "struct": 1, "category": 1} == summary["types"]
    assert 0 == Dataset(table.slice(0, 0), name="n").summary()["null_share"]


def test_a_hash_is_of_the_content_alone():
    """Chunks, slices and what stands under nulls do not matter; values, names and types do."""
    table = synthpop(3000)
    pieces = pa.concat_tables([table.slice(0, 1000), table.slice(1000, 7), table.slice(1007)])
    wanted = Dataset(table, name="a").hash()
    assert wanted == Dataset(pieces, name="b").hash()
    assert wanted == Dataset(pa.concat_tables([synthpop(5), table]).slice(5), name="c").hash()
    assert wanted != Dataset(table.slice(1), name="d").hash()
    assert wanted != Dataset(table.rename_columns([*table.column_names[:-1], "z"]), name="e").hash()
    under = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(bytes(8) + b"\x07" + bytes(7))]
    )
    clean = pa.array([0, None], pa.int64())
    assert (
        Dataset(pa.table({"a": clean}), name="f").hash() == Dataset(pa.table({"a": under}), name="g").hash()
    )


def test_hashes_of_documents_tell_types_apart():
    """1, 1.0 and True, a tuple and a list, and the order of keys are different documents."""
    values = [[1], [1.0], [True], (1,), {"a": 1, "b": 2}, {"b": 2, "a": 1}, [math.nan], [None], [b"x"], ["x"]]
    assert len(values) == len({Dataset(value, name="x").hash() for value in values})


@pytest.mark.parametrize(
    ("value", "as_"),
    [
        ({"a": [1, 2.5, None, "\u00e9", True]}, "json"),
        ([2**70, 1], "values"),
        ([math.inf], "values"),
        ({1: (2, b"x"), "d": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, "values"),
        (["\ud800"], "values"),
    ],
)
def test_documents_travel_exactly(value, as_, tmp_path):
    """JSON where it carries the document, tagged values where it does not."""
    told = Dataset(value, name="x").save(tmp_path / "data")
    assert (as_, "document") == (told["as"], told["kind"])
    back = load_saved(told["path"], told["as"], told["kind"])
    assert repr(value) == repr(back)


def test_tables_travel_as_uncompressed_arrow(tmp_path):
    """A table comes back equal, types and all, in memory of its own."""
    table = synthpop(500)
    told = Dataset(table, name="x").save(tmp_path / "data")
    (tmp_path / "copy").write_bytes((tmp_path / "data").read_bytes())
    back = load_saved(tmp_path / "data", told["as"], told["kind"])
    (tmp_path / "data").unlink()
    assert table.equals(back)
    assert ("arrow", "table") == (told["as"], told["kind"])
    assert b"ARROW1" == (tmp_path / "copy").read_bytes()[:6]


def test_an_unknown_way_of_saving_is_refused(tmp_path):
    """Only arrow, json and values are written, so only they are read."""
    (tmp_path / "x").write_bytes(b"1")
    with pytest.raises(UsageError, match="arrow, json or values"):
        load_saved(tmp_path / "x", "pickle")


def test_a_subset_is_a_dataset_of_its_own():
    """It keeps name and format, has its own counts and hash, and leaves the whole alone."""
    data = open_dataset("synthpop:1000")
    part = data.subset(0.25)
    assert (251, data.name) == (part.rows, part.name)
    assert part.hash() != data.hash()
    assert part.hash() == data.subset(0.25).hash()
    assert data.subset(1).hash() == data.hash()
    assert 1000 == data.rows
