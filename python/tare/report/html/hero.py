"""The top of the page: the answer for every use, switched without scripts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tare.codec.titles import title_of
from tare.measure.verdict import gains
from tare.measure.verdict.negligible import no_matter
from tare.report import answer, text, words
from tare.report.charts import verdict_of
from tare.report.commands import (
    added_time,
    as_table,
    encoding_of,
    for_others,
    other_kind,
    steps,
    whole_file,
)
from tare.report.digest import PROFILES, Digest, items, mapping, number
from tare.report.html.markup import codec, details, esc, inline_code
from tare.report.html.snippets import connected
from tare.report.measured import estimated, kept_by
from tare.report.reading_in_r import r_call

__all__ = ["cards", "data_line", "heading", "hero", "of_one_message", "of_use", "uses"]

# Confidence of a verdict -> the words on its chip.
_SURE = {"clear": "clear", "close": "close", "can't tell": "can't tell"}


def uses(found: Digest) -> list[str]:
    """Returns the uses that have an answer, and the one that was asked for."""
    return [name for name in PROFILES if verdict_of(found, name).get("codec") or name == found.profile] or [
        found.profile
    ]


def of_use(found: Digest, name: str) -> Digest:
    """Returns the record as it is for another use."""
    if name == found.profile:
        return found
    return replace(found, profile=name, verdict=verdict_of(found, name))


def hero(found: Digest, slots: dict[str, int], *, path: str = "") -> str:
    """Returns the data in a line, the switch of the uses, and the answer for each of them.

    Args:
        found: The record.
        slots: Codec -> its colour.
        path: The user's own file, for the commands; the name of the data by default.
    """
    names = uses(found)
    switches = "".join(
        f'<input type="radio" name="profile" id="p-{name}" value="{name}"{" checked" if name == found.profile else ""}>'
        f'<label for="p-{name}">{name}</label>'
        for name in names
    )
    answers = "".join(_answer(of_use(found, name), slots, path) for name in names)
    imported = (
        f'<p class="notice">Figures of {esc(text.visible(found.imported, 60))}, imported, not measured here.</p>'
        if found.imported
        else ""
    )
    return (
        f'<section class="hero" id="verdict" aria-label="Answer"><p class="data">{data_line(found)}</p>{imported}'
        f'<fieldset class="switch profiles"><legend>Used as</legend>{switches}</fieldset>'
        f'<div class="verdicts">{answers}</div></section>'
    )


def heading(found: Digest) -> str:
    """Returns the answer as one sentence: what to use, and what is gained."""
    verdict = found.verdict
    if not verdict:
        return "No answer yet: nothing was measured."
    if not verdict.get("codec"):
        if str(verdict.get("sentence") or "").startswith("No answer yet"):
            return "No answer yet: too little was measured in the time."
        return f"No codec fits {text.visible(found.profile, 20)}."
    if keeps := text.one_line(verdict.get("keeps_file") or "", 200):
        return f"{keeps[:1].upper()}{keeps[1:]}."
    title = text.visible(_title(found, str(verdict["codec"])), 100)
    gained = text.one_line(verdict.get("beside") or "", 200)
    if gained.startswith("the "):
        return f"Keep {gained}: {title}."
    return answer.signed(f"Use {title}{f': {gained}' if gained else ''}.")


def _routes(found: Digest) -> dict[str, dict[str, Any]]:
    """Label -> figures of what to use, what is fastest and what is smallest; those of one codec share a label."""
    verdict = found.verdict
    message = verdict.get("profile") == "message"
    labels: dict[str, list[str]] = {}
    figures: dict[str, dict[str, Any]] = {}
    parts = mapping(verdict.get("fastest")).get("part_s") is not None
    fast = "Fastest" if message else f"Fastest to read{' a part' * parts}"
    best = "Cheapest" if verdict.get("keeps_file") else "Use"
    for label, key in ((best, "chosen"), (fast, "fastest"), ("Smallest", "smallest")):
        one = mapping(verdict.get(key))
        if one.get("codec"):
            labels.setdefault(str(one["codec"]), []).append(label if label == best else label.lower())
            figures[str(one["codec"])] = one
    out = {}
    for name, said in labels.items():
        label = (
            f"{said[0]}, also the {' and the '.join(said[1:])}"
            if said[0] == "Use" and said[1:]
            else " and ".join(said)
        )
        out[label[:1].upper() + label[1:]] = figures[name]
    return out


def cards(found: Digest, slots: dict[str, int]) -> str:
    """Returns the three routes as cards: size, times, and how they compare with the file that the user has."""
    shown = []
    for place, (label, one) in enumerate(_routes(found).items()):
        name = str(one["codec"])
        size, *told = answer.cells(found, one)
        figures = [(size, "size"), *(_figure(cell) for cell in told if cell)]
        cells = "".join(
            f"<div><dt>{esc(what)}</dt><dd>{esc(answer.signed(value))}</dd></div>" for value, what in figures
        )
        kept = kept_by(found, name)
        lost = " lost" if kept.startswith("changes") else ""
        against = _against(found, one)
        shown.append(
            f'<article class="card{" first" if place == 0 else ""}"><h2>{esc(label)}</h2>'
            f'<p class="name"><b>{esc(_title(found, name), 100)}</b>{codec(name, slots.get(name, 99))}</p><dl>{cells}</dl>'
            + (f'<p class="gain">{esc(answer.signed(against))}</p>' if against else "")
            + (f'<p class="kept{lost}">{esc(kept[:1].upper() + kept[1:], 200)}</p>' if kept else "")
            + "</article>"
        )
    if not shown:
        return ""
    note = estimated(found, (str(one["codec"]) for one in _routes(found).values()))
    said = of_one_message(found) or (f"{note}." if note else "")
    return f'<div class="cards">{"".join(shown)}</div>' + (f'<p class="of-one">{said}</p>' if said else "")


def of_one_message(found: Digest) -> str:
    """Returns whose figures a verdict has, where they are of one line of the data; else nothing."""
    n = number(found.verdict.get("messages"))
    return f"Figures are of one message, the mean of {text.count(n)}." if n else ""


def _figure(cell: str) -> tuple[str, str]:
    """Splits ``write 65 ms`` and ``65 ms from end to end`` into the value and what it is of.

    >>> _figure("read a part 1 ms"), _figure("65 ms from end to end"), _figure("all 16 ms")
    (('1 ms', 'read a part'), ('65 ms', 'end to end'), ('16 ms', 'read all'))
    """
    if cell.endswith(" from end to end"):
        return cell.removesuffix(" from end to end"), "end to end"
    *what, value, unit = cell.split(" ")
    return f"{value} {unit}", " ".join(what) if what != ["all"] else "read all"


def _against(found: Digest, one: dict[str, Any]) -> str:
    """How a codec compares with the file that the user has, where that has a size, else with the usual codec."""
    have, usual = mapping(found.verdict.get("source")), mapping(found.verdict.get("reference"))
    lines = found.verdict.get("profile") == "message" and have.get("format") == "ndjson"
    if have.get("format") and not lines:  # the file's size is not that of one line
        if one.get("codec") == have.get("codec"):
            return "the format you have"
        said = gains.against(one, gains.comparable(one, have), ("write", "read"))
        return f"{said} than {gains.owned(one, have)}" if said else ""
    if usual and usual.get("codec") != one.get("codec"):
        said = gains.against(one, usual, ("write", "read"))
        return f"{said} than {_title(found, str(usual['codec']))}" if said else ""
    return ""


def _title(found: Digest, name: str) -> str:
    """The name that a codec has all over the page; a verdict of an old record may name one without a case."""
    return found.titles.get(name) or title_of(name)


def data_line(found: Digest) -> str:
    """Returns the data in a few words, as the terminal has them, without the use."""
    name = text.visible(found.dataset.get("name") or "data", 60)
    told = answer.parts_of(found)[:-1]  # The use has a switch of its own.
    return f"<b><bdi>{esc(name)}</bdi></b>" + "".join(f"<span>{esc(part)}</span>" for part in told)


def _answer(found: Digest, slots: dict[str, int], path: str) -> str:
    said, name = words.headline(found), found.profile
    about = PROFILES.get(name, {}).get("about", "")
    body = f"<h1>{esc(heading(found), 400)}</h1>"
    if said["route"]:
        body += f"{_surety(found, said)}{cards(found, slots)}"
    else:
        why = said["sentence"] or "Nothing was measured that could be recommended."
        body += f'<p class="say">{inline_code(_plain(why))}</p>{_surety(found, said)}'
    changes = "".join(f"<li>{esc(change)}</li>" for change in _flips(found))
    flips = (
        f'<div class="flips"><h2>What would change the choice</h2><ul>{changes}</ul></div>' if changes else ""
    )
    run = _run(found, said, path) if said["route"] and not found.imported else ""
    return (
        f'<div class="verdict v-{name}" data-profile="{name}"><p class="about">For <b>{esc(name)}</b>: {esc(about)}.</p>'
        f'{body}<div class="aside">{run}{flips}</div>{_why(said)}</div>'
    )


def _flips(found: Digest) -> list[str]:
    """What would change the choice, with human names."""
    out = []
    for change, flip in zip(
        words.flips(found), filter(_told, items(found.verdict.get("flips"))), strict=True
    ):
        said = re.sub(r"\[([^],]+), ([^]]+)\]", r"(\1 to \2)", answer.signed(change))
        name = text.visible(flip.get("codec") or "", 200)
        out.append(
            f"{said.removesuffix(name)}{_title(found, name)}" if name and said.endswith(name) else said
        )
    return out


def _told(flip: Any) -> bool:
    return isinstance(flip, dict) and bool(flip.get("text"))


def _plain(said: str) -> str:
    said = said.removeprefix("Provisional: ")
    return said[:1].upper() + said[1:]


def _surety(found: Digest, said: dict[str, Any]) -> str:
    """How sure the answer is: one chip, which opens to all that speaks against it."""
    if found.verdict.get("keeps_file"):
        return ""  # where nothing can be felt, no doubt matters
    doubts = [line for line in _doubts(found, said) if line]
    level = str(said["confidence"])
    danger = ' <span class="badge bad">unsafe to read from others</span>' if said["runs_code"] else ""
    css = "good" if level == "clear" else "warn"
    if not doubts:
        chip = f'<span class="badge {css}">{esc(_SURE[level])}</span>' if level in _SURE else ""
        return f'<p class="sure">{chip}{danger}</p>' if chip or danger else ""
    word = _SURE.get(level, "not all was measured")
    listed = "".join(f"<li>{inline_code(answer.signed(line))}</li>" for line in doubts)
    return (
        f'<details class="sure"><summary><span class="badge {css}">{esc(word)}</span> <span class="more">why</span>'
        f"{danger}</summary><ul>{listed}</ul></details>"
    )


def _doubts(found: Digest, said: dict[str, Any]) -> list[str]:
    partial = words.partial_line(found)
    ours = text.one_line(found.verdict.get("only_ours") or "", 300)
    return [
        text.one_line(found.verdict.get("doubt") or "", 600),
        f"{ours[:1].upper()}{ours[1:]}." if ours else "",
        f"{small[:1].upper()}{small[1:]}." if (small := no_matter(found.verdict)) else "",
        "The run was interrupted: what was finished is shown." if found.record.get("interrupted") else "",
        partial[:1].upper() + partial[1:] + "." if partial else "",
        words.provisional_line(found, said),
        words.idle_line(said),
        said["transfer"],
        words.link_line(found),
    ]


def _run(found: Digest, said: dict[str, Any], path: str) -> str:
    keeps = bool(found.verdict.get("keeps_file"))
    todo = steps(found, path, anyway=keeps)
    shell = [line for label, line in todo if label == "Do it"]
    python = [line for label, line in todo if label != "Do it"]
    out = "<h2>To convert it all the same</h2>" if keeps and shell and python else "<h2>Run it</h2>"
    for line in shell:  # in the words of the terminal
        is_kept = not line.startswith("tare ")
        label = f"Command that converts the file{'s' * bool(found.files)}"
        out += f"<p>{esc(_plain(line))}.</p>" if is_kept else _code(line, label)
    if python:
        out += _code("\n".join(("import tare", "", *map(_named, python))), "Python code that does it")
    if python and not shell and (back := other_kind(found)):
        out += f"<p>Reading {esc(back, 300)}.</p>"
    if python and (added := added_time(found)):
        out += f"<p>{esc(added[:1].upper() + added[1:])}.</p>"
    if in_r := r_call(found, path):
        out += f"<p>In R:</p>{_code(in_r, 'R code that reads it')}"
    if whole := whole_file(found, path):
        out += f"<p>As a file:</p>{_code(whole, 'Command that measures the file as a whole')}"
    if table := as_table(found, path):
        out += f"<p>As a table:</p>{_code(table, 'Command that makes a table of it')}"
    other, why = for_others(found, path)
    if other:
        out += f"<p>{esc(_plain(answer.signed(why)), 300)}:</p>{_code(other, 'What other tools read')}"
    return f'<div class="run">{out}{_connection(found, said, path)}</div>'


def _named(line: str) -> str:
    """A call whose result the next one takes, by the name that it has there."""
    return f"data = {line}" if line.startswith("tare.encode(") else line


def _connection(found: Digest, said: dict[str, Any], path: str) -> str:
    """The programs that send and receive the data, where the route is a connection."""
    have = mapping(found.verdict.get("source")).get("format")
    name = path or (text.visible(found.dataset.get("name") or "", 200) if have else "")
    receiver, sender = connected(
        said["route"],
        str(found.dataset.get("kind") or ""),
        runs_code=said["runs_code"],
        path=name if found.verdict.get("profile") != "message" and not found.files else "",
        encoding=encoding_of(found),
        is_value=bool(found.dataset.get("source_kind")) and not have,
    )
    if not receiver:
        return ""
    both = (
        f"<p>One program waits for the data:</p>{_code(receiver, 'Python code that receives')}"
        f"<p>Another sends it; the end of the connection ends the message:</p>"
        f"{_code(sender, 'Python code that sends')}"
    )
    return details("Over a connection", both)


def _code(code: str, label: str) -> str:
    # An option is not broken after its hyphens.
    option = re.compile(r"(?<= )--[\w-]+")
    shown = "\n".join(option.sub(r"<span>\g<0></span>", esc(line, 400)) for line in code.split("\n"))
    return f'<pre tabindex="0" aria-label="{esc(label)}"><code>{shown}</code></pre>'


def _why(said: dict[str, Any]) -> str:
    told = [reason for reason in said["reasons"] if not reason.startswith("provisional: ")]
    reasons = "".join(f"<li>{inline_code(answer.signed(reason))}</li>" for reason in told)
    return details("Reasons", f"<ul>{reasons}</ul>", css="why") if reasons else ""
