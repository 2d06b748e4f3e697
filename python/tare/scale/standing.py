"""How far a plan is, by what lies on storage."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tare.errors import PlanError
from tare.scale.ending import planned
from tare.scale.place import LocalPlace, as_uri, split_uri
from tare.scale.plan import Plan, read_plan
from tare.scale.report import errors_of, grouped
from tare.scale.state import State
from tare.scale.unit import input_bytes

__all__ = ["clean", "status_of"]


def status_of(where: Plan | str | os.PathLike[str], *, every: bool = False) -> dict[str, Any]:
    """Counts, bytes and failures of a plan, or of all plans of a destination.

    Args:
        where: A plan, its file, or a destination. Of several plans, the one that was started last is right.
        every: Whether each failure is told, not three of a kind: ``failed_inputs``.
    """
    total: dict[str, Any] = {
        "units": 0, "done": 0, "failed": 0, "missing": 0, "bytes": 0, "bytes_done": 0, "rows": 0,
        "bytes_out": 0, "hosts": {}, "failures": [], "plans": [],
    }  # fmt: skip
    hosts: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    state, plans, alone = _plans(where)
    done, failed = state.done(), state.failed()
    for one in planned(plans, alone=alone):
        if one.plan not in total["plans"]:
            total["plans"].append(one.plan)
        if one.superseded:
            continue
        size = input_bytes(one.unit)
        total["units"] += 1
        total["bytes"] += size
        receipt = state.receipt(one.key) if one.key in done else None
        if receipt is not None and state.is_done(receipt):
            total["done"] += 1
            total["bytes_done"] += size
            total["rows"] += int(receipt.get("rows", 0))
            total["bytes_out"] += int(receipt.get("bytes_out", 0))
            hosts[str(receipt.get("host", ""))] += 1
            continue
        failure = state.failure(one.key) if one.key in failed else None
        if failure is not None and one.plan != total["plans"][0] and _gone(one.unit):
            total["units"] -= 1
            total["bytes"] -= size
            continue  # it was removed from what is converted, by no longer being there
        total["missing" if failure is None else "failed"] += 1
        failures += [failure] if failure is not None else []
    total["hosts"] = dict(hosts)
    total["failures"] = grouped(failures)
    if every:
        total["failed_inputs"] = [error for one in failures for error in errors_of(one)]
    return total


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

    Raises:
        PlanError: There is no such folder.
    """
    state = State(as_uri(destination))
    if isinstance(state.place, LocalPlace) and not os.path.isdir(state.place.path("")):
        raise PlanError(f"{destination}: there is no such folder")
    return state.sweep()
