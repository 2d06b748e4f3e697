"""The record reader: any bytes are a record or a record error."""

from __future__ import annotations

from tare.errors import TareError
from tare.measure.record import encode_record, parse_record


def fuzz(data: bytes) -> None:
    """Read any bytes as a record, and what it is written as again."""
    try:
        record = parse_record(data, "fuzz.json")
    except TareError as error:
        assert len(str(error)) < 2000, "text from a file is cut in messages"
        return
    assert parse_record(encode_record(record)) == record
