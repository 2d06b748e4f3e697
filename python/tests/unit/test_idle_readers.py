"""Readers that read nothing: no candidates if somebody's own worker has them, a mark and no more if Tare does."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.measure.derive import derive
from tare.measure.verdict.recommend import recommend
from tare.measure.verdict.text import IDLE
from tare.report import markdown, terminal
from tare.report.html import render as render_html

details = partial(terminal.render, verbose=True)

_MARK = "reads in less time than its bytes are copied"


def record_of(kind: str, decode_ms: float, **given: Any) -> dict[str, Any]:
    """A record of a base and of one that decodes in so many milliseconds; the floor, copying, takes 3 or 9."""
    base = Planted("json:stdlib" if kind == "document" else "parquet:pyarrow", 60, 50, 0.5)
    one = Planted("json:perl", 20, decode_ms, 0.5)
    record = synthetic_record(
        kind, planted=(base, one), media=("memory",), growth=False, preempted=0, derived=False
    )
    record["codecs"]["json:perl"].update(given)
    record["derived"] = derive(record)
    return record


def flags_of(record: dict[str, Any]) -> list[str]:
    key = next(case["key"] for case in record["cases"] if case["labels"]["codec"] == "json:perl")
    return record["derived"]["cases"][key]["flags"]


def test_a_given_worker_that_reads_nothing_is_passed_over():
    """It stays in the table with its mark; the verdict is the other one, and every report says why."""
    record = record_of("document", 0.0001, given=True)
    verdict = record["derived"]["headline"]
    assert _MARK in flags_of(record)
    assert "json:stdlib" == verdict["codec"]
    assert verdict["excluded"] == [{"codec": "json:perl", "reason": IDLE}]
    assert f"JSON (perl) left out ({IDLE})" in verdict["reasons"]
    assert all("json:perl" not in profile["p"] for profile in record["derived"]["profiles"].values())
    assert not any("json:perl" in key for key in record["derived"]["pareto"])
    for render in (details, markdown.render, render_html):
        shown = " ".join(render(record).split())
        assert f"Passed over: json:perl: {IDLE}." in shown
        assert _MARK in shown or render is markdown.render


def test_alone_it_is_no_route_and_nothing_is_to_be_given_up():
    """Of one codec alone there is no verdict, and no option that would make one."""
    record = record_of("document", 0.0001, given=True)
    record["codecs"]["json:stdlib"]["asked"] = False
    verdict = recommend(record)
    assert verdict["route"] is None
    assert verdict["sentence"].startswith("No codec fits message: ")
    assert f"JSON (perl) left out ({IDLE})" in verdict["sentence"]
    assert not any("would qualify" in line for line in verdict["reasons"])


def test_what_does_not_read_may_still_write():
    """Where the use reads nothing, how quickly it would read is no matter."""
    verdict = recommend(record_of("document", 0.0001, given=True), weights=(1, 0))
    assert "json:perl" == verdict["codec"]


@pytest.mark.parametrize(
    ("kind", "share", "marked", "passed"),
    [
        ("document", 0.5, True, True),
        ("document", 1.5, False, False),
        ("table", 0.05, True, True),
        ("table", 0.26, True, False),  # as measured of Arrow, which copies
        ("table", 1.5, False, False),
    ],
)
def test_how_much_quicker_than_copying_is_too_quick(kind, share, marked, passed):
    """Documents are never made so quickly; columns may be copied quicker than the floor, and not in a tenth of it."""
    record = record_of(kind, 1, given=True)
    floor = next(case for case in record["cases"] if case["labels"]["codec"] == "copy")
    copied_ms = floor["bytes"] / 8 / 1e6
    record = record_of(kind, share * copied_ms, given=True)
    assert marked == (_MARK in flags_of(record))
    assert passed == ("json:perl" not in record["derived"]["headline"]["p"])


@pytest.mark.parametrize("kind", ["document", "table"])
def test_codecs_of_ours_are_marked_and_stay(kind):
    """Tare's own are known to materialise: what only copies may be quicker than the floor."""
    record = record_of(kind, 0.0001)
    assert _MARK in flags_of(record)
    assert "json:perl" == record["derived"]["headline"]["codec"]


def test_without_a_floor_no_memory_is_so_quick():
    """At screening copying is not measured: what is quicker than any cache is passed over all the same."""
    for decode_ms, passed in ((0.0001, True), (1.5, False)):
        record = record_of("document", decode_ms, given=True)
        record["cases"] = [case for case in record["cases"] if case["labels"]["codec"] != "copy"]
        assert passed == ("json:perl" not in recommend(record)["p"])
