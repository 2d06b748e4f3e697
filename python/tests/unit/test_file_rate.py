"""The rate of a warm file: measured by each run, and added where codecs were measured in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tare import measure
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
