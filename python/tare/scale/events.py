"""What a run tells while it goes on: at most ten times a second, but never less than what failed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["Events"]

_LEAST_S = 0.1
_ALWAYS = frozenset({"planned", "unit_failed", "worker_died", "retry", "interrupted", "finished"})


class Events:
    """Passes events on, with the rate and the time that is left; by bytes, for units differ in size.

    Args:
        to: Takes them; None takes none.
    """

    def __init__(self, to: Callable[[dict[str, Any]], None] | None) -> None:
        self._to = to
        self._last = 0.0
        self._began = time.monotonic()

    def __call__(self, event: dict[str, Any]) -> None:
        """Tell one event."""
        if self._to is None:
            return
        now = time.monotonic()
        if event["event"] not in _ALWAYS:
            if now - self._last < _LEAST_S:
                return
            self._last = now
        if "bytes" in event:
            seconds = max(now - self._began, 1e-9)
            rate = (event["bytes"] - event.get("bytes_before", 0)) / seconds
            left = max(0, event.get("bytes_total", 0) - event["bytes"])
            event = {**event, "seconds": round(seconds, 1), "rate": round(rate)}
            if rate > 0:
                event["seconds_left"] = round(left / rate, 1)
        self._to(event)
