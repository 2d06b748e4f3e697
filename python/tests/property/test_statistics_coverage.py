"""Intervals hold the truth as often as they say, on simulated launches; equal codecs are not told apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.soak import scaled

from tare.measure.analysis.letter_display import letters
from tare.measure.analysis.statistics import Resampler, differs, median, summarise

RUNS = scaled(200, 600)


def launches(shape, *, launch_sd, noise_sd, ar=0.4, tail=None, seed=7):
    """Logarithms of simulated times around 0: series x launches x rounds.

    Rounds remember the one before; ``tail`` is the degrees of freedom of heavy-tailed noise.
    """
    random = np.random.RandomState(seed)
    steps = random.standard_normal(shape) if tail is None else random.standard_t(tail, shape)
    noise = np.empty(shape)
    last = random.standard_normal(shape[:2])
    for i in range(shape[2]):
        last = ar * last + np.sqrt(1 - ar**2) * steps[:, :, i]
        noise[:, :, i] = last
    return noise * noise_sd + launch_sd * random.standard_normal((*shape[:2], 1))


KINDS = {
    "no launch effect": {"launch_sd": 0.0, "noise_sd": 0.01},
    "launch effect": {"launch_sd": 0.02, "noise_sd": 0.01},
    "heavy tails": {"launch_sd": 0.01, "noise_sd": 0.01, "tail": 2.0},
}


@pytest.mark.parametrize("shape", [(5, 9), (8, 9), (3, 9), (4, 9)])
@pytest.mark.parametrize("kind", KINDS)
def test_coverage_is_at_least_nine_in_ten(shape, kind):
    """The 95 % interval of a ratio holds the true one in at least 90 % of runs, from three launches on."""
    found = summarise(launches((RUNS, *shape), **KINDS[kind]), Resampler(3))
    assert ((found.lo <= 0) & (found.hi >= 0)).mean() >= 0.90


def test_draws_spread_as_far_as_the_interval():
    """What P(best) and crossings are drawn from is as wide as the interval that is printed."""
    for shape in ((5, 9), (3, 9)):
        found = summarise(launches((200, *shape), **KINDS["launch effect"]), Resampler(3))
        held = (found.draws >= found.lo[:, None] - 1e-12) & (found.draws <= found.hi[:, None] + 1e-12)
        assert 0.93 <= held.mean() <= 0.98


@pytest.mark.parametrize(("launch_sd", "noise_sd"), [(0.002, 0.003), (0.02, 0.02), (0.08, 0.10)])
def test_equal_codecs_are_told_apart_in_at_most_five_of_a_hundred(launch_sd, noise_sd):
    """Quiet or noisy: the interval of A against A seldom lies wholly beyond 0.97 to 1.03."""
    found = summarise(launches((RUNS, 5, 9), launch_sd=launch_sd, noise_sd=noise_sd), Resampler(3))
    apart = [
        differs(float(np.exp(lo)), float(np.exp(hi)), 0.0) for lo, hi in zip(found.lo, found.hi, strict=True)
    ]
    assert np.mean(apart) <= 0.05


def test_a_tenth_more_time_is_found_on_a_quiet_machine():
    """With 1 % of noise, codecs 10 % apart are told apart in nearly every run."""
    logs = launches((RUNS, 5, 9), launch_sd=0.01, noise_sd=0.01) + np.log(1.10)
    found = summarise(logs, Resampler(3))
    apart = [
        differs(float(np.exp(lo)), float(np.exp(hi)), 0.005)
        for lo, hi in zip(found.lo, found.hi, strict=True)
    ]
    assert np.mean(apart) >= 0.95


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=3, max_side=6),
        elements=st.one_of(st.floats(-1e9, 1e9, allow_nan=False), st.just(float("nan"))),
    )
)
def test_median_is_the_plain_one_without_the_missing(values):
    """Row by row the same as sorting what is there."""
    found = median(values)
    for row, one in zip(values.reshape(-1, values.shape[-1]), found.reshape(-1), strict=True):
        there = row[~np.isnan(row)]
        assert np.isnan(one) if there.size == 0 else one == np.median(there)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 12), st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11))))
def test_letters_are_shared_exactly_by_ties(count, some):
    """For any pattern of differences among any number of codecs."""
    apart = {(a, b) for a, b in some if a < b < count}
    words = letters(count, apart)
    for a in range(count):
        for b in range(a + 1, count):
            assert bool(set(words[a]) & set(words[b])) == ((a, b) not in apart)
