"""The tables of published figures beside ours, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from experiment_pages.figures import ENDS, Row, percent

__all__ = ["AGREES", "lines", "number", "short", "table"]

Column = tuple[str, Callable[[Row], str]]

# What stands in the column; the sentences of the answer are in `page`.
AGREES = {
    "base": "base",
    "yes": "yes",
    "direction": "direction",
    "no": "no",
    "untold": "not told",
    "void": "their read never ran",
    "": "",
}
_TEXT = frozenset({"codec", "as published", "kept"})


def table(figures: Mapping[str, Any], rows: list[Row]) -> list[str]:
    """Lay the rows out as a Markdown table."""
    heads = [head for head, _ in _columns(figures)]
    cells = [[cell(row) for _, cell in _columns(figures)] for row in rows]
    return lines(heads, cells, _TEXT)


def lines(heads: list[str], cells: list[list[str]], left: frozenset[str]) -> list[str]:
    """A Markdown table; columns that are not ``left`` are numbers."""
    rule = ["---" if head in left else "---:" for head in heads]
    return ["| " + " | ".join(row) + " |" for row in (heads, rule, *cells)]


def _columns(figures: Mapping[str, Any]) -> list[Column]:
    end: list[Column] = [("as published", _agrees), ("kept", _kept)]
    measured: list[Column] = [("interval", _interval), ("samples", _samples)]
    if figures["operation"] == "bytes":
        unit = "" if figures["unit"] == "x" else f" {figures['unit']}"
        return [("codec", _name), (f"published{unit}", _published), (f"here{unit}", _ours), *end]
    if figures["unit"] == "x":
        return [("codec", _name), ("published", _published), ("here", _ours), *measured, *end]
    ours: list[Column] = [("x base", _multiple), ("here", _here), ("x base", _ours), *measured]
    if any("sizes" in row for row in figures["rows"]):
        return _grown(figures, ours, end)
    if any("sum" in row for row in figures["rows"]):
        theirs = _joint(figures)[0]
        return [("codec", _name), ("published total", _seconds), (theirs, _sum), *ours, *end]
    return [("codec", _name), ("published", _seconds), *ours, *end]


def _grown(figures: Mapping[str, Any], ours: list[Column], end: list[Column]) -> list[Column]:
    """The columns of curves at a size that both measured: both ends, what they make together, how it grows."""
    write, read = ("write", "read") if figures["where"]["medium"] in ENDS else ("send", "receive")
    theirs, own = _joint(figures)
    published: list[Column] = [(f"their {write}", _part("write")), (f"their {read}", _part("read"))]
    published += [(theirs, _seconds), ours[0], ("their k", _their_k)]
    here: list[Column] = [(f"our {write}", _own_part(0)), (f"our {read}", _own_part(1)), (own, _here)]
    head, interval, samples = ours[2:]
    return [
        ("codec", _name),
        ("of the data", _size),
        *published,
        *here,
        head,
        ("our k", _our_k),
        interval,
        samples,
        *end,
    ]


def _joint(figures: Mapping[str, Any]) -> tuple[str, str]:
    """What is compared, theirs and ours: sums, or what comes nearest to them where both ends work at once."""
    if figures["where"]["medium"] in ENDS:
        return "their sum", "our sum"
    return "their longer end", "our span"


def _their_k(row: Row) -> str:
    return "" if "k" not in row.said else f"{row.said['k']:.2f}"


def _our_k(row: Row) -> str:
    return "" if row.k is None else f"{row.k:.2f}"


def _name(row: Row) -> str:
    name = f"`{row.codec}`" + (f" {row.where}" if row.where else "")
    return name + (f" (for {row.stands_for})" if row.stands_for else "")


def _published(row: Row) -> str:
    return _span(row.published)


def _seconds(row: Row) -> str:
    return f"{_span(row.published)} s"


def _sum(row: Row) -> str:
    return f"{'~' if row.said.get('reached') else ''}{number(row.said['sum'])} s"


def _part(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row.said[name]:.3f} s"


def _own_part(place: int) -> Callable[[Row], str]:
    from tare.report import text

    return lambda row: "" if row.ours is None else text.duration(row.parts[place])


def _size(row: Row) -> str:
    return percent(float(row.said["sizes"][-1]))


def _multiple(row: Row) -> str:
    return "" if row.said.get("void") else _span(row.multiple)


def _here(row: Row) -> str:
    from tare.report import text

    return "" if row.ours is None else f"{_mark(row)}{text.duration(row.found.value)}"


def _mark(row: Row) -> str:
    return "~" if row.found.predicted else ""


def _ours(row: Row) -> str:
    return "" if row.ours is None else f"{_mark(row)}{number(row.ours[0])}"


def _interval(row: Row) -> str:
    """The ends, where they are of something: a sample or two have none, and the base is 1."""
    if row.ours is None or row.agrees == "base" or row.ours[1] == row.ours[2] or row.few:
        return ""
    return _span([row.ours[1], row.ours[2]])


def _samples(row: Row) -> str:
    """Those of the figure and of its base: the weaker of the two decides."""
    if row.ours is None:
        return ""
    if "sizes" in row.said:
        return f"{len(row.said['sizes'])} sizes"
    if row.found.predicted:
        return f"{row.found.samples} sizes"
    if row.base is None or row.agrees == "base":
        return f"{row.found.samples}"
    return f"{row.found.samples}, base {row.base.samples}"


def _agrees(row: Row) -> str:
    return AGREES[row.agrees]


def _kept(row: Row) -> str:
    if row.ours is not None:
        return row.found.kept
    return short(row.reason)


def short(reason: str) -> str:
    """The start of a reason, as a cell can hold it.

    >>> short("a | b").count("|"), len(short("why " * 99))
    (1, 90)
    >>> short("why " * 99 + "; its process was held to 6.11 GB")[-37:]
    'why...; its process was held to 6.11 GB'
    """
    from tare.measure.verdict.text import parted

    cause, held = parted(" ".join(reason.split()).replace("|", "\\|"))
    return (cause if len(cause) <= 90 else cause[:87] + "...") + held


def _span(values: list[float]) -> str:
    lo, hi = values
    return number(lo) if lo == hi else f"{number(lo)} to {number(hi)}"


def number(value: float) -> str:
    """Three digits.

    >>> number(0.04567), number(1234.5)
    ('0.0457', '1,234')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
