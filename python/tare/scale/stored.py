"""What a store has of the keys of a unit of `put`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tare.store import Store, open_store

__all__ = ["has", "has_any", "hashes"]


def has(options: Mapping[str, Any], objects: Sequence[Mapping[str, str]]) -> bool:
    """Whether every key is there that was set, whatever it names now: who sets it since is right.

    Args:
        options: Of the unit: ``store``, ``namespace``.
        objects: The ``key`` of each, as a receipt has them.

    Raises:
        TareError, OSError: The store cannot be asked.
    """
    return len(hashes(options, [one["key"] for one in objects])) == len({one["key"] for one in objects})


def has_any(options: Mapping[str, Any]) -> bool:
    """Whether a store has any key of the namespace: of an empty one no key need be asked for.

    Raises:
        TareError, OSError: The store cannot be asked.
    """
    with _read(options) as (store, namespace):
        return store is not None and next(store.iter_keys(namespace), None) is not None


def hashes(options: Mapping[str, Any], keys: Sequence[str]) -> dict[str, str]:
    """The hash that each key names that is there; one question to the store, which is not made.

    Raises:
        TareError, OSError: The store cannot be asked.
    """
    with _read(options) as (store, namespace):
        found = [""] * len(keys) if store is None else store.mget_hash(keys, namespace, missing="")
    return {key: hash for key, hash in zip(keys, found, strict=True) if hash}


@contextlib.contextmanager
def _read(options: Mapping[str, Any]) -> Iterator[tuple[Store | None, str | None]]:
    """A unit's store and namespace; no store where there is none yet."""
    try:
        store = open_store(str(options["store"]), mode="r")
    except FileNotFoundError:
        yield None, None
        return
    with store:
        yield store, str(options.get("namespace", "")) or None
