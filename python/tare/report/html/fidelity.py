"""What each codec keeps, changes or refuses: the probe matrix, and the user's own data."""

from __future__ import annotations

import json
from typing import Any

from tare.codec.titles import title_of
from tare.report import exchanging, text, words
from tare.report.charts import verdict_of
from tare.report.digest import PROFILES, Digest, number
from tare.report.html.markup import Cell, details, esc, key, named, scroll_table

__all__ = ["SIGNS", "cell_details", "exchange", "matrix", "own_data"]

# Verdict -> the sign in a cell; the word beside it is read aloud and shown in the legend.
SIGNS = {"same": "\u2713", "type": "\u2248", "lossy": "\u2717", "refused": "!", "hook": "h", "n/a": "\u2013"}
_STAR = "\u2605"
_BUDGET = 56_000
_WORST = ("lossy", "refused", "hook", "type", "n/a", "same")


def _sets(found: Digest) -> dict[str, dict[str, dict[str, Any]]]:
    fidelity = found.record.get("fidelity")
    sets = fidelity.get("probes") if isinstance(fidelity, dict) else None
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for name, cells in (sets if isinstance(sets, dict) else {}).items():
        if isinstance(cells, dict) and cells:
            out[str(name)] = {str(key): value for key, value in cells.items() if isinstance(value, dict)}
    return out


def _probes(cells: dict[str, dict[str, Any]]) -> list[str]:
    names: dict[str, None] = {}
    for of_codec in cells.values():
        names.update(dict.fromkeys(map(str, of_codec)))
    return list(names)


def matrix(found: Digest, slots: dict[str, int]) -> str:
    """One table per probe set: a row per probe, a column per codec, a sign and a word in each cell."""
    out = []
    uses = _uses(found)
    for place, (name, cells) in enumerate(_sets(found).items()):
        order = {one: i for i, one in enumerate(found.codecs)}
        codecs = sorted(cells, key=lambda one: (order.get(one, 999), one))
        heads: list[Cell] = [("probe", "t")] + [
            (
                f'<span class="tilt">{key(one, slots.get(one, 99), _title(found, one))}{_chosen(uses.get(one))}</span>',
                "tilted",
            )
            for one in codecs
        ]
        rows = [
            [(esc(probe.replace("_", " "), 60), "t"), *(_cell(cells[one].get(probe)) for one in codecs)]
            for probe in _probes(cells)
        ]
        out.append(
            f"<h3>Probes <small>{esc(name)}: one value per cell</small></h3>"
            + scroll_table(f"Fidelity of {name}", heads, rows, name=f"probes-{place}", css="probes")
        )
    if not out:
        return '<p class="soft">No probes were run.</p>'
    return _legend() + _recommended(found) + _compressed(found) + "".join(out)


def _plain(codec_id: str) -> str:
    return codec_id.partition("+")[0]


def _uses(found: Digest) -> dict[str, list[str]]:
    """Codec without its compressor -> the uses whose verdict names it."""
    uses: dict[str, list[str]] = {}
    for name in PROFILES:
        verdict = verdict_of(found, name)
        if verdict.get("codec"):
            uses.setdefault(_plain(str(verdict["codec"])), []).append(name)
    return uses


def _title(found: Digest, name: str) -> str:
    return found.titles.get(name) or title_of(name)


def _chosen(uses: list[str] | None) -> str:
    return f' <b class="star" title="recommended: {esc(", ".join(uses))}">{_STAR}</b>' if uses else ""


def _recommended(found: Digest) -> str:
    """Which columns are of recommended codecs, and for which uses."""
    told = [
        f"{esc(_title(found, name), 100)} for {esc(', '.join(uses))}" for name, uses in _uses(found).items()
    ]
    return f'<p class="soft"><b class="star">{_STAR}</b> recommended: {"; ".join(told)}.</p>' if told else ""


def _compressed(found: Digest) -> str:
    """Why codecs with a compressor have no column of their own."""
    pressed = [one for one in found.codecs if _plain(one) != one]
    if not pressed:
        return ""
    first = found.verdict.get("codec")
    example = str(first) if first in pressed else pressed[0]
    return (
        f'<p class="soft">A compressor gives back every byte, so it changes nothing here: '
        f"{esc(_title(found, example), 100)} is the column {esc(_title(found, _plain(example)), 100)}.</p>"
    )


def _cell(cell: Any) -> Cell:
    # The sign and its class only: the scripts make it a button and name it in full.
    if not isinstance(cell, dict):
        return "", "na"
    verdict = str(cell.get("verdict") or "n/a")
    css = verdict.replace("/", "") if verdict in SIGNS else "na"
    return SIGNS.get(verdict, "?"), "" if css == "same" else css


def _legend() -> str:
    items = "".join(
        f'<li><span class="{verdict.replace("/", "")}">{SIGNS[verdict]}</span> <b>{esc(verdict)}</b> '
        f"{esc(meaning)}</li>"
        for verdict, meaning in words.VERDICTS.items()
    )
    return f'<ul class="legend">{items}</ul>'


_EXCHANGE_CSS = {
    "same": "",
    "changed": "lossy",
    "error": "lossy",
    "refused": "refused",
    "type": "type",
    "n/a": "na",
    "not tried": "na",
}


def exchange(found: Digest) -> str:
    """Of each format a table of own data and one of the probes: a row per writer, a column per reader, and what changes in words."""
    out = []
    for place, (format, block) in enumerate(exchanging.blocks(found.record).items()):
        names = list(map(str, block["codecs"]))
        heads: list[Cell] = [
            ("writes", "t"),
            *((f'<span class="tilt">{esc(one)}</span>', "tilted") for one in names),
        ]
        for part in exchanging.parts(block):
            rows: list[list[Cell]] = []
            for writer in names:
                pairs = [(block["pairs"].get(writer) or {}).get(reader) or {} for reader in names]
                cells = [(esc(part.mark(pair)), _EXCHANGE_CSS[part.verdict(pair)]) for pair in pairs]
                rows.append([(f"<code>{esc(writer)}</code>", "t"), *cells])
            said = "".join(f"<li>{esc(line, 300)}</li>" for line in exchanging.said(block, part))
            what = "your own data" if part.own else "probes"
            title = f"What one language writes and another reads: {text.visible(format, 40)}, {what}"
            out.append(
                f"<h3>Exchange <small>{esc(format)}: {esc(part.legend, 400)}</small></h3>"
                + scroll_table(title, heads, rows, name=f"exchange-{place}{'-own' * part.own}", css="probes")
                + (details("In words", f'<ul class="changes">{said}</ul>') if said else "")
            )
    return "".join(out)


def cell_details(found: Digest) -> list[dict[str, Any]]:
    """What a cell opens to, kept small: each text once, an output only where it differs from the input.

    Returns:
        One entry per probe set: ``words`` (texts), ``in`` and ``repro`` (indices, one per
        probe), ``cells`` (per probe and codec: indices of bytes, output, error, hook,
        repro; -1 for none, trailing ones left out; 0 for a cell that was not probed).
    """
    sets = _sets(found)
    n_cells = sum(len(of_codec) for cells in sets.values() for of_codec in cells.values())
    hex_digits = 512
    while hex_digits > 32 and _hex_total(sets, hex_digits) > _BUDGET:
        hex_digits //= 2
    width = max(40, min(240, _BUDGET // max(1, n_cells)))
    out = []
    for name, cells in sets.items():
        known: dict[str, int] = {}
        order = {one: i for i, one in enumerate(found.codecs)}
        codecs = sorted(cells, key=lambda one: (order.get(one, 999), one))
        probes = _probes(cells)
        shared = [_shared(cells, codecs, probe, width) for probe in probes]
        table = [
            [_one(cells[one].get(probe), one, shared[i], (hex_digits, width), known) for one in codecs]
            for i, probe in enumerate(probes)
        ]
        out.append(
            {
                "set": text.visible(name, 40),
                "codecs": [text.visible(one, 100) for one in codecs],
                "probes": [text.visible(probe, 60) for probe in probes],
                "in": [_index(one["in"], known) for one in shared],
                "repro": [_index(one["repro"], known) for one in shared],
                "cells": table,
                "words": list(known),
            }
        )
    return out


def _index(word: str, known: dict[str, int]) -> int:
    return known.setdefault(word, len(known)) if word else -1


def _hex_total(sets: dict[str, dict[str, dict[str, Any]]], limit: int) -> int:
    return sum(
        min(limit, len(str(cell.get("bytes_hex") or "")))
        for cells in sets.values()
        for of_codec in cells.values()
        for cell in of_codec.values()
        if isinstance(cell, dict)
    )


def _value(value: Any, width: int) -> str:
    return text.visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), width)


def _template(cell: dict[str, Any], name: str) -> str:
    return text.visible(str(cell.get("repro") or "").replace(name, "{codec}"), 400)


def _shared(cells: dict[str, dict[str, Any]], codecs: list[str], probe: str, width: int) -> dict[str, str]:
    found = [(one, cells[one][probe]) for one in codecs if isinstance(cells[one].get(probe), dict)]
    if not found:
        return {"in": "", "repro": ""}
    return {"in": _value(found[0][1].get("in"), width), "repro": _template(found[0][1], found[0][0])}


def _one(cell: Any, name: str, shared: dict[str, str], limits: tuple[int, int], known: dict[str, int]) -> Any:
    if not isinstance(cell, dict):
        return 0
    hex_digits, width = limits
    encoded = str(cell.get("bytes_hex") or "")
    out = _value(cell.get("out"), width) if cell.get("out") is not None else ""
    if cell.get("verdict") in ("refused", "n/a") or out == shared["in"]:
        out = ""
    repro = _template(cell, name)
    parts = [
        encoded[:hex_digits] + ("..." if len(encoded) > hex_digits else ""),
        out,
        text.one_line(cell.get("error") or "", 120),
        text.visible(cell.get("hook") or "", 80),
        "" if repro == shared["repro"] else repro,
    ]
    indices = [_index(part, known) for part in parts]
    while indices and indices[-1] < 0:
        indices.pop()
    return indices


def own_data(found: Digest, slots: dict[str, int]) -> str:
    """What each codec changed in the user's own columns or paths."""
    fidelity = found.record.get("fidelity")
    own = fidelity.get("own") if isinstance(fidelity, dict) else None
    checks = {
        str(name): verify
        for name, verify in (own if isinstance(own, dict) else {}).items()
        if isinstance(verify, dict)
    }
    for grid in found.grids:
        for row in grid.rows:
            verify = row.case.get("verify")
            known = number(checks.get(row.codec, {}).get("items_in")) or -1
            # The check of the most data says the most.
            if isinstance(verify, dict) and (number(verify.get("items_in")) or 0) > known:
                checks[row.codec] = verify
    if not checks:
        return '<p class="soft">The data was not checked.</p>'
    order = {one: i for i, one in enumerate(found.codecs)}
    # Codecs that gave back the same share a row.
    shared: dict[tuple[Cell, ...], list[str]] = {}
    for name in sorted(checks, key=lambda one: (order.get(one, 999), one)):
        shared.setdefault(tuple(_came_back(checks[name])), []).append(name)
    body = [[(_several(found, names, slots), "t"), *cells] for cells, names in shared.items()]
    heads: list[Cell] = [
        ("codec", "t"),
        ("verdict", "t"),
        ("went in", ""),
        ("came back", ""),
        ("what changed", "t"),
    ]
    return scroll_table("Your own data", heads, body, css="own")


def _several(found: Digest, names: list[str], slots: dict[str, int]) -> str:
    if len(names) == 1:
        return named(names[0], slots.get(names[0], 99), _title(found, names[0]))
    listed = "".join(key(name, slots.get(name, 99), _title(found, name)) for name in names)
    return f'<span class="several">{listed}</span>'


def _came_back(verify: dict[str, Any]) -> list[Cell]:
    verdict = str(verify.get("verdict") or "")
    css = {"same": "good", "type": "info", "hook": "info", "lossy": "bad", "none": "bad"}.get(verdict, "t")
    changes = [change for change in verify.get("changes") or [] if isinstance(change, dict)]
    changes.sort(
        key=lambda change: (
            _WORST.index(str(change.get("verdict"))) if str(change.get("verdict")) in _WORST else 9
        )
    )
    items = "".join(_change(change) for change in changes[:40])
    more = f"<li>and {len(changes) - 40} more</li>" if len(changes) > 40 else ""
    listed = f'<ul class="changes">{items}{more}</ul>' if changes else ""
    if len(changes) > 3:
        listed = details(f"{len(changes)} changes", listed)
    shown = "no data came back" if verdict == "none" else verdict
    if verify.get("unchecked"):
        shown += ", by its worker's own word"
    return [
        (f'<span class="badge {css}">{esc(shown)}</span>', "t"),
        (esc(text.count(number(verify.get("items_in")))), ""),
        (esc(text.count(number(verify.get("items_out")))), ""),
        (listed, "t left"),
    ]


def _change(change: dict[str, Any]) -> str:
    n = number(change.get("count"))
    times = f" in {text.count(n)} values" if n and n > 1 else ""
    before, after = _value(change.get("in"), 60), _value(change.get("out"), 60)
    return (
        f'<li><b class="w-{esc(str(change.get("verdict")).replace("/", "t"), 12)}">{esc(change.get("verdict"), 12)}</b> '
        f"<bdi><code>{esc(change.get('path') or 'the value', 80)}</code></bdi>{esc(times)}: "
        f"<bdi><code>{esc(before)}</code></bdi> became <bdi><code>{esc(after)}</code></bdi></li>"
    )
