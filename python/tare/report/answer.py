"""The answer on a terminal: what to use for the data, with figures of all of it, and the command that does it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tare.codec.titles import titles_of
from tare.measure.cases import NOT_REACHED
from tare.measure.verdict import gains
from tare.measure.verdict import text as verdict_text
from tare.measure.verdict.negligible import line_change, no_matter
from tare.report import bars, text, words
from tare.report.bars import Bar
from tare.report.commands import (
    added_time,
    as_table,
    for_others,
    is_default_use,
    other_kind,
    steps,
    whole_file,
)
from tare.report.digest import Digest, items, mapping, number
from tare.report.layout import Line, isolated, micro, middle, pad, wrap
from tare.report.measured import estimated, kept_by, mark_of, ranked
from tare.report.reading_in_r import r_call

__all__ = ["about", "answers", "cells", "lines_of", "parts_of", "routes_of", "signed"]

# The user's own file, and its format written anew, differ by less than this share of the size without a word.
_SAME_SIZE = 0.02
# The format that the user has is said to cost less from this multiple down.
_CHEAPER = 0.9
# How the reason begins for a codec that cannot take the data.
_REFUSES = ("refuses", "does not apply")
# As many codecs are drawn unless all are asked for.
_ROWS = 8
# A name that stands before an id, at most.
_NAME = 34
_RATIO = re.compile(r"(?<=\d)x(?= |$)")
# From so many columns on, labels are said in full.
_ROOMY, _NARROW = 100, 80
_SCALES = (("ns", 1e-9), ("\xb5s", 1e-6), ("ms", 1e-3), ("s", 1.0))
_SIZES = (("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9))


def answers(found: Digest) -> bool:
    """Whether a record has an answer to show: one of a plan is a study of many conditions, and shows its tables."""
    plan = mapping(found.record.get("plan")).get("name", "default")
    return plan == "default" and not found.imported and bool(found.verdict) and "figures" in found.verdict


def lines_of(found: Digest, width: int, *, every: bool = False, path: str = "") -> list[Line]:
    """Returns the answer, line by line.

    Args:
        found: The record, with a verdict.
        width: Columns available.
        every: Whether each codec has a line, also those that were not measured.
        path: The user's own file, for the command; the name of the data by default.
    """
    lines = _headline(found, width)
    if found.verdict.get("codec"):
        drawn = _bars(found, width, every=every)
        drawn = drawn or wrap(estimated(found, [str(found.verdict["codec"])]), width, "  ", "dim")
        lines += [[], *_routes(found, width), *([[], *drawn] if drawn else [])]
    else:
        said = text.one_line(found.verdict.get("sentence") or "No codec fits.", 800).replace("`", "")
        said = said.removeprefix("Provisional: ")
        lines += [[], *wrap(said[:1].upper() + said[1:], width, "  ", "bold")]
        for reason in items(found.verdict.get("reasons")):
            told = text.one_line(reason, 400).replace("`", "").removeprefix("provisional: ")
            lines += wrap(words.stopped(told), width, "  ")
    if every:
        lines += _others(found, width)
    return [*_signed(lines), [], *_next(found, width, path=path, every=every)]


def parts_of(found: Digest) -> list[str]:
    """Returns the data in a few words each: shape, size and format, how much of it was measured, and the use."""
    data = found.dataset
    rows, columns, count = number(data.get("rows")), data.get("columns"), number(data.get("items"))
    parts = []
    if data.get("kind") == "table" and rows is not None:
        n = (
            number(data.get("n_columns"))
            or _columns(found)
            or (len(columns) if isinstance(columns, list) else 0)
        )
        total, index = _of_all(found, rows), number(data.get("index_columns")) or 0
        n -= index
        beside = " and the index" * bool(index)
        parts.append(f"{total} row{'s' * (total != '1')} \xd7 {text.count(n)} column{'s' * (n != 1)}{beside}")
    elif data.get("kind"):
        several = count is not None and count > 1
        parts.append(f"{_of_all(found, count)} items" if several else f"one {text.visible(data['kind'], 20)}")
    format = text.visible(gains.source_name(mapping(found.verdict.get("source"))), 20)
    if format and (around := ", ".join(text.visible(one, 10) for one in items(data.get("compressors"))[:3])):
        format = f"{format} ({around})"
    size = number(data.get("bytes_disk"))
    if size is not None:
        files = f"{text.count(found.files)} file{'s' * (found.files != 1)}, " if found.files else ""
        parts.append(f"{files}{verdict_text.amount(size)}{f' as {format}' if format else ''}")
    elif number(data.get("bytes_memory")):
        parts.append(f"{text.memory(number(data.get('bytes_memory')))} in memory")
    parts += [*_measured(found).split("; "), f"use: {text.visible(found.profile, 20)}{_over(found)}"]
    return [part for part in parts if part]


def _of_all(found: Digest, count: float | None) -> str:
    """A count of rows or items; of a file that was opened in part also how many it has."""
    part = mapping(found.dataset.get("partial"))
    total = number(part.get("rows_total"))
    if count is None or total is None or total <= count:
        return text.count(count)
    about = "about " * bool(part.get("estimated"))
    return f"{text.count(count)} of {about}{text.count(_rounded(total) if about else total)}"


def _rounded(total: float) -> float:
    """An estimate with three digits.

    >>> _rounded(1234567.0), _rounded(87.0)
    (1230000.0, 87.0)
    """
    return float(f"{total:.3g}")


def _over(found: Digest) -> str:
    """The link that messages are meant to go over, or that was asked for: its rate and round trip."""
    weights = mapping(found.verdict.get("weights"))
    rate, trip = number(weights.get("v")), number(weights.get("rtt"))
    if not rate or not (found.profile == "message" or found.verdict.get("linked")):
        return ""
    return f" over {verdict_text.rate(rate)}{f' and {trip * 1e3:.3g} ms' if trip else ''}"


def _headline(found: Digest, width: int) -> list[Line]:
    name = isolated(text.visible(found.dataset.get("name") or "data", 60))
    line: Line = [(name, "bold")]
    lines = [line]
    used = text.width_of(name)
    parts = parts_of(found)
    if is_default_use(found):
        parts[-1] += " (change with --for)"
    for part in parts:
        if used + 3 + text.width_of(part) > width:
            lines.append([("  ", "")])
            used = 2
        lines[-1].append((f"   {part}" if used > 2 else part, ""))
        used += 3 + text.width_of(part)
    if found.record.get("interrupted"):
        lines += wrap("Interrupted: what was finished is shown.", width, "", "yellow")
    return lines


def _columns(found: Digest) -> float:
    """How many columns were compared: a summary may list the first of them only."""
    counted = [
        number(mapping(case.get("verify")).get("columns")) for case in items(found.record.get("cases"))
    ]
    return max((one for one in counted if one), default=0.0)


def _measured(found: Digest) -> str:
    if not any(row.timed for grid in found.grids for row in grid.rows):
        return "nothing was measured"
    share = number(found.verdict.get("share")) if found.verdict.get("messages") else None
    if share is not None and share < 1:  # of messages fewer are taken than of what is encoded as a whole
        return f"measured on {text.percent(share)} of the lines, in blocks"
    if found.partial is None:
        return "measured whole"
    part = mapping(found.dataset.get("partial"))
    blocks = number(part.get("blocks")) or number(part.get("n_blocks"))
    of = (
        f"{text.count(blocks)} blocks, {text.percent(found.partial)}"
        if blocks
        else text.percent(found.partial)
    )
    whole = "" if number(found.verdict.get("messages")) else "; figures are estimates for the whole"
    return f"measured on {of} of the data{whole}"


def routes_of(found: Digest, width: int = _ROOMY) -> list[tuple[str, dict[str, Any]]]:
    """Returns what to use, what is fastest and what is smallest, each once: its label and its figures.

    Args:
        found: The record, with a codec that is recommended.
        width: Columns available, for the labels.
    """
    verdict = found.verdict
    best, quick, small = (mapping(verdict.get(name)) for name in ("chosen", "fastest", "smallest"))
    message = verdict.get("profile") == "message"
    parts = number(best.get("part_s")) is not None
    fast = "Fastest" if message else "Fastest to read" if width >= _ROOMY and not parts else "Reads fastest"
    shown = [("Cheapest" if verdict.get("keeps_file") else "Use", best)]
    if len(ranked(found)) < 2:
        return shown  # the only one is neither the fastest nor the smallest
    if quick.get("codec") == small.get("codec") != best["codec"]:
        both = "Fastest and smallest" if message else "Reads fastest, smallest"
        shown.append((both if width >= _NARROW else "Both", quick))
    elif quick.get("codec") != best["codec"]:
        shown.append((fast, quick))
    if small.get("codec") not in (best["codec"], quick.get("codec")):
        shown.append(("Smallest", small))
    return shown


def _routes(found: Digest, width: int) -> list[Line]:
    """What to use, what is fastest and what is smallest, and how sure that is."""
    shown = routes_of(found, width)
    best = shown[0][1]
    names = titles_of(str(one["codec"]) for _, one in shown)
    label = max(text.width_of(name) for name, _ in shown)
    name = max(text.width_of(names[str(one["codec"])]) for _, one in shown)
    rows = [cells(found, one) for _, one in shown]
    widths = [max(text.width_of(row[i]) for row in rows) for i in range(3)]
    figures = [
        "   ".join(
            pad(cell, w, right=i == 0) for i, (cell, w) in enumerate(zip(row, widths, strict=True)) if w
        )
        for row in rows
    ]
    room = width - 8 - label - max(map(text.width_of, figures))
    # On a narrow terminal the figures have a line of their own.
    below = room < name
    name = min(name, width - 5 - label)
    lines: list[Line] = []
    if keeps := str(found.verdict.get("keeps_file") or ""):
        lines += [*wrap(f"{keeps[:1].upper()}{keeps[1:]}.", width, "  ", "bold green"), []]
    for place, ((said, one), row) in enumerate(zip(shown, figures, strict=True)):
        title = middle(text.visible(names[str(one["codec"])], 200), name)
        first = place == 0 and not keeps
        line: Line = [(f"  {pad(said, label)}   ", "bold" if first else "")]
        line.append((title if below else pad(title, name), "bold green" if first else ""))
        if below:
            lines.append(line)
            line = [("      ", "")]
        line.append((row if below else f"   {row}", ""))
        kept = kept_by(found, str(one["codec"]))
        fits = sum(text.width_of(piece) for piece, _ in line) + 3 + text.width_of(kept) <= width
        if kept and fits and (place == 0 or kept != kept_by(found, str(best["codec"]))):
            line.append((f"   {kept}", "red" if "changes" in kept else ""))
        lines.append(line)
        if place == 0:
            lines += _about(found, width, "" if fits else kept)
            lines.append([])
        elif kept != kept_by(found, str(best["codec"])) and not fits:
            lines += wrap(kept, width, "      ", "dim")
    return lines if len(shown) > 1 else lines[:-1]


def cells(found: Digest, one: dict[str, Any]) -> tuple[str, str, str]:
    """Size and times of a codec; of a stream one time from end to end."""
    route = str(found.verdict.get("route") or "").partition("@")[2].partition(",")[0]
    write_s, read_s = number(one.get("write_s")) or 0.0, number(one.get("read_s")) or 0.0
    spans = bool(write_s) and not read_s and route not in ("file", "memory", "store")
    told = verdict_text.spent(
        {"write_s": write_s, "read_s": read_s, "part_s": number(one.get("part_s"))}, spans=spans
    )
    told += [""] * (2 - len(told))
    return verdict_text.sized(one | {"bytes": number(one.get("bytes"))}), told[0], told[1]


def about(found: Digest, kept: str = "") -> str:
    """Returns what is gained by the recommended codec, and what else there is to know of it, in sentences.

    Args:
        found: The record, with a verdict.
        kept: What the codec keeps, where that is not said elsewhere.
    """
    verdict, said = found.verdict, []
    if (beside := str(verdict.get("beside") or "")) and not verdict.get("keeps_file"):
        said.append(beside)  # where nothing can be felt, no ratio matters
    if kept:
        said.append(kept)
    if verdict.get("messages"):
        said.append(f"figures are of one message, the mean of {text.count(verdict['messages'])}")
    elif change := line_change(
        str(verdict.get("codec")), str(mapping(verdict.get("source")).get("format") or "")
    ):
        said.append(change)
    if found.files > 1:
        said.append(f"sizes and times are of all {text.count(found.files)} files as one")
    if also := _also(found):
        some = " of those measured" * _is_partial(found)
        # What is smaller or faster and loses values stands in the bars below.
        lossy = any(
            str(one.get("reason")).startswith("changes data") for one in items(verdict.get("excluded"))
        )
        some = f"{some or ' of those'} that keep every value" if lossy else some
        said.append(f"it is also {' and '.join(also)}{some}")
    if (dearer := number(verdict.get("source_costs"))) is not None and dearer < _CHEAPER:
        have = gains.source_name(mapping(verdict.get("source")))
        said.append(
            f"the {text.visible(have, 20)} you have costs {text.percent(1 - dearer)} less in all: keep it unless you need another"
        )
    if ours := str(verdict.get("only_ours") or ""):
        # What others read has a line of its own where there is a command for it.
        said.append(ours.partition(";")[0] if for_others(found)[0] else ours)
    if column := str(verdict.get("part") or ""):
        said.append(f"a part is the column '{text.visible(column, 40)}'")
    if (small := no_matter(verdict)) and not verdict.get("keeps_file"):
        said.append(small)
    if verdict.get("executes_code"):
        said.append("bytes from others can run code when read: only read your own")
    return " ".join(f"{one[:1].upper()}{one[1:]}." for one in said)


def _about(found: Digest, width: int, kept: str) -> list[Line]:
    """What is gained by the recommended codec, and how sure it is."""
    lines = wrap(about(found, kept), width, "      ")
    if found.verdict.get("keeps_file"):
        return lines  # where nothing can be felt, no doubt matters
    doubt = text.one_line(found.verdict.get("doubt") or "", 900).replace("`", "")
    lines += wrap(isolated(doubt), width, "      ", "yellow")
    weights = mapping(found.verdict.get("weights"))
    if weights and len(mapping(found.verdict.get("cost_s"))) > 1:
        trip = verdict_text.round_trip(weights)
        said = f"Cost: {verdict_text.counts(weights)}{f'; {trip}' if trip else ''} (tare measure --help uses)"
        lines += wrap(said, width, "      ", "dim")
    return lines


def _also(found: Digest) -> list[str]:
    """What else the recommended codec is, where others were measured: the fastest, the smallest."""
    verdict = found.verdict
    if len(mapping(verdict.get("cost_s"))) < 2:
        return []
    quick, small = (mapping(verdict.get(name)) for name in ("fastest", "smallest"))
    parts = mapping(verdict.get("chosen")).get("part_s") is not None
    fast = "the fastest" if verdict.get("profile") == "message" else f"the fastest to read{' a part' * parts}"
    named = ((quick, fast), (small, "the smallest"))
    return [said for one, said in named if one.get("codec") == verdict.get("codec")]


def _is_partial(found: Digest) -> bool:
    """Whether codecs were not reached that may be better in one way or the other."""
    return any(one.get("reason") == NOT_REACHED for one in items(found.verdict.get("excluded")))


def _signed(lines: list[Line]) -> list[Line]:
    """Ratios with the sign of multiplication, and microseconds with theirs."""
    return [[(signed(piece), style) for piece, style in line] for line in lines]


def signed(said: str) -> str:
    r"""Returns words with the signs of multiplication and of microseconds.

    >>> signed("5.2x smaller, 3.1 us") == "5.2\xd7 smaller, 3.1 \xb5s"
    True
    """
    return micro(_RATIO.sub("\xd7", said))


def _drawn(found: Digest, *, every: bool) -> list[str]:
    """The codecs that are drawn: all, or the best with those that the answer speaks of."""
    known = ranked(found)
    if every or len(known) <= _ROWS:
        return known
    named = [
        mapping(found.verdict.get(name)).get("codec")
        for name in ("chosen", "fastest", "smallest", "source", "reference")
    ]
    keep = [codec for codec in dict.fromkeys(named) if codec in known]
    keep += [codec for codec in known if codec not in keep][: max(0, _ROWS - len(keep))]
    return [codec for codec in known if codec in keep]


def _bars(found: Digest, width: int, *, every: bool) -> list[Line]:
    """Size and reading time of the measured codecs as bars; of messages writing and reading together."""
    codecs, figures = _drawn(found, every=every), mapping(found.verdict.get("figures"))
    if len(codecs) < 2:
        return []
    best, message = found.verdict.get("codec"), found.verdict.get("profile") == "message"
    parts = bool(mapping(found.verdict.get("chosen")).get("part_s"))
    names = titles_of(codecs)
    excluded = {str(one.get("codec")): str(one.get("reason")) for one in items(found.verdict.get("excluded"))}
    rows = []
    for codec in codecs:
        size, write_s, read_s = (number(figures[codec].get(key)) for key in ("bytes", "write_s", "read_s"))
        spent: float | None = (write_s or 0.0) + (read_s or 0.0) if message or not read_s else read_s
        if parts:  # what cannot read a part has no bar
            spent = number(figures[codec].get("part_s"))
        mark = mark_of(found, codec, excluded.get(codec, ""))
        style = "bold green" if codec == best else "red" if mark else ""
        rows.append(Bar(text.visible(names[codec], 60), (size, spent), mark, style))
    size_unit, size_scale = _unit([row.values[0] for row in rows], _SIZES)
    time_unit, time_scale = _unit([row.values[1] for row in rows], _SCALES)
    marks = ["~" * verdict_text.is_estimated(figures[codec]) for codec in codecs]
    labels = [
        (mark + _size(row.values[0], size_scale), _time(row.values[1], time_scale))
        for row, mark in zip(rows, marks, strict=True)
    ]
    told = "write + read" if message else "read a part" if parts else "read"
    heads = (f"size, {size_unit}", f"{told}, {time_unit}")
    return [
        *bars.lines_of(heads, rows, width, labels),
        *wrap(estimated(found, codecs), width, "  ", "dim"),
        *_written_anew(found, codecs, names, width),
    ]


def _written_anew(found: Digest, codecs: list[str], names: Mapping[str, str], width: int) -> list[Line]:
    """Says that the bars of the user's format are of a file written anew, where the file at hand has another size."""
    have = mapping(found.verdict.get("source"))
    codec, size = str(have.get("codec") or ""), number(have.get("bytes"))
    its = mapping(mapping(found.verdict.get("figures")).get(codec))
    anew = number(its.get("bytes"))
    if codec not in codecs or not size or not anew or abs(anew / size - 1) < _SAME_SIZE:
        return []
    shown, yours = verdict_text.sized(its), verdict_text.amount(size)
    if shown == yours:
        return []
    said = f"The {names[codec]} bars show the file as rewritten here, {shown}; yours is {yours}."
    return wrap(said, width, "  ", "dim")


def _unit(values: list[float | None], scales: tuple[tuple[str, float], ...]) -> tuple[str, float]:
    """The unit that suits most of the figures."""
    known = sorted(value for value in values if value)
    middle = known[len(known) // 2] if known else 0.0
    return next((unit for unit in reversed(scales) if middle >= 0.9995 * unit[1]), scales[0])


def _size(value: float | None, scale: float) -> str:
    """A size in a unit, with the digits that it has elsewhere in the answer."""
    if value is None:
        return ""
    shown = value / scale
    return (
        f"{shown:,.0f}"
        if shown >= 99.95 or scale == 1
        else f"{shown:.1f}"
        if shown >= 0.05
        else f"{shown:.1g}"
    )


def _time(value: float | None, scale: float) -> str:
    """A time in a unit, with the digits that it has elsewhere in the answer."""
    if value is None:
        return ""
    shown = value / scale
    return f"{shown:,.0f}" if shown >= 99.5 else f"{shown:.2g}"


def _others(found: Digest, width: int) -> list[Line]:
    """Each codec that was not measured, a line each with its id, below the reason that several share."""
    drawn = set(ranked(found))
    rest = {
        str(one.get("codec")): str(one.get("reason") or "") for one in items(found.verdict.get("excluded"))
    }
    left = [(codec, reason) for codec, reason in rest.items() if codec not in drawn]
    if not left:
        return []
    names = titles_of(codec for codec, _ in left)
    wide = min(_NAME, max(text.width_of(name) for name in names.values()))
    shared: dict[str, list[str]] = {}
    for codec, reason in left:
        shared.setdefault(text.one_line(reason, 300), []).append(codec)
    lines: list[Line] = [[], [("  Not measured, or without a result", "bold")]]
    for reason, codecs in shared.items():
        lines += wrap(f"{reason[:1].upper()}{reason[1:]}:", width, "  ")
        for codec in codecs:
            name, id = text.visible(names[codec], 200), text.visible(codec, 200)
            if text.width_of(name) > wide or wide + 7 + text.width_of(id) > width:  # both stay whole
                lines += [*wrap(name, width, "    ", "dim"), [(f"        {id}", "dim")]]
            else:
                lines.append([(f"    {pad(name, wide)}   {id}", "dim")])
    return lines


def _next(found: Digest, width: int, *, path: str, every: bool) -> list[Line]:
    """The command that does what was recommended, the same in Python, and where there is more."""
    lines: list[Line] = []
    for label, step in (todo := steps(found, path)):
        first, *more = step.split("\n")
        lines += [_labelled(label, first), *([(isolated(line), "")] for line in more)]
    by_command = any(label == "Do it" for label, _ in todo)
    if todo and not by_command:
        lines += wrap(other_kind(found), width, " " * 12, "dim")
        lines += wrap(added_time(found), width, " " * 12, "dim")
    if in_r := r_call(found, path):
        lines.append(_labelled("R", in_r))
    if whole := whole_file(found, path):
        lines.append(_labelled("File", whole))
    other, why = for_others(found, path)
    if other:
        lines += [_labelled("Or", other), *wrap(signed(why), width, " " * 12, "dim")]
    if table := as_table(found, path):
        said = "as a table it may be smaller and faster; then measure that"
        lines += [_labelled("Table", table), *wrap(said, width, " " * 12, "dim")]
    hints = ["Details: -v", "Report: --html report.html"]
    if not every and (all_of := _all_codecs(found)):
        hints.insert(0, all_of)
    if not path and not by_command and not whole:
        return lines  # measured from Python: options of the command do not apply
    shown = "     ".join(hints)
    return [*lines, *([[(f"  {hint}", "dim")] for hint in ([shown] if len(shown) + 2 <= width else hints)])]


def _all_codecs(found: Digest) -> str:
    """How many codecs there are, how many were measured and refused the data, and how all are seen; empty where all are shown."""
    total, measured = len(mapping(found.record.get("codecs"))) or len(found.codecs), len(ranked(found))
    if measured == total <= _ROWS:
        return ""
    left = [str(one.get("reason") or "") for one in items(found.verdict.get("excluded"))]
    refused = sum(reason.startswith(_REFUSES) for reason in left)
    told = [f"{text.count(measured)} measured"] if measured < total else []
    told += [f"{text.count(refused)} cannot hold the data"] if refused else []
    return f"All {text.count(total)} codecs{f' ({listed})' if (listed := ', '.join(told)) else ''}: --all"


def _labelled(label: str, line: str) -> Line:
    """A line to be copied, behind what it is for."""
    return [(f"  {label + ':':<10}", "bold"), (isolated(line), "")]
