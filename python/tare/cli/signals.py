"""Signals that end a command, so that it cleans up first."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from types import CodeType
from typing import Any

__all__ = ["ended_by_signals", "lost_signals_sent_again", "terminated_as_interrupted"]

_AGAIN_S = 0.001


@contextlib.contextmanager
def lost_signals_sent_again() -> Iterator[None]:
    """Sends a signal once more whose exception Python dropped.

    The handler of Ctrl-C runs between any two instructions, also within the callback of a weak reference or a
    finalizer, e.g. those of the import system. What it raises there Python prints and forgets, and the program would go on.
    """
    before = sys.unraisablehook

    def send_again(lost: Any) -> None:
        number = _signal_of(lost.exc_value)
        if number is None:
            before(lost)
            return
        import threading

        main = threading.main_thread().ident

        def send() -> None:
            # Within this hook it would be handled at once, and be lost again.
            while _runs(main, send_again.__code__):
                time.sleep(_AGAIN_S)
            os.kill(os.getpid(), number)

        threading.Thread(target=send, daemon=True).start()

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _runs(thread: int | None, code: CodeType) -> bool:
    """Returns whether a thread is within a function with this code."""
    frame = sys._current_frames().get(thread or 0)  # noqa: SLF001 -- the only way to see another thread's stack
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False


def _signal_of(error: BaseException | None) -> int | None:
    """Returns the signal whose handler raised this exception; None for any other exception."""
    if isinstance(error, KeyboardInterrupt):
        return signal.SIGINT
    code = error.code if isinstance(error, SystemExit) else None
    return code - 128 if isinstance(code, int) and code > 128 else None


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
