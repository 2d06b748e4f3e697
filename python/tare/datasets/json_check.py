"""Large JSON looked at before its values are made: what is cut or damaged is found in the memory of a block."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tare._tare import JsonArrayLines, json_elements
from tare.errors import TareError, Truncated

__all__ = ["Wrong", "first_wrong", "odd_values"]

_BLOCK_BYTES = 4 << 20
_SHOWN_BYTES = 40
_MOST_TAIL_BYTES = 1 << 20  # of the last element: a longer one is most likely no element that was cut


@dataclass(frozen=True)
class Wrong:
    """A part of a text that is no JSON.

    Args:
        offset: Its first byte.
        text: The line or element.
        error: What a reader says of it.
    """

    offset: int
    text: bytes
    error: json.JSONDecodeError


def first_wrong(data: bytes, *, lines: bool) -> Wrong | None:
    """Returns the first line, or element of an array, that is no JSON; None if none is found, or the text is another.

    NaN and the infinities are taken, as reading takes them.

    Args:
        data: The text, in UTF-8.
        lines: Whether every line is a value.

    >>> first_wrong(b'[{"a": 1}, {"b": NaN}, {"c": nope}]', lines=False).offset
    22
    >>> first_wrong(b'[{"a": 1}, {"b": ', lines=False).error.msg
    'Expecting value'
    """
    if lines:
        return _of_lines(data)
    return _of_array(data) if data.lstrip()[:1] == b"[" else _of_value(data)


def odd_values(block: bytes) -> list[Any] | None:
    r"""Returns the values of lines that reading takes although they are no JSON, for a NaN or an infinity; None if one is not taken.

    Args:
        block: Whole lines.

    >>> odd_values(b'{"a": 1}\n[NaN]\n'), odd_values(b'{"a": 1}\n[nope]\n')
    ([[nan]], None)
    """
    try:
        json_elements(block, separator=b"\n")
    except TareError:
        values = []
        for _, line in _lines(block):
            try:
                json_elements(line, separator=b"\n")
            except TareError:
                try:
                    values.append(json.loads(line))
                except (ValueError, RecursionError):
                    return None
        return values
    return []


def _of_lines(data: bytes) -> Wrong | None:
    at = 0
    while at < len(data):
        end = data.find(b"\n", at + _BLOCK_BYTES) + 1 or len(data)
        found = _in_block(data[at:end], at)
        if found is not None:
            return found
        at = end
    return None


def _of_array(data: bytes) -> Wrong | None:
    array = JsonArrayLines()
    at = data.find(b"[") + 1  # behind which what it gives is as long as what it takes
    try:
        for start in range(0, len(data), _BLOCK_BYTES):
            block = array.pass_over(data[start : start + _BLOCK_BYTES])
            found = _in_block(block, at) if block else None
            if found is not None:  # what follows the element belongs to what is shown
                end = found.offset + len(found.text) + _SHOWN_BYTES
                return Wrong(found.offset, data[found.offset : end], found.error)
            at += len(block)
        array.end()
    except Truncated:
        tail = b"[" + data[at:]
        error = _error_of(tail) if len(tail) <= _MOST_TAIL_BYTES else None
        return None if error is None else Wrong(at - 1, tail, error)
    except TareError:  # it is no array: reading says what it is
        return None
    return None


def _of_value(data: bytes) -> Wrong | None:
    """Returns the fault of a text that is not an array, if it is cut; other faults are left to reading."""
    import msgspec

    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            return Wrong(0, data, json.JSONDecodeError("Expecting value", "", len(data)))
    except (ValueError, RecursionError):
        pass
    return None


def _in_block(block: bytes, base: int) -> Wrong | None:
    """Returns the first line that is invalid JSON."""
    try:
        json_elements(block, separator=b"\n")
    except TareError:  # of NaN too, which it does not take
        for at, line in _lines(block):
            if (error := _error_of(line)) is not None:
                return Wrong(base + at, line, error)
    return None


def _lines(block: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    for line in block.split(b"\n"):
        if line.strip():
            yield at, line
        at += len(line) + 1


def _error_of(text: bytes) -> json.JSONDecodeError | None:
    """Returns a reader's error for a value; None also for invalid numbers, whose path takes all of the text."""
    import orjson

    try:
        orjson.loads(text)
    except ValueError:
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            return error
        except (ValueError, RecursionError):
            return None
    return None
