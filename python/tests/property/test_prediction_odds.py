"""Odds of verdicts that rest on a part of the data: the doubt of the prediction is in them, and only makes them milder."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import soak
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.measure.analysis.extrapolate import UNKNOWN, costed, scaled
from tare.measure.analysis.figures import Figure
from tare.measure.verdict.choice import gather
from tare.measure.verdict.cost_model import wins
from tare.measure.verdict.recommend import recommend

FLAT = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
DRAWS = 400
FULL = 8.0


def figure(time_ns, sd=0.01, seed=0):
    """A measured time with draws around it."""
    draws = math.log(time_ns) + sd * np.random.RandomState(seed).standard_normal(DRAWS)
    return Figure("k", "read", np.zeros((1, 1)), time_ns, time_ns, time_ns, 0.0, False, False,
                  time_ns=time_ns, draws=draws)  # fmt: skip


def row(time_ns, down, up):
    """A growth row that predicts proportion, between ``down`` and ``up`` times that."""
    predicted = FULL * time_ns
    return {
        "k": 1.0,
        "predicted_ns": predicted,
        "predicted_lo_ns": down * predicted,
        "predicted_hi_ns": up * predicted,
    }


def odds(costs, ranges, seed):
    """P(best) of several codecs whose predictions may be off by the factors given."""
    random = np.random.RandomState(seed)
    draws = [
        scaled(figure(cost, seed=100 * seed + i), row(cost, *ends), FULL, random.uniform(size=DRAWS))[1]
        for i, (cost, ends) in enumerate(zip(costs, ranges, strict=True))
    ]
    return wins(draws)


@settings(max_examples=soak.scaled(20, 40), deadline=None)
@given(
    st.lists(st.floats(1.0, 1.6), min_size=1, max_size=4),
    st.floats(0.0, 0.5),
    st.floats(0.0, 0.5),
    st.floats(1.2, 4.0),
)
def test_a_wider_range_makes_no_odds_more_extreme(steps, below, above, wider):
    """The best one's P(best) falls or stays, on the average over runs, when every prediction is less sure."""
    costs = [1e6, *(1e6 * step for step in steps)]
    best = []
    for times in (1.0, wider):
        ends = (math.exp(-below * times), math.exp(above * times))
        best.append(np.mean([odds(costs, [ends] * len(costs), seed)[0] for seed in range(12)]))
    assert best[1] <= best[0] + 0.03


@settings(max_examples=soak.scaled(20, 40), deadline=None)
@given(st.floats(1.02, 1.6), st.floats(0.05, 0.5), st.floats(1.2, 4.0), st.integers(0, 1))
def test_one_wide_prediction_is_enough_for_milder_odds(step, width, wider, which):
    """It does not matter whether the best one or the other is less sure."""
    best = []
    for times in (1.0, wider):
        ranges = [(1.0, 1.0), (1.0, 1.0)]
        ranges[which] = (math.exp(-width * times), math.exp(width * times))
        best.append(np.mean([odds([1e6, 1e6 * step], ranges, seed)[0] for seed in range(12)]))
    assert best[1] <= best[0] + 0.03
    assert best[1] >= 0.5 - 0.03


@settings(max_examples=soak.scaled(30, 60), deadline=None)
@given(st.floats(0.1, 1.0), st.floats(1.0, 10.0), st.integers(0, 1000))
def test_draws_lie_within_the_range_and_around_the_prediction(down, up, seed):
    """Half of them on each side of it, however lopsided the range is."""
    quantile = np.random.RandomState(seed).uniform(size=DRAWS)
    point, draws = scaled(figure(1e6, sd=0.0), row(1e6, down, up), FULL, quantile)
    assert point == pytest.approx(8e-3)
    assert (draws >= 0.999 * down * point).all()
    assert (draws <= 1.001 * up * point).all()
    assert ((draws <= point * (1 + 1e-9)) >= (quantile <= 0.5)).all()
    assert ((draws >= point * (1 - 1e-9)) >= (quantile >= 0.5)).all()


@pytest.mark.parametrize("given_row", [None, row(1e6, 1.0, 1.0) | {"k": None}])
def test_growth_that_was_not_measured_has_a_range_too(given_row):
    """Without an exponent it may be any from 0.85 to 1.15: 0.73 to 1.37 of the proportion at eight times the size."""
    quantile = np.linspace(0, 1, DRAWS)
    point, draws = scaled(figure(1e6, sd=0.0), given_row, FULL, quantile)
    assert point == pytest.approx(8e-3)
    assert draws.min() / point == pytest.approx(FULL ** (UNKNOWN[0] - 1))
    assert draws.max() / point == pytest.approx(FULL ** (UNKNOWN[1] - 1))


def test_a_measured_whole_is_not_spread():
    """Where all of the data was measured nothing is predicted, whatever a growth row says."""
    one = figure(1e6)
    point, draws = scaled(one, row(1e6, 0.5, 2.0), 1.0, np.linspace(0, 1, DRAWS))
    assert (point, draws.tolist()) == (1e-3, (np.exp(one.draws) / 1e9).tolist())


def pair(step):
    return (
        Planted("parquet:pyarrow", 100, 100, 0.5, flags=FLAT),
        Planted("other:one", 100 * step, 100 * step, 0.5, flags=FLAT),
    )


def p_best(partial, *, step=1.08, ungrown=(), seeds=range(6)):
    """Mean P(best) of the truly best codec, of which a part was measured; some without growth cases."""
    found = []
    for seed in seeds:
        record = synthetic_record("table", planted=pair(step), partial=partial, media=("memory",), derived=False,
                                  preempted=0, seed=seed)  # fmt: skip
        record["cases"] = [
            case
            for case in record["cases"]
            if not (case["stage"] in ("growth", "screen") and case["labels"]["codec"] in ungrown)
        ]
        verdict = recommend(record, profile="archive", gb_seconds=0, link="1000GB")
        assert verdict["provisional"] is (partial is not None)
        found.append(verdict["p"]["parquet:pyarrow"])
    return float(np.mean(found))


def test_the_less_was_loaded_the_milder_the_odds():
    """8 % apart without growth: sure of the whole, less of a half, and little of a fiftieth."""
    both = ("parquet:pyarrow", "other:one")
    whole, half, tenth, fiftieth = (p_best(part, ungrown=both) for part in (None, 0.5, 0.1, 0.02))
    assert whole > 0.98
    assert whole > half > tenth > fiftieth > 0.5
    assert fiftieth < 0.75


@pytest.mark.parametrize("ungrown", ["parquet:pyarrow", "other:one"])
def test_a_codec_without_growth_is_not_surer_than_one_with_it(ungrown):
    """Taking the growth away from one of the two never raises the odds of the best."""
    assert p_best(0.1, ungrown=(ungrown,)) <= p_best(0.1) + 0.03


def test_both_directions_of_a_codec_are_off_alike():
    """The error of a codec's growth does not cancel between writing and reading."""
    record = synthetic_record("table", planted=pair(1.5), partial=0.1, media=("memory",), derived=False,
                              growth=False, preempted=0, launch_sd=1e-4, noise_sd=1e-4)  # fmt: skip
    evidence = gather(record)
    case = next(case for case in record["cases"] if case["stage"] == "weigh" and "twin" not in case["labels"])
    one = costed(case, evidence.analysis, (), 10.0, "seed")
    assert np.corrcoef(np.log(one.write_draws), np.log(one.read_draws))[0, 1] > 0.99
    again = costed(case, evidence.analysis, (), 10.0, "seed")
    assert (one.write_draws == again.write_draws).all()


def test_growth_of_another_way_of_working_is_not_used():
    """Rows are of whole documents and of one delivery; a case per document or in frames is not on their curve."""
    record = synthetic_record("table", planted=pair(1.5), partial=0.1, media=("memory",), derived=False)
    evidence = gather(record)
    case = next(
        case
        for case in record["cases"]
        if case["stage"] == "weigh" and case["labels"]["codec"] == "other:one"
    )
    steep = [
        {"codec": "other:one", "medium": "memory", "delivery": "whole", "op": op, "predicted_bytes": 7}
        | row(1e9, 1.0, 1.0)
        for op in ("encode", "decode")
    ]
    assert costed(case, evidence.analysis, steep, 10.0).write_s == pytest.approx(8.0)
    for change in ({"grain": "each"}, {"threads": "all"}, {"delivery": "framed"}):
        other = case | {"labels": case["labels"] | change}
        assert costed(other, evidence.analysis, steep, 10.0).write_s == pytest.approx(1.5, rel=0.05)
