"""The verbs of a store for asyncio: each runs in a thread, where the core has released the GIL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.store.store import Store

__all__ = ["AsyncStore"]


class AsyncStore:
    """A store whose verbs are awaited: ``await store.aio.get("a")``.

    What is awaited is every method that answers at once; iterators and batches stay the store's own. A batch
    is of one thread, so what is awaited is in none.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        hidden = name.startswith("_") or name in ("batch", "iter_keys", "memoize")
        verb = None if hidden else getattr(self.store, name)
        if callable(verb):
            return partial(asyncio.to_thread, verb)
        raise AttributeError(f"{name!r} is not awaited: use store.{name}")

    def namespace(self, name: str) -> AsyncStore:
        """The same store, where another namespace is meant if none is named."""
        return AsyncStore(self.store.namespace(name))
