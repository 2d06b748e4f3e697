"""How far a plan is, by what lies on storage."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from tare.errors import PlanError
from tare.scale.place import as_uri
from tare.scale.plan import Plan, read_plan
from tare.scale.report import grouped
from tare.scale.state import State
from tare.scale.unit import input_bytes, unit_key

__all__ = ["clean", "status_of"]


def status_of(where: Plan | str | os.PathLike[str]) -> dict[str, Any]:
    """Counts, bytes and failures of a plan, or of all plans of a destination."""
    plans = [where] if isinstance(where, Plan) else _plans(os.fspath(where))
    total: dict[str, Any] = {
        "units": 0, "done": 0, "failed": 0, "missing": 0, "bytes": 0, "bytes_done": 0, "rows": 0,
        "bytes_out": 0, "hosts": {}, "failures": [], "plans": [plan.id for plan in plans],
    }  # fmt: skip
    hosts: Counter[str] = Counter()
    seen: set[str] = set()
    open_units: list[tuple[str, dict[str, Any]]] = []
    made: set[str] = set()
    failures: dict[str, dict[str, Any]] = {}
    for plan in plans:
        state = State.of(plan)
        done = state.done()
        failures |= {str(one.get("key")): one for one in state.failures()}
        for unit in plan.units():
            key, size = unit_key(unit), input_bytes(unit)
            if key in seen:
                continue
            seen.add(key)
            names = unit.get("output", {}).get("names", [])
            receipt = state.receipt(key) if key in done else None
            if receipt is None:
                open_units.append((key, unit))
            elif not names or not made.issuperset(names):  # else its source has changed since, or had
                made.update(names)
                total["done"] += 1
                total["bytes_done"] += size
                total["rows"] += int(receipt.get("rows", 0))
                total["bytes_out"] += int(receipt.get("bytes_out", 0))
                hosts[str(receipt.get("host", ""))] += 1
    told = []
    for key, unit in open_units:
        names = unit.get("output", {}).get("names", [])
        if names and made.issuperset(names):  # another plan made them: of a source that is there no more
            continue
        total["bytes"] += input_bytes(unit)
        total["failed" if key in failures else "missing"] += 1
        told += [failures[key]] if key in failures else []
    total["units"] = total["done"] + total["failed"] + total["missing"]
    total["bytes"] += total["bytes_done"]
    total["hosts"] = dict(hosts)
    total["failures"] = grouped([one for one in told if isinstance(one.get("error"), dict)])
    return total


def _plans(where: str) -> list[Plan]:
    if os.path.isfile(where):
        return [read_plan(where)]
    state = State(as_uri(where))
    found = []
    for entry in state.place.entries(".tare/plans"):
        with state.place.local(entry.name) as path:
            plan = read_plan(path)
            found.append(plan if os.path.exists(plan.path) and "tare-get-" not in path else state.kept(plan))
    if not found:
        raise PlanError(f"{where}: there is no plan; `tare convert` and `tare plan` make one")
    return found


def clean(destination: str) -> int:
    """Remove what attempts that are over left half written; how many files."""
    return State(as_uri(destination)).sweep()
