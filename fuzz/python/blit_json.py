"""Fuzz target: JSON texts, held against Python's json. Both take the same ones, and give the same values."""

from __future__ import annotations

import json
import re
import struct
import sys
from typing import Any

from tare import blit
from tare.errors import DecodeError, Limit

__all__ = ["fuzz"]

# Longer integers Python does not read from text unless it is told to.
DIGITS = re.compile(rb"[0-9]{4300}")
LEVELS = 200


def fuzz(data: bytes) -> None:
    """Read the bytes with both; what is taken is also written back and read again."""
    if DIGITS.search(data) or data.count(b"[") + data.count(b"{") > LEVELS:
        return
    expected = by_json(data)
    try:
        document = blit.from_json(data)
    except (DecodeError, Limit) as error:
        assert expected is None, f"only json takes it: {error}"
        assert error.offset is None or 0 <= error.offset <= len(data)
        return
    assert expected is not None, "only blit takes it"
    view = blit.view(document)
    view.validate()
    assert exact(view.to_python()) == expected
    assert exact(json.loads(view.to_json())) == expected
    assert blit.from_json(view.to_json("lexical")) == blit.from_json(in_order(view.to_json()))


def by_json(data: bytes) -> Any:
    """The value that json reads, to be compared; None if it reads none."""
    try:
        text = data.decode()
        value = json.loads(text, parse_constant=refuse)
        # Halves of surrogate pairs are text to json.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return None if text.startswith("\ufeff") else exact(value)


def exact(value: Any) -> Any:
    """The same for values of the same types and bits only, in the same order."""
    if isinstance(value, float):
        return ("float", struct.pack("<d", value))
    if isinstance(value, list):
        return ("list", [exact(item) for item in value])
    if isinstance(value, dict):
        return ("dict", [(name, exact(item)) for name, item in value.items()])
    return (type(value).__name__, value)


def in_order(text: bytes) -> bytes:
    """A text with its names in the order of their UTF-8 bytes, and its numbers as they are."""
    names = json.loads(text, parse_float=Number, parse_int=Number)
    return write(names).encode()


class Number(str):
    """The text of a number."""

    __slots__ = ()


def write(value: Any) -> str:
    """A value as JSON, names in order."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=str.encode)
        return "{" + ",".join(f"{json.dumps(name)}:{write(value[name])}" for name in names) + "}"
    return json.dumps(value)


def refuse(name: str) -> None:
    """NaN and infinities are no JSON."""
    raise ValueError(name)


sys.setrecursionlimit(max(sys.getrecursionlimit(), 10 * LEVELS))
