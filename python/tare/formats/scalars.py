"""What document formats share: kinds, variants, the options ``orient`` and ``default``, values as text.

Not a format. JSON and its kin have no dates, decimals or bytes; with
``default=text`` such a value is written in its usual text form, from which
whoever knows its type can rebuild it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from tare.formats.base import Option

__all__ = [
    "BOTH_ORIENTS",
    "DEFAULT",
    "DOCUMENTS_ONLY",
    "NATIVE",
    "ORIENT",
    "ROWS_AS_TEXT",
    "as_text",
    "hook",
    "is_lines",
    "parts_of",
    "texted",
]

ORIENT = Option(
    "rows",
    ("rows", "columns"),
    "Shape of a table: rows = one mapping per row; columns = one list per column, so names are not repeated.",
)
DEFAULT = Option(
    "refuse",
    ("refuse", "text"),
    "Values the library does not know: refuse them, or write dates, decimals, bytes and UUIDs as text.",
)

# What a library takes and gives that knows trees alone: a table is its rows.
NATIVE: Mapping[str, str] = {"document": "python", "table": "records"}

# What `tare measure` tries by default of such a library: tables not at all, as rows, or both ways.
_Variants = Mapping[str, tuple[Mapping[str, object], ...]]
DOCUMENTS_ONLY: _Variants = {"document": ({},), "table": ()}
ROWS_AS_TEXT: _Variants = {"document": ({},), "table": ({"default": "text"},)}
BOTH_ORIENTS: _Variants = {
    "document": ({},),
    "table": ({"default": "text"}, {"default": "text", "orient": "columns"}),
}


def as_text(value: object) -> str:
    """The usual text of a scalar that JSON lacks.

    Dates and times are ISO 8601, durations ISO 8601 in seconds, bytes are
    base64, decimals and UUIDs their own text.

    Raises:
        TypeError: The value is none of these.

    >>> as_text(Decimal("1.10")), as_text(date(2013, 1, 1)), as_text(timedelta(minutes=1, milliseconds=5))
    ('1.10', '2013-01-01', 'PT60.005S')
    """
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"type {type(value).__name__} has no text form that Tare would choose")


def hook(default: str) -> Callable[[object], str] | None:
    """What a library calls for values it does not know, by the option ``default``."""
    return as_text if default == "text" else None


def parts_of(obj: object) -> list[object]:
    """The parts a list is written in: its items.

    Raises:
        TypeError: It is not a list, so it cannot be written in parts.
    """
    if not isinstance(obj, list):
        raise TypeError(f"only a list is written in parts, not {type(obj).__name__}")
    return obj


def is_lines(head: bytes) -> bool:
    r"""Whether the first line is a whole JSON value in brackets and another one starts after it.

    >>> is_lines(b'{"a": 1}\n{"a": 2'), is_lines(b'{"a": 1}\n'), is_lines(b'[\n{}]')
    (True, False, False)
    """
    first, newline, rest = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    rest = rest.lstrip()
    if not newline or first[:1] not in (b"{", b"[") or not (rest and rest[:1] in b"{["):
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True


def texted(obj: object, known: tuple[type, ...], default: str) -> Any:
    """What a library that takes no hook is given for the option ``default``.

    With ``text`` a copy of the tree in which scalars of other types than
    ``known`` are text, otherwise the tree itself.

    >>> texted([1, date(2013, 1, 1)], (int,), "text")
    [1, '2013-01-01']
    """
    return _texted(obj, known) if default == "text" else obj


def _texted(obj: object, known: tuple[type, ...]) -> object:
    if isinstance(obj, dict):
        return {key: _texted(value, known) for key, value in obj.items()}
    if isinstance(obj, list):
        return [_texted(value, known) for value in obj]
    return obj if obj is None or isinstance(obj, known) else as_text(obj)


def _duration(value: timedelta) -> str:
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    whole = value.days * 86_400 + value.seconds
    return f"{sign}PT{whole}.{value.microseconds:06d}".rstrip("0").rstrip(".") + "S"
