"""The function that a store calls for keys that do not exist: once per key at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Hook"]


class Hook:
    """The function that makes missing values, and which keys it is at work for.

    Args:
        function: Called with key and namespace; None for none.
    """

    def __init__(self, function: Callable[[str, str], Any] | None) -> None:
        self.function = function
        self._lock = threading.Lock()
        self._working: dict[tuple[str, str], tuple[threading.RLock, int]] = {}

    @contextlib.contextmanager
    def alone(self, key: str, namespace: str) -> Iterator[None]:
        """One thread at a time for a key."""
        place = (key, namespace)
        with self._lock:
            lock, users = self._working.get(place, (threading.RLock(), 0))
            self._working[place] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, users = self._working[place]
                if users == 1:
                    del self._working[place]
                else:
                    self._working[place] = lock, users - 1
