"""Keys of CBOR that share their parts: looked at before they are hashed, which goes over each part as often as it stands. Not a format."""

from __future__ import annotations

from collections.abc import Sequence

from tare.errors import DecodeError, Limit
from tare.formats.base import Buffer
from tare.formats.tokens import Open, Walk, cbor_argument

__all__ = ["refuse_endless_keys"]

_SHAREABLE, _REFERENCE, _SET = 28, 29, 258
# Heads of the tag 29, which stands for a value that was there before, of any length.
_REFERENCES = (b"\xd8\x1d", b"\xd9\0\x1d", b"\xda\0\0\0\x1d", b"\xdb\0\0\0\0\0\0\0\x1d")
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
    if not any(head in plain for head in _REFERENCES):
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
