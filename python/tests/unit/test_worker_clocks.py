"""Clocks of workers that cannot be right: of one sample, of the CPU, and of the two ends of a transfer."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from tare.errors import WorkerError
from tare.measure.sampling.batch_length import calls_ns
from tare.measure.stages.transfer import hold_stamps, span_of
from tare.measure.worker_client import sample_check, samples
from tare.measure.worker_client.sample_check import System

COLS = ["wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([2_000_000, 2_000_000, 0, 0, 0], ""),
        ([2_000_000, 0, 0, 0, 0], ""),  # a host that took the CPU away
        ([2_000_000, -5_000_000, 0, 0, 0], "user_ns = -5000000"),
        ([2_000_000, 2_000_000, 0, -1, 0], "nivcsw = -1"),
    ],
)
def test_a_sample_of_less_than_nothing_is_no_figure(row: list[int], said: str) -> None:
    reply = {"cols": COLS, "samples": [row], "batch": 1}
    if not said:
        samples.believable(reply, "perl")
        return
    with pytest.raises(WorkerError, match=f"the worker's clock is wrong: {said}") as caught:
        samples.believable(reply, "perl")
    assert caught.value.type == "clock"


STEPS = [[2_000_000, 0, 0, 0, 0]]
RIGHT = [[2_000_000, 1_900_000, 0, 0, 0]]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (RIGHT * 10, False),
        (RIGHT * 6 + STEPS * 4, False),  # a host that took the CPU away
        (RIGHT * 2 + STEPS * 8, True),  # it moves by 10 ms
        (STEPS * 2, False),  # long calls: too few samples to tell
        ([[2_000_000, 0, 0, 0, 1]] * 10, False),  # it waited
        ([[2_000_000, 0, 0, 1, 0]] * 10, False),  # another process ran
        ([[900_000, 0, 0, 0, 0]] * 10, False),  # shorter than a sample is
    ],
)
def test_cpu_time_that_moves_by_steps_is_at_fault(rows: list[list[int]], said: bool) -> None:
    """It is what is ranked where a process never waited: of most short samples it would be nothing."""

    def ask(**fields: Any) -> dict[str, Any]:
        if fields.get("samples") == 10:
            assert fields["budget_ms"] == 200
            return {"cols": COLS, "samples": rows, "batch": 1}
        return {"cols": COLS, "samples": [[10**9, 10**9, 0, 0, 0]], "batch": 1}

    found = samples.clock_fault(ask, lambda: System(None, 0))
    assert ("its CPU clock stood still in 8 of 10 samples" in found) == said, found


def test_cpu_time_without_a_number_is_not_nought() -> None:
    """A worker may have the column, and no clock: that says as little as no column."""

    def ask(**fields: Any) -> dict[str, Any]:
        return {"cols": COLS, "samples": [[2_000_000, None, None, 0, 0]] * fields["samples"], "batch": 1}

    used = iter(range(0, 10**12, 10**9))
    assert not samples.clock_fault(ask, lambda: System(next(used), 0))


STAMP = 2**62 + 1


@pytest.mark.parametrize(
    ("cols", "rows", "kept"),
    [
        (["wall_ns", "user_ns"], [[9, 7], [8, 0]], [[9, 7], [8, 0]]),
        (["user_ns", "wall_ns", "sys_ns"], [[None, 9, None], [None, 8, None]], [[9], [8]]),
        (["wall_ns", "user_ns", "sys_ns"], [[9.0, 7.0, None]], [[9, 7]]),
        (["wall_ns", "gc_ns", "start_ns"], [[9, None, STAMP]], [[9, STAMP]]),
        (["wall_ns", "start_ns"], [[9, None]], [[9]]),
        (["wall_ns", "user_ns"], [[None, 1]], [[None, 1]]),
        (["wall_ns", "user_ns"], [[None, None]], [[None]]),
        (["wall_ns", "user_ns"], [], []),
    ],
)
def test_a_column_without_a_number_is_none(cols: list[str], rows: list[Any], kept: list[Any]) -> None:
    """A clock that is lacking may be null in each row; but wall time may not be lacking."""
    found = samples.readings({"cols": cols, "samples": rows, "batch": 1})
    assert found["samples"] == kept
    for row in kept[:1]:
        assert len(found["cols"]) == len(row)
        assert (
            dict(zip(found["cols"], row, strict=True)).items()
            <= dict(zip(cols, rows[0], strict=True)).items()
        )


@pytest.mark.parametrize("name", ["user_ns", "sys_ns", "drop_ns", "wall_ns", "first_value_ns"])
def test_a_column_has_a_number_in_each_row_or_in_none(name: str) -> None:
    """With one of two, CPU time would be known of some samples, and less of it than was used."""
    with pytest.raises(ValueError, match=f"{name} in some samples only"):
        samples.readings({"cols": ["nvcsw", name], "samples": [[1, 2], [1, None], [1, 2]], "batch": 1})


@pytest.mark.parametrize("rows", [[[None, 5]], [[None, 0], [None, 0]]])
def test_wall_time_without_a_number_is_no_sample(rows: list[Any]) -> None:
    with pytest.raises(WorkerError, match="gave samples without wall_ns") as caught:
        samples.believable({"cols": ["wall_ns", "user_ns"], "samples": rows, "batch": 1}, "perl")
    assert caught.value.type == "protocol"


@pytest.mark.parametrize(
    ("columns", "calls"),
    [
        ({"user_ns": [30], "sys_ns": [10], "nivcsw": [1]}, [40.0]),
        ({"user_ns": [30], "nivcsw": [1]}, [30.0]),
        ({"user_ns": [30]}, [30.0]),
        ({"sys_ns": [10], "nivcsw": [1]}, [90.0]),
        ({"nivcsw": [1]}, [90.0]),
        ({}, [90.0]),
    ],
)
def test_a_call_takes_the_cpu_time_that_is_known(columns: dict[str, list[int]], calls: list[float]) -> None:
    """All of it may be in user_ns; what of it the system used is never all."""
    assert calls_ns({"wall_ns": [90], "batch": [1], **columns}) == calls


def test_a_worker_without_a_clock_of_the_cpu_has_its_wall_clock() -> None:
    samples.believable(
        {"cols": ["wall_ns", "nivcsw", "nvcsw"], "samples": [[2_000_000, 0, 0]], "batch": 1}, "perl"
    )


@pytest.mark.parametrize("telling", [1.0, 0.7, 0.34, 0.1, 0.0])
@pytest.mark.parametrize("known", [True, False])
def test_cpu_time_that_loses_two_thirds_is_at_fault(
    monkeypatch: pytest.MonkeyPatch, telling: float, known: bool
) -> None:
    """It is held against what the system counts of the process, where it tells."""
    now, used, batch = [0.0], [0.0], [1]
    monkeypatch.setattr(sample_check.time, "monotonic_ns", lambda: int(now[0]))

    def ask(**fields: Any) -> dict[str, Any]:
        if target := fields.get("target_ns"):
            batch[0] = max(1, round(target / 1e6))
        batch[0] = fields["batch"] or batch[0]
        wall = 1.0 if fields["what"] == "null" else 1e6 * batch[0]
        now[0] += wall + 2e6
        used[0] += wall + 2e6
        return {"cols": COLS[:2], "samples": [[int(wall), int(wall * telling)]], "batch": batch[0]}

    said = samples.clock_fault(ask, lambda: System(int(used[0]) if known else None, 0))
    assert bool(said) == (known and telling < 0.35), said
    assert ("ns of CPU time were told for" in said) == bool(said)


@pytest.mark.parametrize("telling", [1.0, 0.1])
@pytest.mark.parametrize(
    ("late", "known"),
    [([0, 60] * 30, True), ([60, 60, 0] * 20, True), ([60] * 60, True), ([60] * 60, False), ([0] * 60, True)],
)
def test_an_empty_sample_that_waited_for_a_cpu_acquits_nobody(
    monkeypatch: pytest.MonkeyPatch, telling: float, late: list[int], known: bool
) -> None:
    """A call of 80 ms beside it would seem to take no time; what the system counts of the wait is taken off."""
    now, queued, left = [0], [0], iter(late)
    monkeypatch.setattr(sample_check.time, "monotonic_ns", lambda: now[0])

    def ask(**fields: Any) -> dict[str, Any]:
        wall = 1 if fields["what"] == "null" else 80_000_000
        delay = next(left) * 1_000_000 if fields["what"] == "null" else 0
        now[0] += wall + delay + 2_000_000
        queued[0] += delay
        return {"cols": ["wall_ns"], "samples": [[max(1, int(wall * telling))]], "batch": 1}

    said = samples.clock_fault(ask, lambda: System(None, queued[0] if known else 0))
    assert bool(said) == (telling < 1 and (known or 0 in late)), said
    assert not said or said.startswith("of encode, 8000000 ns were told for")


@pytest.mark.parametrize("telling", [1.0, 0.1])
@pytest.mark.parametrize("known", [True, False])
def test_a_sample_that_waited_for_a_cpu_around_its_clocks_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, telling: float, known: bool
) -> None:
    """R collects garbage before each sample; another process then took the CPU for longer than the sample."""
    now, queued = [0], [0]
    monkeypatch.setattr(sample_check.time, "monotonic_ns", lambda: now[0])

    def ask(**fields: Any) -> dict[str, Any]:
        empty = fields["what"] == "null"
        batch = fields["batch"] or 4
        wall = 1 if empty else 500_000 * batch
        delay = 30_000_000 if empty else 400_000_000
        now[0] += wall + delay
        queued[0] += delay
        return {"cols": ["wall_ns"], "samples": [[max(1, int(wall * telling))]], "batch": batch}

    said = samples.clock_fault(ask, lambda: System(None, queued[0] if known else 0))
    assert bool(said) == (telling < 1 or not known), said


def test_longer_samples_are_as_long_as_they_should_be_where_the_worker_keeps_its_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every worker remembers what it calibrated first, for samples of 2 ms."""
    now, asked = [0], []
    monkeypatch.setattr(sample_check.time, "monotonic_ns", lambda: now[0])

    def ask(**fields: Any) -> dict[str, Any]:
        batch = fields["batch"] or 4
        asked.append((fields["what"], batch))
        wall = 1 if fields["what"] == "null" else 500_000 * batch
        now[0] += wall + (0 if fields["what"] == "null" else 60_000_000)
        return {"cols": ["wall_ns"], "samples": [[wall]], "batch": batch}

    assert not samples.clock_fault(ask, lambda: System(None, 0))
    assert {batch for what, batch in asked if what == "encode"} == {4, 50, 300}


def test_the_cpu_time_of_a_process_is_what_it_used() -> None:
    before = samples.cpu_ns_of(os.getpid())
    if before is None:
        assert not os.path.exists("/proc/self/schedstat")
        return
    began = time.thread_time_ns()
    while time.thread_time_ns() - began < 50_000_000:
        pass
    after = samples.cpu_ns_of(os.getpid())
    assert after is not None
    assert after - before >= 40_000_000
    assert samples.cpu_ns_of(2**22 + 1) is None


WRITER = ["wall_ns", "start_ns", "first_byte_ns", "last_byte_ns", "closed_ns"]
READER = ["wall_ns", "first_byte_ns", "first_value_ns", "last_byte_ns", "last_value_ns"]
BEGAN, ENDED = 10**12, 10**12 + 5_000_000


def ends(**moved: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Replies of a transfer of 5 ms, with these stamps so many nanoseconds after its beginning."""
    at = {
        "start_ns": 1_000_000,
        "closed_ns": 3_000_000,
        "first_value_ns": 2_000_000,
        "last_value_ns": 4_000_000,
        **moved,
    }

    def reply(cols: list[str]) -> dict[str, Any]:
        return {
            "cols": cols,
            "samples": [[1_000_000, *(BEGAN + at.get(name, 2_000_000) for name in cols[1:])]],
        }

    return reply(WRITER), reply(READER)


@pytest.mark.parametrize(
    ("writer", "reader", "both"),
    [
        (
            {"user_ns": 5, "sys_ns": 2, "nivcsw": 1},
            {"user_ns": 4, "sys_ns": 1, "nivcsw": 0},
            {"user_ns": 9, "sys_ns": 3, "nivcsw": 1},
        ),
        ({"user_ns": 5, "sys_ns": 2}, {"user_ns": 4}, {"user_ns": 9, "sys_ns": 2}),
        ({"user_ns": 5}, {"user_ns": 4}, {"user_ns": 9}),
        ({"user_ns": 5, "sys_ns": 2, "nivcsw": 3}, {"sys_ns": 1}, {}),
        ({"user_ns": 5, "sys_ns": 2, "nivcsw": 3}, {}, {}),
        ({"user_ns": None, "sys_ns": None, "nivcsw": None}, {"user_ns": 1, "sys_ns": None, "nivcsw": 2}, {}),
        ({}, {}, {}),
    ],
)
def test_a_span_has_the_clocks_that_both_ends_have(
    writer: dict[str, int | None], reader: dict[str, int | None], both: dict[str, int]
) -> None:
    """A clock that one of them lacks is absent, never 0."""
    replies = []
    for reply, more in zip(ends(), (writer, reader), strict=True):
        replies.append({"cols": [*reply["cols"], *more], "samples": [[*reply["samples"][0], *more.values()]]})
    span = span_of(replies[0], replies[1])
    cells = dict(zip(span["cols"], span["samples"][0], strict=True))
    assert cells == {"wall_ns": 3_000_000, **both, "first_value_after_ns": 1_000_000}


def test_stamps_of_the_transfer_are_believed() -> None:
    hold_stamps(*ends(), BEGAN, ENDED, worker="r")


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        ({"last_value_ns": 1_000_000}, "the last value came 0 ms before the writer began"),
        ({"last_value_ns": -3_800_000}, "the last value came 4.8 ms before the writer began"),
        ({"start_ns": -50_000_000}, "start_ns lies 50 ms outside of the transfer"),
        ({"last_value_ns": 100_000_000}, "last_value_ns lies 95 ms outside of the transfer"),
        ({"closed_ns": 10**12}, "closed_ns lies "),
    ],
)
def test_stamps_of_another_time_are_no_span(moved: dict[str, int], said: str) -> None:
    """The span is what is ranked on media with two ends, and it is of stamps alone."""
    with pytest.raises(WorkerError, match=said) as caught:
        hold_stamps(*ends(**moved), BEGAN, ENDED, worker="r")
    assert caught.value.type == "clock"


def test_the_clock_of_another_host_is_not_held_against_ours() -> None:
    hold_stamps(*ends(last_value_ns=10**15, first_value_ns=-(10**11)), BEGAN, ENDED, worker="", apart=True)
    with pytest.raises(WorkerError, match="closed_ns lies"):
        hold_stamps(*ends(closed_ns=10**12), BEGAN, ENDED, worker="", apart=True)
