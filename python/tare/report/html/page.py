"""The page: skeleton, sections in order, policy, data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from importlib import resources
from pathlib import PurePath
from typing import Any

from tare.report import text, words
from tare.report.charts import (
    CHARTS,
    bases,
    basis_of,
    chart_data,
    featured,
    group_of,
    themes,
)
from tare.report.digest import PROFILES, Digest, digest, mapping, number
from tare.report.html.fidelity import exchange, matrix, own_data
from tare.report.html.hero import hero, of_one_message
from tare.report.html.markup import details, esc, json_block, key, named, said, scroll_table
from tare.report.html.payload import messages_of, payload
from tare.report.html.ranking import has_first_calls, ranking
from tare.report.html.tables import comparison, data_table
from tare.report.precision import is_least, seldom

__all__ = ["page"]

# What the charts show, where the captions of published pages use words that a reader of this one has not met.
_PLAIN = {
    "growth": CHARTS["growth"][1].replace("with k, the exponent", "with its exponent"),
    "noise": CHARTS["noise"][1].replace("The base codec", "One codec"),
}


_INTERVALS = "with 95 % intervals where launches were enough for one"


def page(result: Any, *, profile: str | None = None, path: str = "") -> str:
    """Write the whole document.

    Args:
        result: A Result, or a record as a dict.
        profile: Use shown first; the record's own by default.
        path: The user's own file, for the commands, of which an absolute path is its name; that of the data by default.
    """
    # A page can be passed on: it holds no home folder, and no name of a user.
    found = digest(result, profile=profile)
    if found.files and path:
        path = shlex.join(_local(word) for word in shlex.split(path))
    else:
        path = _local(path)
    slots = {name: place for place, name in enumerate(featured(found))}
    data = chart_data(found)
    name = text.visible(found.dataset.get("name") or "data", 60)
    script = _script()
    block = json_block("tare-data", payload(found, data, [chart for chart in CHARTS if _has(chart, data)]))
    digest_of = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest_of}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    sections = "".join(
        [
            hero(found, slots, path=path),
            _ranked(found, slots),
            _controls(found),
            *(_chart(found, chart, data, slots) for chart in ("bandwidth", "pareto") if _has(chart, data)),
            _fidelity(found, slots),
            _conditions(found, slots),
            *(
                _chart(found, chart, data, slots)
                for chart in ("times", "memory", "growth")
                if _has(chart, data)
            ),
            _samples(found, data, slots),
            _environment(found, slots),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en" data-theme="auto"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f'<meta name="generator" content="tare {esc(found.record.get("tare") or "", 20)}">'
        f"<title>{esc(name)} - which format?</title><style>{_style()}</style></head>\n"
        f'<body><a class="skip" href="#main">Skip to the answer</a>{_masthead(found, sections)}<main id="main">{sections}</main>'
        f"{_footer(found)}\n{block}\n<script>{script}</script></body></html>\n"
    )


def _local(path: str) -> str:
    """Returns a path without the folders above it, where it names them from the root on."""
    return PurePath(path).name if PurePath(path).is_absolute() else path


def _asset(folder: str, name: str) -> str:
    return resources.files("tare.report").joinpath(folder, name).read_text("utf-8")


def _script() -> str:
    own = "\n".join(
        line.strip()
        for line in _asset("html", "report.js").splitlines()
        if line.strip() and not line.strip().startswith("//")
    )
    joined = ";\n".join([_asset("vendor", "vega.min.js"), own])
    # The parser ends a script at this text wherever it stands, even in a string.
    return re.sub(r"</(?=script)", r"<\\/", joined, flags=re.IGNORECASE)


def _style() -> str:
    plain = re.sub(r"/\*.*?\*/", "", _asset("html", "style.css"), flags=re.DOTALL)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    colours = themes()
    light, dark = (_palette(colours[name]) for name in ("light", "dark"))
    keys = "".join(f".k{slot}{{--k:var(--k{slot})}}" for slot in [*range(10), 99])
    for name in PROFILES:
        chosen = f"body:has(#p-{name}:checked) "
        keys += f"{chosen}:is(.v-{name},.u-{name}){{display:block}}"
        keys += f"{chosen}.best-{name}{{background:var(--good-bg)}}{chosen}.best-{name} .b i{{background:var(--good)}}"
        keys += f"{chosen}.best-{name} :is(.kept,.id){{color:var(--ink)}}"
    return "".join(lines).replace("--light:0;", light).replace("--dark:0;", dark) + keys


def _palette(theme: dict[str, Any]) -> str:
    slots = [*range(10), 99]
    return "".join(
        f"--k{slot}:{colour};" for slot, colour in zip(slots, theme["range"]["codec"], strict=True)
    )


def _masthead(found: Digest, sections: str) -> str:
    made = esc(str(found.record.get("created") or "")[:10])
    links = "".join(
        f'<a href="#{name}">{label}</a>'
        for name, label in (
            ("codecs", "Codecs"),
            ("bandwidth", "Bandwidth"),
            ("pareto", "Size and time"),
            ("fidelity", "Fidelity"),
            ("figures", "Figures"),
            ("memory", "Memory"),
            ("growth", "Growth"),
            ("samples", "Samples"),
            ("environment", "Environment"),
        )
        if f'<section id="{name}"' in sections
    )
    return (
        f'<header class="mast"><p class="brand"><b>Tare</b> <span>data formats, measured</span> <time>{made}</time></p>'
        f'<nav aria-label="Sections">{links}</nav><div class="theme" hidden><label for="theme">Theme</label>'
        '<select id="theme"><option value="auto">auto</option><option value="light">light</option>'
        '<option value="dark">dark</option></select></div></header>'
    )


def _controls(found: Digest) -> str:
    """The medium switch; it needs the scripts, so they unhide it."""
    if len(found.grids) < 2:
        return ""
    if len(found.grids) > 6:
        options = "".join(
            f'<option value="{i}">{esc(grid.title)}</option>' for i, grid in enumerate(found.grids)
        )
        inner = f'<label for="medium">Measured on</label><select id="medium">{options}</select>'
    else:
        inner = "<legend>Measured on</legend>" + "".join(
            f'<input type="radio" name="medium" id="m-{i}" value="{i}"{" checked" if i == 0 else ""}>'
            f'<label for="m-{i}">{esc(grid.title)}</label>'
            for i, grid in enumerate(found.grids)
        )
    return f'<fieldset class="switch media-switch" hidden>{inner}</fieldset>'


def _section(name: str, title: str, lead: str, body: str) -> str:
    return (
        f'<section id="{name}" aria-labelledby="h-{name}"><h2 id="h-{name}">{esc(title)}</h2>'
        f'<p class="lead">{lead}</p>{body}</section>'
    )


def _ranked(found: Digest, slots: dict[str, int]) -> str:
    part = (
        " Figures are estimates for the whole data, made from the part that was measured."
        if found.partial and not of_one_message(found)
        else ""
    )
    once = (
        " First call: timed once, before its library was warm; later calls may be faster."
        if has_first_calls(found)
        else ""
    )
    lead = (
        "The recommended codec first, then by total cost for this use: writing, reading and size. "
        f"Choose a column to sort by it. A bar with a faded end exceeds the scale.{once}{part}"
    )
    return _section("codecs", "All codecs", lead, ranking(found, slots))


def _conditions(found: Digest, slots: dict[str, int]) -> str:
    """The figures of every condition with their intervals."""
    if not any(row.timed for grid in found.grids for row in grid.rows):
        return ""
    tables = "".join(comparison(found, place, slots) for place in range(len(found.grids)))
    part = f" They are of {text.percent(found.partial)} of the data, as measured." if found.partial else ""
    lead = f"{_precision(found)}{part}{_together(found)} A codec whose data did not come back has no time."
    return _section("figures", "Figures with intervals", esc(lead, 500), tables)


def _precision(found: Digest) -> str:
    """What the times and their intervals are, which depends on how often was measured."""
    timed = [(grid, row) for grid in found.grids for row in grid.rows if row.timed]
    few = any(seldom(row, op) for grid, row in timed for op in grid.ops)
    shown = (
        "Times are the smallest sample, or from ten on the 10th percentile; \xb1 tells how far off the median is."
        if is_least(found)
        else "Times are medians with 95 % intervals."
    )
    return shown + (" Where samples were too few for that, their number stands instead." if few else "")


def _has(chart: str, data: dict[str, list[dict[str, Any]]]) -> bool:
    source = {
        "bandwidth": "cost",
        "pareto": "rows",
        "growth": "growth",
        "times": "rows",
        "memory": "rows",
        "samples": "samples",
        "noise": "aa",
    }[chart]
    if chart == "memory":
        return any(row["mw"] or row["mr"] for row in data["rows"])
    return bool(data[source])


def _chart(found: Digest, chart: str, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    title, shown = CHARTS[chart][0], _PLAIN.get(chart, CHARTS[chart][1])
    if chart == "bandwidth" and found.partial is not None:
        shown += " Costs are of the whole data, predicted from the part that was measured."
    if chart == "times" and is_least(found):
        shown = shown.replace(_INTERVALS, "with a line to the median of the rounds where those were enough")
    if chart in ("bandwidth", "pareto", "times"):
        shown += _together(found, chart)
    if len(found.grids) > 1:
        shown += _whose(found, chart)
    table = details(
        "Data of this chart",
        f'<div class="numbers" data-csv="{chart}">{data_table(found, chart, data, slots)}</div>',
    )
    extra = _bandwidth_controls() if chart == "bandwidth" else ""
    legend = _codec_legend(found, slots) if chart == "growth" else ""
    body = (
        f'{legend}<figure><div class="chart" id="c-{chart}" data-chart="{chart}" role="img" aria-label="{esc(title)}" '
        f'aria-describedby="d-{chart}"></div><noscript><p class="soft">The chart needs scripts; its numbers are '
        f"below.</p></noscript>{extra}</figure>{table}"
    )
    return _section(chart, title, f'<span id="d-{chart}">{esc(shown, 600)}</span>', body)


def _together(found: Digest, chart: str = "") -> str:
    """Of how many messages figures are, where each is encoded on its own and their sum is shown."""
    grids = list(bases(found).values()) if chart == "bandwidth" else found.grids
    grid = next((grid for grid in grids if messages_of(grid) > 1), None)
    if grid is None:
        return ""
    where = f"Under {grid.title}, figures" if len(grids) > 1 else "Figures"
    n = text.count(messages_of(grid))
    return f" {where} are of {n} messages together, each encoded on its own, not of one."


def _whose(found: Digest, chart: str) -> str:
    """Of which group a chart is, where there are several: most follow the switch."""
    if chart == "bandwidth":
        used = {basis_of(found, profile): None for profile in PROFILES}
        known = bases(found)
        return f" Made of the times of {' or '.join(known[basis].title for basis in used if basis in known)}."
    return "" if group_of(found, chart) is None else " Of the codecs of one group, chosen under Measured on."


def _codec_legend(found: Digest, slots: dict[str, int]) -> str:
    drawn = {str(entry.get("codec")) for entry in found.growth}
    return (
        '<p class="keys">'
        + " ".join(key(name, slot, found.titles[name]) for name, slot in slots.items() if name in drawn)
        + "</p>"
    )


def _bandwidth_controls() -> str:
    """Sliders and the list that follows them; the scripts set both to the profile shown."""
    return (
        '<div class="sliders" hidden>'
        '<label for="v">Bandwidth <output id="v-out" for="v"></output></label>'
        '<input type="range" id="v" min="0" max="401" step="1" value="401" aria-describedby="rank-say">'
        '<label for="r">Reads per write <output id="r-out" for="r"></output></label>'
        '<input type="range" id="r" min="0" max="300" step="1" value="0" aria-describedby="rank-say">'
        '</div><p id="rank-say" class="say-rank" aria-live="polite"></p><ol id="rank" class="rank" hidden></ol>'
        '<p class="rank-legend" hidden><span><i class="part p-w"></i> write</span> <span class="of-v"><i class="part p-v"></i> on '
        'the link</span> <span><i class="part p-r"></i> read</span> <span class="of-n"><i class="part p-n"></i> reads '
        'of a part</span> <span class="of-s"><i class="part p-s"></i> price of its bytes</span></p>'
    )


def _fidelity(found: Digest, slots: dict[str, int]) -> str:
    body = (
        f"<h3>Your data <small>every column or path, decoded and compared</small></h3>{own_data(found, slots)}"
        f'{matrix(found, slots)}{exchange(found)}<div id="cell" class="cell" hidden tabindex="-1" role="region" '
        'aria-label="Details of a probe" aria-live="polite"></div>'
    )
    return _section(
        "fidelity",
        "Fidelity",
        "What came back after encoding and decoding. Equal means equal in type, bits, order and zone.",
        body,
    )


def _samples(found: Digest, data: dict[str, list[dict[str, Any]]], slots: dict[str, int]) -> str:
    parts = [_chart(found, "samples", data, slots)] if _has("samples", data) else []
    facts = _noise_facts(found)
    panel = "".join(f"<div><dt>{esc(label)}</dt><dd>{said(value)}</dd></div>" for label, value in facts)
    noise = (
        f'<dl class="facts">{panel}</dl>' if facts else f'<p class="soft">{said(words.noise_line(found))}</p>'
    )
    # Too few rounds of the second process give points, and no floor to read off them.
    if _has("noise", data) and number(found.noise.get("floor")) is not None:
        title, shown = CHARTS["noise"][0], _PLAIN["noise"]
        noise += (
            f'<p class="lead" id="d-noise">{esc(shown, 400)}</p><figure><div class="chart" id="c-noise" data-chart="noise" '
            f'role="img" aria-label="{esc(title)}" aria-describedby="d-noise"></div></figure>'
            + details(
                "Data of this chart",
                f'<div class="numbers" data-csv="noise">{data_table(found, "noise", data, slots)}</div>',
            )
        )
    line = words.noise_line(found)
    lead = said(line[:1].upper() + line[1:], 400) + "."
    freeing = words.freeing_line(found)
    lead += f" {said(freeing[:1].upper() + freeing[1:], 400)}." if freeing else ""
    collector = words.collector_line(found)
    lead += f" {said(collector, 200)}." if collector else ""
    parts.append(_section("noise", "Noise of this run", lead, noise))
    return "".join(parts)


def _noise_facts(found: Digest) -> list[tuple[str, str]]:
    noise, taken, hit = found.noise, 0, 0
    for grid in found.grids:
        for row in grid.rows:
            for launch in row.case.get("launches") or []:
                for column in (launch.get("samples") or {}).values():
                    switches = column.get("nivcsw") or []
                    taken, hit = taken + len(switches), hit + sum(1 for n in switches if n)
    shares = [
        ("noise floor", "floor"),
        ("CPU used by others", "contended_share"),
        ("waiting for CPU (PSI)", "psi_some"),
        ("stolen by the host", "steal"),
    ]
    facts = [
        (label, text.percent(number(noise.get(key))))
        for label, key in shares
        if number(noise.get(key)) is not None
    ]
    if taken:
        facts.append(("samples preempted", f"{text.percent(hit / taken)} of {text.count(taken)}"))
    if number(noise.get("timer_floor_ns")) is not None:
        facts.append(("an empty call (in every time)", text.duration(number(noise.get("timer_floor_ns")))))
    return facts


def _environment(found: Digest, slots: dict[str, int]) -> str:
    machine = mapping(found.record.get("machine"))
    facts = [
        ("CPU", machine.get("cpu_model")),
        ("cores", machine.get("cores")),
        ("CPU quota", machine.get("quota")),
        ("governor", machine.get("governor")),
        ("memory", text.memory(number(machine.get("memory_bytes")))),
        ("kernel", machine.get("kernel")),
        ("virtualised", machine.get("virtualised")),
        ("filesystem", machine.get("filesystem")),
    ]
    facts += [(str(name), version) for name, version in mapping(machine.get("runtimes")).items()]
    record = found.record
    facts += [
        ("tare", record.get("tare")),
        ("record", record.get("id")),
        ("made", record.get("created")),
        ("seed", record.get("seed")),
        (
            "took",
            text.duration((number(record.get("elapsed_s")) or 0) * 1e9)
            if number(record.get("elapsed_s"))
            else None,
        ),
        ("sampling", found.dataset.get("sampling")),
    ]
    shown = "".join(
        f"<div><dt>{esc(label, 40)}</dt><dd><bdi>{said(_plain(value), 120)}</bdi></dd></div>"
        for label, value in facts
        if value not in (None, "", "-")
    )
    command = str(record.get("command") or "")
    repeat = (
        (
            f'<h3>Repeat it</h3><pre tabindex="0" aria-label="Command that repeats this run"><code>{esc(command, 2000)}'
            "</code></pre>"
        )
        if command
        else ""
    )
    return _section(
        "environment",
        "Environment",
        "What ran, where, with which options; enough to run it again.",
        f'<dl class="facts">{shown}</dl>{repeat}{_options(found, slots)}',
    )


def _plain(value: Any) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _options(found: Digest, slots: dict[str, int]) -> str:
    codecs = mapping(found.record.get("codecs"))
    if not codecs:
        return ""
    body = []
    for name, given in codecs.items():
        entry = mapping(given)
        options, flags = mapping(entry.get("options")), mapping(entry.get("flags"))
        runs = (
            '<span class="badge bad">unsafe to read from others</span>' if flags.get("executes_code") else ""
        )
        listed = ", ".join(f"{key}={json.dumps(value)}" for key, value in options.items())
        version = entry.get("version")
        shown = " ".join(f"{k} {v}" for k, v in version.items()) if isinstance(version, dict) else version
        body.append(
            [
                (named(str(name), slots.get(str(name), 99), found.titles.get(str(name), "")), "t"),
                (esc(shown or "", 60), "t"),
                (f"<code>{esc(listed, 400)}</code>" if listed else "", "t left"),
                (esc(entry.get("threads") or ""), "n"),
                (runs, "t"),
            ]
        )
    table = scroll_table(
        "Exact options",
        [("codec", "t"), ("version", "t"), ("options", "t"), ("threads", ""), ("", "t")],
        body,
    )
    return f"<h3>Exact options</h3>{table}"


def _footer(found: Digest) -> str:
    return (
        f"<footer><p>Written by Tare {esc(found.record.get('tare') or '', 20)} from record "
        f"<code>{esc(found.record.get('id') or '', 64)}</code>. This file is whole: it loads nothing and sends nothing. "
        "Charts by Vega (BSD-3-Clause).</p></footer>"
    )
