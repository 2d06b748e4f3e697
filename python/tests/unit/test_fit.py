"""What fits the time and the memory: launches, codecs, the share of the data, groups."""

from __future__ import annotations

import pytest

from tare.codec import Codec
from tare.measure.session import Part
from tare.measure.stages.fit import Cost, fit_share, in_groups, plan_launches, share_by_time
from tare.measure.stages.weigh import Contender

ORJSON, STDLIB, PICKLE = (Codec.parse(text) for text in ("json:orjson", "json:stdlib", "pickle"))


def _part(bytes_memory: int, share: float = 1.0, kind: str = "document") -> Part:
    return Part(share, "", "json", kind, 10, 10, bytes_memory, "")


@pytest.mark.parametrize(
    ("budget", "wanted", "quick", "expected"),
    [
        (28.0, 20, False, (5, 13)),
        (38.0, 100, False, (5, 18)),
        (28.0, 40, True, (3, 23)),
        (6.0, 20, False, (3, 5)),
        (0.0, 20, False, (3, 4)),
        (-5.0, 2, False, (3, 2)),
        (float("inf"), 99, False, (5, 99)),
    ],
)
def test_launches_fit_the_time(budget, wanted, quick, expected):
    """Five launches, three when quick or short; codecs as many as start in a quarter of the time, four at least."""
    assert expected == plan_launches(budget, wanted, "document", quick=quick)


def test_the_share_fits_time_and_memory(monkeypatch):
    """All if it fits; else what the time allows, or half the memory; never below what was screened."""
    available = "tare.measure.stages.fit.available_bytes"
    monkeypatch.setattr(available, lambda: 100 << 30)
    small, total, tried = _part(1 << 20, 0.01), 100 << 20, 10 << 20
    quick = {codec: Cost.through((1 << 20, 0.001)) for codec in (ORJSON, STDLIB)}
    assert 1.0 == fit_share(quick, small, total, 60.0, 5, tried_bytes=tried)
    slow = {codec: Cost.through((1 << 20, 0.15)) for codec in (ORJSON, STDLIB)}
    by_time = fit_share(slow, small, total, 60.0, 5, tried_bytes=tried)
    assert by_time == pytest.approx((60 - 1) / (14 * 100 * 0.3), rel=0.05)
    assert fit_share(slow, small, total, 30.0, 5, tried_bytes=tried) < by_time
    assert small.share == fit_share(slow, small, total, -5.0, 5, tried_bytes=tried)
    monkeypatch.setattr(available, lambda: 1 << 30)
    by_memory = fit_share(quick, small, 1 << 30, float("inf"), 5, tried_bytes=1 << 30)
    assert by_memory == pytest.approx(0.5 / 12, rel=0.05)
    assert 0.5 == fit_share(quick, _part(1 << 20, 0.5), 2 << 20, -5.0, 5, tried_bytes=tried)
    assert 0.16 == fit_share(quick, small, total, 60.0, 5, tried_bytes=1 << 20), "16 times what was tried"


def test_slow_starts_leave_time_for_fewer_codecs_and_less_data():
    """On a busy machine a start takes what it took at screening, not what it takes on a quiet one."""
    assert (5, 6) == plan_launches(30.0, 20, "table", quick=False)
    assert (5, 4) == plan_launches(30.0, 20, "table", quick=False, start_s=0.4)
    costs = {ORJSON: Cost.through((1 << 20, 0.01)), STDLIB: Cost.through((1 << 20, 0.01))}
    quiet, busy = (
        share_by_time(costs, "document", 1 << 30, 30.0, 5, start_s=start_s) for start_s in (0.0, 1.5)
    )
    assert busy == pytest.approx(quiet * 15 / 29)


def test_a_second_size_tells_what_is_fixed():
    """A call of 10 ms on 1 MB and 25 ms on 16 MB costs 1 ms a megabyte, not 10: nine times more data fit."""
    small, large, gigabytes = (1_000_000, 0.010), (16_000_000, 0.025), 2_000_000_000
    one, two = ({ORJSON: cost} for cost in (Cost.through(small), Cost.through(small, large)))
    assert two[ORJSON].fixed_s == pytest.approx(0.009)
    assert two[ORJSON].byte_s == pytest.approx(1e-9)
    shares = [share_by_time(costs, "document", gigabytes, 30.0, 5) for costs in (one, two)]
    assert 9 < shares[1] / shares[0] < 10.1
    falling = Cost.through((10, 2.0), (20, 1.0))
    assert (1.0, 0.0) == (falling.fixed_s, falling.byte_s), "a larger part that took less is noise"


def test_loading_takes_time_too():
    """A kind that takes long to convert to leaves less time for rounds."""
    light, heavy = ({ORJSON: Cost(0.0, 1e-8, load)} for load in (0.0, 1e-7))
    assert share_by_time(heavy, "table", 1 << 30, 30.0, 5) < share_by_time(light, "table", 1 << 30, 30.0, 5)


def test_groups_keep_the_copies_in_bounds():
    """The base is in each group; no group is above the limit unless one alone is."""
    part = _part(1 << 20)
    contenders = [Contender(codec, {}) for codec in (ORJSON, STDLIB, PICKLE, Codec.parse("msgpack:msgspec"))]
    assert [contenders[1:2] + contenders[:1] + contenders[2:]] == in_groups(contenders, STDLIB, part, 1 << 40)
    tight = in_groups(contenders, STDLIB, part, 9 << 20)
    assert [[STDLIB, ORJSON], [STDLIB, PICKLE], [STDLIB, Codec.parse("msgpack:msgspec")]] == [
        [c.codec for c in group] for group in tight
    ]
    hopeless = in_groups(contenders, STDLIB, part, 1)
    assert [2, 2, 2] == [len(group) for group in hopeless]
    assert [[contenders[1]]] == in_groups([contenders[1]], STDLIB, part, 1)
