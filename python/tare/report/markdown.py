"""The report as Markdown: for an issue, a wiki or a README."""

from __future__ import annotations

import re
from typing import Any

from tare.codec.titles import titles_of
from tare.report import answer, exchanging, text, words
from tare.report.commands import call, command, for_others, is_sent
from tare.report.digest import Digest, Grid, Row, Times, digest
from tare.report.measured import estimated, kept_by
from tare.report.precision import seldom
from tare.report.reading_in_r import r_call
from tare.report.rendering import rendering

__all__ = ["render"]


@rendering
def render(result: Any, *, profile: str | None = None) -> str:
    """Lay a Result out as Markdown.

    Args:
        result: A Result, or a record as a dict.
        profile: Profile that names the verdict and orders the rows; the record's headline by default.
    """
    found = digest(result, profile=profile)
    answered = answer.answers(found)
    parts = [f"# {_md(found.dataset.get('name') or 'data')}"]
    if answered:
        parts.append(_md(" \xb7 ".join(answer.parts_of(found)), 300))
    else:
        parts.append(_md(words.dataset_line(found), 300))
    told = (words.part_line(found) if answered else words.partial_line(found), _origin(found))
    parts += _answer(found) if answered and found.verdict.get("codec") else _verdict(found)
    parts[2:2] = [f"**{_md(said, 300)}**" for said in told if said]
    for grid in found.grids:
        if len(found.grids) > 1:
            parts.append(f"## {_md(grid.title)}")
        parts.append(_table(found, grid))
    parts.append(_lost(found))
    parts.append("\n".join(f"- left out: {_md(line, 500)}" for line in words.left_out(found)))
    parts += _exchange(found)
    parts.append(
        f"{_md(words.noise_line(found), 300)}" + (f". Base: {_code(found.base)}." if found.base else ".")
    )
    collector = words.collector_line(found) if answered else ""
    parts.append(f"{_md(collector)}." if collector else "")
    mark = words.size_mark(row for grid in found.grids for row in grid.rows)
    parts.append(f"{_md(mark)}." if mark else "")
    return "\n\n".join(part for part in parts if part) + "\n"


def _md(value: Any, limit: int = 120) -> str:
    """Text that Markdown, and HTML inside it, take as text."""
    shown = text.visible(value, limit)
    for char in "\\`*_{}[]<>|#":
        shown = shown.replace(char, "\\" + char)
    return shown


def _code(value: Any, limit: int = 120) -> str:
    shown = text.visible(value, limit).replace("|", "\\|")
    # The fence is longer than any run of back ticks inside, so that nothing ends it early.
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence}{shown}{fence}" if fence == "`" else f"{fence} {shown} {fence}"


def _origin(found: Digest) -> str:
    said = f"figures of {found.imported}, imported, not measured here" if found.imported else ""
    return said or ("interrupted: what was finished is shown" if found.record.get("interrupted") else "")


def _answer(found: Digest) -> list[str]:
    """What the terminal answers, in the same words: what to use, how sure that is, what else there is, what to do."""
    routes = answer.routes_of(found)
    names = titles_of(str(one["codec"]) for _, one in routes)
    lines: list[str] = []
    for label, one in routes:
        codec = str(one["codec"])
        figures = ", ".join(filter(None, (*answer.cells(found, one), kept_by(found, codec))))
        lines.append(
            f"{label}{':' * bool(lines)} **{_md(names[codec])}** ({_code(codec)}): {_md(answer.signed(figures), 300)}."
        )
    gained = _md(answer.signed(answer.about(found)), 900)
    if note := estimated(found, (str(one["codec"]) for _, one in routes)):
        gained = f"{gained} ({_md(note)}.)"
    others = [f"- {line}" for line in lines[1:]]
    others += [f"- {_md(answer.signed(change), 200)}" for change in words.flips(found)]
    doubt = text.one_line(found.verdict.get("doubt") or "", 900).replace("`", "")
    keeps = text.one_line(found.verdict.get("keeps_file") or "", 200)
    if keeps:
        lines[0], doubt = f"{_md(keeps[:1].upper() + keeps[1:], 200)}. {lines[0]}", ""
    parts = [" ".join(filter(None, [lines[0], gained])), _md(answer.signed(doubt), 900), "\n".join(others)]
    done = ("" if is_sent(found) else command(found)) or call(found)
    other, why = for_others(found)
    parts.append(f"Do it: {_done(done)}")
    if in_r := r_call(found):
        parts.append(f"R: {_code(in_r, 500)}")
    if other:
        parts.append(f"Or: {_done(other)}, {_md(answer.signed(why), 300)}")
    said = words.headline(found)
    more = (
        words.provisional_line(found, said),
        words.idle_line(said),
        said["transfer"],
        words.link_line(found),
    )
    return [*parts, " ".join(_md(line, 600) for line in more if line)]


def _done(line: str) -> str:
    """A command or call as code; words, such as to keep the file, as they are."""
    return _code(line, 500) if line.startswith("tare") else _md(line)


def _verdict(found: Digest) -> list[str]:
    said = words.headline(found)
    if said["empty"]:
        return ["No verdict: nothing was measured that could be recommended."]
    lines = [_sentence(said["sentence"] or f"No codec fits {said['profile']}.")]
    if said["route"]:
        lines.insert(0, f"For {_md(said['profile'])}:")
        lines += [_md(words.provisional_line(found, said), 600), _md(words.idle_line(said), 600)]
    else:
        # Of no route the reasons are what to give up or to do instead.
        lines += map(_sentence, said["reasons"])
    lines += [_md(said["transfer"], 400), _md(words.link_line(found), 300)]
    changes = [f"- {_md(change, 200)}" for change in words.flips(found)]
    return [" ".join(filter(None, lines)), "\n".join(changes)]


def _sentence(value: str) -> str:
    """A sentence whose back-ticked parts stay code."""
    parts = value.split("`")
    return "".join(_code(part) if place % 2 else _md(part, 400) for place, part in enumerate(parts))


def _table(found: Digest, grid: Grid) -> str:
    joint = bool(found.imported) or grid.ops[0] == "send"
    heads = [
        "codec",
        "size",
        "%",
        *grid.ops,
        words.RATIO,
        words.ALIKE,
        "peak",
        "copies",
        words.GROWTH,
        "kept",
    ]
    if joint:
        heads.insert(5, "span" if grid.ops[0] == "send" else "sum")
    if found.imported:
        heads.insert(6, "published")
    if found.partial is not None:
        heads.insert(-5, "full size")
    lines = [_line(heads), _line(["---"] + ["---:"] * (len(heads) - 2) + ["---"])]
    lines += [
        _line(_figures(found, row, grid, joint) if row.timed else _reason(row, len(heads)))
        for row in grid.rows
    ]
    return "\n".join(lines)


def _exchange(found: Digest) -> list[str]:
    """The matrices of writers and readers, and what changes in words."""
    parts = []
    for format, block in exchanging.blocks(found.record).items():
        parts.append(f"## Exchange of {_md(format)}")
        for part in exchanging.parts(block):
            head, *body = exchanging.rows(block, part)
            lines = [_line([_md(cell) for cell in head]), _line(["---"] * len(head))]
            lines += [_line([_code(row[0]), *map(_md, row[1:])]) for row in body]
            parts += [f"{part.legend[:1].upper()}{part.legend[1:]}.", "\n".join(lines)]
            said = exchanging.said(block, part)
            parts += ["\n".join(f"- {_md(line, 300)}" for line in said)] if said else []
    return parts


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _time(times: Times, *, few: bool = False) -> str:
    lo_ns, hi_ns = (None, None) if few else (times.lo_ns, times.hi_ns)
    return answer.signed(text.interval(times.t_ns, lo_ns, hi_ns))


def _figures(found: Digest, row: Row, grid: Grid, joint: bool) -> list[str]:
    lossy = "**lossy** " if row.status == "lossy" else ""
    cells = [
        _code(row.codec) + (f" {_md(row.delivery)}" if row.delivery else ""),
        text.size(row.bytes),
        "" if row.size_share is None else f"{row.size_share * 100:.0f}",
        _time(row.write, few=bool(seldom(row, grid.ops[0]))),
        _time(row.read, few=bool(seldom(row, grid.ops[1]))),
        text.ratio(row.total.ratio) + (" (provisional)" if row.provisional else ""),
        row.total.letters,
        "" if row.peak_bytes is None else text.memory(row.peak_bytes),
        "" if row.copies is None else f"{row.copies:.1f}",
        "" if row.k is None else f"{row.k:.1f}" + (" steep" if row.superlinear else ""),
        lossy + _md(row.kept),
    ]
    if joint:
        cells.insert(5, _time(row.total))
    if found.imported:
        cells.insert(6, text.duration(row.published.t_ns))
    if found.partial is not None:
        cells.insert(-5, words.predicted(row))
    return cells


def _reason(row: Row, columns: int) -> list[str]:
    said = words.row_note(row)
    if row.status == "screened" and row.predicted_ns:
        said = f"{words.predicted(row)} predicted; {said}"
    return (
        [_code(row.codec), words.row_size(row), ""]
        + [""] * (columns - 4)
        + [f"{_status(row.status)}: {_md(said, 200)}"]
    )


def _status(status: str) -> str:
    return words.STATUS.get(status) or _md(status)


def _lost(found: Digest) -> str:
    lines, seen = [], set()
    for row in (row for grid in found.grids for row in grid.rows):
        lost = words.losses(row, 6)
        if lost and row.codec not in seen:
            seen.add(row.codec)
            lines.append(f"- {_code(row.codec)} changes silently: {_md(lost, 300)}")
    return "\n".join(lines)
