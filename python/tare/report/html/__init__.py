"""The report as one HTML file: no network, no fonts, no tracking; it opens from disk and prints.

The page is written whole on the server's side: verdict, tables and fidelity are
HTML and need no script. Scripts add the charts (Vega, its expressions run by an
interpreter so that the content security policy can forbid evaluation), the
switches and the sliders. The same record gives the same bytes.
"""

from __future__ import annotations

from typing import Any

from tare.report.rendering import rendering

__all__ = ["fragment", "render"]

# What a notebook's own style does not give: `report.css` is for a page, and would reach out of a cell.
_CELL = (
    ".tare-result .unseen{display:none}.tare-result td,.tare-result th{text-align:right;padding:.1em .5em}"
    ".tare-result td:not(.t){white-space:nowrap}.tare-result .t,.tare-result p{text-align:left}.tare-result .soft,.tare-result small{opacity:.7;font-weight:400}"
    ".tare-result .cards{display:flex;flex-wrap:wrap;gap:1em 2.5em}.tare-result .cards h2{font-size:1em;margin:0}.tare-result dl{display:flex;gap:1em;margin:0}"
    ".tare-result dd{margin:0;font-weight:600}.tare-result .c,.tare-result .id{display:block}.tare-result small.out{display:block}"
    ".tare-result .data span{margin-left:1.2em}.tare-result .bars{text-align:left;min-width:5.5em}.tare-result .b{display:block;height:.45em}"
    ".tare-result .b i{display:block;height:100%;background:#4a90d9}.tare-result .wide .bars{min-width:4.5em}.tare-result .b .cut{-webkit-mask:linear-gradient(90deg,#000 70%,transparent);mask:linear-gradient(90deg,#000 70%,transparent)}"
    ".tare-result .guessed .b i{opacity:.4}"
    ".tare-result h3{margin:.6em 0 .2em;font-size:1em}.tare-result .scroll{overflow-x:auto}"
)


@rendering
def render(result: Any, *, profile: str | None = None, path: str = "") -> str:
    """Lay a Result out as one HTML document.

    Args:
        result: A Result, or a record as a dict.
        profile: Use shown first; the record's own by default.
        path: The user's own file, for the commands; the name of the data by default.
    """
    from tare.report.html.page import page

    return page(result, profile=profile, path=path)


@rendering
def fragment(result: Any, *, profile: str | None = None) -> str:
    """The verdict and its table as a part of a page, for a notebook's cell: no script, no colours but of the bars.

    Args:
        result: A Result, or a record as a dict.
        profile: Profile of the verdict; the record's headline by default.
    """
    from tare.report import answer, commands, words
    from tare.report.charts import featured
    from tare.report.digest import digest
    from tare.report.html.hero import cards, data_line, heading
    from tare.report.html.markup import esc, inline_code
    from tare.report.html.ranking import bars

    found = digest(result, profile=profile)
    slots = {name: place for place, name in enumerate(featured(found))}
    lines = [f"<b>{esc(heading(found), 400)}</b>"]
    if not found.verdict.get("codec"):
        lines.append(inline_code(words.headline(found)["sentence"]))
    lines += [
        esc(answer.signed(line), 600)
        for line in (str(found.verdict.get("doubt") or "").replace("`", ""), words.partial_line(found))
        if line
    ]
    shown = ""
    if found.verdict.get("codec"):
        done = f"<p>Do it: <code>{esc(commands.call(found), 400)}</code></p>"
        done += f"<p>Read it: <code>{esc(commands.back_call(found), 400)}</code></p>"
        shown = f"{cards(found, slots)}{done}{bars(found, slots)}"
    return (
        f'<div class="tare-result"><style>{_CELL}</style><p class="data">{data_line(found)}</p>'
        f"{''.join(f'<p>{line}</p>' for line in lines if line)}{shown}</div>"
    )
