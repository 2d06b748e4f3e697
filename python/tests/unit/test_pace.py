"""Times that were taken while the CPU ran at another speed: brought to the usual one, in default runs alone."""

from __future__ import annotations

from typing import Any

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.measure.analysis.figures import analyse
from tare.measure.worker.clocks import COLUMNS, sample
from tare.report import terminal

CODECS = (Planted("json:orjson", 5, 5, 0.6), Planted("json:msgspec", 6, 6, 0.6))


def record_of(
    slow: str, factor: float, *, method: int = 2, told: bool = True, rounds: int = 3, calls: bool = True
) -> dict[str, Any]:
    """Returns a record of which a codec, in a process of its own, was sampled at a lower speed throughout, the other at full speed.

    Without ``calls`` its calls took no longer, but the work beside them.
    """
    record = synthetic_record(
        "document", planted=CODECS, base="json:orjson", media=("memory",), launches=1, rounds=rounds,
        growth=False, derived=False, preempted=0,
    )  # fmt: skip
    record["method"] = method
    for case in record["cases"]:
        slowed = factor if case["labels"]["codec"] == slow else 1.0
        for launch in case["launches"]:
            launch["pid"] = (
                1 + CODECS.index(next(one for one in CODECS if one.codec in case["labels"]["codec"]))
                if case["labels"]["codec"] != "copy"
                else 3
            )
            for columns in launch["samples"].values():
                for name in ("wall_ns", "user_ns", "sys_ns") if calls else ():
                    columns[name] = [round(value * slowed) for value in columns[name]]
                if told:
                    columns["pace_ns"] = [round(4000 * slowed)] * len(columns["batch"])
    return record


def ratio_of(record: dict[str, Any]) -> float:
    """Returns the time of one codec over that of the other."""
    figures = analyse(record).figures
    first, second = (
        next(
            figures[case["key"]]["encode"].time_ns
            for case in record["cases"]
            if case["labels"]["codec"] == one
        )
        for one in ("json:msgspec", "json:orjson")
    )
    return first / second


@pytest.mark.parametrize("slow", ["json:orjson", "json:msgspec"])
@pytest.mark.parametrize("factor", [1.0, 1.1, 2.0, 3.0])
def test_a_slower_cpu_makes_no_codec_slower(slow: str, factor: float) -> None:
    """One ran at half speed, and seemed twice as slow as the other; less than a quarter is noise and left alone."""
    expected = 1.0 if factor > 1.25 else factor if slow == "json:msgspec" else 1 / factor
    assert ratio_of(record_of(slow, factor)) == pytest.approx(
        ratio_of(record_of(slow, 1.0)) * expected, rel=0.02
    )


@pytest.mark.parametrize("more", [{"method": 1}, {"told": False}], ids=str)
def test_other_times_are_as_they_were_told(more: dict[str, Any]) -> None:
    """Those of the first method, and of workers that tell no pace."""
    assert ratio_of(record_of("json:msgspec", 2.0, **more)) == pytest.approx(
        2 * ratio_of(record_of("json:msgspec", 1.0, **more)), rel=1e-3
    )


def test_a_report_says_how_many_samples_were_slow() -> None:
    """With all figures; and nothing where none was."""
    slow, full = (terminal.render(record_of("json:msgspec", factor), verbose=True) for factor in (2.0, 1.0))
    assert "the CPU ran at another speed in " in slow
    assert "at another speed" not in full


def test_a_fast_moment_is_not_the_speed_of_a_run() -> None:
    """A few samples at double speed make their codec no faster: what others met is what a user meets."""
    record, usual = record_of("json:msgspec", 1.0), record_of("json:msgspec", 1.0)
    columns = next(
        launch["samples"]["encode"]
        for case in record["cases"]
        for launch in case["launches"]
        if case["labels"]["codec"] == "json:msgspec"
    )
    for name in ("wall_ns", "user_ns", "sys_ns", "pace_ns"):
        columns[name][0] //= 2
    assert ratio_of(record) == pytest.approx(ratio_of(usual), rel=0.02)


@pytest.mark.parametrize("rounds", [3, 8])
def test_a_process_in_which_the_work_takes_longer_is_no_slower_machine(rounds: int) -> None:
    """In one of a hundred it took 1.6 times as long throughout; after a few rounds in turn with others it counts no more."""
    found, usual = (
        ratio_of(record_of("json:msgspec", factor, rounds=rounds, calls=False)) for factor in (1.6, 1.0)
    )
    assert found == pytest.approx(usual if rounds == 8 else usual / 1.6, rel=0.02)


def test_each_sample_has_its_pace() -> None:
    row = dict(zip(COLUMNS, sample(str, 7, 3), strict=True))
    assert 0 < row["pace_ns"] < 10**9
