"""Tables that a format refuses: the message names the column and the row."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.capabilities import need_module

import tare
from tare.errors import EncodeError, Unsupported


def test_a_number_beyond_those_of_bson_is_named(tmp_path):
    """By its column and row."""
    need_module("bson")
    table = pa.table({"a": [1, 2, 3], "big": pa.array([1, 2**63 - 1, 2**63], pa.uint64())})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(EncodeError, match=r"in column 'big' \(uint64\), row 3\. Nothing was written"):
        tare.convert(tmp_path / "x.parquet", tmp_path / "x.bson")


def test_bytes_that_are_no_text_are_named(tmp_path):
    """Where CSV refuses them: values that R serialized, which are not made base64."""
    values = [b"X\n\0\0\0" + rest for rest in (b"a", b"b", b"\xff", b"\xfe")]
    pq.write_table(pa.table({"a": values}), tmp_path / "x.parquet")
    with pytest.raises(
        EncodeError,
        match=r"cannot write column 'a': its values are R's serialization, which is binary\. Nothing was written",
    ):
        tare.convert(tmp_path / "x.parquet", tmp_path / "x.csv")


def test_a_long_duration_is_said_to_be_beyond_days(tmp_path):
    """Not beyond years, which durations have none of."""
    pq.write_table(pa.table({"d": pa.array([1, 2**62], pa.duration("ms"))}), tmp_path / "x.parquet")
    with pytest.raises(Unsupported, match=r"column 'd', row 2: .* beyond 999,999,999 days"):
        tare.convert(tmp_path / "x.parquet", tmp_path / "x.json")


@pytest.mark.parametrize(
    "other", [pa.array([b"\xff"]), pa.array([b"0123456789abcdef"], pa.uuid()), pa.array([True]), pa.array([b"X\n\0\0\0\xff"])]
)  # fmt: skip
def test_the_column_that_is_named_is_the_one_that_the_conversion_refuses(other):
    """Not one that it writes in another type, nor one that is refused for another reason."""
    table = pa.table({"other": other, "list": [[1]]})
    message = r"there is no place for values of the type list<item: int64>, in column 'list'\."
    if other[0].as_py() == b"X\n\0\0\0\xff":  # which R serialized, and is no base64
        message = r"cannot write column 'other': its values are R's serialization, which is binary\."
    with pytest.raises(EncodeError, match=message):
        tare.convert(table, "x.csv")
