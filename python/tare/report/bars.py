"""Bars of two figures beside names: the codecs that were measured, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.report import text
from tare.report.layout import Line, cut, middle, pad, wrap

__all__ = ["Bar", "bar", "lines_of"]

# Columns of a bar, and of a name, at least and at most.
_NARROW, _WIDE = 8, 24
_NAME = 30
_GAP = 3
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


def lines_of(
    heads: Sequence[str], rows: Sequence[Bar], width: int, labels: Sequence[Sequence[str]]
) -> list[Line]:
    """Returns the bars as lines, marks behind them where there is room, else below.

    Args:
        heads: What each column of figures is of, with its unit.
        rows: The codecs.
        width: Columns available.
        labels: The figures as text, for each row one a column.
    """
    if not rows:
        return []
    name = min(_NAME, max(text.width_of(row.name) for row in rows))
    figure = max(text.width_of(label) for row in labels for label in row)
    room = (width - 2 - name - len(heads) * (_GAP + figure + 1)) // len(heads)
    if room < _NARROW and name > 20:
        name, room = 20, room + (name - 20) // len(heads)
    long = max(4, min(_WIDE, room))
    most = [max((row.values[i] or 0.0 for row in rows), default=0.0) for i in range(len(heads))]
    column = long + 1 + figure
    lines: list[Line] = [
        [("  " + " " * name, ""), *((" " * _GAP + pad(cut(head, column), column), "dim") for head in heads)]
    ]
    left = width - 2 - name - len(heads) * (_GAP + column) - 2
    below: list[Line] = []
    for row, told in zip(rows, labels, strict=True):
        line: Line = [("  ", ""), (pad(middle(row.name, name), name), row.style)]
        for value, label, top in zip(row.values, told, most, strict=True):
            drawn = bar(value / top, long) if value and top else ""
            line += [
                (" " * _GAP, ""),
                (drawn, "cyan" if not row.mark else "dim"),
                (pad(f" {label}", column - text.width_of(drawn)), ""),
            ]
        if row.mark and left >= min(24, text.width_of(row.mark)):
            line.append((f"  {cut(row.mark, left)}", "red"))
        elif row.mark:
            below += wrap(f"{row.name} {row.mark}", width, "  ", "red")
        lines.append(line)
    return lines + below
