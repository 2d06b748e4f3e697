"""Small pieces of HTML: escaping, data blocks, tables, the name of a codec."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from tare.codec.titles import title_of
from tare.report import answer, text

__all__ = [
    "Cell",
    "breakable",
    "codec",
    "details",
    "esc",
    "inline_code",
    "json_block",
    "key",
    "named",
    "said",
    "scroll_table",
]

# HTML of a cell and its class: "t" is text, numbers are the rule; "9@t" is text over nine columns.
Cell = tuple[str, str]


def esc(value: object, limit: int = 200) -> str:
    """Text from anywhere as HTML text: controls shown, direction marks shown, markup escaped.

    >>> esc("</script><b>")
    '&lt;/script&gt;&lt;b&gt;'
    """
    return html.escape(text.visible(value, limit), quote=True)


def said(value: object, limit: int = 200) -> str:
    r"""Words of a report as HTML text, with the signs of multiplication and of microseconds.

    >>> said("3 launches x 2 rounds, 5 us") == "3 launches \xd7 2 rounds, 5 \xb5s"
    True
    """
    return esc(re.sub(r" x (?=\d)", " \xd7 ", answer.signed(str(value))), limit)


def inline_code(sentence: str) -> str:
    """A sentence in which back-ticked parts become code.

    >>> inline_code("Use `a<b`: fast")
    'Use <code>a&lt;b</code>: fast'
    """
    parts = sentence.split("`")
    out = []
    for place, part in enumerate(parts):
        coded = place % 2 == 1 and place < len(parts) - 1
        out.append(f"<code>{breakable(part, 600)}</code>" if coded else esc(part, 600))
    return "".join(out)


def json_block(name: str, value: Any) -> str:
    r"""Data for the scripts, as a block that no parser takes for markup.

    >>> json_block("d", ["</script>"])
    '<script type="application/json" id="d">["\\u003c/script\\u003e"]</script>'
    """
    body = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        body = body.replace(char, code)
    return f'<script type="application/json" id="{name}">{body}</script>'


def codec(name: str, slot: int) -> str:
    """A codec's id; its class draws the coloured shape that stands for it in every chart.

    >>> codec("json:orjson", 0)
    '<span class="c k0">json:<wbr>orjson</span>'
    """
    return f'<span class="c k{slot}">{breakable(name, 100)}</span>'


def named(name: str, slot: int, title: str = "") -> str:
    """A codec's human name with its coloured shape, and its id below; ``title`` where it is known already.

    >>> named("json:orjson", 0)
    '<span class="c k0 title">JSON (orjson)</span><small class="id">json:<wbr>orjson</small>'
    >>> named("pickle", 1)
    '<span class="c k1 title">pickle</span>'
    """
    title = title or title_of(name)
    below = f'<small class="id">{breakable(name, 100)}</small>' if title != name else ""
    return f'<span class="c k{slot} title">{esc(title, 100)}</span>{below}'


def key(name: str, slot: int, title: str = "") -> str:
    """A codec's human name with its coloured shape, as a legend has it; ``title`` where it is known already.

    >>> key("json:orjson", 0)
    '<span class="c k0 title">JSON (orjson)</span>'
    """
    return f'<span class="c k{slot} title">{esc(title or title_of(name), 100)}</span>'


def breakable(name: object, limit: int = 200) -> str:
    """The id of a codec or route, which may be broken between its parts and nowhere else.

    >>> breakable("arrow:pyarrow,compression=zstd@file")
    'arrow:<wbr>pyarrow,<wbr>compression=zstd<wbr>@file'
    >>> breakable("json:orjson+zstd:3")
    'json:<wbr>orjson<wbr>+zstd:3'
    """
    # Escaped text holds none of these four but those of the id itself.
    return re.sub(r"(?<=[:,])(?=\D)|(?<=.)(?=[+@])", "<wbr>", esc(name, limit))


def scroll_table(
    caption: str,
    heads: Sequence[Cell],
    rows: Iterable[Sequence[Cell]],
    *,
    name: str = "",
    css: str = "",
    row_attributes: Sequence[str] = (),
    shown_caption: bool = False,
) -> str:
    """A table that scrolls inside its own box when the screen is narrow; the first cell heads its row."""
    # End tags of cells and rows may be left out in HTML; there are thousands.
    body = []
    for place, row in enumerate(rows):
        extra = f" {row_attributes[place]}" if place < len(row_attributes) and row_attributes[place] else ""
        body.append(
            f"<tr{extra}>" + "".join(_cell(cell, first=column == 0) for column, cell in enumerate(row))
        )
    head = "".join(f'<th scope="col"{_class(style)}>{content}' for content, style in heads)
    label = esc(caption)
    hidden = "" if shown_caption else ' class="unseen"'
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0"><table{f" id={name}" if name else ""}{_class(css)}>'
        f"<caption{hidden}>{label}</caption><thead><tr>{head}</thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _class(style: str) -> str:
    return "" if not style else f" class={style}" if style.isalnum() else f' class="{style}"'


def _cell(cell: Cell, *, first: bool) -> str:
    content, style = cell
    span, _, rest = style.rpartition("@")
    wide = f" colspan={span}" if span else ""
    return f"<th scope=row{_class(rest)}>{content}" if first else f"<td{wide}{_class(rest)}>{content}"


def details(summary: str, content: str, *, css: str = "") -> str:
    """A part that opens on demand; it needs no script."""
    return f"<details{f' class={chr(34)}{css}{chr(34)}' if css else ''}><summary>{esc(summary)}</summary>{content}</details>"
