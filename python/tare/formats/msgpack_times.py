"""Timestamps of MessagePack (extension -1) read as datetimes in UTC, unless one of them is none. Not a format.

A timestamp may have nanoseconds, or lie beyond the years 1 to 9999. Where one does, no datetime is made of any: what came
in one type stays in one type. The libraries cut or round nanoseconds silently, so that the bytes are looked at before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tare.errors import Malformed, Truncated, Unsupported
from tare.formats.base import Buffer
from tare.formats.tokens import Walk

__all__ = ["are_datetimes", "decoded", "is_kept", "refuse_other", "settled"]

# What begins a timestamp of 8 and 12 bytes, and how many follow; other values may hold these bytes too. Those of 4 bytes
# are always datetimes. Writers give timestamps the shortest head, readers take any.
_HEADS = {b"\xd7\xff": 8, b"\xc7\x08\xff": 8, b"\0\x08\xff": 8, b"\xc7\x0c\xff": 12, b"\0\x0c\xff": 12}
_LEAST_S, _MOST_S = -62_135_596_800, 253_402_300_799  # of the years 1 and 9999, from 1970 on
_FIXEXT, _EXT_HEADS, _CODE = 0xD4, {0xC7: 3, 0xC8: 4, 0xC9: 6}, 0xFF
_SECOND, _MICROSECOND = 10**9, 10**3  # in nanoseconds
_SECONDS_BITS = 34  # the other 30 of 64 count nanoseconds


def are_datetimes(data: Buffer) -> bool:
    """Returns whether everything that looks like a timestamp is a datetime; what looks like one may be part of a text."""
    data = data if isinstance(data, bytes) else bytes(data)
    if b"\xff" not in data:
        return True
    for head, size in _HEADS.items():
        at = data.find(head)
        while at >= 0:
            start = at + len(head)
            if not _holds_datetime(data[start : start + size]):
                return False
            at = data.find(head, at + 1)
    return True


def _holds_datetime(content: bytes) -> bool:
    """Returns whether the content of a timestamp is that of a datetime."""
    if len(content) == 8:
        return _is_datetime(0, int.from_bytes(content) >> _SECONDS_BITS)
    if len(content) == 12:
        return _is_datetime(int.from_bytes(content[4:], signed=True), int.from_bytes(content[:4]))
    return True


def _is_datetime(seconds: int, nanoseconds: int) -> bool:
    fits = nanoseconds % _MICROSECOND == 0 and nanoseconds < _SECOND
    return fits and _LEAST_S <= seconds <= _MOST_S


def decoded(data: Buffer, unpack: Callable[..., Any]) -> Any:
    """Returns what the library msgpack reads of one value, its timestamps as datetimes if all of them are such.

    Args:
        data: The bytes.
        unpack: Takes them, and ``timestamp`` as that library's reader does.
    """
    if are_datetimes(data):
        return unpack(data, timestamp=3)
    return settled(unpack(data, timestamp=0))


def settled(value: Any) -> Any:
    """Returns a value whose timestamps of the library msgpack became datetimes, where they stand, if all of them can.

    >>> from msgpack import Timestamp
    >>> settled([Timestamp(1, 5000)])[0].isoformat(), settled([Timestamp(1, 5000), Timestamp(1, 5)])
    ('1970-01-01T00:00:01.000005+00:00', [Timestamp(seconds=1, nanoseconds=5000), Timestamp(seconds=1, nanoseconds=5)])
    """
    from msgpack import Timestamp

    top = [value]
    places, keyed = _places(top, Timestamp)
    found = [holder[at] for holder, at in places]
    found += [key for holder in keyed for key in holder if type(key) is Timestamp]
    if not all(_is_datetime(one.seconds, one.nanoseconds) for one in found):
        return value
    for holder, at in places:
        holder[at] = holder[at].to_datetime()
    for holder in keyed:
        pairs = [(k.to_datetime() if type(k) is Timestamp else k, item) for k, item in holder.items()]
        holder.clear()
        holder.update(pairs)
    return top[0]


def is_kept(value: Any) -> bool:
    """Returns whether a value holds timestamps of the library msgpack, because one of them is no datetime."""
    from msgpack import Timestamp

    places, keyed = _places([value], Timestamp)
    return bool(places or keyed)


def _places(value: list[Any], kind: type) -> tuple[list[tuple[Any, Any]], list[dict[Any, Any]]]:
    """Returns where in lists and mappings values of a type stand, and the mappings that have some as keys."""
    places: list[tuple[Any, Any]] = []
    keyed: list[dict[Any, Any]] = []
    stack: list[Any] = [value]
    while stack:
        holder = stack.pop()
        if type(holder) is dict:
            pairs: Any = holder.items()
            if any(type(key) is kind for key in holder):
                keyed.append(holder)
        else:
            pairs = enumerate(holder)
        for at, item in pairs:
            if type(item) is kind:
                places.append((holder, at))
            elif type(item) is dict or type(item) is list:
                stack.append(item)
    return places, keyed


def refuse_other(data: Buffer) -> None:
    r"""Refuses bytes with a timestamp that is no datetime, for libraries that would cut or round it.

    Raises:
        Unsupported: There is one; its first byte is given.

    >>> refuse_other(b"\x91\xd6\xff\0\0\0\5")
    """
    if are_datetimes(data):
        return
    data = bytes(data)
    try:
        for item in Walk("msgpack", data):
            head = 2 if data[item.start] >= _FIXEXT else _EXT_HEADS.get(data[item.start], 0)
            start = item.start + head
            if (
                item.name != "extensions"
                or data[start - 1] != _CODE
                or _holds_datetime(data[start : item.end])
            ):
                continue
            raise Unsupported(
                f"msgpack: a timestamp has nanoseconds, or lies beyond the years 1 to 9999, as no datetime does, at byte "
                f"{item.start:,}. Read it by msgpack:msgpack, which keeps it.",
                format="msgpack",
            )
    except (Malformed, Truncated):  # the library says what is wrong
        return
