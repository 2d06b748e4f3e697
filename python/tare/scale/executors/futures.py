"""Any executor of the shape of `concurrent.futures.Executor`: threads, loky, MPI, Dask's own."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import BrokenExecutor, Future
from typing import Any

from tare.errors import UsageError
from tare.scale.executors.base import Engine
from tare.scale.preflight import EngineError

__all__ = ["FuturesEngine"]


class FuturesEngine(Engine):
    """An executor that the caller made, and ends.

    Args:
        executor: With ``submit``.
    """

    name = "futures"

    repeats = True

    def __init__(self, executor: Any) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise UsageError(
                f"executor: an object with submit() or a name is needed, not {type(executor).__name__}"
            )
        self._executor = executor
        self.workers = int(getattr(executor, "_max_workers", 0) or 4)

    def submit(self, unit: dict[str, Any], settings: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Begin a unit."""
        from tare.scale.running import run_unit

        found: Future[dict[str, Any]] = self._executor.submit(run_unit, unit, dict(settings))
        return found

    def is_death(self, error: BaseException) -> bool:
        """Whether an error says that the pool broke."""
        return isinstance(error, BrokenExecutor)

    def restart(self) -> None:
        """It is the caller's, and a broken one takes nothing more.

        Raises:
            EngineError: It broke; a second start with a new one goes on.
        """
        if not self.alive():
            raise EngineError("the executor lost a process and takes no more units; what is done is kept")

    def alive(self) -> bool:
        """Whether it takes more."""
        return not getattr(self._executor, "_broken", False)

    def close(self) -> None:
        """It is the caller's."""
