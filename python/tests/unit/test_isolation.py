"""Codecs of a plan do not touch each other: processes of their own, one CPU, one at a time."""

from __future__ import annotations

import os
from typing import Any

import pytest
from support.capabilities import need_linux

from tare import measure
from tare.measure.plan.plan import Plan
from tare.measure.stages import weigh
from tare.measure.worker_client.client import Worker

pytestmark = pytest.mark.xdist_group("one run in process")

CODECS = ("json:orjson", "json:stdlib", "pickle,protocol=2")
PLAN = {
    "plan": 1,
    "name": "isolation",
    "statistics": {"launches": 2, "rounds": 2},
    "block": [{"dataset": ["d"], "codec": list(CODECS), "medium": ["memory"]}],
}
DOCUMENT = [{"n": n, "t": "x" * (n % 7), "f": n / 3} for n in range(2000)]


class Watched:
    """What the workers of a run were asked while rounds were taken, and where they were."""

    def __init__(self) -> None:
        self.in_rounds = False
        self.open: dict[tuple[int, int], str] = {}
        self.together: list[tuple[str, str]] = []
        self.launches: list[dict[str, int]] = []
        self.cpus: list[frozenset[int]] = []
        self.asked = 0


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """One run, its requests and its launches looked at from inside."""
    seen = Watched()
    send, wait, run_rounds = Worker.send, Worker.wait, weigh.run_rounds

    def watched_send(self: Worker, op: str, **fields: Any) -> int:
        others = [what for (pid, _), what in seen.open.items() if pid != self.pid]
        if seen.in_rounds:
            seen.asked += 1
            seen.together += [(op, other) for other in others]
        number = send(self, op, **fields)
        if op not in {"hello", "quit"}:  # nobody waits for these, and they do no work
            seen.open[self.pid, number] = op
        return number

    def watched_wait(self: Worker, number: int, deadline_s: float | None = None) -> dict[str, Any]:
        try:
            return wait(self, number, deadline_s)
        finally:
            seen.open.pop((self.pid, number), None)

    def watched_rounds(session: Any, seats: Any, **options: Any) -> Any:
        seen.in_rounds = True
        taken = run_rounds(session, seats, **options)
        seen.in_rounds = False
        workers = [seat for seat in seats if not seat.shared and seat.worker is not None]
        seen.launches.append({seat.case["key"]: seat.worker.pid for seat in workers})
        if hasattr(os, "sched_getaffinity"):
            seen.cpus += [frozenset(os.sched_getaffinity(seat.worker.pid)) for seat in workers]
        return taken

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setattr(Worker, "send", watched_send)
        patch.setattr(Worker, "wait", watched_wait)
        patch.setattr(weigh, "run_rounds", watched_rounds)
        measure.run(DOCUMENT, plan=Plan.from_dict(PLAN))
    return seen


def test_one_worker_per_codec_per_launch(watched: Watched) -> None:
    """No process serves two codecs while weighing, and none serves two launches."""
    assert len(watched.launches) == 2
    for launch in watched.launches:
        assert len(launch) >= len(CODECS)
        assert len(set(launch.values())) == len(launch), launch
    pids = [pid for launch in watched.launches for pid in launch.values()]
    assert len(set(pids)) == len(pids)


def test_one_worker_runs_at_a_time(watched: Watched) -> None:
    """In rounds no request is sent while another worker has one to answer."""
    assert watched.asked > len(CODECS) * len(watched.launches)
    assert watched.together == []


def test_all_are_timed_on_the_same_cpu(watched: Watched) -> None:
    """Whoever ran on another core would be weighed on another machine."""
    need_linux()
    assert {len(cpus) for cpus in watched.cpus} == {1}
    assert len(set(watched.cpus)) == 1
