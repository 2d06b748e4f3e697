"""Documents of a few bytes that say many elements."""

from __future__ import annotations

from typing import Any

from tare import blit

EMPTY = 0x0D
NULL = 0


def backwards(value: int) -> bytes:
    """A number in groups of 7 bits, the lowest in the last byte."""
    groups = []
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([value, *groups[::-1]])


def array_of_equal(n: int, tag: int) -> Any:
    """A view of an array of ``n`` elements without bytes, which a few bytes say."""
    uniform = b"\x00" + bytes([tag]) + backwards(n) + b"\xa1"
    return blit.view(b"BLT1" + uniform + bytes([0, 0, 0, 0, 0x0C, 0, 1, 10]) + b"BT")
