"""Ranked bars of all that was measured: size, read and write of each codec, with what it changes beside them."""

from __future__ import annotations

import json

from tare.codec.titles import title_of
from tare.measure.verdict import text as verdict_text
from tare.measure.verdict.kept import names_types
from tare.report import answer, text, words
from tare.report.bars import longest
from tare.report.digest import Digest, Row, items, mapping, number
from tare.report.html.hero import of_one_message, of_use, uses
from tare.report.html.markup import Cell, details, esc, named, said, scroll_table
from tare.report.measured import estimated, kept_by, ranked
from tare.report.precision import is_first_call

__all__ = ["bars", "has_first_calls", "ranking"]

_FAILED = ("refused", "error", "timeout", "killed", "unproven")
# Status -> the word for it beside a reason.
_STATUS = {
    **words.STATUS,
    "screened": "tried on a small part",
    "n/a": "does not apply",
    "unproven": "not proven",
}


def ranking(found: Digest, slots: dict[str, int]) -> str:
    """Returns a table of bars for the uses that share figures, and below, folded, the codecs without a result."""
    shared: dict[str, list[Digest]] = {}
    for name in uses(found):
        one = of_use(found, name)
        shared.setdefault(json.dumps(one.verdict.get("figures"), sort_keys=True), []).append(one)
    tables = "".join(
        f'<div class="ranked {" ".join(f"u-{one.profile}" for one in group)}">{_whose(group[0])}{_bars(group, slots)}</div>'
        for group in shared.values()
    )
    return tables + _rest(found, slots)


def _whose(found: Digest) -> str:
    note = estimated(found, ranked(found))
    said = of_one_message(found) or (f"{note}." if note else "")
    return f'<p class="of-one">{said}</p>' if said else ""


def bars(found: Digest, slots: dict[str, int]) -> str:
    """Returns the table of bars of one use."""
    return _bars([found], slots)


def _bars(group: list[Digest], slots: dict[str, int]) -> str:
    """The table of uses that have the same figures, in the order of the first."""
    found = group[0]
    figures = mapping(found.verdict.get("figures"))
    names = ranked(found)
    guessed = [row for row in _predicted(found) if row.codec not in names]
    if not names and not guessed:
        return '<p class="soft">Nothing was measured for this use.</p>'
    spans = bool(names) and all(
        answer.cells(found, figures[name])[1].endswith("from end to end") for name in names
    )
    parts = any(number(figures[name].get("part_s")) for name in names)
    times = {"part_s": "read a part", "read_s": "read all"} if parts else {"read_s": "read"}
    heads = {"bytes": "size"} | ({"write_s": "end to end"} if spans else times | {"write_s": "write"})
    most = {key: _longest([number(figures[name].get(key)) for name in names]) for key in heads}
    places = [{name: place for place, name in enumerate(_ordered(one))} for one in group]
    first = _first_calls(found)
    body: list[list[Cell]] = []
    rows: list[str] = []
    for name in places[0]:
        values = [
            _bar(
                number(figures[name].get(key)),
                most[key],
                key,
                first=(name, key) in first,
                about=key == "bytes" and verdict_text.is_estimated(figures[name]),
            )
            for key in heads
        ]
        chosen = [one.profile for one in group if one.verdict.get("codec") == name]
        picks = "".join(f'<small class="pick u-{profile}">recommended</small>' for profile in chosen)
        title = named(name, slots.get(name, 99), found.titles.get(name, ""))
        body.append([(title + picks, "t"), *values, (_kept(group, name), "t keeps")])
        best = " ".join(f"best-{profile}" for profile in chosen)
        order = ",".join(f"{one.profile}:{place[name]}" for one, place in zip(group, places, strict=True))
        rows.append(f'data-codec="{esc(name, 400)}" data-of="{order}"' + (f' class="{best}"' if best else ""))
    for row in guessed:
        body.append(
            [
                (named(row.codec, slots.get(row.codec, 99), found.titles[row.codec]), "t"),
                *_guess(found, row, most, len(heads)),
            ]
        )
        rows.append(f'data-codec="{esc(row.codec, 400)}" class=guessed')
    columns: list[Cell] = [
        ("codec", "t"),
        *((head, "bars") for head in heads.values()),
        ("what it keeps", "t"),
    ]
    caption = f"Measured codecs for {found.profile}, the recommended one first"
    css = f"rank-table{' wide' * (len(heads) > 3)}"
    return scroll_table(caption, columns, body, css=css, row_attributes=rows)


def _ordered(found: Digest) -> list[str]:
    """The measured codecs by cost, after the recommended one: another may cost as little, and be named for less."""
    names, best = ranked(found), found.verdict.get("codec")
    return sorted(names, key=lambda name: name != best)


def has_first_calls(found: Digest) -> bool:
    """Whether a bar is of a first call only."""
    return bool(_first_calls(found))


def _first_calls(found: Digest) -> set[tuple[str, str]]:
    """Codec and figure of the times that were taken once, while the library was not warm."""
    seen: set[str] = set()
    out = set()
    for grid in found.grids:
        for row in (row for row in grid.rows if row.timed and row.codec not in seen):
            seen.add(row.codec)
            operations = {"write_s": grid.ops[0], "read_s": grid.ops[1], "part_s": "subset"}
            out |= {(row.codec, key) for key, name in operations.items() if is_first_call(row, name)}
    return out


def _guess(found: Digest, row: Row, most: dict[str, float], columns: int) -> list[Cell]:
    """The cells of a codec of which only a small part was tried."""
    size = None if row.bytes is None else row.bytes / (found.partial or 1.0)
    shown = words.predicted(row).replace("~", "about ")
    why = f' title="{said(words.row_note(row), 160)}"' if row.reason else ""
    return [
        _bar(size, most["bytes"] or size or 0.0, "bytes", about=(found.partial or row.size) < 1),
        (said(f"{shown} to write and read" if shown else ""), f"{columns - 1}@t guess"),
        (f'<span class="badge"{why}>predicted</span> from a small part of the data', "t keeps"),
    ]


def _bar(value: float | None, most: float, key: str, *, first: bool = False, about: bool = False) -> Cell:
    """A figure with its bar; the value itself is there for sorting."""
    if not value:
        return "", "bars"
    shown = verdict_text.amount(value) if key == "bytes" else verdict_text.duration(value)
    shown = f"{'~' * about}{shown}"
    width = min(100.0, max(0.5, 100 * value / most)) if most else 0.0
    cut = " class=cut" if value > most else ""
    what = {"bytes": "size", "read_s": "read", "write_s": "write", "part_s": "pt"}[key]
    once = " <small>first call</small>" if first else ""
    return (
        f'<data class={what} value="{value:.6g}"><i class="b"><i{cut} style="width:{width:.3g}%"></i></i>{said(shown)}{once}</data>',
        "bars",
    )


def _longest(values: list[float | None]) -> float:
    """The figure that a whole bar stands for; the bar of the codec that leads is never cut."""
    return longest(values, values[0] if values else None)


def _kept(group: list[Digest], name: str) -> str:
    """What a codec keeps or changes, and why a use leaves it out."""
    kept = kept_by(group[0], name)
    lossy = kept.startswith("changes")
    css = "lossy" if lossy else "typed" if names_types(kept) else "kept"
    shown = f'<span class="{css}">{esc(kept, 200)}</span>' if kept else ""
    for found in () if lossy else group:
        why = next((one for one in items(found.verdict.get("excluded")) if one.get("codec") == name), None)
        if why is not None:
            reason = text.one_line(str(why.get("reason") or ""), 160)
            shown += f' <small class="out u-{found.profile}">left out: {said(reason, 200)}</small>'
    return shown


def _predicted(found: Digest) -> list[Row]:
    """The codecs of which only a small part was tried, quickest first."""
    known = {row.codec for grid in found.grids for row in grid.rows if row.timed}
    first: dict[str, Row] = {}
    for row in (row for grid in found.grids for row in grid.rows):
        if (
            row.status == "screened"
            and row.codec not in known
            and (row.predicted_ns or row.bytes is not None)
        ):
            first.setdefault(row.codec, row)
    return sorted(
        first.values(),
        key=lambda row: (row.predicted_ns is None, row.predicted_ns or (0.0, None, None), row.codec),
    )


def _rest(found: Digest, slots: dict[str, int]) -> str:
    """The codecs without a result, one line for those that share a reason, folded."""
    known = {row.codec for grid in found.grids for row in grid.rows if row.timed}
    known |= {row.codec for row in _predicted(found)}
    shared: dict[tuple[str, str], list[str]] = {}
    for grid in found.grids:
        for row in grid.rows:
            # What failed under one condition only is told, what was left out there is not.
            if row.timed or (row.codec in known and row.status not in _FAILED):
                continue
            names = shared.setdefault((row.status, words.row_note(row, exponent=False)), [])
            names += [row.codec] if row.codec not in names else []
    left = items(found.record.get("left_out")) if isinstance(found.record.get("left_out"), list) else []
    if not shared and not any(left):
        return ""
    body: list[list[Cell]] = []
    for (status, why), names in shared.items():
        badge = f'<span class="badge{" warn" if status in _FAILED else ""}">{esc(_STATUS.get(status, status), 40)}</span>'
        listed = " ".join(
            f'<span class="one" title="{esc(name)}">{esc(found.titles.get(name) or title_of(name), 100)}</span>'
            for name in names
        )
        body.append(
            [
                (f'<span class="several">{listed}</span>', "t"),
                (badge, "t"),
                (f"<bdi>{said(why, 300)}</bdi>", "t reason"),
            ]
        )
    heads: list[Cell] = [("codec", "t"), ("", "t"), ("why", "t")]
    table = (
        scroll_table("Codecs that were not measured, or have no result", heads, body, css="others")
        if body
        else ""
    )
    lines = "".join(f"<li><bdi>{esc(line, 500)}</bdi></li>" for line in words.left_out(found, 100))
    table += f'<h3>Not tried</h3><ul class="notes">{lines}</ul>' if lines else ""
    n = len({name for names in shared.values() for name in names})
    count = f" ({text.count(n)})" if n else ""
    return details(f"Not measured, or without a result{count}", table, css="rest")
