"""Who runs units: this process, a pool, any ``concurrent.futures`` executor, Dask or Ray.

An engine has ``submit(unit, settings) -> Future``, ``workers``, ``is_death(error)``, ``restart()``,
``probe()`` (what each worker says of itself) and ``close()``; futures have ``done, result, cancel,
add_done_callback``. Data never passes through it: units in, receipts out.
"""

from __future__ import annotations

import os
from typing import Any

from tare.errors import UsageError
from tare.scale.executors.base import Engine

__all__ = ["Engine", "check_executor", "engine_of", "usable_cpus"]


def usable_cpus() -> int:
    """Cores that this process may use: its affinity and the quota of its control group."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
    except (OSError, ValueError):
        return count
    return count if quota == "max" else max(1, min(count, int(quota) // int(period)))


def check_executor(executor: Any) -> None:
    """Refuse the name of no engine, before there is a plan for it; nothing is started.

    Raises:
        UsageError: No such engine.

    >>> check_executor("local:8")
    """
    if not isinstance(executor, str):
        return
    name, _, rest = executor.partition(":")
    if name not in ("inline", "local", "dask", "dask+file", "ray"):
        raise UsageError(
            f"--executor {executor!r:.60}: local, inline, dask, dask://, dask+file:, ray, ray:// or ray:auto"
        )
    if name == "local" and rest and not (rest.isdigit() and int(rest)):
        raise UsageError(f"--executor {executor!r:.60}: local:N takes a number of processes, 1 or more")


def engine_of(executor: Any, jobs: int | None = None, patience: float = 60.0) -> Engine:
    """The engine of what a user named.

    Args:
        executor: ``local``, ``local:8``, ``inline``, ``dask``, ``dask://host:port``, ``dask+file:PATH``, ``ray``,
            ``ray://host:port``, ``ray:auto``, an engine, or an object of the shape of `concurrent.futures.Executor`.
        jobs: How many processes ``local``, ``dask`` and ``ray`` start; by default one for each usable core.
        patience: Seconds to wait for the first worker of a cluster.

    Raises:
        UsageError: No such engine.
        MissingLibrary: Dask or Ray are not installed; the text has the line.
    """
    if isinstance(executor, Engine):
        return executor
    if not isinstance(executor, str):
        from tare.scale.executors.futures import FuturesEngine

        return FuturesEngine(executor)
    check_executor(executor)
    name, _, rest = executor.partition(":")
    if name == "inline":
        from tare.scale.executors.inline import InlineEngine

        return InlineEngine()
    if name == "local":
        from tare.scale.executors.local import LocalEngine

        return LocalEngine(int(rest) if rest else jobs or usable_cpus())
    if name in ("dask", "dask+file"):
        from tare.scale.executors.dask import DaskEngine

        return DaskEngine(executor, jobs or usable_cpus(), patience)
    from tare.scale.executors.ray import RayEngine

    return RayEngine(executor, jobs or usable_cpus())
