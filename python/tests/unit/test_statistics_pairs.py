"""Which pairs of codecs differ: the shortcuts give what drawing every pair gives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.measure.analysis.figures import analyse, pair_summary, pairs_apart
from tare.measure.analysis.statistics import differs


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise_sd", [0.005, 0.05])
def test_shortcuts_agree_with_drawing_every_pair(seed, noise_sd):
    """Ten codecs, some close and some far: the same pairs differ, pair by pair."""
    steps = np.random.RandomState(seed).uniform(0.0, 0.06, 10).cumsum()
    truth = tuple(Planted(f"f{i}:l", 20 * np.exp(s), 10 * np.exp(s), 0.5) for i, s in enumerate(steps))
    record = synthetic_record("document", planted=truth, base="f0:l", media=("memory",), growth=False, derived=False,
                              noise_sd=noise_sd, launch_sd=noise_sd / 2, seed=seed)  # fmt: skip
    analysis = analyse(record)
    group = next(group for group in analysis.groups if group.stage == "weigh" and group.base)
    figures, floor = group.of("total"), group.floor["total"]
    apart = set()
    for a, b in itertools.combinations(range(len(figures)), 2):
        found = pair_summary(figures[b], figures[a], analysis.sampler)
        if differs(float(np.exp(found.lo[0])), float(np.exp(found.hi[0])), floor):
            apart.add((a, b))
    assert apart == pairs_apart(figures, floor, analysis.sampler)
    for a, b in itertools.combinations(range(len(figures)), 2):
        assert bool(set(figures[a].letters) & set(figures[b].letters)) == ((a, b) not in apart)


def test_codecs_that_never_met_are_compared_through_the_base():
    """One ran in launches 1 to 5, the other in 6 to 10, the base in all: 3 times the base and half of it differ."""
    truth = (Planted("json:stdlib", 20, 20, 0.5), Planted("a:a", 60, 60, 0.5), Planted("b:b", 10, 10, 0.5))
    record = synthetic_record(
        "document", planted=truth, media=("memory",), growth=False, derived=False, launches=10
    )
    for case in record["cases"]:
        if case["stage"] == "weigh" and case["labels"]["codec"] in ("a:a", "b:b"):
            first = case["labels"]["codec"] == "a:a"
            case["launches"] = [launch for launch in case["launches"] if (launch["n"] <= 5) == first]
    analysis = analyse(record)
    group = next(group for group in analysis.groups if group.stage == "weigh" and group.base)
    assert ["a", "b", "c"] == [figure.letters for figure in group.of("total")]
    assert [5, 10, 5] == [figure.launches for figure in group.of("total")]
