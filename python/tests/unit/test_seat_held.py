"""What is left of a launch's samples once its clocks were held against the wait, and whose time that is."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tare.errors import WorkerError
from tare.measure.sampling.case_runner import Seat
from tare.measure.sampling.rounds import run_rounds
from tare.measure.session import Session
from tare.measure.worker_client.clock_check import Told
from tare.measure.worker_client.samples import threads_of


def seat_of(error: WorkerError, *, dies: bool) -> Seat:
    """A seat with samples that look too short, whose worker answers a longer one with an error."""
    worker = SimpleNamespace(alive=True, pid=7, memory_limit=None)
    seat = Seat.__new__(Seat)
    seat.session = SimpleNamespace(check=lambda: None, release=lambda _: None, cpus=[])  # type: ignore[assignment]
    seat.case, seat.samples, seat.told = {"status": "ok"}, {"encode": {"wall_ns": [1]}}, Told()
    seat.worker, seat.shared, seat.alive, seat.language = worker, False, True, "node"  # type: ignore[assignment]
    seat.threads, seat._hash_seed, seat._began, seat._path, seat._pid = 1, 1, 0.0, None, None
    for _ in range(3):
        seat.told.add("encode", {"cols": ["wall_ns"], "samples": [[1_000_000]], "batch": 9}, 10**9)

    def fails(**fields: Any) -> dict[str, Any]:
        worker.alive = not dies
        raise error

    seat._ask_run = fails  # type: ignore[method-assign]
    seat._deadline_s = lambda operation: 1.0  # type: ignore[method-assign]
    return seat


def test_a_clock_that_is_wrong_leaves_what_was_saved_before() -> None:
    """Screening takes rounds twice, and saves a seat's launch after the first: the record has the same columns."""
    seat = seat_of(WorkerError("wrong", type="clock", phase="protocol"), dies=False)
    saved = seat.launch(1, None, None)
    seat.hold_sums()
    assert (seat.case["status"], seat.alive, seat.stands) == ("error", False, False)
    assert saved["samples"] == {"encode": {"wall_ns": [1]}}
    assert seat.samples == {}


@pytest.mark.parametrize("kind", ["timeout", "killed"])
def test_a_worker_that_our_longer_sample_ends_keeps_its_samples(kind: str) -> None:
    """It had no time, or no memory, for many more calls than it was measured with: no fault of its codec."""
    seat = seat_of(WorkerError("gone", type=kind), dies=True)
    seat.hold_sums()
    assert (seat.case["status"], seat.alive, seat.stands, seat.worker) == ("ok", False, True, None)
    launch = seat.launch(1, None, None)
    assert (launch["samples"], launch["pid"]) == ({"encode": {"wall_ns": [1]}}, 7)


def seat_that_looks(session: Any, answer: dict[str, Any] | WorkerError, asked: list[str]) -> Seat:
    """A seat whose worker has this answer to whatever it is asked for."""
    seat = Seat.__new__(Seat)
    seat.session, seat.language, seat.codec = session, "node", "json:node"  # type: ignore[assignment]
    seat.limit_s, seat.worker, seat._looked = 1.0, None, False

    def ask(op: str, **fields: Any) -> dict[str, Any]:
        asked.append(op)
        if isinstance(answer, WorkerError):
            raise answer
        return answer

    seat._ask = ask  # type: ignore[method-assign,assignment]
    return seat


@pytest.mark.parametrize("kind", ["killed", "error", "refused", "clock", "timeout"])
def test_a_clock_that_could_not_be_looked_at_is_looked_at_by_the_next_seat(kind: str) -> None:
    """One codec that cannot encode, or whose worker dies, makes no clock of its language a right one."""
    session: Any = SimpleNamespace(clock_faults={})
    asked: list[str] = []
    first = seat_that_looks(session, WorkerError("gone", type=kind), asked)
    if kind == "timeout":
        with pytest.raises(WorkerError, match="gone"):
            first._hold_clock()
    else:
        first._hold_clock()
    first._hold_clock()
    assert (asked, session.clock_faults) == (["run"], {})
    cols = ["wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw"]
    still = {"cols": cols, "samples": [[2_000_000, 0, 0, 0, 0]] * 10, "batch": 1}
    with pytest.raises(
        WorkerError, match="the worker's clock is wrong: of encode, its CPU clock stood still"
    ):
        seat_that_looks(session, still, asked)._hold_clock()
    with pytest.raises(WorkerError, match="the worker's clock is wrong"):
        seat_that_looks(session, still, asked)._hold_clock()
    assert len(asked) == 2


def test_holding_clocks_is_no_time_of_rounds() -> None:
    """How much a launch of one round takes was thought to be less than it is."""
    session: Any = SimpleNamespace(elapsed_s=5.0, rng=Random(1))

    class Timed:
        alive, operations, rounds_left, samples = True, ("encode",), 9, {}

        def sample(self, *_: Any) -> None:
            session.elapsed_s += 1.0

        def hold_sums(self) -> None:
            session.elapsed_s += 100.0

        def settle(self) -> None:
            """It stays where it is."""

        def expected_s(self, _operation: str) -> float:
            return 1.0

    seats: Any = [Timed(), Timed()]
    assert run_rounds(session, seats, rounds=3, until_s=1e9) == (3, 6.0)


def test_a_worker_that_has_ended_is_not_moved() -> None:
    """Between its last reply and the first round a worker may be killed: its next request says so, and the run goes on."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    worker: Any = SimpleNamespace(pid=process.pid)
    session: Any = SimpleNamespace(timed_cpu=0, _pinned=[worker])
    assert threads_of(process.pid) == ([] if os.path.isdir("/proc/self") else [process.pid])
    Session.settle(session, worker)
