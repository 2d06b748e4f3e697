"""An experiment's page: the study, its figures beside ours, its faults, everything that was measured."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from experiment_pages.curves import curves
from experiment_pages.figures import FEW, WIDE, Row, compared, is_base, percent
from experiment_pages.method import complete, floors, floors_said, method, reached
from experiment_pages.reach import unasked
from experiment_pages.table import table

__all__ = ["page"]

_NOISY = 0.10

_REDUCED = "**This page is of a reduced run**, which shows only whether everything runs: no figure of it can be quoted."

_JUDGED = (
    "Times, intervals and verdicts are derived from the samples each time this page is made. What came back was judged "
    "when it was measured: *kept* and the statuses are those of that date, by the Tare that is named with it."
)

_AGREES = {
    "base": "the base of the others",
    "yes": "as published",
    "direction": "in the same direction, but not by as much or by more",
    "no": "otherwise",
    "untold": "could not be told from so few samples or so wide an interval",
    "void": "cannot be compared, since the study's own read never ran",
    "": "could not be measured here",
    "left": "not part of this run",
}


def page(
    study: Mapping[str, Any],
    results: Mapping[str, Any],
    paths: Mapping[str, Path],
    charts: Mapping[str, list[Path]],
    pages: Path,
) -> str:
    """The page as Markdown.

    Args:
        study: What ``bench/experiments/NAME.toml`` says.
        results: The Result of each run, by its name.
        paths: Their records.
        charts: Their charts.
        pages: The folder that the page stands in.
    """
    parts = [
        f"# {study['plan']}: {study['title']}",
        f"[{study['title']}]({study['url']}), {study['author']}, {study['date']}.",
        *([_REDUCED] if study.get("reduced") else []),
        f"**Asked.** {study['asked']}",
        "**Answer.** " + _answer(study, results),
        *_stand_ins(study),
        "## How it was measured",
        _JUDGED,
        *method(study, results, paths, pages),
        "## The study's figures beside ours",
        _legend(study),
        *_figures(study, results),
        "## Faults of the study, and what stands here instead",
        "\n".join(
            [
                "| there | here |",
                "|---|---|",
                *(f"| {one['fault']} | {_filled(one['ours'], results)} |" for one in study["fault"]),
            ]
        ),
        *_measured(study, results, charts, pages),
    ]
    return "\n\n".join(parts) + "\n"


def _answer(study: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """How many figures are as published, by counting."""
    counts, stand_ins, others = (dict.fromkeys(_AGREES, 0) for _ in range(3))
    for figures in study["figures"]:
        run = figures.get("run", next(iter(results)))
        if run not in results:
            for row in figures["rows"]:
                (others if row.get("as") else counts)["left"] += not is_base(figures, row)
            continue
        rows = compared(figures, complete(results[run]))
        for row in rows:
            (others if row.stands_for else counts)[row.agrees] += 1
            if row.stands_for and row.agrees and _unmeasured(rows, row):
                stand_ins[row.agrees] += 1
    del counts["base"], others["base"]
    rest = [*_weaker(study), *_uncertain(results), *unasked(study, results)]
    if not any(counts.values()):
        answer = (
            f"Nothing of the study's own runs here. Of {sum(others.values())} published figures, "
            f"by what stands in for it: {_listed(others)}."
        )
        return " ".join((answer, *rest))
    answer = f"Of {sum(counts.values())} published figures: {_listed(counts)}."
    if count := sum(stand_ins.values()):
        answer += f" For {count} of the last a stand-in was, another library of the same format: {_listed(stand_ins)}."
    return " ".join((answer, *rest))


def _unmeasured(rows: list[Row], stand_in: Row) -> bool:
    """Whether the study's own codec, for which the row stands, has no figure here."""
    return any(
        not row.stands_for
        and not row.agrees
        and (row.codec, row.where) == (stand_in.stands_for, stand_in.where)
        for row in rows
    )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {_AGREES[key]}" for key, count in counts.items() if count)


def _weaker(study: Mapping[str, Any]) -> Iterator[str]:
    """That a figure of other data is less than the study's figure found again."""
    if study.get("stand_in"):
        own = sum(len(figures["rows"]) for figures in study["figures"] if figures.get("own_data"))
        but = f" but {own}" if own else ""
        yield f"All of them{but} are of other data than the study's, so that *as published* says less:"
        yield "such data give the like here, not that the study's figure was found again."


def _uncertain(results: Mapping[str, Any]) -> Iterator[str]:
    """How far single figures can be trusted, of each run in which that is not far."""
    for name, result in results.items():
        share = reached(result)
        if share and share < 1:
            run = f"The run {name}" if name else "The run"
            yield f"{run} reached {percent(share)} of the data, in one launch: what is said of the whole is predicted."
        found = floors(result)
        if found and found[-1] > _NOISY:
            run = f"Of the run {name}, single" if name else "Single"
            yield (
                f"{run} figures are uncertain by as much as the base, measured twice, differed from itself: "
                f"{floors_said(found)}."
            )


def _stand_ins(study: Mapping[str, Any]) -> Iterator[str]:
    """What the data are that were measured in place of the study's."""
    if rows := study.get("stand_in"):
        yield "## Data that stand in for the study's"
        heads = ["| data here | what they are | in place of |", "|---|---|---|"]
        yield "\n".join([*heads, *(f"| `{row['data']}` | {row['is']} | {row['for']} |" for row in rows)])


def _legend(study: Mapping[str, Any]) -> str:
    """What the columns of the tables mean."""
    times = any(figures["operation"] != "bytes" for figures in study["figures"])
    said = ["Times of another machine are compared as multiples of a base. *as published* is"]
    said += [
        "*yes* if the multiple is within a factor of 1.5 of the published one, and on the same side of the base"
    ]
    said += ["(or both are within 10 % of it); *direction* if it is only on the same side; else *no*."]
    if any("within" in figures for figures in study["figures"]):
        said += ["Sizes have a margin of their own, told above their table."]
    if times:
        said += [
            f"*not told*: the figure or its base has fewer than {FEW} samples, or the interval reaches from one"
        ]
        said += [
            "answer into another. *interval* is that of the multiple, *samples* are those of the figure and of its"
        ]
        said += ["base."]
    if any("sizes" in row for figures in study["figures"] for row in figures["rows"]):
        said += [
            f"Tables with *N sizes* there have another rule, for a size may be one sample: the multiples at {FEW} sizes or"
        ]
        said += [
            "more are compared, *interval* is the least and the most of them, which is no confidence interval,"
        ]
        said += ["and *not told* is what they do not all say alike, or where the study's own lie more than"]
        said += [f"{WIDE:g} times apart."]
    said += ["*kept* is what came back of what was written."]
    if any(figures.get("predicted") for figures in study["figures"]):
        said += [
            "~ is predicted from the growth of smaller parts; where the ends of a prediction are more than"
        ]
        said += [f"{WIDE:g} times apart, it is not told."]
    return " ".join(said)


def _figures(study: Mapping[str, Any], results: Mapping[str, Any]) -> Iterator[str]:
    for figures in study["figures"]:
        run = figures.get("run", next(iter(results)))
        yield f"### {figures['heading']}"
        notes = [figures["note"]] if "note" in figures else []
        notes += (
            [f"Sizes within {figures['within'] * 100:.0f} % count as equal."] if "within" in figures else []
        )
        if notes:
            yield " ".join(notes)
        if run not in results:
            yield "Not measured in this run."
            continue
        yield "\n".join(table(figures, compared(figures, complete(results[run]))))


def _filled(said: str, results: Mapping[str, Any]) -> str:
    """A text with counts of the records in it: ``{memory}`` or ``{few}``, of one data set ``{memory runif:8}``."""

    def count(found: re.Match[str]) -> str:
        rows = list(_rows(results, found[2]))
        wanted = [row for row in rows if (_few(row) if found[1] == "few" else row.get("peak_bytes"))]
        return f"{len(wanted):,} of {len(rows):,}"

    return re.sub(r"\{(memory|few) ?([^}]*)\}", count, said)


def _rows(results: Mapping[str, Any], dataset: str) -> Iterator[Mapping[str, Any]]:
    """What is derived of each case that was measured, of one data set if it is named."""
    for result in results.values():
        for case in result.cases:
            labels = case["labels"]
            if "twin" in labels or labels["codec"] == "copy" or case["status"] not in ("ok", "lossy"):
                continue
            if not dataset or labels.get("dataset") == dataset:
                yield result.derived["cases"][case["key"]]


def _few(row: Mapping[str, Any]) -> bool:
    return any(times["samples"] < FEW for times in (row.get("ops") or {}).values())


def _measured(
    study: Mapping[str, Any], results: Mapping[str, Any], charts: Mapping[str, list[Path]], pages: Path
) -> Iterator[str]:
    from tare.report.charts import CHARTS, group_said
    from tare.report.digest import digest

    for name, result in results.items():
        yield f"## Everything measured{f': {name}' if name else ''}"
        found = digest(result) if charts[name] else None
        for chart in charts[name]:
            heading, about = CHARTS[chart.stem]
            said = f"{heading}: {group_said(found, chart.stem)}. {about}"
            yield f"![{said}]({os.path.relpath(chart, pages)})"
        if result.record["plan"].get("grow"):
            yield from curves(result, study.get("limits", {}))
        else:
            yield from _report(study, result)
    again = f"make bench NAME='experiments {study['plan']}'"
    yield "## Again"
    yield f"```\n{again}\n{again.replace(study['plan'], study['plan'] + ' --pages')}\n```"
    yield "The first measures anew on your machine and makes this page of it, the second makes the page from the record."


def _report(study: Mapping[str, Any], result: Any) -> Iterator[str]:
    """Tare's own report of a record, without the rows that can never run: they are told once."""
    from tare.measure.result import Result
    from tare.report import markdown

    cases = list(result.cases)
    for one in study.get("not_run", ()):
        left = [case for case in cases if not case["labels"]["codec"].startswith(one["codec"])]
        if len(left) < len(cases):
            yield f"{one['why']} The {len(cases) - len(left)} rows of it are left out of the tables below."
        cases = left
    shown = Result({**result.record, "derived": result.derived, "cases": cases})
    report = markdown.render(shown).split("\n", 1)[1].strip()
    yield "\n".join("#" + line if line.startswith("#") else line for line in report.splitlines())
