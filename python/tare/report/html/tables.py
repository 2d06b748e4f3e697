"""The comparison tables, and the data table behind each chart."""

from __future__ import annotations

from typing import Any

from tare.report import text, words
from tare.report.charts import bases, basis_of, orders
from tare.report.digest import Digest, Grid, Row, Times, mapping, number
from tare.report.html.markup import Cell, codec, esc, scroll_table

__all__ = ["comparison", "data_table"]


def comparison(found: Digest, place: int, slots: dict[str, int]) -> str:
    """Every codec of a grid: figures where it has them, else the reason."""
    grid = found.grids[place]
    slowest = max((row.total.ratio or 0 for row in grid.rows if row.timed), default=0)
    heads: list[Cell] = [
        ("codec", "t"),
        ("kept", "t"),
        ("size", ""),
        ("of memory", ""),
        (esc(grid.ops[0]), ""),
        (esc(grid.ops[1]), ""),
        ("x base", ""),
        ("tie", "t"),
        ("P(best)", ""),
        ("peak memory", ""),
        ("copies", ""),
        ("k", ""),
    ]
    joint = bool(found.imported) or grid.ops[0] == "send"
    if found.partial is not None:
        heads.insert(6, ("full size, predicted", ""))
    if joint:
        heads.insert(6, ("span" if grid.ops[0] == "send" else "sum", ""))
    if found.imported:
        heads.insert(7, ("published total", ""))
    full = {row.key: _measured(found, row, slots, slowest, joint=joint) for row in grid.rows if row.timed}
    # Columns that no row fills are left out: imported and interrupted records have fewer.
    keep = [
        i for i in range(len(heads)) if i < 3 or any(cells[i][0] not in ("", "-") for cells in full.values())
    ]
    heads = [heads[i] for i in keep]
    rows, attributes = [], []
    places = orders(found, grid)
    for row in grid.rows:
        cells = full.get(row.key)
        rows.append([cells[i] for i in keep] if cells else _without(row, slots, max(4, len(heads))))
        marks = "data-o=" + ",".join(str(order.get(row.codec, 999)) for order in places.values())
        state = "lossy" if row.status == "lossy" else "" if row.timed else "none"
        attributes.append(
            f'{marks} data-codec="{esc(row.codec, 400)}"' + (f' class="{state}"' if state else "")
        )
    title = f"All codecs, {grid.title}"
    return (
        f'<div class="grid" data-grid="{place}"><h3>{esc(grid.title)} <small>{esc(words.share_line(grid))}</small></h3>'
        + scroll_table(title, heads, rows, row_attributes=attributes)
        + f"{_notes(grid)}</div>"
    )


def _measured(found: Digest, row: Row, slots: dict[str, int], slowest: float, *, joint: bool) -> list[Cell]:
    odds = (
        number((found.verdict.get("p") or {}).get(row.codec))
        if isinstance(found.verdict.get("p"), dict)
        else None
    )
    bar = ""
    if row.total.ratio is not None and slowest:
        # A logarithmic bar: 1 % of the slowest is still seen.
        share = max(0.02, min(1.0, row.total.ratio / slowest) ** 0.5)
        bar = f'<i class="bar" style="width:{share * 100:.0f}%"></i>'
    ratio = ("~" if row.provisional else "") + text.ratio(row.total.ratio)
    cells: list[Cell] = [
        (
            codec(row.codec, slots.get(row.codec, 99))
            + (f" <small>{esc(row.delivery)}</small>" if row.delivery else ""),
            "t",
        ),
        (_kept(row), "t"),
        (esc(text.size(row.bytes)), ""),
        (esc(text.percent(row.size_share)), "soft"),
        (_time(row.write), ""),
        (_time(row.read), ""),
        (
            f'<span class="ratio" title="{esc(_interval_words(row.total))}">{bar}<span>{esc(ratio)}</span></span>',
            "",
        ),
        (esc(row.total.letters), "t soft"),
        (esc(words.p_best(odds)) if odds is not None else "", ""),
        (esc(text.memory(row.peak_bytes)) if row.peak_bytes is not None else "", ""),
        ("" if row.copies is None else f"{row.copies:.1f}", "soft"),
        ("" if row.k is None else f"{row.k:.1f}" + (" <b>steep</b>" if row.superlinear else ""), ""),
    ]
    if found.partial is not None:
        cells.insert(
            6, ("" if row.predicted_ns is None else esc(f"~{text.duration(row.predicted_ns[0])}"), "")
        )
    if joint:
        cells.insert(6, (_time(row.total), ""))
    if found.imported:
        cells.insert(7, (esc(text.duration(row.published.t_ns)), ""))
    return cells


def _time(times: Times) -> str:
    shown = text.interval(times.t_ns, times.lo_ns, times.hi_ns)
    return esc(shown) + ("*" if times.contended else "")


def _interval_words(times: Times) -> str:
    if times.ratio_lo is None or times.ratio_hi is None:
        return "times the base"
    return f"times the base {text.edges(times.ratio_lo, times.ratio_hi)}"


def _kept(row: Row) -> str:
    if row.status == "lossy":
        return (
            f'<span class="badge bad">lossy</span> {esc(row.kept)}'
            f'<small class="lost">{esc(words.losses(row, 2))}</small>'
        )
    return f'<span class="badge good">{esc(row.kept)}</span>' if row.kept else ""


def _notes(grid: Grid) -> str:
    """What the marks of a grid mean, and its flags with the codecs that carry them."""
    notes = [esc(line, 400) for line in words.flag_lines(list(grid.rows), 8)]
    if any(row.timed and row.provisional for row in grid.rows):
        notes.insert(0, "~ provisional: too few launches for an interval")
    if any(row.timed and (row.write.contended or row.read.contended) for row in grid.rows):
        notes.insert(0, "* contended: wall time ran away from CPU time")
    if any(row.timed and row.superlinear for row in grid.rows):
        notes.append("steep: grows faster than the data")
    return '<ul class="notes">' + "".join(f"<li>{note}</li>" for note in notes) + "</ul>" if notes else ""


def _without(row: Row, slots: dict[str, int], columns: int) -> list[Cell]:
    status = words.STATUS.get(row.status, text.visible(row.status, 20))
    said = words.row_note(row)
    if row.status == "screened" and row.predicted_ns:
        said = f"predicted {text.duration(row.predicted_ns[0])} for one write and one read; {said}"
    return [
        (codec(row.codec, slots.get(row.codec, 99)), "t"),
        (f'<span class="badge">{esc(status)}</span>', "t"),
        (esc(text.size(row.bytes)) if row.bytes is not None else "", ""),
        (f"<bdi>{esc(said, 300)}</bdi>", f"{columns - 3}@t reason"),
    ]


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


def _named(name: Any, slots: dict[str, int]) -> Cell:
    return codec(str(name), slots.get(str(name), 99)), ""


def _bandwidth(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    speeds = (1e6, 1e7, 1e8, 1e9, 1e10)
    weights, basis = found.weights(), basis_of(found, found.profile)
    w, r, s = weights["w"], weights["r"], weights["s"]
    rows = [one for one in data["cost"] if one["basis"] == basis] if basis in bases(found) else []

    def cost(one: dict[str, Any], v: float) -> float:
        return float(w * one["E"] + r * (one["B"] / v + one["D"]) + s * one["B"])

    allowed = [one for one in rows if one["ok"] and found.profile not in one["out"]]
    best = {v: min((cost(one, v) for one in allowed), default=0.0) for v in speeds}
    body = []
    for one in sorted(rows, key=lambda one: cost(one, 1e8)):
        cells: list[Cell] = [_named(one["codec"], slots)]
        for v in speeds:
            c = cost(one, v)
            cells.append((esc(text.duration(c * 1e9)), "best" if one in allowed and c <= best[v] else ""))
        note = "" if one in allowed else "lossy" if not one["ok"] else f"not for {found.profile}"
        body.append([*cells, (esc(note), "t")])
    heads: list[Cell] = [
        ("codec", "t"),
        *((esc(text.rate(v).replace(".00", "t").replace(".0", "t")), "") for v in speeds),
        ("", "t"),
    ]
    return scroll_table(
        f"Cost for {found.profile}: {w:g} writes, {r:g} reads", heads, body, shown_caption=True
    )


def _pareto(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    body = [
        [
            _named(one["codec"], slots),
            (esc(found.grids[one["grid"]].title), "t"),
            (esc(text.size(one["B"])), ""),
            (esc(text.duration(one["w"])), ""),
            (esc(text.duration(one["r"])), ""),
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
        body.append(
            [
                _named(entry.get("codec"), slots),
                (esc(entry.get("medium")), "t"),
                (esc(entry.get("op")), "t"),
                ("" if k is None else f"{k:.2f}", ""),
                (esc(text.edges(number(entry.get("k_lo")), number(entry.get("k_hi")))), "soft"),
                ("steeper than the data" if entry.get("superlinear") else "", "t"),
                (esc(predicted), ""),
                (esc(text.one_line((end or {}).get("reason") or "", 120)), "t"),
            ]
        )
    del data
    return scroll_table(
        "Exponents and predictions",
        [
            ("codec", "t"),
            ("medium", "t"),
            ("operation", "t"),
            ("k", ""),
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
            _named(one["codec"], slots),
            (esc(found.grids[one["grid"]].title), "t"),
            *((esc(text.duration(one[name])), "") for name in ("w", "wl", "wh", "wf", "r", "rl", "rh", "rf")),
        ]
        for one in data["rows"]
    ]
    heads: list[Cell] = [
        ("codec", "t"),
        ("on", "t"),
        *((name, "") for name in ("write", "from", "to", "floor", "read", "from", "to", "floor")),
    ]
    return scroll_table("Write and read with 95 % intervals", heads, body)


def _memory(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    def copies(peak: Any, whole: Any) -> str:
        return f"{peak / whole:.1f}" if peak and whole else ""

    body = [
        [
            _named(one["codec"], slots),
            (esc(found.grids[one["grid"]].title), "t"),
            (esc(text.memory(one["mw"])), ""),
            (copies(one["mw"], one["B"]), ""),
            (copies(one["mw"], one["raw"]), ""),
            (esc(text.memory(one["mr"])), ""),
            (copies(one["mr"], one["B"]), ""),
            (copies(one["mr"], one["raw"]), ""),
        ]
        for one in data["rows"]
        if one["mw"] or one["mr"]
    ]
    heads: list[Cell] = [
        ("codec", "t"),
        ("on", "t"),
        ("write peak", ""),
        ("x encoded", ""),
        ("x in memory", ""),
        ("read peak", ""),
        ("x encoded", ""),
        ("x in memory", ""),
    ]
    return scroll_table("Peak memory", heads, body)


def _sample_summary(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    body = []
    for grid in found.grids:
        for row in (row for row in grid.rows if row.timed):
            cells: list[Cell] = [_named(row.codec, slots), (esc(grid.title), "t")]
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
            (esc(f"{one['op']}, launch {one['launch']}" if one["launch"] else one["op"]), "t"),
            (f"{one['ratio']:.4f}", ""),
            (esc(text.edges(one["lo"], one["hi"])), ""),
        ]
        for one in data["aa"]
    ]
    return scroll_table("The base codec against its twin", [("", "t"), ("ratio", ""), ("interval", "")], body)
