"""The gate: what it fails, what it lets pass, what it cannot say; and how often it errs."""

from __future__ import annotations

import copy

import pytest
from support.planted_codecs import Planted
from support.soak import scaled
from support.synthetic_records import synthetic_record

from tare.errors import UsageError
from tare.measure.comparison.gate import gate

NAMES = [f"json:lib{i}" for i in range(11)]


def record(seed, factors=None, **options):
    """Twelve codecs on one machine; ``factors`` slows some of them down."""
    factors = factors or {}
    truth = tuple(
        Planted(name, (10 + 3 * i) * factors.get(name, 1.0), (8 + 2 * i) * factors.get(name, 1.0), 0.5)
        for i, name in enumerate(["json:stdlib", *NAMES])
    )
    made = synthetic_record(
        "document", planted=truth, media=("memory",), growth=False, derived=False, seed=seed, **options
    )
    made["machine"]["host"] = made["dataset"]["hash"] = "same"
    return made


QUIET = {"launch_sd": 0.003, "noise_sd": 0.004, "preempted": 0.01}
LOADED = {"launch_sd": 0.02, "noise_sd": 0.03, "preempted": 0.3}


def failed(found):
    return {finding["codec"] for finding in found["findings"] if finding["outcome"] == "fail"}


def run_gates(noise, factors, runs):
    """Codecs failed in each of several gates, each with its own baseline, record and confirmation."""
    outcomes = []
    for run in range(runs):
        seed = 100 * run
        again = record(seed + 3, factors, **noise)
        found = gate(
            record(seed + 1, **noise),
            record(seed + 2, factors, **noise),
            remeasure=lambda _, again=again: again,
        )
        outcomes.append(failed(found))
    return outcomes


@pytest.mark.parametrize("noise", [QUIET, LOADED], ids=["quiet", "loaded"])
def test_planted_slowdowns_are_found_and_nothing_else(noise):
    """At the limit of 1.10: 1.30 is always found; 1.00 and 1.05 fail in at most 1 of 100; 1.12 is found when quiet."""
    factors = {
        "json:lib0": 1.05,
        "json:lib1": 1.05,
        "json:lib2": 1.12,
        "json:lib3": 1.12,
        "json:lib4": 1.30,
        "json:lib5": 1.30,
    }
    outcomes = run_gates(noise, factors, runs=scaled(4, 12))
    assert all({"json:lib4", "json:lib5"} <= found for found in outcomes)
    innocent = [name for name in ["json:stdlib", *NAMES] if factors.get(name, 1.0) < 1.1]
    false_alarms = sum(name in found for found in outcomes for name in innocent)
    assert false_alarms / (len(innocent) * len(outcomes)) <= 0.01
    if noise is QUIET:
        near = [name in found for found in outcomes for name in ("json:lib2", "json:lib3")]
        assert sum(near) / len(near) >= 0.90


def test_slowdown_in_one_launch_only_does_not_fail():
    """Four launches as before and one three times slower: the median over launches does not move."""
    before, after = record(1, **QUIET), record(2, **QUIET)
    for case in after["cases"]:
        for columns in (
            columns for launch in case["launches"][2:3] for columns in launch["samples"].values()
        ):
            for name in ("wall_ns", "user_ns", "sys_ns"):
                columns[name] = [3 * value for value in columns[name]]
    found = gate(before, after, remeasure=lambda _: after)
    assert set() == failed(found)


def test_slowdown_that_fresh_launches_do_not_show_passes():
    """The second set of launches has the last word."""
    asked = []

    def again(codecs):
        asked.extend(codecs)
        return record(9, **QUIET)

    found = gate(record(1, **QUIET), record(2, {"json:lib4": 1.3}, **QUIET), remeasure=again)
    assert (asked, found["outcome"], found["exit"]) == (["json:lib4"], "pass", 0)
    (finding,) = found["findings"]
    assert (finding["outcome"], finding["confirmed"]) == ("pass", False)


def test_confirmed_slowdown_fails_with_its_figures():
    """Exit code 1, the ratio with its interval, the limit, and that it was confirmed."""
    slow = {"json:lib4": 1.3}
    found = gate(record(1, **QUIET), record(2, slow, **QUIET), remeasure=lambda _: record(3, slow, **QUIET))
    (finding,) = found["findings"]
    assert (
        found["outcome"],
        found["exit"],
        finding["confirmed"],
        finding["limit"],
    ) == ("fail", 1, True, 1.10)
    assert finding["lo"] <= 1.3 <= finding["hi"]
    assert "json:lib4 on memory, total: 1.3" in finding["text"]


@pytest.mark.parametrize(("unsure", "code"), [(None, 3), ("pass", 0), ("fail", 1)])
def test_what_cannot_be_confirmed_is_undecided(unsure, code):
    """Without a way to measure again the gate cannot say; --unsure decides for it."""
    found = gate(record(1, **QUIET), record(2, {"json:lib4": 1.3}, **QUIET), unsure=unsure)
    assert ("unsure", code) == (found["outcome"], found["exit"])
    assert "not confirmed" in found["findings"][0]["text"]


def test_noise_wider_than_the_limit_is_undecided_not_passed():
    """1.2 times slower within noise of 30 %: neither a failure nor a pass."""
    noisy = {"launch_sd": 0.25, "noise_sd": 0.2, "preempted": 0.0}
    found = gate(
        record(1, **noisy),
        record(2, dict.fromkeys(NAMES, 1.25), **noisy),
        remeasure=lambda _: record(3, **noisy),
    )
    assert found["outcome"] == "unsure"
    assert any("too noisy" in finding["text"] for finding in found["findings"])


def test_larger_bytes_and_new_losses_fail_at_once():
    """Bytes have no noise; a new silent loss fails whatever the limits."""
    before = record(1, **QUIET)
    after = copy.deepcopy(before)
    for case in after["cases"]:
        if case["labels"]["codec"] == "json:lib1":
            case["bytes"] = int(case["bytes"] * 1.02)
        if case["labels"]["codec"] == "json:lib2":
            case["status"] = "lossy"
            case["verify"]["changes"] = [
                {"path": "[*].price", "verdict": "lossy", "count": 1, "in": "1", "out": "2"}
            ]
        if case["labels"]["codec"] == "json:lib3":
            case |= {"status": "killed", "reason": "killed (memory?)", "launches": []}
    found = gate(before, after)
    assert {
        finding["codec"]: finding["what"] for finding in found["findings"] if finding["outcome"] == "fail"
    } == {"json:lib1": "size", "json:lib2": "fidelity", "json:lib3": "status"}
    assert "[*].price" in next(f["text"] for f in found["findings"] if f["codec"] == "json:lib2")
    assert {"json:lib2", "json:lib3"} == failed(gate(before, after, max_size=1.05, unsure="pass"))


def test_more_memory_fails_once_confirmed():
    """A peak twice as high is a suspect until measured again."""
    before = record(1, **QUIET)
    after = copy.deepcopy(before)
    for case in after["cases"]:
        if case["labels"]["codec"] == "json:lib1":
            for entry in case["memory"].values():
                entry["peak_bytes"] *= 2
    assert set() == failed(gate(before, after))
    assert {"json:lib1"} == failed(gate(before, after, remeasure=lambda _: after))
    assert set() == failed(gate(before, after, remeasure=lambda _: before))


def test_old_losses_and_repaired_ones_pass():
    """What was lossy before may stay so, or get better."""
    before = record(1, **QUIET)
    for case in before["cases"]:
        if case["labels"]["codec"] == "json:lib2":
            case["status"] = "lossy"
            case["verify"]["changes"] = [{"path": "a", "verdict": "lossy", "count": 1, "in": "1", "out": "2"}]
    assert gate(before, copy.deepcopy(before))["outcome"] == "pass"
    assert gate(before, record(1, **QUIET))["outcome"] == "pass"


def test_machine_that_slowed_down_as_a_whole_is_undecided():
    """Everything takes 1.3 times as long, copying memory too: the machine changed, not the code."""
    before, after = record(1, **QUIET), record(2, **QUIET)
    for case in after["cases"]:
        for launch in case["launches"]:
            for columns in launch["samples"].values():
                for name in ("wall_ns", "user_ns", "sys_ns"):
                    columns[name] = [int(1.3 * value) for value in columns[name]]
    found = gate(before, after, remeasure=lambda _: after)
    assert (found["outcome"], found["exit"]) == ("unsure", 3)
    assert any("the machine" in finding["text"] for finding in found["findings"])


def test_codec_that_was_not_measured_is_undecided():
    """A case of the baseline without a counterpart is no pass."""
    before = record(1, **QUIET)
    after = copy.deepcopy(before)
    after["cases"] = [case for case in after["cases"] if case["labels"]["codec"] != "json:lib7"]
    found = gate(before, after)
    assert found["outcome"] == "unsure"
    assert [finding["codec"] for finding in found["findings"]] == ["json:lib7"]


def test_one_launch_is_too_few_to_fail():
    """A provisional interval never fails a gate."""
    found = gate(
        record(1, launches=1, **QUIET),
        record(2, {"json:lib4": 1.3}, launches=1, **QUIET),
        remeasure=lambda _: record(3, {"json:lib4": 1.3}, launches=1, **QUIET),
    )
    assert found["outcome"] == "unsure"


@pytest.mark.parametrize("wrong", [{"max_slowdown": 0}, {"max_size": -1}, {"unsure": "perhaps"}])
def test_wrong_limits_are_refused(wrong):
    """A limit of 0 would fail everything, silently."""
    with pytest.raises(UsageError):
        gate({"id": "a", "cases": []}, {"id": "b", "cases": []}, **wrong)


def spread(made, codec, factors, *, twin=False):
    """One codec's launches slowed down by a factor each, or those of its A/A twin."""
    for case in made["cases"]:
        if (
            case["labels"]["codec"] == codec
            and case["stage"] == "weigh"
            and ("twin" in case["labels"]) == twin
        ):
            for launch, factor in zip(case["launches"], factors, strict=True):
                for columns in launch["samples"].values():
                    for name in ("wall_ns", "user_ns", "sys_ns"):
                        columns[name] = [int(factor * value) for value in columns[name]]
    return made


@pytest.mark.parametrize(
    ("factors", "outcome"),
    [((1.28, 1.29, 1.30, 1.31, 1.32), "fail"), ((0.95, 1.0, 1.3, 1.35, 1.4), "unsure")],
)
def test_the_whole_interval_must_clear_the_limit(factors, outcome):
    """Slower by 1.3 in the median both times; launches that were not slower at all keep it from failing."""
    after, again = (spread(record(seed, **QUIET), "json:lib4", factors) for seed in (2, 3))
    found = gate(record(1, **QUIET), after, remeasure=lambda _: again)
    assert [(outcome, "json:lib4")] == [(f["outcome"], f["codec"]) for f in found["findings"]]
    assert found["findings"][0]["ratio"] > 1.25


@pytest.mark.parametrize(("base", "outcome"), [((1.0,) * 5, "fail"), ((1.0, 1.6, 0.7, 1.5, 1.3), "unsure")])
def test_the_whole_interval_must_clear_the_noise_floor(base, outcome):
    """The same sharp 1.25 fails where the base equals itself, and is undecided where it does not by more."""
    after, again = (
        spread(record(seed, {"json:lib4": 1.25}, **QUIET), "json:stdlib", base, twin=True) for seed in (2, 3)
    )
    found = gate(record(1, **QUIET), after, remeasure=lambda _: again)
    assert {outcome} == {f["outcome"] for f in found["findings"] if f["codec"] == "json:lib4"}


def test_times_of_two_methods_pass_and_fail_nothing():
    """The baseline held its results: that a codec is slower now cannot be told; that one writes more can."""
    baseline, current = record(1), record(2, {"json:lib0": 3.0}) | {"method": 2}
    found = gate(baseline, current)
    assert (found["outcome"], found["exit"], failed(found)) == ("unsure", 3, set())
    assert [finding["text"] for finding in found["findings"]] == [
        "times are not compared: A was measured with results held in memory, B with each result freed at once "
        "(A is the baseline); measure a new baseline"
    ]
    for case in current["cases"]:
        if case["labels"]["codec"] == "json:lib1":
            case["bytes"] = 2 * case["bytes"]
    assert failed(gate(baseline, current)) == {"json:lib1"}
    assert gate(baseline | {"method": 2}, record(2) | {"method": 2})["outcome"] == "pass"
