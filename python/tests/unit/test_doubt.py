"""What too few samples, a busy machine or a short time leave in doubt is not said as if it were known."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest
from support.synthetic_records import Planted, set_floor, synthetic_record

from tare.measure.analysis.figures import analyse
from tare.measure.analysis.growth_curves import growth_rows
from tare.measure.analysis.ranked_cases import TOTAL, is_ranked
from tare.measure.derive import derive
from tare.measure.verdict.choice import choose, gather
from tare.measure.verdict.confidence import _seldom
from tare.measure.verdict.cost_model import PROFILES
from tare.measure.verdict.recommend import recommend
from tare.report import markdown, terminal, words
from tare.report.digest import digest

details = partial(terminal.render, verbose=True)

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
    assert verdict["confidence"] == "can't tell"
    assert max(verdict["p"].values()) < 0.8
    assert "measured only once or twice" in verdict["sentence"]


def test_only_what_was_measured_seldom_is_said_to_be():
    """One codec of one sample beside others of nine: some, not each."""
    record = a_run("memory", 1, 9)
    evidence = gather(record)
    choice = choose(evidence, PROFILES["cache"], (), ())
    assert _seldom(choice, gather(a_run("memory", 1, 1)).analysis) == "each codec was"
    few = evidence.analysis.figures[choice.several[0].key]
    few[TOTAL] = replace(few[TOTAL], samples=1)
    assert _seldom(choice, evidence.analysis) == "some codecs were"


def test_odds_of_few_launches_are_spread_by_the_noise_floor():
    """A base that differs from itself by 80 % leaves no odds of 0.99 to others, in two launches."""
    record = a_run("memory", 2, 9, (BASE, *OTHERS[:2]), noise_sd=0.001, launch_sd=0.001)
    evidence = gather(record)
    sure = recommend(record, profile="message", evidence=evidence)
    set_floor(evidence, 0.8)
    spread = recommend(record, profile="message", evidence=evidence)
    assert sure["p_best"] > 0.99 > spread["p_best"]


def test_a_floor_above_all_leaves_nothing_to_tell():
    """Where the base is a multiple of itself, a codec 1.5 times as fast is no sure winner."""
    evidence = gather(a_run("memory", 5, 9))
    for group in evidence.analysis.groups:
        group.floor = {TOTAL: 8.009}
    verdict = recommend(evidence.record, profile="message", evidence=evidence)
    assert verdict["confidence"] == "can't tell"
    assert any(why.startswith("the machine was busy: ") for why in verdict["why"])
    assert "noise floor above 100 %: nothing can be told apart" in markdown.render(noisy_footer(8.009))
    assert "noise floor not measured" in markdown.render(noisy_footer(None))


def noisy_footer(floor):
    """A derived record with a noise floor."""
    record = a_run("memory", 5, 9)
    record = derived(record)
    record["derived"]["noise"]["floor"] = record["noise"]["floor"] = floor
    return record


def derived(record):
    """The record as it is saved."""
    return record | {"derived": derive(record)}


def test_nearly_equal_codecs_on_a_noisy_machine_cannot_be_told_apart():
    """0.99 times the base under a floor of 80 %: no order, though the draws name one."""
    near = Planted("msgpack:msgspec", 396, 396, 0.4, flags=FLAT)
    evidence = gather(a_run("memory", 5, 9, (BASE, near), launch_sd=0.0005, noise_sd=0.0005))
    set_floor(evidence, 0.8)
    verdict = recommend(evidence.record, profile="message", evidence=evidence)
    assert (verdict["confidence"], set(verdict["tie"])) == ("can't tell", {"json:stdlib", "msgpack:msgspec"})
    assert "the same codec, measured twice, differed by" in verdict["sentence"]


def test_a_base_that_nobody_asked_for_does_not_win():
    """It is there for the ratios; the one that was asked for is the answer, however slow."""
    slow = Planted("slow:slow", 900, 900, 0.9, flags=FLAT)
    record = a_run("memory", 5, 9, (BASE, slow))
    assert recommend(record, profile="message")["codec"] == "json:stdlib"
    record["codecs"]["json:stdlib"]["asked"] = False
    verdict = recommend(record, profile="message")
    assert verdict["codec"] == "slow:slow"
    assert "; the only codec that was asked for" in verdict["sentence"]
    assert {"codec": "json:stdlib", "reason": "for comparison only, as --codec does not name it"} in verdict[
        "excluded"
    ]


def test_the_footer_says_what_streams_are_ranked_by():
    """Two processes at once are ranked by the wall clock, and their contention is that of the CPU."""
    for media, said in (
        (("tcp",), "ranked by wall time of both ends"),
        (("memory",), "ranked by CPU time."),
        (("memory", "tcp"), "ranked by CPU time, streams by wall time."),
    ):
        record = derived(
            synthetic_record("document", planted=(BASE, *OTHERS), media=media, growth=False, derived=False)
        )
        assert said in markdown.render(record)
    record = a_run()
    for case in record["cases"]:
        for launch in case["launches"]:
            launch["psi_some"] = 0.99
    record["cases"] = [case for case in record["cases"] if case["labels"]["codec"] != "copy"]
    record["noise"] = {}
    said = markdown.render(derived(record))
    assert "other processes had the CPU 99 % of the time" in said
    assert (
        "the machine was busy (other processes had the CPU, processes waited for a CPU 99 % of the time)"
        in said
    )


def grown(media, stalled):
    """A record of a growing run: one launch a size, nothing weighed, and so much waiting in each launch."""
    record = synthetic_record(
        "document", planted=(BASE, *OTHERS), media=media, growth=False, derived=False, launches=1, rounds=3
    )
    record["cases"] = [
        {**case, "stage": "growth"}
        for case in record["cases"]
        if case.get("stage", "weigh") == "weigh" and is_ranked(case)
    ]
    launches = [launch for case in record["cases"] for launch in case["launches"]]
    for i, launch in enumerate(launches):
        launch["psi_some"] = stalled[i % len(stalled)]
    record["noise"] = {}
    return derived(record)


def test_the_noise_of_a_growing_run_is_that_of_its_sizes():
    """It weighs nothing; a launch that was disturbed is a point of its curve, which no other launch sets right."""
    busy = grown(("memory", "tcp"), (0.0, 0.0, 0.0, 0.4))
    noise = busy["derived"]["noise"]
    assert (noise["launches"], noise["rounds"], noise["psi_some"]) == (1, 3, 0.0)
    assert (noise["stalled_share"], noise["quiet"]) == (0.25, False)
    said = markdown.render(busy)
    assert "1 process each, 3 rounds" in said
    assert (
        "the machine was busy at times (processes waited for a CPU above 5 % of the time in 25 % of the processes)"
        in said
    )
    calm = grown(("memory", "tcp"), (0.0, 0.01))["derived"]["noise"]
    assert (calm["stalled_share"], calm["quiet"]) == (0.0, True)
    assert a_weighed_one()["stalled_share"] is None


def a_weighed_one():
    """The noise of a run that weighs."""
    return derived(a_run("memory", 5, 9))["derived"]["noise"]


@pytest.mark.parametrize(
    ("media", "said"),
    [
        (("tcp",), "wall time of both ends"),
        (("memory",), "CPU time"),
        (("memory", "tcp"), "CPU time, streams by wall time"),
    ],
)
def test_the_clock_of_a_growing_run_is_the_one_that_ranks_it(media, said):
    """Spans are wall time whatever the stage."""
    assert f"ranked by {said}." in markdown.render(grown(media, (0.0,)))


def test_contention_of_a_growing_run_is_that_of_its_clock():
    """The wall clock ran past CPU and blocked time in all but one launch's samples: no 0 %."""
    record = grown(("memory",), (0.0,))
    for case in record["cases"]:
        for launch in case["launches"]:
            for columns in launch["samples"].values():
                columns["wall_ns"] = [2 * ns for ns in columns["wall_ns"]]
                columns["nvcsw"] = [0] * len(columns["wall_ns"])
    assert derived(record)["derived"]["noise"]["contended_share"] == 1.0


def test_what_was_not_measured_is_no_zero():
    """Nothing was timed: no contention, no launches, and nobody knows whether it was quiet."""
    record = grown(("memory",), (0.0,))
    for case in record["cases"]:
        case |= {"launches": [], "status": "n/a"}
    record = derived(record)
    noise = record["derived"]["noise"]
    assert {noise[name] for name in ("contended_share", "psi_some", "launches", "rounds", "quiet")} == {None}
    assert words.noise_line(digest(record)) == "noise was not measured"
    record["noise"] = {"steal": 0.0}
    line = words.noise_line(digest(record))
    assert line == "noise floor not measured \xb7 contention not measured \xb7 nothing was ranked"


def test_spans_without_a_figure_of_waiting_have_no_contention():
    """On a system that tells no pressure the contention of two ends is not known."""
    noise = grown(("tcp",), (None,))["derived"]["noise"]
    assert (noise["contended_share"], noise["stalled_share"], noise["quiet"]) == (None, None, None)


def test_times_of_all_threads_are_told_as_wall_time():
    """CPU time of all threads says nothing of what is waited for."""
    record = a_run("memory", 5, 9)
    for case in record["cases"]:
        case["labels"]["threads"] = "all"
    assert "ranked by wall time." in markdown.render(derived(record))


def test_predictions_of_the_whole_show_their_range():
    """Growth seen at one size only: the exponent may be 0.85 to 1.15, and the figure says so where there is room."""
    record = synthetic_record("table", partial=0.01, media=("memory",), growth=False, derived=False)
    rows = [row for row in growth_rows(record, analyse(record)) if row["k"] is None and not row["measured"]]
    assert rows
    for row in rows:
        assert row["predicted_lo_ns"] <= 0.51 * row["predicted_ns"]
        assert row["predicted_hi_ns"] >= 1.99 * row["predicted_ns"]
    record = derived(record)
    # arrow:pyarrow takes 13 ms for the hundredth part.
    ranged = r"~1\.\d+ s \(0\.\d+\N{EN DASH}2\.\d+\)"
    assert re.search(ranged, markdown.render(record))
    assert "full size: it may be 0.50 to 2.0 times the figure" in " ".join(details(record).split())
    row = next(row for row in digest(record).grids[0].rows if row.codec == "arrow:pyarrow")
    assert re.fullmatch(ranged, words.predicted(row))
    assert re.fullmatch(r"~1\.\d+ s", words.predicted(row, ends=False))


def test_a_terminal_gives_up_ranges_before_columns():
    """Where the whole table fits, predictions have their ranges; else the columns stay and the ranges go."""
    short = tuple(Planted(f"f{i}:f", 20, 20, 0.4, flags=FLAT) for i in range(2))
    base = Planted("parquet:pyarrow", 20, 20, 0.5, flags=FLAT)
    record = synthetic_record(
        "table", planted=(base, *short), partial=0.01, media=("memory",), growth=False, derived=False
    )
    heads = {}
    for width in (100, 104, 120, 300):
        shown = details(derived(record), width=width)
        heads[width] = next(line.split() for line in shown.splitlines() if line.startswith("codec "))
    assert all(columns == heads[300] for columns in heads.values())
    assert "alike" in heads[100]


# --- the least of the rounds of one process -------------------------------------------------------------


def a_default_run(rounds=3, **noise):
    """A run of the method that shows the least of its rounds."""
    return a_run("memory", 1, rounds, **noise) | {"method": 2}


def test_the_second_of_two_calls_in_a_row_is_what_is_shown():
    """The first pays for memory that was given back to the system since the last round: it is not averaged in."""
    record = a_default_run()
    alone = analyse(record)
    for case in record["cases"]:
        for columns in case["launches"][0]["samples"].values() if case["launches"] else ():
            for name, values in columns.items():
                cold = 3 if name in ("wall_ns", "user_ns") else 1
                columns[name] = [each for one in values for each in (one * cold, one)]
    pairs = analyse(record)
    assert pairs.figures.keys() == alone.figures.keys()
    for key, figures in alone.figures.items():
        for op, figure in figures.items():
            assert pairs.figures[key][op].time_ns == pytest.approx(figure.time_ns, rel=0.02)
            assert pairs.figures[key][op].samples == figure.samples


@pytest.mark.parametrize(("rounds", "known"), [(1, False), (2, False), (3, True)])
def test_one_round_of_the_twin_is_no_noise(rounds, known):
    """A first call of the base's second process differed by 38 %, and the machine was called busy for it."""
    record = a_default_run(rounds)
    twin = next(case for case in record["cases"] if "twin" in case["labels"])
    for columns in twin["launches"][0]["samples"].values():
        for name in ("wall_ns", "user_ns"):
            columns[name] = [round(1.5 * value) for value in columns[name]]
    group = next(group for group in analyse(record).groups if group.twin)
    assert (group.floor.get(TOTAL, 0.0) > 0.3) == known
    assert bool(group.aa), "what it differed by is told"
