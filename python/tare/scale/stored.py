"""The store of a unit of `put`: what it has of the unit's keys, and the one that is open for setting them.

A store stays open from one unit of a process to the next, until the run ends: closing a folder moves its log into its
index, and beginning another log waits for the disk. Of units of 300 objects of 1 KiB both took three times as long as setting them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
    """A store to set keys in, made if it is not there; at the end all of it lasts. Units of other threads have their own.

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
    store = store or open_store(url)
    try:
        yield store
        stays = bool(store.info()["options"].get("id"))
        if stays:
            store.flush()
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
