"""Plain lines for the terminal: aligned columns, figures with units, text made harmless."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

__all__ = ["aligned", "bytes_text", "clean", "columns_asked", "counted", "time_text"]


def clean(text: Any, most: int = 200) -> str:
    r"""Text of a record that a terminal can print: no control or bidirectional characters, cut.

    >>> clean(chr(27) + "[31m")
    '\\x1b[31m'
    """
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))
    return shown if len(shown) <= most else shown[: most - 3] + "..."


def columns_asked() -> int | None:
    """Columns that the environment asks for with ``COLUMNS``, as for a pipe; None where it does not."""
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdecimal() and len(asked) < 6 else None


def counted(count: int, what: str) -> str:
    """A number of things, one or more.

    >>> counted(1, "unit"), counted(0, "unit"), counted(1_200, "unit")
    ('1 unit', '0 units', '1,200 units')
    """
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def time_text(ns: float | None) -> str:
    """Nanoseconds for people.

    >>> time_text(61_200_000.0), time_text(4.4e9), time_text(850.0)
    ('61.2 ms', '4.4 s', '850 ns')
    """
    if ns is None:
        return ""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= 0.9995 * scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns:.3g} ns"


def bytes_text(count: float | None) -> str:
    """Bytes for people.

    >>> bytes_text(5_100_000)
    '5.1 MB'
    """
    from tare.measure.verdict.text import size

    return "" if count is None else size(count)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text in columns, two blanks apart; columns that are empty throughout are left out.

    >>> aligned([["a", "", "b"], ["long", "", "c"]])
    ['a     b', 'long  c']
    """
    kept = (
        [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
        if len(rows) > 1
        else range(len(rows[0]))
    )
    widths = {i: max(len(row[i]) for row in rows) for i in kept}
    return ["  ".join(row[i].ljust(widths[i]) for i in kept).rstrip() for row in rows]
