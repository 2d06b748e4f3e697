"""Bars of two figures beside names, or below them where there is no room: the codecs that were measured, best first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tare.report import text
from tare.report.layout import Line, cut, pad, wrap

__all__ = ["BROKEN", "Bar", "bar", "lines_of", "longest"]

# Columns of a bar, at least and at most. Where names leave less than that, each has a line of its own.
_NARROW, _WIDE = 8, 24
_GAP = 3
# How far bars below names are indented, beyond these.
_BELOW = 2
# A bar more than so many times as long as that of the best quarter is cut, so that those of the best can be told
# apart; the scale is then at least so many times the best quarter's.
_FAR, _ROOM = 10, 3
BROKEN = ">"
"""What stands at the end of a bar that is cut."""
_EIGHTHS = "\u258f\u258e\u258d\u258c\u258b\u258a\u2589"
_FULL = "\u2588"


@dataclass(frozen=True)
class Bar:
    """One codec's bars.

    Args:
        name: Its name.
        values: The figures, one a column; None where there is none.
        mark: What speaks against it, such as what it changes; empty if nothing does.
        style: Of the name.
    """

    name: str
    values: tuple[float | None, ...]
    mark: str = ""
    style: str = ""


def bar(share: float, width: int) -> str:
    r"""A bar as long as a share of the width, to an eighth of a column; never empty.

    >>> bar(0.5, 8) == "\u2588" * 4, bar(0.0001, 8) == "\u258f", bar(1.0, 8) == "\u2588" * 8
    (True, True, True)
    """
    eighths = max(1, round(share * width * 8))
    full, rest = divmod(eighths, 8)
    return _FULL * full + (_EIGHTHS[rest - 1] if rest else "")


def longest(values: Iterable[float | None], leader: float | None = None) -> float:
    """Returns the figure that a whole bar stands for: the largest, but for those that would leave no bar to the best.

    Args:
        values: The figures.
        leader: The figure of the codec that leads, which is never cut.

    >>> longest([1.0, 2.0, 3.0]), longest([1.0, 1.1, 40.0]), longest([1.0, 90.0]), longest([4.0, 4.4, 30.0, 31.0, 900.0])
    (3.0, 3.3000000000000003, 90.0, 31.0)
    """
    known = sorted(value for value in values if value)
    if not known:
        return 0.0
    near = known[min(max(1, len(known) // 4), len(known) - 1)]
    far = max(_FAR * near, leader or 0.0)
    if known[-1] <= far:
        return known[-1]
    return max(_ROOM * near, *(value for value in known if value <= far))


def lines_of(
    heads: Sequence[str], rows: Sequence[Bar], width: int, labels: Sequence[Sequence[str]]
) -> list[Line]:
    """Returns the bars as lines, marks behind them where there is room, else below.

    Args:
        heads: What each column of figures is of, with its unit.
        rows: The codecs.
        width: Columns available. Where these are too few for names and bars side by side, bars stand below names.
        labels: The figures as text, for each row one a column.
    """
    if not rows:
        return []
    figure = max(text.width_of(label) for row in labels for label in row)
    name = max(text.width_of(row.name) for row in rows)
    head = max(map(text.width_of, heads))
    stacked = name > width - 2 - len(heads) * (_GAP + max(_NARROW + 1 + figure, head))
    indent, gap = 2 + (_BELOW if stacked else name), _GAP - stacked
    long = max(4, min(_WIDE, (width - indent + gap * stacked) // len(heads) - gap - figure - 1))
    scales = [longest((row.values[i] for row in rows), rows[0].values[i]) for i in range(len(heads))]
    column = max(long + 1 + figure, head)
    lines: list[Line] = [_head(heads, indent, column, gap * (not stacked), gap)]
    left = width - indent - len(heads) * (gap + column) - 2
    below: list[Line] = []
    for row, told in zip(rows, labels, strict=True):
        line: Line = [(" " * indent if stacked else "  ", "")]
        if not stacked:
            line.append((pad(row.name, name), row.style))
        for i, (value, label, scale) in enumerate(zip(row.values, told, scales, strict=True)):
            drawn = _drawn(value, scale, long, cuts=any((one.values[i] or 0.0) > scale for one in rows))
            line += [
                (" " * (gap if i or not stacked else 0), ""),
                (drawn, "cyan" if not row.mark else "dim"),
                (pad(f" {label}", column - text.width_of(drawn)), ""),
            ]
        if stacked:
            lines += wrap(row.name, width, "  ", row.style)
        lines.append(line)
        if row.mark and not stacked and left >= text.width_of(row.mark):
            line.append((f"  {row.mark}", "red"))
        elif row.mark and stacked:
            lines += wrap(row.mark, width, " " * indent, "red")
        elif row.mark:
            below += wrap(f"{row.name} {row.mark}", width, "  ", "red")
    if any((row.values[i] or 0.0) > scale for i, scale in enumerate(scales) for row in rows):
        below += wrap(f"a bar that ends in {BROKEN} is longer than the scale", width, "  ", "dim")
    return lines + below


def _head(heads: Sequence[str], indent: int, column: int, before: int, between: int) -> Line:
    """What the columns are of, above them."""
    line: Line = [(" " * indent, "")]
    for place, head in enumerate(heads):
        line.append((" " * (between if place else before) + pad(cut(head, column), column), "dim"))
    return line


def _drawn(value: float | None, scale: float, long: int, *, cuts: bool) -> str:
    """A bar; of a scale that others exceed, the last two columns are for those."""
    if not value or not scale:
        return ""
    if value > scale:
        return _FULL * (long - 1) + BROKEN
    return bar(value / scale, long - 2 if cuts else long)
