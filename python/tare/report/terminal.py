"""The report for a terminal or a pipe: readable without colour, and in ASCII where that is all there is.

Lines are built as pieces of (text, style); in a pipe the pieces are joined, on
a terminal rich paints them. So both say the same, word for word.
"""

from __future__ import annotations

from typing import Any

from tare.report import answer, details
from tare.report.digest import digest, mapping
from tare.report.layout import paint, plain
from tare.report.rendering import rendering

__all__ = ["encodable", "render", "show"]

_NARROWEST, _WIDEST = 60, 140
_PIPE = 100
# What stands for characters that an encoding has not.
_ASCII = str.maketrans(
    {
        "\xd7": "x", "\xb7": "-", "\xb1": "+", "\xb5": "u", "\u2013": "-", "\u2026": "~", "\u2588": "#", "\u258f": "|",
        "\u258e": "|", "\u258d": "|", "\u258c": "#", "\u258b": "#", "\u258a": "#", "\u2589": "#", "\u2068": None, "\u2069": None,
    }
)  # fmt: skip


@rendering
def render(
    result: Any,
    *,
    width: int = _PIPE,
    color: bool = False,
    profile: str | None = None,
    record_path: str | None = None,
    path: str = "",
    verbose: bool = False,
    every: bool = False,
) -> str:
    """Lay a Result out as text.

    Args:
        result: A Result, or a record as a dict.
        width: Columns available; never more than 140 are used, and 60 are the least.
        color: Whether to paint it for a terminal. The words are the same.
        profile: Profile that names the verdict and orders the rows; the record's headline by default.
        record_path: Where the record is saved, for the last line; left out by default.
        path: The user's own file, for the command that follows from the answer; its name by default.
        verbose: Whether to show every condition with intervals, ids and noise instead of the answer alone.
        every: Whether each codec has a line in the answer, also those that were not measured.

    Returns:
        The lines, each ended by a line feed.
    """
    found = digest(result, profile=profile)
    columns = max(_NARROWEST, min(width, _WIDEST))
    every = every or bool(mapping(found.record.get("settings")).get("all_codecs"))
    if verbose or not answer.answers(found):
        lines = details.lines_of(found, min(columns, _PIPE), record_path)
    else:
        lines = answer.lines_of(found, columns, every=every, path=path)
        lines += details.exchange_lines(found, columns)
    return paint(lines, columns) if color else "".join(plain(line) for line in lines)


def show(result: Any, *, stream: Any = None, width: int | None = None, **options: Any) -> None:
    """Write the report to a stream, as wide and as colourful as that stream allows.

    rich decides: a pipe, a file, ``NO_COLOR`` or a dumb terminal get the plain text.

    Args:
        result: A Result, or a record as a dict.
        stream: A text stream; standard output by default.
        width: Columns of what is no terminal; 100 by default.
        options: As in `render`, but for the width and the colour.
    """
    from rich.console import Console

    console = Console(file=stream)
    color = console.is_terminal and not console.no_color and console.color_system is not None
    wide = console.width if console.is_terminal else width or _PIPE
    shown = render(result, width=wide, color=color, **options)
    encoding = getattr(console.file, "encoding", None) or "utf-8"
    console.file.write(encodable(shown, encoding))
    console.file.flush()


def encodable(shown: str, encoding: str) -> str:
    r"""Returns text that an encoding can hold, with plain characters for those that it has not.

    >>> encodable("5.2\xd7 \u2588\u258f", "ascii"), encodable("5.2\xd7", "latin-1") == "5.2\xd7"
    ('5.2x #|', True)
    """
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        return shown.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return shown.translate(_ASCII)
    return shown
