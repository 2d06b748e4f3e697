"""The end of a run: what stands, what is superseded, the manifest.

A destination may have had several plans: of other sources, of other states of the same, of another number of parts. The
plan that was started last is right where two speak of one source or of one output.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tare.converting.naming import ending_of
from tare.errors import UsageError
from tare.scale.unit import canonical, unit_key

if TYPE_CHECKING:
    from tare.scale.plan import Plan
    from tare.scale.state import State

__all__ = ["Planned", "finish", "planned"]


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

    @property
    def is_history(self) -> bool:
        """Whether a later plan speaks of all that it stands for."""
        return len(self.spoken) == len(self.unit["input"])

    def speaks_of(self, name: str) -> bool:
        """Whether a later plan speaks of the source that an output is made of."""
        return not self.spoken.isdisjoint(self._inputs_of(name))

    def sources_of(self, name: str) -> set[str]:
        """The sources that an output is made of."""
        return {str(self.unit["input"][number]["uri"]) for number in self._inputs_of(name)}

    def _inputs_of(self, name: str) -> list[int]:
        if "partition" in self.unit["options"]:
            name = name.partition("/")[2]  # of COLUMN=VALUE/NAME
        return [number for number, one in enumerate(self.unit["output"].get("names", [])) if one == name]


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
    """What no two plans may both be right about, of each input: its output, and its rows in files of one ending."""
    meant = canonical([unit["task"], _ending(str(unit.get("write", "")))])
    names = unit.get("output", {}).get("names", [])
    return [
        {meant + b"\0" + str(one["uri"]).encode()} | ({str(name).encode()} if name is not None else set())
        for one, name in itertools.zip_longest(unit["input"], names)
    ]


@functools.cache
def _ending(write: str) -> str:
    """The ending of the files that a codec writes; whoever reads all files of one ending reads each row once."""
    try:
        return ending_of(write)
    except UsageError:
        return write


@dataclass
class _Undone:
    """What wanted units that are not done stand for: until they are, nothing takes the place of older results."""

    uris: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    partitions: set[str] = field(default_factory=set)

    def add(self, unit: dict[str, Any], besides: Collection[int] = ()) -> None:
        """Add a unit, but for those of its inputs that a later plan speaks of."""
        self.uris.update(str(one["uri"]) for n, one in enumerate(unit["input"]) if n not in besides)
        names = self.partitions if "partition" in unit["options"] else self.names
        names.update(str(name) for n, name in enumerate(unit["output"].get("names", [])) if n not in besides)

    def needs(self, old: Planned, name: str) -> bool:
        """Whether a result of an older unit is all that there is of its source, or under its name."""
        if name in self.names or name.partition("/")[2] in self.partitions:
            return True
        return not self.uris.isdisjoint(old.sources_of(name))


@dataclass
class _Stays:
    """Results of sources that a plan would speak of if they were there, and does not.

    Args:
        names: Of a source's URI, whether what the plan was made of names it; None if nobody knows.
        own: The sources that it speaks of.
        count: How many results.
    """

    names: Callable[[str], bool] | None
    own: set[str] = field(default_factory=set)
    count: int = 0

    def speaks_of(self, unit: dict[str, Any]) -> None:
        """Note a unit of the plan; all come before those of others."""
        if self.names is not None:
            self.own.update(str(one["uri"]) for one in unit["input"])

    def add(self, old: Planned, names: Iterable[str]) -> None:
        """Count results of another plan's unit that stay."""
        if self.names is None:
            return
        for name in names:
            sources = old.sources_of(name)
            self.count += self.own.isdisjoint(sources) and any(self.names(uri) for uri in sources)


def finish(state: State, plan: Plan) -> tuple[int, int]:
    """Remove what a plan supersedes, and write ``manifest.json`` if every unit of it is done.

    Removed are results that the same sources have given before and that this plan does not name, and only if they are
    as they were written: parts of a file that is shorter now, the folder of a value that has gone, what has another
    name now, lest its rows be there twice. So is what an attempt at a superseded unit renamed before it died, where
    values told the names and no receipt does. What a source gave that this plan does not speak of stays: it may be gone,
    or not have been meant this time; so does what there is of a source of which its last plan, this one or another, has
    not done all. Plans that nothing stands for any more go too, but for the last ones.

    Args:
        state: Of the plan's destination.
        plan: The plan.

    Returns:
        How many results were removed, and how many stay of sources under the folders and patterns that the plan was just
        made of, and that it does not speak of.
    """
    if not plan.base or not state.inner:
        return 0, 0
    outputs: dict[str, dict[str, Any]] = {}
    old: list[Planned] = []
    told_twice: list[str] = []  # intents whose attempt died behind the receipt
    undone, wanting, stays = _Undone(), False, _Stays(plan.names)
    live = {plan.id}
    alone = set(state.plan_ids()) <= {plan.id}
    there = state.listed()
    intents = state.intents(None if there is None else there.values())
    kept: set[str] = set()  # what units that are wanted tell of, although they are not done
    others = (one for one in state.plans() if one.id != plan.id)
    units = planned(itertools.chain([plan], others), alone=alone)
    for one, receipt in state.with_receipts(units, lambda one: "" if one.is_history else one.key):
        if one.plan == plan.id and not alone:
            stays.speaks_of(one.unit)
        if one.superseded:
            old.append(one)
            if not one.is_history and (receipt is None or not state.is_done(receipt, there, unit=one.unit)):
                # Small files are grouped: what a later plan says of one says nothing of its neighbours.
                live.add(one.plan)
                undone.add(one.unit, besides=one.spoken)
            continue
        live.add(one.plan)
        if receipt is None or not state.is_done(receipt, there, unit=one.unit):
            undone.add(one.unit)
            wanting |= one.plan == plan.id
            kept |= _names(receipt) | (_names(state.intent(one.key)) if one.key in intents else set())
            continue  # not begun, failed, or deleted since: another run's matter
        if one.key in intents:
            told_twice.append(one.key)
        outputs |= {str(made["name"]): made for made in receipt["output"] if "name" in made}
        if one.plan != plan.id:
            stays.add(one, _names(receipt))
    state.drop_intents(told_twice)
    removed = 0
    for one in old:
        gone, still = _removed(state, one, outputs, undone)
        removed += gone
        live |= {one.plan} if still else set()
        stays.add(one, still)
    kept |= outputs.keys()
    for one in (one for one in old if one.key in intents):
        gone, left = _taken_back(state, one, kept, undone)
        removed += gone
        live |= {one.plan} if left else set()
    state.drop_plans(live, overruled={one.plan for one in old})
    if wanting:
        return removed, stays.count
    head = {"tare_manifest": 1, "plan": plan.id, "about": plan.head.get("about", ""), "units": plan.count}
    listed = [{name: made[name] for name in ("name", "size", "hash")} for _, made in sorted(outputs.items())]
    text = json.dumps({**head, "outputs": listed}, indent=1, ensure_ascii=False, sort_keys=True)
    state.write_manifest(text.encode() + b"\n")
    return removed, stays.count


def _removed(
    state: State, old: Planned, outputs: dict[str, dict[str, Any]], undone: _Undone
) -> tuple[int, list[str]]:
    """Away with what only a superseded unit has made of sources that are spoken of now; what else it made stays known.

    How many results were removed, and which stay.
    """
    receipt = state.receipt(old.key)
    count, left = 0, []
    for made in (receipt or {}).get("output", []):
        name = str(made.get("name", ""))
        if not name or name in outputs or not state.stands(made):
            continue
        if old.speaks_of(name) and not undone.needs(old, name):
            state.place.remove(name)
            count += 1
        else:
            outputs[name] = made
            left.append(name)
    if not left:
        state.forget(old.key)
    return count, left


def _taken_back(state: State, old: Planned, kept: set[str], undone: _Undone) -> tuple[int, int]:
    """Away with what an attempt at a superseded unit renamed before it died, unless somebody changed or has it since.

    How many files were removed, and how many stay.
    """
    count = left = 0
    for made in (state.intent(old.key) or {}).get("output", []):
        name = str(made["name"])
        if name in kept or not state.stands(made, read=True):
            continue
        if old.speaks_of(name) and not undone.needs(old, name):
            state.place.remove(name)
            count += 1
        else:
            left += 1
    if not left:
        state.drop_intent(old.key)
    return count, left


def _names(told: Mapping[str, Any] | None) -> set[str]:
    """The names of the outputs that a receipt, or an intent, tells of."""
    return {str(made["name"]) for made in (told or {}).get("output", []) if "name" in made}
