"""Tiny data: the verdict says that time decides nothing, and names a choice by fidelity and size."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.measure.recommend import recommend

SAFE = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
QUICK = Planted("arrow:pyarrow", 0.10, 0.10, 5e-5, flags=SAFE)
SMALL = Planted("parquet:pyarrow", 0.30, 0.20, 2e-5, flags=SAFE)
TYPED = Planted("csv:pyarrow", 0.12, 0.10, 1e-5, changes=(("time_hour", "type", 9),), flags=SAFE)
CODE = Planted("pickle", 0.05, 0.05, 5e-6, flags={"executes_code": True, "languages": ["python"], "spec": ""})
TINY = (SMALL, QUICK, TYPED, CODE)


def verdict_of(*planted, profile="cache"):
    record = synthetic_record("table", planted=planted, base=planted[0].codec, growth=False, derived=False)
    return recommend(record, profile=profile)


def test_tiny_data_is_said_to_be_too_small_to_matter():
    """The sentence says so first, with the bound; a default is named all the same."""
    verdict = verdict_of(*TINY)
    assert verdict["small"]
    assert verdict["sentence"].startswith(
        "Too small to matter: each of the 4 codecs weighed writes and reads it in under 1 ms. "
        "Choose by fidelity and size; by default `parquet:pyarrow@file`: "
    )
    assert verdict["sentence"].endswith("all 19 columns came back unchanged.")
    assert (verdict["named"], verdict["provisional"], verdict["flips"]) == (True, False, [])
    assert verdict["p_best"] == verdict["p"]["parquet:pyarrow"] < 0.01


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        (TINY, "parquet:pyarrow"),
        ((QUICK, TYPED, CODE), "arrow:pyarrow"),
        ((TYPED, CODE), "pickle"),
        ((TYPED, replace(TYPED, codec="csv:polars", share=4e-6)), "csv:polars"),
    ],
)
def test_the_default_goes_by_fidelity_then_safety_then_size(planted, expected):
    """Unchanged types come before bytes that run no code, and those before fewer bytes."""
    assert expected == verdict_of(*planted)["codec"]


def test_an_unsafe_default_is_said_to_be_unsafe():
    """Where only code-running formats kept the types, the sentence warns."""
    assert "can run code" in verdict_of(TYPED, CODE)["sentence"]


@pytest.mark.parametrize(
    "slow",
    [replace(SMALL, encode_ms=0.9), Planted("orc:pyarrow", 40, 30, 0.1, flags=SAFE)],
    ids=["above the moment", "large data"],
)
def test_one_codec_whose_time_can_be_noticed_is_enough(slow):
    """As soon as one of the weighed takes a millisecond, time decides as ever."""
    verdict = verdict_of(QUICK, slow)
    assert not verdict["small"]
    assert verdict["sentence"].startswith("Use `arrow:pyarrow@file`")


def test_a_cost_difference_that_can_be_noticed_decides():
    """Over a slow link the bytes of even such data cost more than ten milliseconds."""
    record = synthetic_record("table", planted=(SMALL, QUICK), growth=False, derived=False)
    assert not recommend(record, profile="exchange", link="10kB,0ms")["small"]


def test_messages_are_many_so_each_counts():
    """For messages the quickest is named however small they are."""
    verdict = verdict_of(SMALL, QUICK, profile="message")
    assert not verdict["small"]


def test_a_single_codec_is_no_choice():
    """With one codec weighed, nothing is said of the others."""
    assert not verdict_of(QUICK)["small"]


def test_the_reasons_speak_of_the_default_and_not_of_time():
    """No runner-up by cost, no tie and no noise among the reasons; what came back is the default's."""
    reasons = verdict_of(TYPED, SMALL, CODE)["reasons"]
    assert "all 19 columns came back unchanged" in reasons
    assert not [line for line in reasons if line.startswith(("next: ", "a tie ", "provisional"))]
