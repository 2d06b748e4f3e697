"""How times and bytes grow with the data, and what the whole of it will take.

Two models are fitted: log t = a + k log n over the upper sizes, and
t = c + a n + b n^2 with no negative term. Where they disagree by more than half,
the prediction is a range, and is shown as one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tare.measure.analysis.statistics import Array, quantiles, student

__all__ = ["Growth", "Line", "fit_growth", "fit_line", "fit_terms", "predict_terms"]

SUPERLINEAR = 1.15
# Points below this many times the cost of timing nothing say more about the timer than about the codec.
ABOVE_FLOOR = 20.0
POINTS = 4
UPPER = 8
# Beyond this many times the largest size a square term fitted to noise would outgrow everything else.
NEAR = 4.0
APART = 1.5


@dataclass(frozen=True)
class Growth:
    """How one operation grows.

    Args:
        k: Exponent; None with fewer than four points above the floor.
        k_lo: Lower end of its 95 % interval.
        k_hi: Upper end.
        n: Points the fit rests on.
        superlinear: The interval lies wholly above 1.15.
        terms: c, a and b of t = c + a n + b n^2 (nanoseconds; n in units of ``sizes``).
        predicted_ns: Time at the target size.
        predicted_lo_ns: Lower end: of the interval, or of the range of the two models.
        predicted_hi_ns: Upper end.
        is_range: The two models differ by more than 1.5 times.
    """

    k: float | None
    k_lo: float | None
    k_hi: float | None
    n: int
    superlinear: bool
    terms: tuple[float, float, float]
    predicted_ns: float
    predicted_lo_ns: float
    predicted_hi_ns: float
    is_range: bool


@dataclass(frozen=True)
class Line:
    """Encoded bytes as a line over the size.

    Args:
        start: Bytes at size 0.
        slope: Bytes per unit of size.
        last_off: Relative distance of the largest point from the line of the others.
    """

    start: float
    slope: float
    last_off: float

    def at(self, size: float) -> float:
        """Predicted bytes at a size."""
        return max(0.0, self.start + self.slope * size)


def fit_growth(
    sizes: Sequence[float],
    times_ns: Sequence[float],
    target: float,
    *,
    draws: Array | None = None,
    floor_ns: float = 0.0,
) -> Growth:
    """Fit the growth of one operation and predict the target size.

    Args:
        sizes: Sizes measured, in any unit (rows, bytes, shares).
        times_ns: Time at each size.
        target: The size to predict.
        draws: points x draws: draws of the logarithm of each time; without them (one
            sample a size) the interval is that of the regression's residuals.
        floor_ns: Cost of timing nothing.

    >>> grown = fit_growth([1, 2, 4, 8], [5, 20, 80, 320], 16)
    >>> round(grown.k, 3), round(grown.predicted_ns), grown.superlinear
    (2.0, 1280, True)
    """
    order = np.argsort(np.asarray(sizes, dtype=np.float64), kind="stable")
    n = np.asarray(sizes, dtype=np.float64)[order]
    t = np.asarray(times_ns, dtype=np.float64)[order]
    draws = None if draws is None else draws[order]
    upper = np.flatnonzero(t > ABOVE_FLOOR * floor_ns)[-UPPER:]
    if upper.size < POINTS or n[upper[0]] == n[upper[-1]]:
        return _short(n, t, target, draws)
    k, k_lo, k_hi, k_draws = _exponent(
        np.log(n[upper]), np.log(t[upper]), None if draws is None else draws[upper]
    )
    terms = fit_terms(n, t, square=target <= NEAR * n[-1] or k_lo > SUPERLINEAR)
    by_terms = predict_terms(terms, target)
    # From the last point on: what was measured there is worth more than the line through all.
    reach = math.log(target / n[-1])
    by_power = float(t[-1] * math.exp(k * reach))
    # Nothing reads n bytes in less than proportion to n for ever: an exponent below 1 is
    # a constant that has not been outgrown yet, which the other model knows.
    # Far off, an exponent that is not shown to be above 1 is not raised to the distance either.
    unproven = k < 1 or (k_lo <= 1 and target > NEAR * n[-1])
    predicted = by_terms if unproven and reach > 1e-9 else by_power
    lo, hi = by_power, by_power
    if k_draws is not None and draws is not None:
        ends = quantiles(draws[-1] + k_draws * reach)
        lo, hi = min(lo, math.exp(float(ends[0]))), max(hi, math.exp(float(ends[1])))
    else:
        lo, hi = sorted((float(t[-1] * math.exp(k_lo * reach)), float(t[-1] * math.exp(k_hi * reach))))
    is_range = max(by_power, by_terms) > APART * min(by_power, by_terms)
    if reach > 1e-9:
        lo, hi = min(lo, by_terms), max(hi, by_terms)
    return Growth(k, k_lo, k_hi, int(upper.size), k_lo > SUPERLINEAR, terms, predicted, lo, hi, is_range)


def _exponent(x: Array, y: Array, draws: Array | None) -> tuple[float, float, float, Array | None]:
    """Slope of the least-squares line with its interval."""
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    k = float(weights @ y)
    if draws is not None and not np.isnan(draws).any() and float(np.ptp(draws, axis=1).max()) > 0:
        k_draws = np.asarray(weights @ draws)
        lo, hi = quantiles(k_draws)
        return k, min(k, float(lo)), max(k, float(hi)), k_draws
    degrees = x.size - 2
    residual = y - y.mean() - k * (x - x.mean())
    half = student(degrees) * math.sqrt(float(residual @ residual) / degrees * float(weights @ weights))
    return k, k - half, k + half, None


def _short(n: Array, t: Array, target: float, draws: Array | None) -> Growth:
    """Too few points for an exponent: in proportion to the data, after the constant that two sizes show."""
    proportional = float(t[-1] * target / n[-1])
    # A square through two or three noisy points is not evidence of one.
    terms = fit_terms(n, t, square=False)
    by_terms = predict_terms(terms, target) if n.size >= 2 else proportional
    predicted = by_terms if terms[0] > 0 and n.size >= 2 and target > n[-1] else proportional
    lo, hi = predicted, predicted
    if draws is not None and not np.isnan(draws[-1]).any():
        ends = np.exp(quantiles(draws[-1])) * predicted / t[-1]
        lo, hi = min(lo, float(ends[0])), max(hi, float(ends[1]))
    if target > n[-1] * (1 + 1e-9):
        lo, hi = min(lo, proportional, by_terms), max(hi, proportional, by_terms)
    return Growth(None, None, None, int(n.size), False, terms, predicted, lo, hi, hi > APART * max(lo, 1e-9))


def fit_terms(sizes: Array, times_ns: Array, *, square: bool = True) -> tuple[float, float, float]:
    """Least squares of t = c + a n + b n^2 with no negative term, relative errors.

    Without ``square`` b is 0. Three terms have seven supports; each is solved plainly, and the best one without
    a negative term is the answer.

    >>> c, a, b = fit_terms(np.array([1.0, 2.0, 4.0, 8.0]), np.array([12.0, 14.0, 18.0, 26.0]))
    >>> round(c, 6), round(a, 6), round(b, 6)
    (10.0, 2.0, 0.0)
    """
    sizes, times_ns = np.asarray(sizes, dtype=np.float64), np.asarray(times_ns, dtype=np.float64)
    scale = float(sizes.max())
    if not scale > 0 or not (times_ns > 0).all():
        return 0.0, 0.0, 0.0
    x = sizes / scale
    # Dividing by t makes a miss of 1 % weigh the same at every size.
    matrix = np.stack([np.ones_like(x), x, x * x], axis=1) / times_ns[:, None]
    best, least = np.array([0.0, float(times_ns[-1] / x[-1]), 0.0]), math.inf
    for count in (1, 2, 3):
        for support in itertools.combinations(range(3 if square else 2), count):
            if count > sizes.size:
                continue
            part = matrix[:, support]
            norm = np.linalg.norm(part, axis=0)
            solution = np.linalg.lstsq(part / norm, np.ones_like(x), rcond=None)[0] / norm
            if (solution < 0).any():
                continue
            miss = float(((part @ solution - 1) ** 2).sum())
            # A further term must earn its place, or rounding would choose among equals.
            if miss < least * (1 - 1e-6) - 1e-18:
                best, least = np.zeros(3), miss
                best[list(support)] = solution
    return float(best[0]), float(best[1] / scale), float(best[2] / scale**2)


def predict_terms(terms: tuple[float, float, float], size: float) -> float:
    """The time that c + a n + b n^2 gives at a size."""
    c, a, b = terms
    return c + a * size + b * size * size


def fit_line(sizes: Sequence[float], encoded: Sequence[float]) -> Line | None:
    """Encoded bytes over size; None with fewer than two sizes.

    >>> line = fit_line([1, 2, 4], [110, 210, 410])
    >>> round(line.start), round(line.slope), round(line.at(8))
    (10, 100, 810)
    """
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(encoded, dtype=np.float64)
    if x.size < 2 or np.ptp(x) == 0:
        return None
    weights = 1 / np.maximum(y, 1.0)

    def line(part: slice) -> tuple[float, float]:
        matrix = np.stack([np.ones_like(x[part]), x[part] / x.max()], axis=1) * weights[part, None]
        start, slope = np.linalg.lstsq(matrix, np.asarray(y[part] * weights[part]), rcond=None)[0]
        return float(start), float(slope / x.max())

    order = np.argsort(x, kind="stable")
    x, y, weights = x[order], y[order], weights[order]
    start, slope = line(slice(None))
    off = 0.0
    if x.size >= 3:
        s, m = line(slice(0, -1))
        off = abs(s + m * x[-1] - y[-1]) / max(float(y[-1]), 1.0)
    return Line(start, slope, off)
