"""What a store has of the keys of a unit of `put`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tare.errors import TareError
from tare.scale.unit import unit_key
from tare.store import open_store

if TYPE_CHECKING:
    from tare.scale.plan import Plan
    from tare.scale.state import State

__all__ = ["begin", "has", "hashes"]


def begin(state: State, plan: Plan) -> bool:
    """Keep what the keys of a plan name before it sets any; whether an earlier run, or another shard, has kept it.

    A store that cannot be asked is what each unit will tell: then nothing is kept, and the next run does.
    """
    if state.keys_are_kept(plan.id):
        return True
    written = []
    with contextlib.suppress(OSError, TareError):
        first = next(plan.units(), None)
        for unit in plan.units() if first and _has_keys(first["options"]) else ():
            named = hashes(unit["options"], list(map(str, unit["options"]["keys"])))
            if state.keys_are_kept(plan.id):
                return True  # another shard was faster, and may have set some by now
            if named:
                written.append(unit_key(unit))
                state.write_begun_keys(plan.id, written[-1], named)
        state.keep_keys(plan.id, written)
    return False


def _has_keys(options: Mapping[str, Any]) -> bool:
    """Whether a store has any key of the namespace: of an empty one no key need be asked for."""
    try:
        store = open_store(str(options["store"]), mode="r")
    except FileNotFoundError:
        return False
    with store:
        return next(store.iter_keys(str(options.get("namespace", "")) or None), None) is not None


def has(options: Mapping[str, Any], objects: Sequence[Mapping[str, str]]) -> bool:
    """Whether every key is there that was set, whatever it names now: who sets it since is right.

    Args:
        options: Of the unit: ``store``, ``namespace``.
        objects: The ``key`` of each, as a receipt has them.

    Raises:
        TareError, OSError: The store cannot be asked.
    """
    return len(hashes(options, [one["key"] for one in objects])) == len({one["key"] for one in objects})


def hashes(options: Mapping[str, Any], keys: Sequence[str]) -> dict[str, str]:
    """The hash that each key names that is there; one question to the store, which is not made.

    Raises:
        TareError, OSError: The store cannot be asked.
    """
    try:
        store = open_store(str(options["store"]), mode="r")
    except FileNotFoundError:
        return {}
    with store:
        namespace = str(options.get("namespace", "")) or None
        found = store.mget_hash(keys, namespace, missing="")
    return {key: hash for key, hash in zip(keys, found, strict=True) if hash}
