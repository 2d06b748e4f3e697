"""Lengths of time as texts."""

from __future__ import annotations

import re

from tare.errors import UsageError

__all__ = ["seconds"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds(text: float | str) -> float:
    """The seconds of a number, or of a text such as ``90s``, ``30m``, ``24h``, ``7d``.

    Raises:
        UsageError: It is no length of time.

    >>> seconds("24h"), seconds(0)
    (86400.0, 0.0)
    """
    if isinstance(text, int | float) and 0 <= text < 1e12:
        return float(text)
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhd]?)", str(text).strip())
    if found is None:
        raise UsageError(f"{text!r} is no length of time: write 90s, 30m, 24h, 7d or 0")
    return float(found[1]) * _UNITS.get(found[2], 1)
