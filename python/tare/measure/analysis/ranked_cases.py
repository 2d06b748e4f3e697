"""Which cases of a record the verdict rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "SPAN",
    "STAGES",
    "TOTAL",
    "USUAL",
    "base_of",
    "is_ranked",
    "main_cases",
    "main_size",
    "main_stage",
    "number",
    "of_one_work",
    "off_usual",
    "peak_of",
    "shown_cases",
]

TOTAL = "total"
SPAN = "span"
STAGES = ("weigh", "screen", "growth")
USUAL = {
    "delivery": "whole",
    "threads": "1",
    "gc": "off",
    "cache": "warm",
    "sync": "none",
    "materialise": "full",
    "subset": "all",
    "grain": "whole",
    "orient": "rows",
    "order": "insertion",
    "kind": "own",
    "content": "uniform",
}
# What is done, and to what: times of cases that differ in these are those of different work.
_WORK = ("kind", "content", "subset", "order")


def base_of(record: Mapping[str, Any]) -> str:
    """The base codec of a record: as the run or its plan named it, else by the kind of data."""
    named = record.get("base") or (record.get("plan") or {}).get("base")
    if named:
        return str(named)
    twin = next((c["labels"]["codec"] for c in record.get("cases", ()) if "twin" in c["labels"]), None)
    if twin:
        return str(twin)
    return "parquet:pyarrow" if (record.get("dataset") or {}).get("kind") == "table" else "json:stdlib"


def is_ranked(case: Mapping[str, Any]) -> bool:
    """Whether the case is one of a codec: not the A/A twin, not the floor row."""
    return "twin" not in case["labels"] and case["labels"]["codec"] != "copy"


def peak_of(case: Mapping[str, Any]) -> int | None:
    """The largest peak of memory of a case's operations, in bytes; None if none was measured."""
    return max(
        (
            entry["peak_bytes"]
            for entry in (case.get("memory") or {}).values()
            if isinstance(entry, dict) and entry.get("peak_bytes") is not None
        ),
        default=None,
    )


def shown_cases(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cases of a run, without those that it had only begun to weigh where screening is all that was timed.

    A case at the full size stands in front of the one that was screened; where no launch of
    weighing was finished it has no times, and the verdict is made of those of screening.

    >>> screened = {"key": "a", "labels": {"codec": "a"}, "status": "ok", "stage": "screen", "launches": [{"n": 1}]}
    >>> begun = {"key": "b", "labels": {"codec": "a"}, "status": "ok", "stage": "weigh", "launches": []}
    >>> [case["key"] for case in shown_cases({"interrupted": True, "cases": [screened, begun]})]
    ['a']
    """
    cases = list(record.get("cases", ()))
    weighed = any(case.get("stage") == "weigh" and case.get("launches") for case in cases)
    if not record.get("interrupted") or weighed:
        return cases
    timed = {case["labels"].get("codec") for case in cases if case.get("stage") == "screen"}
    begun = ("pending", "ok", "lossy")
    return [
        case
        for case in cases
        if case.get("stage") != "weigh"
        or case["status"] not in begun
        or ("twin" not in case["labels"] and case["labels"].get("codec") not in {*timed, "copy"})
    ]


def main_size(record: Mapping[str, Any]) -> str:
    """The size the verdict rests on: the largest one weighed, else the largest screened."""
    return main_stage(record)[1]


def main_stage(record: Mapping[str, Any], *, grain: str = "") -> tuple[str, str]:
    """The stage and the size that the verdict rests on.

    Args:
        record: The record.
        grain: Of the cases of this grain alone; empty for all.
    """
    for stage in STAGES:
        sizes = {
            case["labels"].get("size", "1")
            for case in _of_the_head(record)
            if case.get("stage", "weigh") == stage
            and case.get("launches")
            and is_ranked(case)
            and grain in ("", case["labels"].get("grain", USUAL["grain"]))
        }
        if sizes:
            return stage, str(max(sizes, key=number))
    return STAGES[0], "1"


def main_cases(record: Mapping[str, Any], *, grain: str = "whole") -> dict[tuple[str, str], dict[str, Any]]:
    """The case that stands for each codec on each medium: (codec, medium) -> case.

    Args:
        record: The record.
        grain: ``whole``, or ``each`` to prefer the cases of one call per document.

    Cases at the main size come first, then those of the defaults (warm, one thread,
    whole, collector off); a codec that was only screened, or failed before it was
    weighed, is there with that case.
    """
    # Lines may be measured one by one on fewer of them than the whole.
    stage, size = main_stage(record, grain="each" if grain == "each" else "")

    def worth(case: Mapping[str, Any]) -> tuple[Any, ...]:
        off = off_usual(case["labels"], grain=grain)
        there = case["labels"].get("size", "1") == size and case.get("stage", "weigh") == stage
        return (not there, case.get("stage", "weigh") == "growth", off, case["key"])

    chosen: dict[tuple[str, str], dict[str, Any]] = {}
    for case in _of_the_head(record):
        at = case["labels"]["codec"], case["labels"].get("medium", "memory")
        if is_ranked(case) and (at not in chosen or worth(case) < worth(chosen[at])):
            chosen[at] = case
    return chosen


def of_one_work(
    cases: Mapping[tuple[str, str], dict[str, Any]],
) -> tuple[dict[tuple[str, str], dict[str, Any]], dict[str, str]]:
    """The cases that do the same work on the same data as the most usual one, and what of that is not usual.

    >>> def case(**labels):
    ...     return {"key": "", "labels": labels, "launches": [{"n": 1}]}
    >>> cases = {("a", "file"): case(), ("b", "file"): case(kind="json"), ("c", "file"): case(order="lexical")}
    >>> of_one_work(cases)[0].keys(), of_one_work({("b", "file"): case(kind="json")})[1]
    (dict_keys([('a', 'file')]), {'kind': 'json'})
    """
    timed = [case for case in cases.values() if case.get("launches")]
    if not timed:
        return dict(cases), {}
    head = _work(min(timed, key=lambda case: (off_usual(case["labels"]), case["key"])))
    odd = {name: level for name, level in head.items() if level != USUAL[name]}
    return {at: case for at, case in cases.items() if _work(case) == head}, odd


def _work(case: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(case["labels"].get(name, USUAL[name])) for name in _WORK}


def _of_the_head(record: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """The cases of the data set at the record's head: one verdict never mixes several data sets of a plan."""
    cases: Sequence[dict[str, Any]] = record.get("cases", ())
    if len(record.get("datasets") or ()) < 2:
        return cases
    name = record["dataset"]["name"]
    return [case for case in cases if case["labels"].get("dataset") == name]


def off_usual(labels: Mapping[str, str], *, grain: str = "whole") -> int:
    """How many labels are not those of a default run."""
    return sum(labels.get(name, usual) != usual for name, usual in (USUAL | {"grain": grain}).items())


def number(text: str) -> float:
    """A size label as a number; 0 if it is none."""
    try:
        return float(text)
    except ValueError:
        return 0.0
