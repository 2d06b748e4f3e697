"""Fuzz target: records and journals from anywhere. Either a record, or a RecordError."""

from __future__ import annotations

from tare.errors import RecordError
from tare.measure.records.journal import is_journal, parse_journal
from tare.measure.records.record import encode_record, parse_record

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
