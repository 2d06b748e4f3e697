"""What the loop asks of an engine."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

__all__ = ["DYING", "THREADS", "Engine", "facts", "limit_threads"]

# One thread a worker where there are several: two workers on two cores gain nothing without it.
THREADS = (
    "RAYON_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
)

DYING = (
    "its processes die as soon as they begin: too little memory, or something ends them; what is done is kept"
)


class Engine(ABC):
    """An engine: where units run."""

    name = ""
    workers = 1
    is_pool = False
    """Whether its workers share the memory of this machine, and all go when one dies."""

    repeats = False
    """Whether it may carry out a unit again of its own accord, as clusters do whose worker died."""

    @property
    def most(self) -> int:
        """How many units may be in flight: enough that no worker waits for the next."""
        return max(4, 2 * self.workers)

    def start(self) -> None:  # noqa: B027 - most have nothing to do
        """Be ready soon: what takes time begins now, beside what this process does."""

    @abstractmethod
    def submit(self, unit: dict[str, Any], settings: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Begin a unit."""

    @abstractmethod
    def close(self) -> None:
        """End what it started."""

    def is_death(self, error: BaseException) -> bool:
        """Whether an error says that the worker died."""
        del error
        return False

    def who_died(self, error: BaseException) -> str:
        """The name of the worker whose death an error tells, as several errors may; empty if it has none."""
        del error
        return ""

    def withdraw(self) -> None:  # noqa: B027 - most cannot tell what has begun
        """Take back the units that no worker has begun: their futures are cancelled, or raise `CancelledError`."""

    def restart(self) -> None:  # noqa: B027 - most have nothing to do
        """After a death: be ready for units again."""

    def give_up(self) -> None:
        """What is running took too long: end it, if that can be done."""
        self.restart()

    def alive(self) -> bool:
        """Whether any worker can take a unit."""
        return True

    def probe(self, settings: Mapping[str, Any], uri: str) -> list[dict[str, Any]]:
        """Have each worker reach the first input and the destination."""
        from tare.scale.preflight import probe

        return [probe(dict(settings), uri)]

    def newcomers(self, settings: Mapping[str, Any], uri: str) -> list[dict[str, Any]]:
        """What workers say that came since the last `probe`, or the last call; `workers` counts them."""
        del settings, uri
        return []


def facts() -> dict[str, Any]:
    """What a worker says of itself. Versions are asked of what is installed: loading it takes a tenth of a second."""
    import platform
    from importlib.metadata import version

    from tare._version import __version__

    return {
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "tare": __version__,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("pyarrow", "numpy")},
    }


def limit_threads(threads: int = 1) -> None:
    """Give this process so many threads; before the libraries start theirs."""
    for name in THREADS:
        os.environ[name] = str(threads)
    import pyarrow as pa

    pa.set_cpu_count(threads)
    pa.set_io_thread_count(max(1, threads))
