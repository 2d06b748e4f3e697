"""What document formats share: kinds, variants, the options ``orient`` and ``default``, values as text.

Not a format. JSON and its kin have no dates, decimals or bytes; with
``default=text`` such a value is written in its usual text form, from which
whoever knows its type can rebuild it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tare.formats.base import Option
from tare.scalar_text import as_text, is_foreign

__all__ = [
    "BOTH_ORIENTS",
    "DEFAULT",
    "DOCUMENTS_ONLY",
    "NATIVE",
    "ORIENT",
    "ROWS_AS_TEXT",
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
    "Values the library does not know: refuse them, or write them as text: dates, decimals, bytes, UUIDs, ObjectIds, tags.",
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


def hook(default: str) -> Callable[[object], Any] | None:
    """What a library calls for values it does not know, by the option ``default``."""
    return _plain if default == "text" else None


def _plain(value: object) -> Any:
    if isinstance(value, set | frozenset):
        return _in_order(value)
    return dict(value) if isinstance(value, Mapping) else as_text(value)


def _in_order(values: set[Any] | frozenset[Any]) -> list[Any]:
    """Returns what is in a set in an order that is the same each time."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def parts_of(obj: object) -> list[object]:
    """The parts a list is written in: its items.

    Raises:
        TypeError: It is not a list, so it cannot be written in parts.
    """
    if not isinstance(obj, list):
        raise TypeError(f"expected a list of items, of which each is a line, got one {type(obj).__name__}")
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


_BASES: tuple[Any, ...] = (int, float, str, bytes)


def texted(obj: object, known: tuple[type, ...], default: str) -> Any:
    """What a library that takes no hook is given for the option ``default``.

    With ``text`` a copy of the tree in which scalars of other types than
    ``known`` are text, otherwise the tree itself.

    >>> from datetime import date
    >>> texted([1, date(2013, 1, 1)], (int,), "text")
    [1, '2013-01-01']
    """
    return _texted(obj, known) if default == "text" else obj


def _texted(obj: object, known: tuple[type, ...]) -> object:
    if isinstance(obj, dict):
        return {key: _texted(value, known) for key, value in obj.items()}
    if isinstance(obj, list) or (isinstance(obj, tuple) and not is_foreign(obj)):
        return [_texted(value, known) for value in obj]
    if isinstance(obj, set | frozenset) and set not in known:
        return [_texted(value, known) for value in _in_order(obj)]
    if obj is None or type(obj) in known:
        return obj
    base = next((one for one in _BASES if one in known and isinstance(obj, one)), None)
    if base is not None and not is_foreign(obj):
        return base.__new__(base, obj)  # e.g. BSON's Int64, which writers of exact types do not know
    if hasattr(
        obj, "nanosecond"
    ):  # a moment of pandas': a datetime, to which writers of those have no answer
        return as_text(obj)
    return obj if isinstance(obj, known) else as_text(obj)
