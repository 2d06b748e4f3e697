"""Ray: a cluster of the user's, or one of our own on this machine."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from tare.errors import UsageError
from tare.scale.executors.base import THREADS, Engine
from tare.scale.preflight import EngineError, EngineMissing

__all__ = ["RayEngine"]

_DEATHS = (
    "WorkerCrashedError",
    "NodeDiedError",
    "LocalRayletDiedError",
    "OutOfMemoryError",
    "ActorDiedError",
)


class RayEngine(Engine):
    """Units as tasks of Ray.

    Args:
        text: ``ray``, ``ray:auto`` or ``ray://host:port``.
        workers: How many cores one of our own has.
    """

    repeats = True

    def __init__(self, text: str, workers: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise EngineMissing("--executor ray needs ray: pip install 'ray[client]'") from error
        self.name = "ray"
        self._ray = ray
        limits = {"env_vars": dict.fromkeys(THREADS, "1")}
        common: dict[str, Any] = {"runtime_env": limits, "log_to_driver": False, "logging_level": "ERROR"}
        try:
            if text == "ray":
                ray.init(num_cpus=workers, resources={"bench": 1}, include_dashboard=False, **common)
            elif text == "ray:auto":
                ray.init(address="auto", **common)
            elif text.startswith("ray://"):
                ray.init(address=text, **common)
            else:
                raise UsageError(f"--executor {text!r:.60}: ray, ray:auto or ray://host:port")
            self.workers = max(1, sum(_cpus(node) for node in self._hosts()))
        except (ConnectionError, OSError, RuntimeError, ray.exceptions.RayError) as error:
            raise EngineError(f"{text}: {str(error)[:300]}") from error

        def carry_out(unit: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
            from tare.scale.running import run_unit

            return run_unit(unit, settings)

        def look(settings: dict[str, Any], uri: str) -> dict[str, Any]:
            from tare.scale.preflight import probe

            return probe(settings, uri)

        self._run = ray.remote(max_retries=0)(carry_out)
        self._look = ray.remote(max_retries=0)(look)

    def submit(self, unit: dict[str, Any], settings: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Begin a unit."""
        needs = unit.get("needs", {})
        task = self._run.options(
            num_cpus=int(needs.get("threads", 1)), resources=needs.get("resources") or None
        )
        found: Future[dict[str, Any]] = task.remote(unit, dict(settings)).future()
        return found

    def is_death(self, error: BaseException) -> bool:
        """Whether the worker, or its host, died with the unit."""
        return type(error).__name__ in _DEATHS

    def probe(self, settings: Mapping[str, Any], uri: str) -> list[dict[str, Any]]:
        """One task on each host reaches the first input and the destination, and waits for no core of it."""
        nodes = self._hosts()
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        there = [strategy(node["NodeID"], soft=False) for node in nodes]
        look = (self._look.options(num_cpus=0, scheduling_strategy=one) for one in there)
        try:
            told = self._ray.get([one.remote(dict(settings), uri) for one in look])
        except (ConnectionError, OSError, RuntimeError, self._ray.exceptions.RayError) as error:
            last = str(error).strip().rpartition("\n")[2]  # before it stand the lines of the worker's calls
            raise EngineError(f"ray: a host cannot be used: {type(error).__name__}: {last[:300]}") from error
        return [
            {**one, "bench": int(node["Resources"].get("bench", 0))}
            for one, node in zip(told, nodes, strict=True)
        ]

    def alive(self) -> bool:
        """Whether a host of it lives."""
        return bool(self._hosts())

    def _hosts(self) -> list[dict[str, Any]]:
        """The nodes that units can run on: a head may have no core, to do nothing but lead."""
        return [node for node in self._ray.nodes() if node["Alive"] and _cpus(node)]

    def close(self) -> None:
        """Leave it; one of our own ends."""
        with contextlib.suppress(Exception):
            self._ray.shutdown()


def _cpus(node: Mapping[str, Any]) -> int:
    return int(node["Resources"].get("CPU", 0))
