"""All figures of a record for a terminal: every condition, with intervals, ids, noise and footnotes."""

from __future__ import annotations

from typing import Any

from tare.report import exchanging, text, words
from tare.report.digest import Digest, Grid, Row, Times
from tare.report.layout import Line, cut, isolated, micro, middle, pad, wrap
from tare.report.precision import seldom

__all__ = ["exchange_lines", "lines_of"]

_MAX_GRIDS = 8
_CROWD = 3
# Columns that a codec's name should have.
_NAME = 28


def lines_of(found: Digest, width: int, record_path: str | None = None) -> list[Line]:
    """Returns every condition of a record as a table, line by line.

    Args:
        found: The record.
        width: Columns available.
        record_path: Where the record is saved, for the last line.
    """
    lines = _head(found, width)
    shown = found.grids[:_MAX_GRIDS]
    told: set[tuple[str, str, str]] = set()
    for grid in shown:
        if len(found.grids) > 1:
            lines += [[], [(grid.title, "bold"), (f"  {words.share_line(grid)}", "dim")]]
        lines += _table(found, grid, width, told)
    if len(found.grids) > len(shown):
        more = len(found.grids) - len(shown)
        lines += [[], [(f"... and {more} more conditions: tare report --html shows all", "dim")]]
    lines += exchange_lines(found, width) + _foot(found, width, record_path)
    return [[(micro(piece), style) for piece, style in line] for line in lines]


def _head(found: Digest, width: int) -> list[Line]:
    lines = wrap(isolated(words.dataset_line(found)), width, "")
    if lines:
        first = lines[0][0][0]
        name, gap, rest = first.partition("  ")
        lines[0] = [(name, "bold"), (gap + rest, "")]
    for said in (
        words.partial_line(found),
        words.part_line(found),
        "interrupted: what was finished is shown" if found.record.get("interrupted") else "",
        _imported(found),
    ):
        if said:
            lines += wrap(said, width, "", "yellow")
    return lines + _verdict(found, width)


def _imported(found: Digest) -> str:
    return (
        f"figures of {text.visible(found.imported, 60)}, imported, not measured here"
        if found.imported
        else ""
    )


def _verdict(found: Digest, width: int) -> list[Line]:
    said = words.headline(found)
    lines: list[Line] = []
    if said["empty"]:
        return [[("No verdict: ", "bold"), ("nothing was measured that could be recommended", "")]]
    if said["route"]:
        line: Line = [("Use  ", "bold"), (said["route"], "bold green"), (f"  for {said['profile']}", "")]
        tail = f"   {said['confidence']}" if said["confidence"] else ""
        tail += "" if said["p_best"] == "-" else f"   {said['p_best']} sure"
        tail += f"   next: {said['runner_up']}" if said["runner_up"] else ""
        if sum(text.width_of(piece) for piece, _ in line) + len(tail) <= width:
            lines.append([*line, (tail, "")])
        else:
            lines.append(line)
            lines += wrap(tail.strip(), width, "     ")
        lines += wrap(_told(said), width, "     ")
        lines += wrap(words.provisional_line(found, said), width, "     ")
    else:
        sentence = wrap(said["sentence"] or f"No codec fits {said['profile']}", width, "")
        lines += [[(sentence[0][0][0], "bold")], *sentence[1:]]
        # Of no route the reasons are what to give up or to do instead.
        for reason in said["reasons"]:
            lines += wrap(words.stopped(reason.replace("`", "")), width, "     ")
    if said["route"] and (idle := words.idle_line(said)):
        lines += wrap(isolated(idle), width, "     ", "yellow")
    lines += wrap(said["transfer"], width, "     ") if said["transfer"] else []
    link = words.link_line(found)
    lines += wrap(link, width, "     ") if link else []
    changes = words.flips(found)
    lines += wrap(" \xb7 ".join(changes), width, "     ", "dim") if changes else []
    return lines


def _told(said: dict[str, Any]) -> str:
    """The verdict's sentence without the route, which stands above it."""
    lead, colon, rest = str(said["sentence"]).partition(f" (`{said['route']}`): ")
    return f"{lead.removeprefix('Use ')}: {rest}" if colon else lead.replace("`", "")


class _Scale:
    """The unit of a grid's time columns, and its cells."""

    def __init__(self, grid: Grid) -> None:
        times = [side.t_ns for row in grid.rows if row.timed for side in (row.write, row.read) if side.t_ns]
        name, self.ns = text.unit_for(times)
        self.name = name.replace("us", "\xb5s")

    def cell(self, times: Times, *, few: bool = False) -> str:
        if times.t_ns is None:
            return "-"
        if not 0.005 <= times.t_ns / self.ns < 20_000:
            return text.duration(times.t_ns)
        lo, hi = (None, None) if few else (times.lo_ns, times.hi_ns)
        value = text.spread(times.t_ns / self.ns, lo and lo / self.ns, hi and hi / self.ns)
        return value + ("*" if times.contended else "")


def _columns(
    found: Digest, grid: Grid, scale: _Scale, heads: list[str], *, ends: bool
) -> tuple[list[tuple[Row, list[str]]], list[int], list[int]]:
    """The cells of each row with times, the columns that some row fills, and their widths."""
    joint = bool(found.imported) or grid.ops[0] == "send"
    measured = [
        (row, _cells(row, grid, scale, found, joint=joint, ends=ends)) for row in grid.rows if row.timed
    ]
    # An imported or interrupted record has fewer.
    keep = [i for i in range(len(heads)) if any(cells[i] not in ("", "-") for _, cells in measured)]
    widths = [
        max([text.width_of(heads[i])] + [text.width_of(cells[i]) for _, cells in measured]) for i in keep
    ]
    return measured, keep, widths


def _table(found: Digest, grid: Grid, width: int, told: set[tuple[str, str, str]]) -> list[Line]:
    if not grid.rows:
        return []
    scale = _Scale(grid)
    verbs = grid.ops
    heads = [
        "size",
        "%",
        f"{verbs[0]} {scale.name}",
        f"{verbs[1]} {scale.name}",
        f"{_joint(grid)} {scale.name}",
        "published",
        words.RATIO,
        "full size",
        words.ALIKE,
        "peak",
        "copies",
        words.GROWTH,
        "kept",
    ]
    measured, keep, widths = _columns(found, grid, scale, heads, ends=True)
    if sum(widths) + 2 * len(widths) + _NAME > width:
        # Ranges of predictions go before any column does; the page and Markdown have them.
        measured, keep, widths = _columns(found, grid, scale, heads, ends=False)
    mixed = len({row.delivery for row in grid.rows}) > 1
    names = [
        isolated(text.visible(row.codec, 100)) + (f" {row.delivery}" if mixed and row.delivery else "")
        for row in grid.rows
    ]
    room = width - sum(widths) - 2 * len(widths)
    longest = max(text.width_of(name) for name in names)
    for least in (
        "copies",
        "%",
        "peak",
        words.ALIKE,
        words.GROWTH,
        "published",
        "full size",
        words.RATIO,
        "size",
    ):
        if room >= min(longest, _NAME if width >= 90 else 16) or len(keep) <= 3:
            break
        if least in [heads[i] for i in keep]:
            drop = [heads[i] for i in keep].index(least)
            room += widths.pop(drop) + 2
            keep.pop(drop)
    name_width = max(12, min(room, longest))
    head = pad("codec", name_width) + "".join(
        f"  {pad(heads[i], w, right=heads[i] != 'kept')}" for i, w in zip(keep, widths, strict=True)
    )
    lines: list[Line] = [[(head, "dim")]]
    cells_of = {id(row): cells for row, cells in measured}
    again = 0
    crowds = _crowds(grid, told)
    for row, name in zip(grid.rows, names, strict=True):
        same = (row.codec, row.status, row.reason)
        if (row.status, row.reason) in crowds and same not in told:
            told.add(same)
            continue
        if id(row) not in cells_of and row.status != "screened" and same in told:
            again += 1
            continue
        told.add(same)
        if id(row) in cells_of:
            lines.append(
                _figures(
                    found,
                    row,
                    pad(middle(name, name_width), name_width),
                    [(heads[i], cells_of[id(row)][i], w) for i, w in zip(keep, widths, strict=True)],
                )
            )
        else:
            lines.append(_reason(row, pad(middle(name, name_width), name_width), width, name_width))
    for (status, _), crowd in crowds.items():
        said = (
            f"{len(crowd)} {words.STATUS.get(status, text.visible(status, 16))}, {words.row_note(crowd[0])}: "
        )
        shown = ", ".join(isolated(text.visible(row.codec, 100)) for row in crowd)
        lines += wrap(said + shown, width, "", "dim")
    return lines + ([[(f"and {again} without a figure, as above", "dim")]] if again else [])


def _crowds(grid: Grid, told: set[tuple[str, str, str]]) -> dict[tuple[str, str], list[Row]]:
    """Rows that were not reached for one reason, where there are so many that one line says it better."""
    shared: dict[tuple[str, str], list[Row]] = {}
    for row in grid.rows:
        if row.status == "pending" and row.bytes is None and (row.codec, row.status, row.reason) not in told:
            shared.setdefault((row.status, row.reason), []).append(row)
    return {key: rows for key, rows in shared.items() if len(rows) > _CROWD}


def _joint(grid: Grid) -> str:
    return "span" if grid.ops[0] == "send" else "sum"


def _cells(row: Row, grid: Grid, scale: _Scale, found: Digest, *, joint: bool, ends: bool) -> list[str]:
    write, read = (
        scale.cell(times, few=bool(seldom(row, op)))
        for times, op in zip((row.write, row.read), grid.ops, strict=True)
    )
    peak = text.memory(row.peak_bytes) if row.peak_bytes is not None else "-"
    tilde = "~" if row.provisional else ""
    return [
        text.size(row.bytes),
        "-" if row.size_share is None else f"{row.size_share * 100:.0f}",
        write,
        read,
        scale.cell(row.total) if joint else "",
        scale.cell(row.published),
        "-" if row.total.ratio is None else tilde + text.ratio(row.total.ratio),
        "-" if found.partial is None else words.predicted(row, ends=ends) or "-",
        row.total.letters,
        peak,
        "-" if row.copies is None else f"{row.copies:.1f}",
        "-" if row.k is None else f"{row.k:.1f}" + ("!" if row.superlinear else ""),
        row.kept or "-",
    ]


def _figures(found: Digest, row: Row, name: str, cells: list[tuple[str, str, int]]) -> Line:
    winner = row.key == found.verdict.get("key")
    line: Line = [(name, "bold green" if winner else "red" if row.status == "lossy" else "")]
    for head, cell, width in cells:
        style = (
            "red" if head == "kept" and row.status == "lossy" else "dim" if head in ("%", words.ALIKE) else ""
        )
        line.append((f"  {pad(cell, width, right=head != 'kept')}", style))
    if row.status == "lossy" and "silent" not in row.kept:
        line.append(("  lossy", "red"))
    return line


def _reason(row: Row, name: str, width: int, name_width: int) -> Line:
    status = words.STATUS.get(row.status, text.visible(row.status, 16))
    size = pad(words.row_size(row), 8, right=True)
    if row.status == "screened":
        said = f"{words.predicted(row)} predicted" if row.predicted_ns else "not weighed"
        said += f"; {words.row_note(row)}" if row.reason else ""
    else:
        said = words.row_note(row)
    room = max(8, width - name_width - 2 - 7 - 2 - len(status) - 2)
    said = isolated(cut(said, room))
    style = "dim" if row.status in ("screened", "n/a", "pending") else "yellow"
    return [(name, style), (f" {size}  ", "dim"), (pad(said, room), style), (f"  {status}", style)]


def exchange_lines(found: Digest, width: int) -> list[Line]:
    """What each codec of a format reads of each other's bytes."""
    lines: list[Line] = []
    for format, block in exchanging.blocks(found.record).items():
        lines += [[], [(f"exchange of {text.visible(format, 40)}", "bold")]]
        for part in exchanging.parts(block):
            lines += _exchange_part(block, part, width)
    return lines


def _exchange_part(block: dict[str, Any], part: exchanging.Part, width: int) -> list[Line]:
    """The matrix of own data or of the probes, and the first differences in words."""
    table = exchanging.rows(block, part)
    name_width = min(30, max(len(row[0]) for row in table))
    wide = max(len(cell) for row in table for cell in row[1:]) + 2
    fits = max(1, (width - name_width - 2) // wide)
    lines: list[Line] = wrap(part.legend, width, "  ", "dim")
    for first in range(1, len(table[0]), fits):
        lines += [
            [
                (pad(cut(row[0], name_width), name_width), ""),
                *((pad(cell, wide, right=True), "") for cell in row[first : first + fits]),
            ]
            for row in table
        ]
    for said in exchanging.said(block, part, 12):
        lines += wrap(text.visible(said, 300), width, "  ")
    return lines


def _foot(found: Digest, width: int, record_path: str | None) -> list[Line]:
    lines: list[Line] = []
    seen: set[str] = set()
    for row in (row for grid in found.grids[:_MAX_GRIDS] for row in grid.rows):
        lost = words.losses(row)
        if row.status == "lossy" and lost and row.codec not in seen and len(seen) < 4:
            seen.add(row.codec)
            lines += wrap(
                f"{text.visible(row.codec, 60)} changes silently: {isolated(lost)}", width, "", "red"
            )
    for line in words.left_out(found):
        lines += wrap(f"left out: {isolated(line)}", width, "")
    legend = _legend(found)
    lines += wrap(legend, width, "", "dim") if legend else []
    lines += wrap(words.noise_line(found), width, "", "dim")
    for said in (
        words.speed_line(found),
        words.empty_call_line(found),
        words.freeing_line(found),
        words.collector_line(found),
    ):
        lines += wrap(said, width, "", "dim")
    if record_path:
        lines += [
            [
                (f"record  {text.visible(record_path, 400)}", "dim"),
                ("     (tare report ... --html FILE)", "dim"),
            ]
        ]
    return lines


def _legend(found: Digest) -> str:
    rows = [row for grid in found.grids[:_MAX_GRIDS] for row in grid.rows]
    parts = []
    if found.base and any(row.total.ratio is not None for row in rows):
        parts.append(f"{words.RATIO}: of one write and one read by {text.visible(found.base, 60)}")
    if any(row.timed and row.size_share is not None for row in rows):
        parts.append("%: size as a share of the data in memory")
    if any(row.timed and row.provisional for row in rows):
        parts.append("~ from fewer than three processes: no interval")
    parts += filter(None, [words.size_mark(rows), words.full_mark(found)])
    if any(row.timed and (row.write.contended or row.read.contended) for row in rows):
        parts.append("* other processes had the CPU")
    if any(row.timed and row.superlinear for row in rows):
        parts.append("! grows faster than the data")
    parts += words.flag_lines(rows)
    return " \xb7 ".join(parts)
