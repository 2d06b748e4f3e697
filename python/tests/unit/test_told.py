"""What a worker told of its time beside what its parent waited: a busy machine is no fault, a clock that loses time is."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tare.measure.worker_client import sample_check
from tare.measure.worker_client.clock_check import Told, far_short
from tare.measure.worker_client.sample_check import System

MS = 1_000_000


class Simulated:
    """A worker that tells a share of what it takes, on a machine that comes between.

    Args:
        telling: The share of each sample that it tells.
        free: What freeing takes for each call, as a share of it, after the clocks were read.
        once_ms: What it does once for each sample that is not empty, outside of it.
        tick_ms: The steps of its clocks.
        most: Calls of its largest batch.
        call_ms: What a call takes.
        collects_ms: Between what the collector takes before each sample, the empty one too, and a seed.
        no_cpu: Whether it has the column of CPU time, and nothing in it.
        queue_ms: How long it waits for a CPU outside of each sample, or nothing for the next ones.
        within: Of the time of a sample, what it waited for a CPU.
        counts: Whether the system counts anything.
    """

    def __init__(self, telling: float = 1.0, **more: Any) -> None:
        self.telling, self.more = telling, more
        self.now = self.used = self.queued = 0.0
        self.random: Random | None = None
        self.queue = list(more.get("queue_ms", ()))

    def clock(self) -> int:
        return int(self.now)

    def ask(self, **fields: Any) -> dict[str, Any]:
        calls = min(fields["batch"], self.more.get("most", 10**9))
        sample = 0.0 if fields["what"] == "null" else float(calls * MS * self.more.get("call_ms", 1))
        least, longest, seed = self.more.get("collects_ms", (0, 0, 0))
        self.random = self.random or Random(seed)
        collected = self.random.uniform(least, longest) * MS
        within = sample * self.more.get("within", 0.0)
        freed = self.more.get("free", 0.0) * sample
        once = self.more.get("once_ms", 0.0) * MS * (sample > 0)
        tick = self.more.get("tick_ms", 1e-6) * MS
        queue = (self.queue.pop(0) * MS if self.queue else 0.0) if sample else 0.0
        self.now += sample + freed + once + queue + collected + 2 * MS
        self.used += sample - within + freed + once + collected + 2 * MS
        self.queued += within + queue
        cpu = (sample - within) * self.telling * self.more.get("cpu_told", 1.0)
        cells = {
            "wall_ns": int(sample * self.telling // tick * tick) or 1,
            "user_ns": None if self.more.get("no_cpu") else int(cpu // tick * tick),
        }
        return {"cols": list(cells), "samples": [list(cells.values())], "batch": calls}

    def counted(self) -> System:
        if not self.more.get("counts", True):
            return System(None, 0)
        return System(int(self.used), int(self.queued))


def said_of(
    monkeypatch: pytest.MonkeyPatch, worker: Simulated, operation: str = "encode", batch: int = 200
) -> str:
    monkeypatch.setattr(sample_check.time, "monotonic_ns", worker.clock)
    return far_short(worker.ask, worker.counted, operation, batch)


@pytest.mark.parametrize("telling", [1.0, 0.8, 0.5, 0.2, 0.02])
@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("operation", ["encode", "decode", "read", "write"])
def test_a_clock_that_loses_time_is_at_fault(
    monkeypatch: pytest.MonkeyPatch, telling: float, counts: bool, operation: str
) -> None:
    """A third of it, or two of writing: the files of a batch are removed outside of the sample."""
    said = said_of(monkeypatch, Simulated(telling, counts=counts), operation)
    assert bool(said) == (telling < (0.3 if operation == "write" else 0.6)), said
    assert not said or said.startswith(
        f"of {operation}, {int(188 * MS * telling)} ns were told for 188000000 ns"
    )


@pytest.mark.parametrize(
    "more",
    [
        {"queue_ms": [0, 900] * 3},  # counted: it was ready, and had no CPU
        {"queue_ms": [0, 900] * 2, "counts": False},  # not counted, and gone the third time
        {"within": 0.8, "queue_ms": [0, 900] * 3},
        {"within": 0.8, "cpu_told": 0.2},  # the CPU time of its first thread alone, of many
        {"once_ms": 400},  # it evicts the file, or counts what came back
        {"once_ms": 400, "queue_ms": [0, 300] * 3},
        {"tick_ms": 10},
        {"tick_ms": 16, "queue_ms": [0, 200] * 3},
    ],
)
@pytest.mark.parametrize("batch", [200, 40, 10, 2])
def test_a_busy_machine_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], batch: int
) -> None:
    assert not said_of(monkeypatch, Simulated(**more), batch=batch)


def test_freeing_after_the_clocks_is_lost_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said_of(monkeypatch, Simulated(free=0.9), "decode")


@pytest.mark.parametrize("telling", [0.9, 0.5, 0.05])
def test_a_busy_machine_hides_no_clock(monkeypatch: pytest.MonkeyPatch, telling: float) -> None:
    """Most of the wait was for a CPU; what the system counts of the worker's CPU time tells all the same."""
    worker = Simulated(telling, within=0.8, queue_ms=[0, 20] * 3)
    assert bool(said_of(monkeypatch, worker)) == (telling < 0.6)


@pytest.mark.parametrize("telling", [0.9, 0.5, 0.05])
@pytest.mark.parametrize("within", [0.0, 0.6])
def test_batches_that_cannot_be_long_are_summed_up(
    monkeypatch: pytest.MonkeyPatch, telling: float, within: float
) -> None:
    """In a store each call is a sample of its own."""
    worker = Simulated(telling, within=within, most=120)
    assert bool(said_of(monkeypatch, worker)) == (telling < 0.6)


@pytest.mark.parametrize("call_ms", [2, 10, 20, 33, 60])
@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("collects_ms", [(15, 90), (0, 0)])
def test_a_few_long_calls_that_fill_a_batch_are_no_fault(
    monkeypatch: pytest.MonkeyPatch, call_ms: float, most: int, collects_ms: tuple[int, int]
) -> None:
    """A short sample had as many calls as a long one, and what the collector took by chance was held against the clock."""
    for seed in range(60):
        for queue_ms in ([], [0, 75] * 3):
            worker = Simulated(
                most=most,
                call_ms=call_ms,
                collects_ms=(*collects_ms, seed),
                queue_ms=queue_ms,
                counts=bool(seed % 2),
            )
            assert not said_of(monkeypatch, worker, batch=max(1, round(60 / call_ms)))


@pytest.mark.parametrize("call_ms", [20, 33, 60])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_few_calls_that_fill_a_batch_are_summed_up(
    monkeypatch: pytest.MonkeyPatch, call_ms: float, most: int
) -> None:
    worker = Simulated(0.05, most=most, call_ms=call_ms, collects_ms=(2, 5, 1))
    said = said_of(monkeypatch, worker, batch=max(2, round(60 / call_ms)))
    assert said
    assert int(said.split()[-6]) >= 150 * MS


def test_cpu_time_that_is_not_told_is_not_nought(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column without a number says as little as no column: waiting for a CPU excuses the worker."""
    assert not said_of(monkeypatch, Simulated(no_cpu=True, queue_ms=[0, 900] * 7))


@pytest.mark.parametrize("telling", [1.0, 0.5, 0.05])
def test_a_single_long_call_is_held_against_an_empty_sample(
    monkeypatch: pytest.MonkeyPatch, telling: float
) -> None:
    worker = Simulated(telling)
    slow = worker.ask
    worker.ask = lambda **fields: slow(**fields | {"batch": 700 * fields["batch"]})  # type: ignore[method-assign]
    assert bool(said_of(monkeypatch, worker, batch=1)) == (telling < 0.6)


def sums(told_ms: float, waited_ms: float, samples: int = 4) -> Told:
    found = Told()
    reply = {"cols": ["wall_ns"], "samples": [[int(told_ms * MS)]], "batch": 2}
    found.add("decode", reply, 10**12)  # a worker may warm up for the first
    for _ in range(samples):
        found.add("decode", reply, int(waited_ms * MS))
    return found


@pytest.mark.parametrize(
    ("told_ms", "waited_ms", "empty_ms", "suspected"),
    [
        (2, 2.4, 0.2, False),
        (2, 5, 0.2, True),
        (2, 5, 2.5, False),  # the collector runs before each sample
        (0.1, 0.5, 0.1, False),  # too short to tell
        (2, 40, 0.1, True),
    ],
)
def test_what_sums_are_looked_at_again(
    told_ms: float, waited_ms: float, empty_ms: float, suspected: bool
) -> None:
    found = sums(told_ms, waited_ms).suspected(lambda _operation, _calls: int(empty_ms * MS))
    assert bool(found) == suspected
    if suspected:  # a sample of about 60 ms, by the parent's clock
        assert found["decode"] == pytest.approx(60 * 2 / (waited_ms - empty_ms), abs=1)


def test_nothing_is_asked_where_the_sums_are_right() -> None:
    def asked(_operation: str, _calls: int) -> int:
        raise AssertionError("an empty sample was asked for")

    assert sums(2, 2.4).suspected(asked) == {}


def test_a_first_sample_counts_while_it_is_alone() -> None:
    """A slow operation may have one sample in a launch; what a worker warmed up for is looked at again, and is no fault."""
    assert sums(2, 2.4, samples=0).suspected(lambda _operation, _calls: 0)
    found = Told()
    reply = {"cols": ["wall_ns"], "samples": [[MS]], "batch": 1}
    found.add("encode", reply | {"warm_calls": 9}, 10**9)
    assert found.suspected(lambda _operation, _calls: 0) == {}
    found.add("encode", reply, MS)
    assert found.suspected(lambda _operation, _calls: 0) == {}
    found.add("encode", reply | {"warm_calls": 9}, 10**9)  # a worker warms up once for an operation
    assert found.suspected(lambda _operation, _calls: 0)
