"""What a store has of the keys of a unit of `put`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.store import open_store

__all__ = ["has", "hashes"]


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
