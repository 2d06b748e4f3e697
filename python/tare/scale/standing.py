"""How far a plan is, by what lies on storage."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tare.errors import PlanError, TareError
from tare.scale.ending import Planned, planned
from tare.scale.place import Entry, LocalPlace, as_uri, split_uri
from tare.scale.plan import Plan, read_plan
from tare.scale.report import errors_of, grouped
from tare.scale.state import State
from tare.scale.temporary import sweep_temporary
from tare.scale.unit import input_bytes

__all__ = ["clean", "status_of"]

_SHOWN = 3


def status_of(where: Plan | str | os.PathLike[str], *, every: bool = False) -> dict[str, Any]:
    """Counts, bytes and failures of a plan, or of all plans of a destination.

    Args:
        where: A plan, its file, or a destination. Of several plans, the one that was started last is right.
        every: Whether each failure is told, not three of a kind, ``failed_inputs``, and each name of ``besides``.

    Returns:
        ``units, done, failed, missing``, and the same of inputs, as a unit may have many small ones: ``inputs,
        inputs_done, inputs_failed, inputs_missing``; ``bytes, bytes_done, rows, bytes_out, hosts, failures, plans``;
        ``unasked``, why a store could not be asked what it has: then receipts count; ``results_besides``, how many
        results are there that the plan that was started last does not make, as of sources that were deleted or renamed
        since, of another run's, or in another format, and ``besides``, the names of three.
    """
    total: dict[str, Any] = {
        "units": 0, "done": 0, "failed": 0, "missing": 0,
        "inputs": 0, "inputs_done": 0, "inputs_failed": 0, "inputs_missing": 0,
        "bytes": 0, "bytes_done": 0, "rows": 0, "bytes_out": 0, "hosts": {}, "failures": [], "plans": [],
        "unasked": "", "results_besides": 0, "besides": [],
    }  # fmt: skip
    hosts: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    state, plans, alone = _plans(where)
    listed = state.listed()
    entries = None if listed is None else listed.values()
    done, failed = state.done(entries), state.failed(entries)
    units = planned(plans, alone=alone)
    for one, receipt in state.with_receipts(units, lambda one: one.key if one.key in done else ""):
        if one.plan not in total["plans"]:
            total["plans"].append(one.plan)
        if receipt is not None and one.plan != total["plans"][0]:
            besides = _besides(state, one, receipt, listed)
            total["results_besides"] += len(besides)
            total["besides"] += besides if every else besides[: _SHOWN - len(total["besides"])]
        if one.superseded:
            continue
        size, inputs = input_bytes(one.unit), len(one.unit["input"])
        total["units"] += 1
        total["inputs"] += inputs
        total["bytes"] += size
        if receipt is not None and _is_done(state, receipt, listed, one.unit, total):
            total["done"] += 1
            total["inputs_done"] += inputs
            total["bytes_done"] += size
            total["rows"] += int(receipt.get("rows", 0))
            total["bytes_out"] += int(receipt.get("bytes_out", 0))
            hosts[str(receipt.get("host", ""))] += 1
            continue
        failure = state.failure(one.key) if one.key in failed else None
        never_made = failure is not None or receipt is None
        if never_made and one.plan != total["plans"][0] and _gone(one.unit):
            total["units"] -= 1
            total["inputs"] -= inputs
            total["bytes"] -= size
            continue  # it was removed from what is converted, by no longer being there
        if failure is None:
            total["missing"] += 1
            total["inputs_missing"] += inputs
            continue
        lost = min(inputs, int(failure["error"].get("count", inputs)))  # it costs no other of its unit
        total["failed"] += 1
        total["inputs_failed"] += lost
        total["inputs_done"] += inputs - lost
        total["bytes_done"] += _bytes_well(one.unit, failure)
        total["rows"] += int(failure.get("rows", 0))
        total["bytes_out"] += int(failure.get("bytes_out", 0))
        failures.append(failure)
    total["hosts"] = dict(hosts)
    total["failures"] = grouped(failures)
    if every:
        total["failed_inputs"] = [error for one in failures for error in errors_of(one)]
    return total


def _bytes_well(unit: dict[str, Any], failure: dict[str, Any]) -> int:
    """Bytes of the inputs of a unit that failed whose results are there, or whose keys are set."""
    names = unit.get("output", {}).get("names", []) or unit["options"].get("keys", [])
    well = set(failure.get("committed", []))
    return sum(
        input_bytes({**unit, "input": [one]})
        for one, name in zip(unit["input"], names, strict=False)
        if name in well
    )


def _besides(
    state: State, old: Planned, receipt: dict[str, Any], listed: Mapping[str, Entry] | None
) -> list[str]:
    """What is there of an older plan's unit in which no later plan has a say."""
    made = [one for one in receipt.get("output", []) if "name" in one and not old.speaks_of(str(one["name"]))]
    return [str(one["name"]) for one in made if state.stands(one, listed)]


def _is_done(
    state: State,
    receipt: dict[str, Any],
    listed: Mapping[str, Entry] | None,
    unit: dict[str, Any],
    total: dict[str, Any],
) -> bool:
    """Whether what a receipt says is there; a store that cannot be asked is asked once, and believed."""
    if receipt.get("objects") and total["unasked"]:
        return True
    try:
        return state.is_done(receipt, listed, unit=unit)
    except (TareError, OSError) as error:
        if not receipt.get("objects"):
            raise
        total["unasked"] = " ".join(str(error).split())[:300]
        return True


def _gone(unit: dict[str, Any]) -> bool:
    """Whether none of its sources is there any more."""
    for one in unit["input"]:
        place, name = split_uri(str(one["uri"]))
        if place.stat(name) is not None:
            return False
    return True


def _plans(where: Plan | str | os.PathLike[str]) -> tuple[State, Iterator[Plan], bool]:
    if isinstance(where, Plan) or os.path.isfile(where):
        plan = where if isinstance(where, Plan) else read_plan(where)
        return State.of(plan), iter([plan]), True
    state = State(as_uri(os.fspath(where)))
    count = len(state.plan_ids())
    if not count:
        raise PlanError(f"{where}: there is no plan; `tare convert` and `tare plan` make one")
    return state, state.plans(), count == 1


def clean(destination: str) -> int:
    """Remove what attempts that are over left half written; how many files.

    In the temporary folder of this machine, of any destination.

    Raises:
        PlanError: There is no such folder.
    """
    state = State(as_uri(destination))
    if isinstance(state.place, LocalPlace) and not os.path.isdir(state.place.path("")):
        raise PlanError(f"{destination}: there is no such folder")
    return state.sweep() + sweep_temporary()
