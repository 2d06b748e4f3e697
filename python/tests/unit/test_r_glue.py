"""What `tare.r` is made of: R's values to Arrow, plain Python and files, and back."""

from __future__ import annotations

import datetime as dt
import gc

import numpy as np
import pyarrow as pa
import pytest

from tare import _tare, errors


def test_a_table_comes_back_through_r_with_its_key():
    table = pa.table(
        {
            "n": pa.array([1, None], pa.int32()),
            "s": ["a", None],
            "f": pa.array(["x", "y"]).dictionary_encode(),
            "t": pa.array([0, None], pa.timestamp("us", "UTC")),
            "l": [[1.5], None],
        }
    )
    made, lost = _tare.r_from_arrow(table, {"strict": True})
    assert lost == []
    lent, lost = made.to_arrow({"strict": True})
    assert lost == []
    assert lent.is_table
    again = pa.record_batch(lent)
    del lent, made
    gc.collect()  # the batch keeps what it was lent
    assert again.to_pydict() == table.to_pydict()
    assert again.schema.remove_metadata().types == table.schema.types
    assert list(again.schema.metadata) == [b"r"]


def test_plain_python_comes_back_as_it_was():
    value = {"a": 1, "b": "x", "c": None, "d": [1, "x"], "e": True, "f": {"g": 0.5, "h": [None, "y"]}}
    made, lost = _tare.r_from_python(value, {})
    assert lost == []
    assert made.names == list(value)
    assert made.to_python(True, lambda leaf, path: path) == (value, [])


def test_a_leaf_is_told_where_it_lies():
    made, _ = _tare.r_from_python({"a": [1, 2], "b": [{"odd name": [1.5, 2.5]}]}, {})
    value, _ = made.to_python(False, lambda leaf, path: (leaf.type, path))
    assert value == {"a": ("integer", "$a"), "b": [{"odd name": ("double", "$b[[1]]$`odd name`")}]}


@pytest.mark.parametrize(
    ("value", "classes"),
    [
        (dt.date(2020, 1, 1), ["Date"]),
        (dt.datetime(2020, 1, 1, tzinfo=dt.UTC), ["POSIXct", "POSIXt"]),
        (dt.timedelta(seconds=1), ["difftime"]),
        (b"raw", ["raw"]),
        (2 + 1j, ["complex"]),
        (np.zeros((2, 3)), ["matrix", "array"]),
        (np.array(["2020-01-01", "NaT"], "M8[D]"), ["Date"]),
    ],
)
def test_scalars_and_arrays_have_the_class_of_r(value, classes):
    made, _ = _tare.r_from_python(value, {})
    assert made.r_class == classes


def test_integers_no_double_holds_are_reported():
    _, lost = _tare.r_from_python([2**53 + 1, 1], {})
    assert ("", "precision", "int", "double", 1) in lost
    with pytest.raises(errors.Unsupported, match="precision"):
        _tare.r_from_python([2**53 + 1], {"strict": True})


def test_numbers_are_a_buffer_that_nobody_can_write():
    made, _ = _tare.r_from_python(np.arange(6).reshape(2, 3), {})
    buffer = made.data()
    del made
    gc.collect()
    array = np.asarray(buffer)
    assert array.tolist() == [0, 3, 1, 4, 2, 5]
    assert not array.flags.writeable


def test_a_list_in_itself_is_a_limit():
    ring: list[object] = []
    ring.append(ring)
    with pytest.raises(errors.Limit, match="deep"):
        _tare.r_from_python(ring, {})


def test_files_are_written_and_read(tmp_path):
    made, _ = _tare.r_from_python({"a": [1, None], "b": "x"}, {})
    stored, lost = _tare.r_write(made, None, {})
    assert lost == []
    assert isinstance(stored, bytes)
    read = _tare.r_read(stored, {})
    assert isinstance(read, _tare.RObject)
    assert read.identical(made)
    assert read.equal(made)
    path = str(tmp_path / "all.RData")
    size, _ = _tare.r_write([("one", made)], path, {"format": "rdata"})
    assert isinstance(size, int)
    pairs = _tare.r_read(path, {})
    assert isinstance(pairs, list)
    assert [name for name, _ in pairs] == ["one"]
    assert _tare.r_inspect(path, {})["format"] == "rdata"


def test_tables_of_fst_are_written_and_read():
    made, _ = _tare.r_from_arrow(pa.table({"x": [1, 2, 3], "y": ["a", None, "c"]}), {})
    stored, lost = _tare.fst_write(made, None, {"compress": 0})
    assert lost == []
    assert isinstance(stored, bytes)
    assert _tare.sniff_r(stored) == "fst"
    assert _tare.fst_schema(stored)["rows"] == 3
    part = _tare.fst_read(stored, ["y"], (1, 3))
    assert part.get("y").strings() == [None, "c"]
