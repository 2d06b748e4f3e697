"""Lengths of time and sizes as people write them: ``90s``, ``5m``, ``64KiB``, ``1.5 GB``."""

from __future__ import annotations

__all__ = ["seconds", "size"]

_TIMES = {"s": 1, "m": 60, "h": 3600}
_SIZES = {"": 1, "b": 1} | {
    f"{letter}{rest}": base**power
    for power, letter in enumerate("kmgt", 1)
    for rest, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
_MOST = 1 << 63


def seconds(text: str) -> float | None:
    """The seconds of a length of time; None if it is not one.

    >>> seconds("90"), seconds("5m"), seconds("1.5 h"), seconds("soon"), seconds("-1s")
    (90.0, 300.0, 5400.0, None, None)
    """
    text = text.strip().lower()
    unit = _TIMES.get(text[-1:])
    try:
        found = float(text[:-1] if unit else text) * (unit or 1)
    except ValueError:
        return None
    return found if 0 <= found < float("inf") else None


def size(text: str) -> int | None:
    """The bytes of a size; None if it is not one.

    >>> size("65536"), size("64KiB"), size("1.5 MB"), size("4k"), size("big"), size("-1")
    (65536, 65536, 1500000, 4000, None, None)
    """
    text = text.strip()
    digits = text.rstrip("kKmMgGtTiIbB").strip()
    factor = _SIZES.get(text[len(digits) :].strip().lower())
    try:
        found = float(digits) * (factor or 0)
    except ValueError:
        return None
    return int(found) if factor is not None and 0 <= found < _MOST else None
