"""What is wrong with BSON is told in words, with its byte and path."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.capabilities import need_codec

import tare
from tare.datasets.bson_faults import first_fault
from tare.errors import Malformed, Truncated


def size(value: int) -> bytes:
    return struct.pack("<i", value)


def document(*values: bytes) -> bytes:
    inner = b"".join(values)
    return size(len(inner) + 5) + inner + b"\0"


TEXT = b"\x02b\0" + size(5) + b"text\0"
INNER = document(b"\x02d~\0" + size(2) + b"x\0")
GOOD = document(
    b"\x10a\0" + size(1), TEXT, b"\x04c\0" + document(b"\x100\0" + size(1), b"\x031\0" + INNER), b"\x08f\0\1"
)
FAULTS = {
    "cut": (GOOD[:-5], Truncated, len(GOOD) - 5, f"expected a document of {len(GOOD)} bytes, got {len(GOOD) - 5}"),
    "cut size": (GOOD[:3], Truncated, 3, "expected the size of a document, got the end after 3"),
    "second cut": (GOOD + GOOD[:-3], Truncated, 2 * len(GOOD) - 3, "bytes, got 58, in document 2"),
    "size below 0": (size(-5) + GOOD[4:], Malformed, 0, "expected a document of 5 bytes or more, got -5"),
    "no end": (GOOD[:-1] + b"x", Malformed, len(GOOD) - 1, "expected a NUL at the end of a document"),
    "type": (GOOD.replace(b"\x10a\0", b"\x77a\0"), Malformed, 4, "expected a type of a value, got the byte 77, at /a"),
    "UTF-8": (GOOD.replace(b"text", b"t\xffxt"), Malformed, 19, "expected text in UTF-8, got the byte ff, at /b"),
    "name": (GOOD.replace(b"\x10a\0", b"\x10\xff\0"), Malformed, 5, "expected text in UTF-8, got the byte ff"),
    "long text": (GOOD.replace(TEXT[3:7], size(500)), Malformed, 14, "got one of 500, at /b"),
    "boolean": (GOOD.replace(b"\x08f\0\1", b"\x08f\0\5"), Malformed, 59, "expected 0 or 1 for a boolean, got 5, at /f"),
    "inner": (GOOD.replace(size(len(INNER)), size(3), 1), Malformed, 40, "got 3, at /c/1"),
    "inner text": (GOOD.replace(b"x\0\0", b"xx\0"), Malformed, 53, "expected a NUL at the end of a text, got another byte, at /c/1/d~0"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_told_in_words(name: str, tmp_path: Path) -> None:
    need_codec("bson")
    data, kind, offset, said = FAULTS[name]
    path = tmp_path / "x.bson"
    path.write_bytes(data)
    with pytest.raises(kind) as caught:
        tare.read(path)
    assert offset == caught.value.offset
    assert str(caught.value).startswith("x.bson: bson: invalid BSON: expected ")
    assert said in str(caught.value)


def test_all_that_is_written_has_no_fault() -> None:
    """Of every type, and one behind the other."""
    need_codec("bson")
    import bson

    every = {
        "text": "x", "bytes": b"\0\xff", "uuid": bson.Binary(b"1" * 16, 4), "id": bson.ObjectId(), "flag": True, "none": None,
        "regex": bson.Regex("a.*", "i"), "code": bson.Code("f()"), "scoped": bson.Code("f()", {"a": 1}), "int": 1, "long": 1 << 40,
        "when": bson.Timestamp(1, 2), "decimal": bson.Decimal128("1.5"), "least": bson.MinKey(), "most": bson.MaxKey(),
        "list": [[], {}, 1.5], "reference": bson.DBRef("a", 1),
    }  # fmt: skip
    assert first_fault(bson.encode(every) * 3) is None
    assert first_fault(GOOD) is None


def test_it_ends_on_any_bytes() -> None:
    for at in range(len(GOOD)):
        for byte in (0, 1, 3, 0x7F, 0x80, 0xFF):
            first_fault(GOOD[:at] + bytes([byte]) + GOOD[at + 1 :])
