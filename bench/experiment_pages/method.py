"""How an experiment's records were made: machine, run, launches, noise, versions, and what the run did not reach."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median, median_high
from typing import Any

from experiment_pages.commits import commits_said
from experiment_pages.figures import Row, compared, percent

__all__ = ["complete", "floors", "floors_said", "method", "reached"]


def complete(result: Any) -> dict[str, Any]:
    """A Result's record with what is derived from it."""
    return {**result.record, "derived": result.derived}


def reached(result: Any) -> float:
    """The largest part of the data that a growing plan measured; 0 of other plans."""
    if not result.record["plan"].get("grow"):
        return 0.0
    sizes = (float(case["labels"].get("size", "1")) for case in result.cases if case.get("launches"))
    return max(sizes, default=0.0)


def floors(result: Any) -> list[float]:
    """How far the base, measured twice, may differ from itself in each group, the quietest first."""
    noise = result.derived["noise"]
    aa = [row for row in noise.get("aa") or () if row["op"] == "total" and row.get("hi") and row.get("lo")]
    found = sorted(max(row["hi"], 1 / row["lo"]) - 1 for row in aa)
    return found or ([noise["floor"]] if noise.get("floor") is not None else [])


def floors_said(floors: list[float]) -> str:
    """The floor, or those of several groups.

    >>> floors_said([0.021]), floors_said([0.01, 0.02, 0.5])
    ('2.1 %', '2.0 % in the median of 3 groups, 50.0 % in the worst')
    """
    if len(floors) == 1:
        return f"{floors[0] * 100:.1f} %"
    return (
        f"{median(floors) * 100:.1f} % in the median of {len(floors)} groups, "
        f"{floors[-1] * 100:.1f} % in the worst"
    )


def method(
    study: Mapping[str, Any], results: Mapping[str, Any], paths: Mapping[str, Path], pages: Path
) -> Iterator[str]:
    """Two paragraphs for each run.

    Args:
        study: What the study's file says.
        results: The Result of each run, by its name.
        paths: Their records.
        pages: The folder that the page stands in.
    """
    for name, result in results.items():
        about = next((run.get("about", "") for run in study["run"] if run["name"] == name), "")
        link = os.path.relpath(paths[name], pages)
        caveat = next((run["caveat"] for run in study["run"] if run["name"] == name and "caveat" in run), "")
        told = [f"**{caveat}**"] if caveat else []
        facts = [*_facts(result, link), *_behind(study, results, name), *_reached_not(result), *told]
        yield (f"**{name}** ({about}). " if name else "") + " ".join(facts)
        yield "Versions: " + ", ".join(_versions(result.record)) + "."


def _facts(result: Any, link: str) -> Iterator[str]:
    """What a reader needs to judge the figures, or to measure them again."""
    from tare.report import text

    record, machine = result.record, result.record["machine"]
    before_s = (record.get("resumed") or {}).get("before_s") or 0.0
    took = text.duration((record["elapsed_s"] + before_s) * 1e9)
    parts = ", in parts, each going on where the one before was cut short" if before_s else ""
    commits = commits_said(record)
    yield f"[Record]({link}), measured {record['created'][:10]} by Tare {record['tare']} ({commits}); it took {took}{parts}."
    memory = (machine.get("memory_bytes") or 0) / 2**30
    yield f"{machine.get('cpu_model')}, {machine.get('cores')} cores, {memory:.0f} GiB,"
    yield f"{machine.get('kernel')}, files on {machine.get('filesystem')}."
    statistics = record["plan"]["statistics"]
    if grow := record["plan"].get("grow"):
        yield "A plan that grows makes one launch a size, whatever its `launches` says:"
        yield f"here of up to {statistics['rounds']} rounds, fewer where those of the curves that are run together, up to"
        yield "eight, would take longer than a quarter of the time at which a curve ends."
        yield f"Sizes grow from {grow['start']:g} of the data by {grow['factor']:.3g} at a time."
    else:
        yield f"The plan asks for {statistics['launches']} launches of {statistics['rounds']} rounds, fewer for slow cases."
    yield "Codecs take turns within a round."
    if limit := (record.get("settings") or {}).get("time_s"):
        parts = bool((record.get("resumed") or {}).get("before_s"))
        yield _limited(
            result, f"The run was given {text.duration(limit * 1e9)}{' in its last part' if parts else ''}"
        )
    noise, found = result.derived["noise"], floors(result)
    yield f"Noise floor {floors_said(found) if found else 'not measured'}."
    if noise.get("quiet") is False:  # None: not measured
        yield "*contended* below counts figures whose wall clock ran 10 % past CPU and blocked time, which is but one way"
        yield "of not being quiet: what stands behind *quiet* there names the one that it was."


def _limited(result: Any, limit: str) -> str:
    """What the run's time, as a sentence begins to say it, was enough for."""
    if share := reached(result):
        return f"{limit}; the largest size that it reached is {percent(share)} of the data."
    launches = [len(case["launches"]) for case in result.cases if case.get("launches") and _is_shown(case)]
    once = sum(count == 1 for count in launches)
    rest = f", {once} had one" if once else ""
    said = f"half of the {len(launches)} cases measured had {_range([median_high(launches)] * 2, 'launch', 'launches')}"
    return f"{limit}, each data set its share of it: {said} or more{rest}."


def _is_shown(case: Mapping[str, Any]) -> bool:
    """Whether a case is a row of a table: the base's twin and the copying of bytes are none."""
    return "twin" not in case["labels"] and case["labels"]["codec"] != "copy"


def _behind(study: Mapping[str, Any], results: Mapping[str, Any], name: str) -> Iterator[str]:
    """How many launches and samples the figures of the tables have, not the plan."""
    rows = [
        row
        for figures in study["figures"]
        if figures.get("run", next(iter(results))) == name and figures["operation"] != "bytes"
        for row in compared(figures, complete(results[name]))
    ]
    if said := _counted(rows):
        yield f"In the tables of the study's figures each time, the base's too, rests on {said}."


def _counted(rows: Iterable[Row]) -> str:
    """The range of launches and of samples.

    >>> _counted([])
    ''
    """
    found = [
        one
        for row in rows
        for one in (row.found, row.base)
        if one is not None and one.samples and not one.predicted
    ]
    if not found:
        return ""
    launches = _range([one.launches for one in found], "launch", "launches")
    return f"{launches} and {_range([one.samples or 0 for one in found], 'sample', 'samples')}"


def _range(counts: list[int], one: str, more: str) -> str:
    lo, hi = min(counts), max(counts)
    return f"{lo} {one if lo == 1 else more}" if lo == hi else f"{lo} to {hi} {more}"


def _reached_not(result: Any) -> Iterator[str]:
    """The cases by status, and what the run did not reach or told wrongly."""
    yield from _cases(result.cases)
    pending = sum(case["status"] == "pending" for case in result.cases)
    if result.record.get("interrupted"):
        yield f"**The run was interrupted**: {pending} cases were not reached."
    elif pending:
        yield f"**The run was cut short by its time limit**: {pending} cases were not reached."
    if said := _of_memory(result.cases):
        yield said
    if misjudged := [case["labels"]["codec"] for case in result.cases if _misjudged(case)]:
        yield f"`{'`, `'.join(sorted(set(misjudged)))}` with materialise touch is told as unproven, and no data was lost:"
        yield "that version of Tare counted the library's handle (1) in place of the rows that it stands for."


def _cases(cases: list[dict[str, Any]]) -> Iterator[str]:
    """How many cases there are, by status, and what else the record holds."""
    counts: dict[str, int] = {}
    twins = sum("twin" in case["labels"] for case in cases)
    copies = sum(case["labels"]["codec"] == "copy" for case in cases if "twin" not in case["labels"])
    for case in cases:
        if _is_shown(case):
            counts[case["status"]] = counts.get(case["status"], 0) + 1
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    yield f"Cases: {sum(counts.values())} ({said})."
    rest = [f"{copies} of copying the bytes"] if copies else []
    rest += [f"{twins} of the base once more, for the noise floor"] if twins else []
    if rest:
        yield f"The record has {' and '.join(rest)} besides."


def _of_memory(cases: list[dict[str, Any]]) -> str:
    """How many cases failed for want of memory, which Tare itself limits, and to how much."""
    from tare.measure.verdict.text import HELD, of_memory, parted

    found = [
        parted(case.get("reason") or "")
        for case in cases
        if _is_shown(case) and case["status"] in ("error", "killed", "refused")
    ]
    held = [limit for reason, limit in found if limit or of_memory(reason)]
    if not held:
        return ""
    limits = sorted({limit.removeprefix(HELD) for limit in held if limit})
    told = f"beside them stands what that was ({', '.join(limits)})" if limits else ""
    unsaid = sum(not limit for limit in held)
    untold = f"of {unsaid} the record does not say how much that was" if unsaid else ""
    one = "case" if len(held) == 1 else "cases"
    return (
        f"{len(held)} {one} failed for want of memory or were killed, under a limit that Tare sets for each worker's process: "
        f"{'; '.join(filter(None, (told, untold)))}."
    )


def _misjudged(case: Mapping[str, Any]) -> bool:
    """Whether a view that was read whole was counted as one item: the committed record of ``files`` has one."""
    touched = case["status"] == "unproven" and case["labels"].get("materialise") == "touch"
    return touched and str(case["reason"]).startswith("1 of ")


def _versions(record: Mapping[str, Any]) -> list[str]:
    found: dict[str, str] = {}
    for codec in record["codecs"].values():
        found |= {name: str(version) for name, version in (codec.get("versions") or {}).items() if version}
    return [f"{name} {version}" for name, version in sorted(found.items())]
