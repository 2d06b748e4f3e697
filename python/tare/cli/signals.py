"""Signals that end a command, so that it cleans up first."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any

__all__ = ["ended_by_signals", "terminated_as_interrupted"]


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Clean up after SIGTERM and SIGHUP too, as after Ctrl-C; the exit code is 128 and their number."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before: dict[int, Any] = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # What `nohup` had ignored stays so; and threads other than the first may not ask for signals.
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            with contextlib.suppress(ValueError):
                before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """A batch system ends a job by SIGTERM: it is to leave nothing half done, as Ctrl-C does."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
