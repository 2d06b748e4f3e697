"""Samples that are too short are taken again, of more calls; those that cannot be longer are not."""

from __future__ import annotations

from typing import Any

import pytest

from tare.measure.sampling.batch_length import long_enough, wall_ns

TARGET_NS = 2_000_000


class Fake:
    """A worker whose calls take so long, which makes batches of at most so many calls."""

    def __init__(self, call_ns: int, *, own: int = 0, most: int = 1_000_000) -> None:
        self.call_ns, self.own, self.most = call_ns, own, most
        self.asked: list[int] = []

    def __call__(self, calls: int) -> dict[str, Any]:
        self.asked.append(calls)
        made = min(self.most, calls or self.own or TARGET_NS // self.call_ns)
        return {"cols": ["user_ns", "wall_ns"], "samples": [[0, made * self.call_ns]], "batch": made}


@pytest.mark.parametrize(
    ("fake", "calls", "asked"),
    [
        (Fake(5_000), 1, [1, 0]),  # the first call was slow, so one was asked for
        (Fake(5_000, own=20), 0, [0, 400]),  # calibrated before the code was compiled
        (Fake(5_000, own=20), 1, [1, 0, 400]),
        (Fake(5_000), 100, [100, 400]),  # an earlier process calibrated it
        (Fake(3_000_000), 1, [1]),  # one call is long enough
        (Fake(5_000), 300, [300]),
    ],
)
def test_a_sample_is_about_the_target(fake: Fake, calls: int, asked: list[int]) -> None:
    reply, full = long_enough(fake, calls, TARGET_NS)
    assert (fake.asked, full) == (asked, False)
    assert wall_ns(reply) >= TARGET_NS / 2


def test_a_batch_that_cannot_grow_is_asked_for_once() -> None:
    """A store sets each value once in a sample; large results fill the memory."""
    fake = Fake(5_000, most=1)
    reply, full = long_enough(fake, 0, TARGET_NS)
    assert (reply["batch"], full, fake.asked) == (1, True, [0, 400])
    fake.asked.clear()
    assert long_enough(fake, 1, TARGET_NS, full=True) == (reply, True)
    assert fake.asked == [1]


def test_a_worker_whose_calls_only_get_faster_is_not_asked_for_ever() -> None:
    asked: list[int] = []

    def ask(calls: int) -> dict[str, Any]:
        asked.append(calls)
        return {"cols": ["wall_ns"], "samples": [[1]], "batch": calls or 1}

    long_enough(ask, 1, TARGET_NS)
    assert asked == [1, 0, 1_000_000, 1_000_000]
