"""Files of some bytes that stand for a great many values: shared parts of CBOR and YAML, and values of Avro without bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_codec

import tare
from tare.errors import Limit, Malformed


def cbor_bomb(levels: int, *, head: bytes = b"\xd8\x1d", tag: bytes = b"") -> bytes:
    """A list of lists, each of eight times the one before (tags 28 and 29): the last stands for 8 ** levels ones."""
    parts = [b"\xd8\x1c" + tag + b"\x88" + b"\x01" * 8]
    parts += [b"\xd8\x1c" + tag + b"\x88" + (head + bytes([at])) * 8 for at in range(levels - 1)]
    return bytes([0x80 + len(parts)]) + b"".join(parts)


MEGABYTE = b"\x7a\x00\x10\x00\x00" + b"a" * (1 << 20)
BOMBS: dict[str, tuple[str, bytes]] = {
    "values": ("cbor", cbor_bomb(9)),
    "by a tag of two bytes": ("cbor", cbor_bomb(9, head=b"\xd9\x00\x1d")),
    "within tags": ("cbor", cbor_bomb(9, tag=b"\xd9\xfd\xe8")),
    "as a key": ("cbor", b"\xa1" + cbor_bomb(8) + b"\x01"),
    "a tag within itself": ("cbor", b"\xd8\x1c\xd9\xfd\xe8\x81\xd8\x1d\x00"),
    "a text": ("cbor", b"\xd9\x01\x00\x82" + MEGABYTE + b"\x99\x9c\x40" + b"\xd8\x19\x00" * 40_000),
    "a text of YAML": ("yaml", b"a: &a " + b"x" * (1 << 20) + b"\nb: [" + b"*a, " * 40_000 + b"1]\n"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_shared_parts_stand_for_is_bound(name: str, tmp_path: Path) -> None:
    format, data = BOMBS[name]
    need_codec(format)
    path = tmp_path / f"x.{format}"
    path.write_bytes(data)
    with pytest.raises(Limit, match=r"shared parts|contains itself"):
        tare.read(path)


def test_few_shared_parts_are_read(tmp_path: Path) -> None:
    need_codec("cbor")
    path = tmp_path / "x.cbor"
    path.write_bytes(cbor_bomb(3))
    one = [1] * 8
    assert tare.read(path) == [one, [one] * 8, [[one] * 8] * 8]


# --- Avro ------------------------------------------------------------------------------------

SYNC = b"S" * 16


def zigzag(number: int) -> bytes:
    left = ((number << 1) ^ (number >> 63)) & (2**64 - 1)
    out = b""
    while left > 127:
        out, left = out + bytes([left & 127 | 128]), left >> 7
    return out + bytes([left])


def head(*fields: tuple[str, Any], codec: str = "null") -> bytes:
    """The beginning of a file of records."""
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": name, "type": type} for name, type in fields],
    }
    entries = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()}
    told = b"".join(zigzag(len(k)) + k.encode() + zigzag(len(v)) + v for k, v in entries.items())
    return b"Obj\x01" + zigzag(2) + told + zigzag(0) + SYNC


def block(rows: int, data: bytes) -> bytes:
    return zigzag(rows) + zigzag(len(data)) + data + SYNC


ITSELF = ("x", ["null", "r"])
NULLS = ("x", {"type": "array", "items": "null"})
AVRO: dict[str, bytes] = {
    "a record within itself": head(ITSELF) + block(1, zigzag(1) * 100_000 + zigzag(0)),
    "a record that never ends": head(("x", "r")) + block(1, b""),
    "rows of null": head(("x", "null")) + block(10**11, b""),
    "rows of nothing": head() + block(10**11, b""),
    "a list of nulls": head(NULLS) + block(1, zigzag(10**10) + zigzag(0)),
    "a list of nulls behind others": head(("m", {"type": "map", "values": "int"}), NULLS)
    + block(1, zigzag(1) + zigzag(1) + b"k" + zigzag(5) + zigzag(0) + zigzag(-(10**10)) + zigzag(0) * 2),
}


@pytest.mark.parametrize("name", AVRO)
def test_a_count_of_avro_makes_no_values_without_bytes(name: str, tmp_path: Path) -> None:
    need_codec("avro")
    path = tmp_path / "x.avro"
    path.write_bytes(AVRO[name])
    with pytest.raises(
        Limit, match=r"nested deeper than 1,000 levels|more than 10,000,000 values without bytes"
    ):
        tare.read(path)


def test_what_is_within_bounds_is_read(tmp_path: Path) -> None:
    """Records in records, as fastavro itself reads them; lists of nulls and rows of nothing."""
    need_codec("avro")
    path = tmp_path / "x.avro"
    path.write_bytes(head(ITSELF) + block(2, zigzag(1) * 3 + zigzag(0) + zigzag(0)))
    import fastavro

    with path.open("rb") as file:
        wanted = list(fastavro.reader(file))
    assert tare.read(path).to_pylist()[1] == {"x": None}
    assert len(wanted) == 2
    path.write_bytes(head(NULLS) + block(2, zigzag(2) + zigzag(0) + zigzag(0)))
    assert tare.read(path).to_pylist() == [{"x": [None, None]}, {"x": []}]
    path.write_bytes(head() + block(3, b""))
    assert tare.read(path).num_rows == 3


def test_a_block_that_leads_back_ends_no_look(tmp_path: Path) -> None:
    """One of -18 bytes leads to the marker before it, and so to itself."""
    path = tmp_path / "x.avro"
    path.write_bytes(head(("a", "null")) + zigzag(1) + zigzag(-18) + b"x" * 40)
    found = tare.inspect(path)
    assert found.damaged
    assert "block 1 has 1 rows in -18 bytes" in " ".join(found.flags)


def test_bytes_behind_the_rows_of_a_block_are_damage(tmp_path: Path) -> None:
    need_codec("avro")
    path = tmp_path / "x.avro"
    path.write_bytes(head(("a", "int")) + block(1, zigzag(1) + zigzag(2) + zigzag(3)))
    with pytest.raises(Malformed, match="block 1 has 2 bytes behind its 1 rows"):
        tare.read(path)


def test_two_fields_of_one_name_are_damage(tmp_path: Path) -> None:
    need_codec("avro")
    path = tmp_path / "x.avro"
    path.write_bytes(head(("a", "int"), ("a", "int")) + block(1, zigzag(1) + zigzag(2)))
    with pytest.raises(Malformed, match="two fields are named 'a'"):
        tare.read(path)
