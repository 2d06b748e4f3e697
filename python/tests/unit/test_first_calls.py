"""Figures of first calls: never held against later calls of others as they are."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.measure.analysis.figures import analyse
from tare.measure.derive import derive
from tare.measure.sampling.batch_length import first_call_ns
from tare.measure.verdict.recommend import recommend

FLAT = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
WARM, COLD, SLOW = "json:orjson", "json:msgspec", "json:stdlib"


def record_of(*, cold_ms: float, own_ms: float, gain: float = 0.5) -> dict[str, Any]:
    """Two codecs whose later calls take 100 ms and 300 ms, and one of which only the first call is known."""
    planted = tuple(
        Planted(codec, ms, ms, 0.5, flags=FLAT) for codec, ms in ((WARM, 100), (SLOW, 300), (COLD, 100))
    )
    record = synthetic_record(
        "document", planted=planted, media=("memory",), growth=False, derived=False, launches=1, rounds=5
    )
    record["plan"] = {"name": "default"}
    record["method"] = 2
    for case in record["cases"]:
        codec = case["labels"]["codec"]
        (launch,) = case["launches"][:1] or ({"samples": {}},)
        first = {WARM: 100e6, SLOW: 300e6}.get(codec, 1e9) / gain
        case["cold"] = {"encode_ns": first, "decode_ns": first}
        case["first_calls"] = ["encode", "decode"]
        if codec == COLD:
            only = {
                "round": [0],
                "position": [0],
                "batch": [1],
                "wall_ns": [round(cold_ms * 1e6)],
                "user_ns": [round(own_ms * 1e6)],
                "sys_ns": [round((cold_ms - own_ms) * 1e6)],
                "nivcsw": [0],
                "nvcsw": [0],
            }
            launch["samples"] = {"encode": only, "decode": copy.deepcopy(only)}
    return record


def figure_of(record: dict[str, Any], codec: str) -> Any:
    key = next(
        case["key"]
        for case in record["cases"]
        if case["labels"]["codec"] == codec and "twin" not in case["labels"]
    )
    return analyse(record).figures[key]["decode"]


def test_a_first_call_is_expected_to_take_as_much_less_as_those_of_others():
    """Others' later calls took half of their first ones: 160 ms stand for 80; the call itself is the upper end."""
    figure = figure_of(record_of(cold_ms=160, own_ms=40), COLD)
    assert figure.cold
    assert figure.time_ns == pytest.approx(80e6, rel=0.1)
    assert (figure.lo_ns, figure.hi_ns) == pytest.approx((40e6, 160e6))
    assert not figure_of(record_of(cold_ms=160, own_ms=40), WARM).cold


def test_what_the_codec_itself_took_comes_again():
    """Half of the first call would be less than its own code took."""
    assert figure_of(record_of(cold_ms=160, own_ms=120), COLD).time_ns == pytest.approx(120e6)


def test_first_calls_alone_stand_beside_first_calls():
    """Where nothing was called again, there is nothing to expect by: times are as they were measured."""
    record = record_of(cold_ms=160, own_ms=40)
    for case in record["cases"]:
        if case["labels"]["codec"] != COLD:
            case["launches"] = []
    assert figure_of(record, COLD).time_ns == pytest.approx(160e6)


def test_a_codec_called_once_does_not_lose_to_one_that_was_called_again():
    """190 ms and, later, 100 ms: it was warm that won. Called again it would take 95, so nobody is sure."""
    verdict = recommend(record_of(cold_ms=190, own_ms=60), profile="cache", gb_seconds=0, link="1000GB")
    ratio = verdict["cost_s"][COLD][0] / verdict["cost_s"][WARM][0]
    assert 0.8 < ratio < 1.1
    assert verdict["confidence"] != "clear"
    assert any("JSON (msgspec) was timed only on its first call" in why for why in verdict["why"])


def test_a_first_call_that_is_far_off_leaves_the_answer_clear():
    """Two seconds, nearly all in its own code: however often it is called, it is not the best."""
    verdict = recommend(record_of(cold_ms=2000, own_ms=1900), profile="cache", gb_seconds=0, link="1000GB")
    assert (verdict["codec"], verdict["confidence"]) == (WARM, "clear")


def test_the_row_says_that_a_later_call_is_expected():
    """So that nobody takes the figure for a measured one."""
    record = record_of(cold_ms=160, own_ms=40)
    cases = derive(record)["cases"]
    said = {
        case["labels"]["codec"]: any(
            "timed by its first call" in flag for flag in cases[case["key"]]["flags"]
        )
        for case in record["cases"]
        if case["labels"]["codec"] in (WARM, COLD)
    }
    assert said == {WARM: False, COLD: True}


@pytest.mark.parametrize(("nivcsw", "taken"), [(0, 9_000), (2, 4_000)])
def test_the_time_of_a_first_call_leaves_out_what_another_process_took(nivcsw, taken):
    """Of one that lost its CPU the CPU time counts, of another the wall clock; later calls of the reply do not."""
    reply = {
        "cols": ["wall_ns", "user_ns", "sys_ns", "nivcsw"],
        "samples": [[9_000, 3_000, 1_000, nivcsw], [10, 10, 0, 0]],
    }
    assert first_call_ns(reply) == taken


def test_one_codec_alone_is_not_recommended():
    """Of three that would qualify two were not reached: no answer, and what is known of the one."""
    record = record_of(cold_ms=160, own_ms=40)
    for case in record["cases"]:
        if case["labels"]["codec"] != WARM:
            case.update(status="pending", launches=[])
    verdict = recommend(record, profile="cache")
    assert (verdict["route"], verdict["chosen"]) == (None, None)
    assert verdict["sentence"].startswith(
        "No answer yet: the time was over when one codec was measured, JSON (orjson) ("
    )
    assert verdict["sentence"].endswith("and 2 others were not.")
    assert verdict["reasons"][0] == "--time gives more"


def test_few_codecs_are_named_as_what_the_answer_rests_on():
    """Two were measured and one of the usual was not: that is said first."""
    record = record_of(cold_ms=160, own_ms=40)
    for case in record["cases"]:
        if case["labels"]["codec"] == SLOW:
            case.update(status="pending", launches=[])
    verdict = recommend(record, profile="cache")
    assert verdict["confidence"] == "can't tell"
    assert verdict["why"][0].startswith("it rests on 2 codecs: there was no time left for JSON (stdlib)")
