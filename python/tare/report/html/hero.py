"""The top of the page: the verdict of every profile, switched without scripts."""

from __future__ import annotations

from typing import Any

from tare.report import text, words
from tare.report.charts import verdict_of
from tare.report.digest import PROFILES, Digest, Grid, Row
from tare.report.html.markup import breakable, codec, details, esc, inline_code
from tare.report.html.snippets import connected, runnable

__all__ = ["hero"]


def hero(found: Digest, slots: dict[str, int]) -> str:
    """The data in a line, the profile switch, and one verdict per profile."""
    names = [name for name in PROFILES if verdict_of(found, name)] or [found.profile]
    chosen = found.profile if found.profile in names else names[0]
    switches = "".join(
        f'<input type="radio" name="profile" id="p-{name}" value="{name}"{" checked" if name == chosen else ""}>'
        f'<label for="p-{name}">{name}</label>'
        for name in names
    )
    verdicts = "".join(_verdict(found, name, slots) for name in names)
    notices = "".join(f'<p class="notice">{esc(said)}</p>' for said in _notices(found) if said)
    return (
        f'<section class="hero" id="verdict" aria-label="Verdict"><p class="data">{_data(found)}</p>{notices}'
        f'<fieldset class="switch profiles"><legend>Used as</legend>{switches}</fieldset>'
        f'<div class="verdicts">{verdicts}</div></section>'
    )


def _data(found: Digest) -> str:
    parts = words.dataset_line(found).split("  ")
    return f"<b><bdi>{esc(parts[0])}</bdi></b>" + "".join(f"<span>{esc(part)}</span>" for part in parts[1:])


def _notices(found: Digest) -> list[str]:
    imported = (
        f"Figures of {text.visible(found.imported, 60)}, imported, not measured here."
        if found.imported
        else ""
    )
    partial = words.partial_line(found)
    return [
        imported,
        partial[:1].upper() + partial[1:] + "." if partial else "",
        "The run was interrupted: what was finished is shown." if found.record.get("interrupted") else "",
    ]


def _verdict(found: Digest, name: str, slots: dict[str, int]) -> str:
    said, verdict = words.headline(found, name), verdict_of(found, name)
    about = PROFILES.get(name, {}).get("about", "")
    row, grid = _winner(found, verdict)
    if said["empty"]:
        body = '<h1>No verdict yet.</h1><p class="say">Nothing was measured that could be recommended.</p>'
    elif said["route"]:
        doubt = said["confidence"] if said["confidence"] not in ("", "clear") else ""
        badges = f'<span class="badge warn">{esc(doubt)}</span> ' if doubt else ""
        badges += '<span class="badge bad">unsafe to read from others</span>' if said["runs_code"] else ""
        body = (
            f'<h1>Use {esc(said["title"])}</h1><p><code class="route">{breakable(said["route"])}</code> {badges}</p>'
            f'<p class="say">{inline_code(_sentence(said))}</p>{_caveat(found, said)}{_idle(said)}'
            f"{_figures(found, row, grid)}"
        )
    else:
        body = f'<h1>No route fits.</h1><p class="say">{inline_code(said["sentence"])}</p>'
    changes = "".join(f"<li>{esc(change)}</li>" for change in words.flips(found, name))
    flips = (
        f'<div class="flips"><h2>What would change the choice</h2><ul>{changes}</ul></div>' if changes else ""
    )
    run = ""
    if said["route"] and not found.imported:
        run = _run(said["route"], str(found.dataset.get("kind") or ""), runs_code=said["runs_code"])
    transfer = "".join(
        f'<p class="soft">{esc(line)}</p>' for line in (said["transfer"], words.link_line(found)) if line
    )
    return (
        f'<div class="verdict v-{name}" data-profile="{name}"><p class="about">For <b>{esc(name)}</b>: {esc(about)}.</p>'
        f'{body}{transfer}<div class="aside">{flips}{run}</div>{_media(found, name, slots)}{_why(said)}</div>'
    )


def _caveat(found: Digest, said: dict[str, Any]) -> str:
    line = words.provisional_line(found, said)
    return f'<p class="notice">{inline_code(line)}</p>' if line else ""


def _idle(said: dict[str, Any]) -> str:
    line = words.idle_line(said)
    return f'<p class="notice">{esc(line, 600)}</p>' if line else ""


def _winner(found: Digest, verdict: dict[str, Any]) -> tuple[Row | None, Grid | None]:
    for grid in found.grids:
        for row in grid.rows:
            if row.key == verdict.get("key"):
                return row, grid
    return None, None


def _sentence(said: dict[str, Any]) -> str:
    # The heading has said "Use ...": the sentence goes on from there.
    lead, colon, rest = str(said["sentence"]).partition(f"(`{said['route']}`): ")
    return rest[:1].upper() + rest[1:] if colon else lead


def _on(found: Digest) -> str:
    """What part of the data measured figures are of; empty for all of it."""
    return "" if found.partial is None else f" on {text.percent(found.partial)} of the data"


def _figures(found: Digest, row: Row | None, grid: Grid | None) -> str:
    if row is None or grid is None:
        return ""
    on = _on(found)
    tiles = [
        (text.interval(row.write.t_ns, row.write.lo_ns, row.write.hi_ns), f"one {grid.ops[0]}{on}"),
        (text.interval(row.read.t_ns, row.read.lo_ns, row.read.hi_ns), f"one {grid.ops[1]}{on}"),
        (
            text.size(row.bytes),
            f"{text.percent(row.size_share)} of the size in memory{on}"
            if row.size_share is not None
            else f"encoded{on}",
        ),
        (row.kept, "columns came back" if "/" in row.kept else "of the values came back")
        if row.kept
        else ("", ""),
    ]
    cells = "".join(
        f"<div><dt>{esc(label)}</dt><dd>{esc(value)}</dd></div>"
        for value, label in tiles
        if value not in ("", "-")
    )
    return f'<dl class="tiles">{cells}</dl>'


def _run(route: str, kind: str, *, runs_code: bool) -> str:
    receiver, sender = connected(route, runs_code=runs_code)
    out = f"<h2>Run it</h2>{_code(runnable(route, kind, runs_code=runs_code), 'Python code that runs the route')}"
    if receiver:
        both = (
            f"<p>One program waits for the data:</p>{_code(receiver, 'Python code that receives')}"
            f"<p>Another, with the lines above, sends it; the end of the connection ends the message:</p>"
            f"{_code(sender, 'Python code that sends')}"
        )
        out += details("Over a connection", both)
    return f'<div class="run">{out}</div>'


def _code(code: str, label: str) -> str:
    shown = "\n".join(esc(line, 400) for line in code.split("\n"))
    return f'<pre tabindex="0" aria-label="{esc(label)}"><code>{shown}</code></pre>'


def _media(found: Digest, name: str, slots: dict[str, int]) -> str:
    """Who costs least on each medium that was measured, for this profile's writes and reads."""
    weights = found.weights(name)
    removed = {
        str(entry.get("codec"))
        for entry in verdict_of(found, name).get("excluded") or []
        if isinstance(entry, dict)
    }
    items = []
    for place, grid in enumerate(found.grids):
        costs = sorted(
            (_spent(grid, row, weights), row.codec)
            for row in grid.rows
            if row.timed
            and row.status == "ok"
            and row.codec not in removed
            and _spent(grid, row, weights) > 0
        )
        if not costs:
            continue
        first = f"{codec(costs[0][1], slots.get(costs[0][1], 99))} {esc(text.duration(costs[0][0]))}"
        second = (
            f", then {codec(costs[1][1], slots.get(costs[1][1], 99))} {esc(text.duration(costs[1][0]))}"
            if len(costs) > 1
            else ""
        )
        items.append(f'<li data-grid="{place}"><b>{esc(grid.title)}</b>: {first}{second}</li>')
    if not items:
        return ""
    uses = f"{weights['w']:g} write{'s' if weights['w'] != 1 else ''} and {weights['r']:g} read{'s' if weights['r'] != 1 else ''}"
    return (
        f'<div class="media"><p>Least time for {esc(uses)}, as measured on each medium{_on(found)}:</p>'
        f"<ul>{''.join(items)}</ul></div>"
    )


def _spent(grid: Grid, row: Row, weights: dict[str, Any]) -> float:
    """Time of the profile's writes and reads on a medium; over a stream each read is a span; 0 when unknown."""
    if grid.ops[0] == "send":
        return float(weights["r"] * (row.total.t_ns or 0))
    if row.write.t_ns is None or row.read.t_ns is None:
        return 0.0
    return float(weights["w"] * row.write.t_ns + weights["r"] * row.read.t_ns)


def _why(said: dict[str, Any]) -> str:
    reasons = "".join(f"<li>{inline_code(reason)}</li>" for reason in said["reasons"])
    grouped: dict[str, list[str]] = {}
    for name, reason in said["excluded"]:
        grouped.setdefault(reason, []).append(name)
    removed = "".join(
        f"<li>{', '.join(f'<code>{breakable(name)}</code>' for name in names)}: {inline_code(reason)}</li>"
        for reason, names in grouped.items()
    )
    out = f"<ul>{reasons}</ul>" if reasons else ""
    out += f"<h3>Left out</h3><ul>{removed}</ul>" if removed else ""
    return details("Why, and what was left out", out, css="why") if out else ""
