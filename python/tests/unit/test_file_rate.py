"""The rate of a warm file: measured by each run, and added where codecs were measured in memory."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tare import measure
from tare.measure.environment import file_rate
from tare.measure.environment.file_rate import measure_file_rate
from tare.measure.verdict.recommend import recommend


def test_a_folder_that_cannot_be_written_has_no_rate(tmp_path: Path) -> None:
    assert measure_file_rate(tmp_path / "missing") is None
    assert not list(tmp_path.iterdir())


def test_what_is_measured_is_within_what_memory_can_do(tmp_path: Path) -> None:
    rate = measure_file_rate(tmp_path)
    assert rate is not None
    assert 1e7 < rate < 1e12
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("preempted", "seconds"), [(True, 0.01), (False, 1.0)])
def test_a_reading_that_others_interrupt_counts_by_its_own_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preempted: bool, seconds: float
) -> None:
    """Where 32 MiB take a second by the wall clock, as others had the CPU, the file gives what 10 ms of CPU say."""
    wall, cpu, lost = (itertools.count(0, step) for step in (10**9, 10**7, preempted))
    clocks = {"perf_counter_ns": wall.__next__, "thread_time_ns": cpu.__next__}
    monkeypatch.setattr(file_rate, "time", SimpleNamespace(**clocks))
    monkeypatch.setattr(file_rate, "_preemptions", lost.__next__)
    assert measure_file_rate(tmp_path) == pytest.approx((32 << 20) / seconds)


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """A run of a quick codec and a small one, long enough for both on a busy machine."""
    document = [{"n": n, "text": "the same text again and again"} for n in range(4_000)]
    return measure.run(document, codecs=("json:orjson", "json:orjson+gzip:6"), time_s=30).record


@pytest.mark.parametrize(("rate", "best"), [(2e6, "json:orjson+gzip:6"), (6e9, "json:orjson")])
def test_reading_the_bytes_counts_where_memory_was_measured(
    record: dict[str, Any], rate: float, best: str
) -> None:
    """Over a slow disk the small one costs less, from the page cache the quick one."""
    assert record["machine"]["file_bytes_per_s"] > 0
    told = {**record, "machine": {**record["machine"], "file_bytes_per_s": rate}}
    found = recommend(told, profile="cache")
    assert (found["codec"], found["weights"]["v"]) == (best, rate)
