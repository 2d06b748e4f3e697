"""Times of samples, medians, intervals and series with gaps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tare.measure.analysis.series import series_of
from tare.measure.analysis.statistics import (
    DRAWS,
    WAKE_NS,
    Resampler,
    align,
    differs,
    median,
    noise_limit,
    order_interval,
    quantiles,
    sample_times,
    seed_of,
    student,
    summarise,
    summarise_least,
)


def columns(**given):
    length = len(given["wall_ns"])
    usual = {"batch": [1] * length, "user_ns": [0] * length, "sys_ns": [0] * length, "nivcsw": [0] * length}
    return usual | given


def test_time_is_user_and_system_and_blocked():
    """A sample that slept for 50 of its 170 ns took 170, whoever ran in between."""
    times = sample_times(columns(wall_ns=[170] * 4, user_ns=[100] * 4, sys_ns=[20] * 4, nvcsw=[1] * 4))
    assert times.time_ns.tolist() == [170.0] * 4
    assert times.blocked_ns == 50.0
    assert not times.marked


def test_preempted_sample_keeps_its_cpu_time_and_the_typical_wait():
    """The wall clock of a preempted sample is 30 times longer; its time is not."""
    times = sample_times(
        columns(wall_ns=[110, 112, 111, 4000], user_ns=[100] * 4, nivcsw=[0, 0, 0, 2], nvcsw=[1] * 4)
    )
    assert times.time_ns.tolist() == [110.0, 112.0, 111.0, 111.0]


def test_few_clean_samples_take_the_least_wait_and_are_marked():
    """With fewer than three clean samples the least wait stands for all."""
    times = sample_times(
        columns(wall_ns=[120, 500, 900, 800], user_ns=[100] * 4, nivcsw=[0, 1, 1, 1], nvcsw=[1] * 4)
    )
    assert times.time_ns.tolist() == [120.0] * 4
    assert times.marked


# Reading 2.5 MB of Arrow (lz4) beside twenty other processes: a thread of its own was waited for, and so was the CPU.
DISTURBED = columns(wall_ns=[1507_000_000], user_ns=[10_500_000], sys_ns=[5_000_000], nivcsw=[94], nvcsw=[94])


def test_what_others_had_of_the_cpu_is_no_waiting_of_a_call_in_memory():
    """Each of its 94 waits for a thread counts as what a thread takes that finds a CPU; of a file's call nobody knows that."""
    assert sample_times(DISTURBED, crowded=True).time_ns.tolist() == [15_500_000.0 + 94 * WAKE_NS]
    assert sample_times(DISTURBED).time_ns.tolist() == [1507_000_000.0]
    short = columns(wall_ns=[2_000_030], user_ns=[1_000_000], batch=[10], nvcsw=[1])
    assert sample_times(short, crowded=True).time_ns.tolist() == [105_000.0]
    brief = columns(wall_ns=[1_000_300], user_ns=[1_000_000], batch=[10], nvcsw=[1])
    assert sample_times(brief, crowded=True).time_ns.tolist() == [100_030.0]


@pytest.mark.parametrize(
    ("medium", "stalled", "preempted", "crowded"),
    [
        ("memory", 0.95, 0, True),
        ("memory", 0.1, 1, True),
        ("memory", 0.1, 0, False),
        ("file", 0.95, 1, False),
    ],
)
def test_a_series_in_memory_waits_for_no_cpu(medium, stalled, preempted, crowded):
    """The verdict is made of what the series say: a codec that uses a thread was a hundred times too slow."""
    labels = {"codec": "arrow:pyarrow,compression=lz4", "medium": medium}
    samples = {"decode": DISTURBED | {"nivcsw": [preempted], "round": [1]}}
    case = {"key": "a", "labels": labels, "launches": [{"n": 1, "psi_some": stalled, "samples": samples}]}
    values, more = series_of([case], [], least=True)["a", "decode"]
    assert list(values.values()) == [{1: 20_200_000.0 if crowded else 1507_000_000.0}]
    assert more["contended"] is crowded


def test_process_that_never_gave_up_its_cpu_was_not_blocked():
    """What a hypervisor steals shows on the wall clock only, and counts for nothing."""
    times = sample_times(columns(wall_ns=[300] * 3, user_ns=[100] * 3, nvcsw=[0] * 3))
    assert times.time_ns.tolist() == [100.0] * 3


def test_batches_are_divided_out():
    """A batch of 10 calls that takes 1,000 ns is 100 ns a call: the empty call is not taken off."""
    times = sample_times(columns(wall_ns=[1000] * 3, user_ns=[1000] * 3, batch=[10] * 3, nvcsw=[0] * 3))
    assert times.time_ns.tolist() == [100.0] * 3


def test_wall_clock_is_taken_from_samples_that_were_not_preempted():
    """For several threads or processes the wall clock is the time, without preempted samples."""
    times = sample_times(columns(wall_ns=[50, 51, 52, 900], user_ns=[80] * 4, nivcsw=[0, 0, 0, 1]), wall=True)
    assert times.time_ns[:3].tolist() == [50.0, 51.0, 52.0]
    assert math.isnan(times.time_ns[3])


def test_absent_cpu_clock_leaves_the_wall_clock():
    """A runtime without a CPU clock is timed by the wall; its CPU time is not known, not 0."""
    times = sample_times({"batch": [1, 1], "wall_ns": [10, 20]})
    assert times.time_ns.tolist() == [10.0, 20.0]
    assert np.isnan(times.cpu_ns).all()


def test_median_leaves_out_what_is_missing():
    """NaN is a missing sample; a row of nothing but NaN has no median."""
    found = median(np.array([[np.nan, 4.0, 2.0, 6.0], [np.nan] * 4]))
    assert found[0] == 4.0
    assert math.isnan(found[1])


@pytest.mark.parametrize(("n", "rank"), [(5, 0), (6, 0), (9, 1), (15, 3), (30, 9), (100, 39)])
def test_order_interval_matches_the_tables(n, rank):
    """The ranks are those of the tables of the binomial for 95 %."""
    assert (float(rank), float(n - 1 - rank)) == order_interval(np.arange(float(n)))


def test_order_interval_of_many_values_is_as_wide_as_the_binomial_says():
    """Above 200 values the normal approximation takes over without a step."""
    lo, hi = order_interval(np.arange(3000.0))
    assert 1440 < lo < 1448
    assert 1551 < hi < 1559
    assert np.isnan(order_interval(np.array([]))).all()


def test_student_beyond_the_table():
    """The expansion gives the tables' 2.228 at 10, 2.086 at 20 and the normal's 1.960 in the end."""
    assert [round(student(10), 3), round(student(20), 3), round(student(10**6), 3)] == [2.228, 2.086, 1.960]


@pytest.mark.parametrize(
    ("launches", "method"), [(1, "order"), (2, "order"), (3, "student"), (4, "student"), (5, "bootstrap")]
)
def test_method_follows_the_number_of_launches(launches, method):
    """Rounds of one launch are no independent evidence, so launches decide."""
    logs = np.random.RandomState(0).normal(size=(2, launches, 9))
    found = summarise(logs, Resampler(1))
    assert [method, method] == found.method
    assert found.draws.shape == (2, DRAWS)
    assert ((found.lo <= found.point) & (found.point <= found.hi)).all()


def test_series_with_fewer_launches_and_rounds_stand_beside_whole_ones():
    """A codec whose worker died in launch 4 has an interval of its own; the others do not notice."""
    logs = np.random.RandomState(0).normal(size=(3, 5, 9))
    whole = summarise(logs[:1], Resampler(1))
    logs[1, 3:] = np.nan
    logs[1, 0, 2:] = np.nan
    logs[2] = np.nan
    found = summarise(logs, Resampler(1))
    assert found.method == ["bootstrap", "student", "none"]
    assert found.launches == [5, 3, 0]
    assert found.samples == [45, 20, 0]
    assert whole.lo[0] == found.lo[0]
    assert np.isfinite(found.draws[1]).all()
    assert np.isnan([found.lo[2], found.hi[2]]).all()


def test_rounds_missing_from_a_resample_fall_back_to_the_launch():
    """A launch with one round of nine left still has a value in every draw."""
    logs = np.full((1, 5, 9), np.nan)
    logs[0, :, 0] = [1.0, 2.0, 3.0, 4.0, 5.0]
    found = summarise(logs, Resampler(1))
    assert np.isfinite(found.draws).all()
    assert (found.point[0], found.lo[0], found.hi[0]) == (3.0, 1.0, 5.0)


def test_pairs_stay_pairs():
    """Two series that differ by 2 % in every round differ by 2 % in every draw, whatever the noise."""
    noise = np.random.RandomState(3).normal(size=(1, 5, 9))
    for launches in (5, 3, 2):
        found = summarise(np.concatenate([noise, noise + 0.02])[:, :launches], Resampler(9))
        assert np.allclose(found.draws[1] - found.draws[0], 0.02)


def test_same_seed_same_draws_and_other_seed_other_draws():
    """Draws depend on the record's id alone."""
    logs = np.random.RandomState(0).normal(size=(1, 5, 9))
    one, again, other = (summarise(logs, Resampler(seed_of(name))).draws for name in ("a", "a", "b"))
    assert (one == again).all()
    assert (one != other).any()


def test_more_series_than_one_part_holds_give_the_same():
    """Series are drawn in parts; the parts share their indices."""
    logs = np.random.RandomState(0).normal(size=(300, 5, 3))
    found = summarise(logs, Resampler(1))
    assert summarise(logs[280:281], Resampler(1)).lo[0] == found.lo[280]


def test_align_keeps_launches_and_rounds_in_order():
    """Series of different launches and rounds share one grid with gaps."""
    grid, launches = align([{2: {5: 1.0}}, {1: {5: 2.0, 7: 3.0}}])
    assert launches == [1, 2]
    assert [[[None if math.isnan(v) else v for v in row] for row in one] for one in grid.tolist()] == [
        [[None, None], [1.0, None]],
        [[2.0, 3.0], [None, None]],
    ]


def test_difference_must_clear_both_limits():
    """Neither a certain 2 % nor an 8 % within a noise floor of 10 % is a difference."""
    assert not differs(1.015, 1.025, 0.0)
    assert not differs(1.05, 1.08, 0.10)
    assert differs(1.11, 1.20, 0.10)
    assert differs(0.80, 0.90, 0.10)
    assert noise_limit(0.0) == (0.97, 1.03)


def test_quantiles_hold_the_middle():
    """95 % of 0..1000 lie within 25 and 975."""
    assert tuple(float(end) for end in quantiles(np.arange(1001.0))) == (25.0, 975.0)


@pytest.mark.parametrize("launches", [2, 3, 4, 5])
def test_launches_far_apart_give_draws_that_can_be_times(launches):
    """Of few launches, of which one met a machine that stood still, some draws lay where no double holds the time."""
    logs = np.log(np.full((1, launches, 9), 1e4))
    logs[0, 0] += 12
    draws = summarise(logs, Resampler(66)).draws
    assert np.isfinite(np.exp(draws)).all()
    assert draws.std() > 1


@pytest.mark.parametrize(("count", "expected"), [(3, 100), (9, 100), (10, 200), (19, 200), (20, 210)])
def test_one_fast_moment_of_many_decides_nothing(count, expected):
    """A machine that others share is fast for moments; of ten rounds and more what a tenth do not exceed counts."""
    rounds = [200.0 + 10 * (at > 0) for at in range(count - 1)] + [100.0]
    found = summarise_least(np.log(np.array([[rounds]])), Resampler(1))
    assert round(float(np.exp(found.point[0]))) == expected
    assert found.lo[0] == found.point[0] <= found.hi[0]


@pytest.mark.parametrize(
    ("rounds", "most"),
    [
        # The first of a process is slow: another run's would be as slow, and its second as quick.
        ([558.0, 120.0], 120.0),
        ([558.0, 120.0, 125.0], 125.0),
        # Nothing else is known, or the first was quicker: that is no warming up.
        ([558.0, math.nan], 558.0),
        ([118.0, 120.0], 120.0),
    ],
)
def test_the_slow_first_round_of_a_process_says_nothing_of_how_far_the_others_vary(rounds, most):
    """The least is what is shown; what another run might have met leaves out the first round."""
    found = summarise_least(np.log(np.array([[rounds]])), Resampler(1))
    assert round(float(np.exp(found.point[0]))) == np.nanmin(rounds)
    assert round(float(np.exp(found.draws[0].max()))) == most
    assert found.samples[0] == np.count_nonzero(~np.isnan(rounds))
