"""Names that stand twice in one JSON object: readers keep one of the values and say nothing.

RFC 8259, section 4: "the names within an object SHOULD be unique"; what a reader does
with others is unpredictable. All those used here keep the last value.
"""

from __future__ import annotations

import json
from typing import Any

from tare.datasets.source import printable

__all__ = ["MOST_BYTES", "told"]

MOST_BYTES = 64 << 20
"""Texts beyond this are not looked through: it takes about as long as reading them twice."""


def told(data: bytes, *, lines: bool = False) -> str:
    """Which name stands twice, in how many objects; empty if none does, or the text is no JSON.

    Args:
        data: The text; beyond `MOST_BYTES` it is not looked through.
        lines: Whether every line is a value.

    >>> told(b'[{"a": 1, "a": 2}, {"b": 3}]')
    "the name 'a' stands twice in one object; only the last of its values is kept"
    >>> told(b'{"a": 1}')
    ''
    """
    if len(data) > MOST_BYTES:
        return ""
    first: list[str] = []

    # Nothing is kept: each object is looked at when it ends, and is then None.
    def look(pairs: list[tuple[str, Any]]) -> None:
        if len({name for name, _ in pairs}) != len(pairs):
            names = [name for name, _ in pairs]
            first.append(next(name for place, name in enumerate(names) if name in names[:place]))

    decoder = json.JSONDecoder(object_pairs_hook=look)
    try:
        for text in data.splitlines() if lines else (data,):
            if text.strip():
                decoder.decode(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return ""
    if not first:
        return ""
    others = len(first) - 1
    more = f", and in {others:,} more object{'s' * (others != 1)} a name" if others else ""
    return (
        f"the name {printable(first[0], 40)!a} stands twice in one object{more}; "
        "only the last of its values is kept"
    )
