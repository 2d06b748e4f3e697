"""Binary values one behind the other in one file, read as a list: MessagePack streams, and sequences of CBOR (RFC 8742)."""

from __future__ import annotations

import decimal
import re
import secrets
from collections.abc import Callable
from datetime import datetime
from io import BytesIO
from typing import Any

from tare.datasets.source import Source
from tare.errors import Malformed
from tare.formats import msgpack_times
from tare.formats.cbor_keys import refuse_endless_keys

__all__ = ["READERS", "msgpack_values"]

_SELF_DESCRIBED = re.compile(rb"(?:\xd9\xd9\xf7)*")  # RFC 8949, section 3.4.6: it stands for what follows
_MARK_BYTES = 16
_DATE_OF_BSON = b"\x09"  # what begins an element that is a date
_DIGITS = 2_000
# A date as text, RFC 8949, 3.4.1, with more than six digits behind the seconds.
_NANOSECONDS = re.compile(
    rb"\xc0(?:[\x60-\x77]|\x78.)\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d\.\d{6}\d*[1-9]", re.DOTALL
)


def msgpack_values(source: Source, data: bytes) -> list[Any] | None:
    """Returns the values of a MessagePack file that is several objects or arrays; None if it is not.

    Args:
        source: The file; it gets a note.
        data: Its bytes.
    """
    try:
        import msgpack as library
    except ImportError:
        return None
    unpacker = library.Unpacker(raw=False, strict_map_key=False, timestamp=0, max_buffer_size=len(data) + 1)
    try:
        unpacker.feed(data)
        values = list(unpacker)
    except (ValueError, library.exceptions.UnpackException, TypeError, RecursionError):
        return None
    # A value that is cut is not given; a file of small integers is most likely something else.
    if unpacker.tell() != len(data) or len(values) < 2 or not _are_containers(values):
        return None
    source.notes.append(f"{len(values):,} MessagePack values on end, read as a list")
    settled: list[Any] = _told(source, msgpack_times.settled(values))
    return settled


def msgpack(source: Source, data: bytes, decode: Callable[[bytes], Any]) -> Any:
    """Returns the value of a MessagePack file; a note tells of timestamps that are no datetimes.

    Args:
        source: The file; it gets the note.
        data: Its bytes.
        decode: Reads it, with errors of Tare.

    Raises:
        TareError: As `decode`.
    """
    value = decode(data)
    return value if msgpack_times.are_datetimes(data) else _told(source, value)


def _told(source: Source, value: Any) -> Any:
    if msgpack_times.is_kept(value):
        source.notes.append(
            "some timestamps have nanoseconds, or lie beyond the years 1 to 9999, as no datetime does: all are read as "
            "msgpack.Timestamp"
        )
    return value


def cbor(source: Source, data: bytes, decode: Callable[[bytes], Any]) -> Any:
    """Returns the value of a CBOR file, or the objects and arrays of a sequence as a list.

    The reader does not notice bytes behind a value. So it reads on, up to a mark that is put behind the last.

    Args:
        source: The file; it gets a note.
        data: Its bytes.
        decode: Reads one value, with errors of Tare.

    Raises:
        Malformed: Bytes stand behind the value that are neither objects nor arrays.
        Limit: Keys have more shared parts than can be hashed.
        TareError: As `decode`.
    """
    import cbor2

    found = _SELF_DESCRIBED.match(data)
    assert found is not None
    refuse_endless_keys(data)
    plain, mark = data[found.end() :], secrets.token_bytes(_MARK_BYTES)
    decoder = cbor2.CBORDecoder(BytesIO(plain + cbor2.dumps(mark)))
    values: list[Any] = []
    with decimal.localcontext() as numbers:
        numbers.prec = _DIGITS  # of bigfloats the reader multiplies decimals, and rounds to 28 digits
        numbers.clear_flags()
        try:
            while (value := decoder.decode()) != mark:
                values.append(value)
        except Exception:  # of the reader, which has several
            decode(plain)  # names what is wrong with the first value
            raise Malformed("behind its first value stand bytes that are no CBOR", format="cbor") from None
        if numbers.flags[decimal.Inexact]:
            source.notes.append(f"bigfloats (tag 5) of more than {_DIGITS:,} digits are rounded to as many")
    if _NANOSECONDS.search(plain):
        source.notes.append("dates with nanoseconds (tag 0) are cut to microseconds")
    if not values:
        return decode(plain)
    if len(values) == 1:
        return values[0]
    if not _are_containers(values):
        raise Malformed(
            f"{len(values):,} values stand one behind the other, not all of them objects or arrays",
            format="cbor",
        )
    source.notes.append(f"{len(values):,} CBOR values on end, read as a list")
    return values


def bson(source: Source, data: bytes, decode: Callable[[bytes], Any]) -> Any:
    """Returns the value of a BSON file; a note tells of its dates, which have no zone in Python and are in UTC.

    Args:
        source: The file; it gets the note.
        data: Its bytes.
        decode: Reads it, with errors of Tare.

    Raises:
        TareError: As `decode`.
    """
    value = decode(data)
    if _DATE_OF_BSON in data and _has_date(value):
        source.notes.append("dates of BSON are in UTC, and are read without a zone")
    return value


def _has_date(value: Any) -> bool:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one
        elif isinstance(one, datetime):
            return True
    return False


def _are_containers(values: list[Any]) -> bool:
    return all(isinstance(value, dict | list) for value in values)


READERS: dict[str, Callable[[Source, bytes, Callable[[bytes], Any]], Any]] = {
    "bson": bson,
    "cbor": cbor,
    "msgpack": msgpack,
}
"""Format id -> function that reads a file of it, given the source, its bytes and their reader."""
