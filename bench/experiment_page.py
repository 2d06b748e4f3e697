"""An experiment's page: the study, its figures beside ours, its faults, everything that was measured."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median as statistics_median
from typing import Any

from experiment_figures import compared, table

__all__ = ["page"]

_AGREES = {
    "base": "the base of the others",
    "yes": "as published",
    "direction": "in the same direction, but not by as much or by more",
    "no": "otherwise",
    "": "could not be measured here",
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
        f"**Asked.** {study['asked']}",
        "**Answer.** " + _answer(study, results),
        "## How it was measured",
        *_method(study, results, paths, pages),
        "## The study's figures beside ours",
        "Times of another machine are compared as multiples of a base. *as published*: yes within a factor of 1.5 "
        "(sizes: as said), *direction* if it is on the same side of the base, else no. *kept* is what came back of "
        "what was written. ~ is predicted from the growth of smaller parts.",
        *_figures(study, results),
        "## Faults of the study, and what stands here instead",
        "\n".join(
            [
                "| there | here |",
                "|---|---|",
                *(f"| {one['fault']} | {one['ours']} |" for one in study["fault"]),
            ]
        ),
        *_measured(study, results, charts, pages),
    ]
    return "\n\n".join(parts) + "\n"


def _answer(study: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """How many figures are as published, by counting."""
    counts = dict.fromkeys(_AGREES, 0)
    for figures in study["figures"]:
        run = figures.get("run", next(iter(results)))
        if run not in results:
            counts[""] += len(figures["rows"])
            continue
        for row in compared(figures, _complete(results[run])):
            counts[row["agrees"]] += 1
    del counts["base"]
    said = [f"{count} {_AGREES[key]}" for key, count in counts.items() if count]
    total = sum(counts.values())
    return f"Of {total} published figures: {', '.join(said)}."


def _complete(result: Any) -> dict[str, Any]:
    return {**result.record, "derived": result.derived}


def _method(
    study: Mapping[str, Any], results: Mapping[str, Any], paths: Mapping[str, Path], pages: Path
) -> Iterator[str]:
    for name, result in results.items():
        about = next((run.get("about", "") for run in study["run"] if run["name"] == name), "")
        link = os.path.relpath(paths[name], pages)
        yield (f"**{name}** ({about}). " if name else "") + " ".join(_facts(result, link))
        yield "Versions: " + ", ".join(_versions(result.record)) + "."


def _facts(result: Any, link: str) -> Iterator[str]:
    """What a reader needs to judge the figures, or to measure them again."""
    from tare.report import text

    record, machine = result.record, result.record["machine"]
    took = text.duration(record["elapsed_s"] * 1e9)
    yield f"[Record]({link}) of {record['created'][:10]}, by Tare {record['tare']}; it took {took}."
    memory = (machine.get("memory_bytes") or 0) / 2**30
    yield f"{machine.get('cpu_model')}, {machine.get('cores')} cores, {memory:.0f} GiB,"
    yield f"{machine.get('kernel')}, files on {machine.get('filesystem')}."
    statistics = record["plan"]["statistics"]
    yield f"{statistics['launches']} launches of {statistics['rounds']} rounds, fewer for slow cases;"
    yield "codecs take turns within a round."
    limit = (record.get("settings") or {}).get("time_s")
    if limit:
        made = statistics_median(len(case["launches"]) for case in result.cases if case.get("launches"))
        yield f"The run was given {text.duration(limit * 1e9)}, each data set its share of it:"
        yield f"half of the cases had {made:g} launches or more."
    floor = result.derived["noise"].get("floor")
    yield f"Noise floor {'not measured' if floor is None else f'{floor * 100:.1f} %'}."
    counts: dict[str, int] = {}
    for case in result.cases:
        counts[case["status"]] = counts.get(case["status"], 0) + 1
    yield f"Cases: {', '.join(f'{count} {status}' for status, count in sorted(counts.items()))}."


def _versions(record: Mapping[str, Any]) -> list[str]:
    found: dict[str, str] = {}
    for codec in record["codecs"].values():
        found |= {name: str(version) for name, version in (codec.get("versions") or {}).items() if version}
    return [f"{name} {version}" for name, version in sorted(found.items())]


def _figures(study: Mapping[str, Any], results: Mapping[str, Any]) -> Iterator[str]:
    for figures in study["figures"]:
        run = figures.get("run", next(iter(results)))
        yield f"### {figures['heading']}"
        if "note" in figures:
            yield figures["note"]
        if run not in results:
            yield "Not measured in this run."
            continue
        yield "\n".join(table(figures, compared(figures, _complete(results[run]))))


def _measured(
    study: Mapping[str, Any], results: Mapping[str, Any], charts: Mapping[str, list[Path]], pages: Path
) -> Iterator[str]:
    from tare.report import markdown
    from tare.report.charts import CHARTS

    for name, result in results.items():
        yield f"## Everything measured{f': {name}' if name else ''}"
        for chart in charts[name]:
            heading, about = CHARTS[chart.stem]
            yield f"![{heading}. {about}]({os.path.relpath(chart, pages)})"
        report = markdown.render(result).split("\n", 1)[1].strip()
        yield "\n".join("#" + line if line.startswith("#") else line for line in report.splitlines())
    again = f"make bench NAME='experiments {study['plan']}'"
    yield "## Again"
    yield f"```\n{again}\n{again.replace(study['plan'], study['plan'] + ' --pages')}\n```"
    yield "The first measures anew on your machine and makes this page of it, the second makes the page from the record."
