"""The comparison tables, and the data table behind each chart."""

from __future__ import annotations

from typing import Any

from tare.measure.verdict.kept import came_back, names_types
from tare.measure.worker.peak_memory import copies
from tare.report import text, words
from tare.report.charts import bases, basis_of, link_of, orders
from tare.report.digest import Digest, Grid, Row, Times, mapping, number
from tare.report.html.markup import Cell, esc, key, named, said, scroll_table
from tare.report.precision import is_least, seldom

__all__ = ["comparison", "data_table"]


def comparison(found: Digest, place: int, slots: dict[str, int]) -> str:
    """Returns the figures of every measured codec of a grid, with intervals."""
    grid = found.grids[place]
    heads: list[Cell] = [
        ("codec", "t"),
        ("kept", "t"),
        ("size", ""),
        ("of memory", ""),
        (esc(grid.ops[0]), ""),
        (esc(grid.ops[1]), ""),
        ("end to end" if grid.ops[0] == "send" else "both", ""),
        ("published total", ""),
        ("peak memory", ""),
        ("copies", ""),
    ]
    timed = [row for row in grid.rows if row.timed]
    full = [_measured(found, grid, row, slots) for row in timed]
    # Columns that no row fills are left out: imported and interrupted records have fewer.
    keep = [i for i in range(len(heads)) if i < 3 or any(cells[i][0] not in ("", "-") for cells in full)]
    places = orders(found, grid)

    def marks(row: Row) -> str:
        order = ",".join(str(place.get(row.codec, 999)) for place in places.values())
        lossy = " class=lossy" if row.status == "lossy" else ""
        return f'data-o={order} data-codec="{esc(row.codec, 400)}"{lossy}'

    table = scroll_table(
        f"Figures of all codecs, {grid.title}",
        [heads[i] for i in keep],
        [[cells[i] for i in keep] for cells in full],
        row_attributes=[marks(row) for row in timed],
    )
    return (
        f'<div class="grid" data-grid="{place}"><h3>{esc(grid.title)} <small>{len(timed)} measured</small></h3>'
        f"{table if timed else ''}{_notes(grid)}</div>"
    )


def _measured(found: Digest, grid: Grid, row: Row, slots: dict[str, int]) -> list[Cell]:
    name = named(row.codec, slots.get(row.codec, 99), found.titles[row.codec])
    write, read = (seldom(row, op) for op in grid.ops)
    return [
        (name + (f" <small>{esc(row.delivery)}</small>" if row.delivery else ""), "t"),
        (_kept(row), "t"),
        (esc(text.size(row.bytes)), ""),
        (esc(text.percent(row.size_share)), "soft"),
        (_time(row.write, write), ""),
        (_time(row.read, read), ""),
        (_time(row.total, write or read, told=False), ""),
        (said(text.duration(row.published.t_ns)), ""),
        (esc(text.memory(row.peak_bytes)) if row.peak_bytes is not None else "", ""),
        ("" if row.copies is None else f"{row.copies:.1f}", "soft"),
    ]


def _time(times: Times, few: str, *, told: bool = True) -> str:
    """A time with its interval, or with the number of its samples where those are too few for one."""
    lo, hi = (None, None) if few else (times.lo_ns, times.hi_ns)
    shown = said(text.interval(times.t_ns, lo, hi)) + ("*" if times.contended else "")
    return f'{shown} <small class="few">{esc(few)}</small>' if few and told and times.t_ns else shown


def _kept(row: Row) -> str:
    """How many columns or paths came back, and what did not, in the words that stand beside the bars."""
    changed = came_back(row.case)
    if row.status == "lossy":
        lost = text.one_line(changed, 200).removeprefix("changes ")
        return f'<span class="badge bad">lossy</span><small class="lost">{esc(lost)}</small>'
    badge = f'<span class="badge good">{esc(row.kept)}</span>' if row.kept else ""
    if not names_types(changed):
        return badge
    typed = text.one_line(changed, 200).removeprefix("keeps every value, ")
    return f'{badge}<small class="lost">{esc(typed)}</small>'


def _notes(grid: Grid) -> str:
    """What the marks of a grid mean, and its flags with the codecs that carry them."""
    notes = [said(line, 400) for line in words.flag_lines(list(grid.rows), 8)]
    if any(row.timed and (row.write.contended or row.read.contended) for row in grid.rows):
        notes.insert(0, "* other processes had the CPU")
    if any(row.timed and row.superlinear for row in grid.rows):
        names = [row.codec for row in grid.rows if row.timed and row.superlinear]
        notes.append(esc(f"time grows faster than the data: {', '.join(names[:8])}", 400))
    return '<ul class="notes">' + "".join(f"<li>{note}</li>" for note in notes) + "</ul>" if notes else ""


def data_table(
    found: Digest, chart: str, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]
) -> str:
    """The numbers of a chart as a table."""
    makers = {
        "bandwidth": _bandwidth,
        "pareto": _pareto,
        "growth": _growth,
        "times": _times,
        "memory": _memory,
        "samples": _sample_summary,
        "noise": _noise,
    }
    return makers[chart](found, data, slots)


def _named(found: Digest, name: Any, slots: dict[str, int]) -> Cell:
    return key(str(name), slots.get(str(name), 99), found.titles.get(str(name), "")), ""


def _bandwidth(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    speeds = (1e6, 1e7, 1e8, 1e9, 1e10, None)
    weights, basis = link_of(found, found.profile), basis_of(found, found.profile)
    w, r, n, s = (weights[key] for key in "wrns")
    rows = [one for one in data["cost"] if one["basis"] == basis] if basis in bases(found) else []

    def cost(one: dict[str, Any], v: float | None) -> float:
        passage = 0.0 if v is None else one["B"] / v + weights["rtt"]
        return float(w * one["E"] + r * (passage + one["D"]) + n * one["S"] + s * one["B"])

    allowed = [one for one in rows if one["ok"] and found.profile not in one["out"]]
    best = {v: min((cost(one, v) for one in allowed), default=0.0) for v in speeds}
    body = []
    for one in sorted(rows, key=lambda one: cost(one, 1e8)):
        cells: list[Cell] = [_named(found, one["codec"], slots)]
        for v in speeds:
            c = cost(one, v)
            cells.append((said(text.duration(c * 1e9)), "best" if one in allowed and c <= best[v] else ""))
        note = "" if one in allowed else "lossy" if not one["ok"] else f"not for {found.profile}"
        body.append([*cells, (esc(note), "t")])
    heads: list[Cell] = [
        ("codec", "t"),
        *(("no link" if v is None else _round(v), "") for v in speeds),
        ("", "t"),
    ]
    return scroll_table(
        f"Cost for {found.profile}: {_uses(w, 'write')}, {_uses(r, 'read')}"
        + (f", {n:,.0f} reads of a part" if n else ""),
        heads,
        body,
        shown_caption=True,
    )


def _round(v: float) -> str:
    """A power of ten as a bandwidth, without decimals."""
    value, _, unit = text.rate(v).partition(" ")
    return f"{float(value):g} {unit}"


def _uses(n: float, noun: str) -> str:
    return f"{n:g} {noun}{'' if n == 1 else 's'}"


def _pareto(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    body = [
        [
            _named(found, one["codec"], slots),
            (esc(found.grids[one["grid"]].title), "t"),
            (esc(text.size(one["B"])), ""),
            (said(text.duration(one["w"])), ""),
            (said(text.duration(one["r"])), ""),
            ("on the front" if one["front"] else "loses data" if one["lossy"] else "", "t"),
        ]
        for one in data["rows"]
    ]
    return scroll_table(
        "Size, write and read",
        [("codec", "t"), ("on", "t"), ("size", ""), ("write", ""), ("read", ""), ("", "t")],
        body,
    )


def _growth(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    body = []
    for entry in found.growth:
        k = number(entry.get("k"))
        end = entry.get("end") if isinstance(entry.get("end"), dict) else {}
        predicted = text.interval(
            number(entry.get("predicted_ns")),
            number(entry.get("predicted_lo_ns")),
            number(entry.get("predicted_hi_ns")),
        )
        if k is None and not entry.get("points"):
            continue
        name, css = _named(found, entry.get("codec"), slots)
        way = str(entry.get("delivery") or "whole")
        body.append(
            [
                (name if way == "whole" else f"{name} <small>{esc(way)}</small>", css),
                (esc(entry.get("medium")), "t"),
                (esc(entry.get("op")), "t"),
                ("" if k is None else f"{k:.2f}", ""),
                (esc(text.edges(number(entry.get("k_lo")), number(entry.get("k_hi")))), "soft"),
                ("steeper than the data" if entry.get("superlinear") else "", "t"),
                (said(predicted), ""),
                (said(text.one_line((end or {}).get("reason") or "", 120)), "t"),
            ]
        )
    del data
    return scroll_table(
        "Exponents and predictions",
        [
            ("codec", "t"),
            ("medium", "t"),
            ("operation", "t"),
            ("exponent", ""),
            ("interval", ""),
            ("", "t"),
            ("predicted at full size", ""),
            ("ended by", "t"),
        ],
        body,
    )


def _times(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    body = [
        [
            _named(found, one["codec"], slots),
            (esc(found.grids[one["grid"]].title), "t"),
            *(
                (said(text.duration(one[name])), "")
                for name in ("w", "wl", "wh", "wf", "r", "rl", "rh", "rf")
            ),
        ]
        for one in data["rows"]
    ]
    heads: list[Cell] = [
        ("codec", "t"),
        ("on", "t"),
        *((name, "") for name in ("write", "from", "to", "floor", "read", "from", "to", "floor")),
    ]
    of = "the way to their median" if is_least(found) else "95 % intervals"
    return scroll_table(f"Write and read with {of}", heads, body)


def _memory(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    def times(peak: float | None, whole: float | None) -> str:
        if not peak or whole is None:
            return ""
        n = copies(peak, whole)
        return "too small to tell" if n is None else f"{n:.1f}"

    body = [
        [
            _named(found, one["codec"], slots),
            (esc(found.grids[one["grid"]].title), "t"),
            (esc(text.memory(one["mw"])), ""),
            (times(one["mw"], one["B"]), ""),
            (times(one["mw"], one["raw"]), ""),
            (esc(text.memory(one["mr"])), ""),
            (times(one["mr"], one["B"]), ""),
            (times(one["mr"], one["raw"]), ""),
        ]
        for one in data["rows"]
        if one["mw"] or one["mr"]
    ]
    heads: list[Cell] = [
        ("codec", "t"),
        ("on", "t"),
        ("write peak", ""),
        ("\xd7 encoded", ""),
        ("\xd7 in memory", ""),
        ("read peak", ""),
        ("\xd7 encoded", ""),
        ("\xd7 in memory", ""),
    ]
    return scroll_table("Peak memory", heads, body)


def _sample_summary(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    body = []
    for grid in found.grids:
        for row in (row for row in grid.rows if row.timed):
            cells: list[Cell] = [_named(found, row.codec, slots), (esc(grid.title), "t")]
            for op in grid.ops:
                columns = [
                    mapping(mapping(launch.get("samples")).get(op))
                    for launch in row.case.get("launches") or []
                ]
                taken = sum(len(column.get("wall_ns") or []) for column in columns)
                hit = sum(1 for column in columns for n in column.get("nivcsw") or [] if n)
                cells += [(text.count(taken), ""), (esc(text.percent(hit / taken)) if taken else "", "")]
            body.append([*cells, (text.count(len(row.case.get("launches") or [])), "")])
    del data
    heads: list[Cell] = [
        ("codec", "t"),
        ("on", "t"),
        ("writes", ""),
        ("preempted", ""),
        ("reads", ""),
        ("preempted", ""),
        ("launches", ""),
    ]
    return scroll_table("Samples taken", heads, body)


def _noise(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    del slots, found
    body = [
        [
            (esc(f"{one['part']}, launch {one['launch']}" if one["launch"] else one["part"]), "t"),
            (f"{one['ratio']:.4f}", ""),
            (esc(text.edges(one["lo"], one["hi"])), ""),
        ]
        for one in data["aa"]
    ]
    return scroll_table("One codec, measured twice", [("", "t"), ("ratio", ""), ("interval", "")], body)
