"""What too few samples, a busy machine or a short time leave in doubt is not said as if it were known."""

from __future__ import annotations

import pytest
from simulate import Planted, synthetic_record

from tare.measure.analysis import analyse
from tare.measure.mains import TOTAL
from tare.measure.recommend import gather, recommend

FLAT = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
BASE = Planted("json:stdlib", 400, 400, 0.5, flags=FLAT)
OTHERS = tuple(Planted(f"f{i}:f{i}", 100 * 1.5**i, 100 * 1.5**i, 0.5, flags=FLAT) for i in range(3))


def a_run(medium="tcp", launches=1, rounds=1, planted=(BASE, *OTHERS), **noise):
    """A run of few samples on one medium."""
    return synthetic_record(
        "document", planted=planted, media=(medium,), growth=False, derived=False, base="json:stdlib",
        launches=launches, rounds=rounds, **noise,
    )  # fmt: skip


def letters(record):
    """The letters of the totals, codec by codec."""
    group = analyse(record).groups[0]
    return [figure.letters for figure in group.of(TOTAL)]


@pytest.mark.parametrize("medium", ["tcp", "memory"])
@pytest.mark.parametrize(("launches", "rounds"), [(1, 1), (2, 1), (2, 2)])
def test_without_an_interval_there_are_no_letters(medium, launches, rounds):
    """Four codecs, one sample each: they differ by chance, which proves nothing."""
    assert set(letters(a_run(medium, launches, rounds))) == {""}
    assert len(set(letters(a_run(medium, 5, 9)))) > 1


@pytest.mark.parametrize("twin", [True, False])
def test_one_sample_of_each_names_no_winner(twin):
    """Over a stream, half as fast again is well within what one sample is off, floor known or not."""
    record = a_run()
    if not twin:
        record["cases"] = [case for case in record["cases"] if "twin" not in case["labels"]]
    verdict = recommend(record, profile="message")
    assert not verdict["named"]
    assert max(verdict["p"].values()) < 0.8
    assert "to choose for message" in verdict["sentence"]


def test_odds_of_few_launches_are_spread_by_the_noise_floor():
    """A base that differs from itself by 80 % leaves no odds of 0.99 to others, in two launches."""
    record = a_run("memory", 2, 9, (BASE, *OTHERS[:2]), noise_sd=0.001, launch_sd=0.001)
    evidence = gather(record)
    sure = recommend(record, profile="message", evidence=evidence)
    for group in evidence.analysis.groups:
        group.floor = {TOTAL: 0.8}
    spread = recommend(record, profile="message", evidence=evidence)
    assert sure["p_best"] > 0.99 > spread["p_best"]
