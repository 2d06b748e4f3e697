"""The end of a run: what stands, what is superseded, the manifest.

A destination may have had several plans: of other sources, of other states of the same, of another number of parts. The
plan that was started last is right where two speak of one source or of one output.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.scale.unit import canonical, unit_key

if TYPE_CHECKING:
    from tare.scale.plan import Plan
    from tare.scale.state import State

__all__ = ["Planned", "finish", "planned"]

_OF_A_SOURCE = ("schema", "header", "delimiter", "decimal", "tare")
"""Options that follow from the state of the sources and from who planned, or do not tell one result from another."""


@dataclass(frozen=True)
class Planned:
    """A unit of one of the plans of a destination.

    Args:
        plan: The plan's id.
        unit: The unit.
        key: Its key.
        superseded: Whether a later plan speaks of its sources or of its outputs.
        spoken: Which of its inputs a later plan speaks of, or of their outputs.
    """

    plan: str
    unit: dict[str, Any]
    key: str
    superseded: bool
    spoken: frozenset[int] = frozenset()

    def speaks_of(self, name: str) -> bool:
        """Whether a later plan speaks of the source that an output is made of."""
        names = self.unit["output"].get("names", [])
        if "partition" in self.unit["options"]:
            name = name.partition("/")[2]  # of COLUMN=VALUE/NAME
        return any(one == name and number in self.spoken for number, one in enumerate(names))


def planned(plans: Iterable[Plan], *, alone: bool) -> Iterator[Planned]:
    """Every unit of some plans once.

    Args:
        plans: The one that is right first.
        alone: There is one only: nothing is kept in memory.
    """
    seen: set[str] = set()
    claimed: set[bytes] = set()
    for plan in plans:
        own: set[bytes] = set()
        for unit in plan.units():
            key = unit_key(unit)
            if alone:
                yield Planned(plan.id, unit, key, False)
            elif key not in seen:
                seen.add(key)
                claims = _claims(unit)
                own.update(*claims)
                spoken = frozenset(n for n, some in enumerate(claims) if not claimed.isdisjoint(some))
                yield Planned(plan.id, unit, key, bool(spoken), spoken)
        claimed |= own


def _claims(unit: dict[str, Any]) -> list[set[bytes]]:
    """What no two plans may both be right about, of each input: its output, and what one kind of work makes of it."""
    options = {name: value for name, value in unit["options"].items() if name not in _OF_A_SOURCE}
    meant = canonical([unit["task"], unit.get("read", ""), unit.get("write", ""), options])
    names = unit.get("output", {}).get("names", [])
    return [
        {meant + b"\0" + str(one["uri"]).encode()} | ({str(name).encode()} if name is not None else set())
        for one, name in itertools.zip_longest(unit["input"], names)
    ]


def finish(state: State, plan: Plan) -> int | None:
    """Write ``manifest.json`` if every unit of the plan is done, and remove what it supersedes.

    Removed are results that the same sources have given before and that this plan does not name, and only if they are
    as they were written: parts of a file that is shorter now, the folder of a value that has gone, what has another
    name now, lest its rows be there twice. What a source gave that this plan does not speak of stays: it may be gone,
    or not have been meant this time. Plans that nothing stands for
    any more go too, but for the last ones.

    Args:
        state: Of the plan's destination.
        plan: The plan.

    Returns:
        How many results were removed; None if units are not done, or their results not there, or there is no
        destination.
    """
    if not plan.base or not state.inner:
        return None
    outputs: dict[str, dict[str, Any]] = {}
    old: list[Planned] = []
    live = {plan.id}
    alone = set(state.plan_ids()) <= {plan.id}
    there = state.listed()
    others = (one for one in state.plans() if one.id != plan.id)
    units = planned(itertools.chain([plan], others), alone=alone)
    for one, receipt in state.with_receipts(units, lambda one: "" if one.superseded else one.key):
        if one.superseded:
            old.append(one)
            continue
        live.add(one.plan)
        if receipt is None or not state.is_done(receipt, there):
            if one.plan == plan.id:
                return None
            continue  # not begun, failed, or deleted since: another run's matter
        outputs |= {str(made["name"]): made for made in receipt["output"] if "name" in made}
    removed = 0
    for one in old:
        gone, left = _removed(state, one, outputs)
        removed += gone
        live |= {one.plan} if left else set()
    state.drop_plans(live, overruled={one.plan for one in old})
    head = {"tare_manifest": 1, "plan": plan.id, "about": plan.head.get("about", ""), "units": plan.count}
    listed = [{name: made[name] for name in ("name", "size", "hash")} for _, made in sorted(outputs.items())]
    text = json.dumps({**head, "outputs": listed}, indent=1, ensure_ascii=False, sort_keys=True)
    state.write_manifest(text.encode() + b"\n")
    return removed


def _removed(state: State, old: Planned, outputs: dict[str, dict[str, Any]]) -> tuple[int, int]:
    """Away with what only a superseded unit has made of sources that are spoken of now; what else it made stays known.

    How many results were removed, and how many stay.
    """
    receipt = state.receipt(old.key)
    count = left = 0
    for made in (receipt or {}).get("output", []):
        name = str(made.get("name", ""))
        if not name or name in outputs or not state.stands(made):
            continue
        if old.speaks_of(name):
            state.place.remove(name)
            count += 1
        else:
            outputs[name] = made
            left += 1
    if not left:
        state.forget(old.key)
    return count, left
