"""Plans of `put` that are started at one path, one after another: what is known of the keys that they set.

A key that a unit has set is no more its matter: who sets it since is right, unless that was a later plan of the same path.
"""

from __future__ import annotations

import contextlib
from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tare._tare import Blake3
from tare.errors import TareError
from tare.scale import stored
from tare.scale.unit import unit_key

if TYPE_CHECKING:
    from tare.scale.plan import Plan
    from tare.scale.state import State

__all__ = ["begin"]

_MOST_OTHERS = 10_000


def begin(state: State, plan: Plan) -> tuple[str, bool]:
    """Begin the turn of a plan, or go on with it: it ends when another plan is started at the same path.

    What the keys of the plan name is kept before it sets any. A store that cannot be asked is what each unit will tell:
    then nothing is kept, and the next run does.

    Returns:
        What the turn is called, and whether an earlier run, or another shard, has begun it.
    """
    turn, has_begun = state.turn(plan.id)
    if not has_begun:
        _forget_others(state, plan)
        state.take_turn(turn)
    return turn, _kept(state, plan, turn)


def _forget_others(state: State, plan: Plan) -> None:
    """Forget what units of other plans have set of the keys of this one: what these name is its matter now.

    If such a unit comes back, as of a file that is again as it was, its keys name what this plan has set. Of more than
    10,000 such units the oldest are forgotten unread: of files that have another folder each day there are more each day.
    """
    own = {unit_key(unit) for unit in plan.units()}
    others = [key for key in state.latest() if key not in own]
    others += sorted(state.failed().difference(own, others))
    if not others:
        return
    first = next(plan.units())["options"]
    said = array("Q", sorted(_short(key) for unit in plan.units() for key in unit["options"]["keys"]))
    for number, key in enumerate(others):
        if number >= _MOST_OTHERS or any(_has(said, _short(one)) for one in _set_by(state, key, first)):
            state.forget(key)


def _set_by(state: State, key: str, options: Mapping[str, Any]) -> list[str]:
    """The keys that a unit has set, if it did in the store and namespace of these options."""
    told, failure = state.receipt(key) or {}, state.failure(key) or {}
    found = [one["key"] for one in told.get("objects", [])] if _is_there(told, options) else []
    unit = failure.get("unit", {})
    return found + (failure.get("committed", []) if _is_there(unit.get("options", {}), options) else [])


def _is_there(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(name, "") == other.get(name, "") for name in ("store", "namespace"))


def _short(key: str) -> int:
    """What stands for a key: of millions no text is held. Two alike cost a unit that is done once more."""
    hasher = Blake3()
    hasher.update(key.encode(errors="surrogateescape"))
    return int(hasher.hexdigest()[:16], 16)


def _has(ordered: array[int], one: int) -> bool:
    at = bisect_left(ordered, one)
    return at < len(ordered) and ordered[at] == one


def _kept(state: State, plan: Plan, turn: str) -> bool:
    """Keep what the keys of a plan name; whether that is kept already."""
    if state.keys_are_kept(turn):
        return True
    written = []
    with contextlib.suppress(OSError, TareError):
        first = next(plan.units(), None)
        for unit in plan.units() if first and stored.has_any(first["options"]) else ():
            named = stored.hashes(unit["options"], list(map(str, unit["options"]["keys"])))
            if state.keys_are_kept(turn):
                return True  # another shard was faster, and may have set some by now
            if named:
                written.append(unit_key(unit))
                state.write_begun_keys(turn, written[-1], named)
        state.keep_keys(turn, written)
    return False
