"""From raw samples to ratios, letters and crossings: on simulated runs of 5 x 9 the truth is held and equals tie.

The samples have launch effects, rounds that remember the one before, and preempted calls; what is
tested is the whole way from them, not the interval of one series alone.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.planted_codecs import Planted
from support.soak import scaled
from support.synthetic_records import synthetic_record

from tare.measure.analysis.figures import analyse
from tare.measure.verdict.choice import choose, gather
from tare.measure.verdict.cost_model import PROFILES, crossing

pytestmark = pytest.mark.xdist_group("simulated runs")  # they are made once

TRUTH = (
    Planted("json:stdlib", 40, 30, 0.5),
    *(Planted(f"same:as{i}", 40, 30, 0.5) for i in range(4)),
    *(Planted(f"f{i}:l", 40 * (1 + i / 9), 30 * (1 + i / 7), 0.5 - i / 30) for i in range(1, 9)),
)
RUNS = scaled(8, 20)
NOISE = {
    "quiet": {"launch_sd": 0.003, "noise_sd": 0.005, "preempted": 0.02},
    "loaded": {"launch_sd": 0.03, "noise_sd": 0.05, "preempted": 0.3},
}


@pytest.fixture(scope="module", params=list(NOISE))
def runs(request):
    """Records of one truth, and their figures."""
    made = [
        synthetic_record("document", planted=TRUTH, media=("memory",), growth=False, derived=False, seed=seed,
                         **NOISE[request.param])
        for seed in range(RUNS)
    ]  # fmt: skip
    return [(record, analyse(record)) for record in made]


def totals(record, analysis):
    """Codec -> figure of the total of its weighed case."""
    return {
        case["labels"]["codec"]: analysis.figures[case["key"]]["total"]
        for case in record["cases"]
        if case["stage"] == "weigh" and "twin" not in case["labels"] and case["labels"]["codec"] != "copy"
    }


def test_intervals_of_ratios_hold_the_planted_ones(runs):
    """At least nine in ten, over all codecs and runs; and they are no wider than needed to say something."""
    held, widths = [], []
    for record, analysis in runs:
        figures = totals(record, analysis)
        for truth in TRUTH[1:]:
            one, ratio = figures[truth.codec], (truth.encode_ms + truth.decode_ms) / 70
            held.append(one.ratio_lo <= ratio <= one.ratio_hi)
            widths.append(one.ratio_hi / one.ratio_lo)
    assert np.mean(held) >= 0.90
    assert np.median(widths) < 1.25


def test_equals_are_told_apart_in_at_most_five_of_a_hundred(runs):
    """Codecs equal to the base share a letter with it, and so with each other."""
    apart = []
    for record, analysis in runs:
        figures = totals(record, analysis)
        equal = ["json:stdlib", *(truth.codec for truth in TRUTH if truth.codec.startswith("same"))]
        apart += [
            not set(figures[a].letters) & set(figures[b].letters)
            for i, a in enumerate(equal)
            for b in equal[i + 1 :]
        ]
    assert np.mean(apart) <= 0.05


def test_intervals_of_crossings_hold_the_closed_form(runs):
    """v* = (B_a - B_b) / ((E_b + D_b) - (E_a + D_a)) of the truth lies within, nine times in ten."""
    held = []
    slow, quick = TRUTH[-1], TRUTH[0]
    for record, _ in runs:
        choice = choose(gather(record), PROFILES["message"], (), ())
        a, b = (next(one for one in choice.several if one.codec == t.codec) for t in (slow, quick))
        seconds = (slow.encode_ms + slow.decode_ms - quick.encode_ms - quick.decode_ms) / 1e3
        where = crossing(a, b, PROFILES["message"])
        held.append(where.lo <= (b.bytes - a.bytes) / seconds <= where.hi)
    assert np.mean(held) >= 0.90
