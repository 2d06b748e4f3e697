"""What the engine asks of Ray, which stands in here: the real one is too large for every run."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tare.scale.executors.ray import RayEngine
from tare.scale.preflight import EngineError, check_workers


class RayError(Exception):
    """As all errors of Ray are."""


class TaskUnschedulableError(RayError):
    """A task for a node that has not what it wants."""


class Remote:
    """A function that Ray knows; it runs where its affinity says, if that node has its cores."""

    def __init__(self, ray: StandIn, function: Any, options: dict[str, Any]) -> None:
        self._ray, self._function, self._options = ray, function, options

    def options(self, **options: Any) -> Remote:
        return Remote(self._ray, self._function, {**self._options, **options})

    def remote(self, *given: Any) -> Any:
        def run() -> Any:
            node = self._options["scheduling_strategy"]
            if self._options.get("num_cpus", 1) > self._ray.cores[node]:
                raise TaskUnschedulableError("The task is not schedulable: the node is infeasible")
            self._ray.asked.append(node)
            return self._function(*given)

        return run


class StandIn:
    """A cluster by its nodes and their cores."""

    def __init__(self, cores: dict[str, int], error: Exception | None = None) -> None:
        self.cores, self.error, self.asked = cores, error, list[str]()
        self.exceptions = SimpleNamespace(RayError=RayError)
        strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: node)
        self.util = SimpleNamespace(scheduling_strategies=strategies)

    def init(self, **_: Any) -> None:
        if "init" in str(self.error):
            raise self.error or AssertionError

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": name, "Alive": True, "Resources": {"CPU": float(count)} if count else {}}
            for name, count in self.cores.items()
        ]

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(sum(self.cores.values()))}

    def remote(self, **options: Any) -> Any:
        return lambda function: Remote(self, function, options)

    def get(self, asked: list[Any]) -> list[Any]:
        if "get" in str(self.error):
            raise self.error or AssertionError
        return [one() for one in asked]

    def shutdown(self) -> None: ...


def engine(monkeypatch: pytest.MonkeyPatch, ray: StandIn) -> RayEngine:
    monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
    return RayEngine("ray:auto", 1)


def test_a_head_without_cores_is_no_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    ray = StandIn({"head": 0, "a": 2, "b": 3})
    made = engine(monkeypatch, ray)
    assert made.workers == 5
    assert len(check_workers(made, {"state": f"file://{tmp_path}"}, "")) == 2
    assert ray.asked == ["a", "b"]
    ray.cores = {"head": 0}
    assert not made.alive()
    with pytest.raises(EngineError, match="ray: there is no worker"):
        check_workers(made, {"state": f"file://{tmp_path}"}, "")


def test_busy_cores_are_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    ray = StandIn({"a": 1})
    made = engine(monkeypatch, ray)
    monkeypatch.setattr(made, "_hosts", ray.nodes)
    ray.cores = {"a": 0}  # all in use
    assert len(made.probe({"state": f"file://{tmp_path}"}, "")) == 1


def test_what_ray_says_is_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    with pytest.raises(EngineError, match=r"^ray:auto: init: the cluster is of another version$"):
        engine(monkeypatch, StandIn({"a": 1}, RayError("init: the cluster is of another version")))
    lost = "ray::look() (pid=7, get)\n  File x\nModuleNotFoundError: No module named 'tare'"
    made = engine(monkeypatch, StandIn({"a": 1}, RayError(lost)))
    with pytest.raises(EngineError, match=r"a host cannot be used: .*No module named 'tare'$") as told:
        made.probe({"state": f"file://{tmp_path}"}, "")
    assert "\n" not in str(told.value)
