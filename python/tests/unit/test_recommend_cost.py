"""Costs, crossings, the envelope, shares of wins and the Pareto front, against closed forms and brute force."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tare.errors import UsageError
from tare.measure.verdict.cost_model import (
    PROFILES,
    Costed,
    Profile,
    cost,
    crossing,
    envelope,
    pareto,
    parse_link,
    wins,
)

PLAIN = Profile("plain", "", "file")


def codec(name, encoded, write_s, read_s, spread=0.0, seed=0):
    noise = np.exp(spread * np.random.RandomState(seed).standard_normal((2, 400)))
    return Costed(name, name, encoded, write_s, read_s, write_s * noise[0], read_s * noise[1])


def some_codecs(seed, count=6):
    random = np.random.RandomState(seed)
    return [
        codec(f"c{i}", random.uniform(1e6, 1e8), random.uniform(0.01, 2), random.uniform(0.01, 2))
        for i in range(count)
    ]


def test_cost_is_the_formula():
    """C = w E + r (B / v + rtt + D) + s B."""
    use = Profile("p", "", "file", writes=2, reads=3, seconds_per_byte=1e-8, bytes_per_s=50e6, rtt_s=0.01)
    assert math.isclose(
        2 * 0.5 + 3 * (100e6 / 50e6 + 0.01 + 0.25) + 1.0, cost(codec("a", 100e6, 0.5, 0.25), use)[0]
    )


def test_cost_of_parts_counts_their_reads():
    """A thousand partial reads of a millisecond are one second."""
    one = codec("a", 1e6, 0.5, 0.25)
    one.subset_s, one.subset_draws = 1e-3, np.full(400, 1e-3)
    assert math.isclose(0.5 + 0.25 + 1.0, cost(one, PROFILES["random"])[0])


@pytest.mark.parametrize("seed", range(5))
def test_crossing_is_the_closed_form(seed):
    """v* = (B_a - B_b) / ((E_b + D_b) - (E_a + D_a)); with weights its general form; costs are equal there."""
    a, b = some_codecs(seed, 2)
    plain = (a.bytes - b.bytes) / ((b.write_s + b.read_s) - (a.write_s + a.read_s))
    found = crossing(a, b, PLAIN)
    assert (found is None) == (plain <= 0)
    if found is not None:
        assert math.isclose(plain, found.at)
    use = Profile("p", "", "file", writes=2, reads=5, seconds_per_byte=2e-8)
    weighted = (
        5
        * (a.bytes - b.bytes)
        / (2 * (b.write_s - a.write_s) + 5 * (b.read_s - a.read_s) + 2e-8 * (b.bytes - a.bytes))
    )
    found = crossing(a, b, use)
    assert (found is None) == (weighted <= 0)
    if found is not None:
        assert math.isclose(weighted, found.at)
        there = replace(use, bytes_per_s=found.at)
        assert math.isclose(cost(a, there)[0], cost(b, there)[0])


def test_crossing_over_reads():
    """One writes in 1 s and reads in 0.1, the other in 0.1 and 0.4: equal at 3 reads."""
    found = crossing(codec("a", 1, 1.0, 0.1), codec("b", 1, 0.1, 0.4), PLAIN, "reads")
    assert math.isclose(3.0, found.at)
    assert crossing(codec("a", 1, 1.0, 0.5), codec("b", 1, 0.1, 0.4), PLAIN, "reads") is None


def test_crossing_has_an_interval_that_holds_it():
    """The ends come from the draws: noise of 5 % in the times moves the crossing by some per cent."""
    found = crossing(codec("a", 1e7, 1.0, 0.5, 0.05, 1), codec("b", 1e8, 0.3, 0.2, 0.05, 2), PLAIN)
    assert found.lo < found.at < found.hi
    assert 0.75 < found.lo / found.at < found.hi / found.at < 1.35
    sure = crossing(codec("a", 1e7, 1.0, 0.5), codec("b", 1e8, 0.3, 0.2), PLAIN)
    assert (sure.lo, sure.hi) == pytest.approx((sure.at, sure.at))


@pytest.mark.parametrize("seed", range(12))
def test_envelope_against_brute_force(seed):
    """The best codec between two neighbouring crossings is the one that costs least there."""
    several = some_codecs(seed, 8)
    changes = envelope(several, PLAIN)
    edges = [0.0, *(where.at for _, _, where in changes), math.inf]
    assert edges == sorted(edges)
    best = [changes[0][0], *(above for _, above, _ in changes)] if changes else []
    for one, low, high in zip(best, edges, edges[1:], strict=False):
        rate = math.sqrt(max(low, 1.0) * min(high, 1e12))
        least = min(several, key=lambda c, rate=rate: cost(c, replace(PLAIN, bytes_per_s=rate))[0])
        assert one.codec == least.codec


def test_envelope_of_none_and_of_one():
    """Nothing changes where there is nothing to change to."""
    assert envelope([], PLAIN) == []
    assert envelope(some_codecs(0, 1), PLAIN) == []


def test_shares_of_wins_add_up_and_equals_share():
    """P(best) sums to 1; two equal codecs have half each, whatever their order."""
    random = np.random.RandomState(0)
    a, b = random.uniform(size=400), random.uniform(size=400)
    assert math.isclose(1.0, sum(wins([a, b, a + 0.1])))
    assert wins([a, a.copy()]) == [0.5, 0.5]
    assert wins([a]) == [1.0]


def test_pareto_keeps_what_nothing_surely_beats():
    """A codec falls only if another one is no worse on any axis and surely better on one."""
    noise = 0.1 * np.random.RandomState(0).standard_normal(400)
    sure = np.zeros(400)
    small = [(1.0, sure + 1), (5.0, sure + 5.0)]
    quick = [(9.0, sure + 9), (1.0, sure + 1.0)]
    beaten = [(9.0, sure + 9), (6.0, sure + 6.0)]
    unsure = [(1.0, sure + 1), (5.05, 5.05 + noise)]
    assert pareto([small, quick, beaten, unsure]) == [0, 1, 3]
    assert pareto([small, small]) == [0, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1Gbit,0.3ms", (125e6, 0.3e-3)),
        ("12.5MB", (12.5e6, 0.0)),
        ("100 Mbit/s, 20ms", (12.5e6, 0.02)),
        ("56kbit", (7e3, 0.0)),
    ],
)
def test_links_are_read(text, expected):
    """Rates in bits or bytes, round trips in any unit of time."""
    assert expected == pytest.approx(parse_link(text))


@pytest.mark.parametrize(
    "text", ["", "fast", "1Gbit,soon", "-1MB", "0MB", "1e999MB", ",1ms", "infMB", "1.2.3MB"]
)
def test_links_that_are_none_are_refused_with_an_example(text):
    """The message shows how a link is written."""
    with pytest.raises(UsageError, match=r"1Gbit,0\.3ms"):
        parse_link(text)
