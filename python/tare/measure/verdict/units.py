"""Sizes, times, rates, shares and lists as people read them."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["duration", "listed", "noise_floor", "percent", "rate", "size", "times"]


# A comma within an id, as before an option.
_IN_ID = re.compile(r",(?! |$)")


def scaled(value: float, units: Sequence[str]) -> str:
    """A number with a decimal prefix, three digits.

    >>> scaled(5_140_000, ("B", "kB", "MB", "GB"))
    '5.14 MB'
    """
    place = 0
    while abs(value) >= 999.5 and place < len(units) - 1:
        value, place = value / 1000, place + 1
    return f"{value:.3g} {units[place]}"


def size(value: float) -> str:
    """Bytes for people.

    >>> size(27_500_000)
    '27.5 MB'
    """
    return scaled(value, ("B", "kB", "MB", "GB", "TB"))


def rate(value: float) -> str:
    """Bytes per second for people.

    >>> rate(21e6)
    '21 MB/s'
    """
    return size(value) + "/s"


def percent(share: float) -> str:
    """A share for people.

    >>> percent(0.3333), percent(0.044), percent(0.00012)
    ('33 %', '4.4 %', '0.012 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def noise_floor(share: float) -> str:
    """The noise floor for people.

    >>> noise_floor(0.34), noise_floor(8.009)
    ('noise floor 34 %', 'noise floor above 100 %: nothing can be told apart')
    """
    return f"noise floor {percent(share) if share < 1 else 'above 100 %: nothing can be told apart'}"


def times(ratio: float) -> str:
    """A ratio of 1 or more.

    >>> times(2.14), times(31.7)
    ('2.1x', '32x')
    """
    return f"{ratio:.1f}x" if ratio < 9.95 else f"{ratio:,.0f}x"


def duration(seconds: float) -> str:
    """A time for people: two digits below a hundred, three above.

    >>> duration(0.0653), duration(0.141), duration(4.13e-3), duration(5.78e-7)
    ('65 ms', '141 ms', '4.1 ms', '578 ns')
    """
    value, place = seconds * 1e9, 0
    units = ("ns", "us", "ms", "s")
    while value >= 999.5 and place < len(units) - 1:
        value, place = value / 1000, place + 1
    if value >= 999.5:
        return f"{value:,.0f} {units[place]}"
    return f"{value:.3g} {units[place]}" if value >= 99.5 else f"{value:.2g} {units[place]}"


def listed(names: Sequence[str], most: int = 3, width: int = 60, *, word: str = "and") -> str:
    """A few names, each of at most so many characters, and how many more there are.

    Args:
        names: The names; where one is an id with a comma of its own, a word stands between all of them.
        most: How many are named.
        width: Characters of each, at most.
        word: What stands between them: ``and`` or ``or``.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d"])
    ('a and b', 'a, b, c and 1 more')
    >>> listed(["Parquet (zstd, polars)", "Arrow (lz4)"], word="or"), listed(["a", "b"], word="or")
    ('Parquet (zstd, polars) or Arrow (lz4)', 'a or b')
    >>> listed(["x,level=1", "x,level=3", "y"], 2)
    'x,level=1 and x,level=3 and 1 more'
    >>> listed(["Parquet (zstd 3)", "Parquet (zstd, polars)", "ORC", "CSV"])
    'Parquet (zstd 3), Parquet (zstd, polars), ORC and 1 more'
    """
    shown = [name[:width] for name in names[:most]]
    shown += [f"{len(names) - most} more"] if len(names) > most else []
    if any(_IN_ID.search(name) for name in shown):
        return f" {word} ".join(shown)
    return f" {word} ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
