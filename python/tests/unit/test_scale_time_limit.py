"""What `unit_timeout` counts: the time that a worker is at a unit, by a clock and an engine that the test turns itself."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future

import pytest

from tare.scale import loop as loops
from tare.scale.executors.base import Engine
from tare.scale.loop import Loop, Rules
from tare.scale.plan import make_plan


class _Turned(Engine):
    """Workers that take units in their order; `turn` lets time go by. `hangs` is never done."""

    name = "turned"

    def __init__(self, workers, seconds, hangs=()):
        self.workers, self.seconds, self.hangs = workers, seconds, hangs
        self.now = 1000.0
        self.queue, self.running = deque(), []

    def submit(self, unit, settings):
        future = Future()
        name = unit["output"]["names"][0]
        self.queue.append(
            (future, name, {"key": settings["key"], "attempt": settings["attempt"], "input": [name]})
        )
        self._take()
        return future

    def _take(self):
        while self.queue and len(self.running) < self.workers:
            future, name, said = self.queue.popleft()
            self.running.append((future, name, said, self.now))

    def turn(self, seconds):
        self.now += seconds
        for one in list(self.running):
            future, name, said, since = one
            if name not in self.hangs and self.now - since >= self.seconds:
                self.running.remove(one)
                nothing = {
                    "output": [],
                    "fidelity": [],
                    "bytes_in": 0,
                    "bytes_out": 0,
                    "rows": 0,
                    "host": "here",
                }
                future.set_result({**said, **nothing, "status": "done"})
        self._take()

    def restart(self):
        self.queue.clear()
        self.running.clear()

    def close(self):
        pass


class _NoGuard:
    listed = None

    def there(self, *_, **__):
        return None

    def made(self, *_):
        pass


@pytest.fixture
def carried_out(tmp_path, monkeypatch):
    """Carry out 12 units by an engine with a limit of 1 s; the loop, the receipts and the events."""

    def run(engine):
        class Clock:
            monotonic = staticmethod(lambda: engine.now)
            sleep = staticmethod(engine.turn)

        def wait(futures, timeout, return_when):
            engine.turn(timeout)
            return {one for one in futures if one.done()}, set()

        monkeypatch.setattr(loops, "time", Clock)
        monkeypatch.setattr(loops, "wait", wait)
        base = (tmp_path / "out").as_uri()
        units = [
            {
                "tare_unit": 1, "task": "convert", "input": [{"uri": f"file:///nowhere/{n}.csv", "size": 1}],
                "write": "csv", "output": {"base": base, "names": [f"{n}.csv"]}, "options": {},
            }
            for n in range(12)
        ]  # fmt: skip
        plan = make_plan(units, str(tmp_path / "plan.jsonl"), task="convert", base=base)
        events = []
        loop = Loop(plan, engine, Rules(unit_timeout=1.0), events.append, guard=_NoGuard(), more={})
        return loop, list(loop.receipts()), events

    return run


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_what_waits_for_a_worker_is_not_late(carried_out, workers):
    """Each takes 0.8 of the second that it has; behind it in the queue others wait for longer."""
    loop, receipts, events = carried_out(_Turned(workers, 0.8))
    assert [one["status"] for one in receipts] == ["done"] * 12
    assert sum(one["event"] == "started" for one in events) == 12  # none was begun again
    assert loop.report.failed == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_what_hangs_is_late_twice_and_the_others_are_done_once(carried_out, workers):
    engine = _Turned(workers, 0.8, hangs=("5.csv",))
    loop, receipts, _ = carried_out(engine)
    assert (loop.report.done, loop.report.duplicate, loop.report.failed) == (11, 0, 1)
    (failed,) = (one for one in receipts if one["status"] == "failed")
    assert failed["input"] == ["file:///nowhere/5.csv"]
    assert failed["error"]["message"] == "/nowhere/5.csv: took longer than 1 s, twice"
