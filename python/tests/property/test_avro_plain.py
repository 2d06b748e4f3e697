"""Plain records of Avro become the columns that fastavro's records become, or are left to it."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tare
from tare.datasets.avro_plain import has_plain_fields, plain_table
from tare.errors import ChecksumMismatch, DecodeError, TareError
from tare.formats.avro_bounds import bounded_blocks, checked_blocks
from tare.formats.avro_types import table_of

INT, LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
VALUES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "boolean": ("boolean", st.booleans()),
    "int": ("int", INT),
    "long": ({"type": "long"}, LONG),
    "float": ("float", st.floats(width=32, allow_nan=False)),
    "double": ("double", st.floats(allow_nan=False)),
    "string": ("string", st.text()),
    "bytes": ("bytes", st.binary()),
    "day": ({"type": "int", "logicalType": "date"}, st.dates()),
    "time": ({"type": "int", "logicalType": "time-millis"}, st.times().map(lambda time: time.replace(microsecond=0))),
    "fine time": ({"type": "long", "logicalType": "time-micros"}, st.times()),
    "moment": ({"type": "long", "logicalType": "timestamp-micros"}, st.datetimes(timezones=st.just(dt.UTC))),
    "local": ({"type": "long", "logicalType": "local-timestamp-micros"}, st.datetimes()),
    "not known": ({"type": "long", "logicalType": "weeks"}, LONG),
}  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file of records with one to four plain fields, in blocks of some bytes."""
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    fields, rows = [], []
    for at, kind in enumerate(kinds):
        type, values = VALUES[kind]
        shape = draw(st.sampled_from(["alone", "null first", "null last"]))
        union = {"alone": type, "null first": ["null", type], "null last": [type, "null"]}[shape]
        fields.append({"name": f"f{at}", "type": union})
        rows.append(values if shape == "alone" else st.none() | values)
    records = draw(st.lists(st.tuples(*rows), max_size=20))
    file = io.BytesIO()
    fastavro.writer(
        file,
        {"type": "record", "name": "r", "fields": fields},
        [{f"f{at}": value for at, value in enumerate(record)} for record in records],
        codec=draw(st.sampled_from(["null", "deflate"])),
        sync_interval=draw(st.sampled_from([1, 50, 16_000])),
    )
    return file.getvalue()


def by_record(data: bytes) -> pa.Table:
    """The table that is made record by record."""
    schema, blocks = bounded_blocks(io.BytesIO(data))
    return table_of([row for block in blocks for row in block], schema)


@given(files())
def test_plain_columns_are_those_of_records(data: bytes) -> None:
    """Types too; in groups of blocks of any size."""
    table = plain_table(data)
    assert table is not None
    table.validate(full=True)
    assert table.schema == by_record(data).schema
    assert table.to_pylist() == by_record(data).to_pylist()


@given(files(), st.data())
def test_what_is_damaged_is_read_as_before(data: bytes, draw: st.DataObject) -> None:
    """A byte that is another, or a file that is cut: columns are what records are, or there are none."""
    place = draw.draw(st.integers(0, len(data) - 1))
    cut = draw.draw(st.booleans())
    damaged = data[:place] if cut else data[:place] + bytes([data[place] ^ draw.draw(st.integers(1, 255))]) + data[place + 1 :]  # fmt: skip
    table = plain_table(damaged)
    if table is not None:
        assert table.schema == by_record(damaged).schema
        assert repr(table.to_pylist()) == repr(by_record(damaged).to_pylist())


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (["null", "int", "long"], 1),
        ({"type": "array", "items": "int"}, [1]),
        ({"type": "enum", "name": "e", "symbols": ["a"]}, "a"),
        ({"type": "fixed", "name": "f", "size": 1}, b"a"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1}, None),
        ({"type": "string", "logicalType": "uuid"}, "00000000-0000-0000-0000-000000000000"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 1),
        ("null", None),
    ],
)
def test_other_fields_are_left(type: Any, value: Any) -> None:
    file = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "v", "type": type}]}
    fastavro.writer(file, schema, [] if value is None else [{"v": value}])
    assert plain_table(file.getvalue()) is None
    file.seek(0)
    assert not has_plain_fields(fastavro.reader(file).writer_schema)


def number(value: int) -> bytes:
    """A whole number as Avro writes it."""
    value, found = (value << 1) ^ (value >> 63), bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def container(type: Any, block: bytes, rows: int) -> bytes:
    """A file of one block of records with one field."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "v", "type": type}]}
    head = b"".join(number(len(text)) + text for text in (b"avro.schema", json.dumps(schema).encode()))
    sync = bytes(16)
    return b"Obj\x01" + number(1) + head + number(0) + sync + number(rows) + number(len(block)) + block + sync


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ({"type": "int", "logicalType": "date"}, 2_932_897),
        ({"type": "int", "logicalType": "date"}, -719_163),
        ({"type": "long", "logicalType": "timestamp-millis"}, 2**50),
        ({"type": "long", "logicalType": "timestamp-micros"}, -(2**60)),
    ],
)
def test_days_beyond_the_years_are_refused_as_before(type: Any, value: int) -> None:
    """Whatever the size of a file, its days are within the years 1 to 9999."""
    data = container(type, number(value), 1)
    assert plain_table(data) is None
    with pytest.raises(TareError, match="beyond the years 1 to 9999"):
        tare.read(io.BytesIO(data), format="avro")


@pytest.mark.parametrize(
    ("type", "block", "rows"),
    [
        ("int", number(1) + number(2), 1),  # a byte behind them
        ("int", number(1), 2),
        ("int", number(2**31), 1),
        ("int", b"", 2**40),
        ("long", b"\xff" * 9 + b"\x02", 1),
        ("long", b"\x80" * 10 + b"\x01", 1),
        ("boolean", b"\x02", 1),
        ("double", b"1234567", 1),
        ("string", number(2) + b"\xff\xfe", 1),
        ("string", number(-1), 1),
        ("bytes", number(2**62) + b"x", 1),
        (["null", "int"], number(2) + number(1), 1),
        (["null", "int"], b"\x80\0", 1),
    ],
)
def test_blocks_that_are_not_whole_are_left(type: Any, block: bytes, rows: int) -> None:
    """Neither are rows passed over, nor is memory taken for what a count asks for."""
    assert plain_table(container(type, block, rows)) is None


def test_a_wrong_column_is_found_by_the_other_reader(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the core makes of a file is held against fastavro's records."""
    path = tmp_path / "a.avro"
    path.write_bytes(container("int", number(1) + number(2), 2))
    done = tare.convert(path, tmp_path / "a.parquet")
    assert done.second["source"]["reader"] == "fastavro"
    wrong = pa.table({"v": pa.array([1, 3], pa.int32())})
    monkeypatch.setattr("tare.datasets.avro_plain.plain_table", lambda _: wrong)
    with pytest.raises(DecodeError, match=r"column 'v', row 2: Tare reads 3, fastavro 2"):
        tare.convert(path, tmp_path / "b.parquet")


@pytest.mark.parametrize("unions", [False, True])
def test_a_block_of_snappy_with_a_byte_that_is_another_is_refused(tmp_path: Any, unions: bool) -> None:
    """Its checksum says so, which fastavro passes over; fields that are plain and others, and a pipe."""
    kind: Any = ["null", "string", "int"] if unions else "string"
    schema = {"type": "record", "name": "r", "fields": [{"name": "v", "type": kind}]}
    file = io.BytesIO()
    fastavro.writer(
        file, schema, [{"v": hashlib.md5(b"%d" % n).hexdigest()} for n in range(50)], codec="snappy"
    )
    data = file.getvalue()
    (tmp_path / "a.avro").write_bytes(data)
    assert tare.read(tmp_path / "a.avro") is not None
    at = data.index(hashlib.md5(b"20").hexdigest()[:8].encode())
    damaged = data[:at] + b"X" + data[at + 1 :]
    (tmp_path / "a.avro").write_bytes(damaged)
    with pytest.raises(ChecksumMismatch, match="block 1 is damaged"):
        tare.convert(tmp_path / "a.avro", tmp_path / "b.json")
    with pytest.raises(ChecksumMismatch, match="block 1 is damaged"):
        list(checked_blocks(Pipe(damaged))[1])


class Pipe(io.BytesIO):
    """A file that cannot be sought in."""

    def seekable(self) -> bool:
        """Never."""
        return False


@pytest.mark.parametrize("order", [["null"], []])
def test_enums_with_nulls_are_no_panic(
    tmp_path: Any, capfd: pytest.CaptureFixture[str], order: list[str]
) -> None:
    """polars, which reads other files a second time, ends in one."""
    enum = {"type": "enum", "name": "E", "symbols": ["A"]}
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "v", "type": [*order, enum, *(["null"] if not order else [])]}],
    }
    with open(tmp_path / "a.avro", "wb") as file:
        fastavro.writer(file, schema, [{"v": "A"}, {"v": None}])
    assert tare.convert(tmp_path / "a.avro", tmp_path / "a.parquet", verify=True).verified
    assert "panicked" not in capfd.readouterr().err
