"""Snapshots of one stored record: written once, then only read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tare.report import csv, markdown, terminal

VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "report"
RENDERERS = {
    "terminal.txt": terminal.render,
    "terminal-80.txt": lambda record: terminal.render(record, width=80),
    "terminal-140.txt": lambda record: terminal.render(record, width=140),
    "terminal-ascii.txt": lambda record: terminal.encodable(terminal.render(record), "ascii"),
    "terminal-all.txt": lambda record: terminal.render(record, every=True),
    "terminal-archive.txt": lambda record: terminal.render(record, profile="archive"),
    "terminal-colour.txt": lambda record: terminal.render(record, color=True),
    "terminal-details.txt": lambda record: terminal.render(record, verbose=True),
    "terminal-details-80.txt": lambda record: terminal.render(record, verbose=True, width=80),
    "report.md": markdown.render,
    "report.csv": csv.render,
}


@pytest.mark.parametrize("stored", ["table-5", "document-6"])
@pytest.mark.parametrize("name", list(RENDERERS))
def test_the_report_of_a_stored_record_does_not_change(stored, name):
    """The stored record is laid out as it was when the snapshot was written."""
    record = json.loads((VECTORS / stored / "record.tare.json").read_text("utf-8"))
    snapshot = VECTORS / stored / name
    made = RENDERERS[name](record)
    if not snapshot.exists():
        snapshot.write_text(made, encoding="utf-8")
    assert snapshot.read_text("utf-8") == made
