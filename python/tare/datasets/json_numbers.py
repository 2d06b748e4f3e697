"""Numbers of JSON that are read as none: where the first one is. Its reader says neither the byte nor the path."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass

__all__ = ["Unread", "first_unread"]

_MOST_BYTES = 64 << 20  # to go over them takes seconds
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|[\[\]{},]', re.DOTALL)
_KEY = re.compile(rb"\s*:")
_MAY_BE = re.compile(rb"[0-9]{300}|[eE]\+?[0-9]{3}")
_FLOAT = re.compile(rb"[.eE]")
_SHOWN = 50
_KEY_CHARACTERS = 40


@dataclass(frozen=True)
class Unread:
    """A number that is not read.

    Args:
        text: What is wrong with it.
        offset: Its first byte.
        pointer: The JSON pointer (RFC 6901) to it.
        is_integer: Whether it is one of too many digits, else it is beyond all doubles.
    """

    text: str
    offset: int
    pointer: str
    is_integer: bool


def first_unread(data: bytes) -> Unread | None:
    r"""Returns the first integer of more digits than Python reads, or number that no double holds; None if none is found.

    Args:
        data: JSON that is valid up to there.

    >>> first_unread(b'{"a": ["1e999", {"b/c": -1e400}]}')
    Unread(text='-1e400 is less than any double', offset=24, pointer='/a/1/b~1c', is_integer=False)
    """
    if len(data) > _MOST_BYTES or not _MAY_BE.search(data):
        return None
    # Of each level that is open: how many values stand before, or the name of the next one, and whether it is an array.
    places: list[int | bytes] = []
    for match in _TOKEN.finditer(data):
        token = match.group()
        first = token[:1]
        if first in (b"[", b"{"):
            places.append(0 if first == b"[" else b"")
        elif first in (b"]", b"}"):
            del places[-1:]
        elif first == b",":
            if places and isinstance(places[-1], int):
                places[-1] += 1
        elif first == b'"':
            if places and isinstance(places[-1], bytes) and _KEY.match(data, match.end()):
                places[-1] = token[1:-1]
        elif (text := _wrong(token)) is not None:
            return Unread(text, match.start(), _pointer(places), text.startswith("an integer"))
    return None


def _wrong(token: bytes) -> str | None:
    if _FLOAT.search(token) is None:
        most = sys.get_int_max_str_digits()
        count = len(token.lstrip(b"-"))
        return (
            f"an integer of {count:,} digits, more than the {most:,} that are read"
            if 0 < most < count
            else None
        )
    try:
        number = float(token)
    except ValueError:
        return None
    if not math.isinf(number):
        return None
    shown = token.decode() if len(token) <= _SHOWN else f"{token[: _SHOWN - 3].decode()}..."
    return f"{shown} is {'less' if number < 0 else 'larger'} than any double"


def _pointer(places: list[int | bytes]) -> str:
    steps = []
    for place in places:
        step = str(place) if isinstance(place, int) else place.decode("utf-8", "replace")
        step = step if len(step) <= _KEY_CHARACTERS else f"{step[: _KEY_CHARACTERS - 3]}..."
        steps.append("/" + step.replace("~", "~0").replace("/", "~1"))
    return "".join(steps)
