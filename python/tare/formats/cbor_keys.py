"""Keys of CBOR that share their parts: looked at before they are hashed, which goes over each part as often as it stands. Not a format."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from tare.errors import DecodeError, Limit
from tare.formats.base import Buffer
from tare.formats.tokens import Open, Walk, cbor_argument

__all__ = ["refuse_endless_keys"]

_SHAREABLE, _REFERENCE, _SET = 28, 29, 258
_HEADS = (b"\xd8", b"\xd9\0", b"\xda\0\0\0", b"\xdb\0\0\0\0\0\0\0")  # of a tag below 256, of any length
# The first bytes of what the tag 29 has, the number of a value that was there before; and of a list, a mapping or a tag.
_INTEGERS, _INNER = (0x00, 0x1B), (0x80, 0xDB)
_MOST_HASHED = 10_000_000


def refuse_endless_keys(data: Buffer) -> None:
    """Refuses keys, and members of sets, whose shared parts stand for more values than can be hashed.

    Args:
        data: One or several values of CBOR.

    Raises:
        Limit: They do; the byte of the first such key is given.

    >>> refuse_endless_keys(bytes.fromhex("a182d81c8101d81d0002"))
    """
    plain = bytes(data)
    if _REFERENCE in plain:  # a byte, with which each head of that tag ends
        _refuse(plain)


def _refuse(plain: bytes) -> None:
    if not (
        _has_tag(plain, _REFERENCE, _INTEGERS) and _has_tag(plain, _SHAREABLE, _INNER) and _refers(plain)
    ):
        return
    sizes: list[int] = []  # of shared values, in the order in which they begin
    numbers: dict[int, int] = {}  # of those by their first byte

    def opened(one: Open) -> None:
        if one.name == "tags" and cbor_argument(plain, one.start)[0] == _SHAREABLE:
            numbers[one.start] = len(sizes)
            sizes.append(1)

    walk = Walk("cbor", plain, opened=opened)
    hashed = 0
    try:
        for item in walk:
            size = min(1 + item.size, _MOST_HASHED + 1)
            if item.name == "tags":
                tag, content = cbor_argument(plain, item.start)
                number = cbor_argument(plain, content)[0] if tag == _REFERENCE else -1
                if tag == _SHAREABLE:
                    sizes[numbers[item.start]] = size
                elif 0 <= number < len(sizes):
                    size = sizes[number]
            if not walk.open:
                continue
            walk.open[-1].size += size
            hashed += size * _is_hashed(plain, walk.open)
            if hashed > _MOST_HASHED:
                raise Limit(
                    f"shared parts of keys stand for more than {_MOST_HASHED:,} values",
                    format="cbor",
                    offset=item.start,
                )
    except DecodeError:  # what reads the values says it
        return


def _has_tag(data: bytes, tag: int, inner: tuple[int, int]) -> bool:
    """Returns whether a tag may stand before a value that begins with one of some bytes: other bytes may look like it."""
    least, most = inner
    for head in _HEADS:
        wanted = head + bytes([tag])
        at = data.find(wanted)
        while at >= 0:
            if least <= int.from_bytes(data[at + len(wanted) : at + len(wanted) + 1], "big") <= most:
                return True
            at = data.find(wanted, at + 1)
    return False


def _refers(data: bytes) -> bool:
    """Returns whether the tag is there in truth: its reader stops at the first, before anything stands for much."""
    import cbor2

    there: list[bool] = []

    def stop(*_: Any) -> Any:
        there.append(True)
        raise ValueError

    decoder = cbor2.CBORDecoder(BytesIO(data), semantic_decoders={_REFERENCE: stop})
    try:
        while True:
            decoder.decode()
    except Exception:  # of the reader, which has several: the last is that of the end
        return bool(there)


def _is_hashed(data: bytes, around: Sequence[Open]) -> bool:
    """Returns whether a value is a key, or a member of a set.

    Args:
        data: The bytes.
        around: What it stands in, the nearest last.
    """
    if around[-1].at_key:
        return True
    if around[-1].name != "arrays":
        return False
    for one in reversed(around[:-1]):
        if one.name != "tags":
            return False
        if cbor_argument(data, one.start)[0] == _SET:
            return True
    return False
