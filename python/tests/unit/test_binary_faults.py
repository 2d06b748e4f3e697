"""What is wrong with MessagePack and CBOR is told with its byte and path; keys that cannot be hashed are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.capabilities import need_codec

import tare
from tare.codec import Codec
from tare.datasets.binary_faults import first_fault
from tare.errors import Limit, Malformed, TareError, Truncated, Unsupported
from tare.formats.tokens import Walk
from tare.messages.codecs import MessageCodec

MSGPACK = {
    "8191010a": (Unsupported, 1, "a list as the key of a map, which is not read"),
    "8181a1610102": (Unsupported, 1, "a map as the key of a map, which is not read"),
    "81a1619281a161018191 01a162": (Unsupported, 9, "a list as the key of a map, which is not read, at /a/1"),
    "8101c1": (Malformed, 2, "byte c1 is never used, at /1"),
    "82a161a1ffa16201": (Malformed, 3, "invalid text: expected UTF-8, got the bytes ff, at /a"),
    "91c703ff010203": (Malformed, 1, "invalid timestamp"),
    "82a161930102": (Truncated, 6, "it ends inside a map, list or tag, at /a/2"),
    "8101020391010a": (Malformed, 3, "4 bytes behind its first value"),
    "8101028191010a": (Unsupported, 4, "a list as the key of a map"),
}
CBOR = {
    "81c001": (1, "invalid tag 0: expected a moment as text", "/0"),
    "81c16161": (1, "invalid tag 1: expected a moment as seconds", "/0"),
    "81c201": (1, "invalid tag 2: expected an integer as bytes, got 1", "/0"),
    "81c4820161 61": (1, "invalid tag 4: expected a decimal fraction as two integers", "/0"),
    "81c582016161": (
        1,
        "invalid tag 5: expected a bigfloat as two integers, exponent and mantissa, got",
        "/0",
    ),
    "81d81e820100": (
        1,
        "invalid tag 30: expected a fraction as two integers, the second not 0, got [1, 0]",
        "/0",
    ),
    "81d8236128": (1, "invalid tag 35: expected a regular expression as text, got '('", "/0"),
    "8201d82541ff": (2, "invalid tag 37: expected a UUID as 16 bytes", "/1"),
    "81d8646161": (1, "invalid tag 100: expected a date as days", "/0"),
    "81d9010201": (1, "invalid tag 258: expected a set as an array, got 1", "/0"),
    "81d90104430102 03": (1, "invalid tag 260: expected an address", "/0"),
    "81d81d05": (1, "invalid tag 29: expected the number of a shared value before it, got 5", "/0"),
    "81d81905": (1, "invalid tag 25: expected the number of a text before it", "/0"),
    "a2616182010261628301a16163d82541ff02": (13, "invalid tag 37", "/b/1/c"),
    "8161ff": (1, "invalid text: expected UTF-8, got the bytes ff", "/0"),
    "81f801": (1, "invalid two-byte sequence for simple value", "/0"),
    "82011c": (2, "byte 1c is reserved", "/1"),
    "82ff01": (1, "a break ends nothing", "/0"),
}


def opened(name: str, text: str, tmp_path: Path) -> TareError:
    """What reading a file of these bytes says."""
    path = tmp_path / name
    path.write_bytes(bytes.fromhex(text))
    with pytest.raises(TareError) as caught:
        tare.read(path)
    return caught.value


@pytest.mark.parametrize("text", MSGPACK)
def test_messagepack_is_refused_with_byte_and_path(text: str, tmp_path: Path) -> None:
    kind, offset, said = MSGPACK[text]
    error = opened("x.msgpack", text, tmp_path)
    assert (kind, offset) == (type(error), error.offset)
    assert said in str(error)


@pytest.mark.parametrize("text", CBOR)
def test_cbor_is_refused_with_byte_and_path(text: str, tmp_path: Path) -> None:
    need_codec("cbor")
    offset, said, path = CBOR[text]
    error = opened("x.cbor", text, tmp_path)
    assert (Malformed, offset) == (type(error), error.offset)
    assert said in str(error)
    assert f", at {path}, at byte {offset}. " in str(error)


def test_a_file_of_cbor_that_was_cut_says_where(tmp_path: Path) -> None:
    need_codec("cbor")
    error = opened("x.cbor", "a26161830102", tmp_path)
    assert (Truncated, 6) == (type(error), error.offset)
    assert ", at /a/2, at byte 6" in str(error)


def test_a_list_as_a_key_is_read_by_who_can(tmp_path: Path) -> None:
    """As the advice says; CBOR keeps it."""
    need_codec("cbor")
    path = tmp_path / "x.msgpack"
    path.write_bytes(bytes.fromhex("8191010a"))
    with pytest.raises(Unsupported, match="msgpack:msgspec, which reads it"):
        tare.read(path)
    assert tare.read(path, format="msgpack:msgspec") == {(1,): 10}
    tare.convert(path, tmp_path / "x.cbor", format="msgpack:msgspec")
    assert tare.read(tmp_path / "x.cbor") == {(1,): 10}


def test_a_byte_within_a_text_is_not_told_as_one_of_the_file() -> None:
    """The reader counts from the beginning of the text."""
    with pytest.raises(Malformed) as caught:
        Codec.parse("msgpack").decode(bytes.fromhex("82a161a1ffa16201"))
    assert caught.value.offset is None
    with pytest.raises(Malformed) as caught:
        Codec.parse("json:stdlib").decode(b'["\xff"]')
    assert 2 == caught.value.offset


def doubling(levels: int) -> str:
    """Lists of two, each of which stands twice in the one around it."""
    inner = "01"
    for level in reversed(range(levels)):
        number = level + 1
        again = "01" if number == levels else "d81d" + (f"{number:02x}" if number < 24 else f"18{number:02x}")
        inner = f"d81c82{inner}{again}"
    return inner


@pytest.mark.parametrize("around", ["a1{}01", "d9010281{}", "81a1{}01"])
def test_keys_that_share_their_parts_end(around: str, tmp_path: Path) -> None:
    """Hashing one goes over each part as often as it stands: 2 to the power of 60 times."""
    need_codec("cbor")
    error = opened("x.cbor", around.format(doubling(60)), tmp_path)
    assert isinstance(error, Limit)
    assert "shared parts of keys stand for more than 10,000,000 values, at byte" in str(error)
    with pytest.raises(Limit, match="shared parts of keys"):
        Codec.parse("cbor").decode(bytes.fromhex(around.format(doubling(60))))


def test_keys_that_share_little_are_read(tmp_path: Path) -> None:
    need_codec("cbor")
    path = tmp_path / "x.cbor"
    path.write_bytes(bytes.fromhex(f"a1{doubling(3)}01"))
    assert tare.read(path) == {(((1, 1), (1, 1)), ((1, 1), (1, 1))): 1}


@pytest.mark.parametrize("format", ["msgpack", "cbor"])
def test_a_walk_ends_on_any_bytes(format: str) -> None:
    """Heads that promise more than there is, of any kind."""
    need_codec(format)
    for head in range(256):
        for tail in (b"", b"\xff" * 3, b"\0" * 9, b"\x81" * 400):
            try:
                for _ in Walk(format, bytes([head]) + tail):
                    pass
            except (Malformed, Truncated):
                pass
            first_fault(format, bytes([head]) + tail)


def test_pieces_of_a_text_of_cbor_that_are_none(tmp_path: Path) -> None:
    need_codec("cbor")
    error = opened("x.cbor", "817f01ff", tmp_path)
    assert (Malformed, 2) == (type(error), error.offset)
    assert "found in indefinite length text string, at /0, at byte 2. " in str(error)


@pytest.mark.parametrize("text", ["a: 1\n? [a, b]\n: 1\n", "a: 1\n? {a: b}\n: 1\n"])
def test_such_keys_of_yaml_are_told_alike(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(
        Unsupported, match="a list or mapping as a key, which is not read, in line 2, at byte 7"
    ):
        tare.read(path)


def test_messages_of_cbor_are_looked_at_too() -> None:
    """What a peer sends is hashed as well."""
    need_codec("cbor")
    messages = MessageCodec("cbor", "frame", max_message=1 << 20, max_depth=100, compress_min=1 << 20)
    with pytest.raises(Limit, match="shared parts of keys"):
        messages.decode(bytes.fromhex(f"a1{doubling(60)}01"))


def test_numbers_that_look_like_shared_values_are_read() -> None:
    need_codec("cbor")
    value = [0xD81D, 0xD81C, b"\xd8\x1d\x00\xd8\x1c\x82", {(1, 2): 3}]
    codec = Codec.parse("cbor")
    assert value == codec.decode(codec.encode(value))
