"""Exponents, the sum of terms, predictions and bytes on curves with known truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tare.measure.analysis.scaling_fit import fit_growth, fit_line, fit_terms, predict_terms

SIZES = [2.0**i for i in range(6, 15)]


def noisy(truth, seed=0, sd=0.01, draws=500):
    random = np.random.RandomState(seed)
    logs = np.log([truth(n) for n in SIZES])[:, None] + sd * random.standard_normal((len(SIZES), draws))
    return np.exp(np.median(logs, axis=1)), logs


@pytest.mark.parametrize(
    ("truth", "least", "most", "steep"),
    [
        (lambda n: 7.0 * n, 0.99, 1.01, False),
        (lambda n: 7.0 * n * math.log2(n), 1.07, 1.14, False),
        (lambda n: 0.3 * n * n, 1.99, 2.01, True),
        (lambda n: 0.1 * n**1.6, 1.59, 1.61, True),
        (lambda n: 900.0 + 3.0 * n, 0.70, 0.97, False),
    ],
)
def test_exponents_of_known_curves(truth, least, most, steep):
    """N gives 1, n log n a little more, n^2 gives 2, and c + n less than 1; only the steep are flagged."""
    times, draws = noisy(truth)
    fit = fit_growth(SIZES, times, 2 * SIZES[-1], draws=draws)
    assert least < fit.k_lo <= fit.k <= fit.k_hi < most + 0.01
    assert steep is fit.superlinear


@pytest.mark.parametrize(
    "truth",
    [
        lambda n: 7.0 * n,
        lambda n: 0.3 * n * n,
        lambda n: 900.0 + 3.0 * n,
        lambda n: 50 + 2 * n + 0.01 * n * n,
    ],
)
def test_prediction_holds_the_truth_at_eight_times_the_size(truth):
    """The range of the two models holds what the true curve gives beyond the largest size."""
    times, draws = noisy(truth)
    fit = fit_growth(SIZES, times, 8 * SIZES[-1], draws=draws)
    assert 0.98 * fit.predicted_lo_ns <= truth(8 * SIZES[-1]) <= 1.02 * fit.predicted_hi_ns
    assert fit.predicted_lo_ns <= fit.predicted_ns <= fit.predicted_hi_ns


def test_models_that_disagree_give_a_range():
    """An early bend leaves both models: they differ by more than half at 64 times the size, and it is said."""
    sizes, times = [1.0, 2.0, 4.0, 8.0], [10.0, 11.0, 15.0, 40.0]
    fit = fit_growth(sizes, times, 512.0)
    assert fit.is_range
    assert fit.predicted_hi_ns > 1.5 * fit.predicted_lo_ns


def test_single_samples_take_the_interval_of_the_residuals():
    """One time a size, as in imported tables: a scatter of 3 % gives an interval about 1.9."""
    random = np.random.RandomState(1)
    times = [n**1.9 * math.exp(0.03 * random.standard_normal()) for n in SIZES]
    fit = fit_growth(SIZES, times, SIZES[-1])
    assert fit.k_lo < 1.9 < fit.k_hi
    assert 0.005 < fit.k_hi - fit.k_lo < 0.08


def test_points_near_the_timer_floor_are_left_out():
    """Times below twenty timer floors say more about the timer; the exponent is that of the rest."""
    times = [max(n * n, 5_000.0) for n in SIZES]
    assert fit_growth(SIZES, times, 1.0).n == 8
    fit = fit_growth(SIZES, times, SIZES[-1], floor_ns=300.0)
    assert fit.n == 8
    assert fit.k == pytest.approx(2.0, abs=0.02)


def test_few_points_have_no_exponent_but_a_prediction_in_proportion():
    """Three sizes are too few for an exponent; the full size is predicted in proportion, after the constant."""
    fit = fit_growth([1, 2, 4], [10.0, 20.0, 40.0], 8)
    assert (fit.k, fit.superlinear, round(fit.predicted_ns, 6)) == (None, False, 80.0)
    fixed = fit_growth([1, 64], [100.0, 163.0], 640)
    assert 739 == round(fixed.predicted_ns)
    assert round(fixed.predicted_lo_ns) == 739
    assert round(fixed.predicted_hi_ns) == 1630
    one = fit_growth([4], [40.0], 8, draws=np.log(np.array([[39.0, 40.0, 41.0]])))
    assert (round(one.predicted_lo_ns, 6), round(one.predicted_hi_ns, 6)) == (78.0, 82.0)


def test_three_noisy_points_are_not_bent_into_a_square():
    """Noise that looks like a bend is not carried 62 times further: the prediction stays near proportion."""
    fit = fit_growth([1.0, 4.0, 16.0], [3.2, 13.5, 64.0], 62 * 16.0)
    proportional = 62 * 64.0
    assert fit.terms[2] == 0.0
    assert 0.7 * proportional < fit.predicted_ns <= proportional
    assert fit.predicted_lo_ns <= fit.predicted_ns <= fit.predicted_hi_ns


def test_a_square_far_off_needs_a_proven_exponent():
    """Four scattered points have no proven exponent: no square term; four on a square keep theirs."""
    loose = fit_growth([1.0, 2.0, 4.0, 8.0], [10.0, 24.0, 37.0, 110.0], 512.0)
    assert loose.k_lo < 1.15
    assert (loose.terms[2], loose.predicted_ns < 1.3 * 110 * 64) == (0.0, True)
    steep = fit_growth([1.0, 2.0, 4.0, 8.0], [3.0, 12.0, 48.0, 192.0], 512.0)
    assert round(steep.predicted_ns) == 3 * 512**2


def test_terms_are_never_negative_and_best_among_all_supports():
    """Against brute force over a grid: no non-negative terms fit better."""
    random = np.random.RandomState(2)
    x = np.array([1.0, 2.0, 4.0, 8.0])
    for _ in range(20):
        t = random.uniform(5, 50, 4)
        terms = np.array(fit_terms(x, t))
        assert (terms >= 0).all()
        matrix = np.stack([np.ones(4), x, x * x], axis=1) / t[:, None]
        miss = ((matrix @ terms - 1) ** 2).sum()
        step = np.linspace(0, 1, 13)
        for c, a, b in itertools.product(step * 50, step * 20, step * 2):
            assert ((matrix @ np.array([c, a, b]) - 1) ** 2).sum() >= miss - 1e-9


def test_terms_of_exact_curves():
    """Constant, linear and square parts are found again."""
    x = np.array([1.0, 4.0, 16.0, 64.0])
    found = fit_terms(x, 30 + 2 * x + 0.5 * x * x)
    assert [round(term, 6) for term in found] == [30.0, 2.0, 0.5]
    assert predict_terms((30.0, 2.0, 0.5), 10.0) == 100.0
    assert fit_terms(np.array([1.0, 2.0]), np.array([0.0, 1.0])) == (0.0, 0.0, 0.0)


def test_bytes_follow_a_line_and_a_bend_is_seen():
    """A header and bytes a row are found; a last point 20 % off is told by its distance."""
    line = fit_line([10, 100, 1000, 10_000], [190.0, 1_090.0, 10_090.0, 100_090.0])
    assert (round(line.start), round(line.slope)) == (90, 10)
    assert line.last_off < 1e-6
    bent = fit_line([10, 100, 1000, 10_000], [190.0, 1_090.0, 10_090.0, 120_000.0])
    assert 0.15 < bent.last_off < 0.18
    assert fit_line([1], [1.0]) is None
