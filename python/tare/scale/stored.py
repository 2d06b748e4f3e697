"""The store of a unit of `put`: what it has of the unit's keys, and the one that is open for setting them.

A store stays open from one unit of a process to the next, until the run ends: closing a folder moves its log into its
index, and beginning another log waits for the disk. Of units of 300 objects of 1 KiB both took three times as long as setting them.
"""

from __future__ import annotations

import contextlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tare._tare import Blake3
from tare.errors import TareError
from tare.scale.unit import unit_key
from tare.store import Store, open_store

if TYPE_CHECKING:
    from tare.scale.plan import Plan
    from tare.scale.state import State

__all__ = ["begin", "has", "hashes", "let_go", "let_go_all", "opened"]

_idle: dict[str, Store] = {}
"""Stores that no unit of this process uses now, by URL."""


@contextlib.contextmanager
def opened(url: str) -> Iterator[Store]:
    """A store to set keys in, made if it is not there; at the end what was set lasts. Units of other threads have their own.

    Args:
        url: Of the store. A folder stays open behind it, until `let_go`; other stores are closed, as a server may end
            what is idle.

    Raises:
        TareError, OSError: What is wrong with the store; it does not stay open.
    """
    store = _idle.pop(url, None)
    if store is not None and _id(url) != store.info()["options"]["id"]:
        _close(store)  # it was removed, and may be another by now
        store = None
    # A folder's batch lasts when it is acknowledged, and needs no flush behind it; servers may not have such a promise.
    store = store or open_store(url, durability="batch" if "://" in url else "each")
    try:
        yield store
        stays = bool(store.info()["options"].get("id"))
    except BaseException:
        store.close()
        raise
    if not stays or _idle.setdefault(url, store) is not store:
        store.close()


def let_go(plan: Plan) -> None:
    """Close what `opened` left open in this process, and what it did in processes of the run that have been ended since.

    The last process that closes a folder leaves no log there.
    """
    let_go_all()
    with contextlib.suppress(OSError, TareError, StopIteration):
        url = str(next(plan.units())["options"]["store"])
        if "://" not in url:
            with open_store(url, create=False) as store:
                next(store.iter_keys(), None)  # who has read nothing has no log to leave


def let_go_all() -> None:
    """Close what `opened` left open in this process."""
    while _idle:
        _close(_idle.popitem()[1])


def _id(url: str) -> str:
    """What tells a folder's store from another at its place; empty where there is none."""
    with contextlib.suppress(OSError, TareError), open_store(url, mode="r") as store:
        return str(store.info()["options"].get("id", ""))
    return ""


def _close(store: Store) -> None:
    """Close a store in which all lasts already; its files may have gone."""
    with contextlib.suppress(OSError, TareError):
        store.close()


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

    If such a unit comes back, as of a file that is again as it was, its keys name what this plan has set.
    """
    others = (state.done() | state.failed()).difference(unit_key(unit) for unit in plan.units())
    if not others:
        return
    own = array("Q", sorted(_short(key) for unit in plan.units() for key in unit["options"]["keys"]))
    for key in sorted(others):
        told, failure = state.receipt(key) or {}, state.failure(key) or {}
        keys = [one["key"] for one in told.get("objects", [])] + failure.get("committed", [])
        if any(_has(own, _short(one)) for one in keys):
            state.forget(key)


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
        for unit in plan.units() if first and _has_keys(first["options"]) else ():
            named = hashes(unit["options"], list(map(str, unit["options"]["keys"])))
            if state.keys_are_kept(turn):
                return True  # another shard was faster, and may have set some by now
            if named:
                written.append(unit_key(unit))
                state.write_begun_keys(turn, written[-1], named)
        state.keep_keys(turn, written)
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
