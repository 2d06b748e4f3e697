"""Values of two readers side by side, whatever types each of them has for the same value."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import math
import re
import uuid
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["Clock", "Span", "Stamp", "agree", "canonical", "cell_agrees", "column_values"]

_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9
_STAMP = re.compile(
    r"\s*([+-]?\d{4,6})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?\s*"
)
_CLOCK = re.compile(r"\s*(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d+))?)?\s*")
_WORDS = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf,
          "-infinity": -math.inf}  # fmt: skip
# What people write where nothing is; R's, pandas' and databases' words.
_NOTHING = {
    "",
    "na",
    "n/a",
    "nan",
    "null",
    "none",
    "#n/a",
    "<na>",
    "-nan",
    "\\n",
    "#na",
    "1.#qnan",
    "-1.#ind",
}


@dataclass(frozen=True)
class Stamp:
    """A date or a moment, as nanoseconds of the calendar: its zone is not compared."""

    ns: int


@dataclass(frozen=True)
class Clock:
    """A time of day in nanoseconds."""

    ns: int


@dataclass(frozen=True)
class Span:
    """A duration in nanoseconds."""

    ns: int


class _Unknown:
    """A value that Python cannot hold, e.g. a record with two fields of one name: it is not compared."""

    def __repr__(self) -> str:
        return "no value of Python"


_UNKNOWN = _Unknown()


def column_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of an Arrow column; moments beyond Python's years too."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        try:
            return column_values(column.cast(kind.value_type))
        except pa.ArrowException:  # of nested categories
            return [canonical(value) for value in column.to_pylist()]
    if isinstance(kind, pa.BaseExtensionType):
        return column_values(pa.chunked_array([c.storage for c in column.chunks], kind.storage_type))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        small = pa.int32() if kind.bit_width == 32 else pa.int64()
        numbers = column.cast(small).to_pylist()
        form = Stamp if pa.types.is_timestamp(kind) else Span if pa.types.is_duration(kind) else Clock
        return [None if n is None else form(n * _UNITS[kind.unit]) for n in numbers]
    if pa.types.is_date32(kind):
        return [None if n is None else Stamp(n * _DAY) for n in column.cast(pa.int32()).to_pylist()]
    if pa.types.is_date64(kind):
        return [None if n is None else Stamp(n * 10**6) for n in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_float32(kind) or pa.types.is_float16(kind):
        return [_single(x) for x in column.to_pylist()]
    try:
        return [canonical(value) for value in column.to_pylist()]
    except (OverflowError, ValueError):  # two fields of one name, or years that Python does not have
        return [_UNKNOWN] * len(column)


def _single(value: Any) -> Any:
    """Return a double with the shortest digits of a float of 32 bits, as texts write it."""
    return None if value is None else float(str(np.float32(value)))


def canonical(value: Any) -> Any:
    """Return a value with one type for each kind of value."""
    if value is None or isinstance(value, (bool, int, str, bytes, Stamp, Clock, Span, Decimal)):
        return value
    if isinstance(value, dt.datetime):
        if hasattr(value, "nanosecond"):  # of pandas
            stamp = value.tz_convert("UTC").tz_localize(None) if value.tzinfo else value
            return Stamp(int(stamp.as_unit("ns").value))
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return Stamp(_span(aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)))
    if isinstance(value, dt.date):
        return Stamp((value - dt.date(1970, 1, 1)).days * _DAY)
    if isinstance(value, dt.time):
        return Clock(
            ((value.hour * 60 + value.minute) * 60 + value.second) * 10**9 + value.microsecond * 1000
        )
    if isinstance(value, dt.timedelta):
        return Span(_span(value))
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, dict):
        return {str(canonical(key)): canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return {str(canonical(key)): canonical(item) for key, item in value}
        return [canonical(item) for item in value]
    if isinstance(value, np.generic):
        return canonical(value.item())
    if isinstance(value, np.ndarray):
        return [canonical(item) for item in value.tolist()]
    return value


def _span(value: dt.timedelta) -> int:
    return ((value.days * 86_400 + value.seconds) * 10**6 + value.microseconds) * 1000


def agree(a: Any, b: Any) -> bool:
    """Return whether two canonical values are the same; either of them may be a text that stands for the other.

    >>> agree(Stamp(0), "1970-01-01T00:00:00+00:00"), agree(1, 1.0), agree(b"a", "YQ=="), agree(True, 1)
    (True, True, True, False)
    """
    if a is _UNKNOWN or b is _UNKNOWN:
        return True
    if isinstance(a, dict) and a.keys() == {"tag", "value"}:  # a union, as ORC's own tool writes it
        return agree(a["value"], b)
    if a is None or b is None:
        return a is b
    if isinstance(a, bool) or isinstance(b, bool):
        if isinstance(a, str) or isinstance(b, str):
            return str(a).lower() == str(b).lower()
        return a is b
    numbers = (int, float, Decimal)
    if isinstance(a, numbers) and isinstance(b, numbers):
        return _same_number(a, b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agree(a[key], b[key]) for key in a)
    if (isinstance(a, list) and isinstance(b, dict)) or (isinstance(b, list) and isinstance(a, dict)):
        return _are_entries(a, b) if isinstance(a, list) else _are_entries(b, a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, str) and isinstance(b, str):
        return a == b
    if isinstance(a, str):
        return _text_agrees(a, b)
    if isinstance(b, str):
        return _text_agrees(b, a)
    if (isinstance(a, bytes) and isinstance(b, list)) or (isinstance(b, bytes) and isinstance(a, list)):
        return [*a] == [*b]
    if (isinstance(a, Span) and isinstance(b, numbers)) or (isinstance(b, Span) and isinstance(a, numbers)):
        span, number = (a, b) if isinstance(a, Span) else (b, a)
        return any(Fraction(str(number)) * unit == span.ns for unit in _UNITS.values())
    if (isinstance(a, Stamp) and isinstance(b, int)) or (isinstance(b, Stamp) and isinstance(a, int)):
        # A reader that does not know the newest kinds of moments gives their numbers.
        return a.ns == b if isinstance(a, Stamp) else b.ns == a
    return type(a) is type(b) and bool(a == b)


def _are_entries(entries: list[Any], mapping: dict[str, Any]) -> bool:
    """Return whether a list of records with key and value is a mapping."""
    try:
        given = {str(entry["key"]): entry["value"] for entry in entries}
    except (KeyError, TypeError):
        return False
    return agree(given, mapping)


def _same_number(a: Any, b: Any) -> bool:
    if a == b or (a != a and b != b):  # noqa: PLR0124 - NaN
        return True
    if isinstance(a, float) and isinstance(b, float):
        return _is_single(a) and _is_single(b) and bool(np.float32(a) == np.float32(b))
    if isinstance(a, int) or isinstance(b, int):
        return False
    try:
        return float(a) == float(b)
    except (OverflowError, ValueError):
        return False


def _is_single(number: float) -> bool:
    """Return whether a number may be a float of 32 bits: its double, or a text of few digits."""
    with np.errstate(over="ignore"):
        return (
            float(np.float32(number)) == number
            or len(repr(number).partition("e")[0].lstrip("-").replace(".", "").strip("0")) <= 9
        )


def _text_agrees(text: str, value: Any) -> bool:
    """Return whether a text stands for a value."""
    if isinstance(value, Stamp):
        return parse_stamp(text) == value.ns
    if isinstance(value, Clock):
        return parse_clock(text) == value.ns
    if isinstance(value, bytes):
        hexadecimal = text.lower().replace("-", "")  # or a UUID
        if text.encode("utf-8", "surrogatepass") == value or hexadecimal == value.hex():
            return True
        try:
            return base64.b64decode(text, validate=True) == value
        except binascii.Error:
            return False
    if isinstance(value, (int, float, Decimal)):
        word = _WORDS.get(text.strip().lower())
        if word is not None:
            return _same_number(word, value)
        try:
            return _same_number(Decimal(text.strip()), value)
        except InvalidOperation:
            return False
    if isinstance(value, (list, dict)):
        try:
            return agree(json.loads(text), value)
        except ValueError:
            return False
    return isinstance(value, Span)  # many texts of durations


def parse_stamp(text: str) -> int | None:
    """Return the nanoseconds of a date or moment in ISO 8601; None if it is none."""
    found = _STAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    # Years of Python's calendar only: others are moved by whole cycles of 400 years.
    moved = (int(year) - 2000) // 400 * 400
    try:
        days = (dt.date(int(year) - moved, int(month), int(day)) - dt.date(1970, 1, 1)).days
    except ValueError:
        return None
    days += moved // 400 * 146_097
    seconds = (int(hour or 0) * 60 + int(minute or 0)) * 60 + int(second or 0)
    ns = (days * 86_400 + seconds) * 10**9 + int((fraction or "0").ljust(9, "0")[:9])
    if zone and zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        ns -= (1 if zone[0] == "+" else -1) * (int(digits[:2]) * 60 + int(digits[2:])) * 60 * 10**9
    return ns


def parse_clock(text: str) -> int | None:
    """Return the nanoseconds of a time of day; None if it is none."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hour, minute, second, fraction = found.groups()
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second or 0)
    return seconds * 10**9 + int((fraction or "0").ljust(9, "0")[:9])


def cell_agrees(cell: str, value: Any) -> bool:
    """Return whether a cell of a text was read as a value that says the same.

    >>> cell_agrees("007", 7), cell_agrees("1.50", 1.5), cell_agrees("NA", None), cell_agrees("+49170", 49170)
    (False, True, True, False)
    """
    text = cell.strip()
    if value is None:
        return text.lower() in _NOTHING
    if isinstance(value, str):
        return cell == value or _same_texts(text, value.strip())
    if isinstance(value, bool):
        return text.lower() in ({"true", "t", "1"} if value else {"false", "f", "0"})
    if isinstance(value, (int, float, Decimal)):
        if re.match(r"\+|-?0\d", text):
            return False
        # Or a decimal comma: no number is read of a text that has one for thousands.
        return agree(text, value) or agree(text.replace(",", ".", 1), value)
    if isinstance(value, (Stamp, Clock)):
        return agree(text, value) or _other_date(text, value)
    return agree(text, value)


def _same_texts(cell: str, text: str) -> bool:
    """Return whether two texts say the same number or moment."""
    if cell == text:
        return True
    if re.match(r"\+|-?0\d", cell) is None:
        try:
            return Decimal(cell) == Decimal(text) or _same_number(float(cell), float(text))
        except InvalidOperation:
            pass
    stamp = parse_stamp(cell)
    if stamp is not None:
        return stamp == parse_stamp(text)
    clock = parse_clock(cell)
    if clock is not None:
        return clock == parse_clock(text)
    return cell.lower() == text.lower() and text.lower() in ("true", "false")


def _other_date(text: str, value: Stamp | Clock) -> bool:
    from dateutil import parser

    try:
        read = parser.parse(text)
    except (ValueError, OverflowError):
        return False
    return canonical(read) == value or canonical(read.time()) == value
