"""Whether a store has what a unit of `put` set: its keys, with the hashes that the receipt says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare.store import open_store

__all__ = ["has"]


def has(options: Mapping[str, Any], objects: list[Mapping[str, str]]) -> bool:
    """Whether every key is there, and names the object that was set; one question to the store. It is not made.

    Args:
        options: Of the unit: ``store``, ``namespace``.
        objects: ``key`` and ``hash`` of each, as a receipt has them.

    Raises:
        TareError, OSError: The store cannot be asked.
    """
    try:
        store = open_store(str(options["store"]), mode="r")
    except FileNotFoundError:
        return False
    with store:
        namespace = str(options.get("namespace", "")) or None
        found = store.mget_hash([one["key"] for one in objects], namespace, missing="")
    return found == [one["hash"] for one in objects]
