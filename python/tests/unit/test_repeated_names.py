"""Names that stand twice in one object, of formats other than JSON: one value is lost when it is read, and that is told."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import tare
from tare.datasets import repeats

ONE = "stands twice in one object; only the last of its values is kept"


def bson(*pairs: tuple[str, int]) -> bytes:
    body = (
        b"".join(b"\x10" + name.encode() + b"\0" + struct.pack("<i", value) for name, value in pairs) + b"\0"
    )
    return struct.pack("<i", len(body) + 4) + body


TWICE: dict[str, tuple[str, bytes, str]] = {
    "yaml": ("yaml", b"a: 1\na: 2\n", f"the name 'a' {ONE}"),
    "yaml within": ("yaml", b"- x:\n    b: 1\n    c: 2\n    b: 3\n", f"the name 'b' {ONE}"),
    "yaml of truths": ("yaml", b"NO: 1\nyes: 2\n1: x\n", f"the name 1 {ONE}"),
    "yaml beside a merge": ("yaml", b"- &m {a: 0}\n- {<<: *m, b: 1, b: 2}\n", f"the name 'b' {ONE}"),
    "msgpack": ("msgpack", bytes.fromhex("82a16101a16102"), f"the name 'a' {ONE}"),
    "msgpack of numbers": ("msgpack", bytes.fromhex("9182 01 01 c3 02"), f"the name True {ONE}"),
    "cbor": ("cbor", bytes.fromhex("a2 6161 01 6161 02"), f"the name 'a' {ONE}"),
    "cbor of truths": ("cbor", bytes.fromhex("a2 01 6161 f5 6162"), f"the name True {ONE}"),
    "cbor of numbers": ("cbor", bytes.fromhex("81 a2 01 6161 f9 3c00 6162"), f"the name 1.0 {ONE}"),
    "cbor without lengths": ("cbor", bytes.fromhex("9f bf 6161 c1 19 0101 7f 6162 ff 81 02 6161 f5 ff ff"), f"the name 'a' {ONE}"),
    "bson": ("bson", bson(("a", 1), ("a", 2)), f"the name 'a' {ONE}"),
    "bson, two": (
        "bson",
        bson(("a", 1), ("a", 2), ("a", 3)) + bson(("b", 1)) + bson(("b", 1), ("b", 2)),
        "the name 'a' stands twice in one object, and in 1 more object a name; only the last of its values is kept",
    ),
}  # fmt: skip
ONCE: dict[str, tuple[str, bytes]] = {
    "yaml": ("yaml", b"- a: 1\n  b: {a: 1}\n- a: 2\n"),
    "yaml that overrides a merge": ("yaml", b"- &m {a: 0, b: 1}\n- {<<: *m, a: 1}\n"),
    "yaml with two merges": ("yaml", b"- &m {a: 0}\n- &n {a: 1}\n- {<<: [*m, *n]}\n"),
    "msgpack": ("msgpack", bytes.fromhex("82a16181a16101a16202")),
    "cbor": ("cbor", bytes.fromhex("82 a1 6161 a1 6161 fb3ff8000000000000 a2 6161 01 6162 02")),
    "bson": ("bson", bson(("a", 1), ("b", 2)) + bson(("a", 1))),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_conversion_tells_it(name: str, tmp_path: Path) -> None:
    format, data, said = TWICE[name]
    source = tmp_path / f"x.{format}"
    source.write_bytes(data)
    done = tare.convert(source, tmp_path / "x.msgpack.out", codec="msgpack")
    assert [note for note in done.notes if "stands twice" in note] == [said]


@pytest.mark.parametrize("name", ONCE)
def test_of_names_that_stand_once_nothing_is_said(name: str, tmp_path: Path) -> None:
    format, data = ONCE[name]
    source = tmp_path / f"x.{format}"
    source.write_bytes(data)
    done = tare.convert(source, tmp_path / "x.json")
    assert not [note for note in done.notes if "stands twice" in note]


@pytest.mark.parametrize("format", repeats.BINARY)
def test_what_is_cut_is_not_told_of(format: str) -> None:
    """Its reader says that it is."""
    data = TWICE[format][1]
    for end in range(len(data)):
        assert repeats.told_of(format, data[:end]) in ("", TWICE[format][2])


def test_looking_for_a_name_takes_time_by_the_number_of_names() -> None:
    """A name that stands twice at the end of many is compared with few of them: with each it would take hours."""

    class Counting(str):
        compared = 0
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Counting.compared += 1
            return str.__eq__(self, other)

    names = [Counting(f"k{at}") for at in range(20_000)]
    assert repeats.first_repeated([*names, Counting("k19999")]) == "k19999"
    assert Counting.compared < 1_000
