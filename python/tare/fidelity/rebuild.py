"""Whether one value equals another strictly, or could be rebuilt from it.

A codec that gives another type back has lost nothing *if the original can be
rebuilt knowing only its type*: the text ``1.10`` gives back ``Decimal("1.10")``,
the float 1.1 does not. ``rebuilt`` holds those rules, one function for each
original type. They look at one value; a rule never guesses which of several
types the original had.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import math
import re
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from tare.scalar_text import as_text, is_foreign
from tare.tagged.scalars import scalar_to_tag, zone_of
from tare.tagged.stand_ins import Other

__all__ = ["is_same_number", "rebuilt", "same", "verdict_of"]

EXACT_INT = 2**53
_BY_EQUALITY = frozenset({str, int, bool, bytes, bytearray, type(None), uuid.UUID, dt.date, dt.timedelta})
_MIDNIGHT = re.compile(r"|[T ]00:00:00(?:\.0{1,9})?(?:Z|\+00:00)?")
_UTC_NAMES = frozenset({"UTC", "Etc/UTC", "+00:00", "GMT", "Etc/GMT", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT"})


def same(a: Any, b: Any) -> bool:
    """Whether two scalars are equal by type and value, floats by their bits.

    >>> same(1, 1.0), same(0.0, -0.0), same(float("nan"), float("nan"))
    (False, False, True)
    """
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in _BY_EQUALITY:
        return bool(a == b)
    if kind is float:
        return struct.pack("<d", a) == struct.pack("<d", b)
    if kind is Decimal:
        return str(a) == str(b)
    if kind is complex:
        return struct.pack("<2d", a.real, a.imag) == struct.pack("<2d", b.real, b.imag)
    if kind is dt.datetime:
        return _same_datetime(a, b)
    if kind is dt.time:
        return bool(a.replace(tzinfo=None) == b.replace(tzinfo=None) and _same_zone(zone_of(a), zone_of(b)))
    return _same_foreign(a, b)


def _same_datetime(a: dt.datetime, b: dt.datetime) -> bool:
    if (a.tzinfo is None) != (b.tzinfo is None):
        return False
    if a.replace(tzinfo=None, fold=0) != b.replace(tzinfo=None, fold=0):
        return False
    return a.utcoffset() == b.utcoffset() and _same_zone(zone_of(a), zone_of(b))


def _same_zone(a: str | None, b: str | None) -> bool:
    """UTC under any of its names is one zone: it has no transitions to lose."""
    return a == b or (a in _UTC_NAMES and b in _UTC_NAMES)


def _same_foreign(a: Any, b: Any) -> bool:
    tag = scalar_to_tag(a)
    if tag is not NotImplemented:
        other = scalar_to_tag(b)
        if isinstance(tag, dict) and "$ts" in tag and isinstance(other, dict):
            zones = tag.get("tz"), other.get("tz")
            return {**tag, "tz": 0} == {**other, "tz": 0} and _same_zone(*zones)
        return bool(tag == other)
    if type(a).__module__ == "numpy" and hasattr(a, "tobytes"):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, Other):
        return bool(a == b and a.text == b.text)
    try:
        return bool(a == b)
    except Exception:  # a foreign type may fail in any way when compared
        return False


def verdict_of(a: Any, b: Any) -> str:
    """``same``, ``type``, ``lossy``, or ``nan`` for two NaN with other bits.

    >>> verdict_of(1.0, 1), verdict_of(2**53 + 1, float(2**53 + 1))
    ('type', 'lossy')
    """
    if same(a, b):
        return "same"
    if type(a) is type(b) is float and math.isnan(a) and math.isnan(b):
        return "nan"
    return "type" if rebuilt(a, b) else "lossy"


def rebuilt(a: Any, b: Any) -> bool:
    """Whether ``a`` can be rebuilt from ``b`` by someone who knows only the type of ``a``.

    >>> rebuilt(b"ab", "YWI="), rebuilt(None, "")
    (True, False)
    """
    if isinstance(b, Other):
        b = b.of
        if same(a, b):
            return True
    rule = _RULES.get(type(a))
    if rule is None:
        rule = _foreign_rule(a)
    try:
        return rule is not None and rule(a, b)
    except (ValueError, TypeError, ArithmeticError, InvalidOperation, binascii.Error):
        return False


def is_same_number(a: Any, b: Any) -> bool:
    """Returns true if a decimal, one of BSON's too, is the same number as another value, whatever its scale.

    >>> is_same_number(Decimal("1.10"), 1.1), is_same_number(Decimal("1.10"), "1.1"), is_same_number(Decimal("0.1"), 1)
    (True, True, False)
    """
    if type(a).__name__ == "Decimal128":
        a = a.to_decimal()
    if not isinstance(a, Decimal) or not a.is_finite() or isinstance(b, bool):
        return False
    try:
        other = Decimal(repr(b) if isinstance(b, float) else b)
        return other.is_finite() and other.is_signed() == a.is_signed() and a == other
    except (ValueError, TypeError, ArithmeticError):
        return False


def _text(b: Any) -> bool:
    return isinstance(b, str)


def _bool(a: bool, b: Any) -> bool:
    if type(b) is int or type(b) is float:
        return bool(b == a)
    return _text(b) and b.lower() == ("true" if a else "false")


def _int(a: int, b: Any) -> bool:
    if isinstance(b, bool):
        return False
    if isinstance(b, float):
        return abs(a) <= EXACT_INT and b == a
    if _text(b):
        return len(b) < 4300 and b == str(a)
    if isinstance(b, Decimal):
        return bool(b == a)
    return _int_like(b) and int(b) == a


def _int_like(b: Any) -> bool:
    return isinstance(b, int) or (_numpy(b) and b.dtype.kind in "iu")


def _numpy(b: Any) -> bool:
    return type(b).__module__ == "numpy" and hasattr(b, "dtype") and getattr(b, "shape", None) == ()


def _float(a: float, b: Any) -> bool:
    if isinstance(b, bool):
        return False
    if isinstance(b, int) or _text(b) or isinstance(b, Decimal) or _numpy(b) or isinstance(b, float):
        return struct.pack("<d", a) == struct.pack("<d", float(b))
    return False


def _decimal(a: Decimal, b: Any) -> bool:
    if isinstance(b, bool):
        return False
    if _text(b):
        return str(Decimal(b)) == str(a)
    if isinstance(b, float):
        return str(Decimal(repr(b))) == str(a)
    return isinstance(b, int) and str(Decimal(b)) == str(a)


def _str(a: str, b: Any) -> bool:
    if isinstance(b, bool):
        return False
    if isinstance(b, bytes | bytearray | memoryview):
        return bytes(b).decode("utf-8", "surrogatepass") == a
    if isinstance(b, int | float):
        return len(a) < 4300 and repr(b) == a
    return isinstance(b, dt.date | dt.time) and b.isoformat() == a


def _bytes(a: bytes, b: Any) -> bool:
    a = bytes(a)
    if isinstance(b, bytes | bytearray | memoryview):
        return bytes(b) == a
    if isinstance(b, list | tuple):
        return all(type(item) is int for item in b) and bytes(b) == a
    if not _text(b):
        return False
    if b.isascii():
        padded = b + "=" * (-len(b) % 4)
        for altchars in (None, b"-_"):
            try:
                if base64.b64decode(padded, altchars, validate=True) == a:
                    return True
            except binascii.Error:
                continue
        if b.lower() == a.hex():
            return True
    try:
        return bool(a.decode() == b)
    except UnicodeDecodeError:
        return False


def _uuid(a: uuid.UUID, b: Any) -> bool:
    if _text(b):
        return uuid.UUID(b) == a
    return isinstance(b, bytes) and bytes(b) == a.bytes  # BSON's are equal to no others


def _date(a: dt.date, b: Any) -> bool:
    if isinstance(b, dt.datetime):
        at_utc = b.tzinfo is None or zone_of(b) in _UTC_NAMES
        return at_utc and b.replace(tzinfo=None) == dt.datetime.combine(a, dt.time())
    if _text(b):
        day = a.isoformat()
        return b.startswith(day) and _MIDNIGHT.fullmatch(b[len(day) :]) is not None
    if type(b).__name__ == "datetime64":
        return str(b.astype("M8[D]")) == a.isoformat() and b == b.astype("M8[D]")
    return False


def _datetime(a: dt.datetime, b: Any) -> bool:
    if _text(b):
        return _timestamp(a, b)
    if isinstance(b, dt.datetime):
        nanos = getattr(b, "nanosecond", 0)
        return nanos == 0 and _same_datetime(a, b)
    if type(b).__name__ == "datetime64":
        exact = b.astype("M8[us]")
        return bool(exact == b) and a.tzinfo is None and exact.item() == a
    if type(b) is dt.date:
        return a.tzinfo is None and a == dt.datetime.combine(b, dt.time())
    return False


def _time(a: dt.time, b: Any) -> bool:
    return _text(b) and same(a, dt.time.fromisoformat(b))


_ISO_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<w>\d+)W)?(?:(?P<d>\d+)D)?"
    r"(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+)(?:\.(?P<f>\d{1,9}))?S)?)?\Z"
)
_CLOCK_DURATION = re.compile(
    r"(?:(?P<d>-?\d+) days?,? \+?)?(?P<h>\d+):(?P<m>\d\d):(?P<s>\d\d)(?:\.(?P<f>\d{1,9}))?\Z"
)


def _nanoseconds(text: str) -> int | None:
    """ISO 8601 durations, and Python's and pandas' own print."""
    found = _ISO_DURATION.match(text) or _CLOCK_DURATION.match(text)
    if found is None:
        return None
    part = {key: int(value) for key, value in found.groupdict().items() if value and key not in ("sign", "f")}
    days = part.get("d", 0) + 7 * part.get("w", 0)
    seconds = days * 86400 + part.get("h", 0) * 3600 + part.get("m", 0) * 60 + part.get("s", 0)
    total = seconds * 10**9 + int((found["f"] or "").ljust(9, "0"))
    return -total if found.groupdict().get("sign") == "-" else total


def _duration(a: dt.timedelta, b: Any) -> bool:
    nanos = ((a.days * 86400 + a.seconds) * 10**6 + a.microseconds) * 1000
    return _duration_is(nanos, b)


def _duration_is(nanos: int, b: Any) -> bool:
    if _text(b):
        return _nanoseconds(b) == nanos
    if isinstance(b, dt.timedelta):
        own = ((b.days * 86400 + b.seconds) * 10**6 + b.microseconds) * 1000
        return own + getattr(b, "nanoseconds", 0) == nanos
    if type(b).__name__ == "timedelta64":
        return int(b.astype("m8[ns]").view("i8")) == nanos
    return False


_RULES: dict[type, Callable[[Any, Any], bool]] = {
    bool: _bool,
    int: _int,
    float: _float,
    Decimal: _decimal,
    str: _str,
    bytes: _bytes,
    bytearray: _bytes,
    uuid.UUID: _uuid,
    dt.date: _date,
    dt.datetime: _datetime,
    dt.time: _time,
    dt.timedelta: _duration,
}


def _foreign_rule(a: Any) -> Callable[[Any, Any], bool] | None:
    """Rules for NumPy and pandas scalars, and for subclasses of the usual types."""
    name = type(a).__name__
    if name == "Code" and getattr(a, "scope", None):
        return None  # BSON's code with values of its own, which a text has not
    if name == "Timestamp" and type(a).__module__.startswith("msgpack"):
        return lambda x, b: b == as_text(x) if _text(b) else _timestamp(as_text(x), b)
    if is_foreign(a):
        return lambda x, b: _text(b) and b == as_text(x)
    if name == "float32" and _numpy(a):
        return _float32
    if name in ("datetime64", "Timestamp"):
        return _timestamp
    if name == "NaTType":  # what pandas makes of the least moment, which is a value of Arrow's
        return lambda _, b: _text(b) and _instant(b) == _instant(_LEAST)
    if name in ("timedelta64", "Timedelta"):
        return lambda x, b: _duration_is(int(x.view("i8")) if name == "Timedelta" else _ns(x), b)
    if _numpy(a) and a.dtype.kind in "iub":
        return lambda x, b: same(x.item(), b) or rebuilt(x.item(), b)
    if isinstance(a, dt.datetime):
        return _datetime
    for base in (bool, int, float, str, bytes):
        if isinstance(a, base):
            plain = scalar_base(a, base)
            return lambda x, b: same(plain, b) or rebuilt(plain, b)
    return None


def scalar_base(a: Any, base: Any) -> Any:
    """The value of a subclass as its base type."""
    return base.__new__(base, a)


def _ns(a: Any) -> int:
    return int(a.astype("m8[ns]").view("i8"))


def _float32(a: Any, b: Any) -> bool:
    if isinstance(b, bool) or not (isinstance(b, int | float | str) or _numpy(b)):
        return False
    import numpy as np

    return bool(np.float32(b).tobytes() == a.tobytes())


def _timestamp(a: Any, b: Any) -> bool:
    """Both as (wall clock in ns, offset, zone); text has no zone name, only an offset."""
    left, right = _instant(a), _instant(b)
    return left is not None and right is not None and left[:2] == right[:2] and _same_zone(left[2], right[2])


_LEAST = "1677-09-21 00:12:43.145224192"
_ISO_NS = re.compile(r"(\d{4,}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d(?::\d\d)?)?\Z")


def _instant(value: Any) -> tuple[str, str, str | None] | None:
    if type(value).__name__ == "datetime64":
        text = str(value.astype("M8[ns]"))
        zone = None
    elif hasattr(value, "nanosecond"):
        text, zone = value.isoformat(timespec="nanoseconds"), zone_of(value)
    elif isinstance(value, dt.datetime):
        text, zone = value.isoformat(timespec="microseconds"), zone_of(value)
    elif isinstance(value, str):
        text, zone = value, ""
    else:
        return None
    found = _ISO_NS.match(text)
    if found is None:
        return None
    offset = (found[4] or "").replace("Z", "+00:00")
    clock = f"{found[1]}T{found[2]}.{(found[3] or '').ljust(9, '0')}"
    return clock, offset, (offset or None) if zone == "" else zone
