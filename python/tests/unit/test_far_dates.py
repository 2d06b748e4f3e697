"""Dates beyond the years 1 to 9999: the message says which value is one, where it is, and that the file is not damaged."""

from __future__ import annotations

import datetime as dt
from io import BytesIO
from pathlib import Path

import pytest
from support.capabilities import need_module

import tare
from tare.datasets.far_dates import first_far
from tare.errors import Malformed, Unsupported

FAR = "beyond the years 1 to 9999"


def refused(path: Path, data: bytes) -> str:
    """The message of a file whose date Python does not hold."""
    path.write_bytes(data)
    with pytest.raises(Unsupported) as caught:
        tare.read(path)
    assert not isinstance(caught.value, Malformed)
    assert "Fetch it again" not in str(caught.value)
    return str(caught.value)


def test_bson_names_document_and_field(tmp_path: Path) -> None:
    need_module("bson")
    import bson
    from bson.datetime_ms import DatetimeMS

    well = bson.encode({"a": [{"t": dt.datetime(9999, 12, 31)}]})
    far = bson.encode({"a": [{"t": None}, {"t": DatetimeMS(10**17)}]})
    said = refused(tmp_path / "a.bson", well + far)
    assert f"a[1].t of document 2 is 100,000,000,000,000,000 ms from 1970, {FAR}" in said
    assert first_far("bson", well) == ""


@pytest.mark.parametrize(
    ("tag", "value", "words"),
    [
        (1, 10**13, "10,000,000,000,000 s from 1970"),
        (1, -1e12, "-1,000,000,000,000.0 s from 1970"),
        (0, "10000-01-01T00:00:00Z", "'10000-01-01T00:00:00Z'"),
        (100, 10**8, "100,000,000 days from 1970"),
        (1004, "+12345-01-01", "'+12345-01-01'"),
    ],
)
def test_cbor_names_the_path(tmp_path: Path, tag: int, value: object, words: str) -> None:
    need_module("cbor2")
    import cbor2

    data = cbor2.dumps({"n": 1, "a": [{"t": cbor2.CBORTag(tag, value)}]})
    assert f"a[0].t is {words}, {FAR}" in refused(tmp_path / "a.cbor", data)


def test_cbor_that_is_damaged_stays_so(tmp_path: Path) -> None:
    need_module("cbor2")
    import cbor2

    (tmp_path / "a.cbor").write_bytes(cbor2.dumps(cbor2.CBORTag(0, "no date")))
    with pytest.raises(Malformed):
        tare.read(tmp_path / "a.cbor")


MICROS = {"type": "long", "logicalType": "timestamp-micros"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
DAY = {"type": "int", "logicalType": "date"}
INNER = {"type": "record", "name": "inner", "fields": [{"name": "t", "type": MILLIS}]}


@pytest.mark.parametrize(
    ("kind", "plain", "well", "far", "words"),
    [
        (["null", MICROS], ["null", "long"], None, 10**18, "v of row 3 is 1,000,000,000,000,000,000 micros from 1970"),
        (DAY, "int", 2_932_896, 2_932_897, "v of row 3 is 2,932,897 days from 1970"),
        ({"type": "array", "items": MILLIS}, {"type": "array", "items": "long"}, [0], [0, -(10**15)], "v[1] of row 3 is -1,000,000,000,000,000 millis"),
        (INNER, {**INNER, "fields": [{"name": "t", "type": "long"}]}, {"t": 0}, {"t": 10**15}, "v.t of row 3 is 1,000,000,000,000,000 millis"),
    ],
)  # fmt: skip
def test_avro_names_row_and_field(
    tmp_path: Path, kind: object, plain: object, well: object, far: object, words: str
) -> None:
    """The rows are written as numbers, under a schema that says that they are dates."""
    need_module("fastavro")
    import fastavro

    def schema(inner: object) -> dict[str, object]:
        return {
            "type": "record",
            "name": "r",
            "fields": [{"name": "n", "type": "int"}, {"name": "v", "type": inner}],
        }

    def written(rows: list[object]) -> bytes:
        numbers, file = BytesIO(), BytesIO()
        fastavro.writer(numbers, schema(plain), [{"n": at, "v": one} for at, one in enumerate(rows)])
        writer = fastavro.write.Writer(file, schema(kind))
        for block in fastavro.block_reader(BytesIO(numbers.getvalue())):
            writer.write_block(block)
        writer.flush()
        return file.getvalue()

    assert f"{words}" in refused(tmp_path / "a.avro", written([well, well, far]))
    assert first_far("avro", written([well, well])) == ""
    (tmp_path / "a.avro").write_bytes(written([well, well]))
    assert tare.read(tmp_path / "a.avro").num_rows == 2
