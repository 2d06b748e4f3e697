"""An experiment's page: the study, its figures beside ours, its faults, everything that was measured."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from experiment_figures import compared, table

__all__ = ["page"]

_NOISY = 0.10

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
    counts, stand_ins, others = (dict.fromkeys(_AGREES, 0) for _ in range(3))
    for figures in study["figures"]:
        run = figures.get("run", next(iter(results)))
        if run not in results:
            counts[""] += sum(not row.get("as") for row in figures["rows"])
            continue
        rows = compared(figures, _complete(results[run]))
        for row in rows:
            (others if row["as"] else counts)[row["agrees"]] += 1
            if row["as"] and row["agrees"] and _unmeasured(rows, row):
                stand_ins[row["agrees"]] += 1
    del counts["base"], others["base"]
    if not any(counts.values()):
        answer = (
            f"Nothing of the study's own runs here. Of {sum(others.values())} published figures, "
            f"by what stands in for it: {_listed(others)}."
        )
        return " ".join((answer, *_uncertain(results)))
    answer = f"Of {sum(counts.values())} published figures: {_listed(counts)}."
    if count := sum(stand_ins.values()):
        answer += f" For {count} of the last a stand-in was, another library of the same format: {_listed(stand_ins)}."
    return " ".join((answer, *_uncertain(results)))


def _unmeasured(rows: list[dict[str, Any]], stand_in: Mapping[str, Any]) -> bool:
    """Whether the study's own codec, for which the row stands, has no figure here."""
    return any(
        not row["as"]
        and not row["agrees"]
        and (row["codec"], row["where"]) == (stand_in["as"], stand_in["where"])
        for row in rows
    )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {_AGREES[key]}" for key, count in counts.items() if count)


def _uncertain(results: Mapping[str, Any]) -> Iterator[str]:
    """How far single figures can be trusted, of each run in which that is not far."""
    for name, result in results.items():
        reached = _reached(result)
        if reached and reached < 1:
            run = f"Of the run {name}, all" if name else "All"
            yield f"{run} are predicted: the largest part that was measured is {reached * 100:.2g} % of the data, in one launch."
        floors = _floors(result)
        if floors and floors[-1] > _NOISY:
            run = f"Of the run {name}, single" if name else "Single"
            yield (
                f"{run} figures are uncertain by as much as the base, measured twice, differed from itself: "
                f"{_said(floors)}."
            )


def _reached(result: Any) -> float:
    """The largest part of the data that a growing plan measured; 0 of other plans."""
    if not result.record["plan"].get("grow"):
        return 0.0
    sizes = (float(case["labels"].get("size", "1")) for case in result.cases if case.get("launches"))
    return max(sizes, default=0.0)


def _floors(result: Any) -> list[float]:
    """How far the base, measured twice, may differ from itself in each group, the quietest first."""
    noise = result.derived["noise"]
    aa = [row for row in noise.get("aa") or () if row["op"] == "total" and row.get("hi") and row.get("lo")]
    found = sorted(max(row["hi"], 1 / row["lo"]) - 1 for row in aa)
    return found or ([noise["floor"]] if noise.get("floor") is not None else [])


def _said(floors: list[float]) -> str:
    """The floor, or those of several groups.

    >>> _said([0.021]), _said([0.01, 0.02, 0.5])
    ('2.1 %', '2.0 % in the median of 3 groups, 50.0 % in the worst')
    """
    if len(floors) == 1:
        return f"{floors[0] * 100:.1f} %"
    return (
        f"{median(floors) * 100:.1f} % in the median of {len(floors)} groups, "
        f"{floors[-1] * 100:.1f} % in the worst"
    )


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
    before_s = (record.get("resumed") or {}).get("before_s") or 0.0
    took = text.duration((record["elapsed_s"] + before_s) * 1e9)
    parts = ", in parts, each going on where the one before was cut short" if before_s else ""
    yield f"[Record]({link}) of {record['created'][:10]}, by Tare {record['tare']}; it took {took}{parts}."
    memory = (machine.get("memory_bytes") or 0) / 2**30
    yield f"{machine.get('cpu_model')}, {machine.get('cores')} cores, {memory:.0f} GiB,"
    yield f"{machine.get('kernel')}, files on {machine.get('filesystem')}."
    statistics = record["plan"]["statistics"]
    if grow := record["plan"].get("grow"):
        yield f"Each size is one launch of {statistics['rounds']} rounds, fewer for slow cases; sizes grow from"
        yield f"{grow['start']:g} of the data by {grow['factor']:.3g} at a time;"
    else:
        yield f"{statistics['launches']} launches of {statistics['rounds']} rounds, fewer for slow cases;"
    yield "codecs take turns within a round."
    limit = (record.get("settings") or {}).get("time_s")
    if limit:
        made = median(len(case["launches"]) for case in result.cases if case.get("launches"))
        share = "" if grow else ", each data set its share of it:"
        yield f"The run was given {text.duration(limit * 1e9)}{share or ';'}"
        if grow:
            yield f"the largest size that it reached is {_reached(result):.2g} of the data."
        else:
            yield f"half of the cases had {made:g} launches or more."
    noise = result.derived["noise"]
    floors = _floors(result)
    yield f"Noise floor {_said(floors) if floors else 'not measured'}."
    if not noise.get("quiet", True):
        yield "*contended* below counts figures whose wall clock ran 10 % past CPU and blocked time, which is but one way"
        yield "of not being quiet: *never quiet* names the one that it was."
    yield from _cases(result.cases)
    pending = sum(case["status"] == "pending" for case in result.cases)
    if record.get("interrupted"):
        yield f"**The run was interrupted**: {pending} cases were not reached."
    elif pending:
        yield f"**The run was cut short by its time limit**: {pending} cases were not reached."
    if misjudged := [case["labels"]["codec"] for case in result.cases if _misjudged(case)]:
        yield f"`{'`, `'.join(sorted(set(misjudged)))}` with materialise touch is told as unproven, and no data was lost:"
        yield "that version of Tare counted the library's handle (1) in place of the rows that it stands for."


def _cases(cases: list[dict[str, Any]]) -> Iterator[str]:
    """How many cases the tables show, by status, and what else the record holds."""
    counts: dict[str, int] = {}
    twins = sum("twin" in case["labels"] for case in cases)
    copies = sum(case["labels"]["codec"] == "copy" for case in cases if "twin" not in case["labels"])
    for case in cases:
        if "twin" not in case["labels"] and case["labels"]["codec"] != "copy":
            counts[case["status"]] = counts.get(case["status"], 0) + 1
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    yield f"Cases: {sum(counts.values())} ({said})."
    rest = [f"{copies} of copying the bytes"] if copies else []
    rest += [f"{twins} of the base once more, for the noise floor"] if twins else []
    if rest:
        yield f"The record has {' and '.join(rest)} besides."


def _misjudged(case: Mapping[str, Any]) -> bool:
    """Whether a view that was read whole was counted as one item: a fault of earlier versions."""
    return (
        case["status"] == "unproven"
        and case["labels"].get("materialise") == "touch"
        and case["reason"].startswith("1 of ")
    )


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
