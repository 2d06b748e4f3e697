"""What is wrong with a file of Avro is told in words, with its byte, block, row and field."""

from __future__ import annotations

import io
import zlib
from pathlib import Path

import pytest
from support.capabilities import need_codec

import tare
from tare.datasets.avro_faults import first_fault
from tare.datasets.avro_values import check_values
from tare.errors import Malformed, Truncated, Unsupported

MARK = b"S" * 16


def number(value: int) -> bytes:
    """An integer as Avro has it."""
    left, out = (value << 1) ^ (value >> 63), b""
    while left > 127:
        out += bytes([left & 127 | 128])
        left >>= 7
    return out + bytes([left])


def text(value: bytes) -> bytes:
    return number(len(value)) + value


def block(rows: int, data: bytes) -> bytes:
    return number(rows) + text(data) + MARK


def file(schema: str, *blocks: bytes, codec: bytes = b"null") -> bytes:
    """A container file."""
    head = b"Obj\x01" + number(2) + text(b"avro.schema") + text(schema.encode())
    return head + text(b"avro.codec") + text(codec) + number(0) + MARK + b"".join(blocks)


def record(kind: str) -> str:
    return (
        f'{{"type":"record","name":"r","fields":[{{"name":"a","type":"long"}},{{"name":"b","type":{kind}}}]}}'
    )


TEXTS, FLOATS = record('"string"'), record('"float"')
BRANCH, SYMBOL = record('["null","long"]'), record('{"type":"enum","name":"e","symbols":["x"]}')
GOOD = block(1, number(5) + text(b"q"))
BOOLEAN, INT, LIST = record('"boolean"'), record('"int"'), record('{"type":"array","items":"long"}')
MAP = record('{"type":"map","values":"long"}')
TIME = record('{"type":"long","logicalType":"time-micros"}')
DECIMAL = record('{"type":"bytes","logicalType":"decimal","precision":2,"scale":1}')
OTHER = "expected the number of a type of a union, 0 to 1, got"
NO_SYMBOL = "expected the number of a symbol of an enum, 0 to 0, got"
ROW = "in block 1, row 1 of it, field 'b'"
FAULTS = {
    "a cut header": (file(TEXTS)[:40], Truncated, "expected a map of metadata"),
    "a cut marker": (file(TEXTS)[:-5], Truncated, "expected a marker of 16 bytes behind its metadata, got"),
    "no schema": (b"Obj\x01\0" + MARK, Malformed, "expected the key 'avro.schema' in its metadata, got none"),
    "no JSON": (file('{"type":'), Malformed, "expected a schema in JSON, got '{\"type\":'"),
    "a number": (file("5"), Malformed, "expected the name of a type, an object or a list, got 5"),
    "a type 5": (file('{"type":5}'), Malformed, "got 5, at /type of its schema"),
    "a type of none": (file('"foo"'), Malformed, "expected the name of a type, got 'foo'"),
    "null": (file("null"), Malformed, "expected the name of a type, an object or a list, got None"),
    "no items": (file(record('{"type":"array"}')), Malformed, "expected the key 'items', got"),
    "no symbols": (file('{"type":"enum","name":"e"}'), Malformed, "expected the key 'symbols' with a list"),
    "no size": (file('{"type":"fixed","name":"e"}'), Malformed, "expected the key 'size' with a number"),
    "a field 5": (
        file('{"type":"record","name":"r","fields":[5]}'),
        Malformed,
        "expected a field with the keys 'name' and 'type', got 5, at /fields/0 of its schema",
    ),
    "deep": (file(record('{"type":"map","values":{"type":7}}')), Malformed, "at /fields/1/type/values/type"),
    "twice": (file(record('{"type":"fixed","name":"r","size":2}')), Malformed, "redefined named type: r"),
    "a compressor": (file(TEXTS, codec=b"lzma9"), Unsupported, "expected one of the compressors null, deflate"),
    "no deflate": (file(TEXTS, block(1, b"\xff\xff"), codec=b"deflate"), Malformed, "in block 1"),
    "a cut count": (file(TEXTS, b"\2"), Truncated, "expected a number of bytes, in block 1, got the end"),
    "a cut block": (file(TEXTS, GOOD, GOOD[:-3]), Truncated, "expected a marker of 16 bytes, in block 2"),
    "a large block": (file(TEXTS, number(1) + number(1 << 60)), Truncated, "bytes of rows, in block 1, got"),
    "rows below 0": (file(TEXTS, block(-5, b"aa")), Malformed, "expected a number of rows of 0 or more, got -5"),
    "another marker": (file(TEXTS, GOOD[:-1] + b"x"), Malformed, "expected the marker 5353"),
    "too many rows": (file(TEXTS, block(5, number(5) + text(b"q"))), Malformed, "in block 1, row 2 of it"),
    "a branch": (file(BRANCH, block(1, number(1) + number(7))), Malformed, f"{OTHER} 7, {ROW}"),
    "a branch below 0": (file(BRANCH, block(1, number(1) + number(-1) + number(7))), Malformed, f"{OTHER} -1, {ROW}"),
    "a symbol": (file(SYMBOL, block(1, number(1) + number(7))), Malformed, f"{NO_SYMBOL} 7, {ROW}"),
    "a symbol below 0": (file(SYMBOL, block(1, number(1) + number(-1))), Malformed, f"{NO_SYMBOL} -1, {ROW}"),
    "a boolean": (file(BOOLEAN, block(1, number(1) + b"\2")), Malformed, f"expected a boolean, of 0 or 1, got the byte 2, {ROW}"),
    "a compressed boolean": (file(BOOLEAN, block(1, zlib.compress(number(1) + b"\2", wbits=-15)), codec=b"deflate"), Malformed, f"got the byte 2, {ROW}"),
    "an int of 34 bits": (file(INT, block(1, number(1) + number(1 << 33))), Malformed, f"expected an integer of 32 bits, got 8,589,934,592, {ROW}"),
    "a long of 65 bits": (file(record('"long"'), block(1, number(1) + b"\xff" * 9 + b"\3")), Malformed, f"expected an integer of 64 bits, got one of more, {ROW}"),
    "a part of another size": (file(LIST, block(1, number(1) + number(-2) + number(9) + number(7) * 2 + b"\0")), Malformed, f"expected a part of a list or map of 9 bytes, got 2, {ROW}"),
    "a part below 0": (file(MAP, block(1, number(1) + number(-1) + number(-3) + text(b"k") + b"\2\0")), Malformed, f"of -3 bytes, got 3, {ROW}"),
    "a time below 0": (file(TIME, block(1, number(1) + number(-1))), Malformed, f"expected a time of day, got -1 microseconds, {ROW}"),
    "a long decimal": (file(DECIMAL, block(1, number(1) + text(b"\x7f\xff"))), Malformed, f"expected a decimal of at most 2 digits, got one of more, {ROW}"),
    "a text below 0": (file(TEXTS, block(1, number(5) + number(-3))), Malformed, f"expected a length of 0 or more, got -3, {ROW}"),
    "no UTF-8": (file(TEXTS, block(1, number(5) + text(b"\xff"))), Malformed, f"expected text in UTF-8, got other bytes, {ROW}"),
    "a cut float": (file(FLOATS, block(1, number(5) + b"\0")), Malformed, f"expected more bytes, got the end of the block, {ROW}"),
    "a long text": (file(TEXTS, block(1, number(5) + number(1 << 50))), Malformed, ROW),
    "a long integer": (file(TEXTS, block(1, b"\xff" * 20)), Malformed, "row 1 of it, field 'a'"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_told_in_words(name: str, tmp_path: Path) -> None:
    need_codec("avro")
    data, kind, said = FAULTS[name]
    path = tmp_path / "x.avro"
    path.write_bytes(data)
    with pytest.raises(kind) as caught:
        tare.read(path)
    shown = str(caught.value)
    assert shown.startswith("x.avro: avro: invalid Avro: expected ")
    assert said in shown
    assert f", at byte {caught.value.offset:,}. " in shown


def test_a_good_file_has_no_fault() -> None:
    need_codec("avro")
    assert first_fault(file(TEXTS, GOOD, GOOD)) is None
    first_fault(file('{"type":' * 3000 + "1" + "}" * 3000))  # ends


def test_the_byte_is_that_of_the_row() -> None:
    need_codec("avro")
    rows = number(5) + text(b"q") + number(6) + text(b"\xff")
    data = file(TEXTS, block(2, rows))
    fault = first_fault(data)
    assert fault is not None
    assert data[fault.offset :].startswith(number(6) + text(b"\xff"))


def test_what_holds_itself_or_ever_so_many_is_passed_over() -> None:
    """Lists of any count, a type within itself, a precision of a billion: who reads says what they are."""
    need_codec("avro")
    nested = record('{"type":"array","items":["null","r"]}')
    for schema, rows in (
        (record('{"type":"array","items":"double"}'), number(5) + number(1 << 60)),
        (record('{"type":"array","items":"null"}'), number(5) + number(1 << 60)),
        (nested, (number(5) + number(1) + number(1)) * 5000 + number(5) + b"\0" * 5001),
        (DECIMAL.replace('"precision":2', '"precision":1000000000'), number(5) + text(b"\1")),
    ):
        check_values(file(schema, block(1, rows)))
    with pytest.raises(Malformed, match="an integer of 64 bits"):
        check_values(file(TEXTS, block(1, number(5) + b"\xff" * 1_000_000)))


def test_parts_with_their_sizes_are_read_and_repeated_keys_told(tmp_path: Path) -> None:
    need_codec("avro")
    path = tmp_path / "x.avro"
    path.write_bytes(file(LIST, block(1, number(5) + number(-2) + number(2) + number(7) * 2 + b"\0")))
    assert tare.read(path).to_pylist() == [{"a": 5, "b": [7, 7]}]
    twice = number(2) + (text(b"k") + number(8)) * 2 + b"\0"
    path.write_bytes(file(MAP, block(1, number(5) + twice)))
    assert tare.open_dataset(path).notes == ("a key stands twice in a map: its last value is read",)


@pytest.mark.parametrize(
    ("kinds", "told"), [(["int", "float"], 1), (["null", "int", "double"], 1), (["int", "long"], 0)]
)
def test_whole_numbers_that_become_others_are_told(kinds: list[str], told: int, tmp_path: Path) -> None:
    """A union of both is read as double."""
    need_codec("avro")
    import fastavro

    made = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "u", "type": kinds}]}
    fastavro.writer(made, schema, [{"u": 1}, {"u": 3}])
    (tmp_path / "x.avro").write_bytes(made.getvalue())
    said = "whole numbers in a union with others are read as double: u"
    assert list(tare.open_dataset(tmp_path / "x.avro").notes) == [said] * told
