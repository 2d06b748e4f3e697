"""Files whose names are no UTF-8: Linux allows any bytes, and such a file is measured as any other."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.commands import invoke as run

from tare.measure.records.encoding import encode_line
from tare.measure.records.journal import Journal
from tare.measure.records.record import read_record, write_record

NAME = os.fsdecode(b"d\xff.json")


def test_such_a_file_is_measured(tmp_path: Path) -> None:
    """Its record says its name with what is no UTF-8 escaped, and is shown."""
    (tmp_path / NAME).write_text(json.dumps([{"n": n} for n in range(200)]))
    words = (
        "--codec",
        "json:orjson",
        "--codec",
        "json:stdlib",
        "--time",
        "2s",
        "--quick",
        "--out",
        "r.tare.json",
    )
    done = run("measure", NAME, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_record(tmp_path / "r.tare.json")["dataset"]["name"] == "d\\udcff.json"
    for show in ((), ("-v",), ("--csv",), ("--md",), ("--json",), ("--html", "r.html")):
        shown = run("report", "r.tare.json", *show, cwd=tmp_path)
        assert shown.returncode == 0, (show, shown.stderr)
        assert "d\\udcff.json" in (shown.stdout.replace("\\\\", "\\") or (tmp_path / "r.html").read_text()), (
            show
        )


def test_a_record_and_a_journal_hold_any_text(tmp_path: Path) -> None:
    """In values and names, however deep."""
    odd = {"tare_record": 2, "cases": [{"key": NAME, "labels": {NAME: [(NAME, 1)]}}]}
    write_record(odd, tmp_path / "r.tare.json")
    assert json.loads((tmp_path / "r.tare.json").read_text())["cases"][0]["key"] == "d\\udcff.json"
    with Journal(tmp_path / "j.tare.jsonl") as journal:
        journal.head(odd)
        journal.stage("dataset", {"name": NAME})
    lines = [json.loads(line) for line in (tmp_path / "j.tare.jsonl").read_text().splitlines()]
    assert lines[-1] == {"stage": "dataset", "set": {"name": "d\\udcff.json"}}


def test_what_json_cannot_hold_is_told() -> None:
    """By what it is that should be written."""
    with pytest.raises(Exception, match=r"the record cannot be written as JSON: .+"):
        encode_line({"x": object()}, "the record")
