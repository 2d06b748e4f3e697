"""Ties: who is in one, in which order, and who is the default where noise hides too much."""

from __future__ import annotations

import numpy as np
import pytest
from support.planted_codecs import Planted
from support.synthetic_records import set_floor, synthetic_record

from tare.measure.analysis import Analysis, Figure, Group
from tare.measure.cost import PROFILES, Costed, cost, wins
from tare.measure.mains import TOTAL
from tare.measure.recommend import gather, recommend
from tare.measure.statistics import Resampler
from tare.measure.ties import tie_of

FLAT = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
BASE = Planted("parquet:pyarrow", 200, 200, 0.5, flags=FLAT)
QUIET = {"launch_sd": 0.001, "noise_sd": 0.001, "preempted": 0.0}
USE = PROFILES["cache"]


def tie(several, floor):
    """The tie of codecs given as (name, bytes, seconds, draws' relative sd, letters), costs being times."""
    random = np.random.RandomState(1)
    costed, figures = [], {}
    for name, size, seconds, spread, letters in several:
        draws = seconds * np.exp(spread * random.standard_normal(2000))
        costed.append(Costed(name, name, size, seconds / 2, seconds / 20, draws / 2, draws / 20))
        figures[name, TOTAL] = Figure(
            name,
            TOTAL,
            np.zeros((1, 1)),
            1.0,
            None,
            None,
            None,
            contended=False,
            marked=False,
            letters=letters,
            launches=5,
            samples=45,
        )
    group = Group({}, "weigh", [], figures, floor={TOTAL: floor})
    analysis = Analysis("a", [group], {key: {op: f} for (key, op), f in figures.items()}, Resampler(1))
    costs = {one.codec: cost(one, USE) for one in costed}
    shares = dict(zip(costs, wins([draws for _, draws in costs.values()]), strict=True))
    return tie_of(costed, costs, shares, analysis, USE)


def names(found):
    return [one.codec for one in found.members]


def test_what_costs_nearly_the_same_is_ordered_by_size():
    """Within a quarter of the least: choose by size, and the smallest is the default."""
    found = tie([("large", 90, 1.0, 0.05, "a"), ("small", 10, 1.06, 0.05, "a")], 0.1)
    assert (names(found), found.winner.codec) == (["small", "large"], "small")
    assert (found.named, found.vague) == (False, False)


def test_where_noise_hides_a_multiple_the_most_likely_best_is_the_default():
    """A floor of 130 % tells nothing below 2.3x apart: the smallest of those is no default."""
    several = [("quick", 90, 1.0, 0.05, "a"), ("next", 50, 1.1, 0.05, "a"), ("small", 10, 2.2, 0.05, "a")]
    found = tie(several, 1.3)
    assert (names(found), found.winner.codec) == (["quick", "next", "small"], "quick")
    assert (found.named, found.vague, found.noise) == (False, True, 1.3)


def test_what_the_letters_tell_apart_is_no_tie():
    """Slower both ways, larger, and without a common letter: a wide prediction does not hide that."""
    several = [("quick", 50, 1.0, 0.3, "ab"), ("next", 60, 1.05, 0.3, "b")]
    slow, small = ("slow", 60, 1.2, 0.3, "d"), ("small", 10, 1.2, 0.3, "d")
    assert names(tie([*several, slow], 0.0)) == ["quick", "next"]
    # Over a slow link fewer bytes may pay for the time, so what is smaller stays.
    assert set(names(tie([*several, small], 0.0))) == {"quick", "next", "small"}


def test_a_named_winner_ties_with_its_neighbours_only():
    """Who is likely enough the best is no tie with what costs half as much again."""
    found = tie([("best", 50, 1.0, 0.2, "a"), ("near", 10, 1.2, 0.2, "a"), ("far", 10, 1.5, 0.2, "a")], 0.0)
    assert (found.named, found.winner.codec, names(found)) == (True, "best", ["near", "best"])


@pytest.mark.parametrize("floor", [0.3, 1.5])
def test_the_sentence_says_when_it_is_too_noisy_to_choose(floor):
    """The most likely best is the route; before, the smallest of all was, at twice the cost."""
    truth = (
        Planted("quick:q", 50, 50, 0.52, flags=FLAT),
        Planted("other:o", 51, 51, 0.51, flags=FLAT),
        Planted("small:s", 100, 100, 0.50, flags=FLAT),
    )
    record = synthetic_record(
        "table", planted=(BASE, *truth), media=("memory",), growth=False, derived=False, **QUIET
    )
    evidence = gather(record)
    set_floor(evidence, floor)
    for group in evidence.analysis.groups:
        for figure in group.figures.values():
            figure.letters = ""
    verdict = recommend(record, profile="archive", gb_seconds=0, link="1000GB", evidence=evidence)
    assert not verdict["named"]
    if floor < 1:
        assert (verdict["codec"], verdict["tie"]) == ("other:o", ["other:o", "quick:q"])
        assert verdict["sentence"].startswith("Provisional: a tie for archive, smallest first: `other:o`,")
        return
    assert (verdict["codec"], verdict["route"], verdict["vague"]) == ("quick:q", "quick:q@file", True)
    assert verdict["sentence"].startswith(
        "Too noisy to choose for archive: costs up to 2.0x apart are not told apart: `quick:q`, `other:o`, `small:s`. "
        "The most likely best, by default, is `quick:q@file`: P(best) "
    )


@pytest.mark.parametrize(("step", "most"), [(1.15, 0.95), (1.3, 0.99)])
def test_one_launch_gives_sober_odds(step, most):
    """What a launch shifts is not known from one: of codecs nearly alike neither is nearly certain."""
    pair = (
        Planted("quick:q", 50, 50, 0.5, flags=FLAT),
        Planted("other:o", 50 * step, 50 * step, 0.5, flags=FLAT),
    )
    found = {}
    for launches, stage in ((1, "weigh"), (1, "screen"), (5, "weigh")):
        record = synthetic_record(
            "table", planted=(BASE, *pair), media=("memory",), growth=False, derived=False, launches=launches,
            **QUIET,
        )  # fmt: skip
        record["cases"] = [case for case in record["cases"] if case["stage"] == "weigh"]
        for case in record["cases"]:
            case["stage"] = stage
        found[launches, stage] = recommend(record, profile="archive", gb_seconds=0, link="1000GB")
    odds = {run: verdict["p"]["quick:q"] for run, verdict in found.items()}
    assert odds[5, "weigh"] == 1.0
    assert 0.5 < odds[1, "screen"] < 0.8
    assert odds[1, "screen"] < odds[1, "weigh"] < most
    assert "P(best) > 0.99" in found[5, "weigh"]["sentence"]
    lo, hi = found[1, "screen"]["cost_s"]["quick:q"][1:]
    assert 1.8 < hi / lo < 10
