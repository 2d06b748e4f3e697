"""The objects under a prefix, also where one of them has a key that the store's library refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tare.scale.left import Undone

__all__ = ["objects"]

_WHY = "a prefix with a key of an empty part (//), so that it cannot be listed"


def objects(store: Any, prefix: str, passed: list[tuple[str, str]]) -> Iterator[Any]:
    """What obstore lists, by name. A key such as ``a//b`` costs what is under ``a``, which `passed` is told.

    One listing is tried first; where a key ends it, what came already is told again folder by folder.

    Raises:
        InvalidPathError: Such a key stands directly under the prefix.
    """
    import obstore
    from obstore.exceptions import InvalidPathError

    try:
        for some in obstore.list(store, prefix=prefix or None):
            yield from _sorted(some)
        return
    except InvalidPathError:
        waiting = [prefix]
    while waiting:
        folder = waiting.pop()
        try:
            found = obstore.list_with_delimiter(store, prefix=folder or None)
        except InvalidPathError:
            if folder == prefix:
                raise
            passed.append(Undone((f"{folder}/", _WHY)))
            continue
        yield from _sorted(found["objects"])
        waiting += sorted((str(one) for one in found["common_prefixes"]), reverse=True)


def _sorted(some: Any) -> list[Any]:
    return sorted(some, key=lambda one: str(one["path"]))
