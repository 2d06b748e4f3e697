"""Lines of a report on a terminal: pieces of text with a style, cut and wrapped by the columns they take."""

from __future__ import annotations

import re
import unicodedata

from tare.report import text

__all__ = ["Line", "Piece", "cut", "isolated", "micro", "middle", "pad", "paint", "plain", "wrap"]

_MICRO = re.compile(r"(?<=[\d,]) us\b")
Piece = tuple[str, str]
Line = list[Piece]


def plain(line: Line) -> str:
    """Returns a line as plain text."""
    return "".join(piece for piece, _ in line).rstrip() + "\n"


def paint(lines: list[Line], width: int) -> str:
    """Returns lines painted for a terminal."""
    import io

    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    # A wide console and no wrapping: the layout is ours, rich only knows the terminal's colours.
    console = Console(
        file=out,
        force_terminal=True,
        color_system="standard",
        width=width * 4,
        highlight=False,
        no_color=False,
        legacy_windows=False,
    )
    for line in lines:
        pieces = Text(no_wrap=True, overflow="ignore", end="")
        for piece, style in line:
            pieces.append(piece, style=style)
        pieces.rstrip()
        console.print(pieces, markup=False, emoji=False, soft_wrap=True)
    return out.getvalue()


def isolated(value: str) -> str:
    """Returns text whose right-to-left letters do not reorder the cells beside it."""
    if any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in value):
        return f"\u2068{value}\u2069"
    return value


def micro(value: str) -> str:
    r"""Returns text with the sign of microseconds.

    >>> micro("write 301 us, read 4 ms") == "write 301 \xb5s, read 4 ms"
    True
    """
    return _MICRO.sub(" \xb5s", value)


def wrap(value: str, width: int, indent: str, style: str = "") -> list[Line]:
    """Returns text as lines of at most so many columns."""
    lines: list[Line] = []
    current = ""
    value = micro(value)  # before a number and its unit come apart
    for given in value.split(" "):
        word, cut = given, width - len(indent)
        while text.width_of(word) > cut:
            if current:
                lines.append([(indent + current, style)])
                current = ""
            lines.append([(indent + word[:cut], style)])
            word = word[cut:]
        if current and text.width_of(current) + 1 + text.width_of(word) > width - len(indent):
            lines.append([(indent + current, style)])
            current = word
        else:
            current = f"{current} {word}" if current else word
    if current:
        lines.append([(indent + current, style)])
    return lines


def cut(value: str, width: int) -> str:
    """Returns text of at most so many columns, with dots at the end of what is longer."""
    if text.width_of(value) <= width:
        return value
    while text.width_of(value) > width - 1:
        value = value[:-1]
    return value.rstrip() + "\u2026"


def middle(value: str, width: int) -> str:
    """Returns text of at most so many columns, with dots in the middle of what is longer."""
    if text.width_of(value) <= width:
        return value
    # A compressor, its level and its library tell codecs apart more than the format does.
    start, plus, pressed = value.partition("+")
    pressed = pressed.replace("library=", "")
    tail = (width - 1) // 2
    if plus and tail <= len(pressed) <= width - 3:
        room = width - 1 - len(pressed)
        return cut(start, room) + plus + pressed
    return value[: width - 1 - tail] + "\u2026" + value[-tail:]


def pad(value: str, width: int, *, right: bool = False) -> str:
    """Returns text filled up to so many columns."""
    gap = " " * max(0, width - text.width_of(value))
    return gap + value if right else value + gap
