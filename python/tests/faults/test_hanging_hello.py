"""A worker that says nothing costs its own language and nobody else's time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tare import measure
from tare.measure.worker_client import client

_DATA = [{"n": n, "t": "x" * (n % 7)} for n in range(200)]


def test_a_worker_that_says_nothing_takes_no_time_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is waited for longer than the whole run may take; then the others are measured, and it is named."""
    monkeypatch.setattr(client, "HELLO_DEADLINE_S", 4.0)
    silent = tmp_path / "silent.py"
    silent.write_text("import time; time.sleep(1000)")
    record = measure.run(
        _DATA, codecs=("json:s*",), time_s=3, quick=True, workers={"silent": f"{sys.executable} {silent}"}
    ).record
    assert record["left_out"] == ["codecs of Silent (the Silent worker does not run: no answer within 4 s)"]
    assert record["asked_s"] >= 4
    assert any(case["status"] == "ok" for case in record["cases"])
    assert record["derived"]["headline"]["route"]
