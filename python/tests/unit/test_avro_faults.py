"""What is wrong with a file of Avro is told in words, with its byte, block, row and field."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.capabilities import need_codec

import tare
from tare.datasets.avro_faults import first_fault
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
OTHER = "expected the number of a type of a union, or of a symbol, got one that there is not"
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
    "a branch": (file(BRANCH, block(1, number(1) + number(7))), Malformed, f"{OTHER}, {ROW}"),
    "a symbol": (file(SYMBOL, block(1, number(1) + number(7))), Malformed, f"{OTHER}, {ROW}"),
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
