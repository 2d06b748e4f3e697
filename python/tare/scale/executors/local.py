"""Processes of this machine: a pool that is made again when one of them dies.

The standard library's pool gives up everything when one process dies; receipts say what was done, so that
only what has none runs again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any, TypeVar

from tare.scale.executors.base import DYING, Engine, limit_threads

__all__ = ["LocalEngine"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_T = TypeVar("_T")


class LocalEngine(Engine):
    """A pool of processes that are started afresh, never forked from this one: it has threads.

    Args:
        workers: How many.
    """

    name = "local"
    is_pool = True

    def __init__(self, workers: int) -> None:
        self.workers = max(1, workers)
        self._context = multiprocessing.get_context("spawn")
        self._withdrawn = self._context.Event()
        self._open_pool()

    def start(self) -> None:
        """Have all processes load what units need, beside whatever this one does meanwhile."""
        with contextlib.suppress(BrokenExecutor):  # `probe` sees it
            for _ in range(self.workers):
                self._submitted(_ready)

    def submit(self, unit: dict[str, Any], settings: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Begin a unit."""
        return self._submitted(_run, unit, dict(settings))

    def withdraw(self) -> None:
        """Take back what waits for a process: the pool hands units out before they can run, so these ask first."""
        self._withdrawn.set()

    def is_death(self, error: BaseException) -> bool:
        """Whether an error says that a process died: the pool cannot say which."""
        return isinstance(error, BrokenExecutor)

    def restart(self) -> None:
        """A new pool, whose processes are there: a unit's time is not that of starting them."""
        self.close()
        self._open_pool()
        with contextlib.suppress(BrokenExecutor):
            for one in [self._submitted(_ready) for _ in range(self.workers)]:
                one.result()

    def probe(self, settings: Mapping[str, Any], uri: str) -> list[dict[str, Any]]:
        """Each process that is started reaches both; all are started now, not in the midst of the work.

        Raises:
            EngineError: Processes die again.
        """
        from tare.scale.preflight import EngineError

        try:
            return self._probed(settings, uri)
        except BrokenExecutor:  # one died since `start`
            self.restart()
        try:
            return self._probed(settings, uri)
        except BrokenExecutor as error:
            raise EngineError(f"local: {DYING}") from error

    def _probed(self, settings: Mapping[str, Any], uri: str) -> list[dict[str, Any]]:
        from tare.scale.preflight import probe

        asked = [self._submitted(probe, dict(settings), uri) for _ in range(self.workers)]
        return [one.result() for one in asked]

    def _submitted(self, function: Callable[..., _T], *given: Any) -> Future[_T]:
        """Processes begin with what is given first. Until they have said what signals mean to them, these wait."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # a process inherits it
            return self._pool.submit(function, *given)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self) -> None:
        """End all processes, also those in the midst of a unit."""
        _kill(self._pool, self._processes)
        self._removal.detach()

    def _open_pool(self) -> None:
        """Make the pool, which ends with this object if a signal's exception comes before or in the middle of `close`.

        A process that is left waits for ever for a lock that a killed one held, and the interpreter waits for it.
        """
        self._pool = ProcessPoolExecutor(
            self.workers,
            mp_context=self._context,
            initializer=_begin,
            initargs=(self.workers, self._withdrawn),
        )
        # The pool adds to these, and forgets them when it is shut down.
        self._processes: dict[int, BaseProcess] = getattr(self._pool, "_processes", {})
        self._removal = weakref.finalize(self, _kill, self._pool, self._processes)


def _kill(pool: ProcessPoolExecutor, processes: dict[int, BaseProcess]) -> None:
    """Shut a pool down and end its processes; once more does no harm."""
    running = list(processes.copy().values())
    manager: threading.Thread | None = getattr(pool, "_executor_manager_thread", None)
    pool.shutdown(wait=False, cancel_futures=True)
    for process in running:
        process.kill()  # SIGTERM is for the parent alone
    for process in running:
        process.join(5)
    # At its exit the interpreter wakes the pool's thread, and fails if that closes its pipe at the same moment.
    if manager is not None and manager is not threading.current_thread():
        manager.join(5)


_given: list[Event] = []


def _run(unit: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """The unit's receipt, unless it was withdrawn on its way here."""
    from tare.scale.running import run_unit

    if any(withdrawn.is_set() for withdrawn in _given):
        raise CancelledError
    return run_unit(unit, settings)


def _begin(workers: int, withdrawn: Event) -> None:
    _given.append(withdrawn)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Ctrl-C goes to the whole group of a terminal, a batch system's SIGTERM to all of a job: the parent decides what
    # they mean, and its end is noticed. What units start must not inherit that: a handler is dropped where it begins.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _not_ours)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    if workers > 1:
        limit_threads()


def _not_ours(number: int, frame: object) -> None:
    """Of a signal that the parent answers."""


def _ready() -> None:
    """Load what most units need."""
    import pyarrow.parquet  # noqa: F401

    import tare.scale.running
    import tare.scale.tasks.convert  # noqa: F401


def _end_with_parent() -> None:
    """A pool's process waits for work for ever when whoever would give it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
