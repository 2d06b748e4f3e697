"""How a report writes numbers, names and outcomes; shared by every renderer.

Sizes of encoded data are decimal (``27.5 MB``), because bandwidths are;
memory is binary (``31 MiB``), because memory is. Nothing here looks at a record.
"""

from __future__ import annotations

import math
import unicodedata

__all__ = [
    "count",
    "duration",
    "edges",
    "interval",
    "memory",
    "one_line",
    "percent",
    "rate",
    "ratio",
    "significant",
    "size",
    "spread",
    "unit_for",
    "visible",
    "width_of",
]

_UNITS = (("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9))
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_KEPT = frozenset("\u200c\u200d")  # joiners: part of emoji and of some scripts, and harmless


def significant(value: float, digits: int = 3) -> str:
    """Write a number with so many significant digits and no exponent.

    >>> [significant(v) for v in (0.00412, 3.14159, 61.23, 812.4, 33676.1)]
    ['0.00412', '3.14', '61.2', '812', '33,676']
    """
    if not math.isfinite(value):
        return "?"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def _scaled(value: float, steps: tuple[str, ...], base: float) -> str:
    power = 0
    while abs(value) >= base * 0.9995 and power < len(steps) - 1:
        value /= base
        power += 1
    digits = f"{value:,.0f}" if power == 0 else significant(value)
    return f"{digits} {steps[power]}"


def size(n_bytes: float | None) -> str:
    """Encoded bytes, decimal.

    >>> size(27_512_000), size(300), size(None)
    ('27.5 MB', '300 B', '-')
    """
    return "-" if n_bytes is None else _scaled(float(n_bytes), ("B", "kB", "MB", "GB", "TB", "PB"), 1000)


def memory(n_bytes: float | None) -> str:
    """Bytes in memory, binary.

    >>> memory(44_145_000)
    '42.1 MiB'
    """
    return "-" if n_bytes is None else _scaled(float(n_bytes), ("B", "KiB", "MiB", "GiB", "TiB"), 1024)


def rate(bytes_per_s: float | None) -> str:
    """A bandwidth.

    >>> rate(125e6)
    '125 MB/s'
    """
    return "-" if bytes_per_s is None else size(bytes_per_s) + "/s"


def count(n: float | None) -> str:
    """A whole number with thousands separated; ``-`` when unknown.

    >>> count(336776)
    '336,776'
    """
    return "-" if n is None else f"{round(n):,}"


def percent(share: float | None) -> str:
    """A share of one, in percent.

    >>> percent(0.0071), percent(0.62), percent(0.00002), percent(0)
    ('0.7 %', '62 %', '< 0.1 %', '0 %')
    """
    if share is None:
        return "-"
    value = share * 100
    if value != 0 and abs(value) < 0.1:
        return "< 0.1 %"
    return f"{value:.1f} %".replace(".0 %", " %") if abs(value) < 10 else f"{value:,.0f} %"


def ratio(value: float | None) -> str:
    """Times the base, for a column.

    >>> ratio(0.2231), ratio(5.904), ratio(216.3)
    ('0.22', '5.90', '216')
    """
    if value is None:
        return "-"
    if abs(value) < 0.01:
        return significant(value, 2)
    return f"{value:.2f}" if value < 10 else significant(value, 3)


def unit_for(values_ns: list[float]) -> tuple[str, float]:
    """The unit that suits most of these times: its name and its length in ns.

    >>> unit_for([11e6, 24e6, 390e6])
    ('ms', 1000000.0)
    """
    if not values_ns:
        return "ms", 1e6
    middle = sorted(values_ns)[len(values_ns) // 2]
    name, scale = _UNITS[0]
    for unit in _UNITS:
        if middle >= unit[1] * 0.9995:
            name, scale = unit
    return name, scale


def duration(ns: float | None) -> str:
    """A time in the unit that suits it.

    >>> duration(61_240_000), duration(4.4e9), duration(3800e9), duration(None)
    ('61.2 ms', '4.40 s', '3,800 s', '-')
    """
    if ns is None:
        return "-"
    name, scale = unit_for([abs(ns)])
    return f"{significant(ns / scale)} {name}"


def spread(t: float, lo: float | None, hi: float | None) -> str:
    r"""A value and its half width, rounded to the digits that the half width supports.

    >>> print(spread(61.234, 59.1, 63.2).replace("\xb1", "+-"), spread(812.0, 795, 834).replace("\xb1", "+-"))
    61 +-2 810 +-20
    >>> spread(5.0, None, None)
    '5.00'
    """
    if lo is None or hi is None or not (math.isfinite(lo) and math.isfinite(hi)) or hi <= lo or t <= 0:
        return significant(t)
    half = float(f"{(hi - lo) / 2:.3g}")  # 0.01, not 0.00999...
    # At least two significant digits of the value, at most four: more would claim too much.
    exponent = math.floor(math.log10(t))
    decimals = min(max(-math.floor(math.log10(half)), 1 - exponent), 3 - exponent)
    shown = round(t, decimals)
    half = max(round(half, decimals), 10.0**-decimals)
    places = max(0, decimals)
    return f"{shown:,.{places}f} \xb1{half:,.{places}f}"


def interval(t_ns: float | None, lo_ns: float | None, hi_ns: float | None) -> str:
    r"""A time with its half width and its own unit.

    >>> interval(61.2e6, 59.2e6, 63.1e6)
    '61 \xb12 ms'
    """
    if t_ns is None:
        return "-"
    name, scale = unit_for([t_ns])
    return (
        spread(
            t_ns / scale, None if lo_ns is None else lo_ns / scale, None if hi_ns is None else hi_ns / scale
        )
        + f" {name}"
    )


def edges(lo: float | None, hi: float | None) -> str:
    """An interval in brackets, or nothing when one of its ends is unknown.

    >>> edges(0.92, 1.0123), edges(None, 2)
    ('[0.920, 1.01]', '')
    """
    if lo is None or hi is None:
        return ""
    return f"[{significant(lo)}, {significant(hi)}]"


def visible(text: object, limit: int = 80) -> str:
    r"""Make text from a file safe to show: controls and direction marks escaped, the length cut.

    >>> print(visible("a\x1b[31mb\u202ec"))
    a\x1b[31mb\u202ec
    """
    out = []
    for char in str(text):
        if char == "\\":
            out.append(char)
        elif char in _BIDI or (unicodedata.category(char) in _ESCAPED and char not in _KEPT):
            code = ord(char)
            out.append(
                f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
            )
        else:
            out.append(char)
        if len(out) > limit:
            return "".join(out[: max(1, limit - 1)]) + "\u2026"
    return "".join(out)


def one_line(text: object, limit: int = 200) -> str:
    r"""Like `visible`, with line ends and tabs folded to spaces first: for reasons and notes.

    >>> one_line("first\n  second")
    'first second'
    """
    return visible(" ".join(str(text).split()), limit)


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal.

    >>> width_of("abc"), width_of("\u65e5\u672c")
    (3, 4)
    """
    total = 0
    for char in text:
        if unicodedata.combining(char) or char in _BIDI or char in _KEPT:
            continue
        total += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return total
