"""The base and its A/A twin: two processes that were asked the same, so that what differs is noise."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tare import measure
from tare.measure.plan.plan import Plan
from tare.measure.sampling import case_runner
from tare.measure.sampling.batch_length import long_enough
from tare.measure.worker_client import client

DOCUMENT = [{"id": n, "name": f"name {n % 97}", "lines": [n / 7] * (n % 5)} for n in range(2000)]
BASE = "json:orjson"


def test_what_a_workers_heap_has_seen_is_the_same_for_base_and_twin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each launch two workers of the base make the same calls, peaks and warming included.

    The floor's copies once ran in the base's worker and left its heap so large that it
    decoded without page faults, 1.3 times faster than its twin in every launch.
    """
    asked: dict[int, list[tuple[str, str, str]]] = defaultdict(list)

    class Watched(client.Worker):
        again = threading.local()  # two workers are prepared at a time

        def send(self, op: str, **fields: Any) -> int:
            if not getattr(Watched.again, "on", False):
                asked[self.pid].append((op, fields.get("what", ""), fields.get("codec", "")))
            return super().send(op, **fields)

    def counted_once(
        ask: Callable[[int], Any], calls: int, target_ns: int, *, full: bool = False
    ) -> tuple[Any, bool]:
        """A sample that a busy machine made too short is taken again, by either: it counts as one."""

        def take(calls: int) -> Any:
            try:
                return ask(calls)
            finally:
                Watched.again.on = True

        try:
            return long_enough(take, calls, target_ns, full=full)
        finally:
            Watched.again.on = False

    monkeypatch.setattr(case_runner, "long_enough", counted_once)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(client, "Worker", Watched)
    block = {"dataset": ["d"], "codec": [BASE, "json:stdlib"], "medium": ["memory"]}
    few = {"launches": 2, "rounds": 2}
    plan = {"plan": 1, "name": "twin", "statistics": few, "block": [block]}
    result = measure.run(DOCUMENT, plan=Plan.from_dict(plan), base=BASE)
    launches: dict[int, dict[str, Counter[tuple[str, str, str]]]] = defaultdict(dict)
    for case in result.record["cases"]:
        labels = case["labels"]
        name = "floor" if labels["codec"] == "copy" else "twin" if labels.get("twin") else labels["codec"]
        if case["stage"] == "weigh":
            for launch in case["launches"]:
                launches[launch["n"]][name] = Counter(asked[launch["pid"]])
    assert len(launches) >= 2, "the second launch measures peaks"
    for number, calls in launches.items():
        assert calls["twin"] == calls[BASE], number
        assert ("run", "copy", BASE) not in calls[BASE], "the floor has a worker of its own"
        assert calls["floor"]["run", "copy", BASE], number
        assert not calls["floor"]["run", "decode", BASE], number
    assert any(calls[BASE]["mem", "encode", ""] for calls in launches.values()), "some launch measured a peak"
