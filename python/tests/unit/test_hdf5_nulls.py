"""HDF5 through pandas: columns that NumPy's arrays have no place for."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.capabilities import need_codec, need_module

import tare
from tare.codec import Codec

CODEC = Codec.parse("hdf5:pandas")


@pytest.fixture(autouse=True)
def _installed():
    need_codec(str(CODEC))


def back(table):
    """The table as it comes back, in Arrow."""
    return tare.kinds.convert(CODEC.decode(CODEC.encode(table), trust=True), "arrow")


@pytest.mark.parametrize(
    ("values", "kind", "came"),
    [
        ([1, None, 3], pa.int64(), pa.float64()),
        ([1, None, -3], pa.int32(), pa.float64()),
        ([None, 255], pa.uint8(), pa.float64()),
        ([2**53, None], pa.int64(), pa.float64()),
        ([2**53 + 1, None], pa.int64(), pa.int64()),
        ([-(2**63), None], pa.int64(), pa.int64()),
        ([2**62, None], pa.uint64(), pa.int64()),
        ([True, None, False], pa.bool_(), pa.bool_()),
        ([None, None], pa.int64(), pa.float64()),
    ],
)
def test_integers_with_nulls_keep_their_values(values, kind, came):
    """As floats where each is one exactly, else as objects: no value and no null changes."""
    found = back(pa.table({"n": pa.array(values, kind), "t": ["x"] * len(values)}))
    assert values == found.column("n").to_pylist()
    assert came == found.column("n").type


@pytest.mark.parametrize("dtype", ["Int32", "UInt8", "boolean", "int64[pyarrow]"])
def test_a_frame_with_nullable_columns_and_no_null_is_stored_as_it_is(dtype):
    """The user's own frame is not touched, and its values come back."""
    pd = need_module("pandas")
    frame = pd.DataFrame({"n": pd.array([1, 0, 1], dtype=dtype)}, index=[5, 6, 7])
    found = CODEC.decode(CODEC.encode(frame), trust=True)
    assert [1, 0, 1] == found["n"].tolist()
    assert [5, 6, 7] == found.index.tolist()
    assert dtype == str(frame["n"].dtype)


def test_a_table_is_written_and_the_change_of_type_is_told(tmp_path):
    """`write` works, and `convert` says that the column comes back as another type."""
    table = pa.table({"n": [1, None, 3]})
    assert tare.write(table, tmp_path / "x.h5") > 0
    tare.write(table, tmp_path / "x.parquet")
    done = tare.convert(tmp_path / "x.parquet", tmp_path / "y.h5")
    assert [("n", "type", "int64", "double")] == [
        (change["path"], change["verdict"], change["from"], change["to"]) for change in done.changes
    ]
