"""Lengths of time and sizes as people write them: ``90s``, ``5m``, ``64KiB``, ``1.5 GB``."""

from __future__ import annotations

__all__ = ["amount", "seconds", "size"]

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


def amount(value: float) -> str:
    """Bytes at a glance: one decimal below a hundred of a unit.

    >>> amount(5_140_000), amount(44_145_000), amount(141_000), amount(260)
    ('5.1 MB', '44.1 MB', '141 kB', '260 B')
    """
    units, place = ("B", "kB", "MB", "GB", "TB"), 0
    while value >= 999.5 and place < len(units) - 1:
        value, place = value / 1000, place + 1
    return f"{value:,.{1 if place and value < 99.95 else 0}f} {units[place]}"
