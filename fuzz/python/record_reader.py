"""Fuzz target: records and journals from anywhere. Either a record, which every renderer shows or refuses, or a RecordError."""

from __future__ import annotations

import contextlib

from tare.errors import RecordError
from tare.measure.records.journal import is_journal, parse_journal
from tare.measure.records.record import encode_record, parse_record
from tare.measure.result import Result
from tare.report import csv, html, markdown, terminal

__all__ = ["fuzz"]


def fuzz(data: bytes) -> None:
    """Read the bytes as a record or a journal; what was read is written and read again to the same."""
    try:
        record = parse_journal(data) if is_journal(data[:200]) else parse_record(data)
    except RecordError:
        return
    again = parse_record(encode_record(record))
    assert len(record["cases"]) == len(again["cases"])
    assert record["dataset"] == again["dataset"]
    for render in (terminal.render, markdown.render, csv.render, html.render):
        with contextlib.suppress(RecordError):
            render(Result(again))
