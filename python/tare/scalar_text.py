"""The usual text of a scalar that JSON and its kin lack, from which who knows its type can rebuild it.

Beside Python's own these are what readers of other formats give: ObjectIds and their like of BSON, timestamps and
extension types of MessagePack, tags and simple values of CBOR. Their packages are not imported here.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

__all__ = ["as_text", "is_foreign"]


def as_text(value: object) -> str:
    """Returns the usual text of a scalar that JSON lacks.

    Dates and times are ISO 8601, durations ISO 8601 in seconds, bytes are base64, decimals and UUIDs their own text; what
    other libraries have beside these as their formats write it: ``5:YWI=`` is an extension of MessagePack, ``1("x")`` a
    tag of CBOR in its diagnostic notation, ``{"$minKey": 1}`` MongoDB's extended JSON.

    Raises:
        TypeError: The value is none of these.
        OverflowError: It is an integer.

    >>> as_text(Decimal("1.10")), as_text(date(2013, 1, 1)), as_text(timedelta(minutes=1, milliseconds=5))
    ('1.10', '2013-01-01', 'PT60.005S')
    """
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if isinstance(value, timedelta):
        return _duration(value)
    rule = _FOREIGN.get(_name_of(value))
    if rule is not None:
        return rule(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, int):  # which some libraries ask for when it is too large
        raise OverflowError("integer out of range")
    raise TypeError(f"type {type(value).__name__} has no text form that Tare would choose")


def is_foreign(value: object) -> bool:
    """Returns true if a value is of a type that another library's reader gives, and `as_text` knows.

    >>> import msgpack
    >>> is_foreign(msgpack.ExtType(5, b"ab")), is_foreign(b"ab")
    (True, False)
    """
    return _name_of(value) in _FOREIGN


def _name_of(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


def _duration(value: timedelta) -> str:
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    whole = value.days * 86_400 + value.seconds
    finer = f"{getattr(value, 'nanoseconds', 0):03d}"  # which pandas' own have
    return f"{sign}PT{whole}.{value.microseconds:06d}{finer}".rstrip("0").rstrip(".") + "S"


def _extended_json(value: Any) -> str:
    from bson import json_util

    return json_util.dumps(value)


def _extension(value: Any) -> str:
    code = value.tag if hasattr(value, "tag") else value.code
    return f"{code}:{base64.b64encode(value.data).decode('ascii')}"


def _moment(value: Any) -> str:
    try:
        second = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value.seconds)
    except OverflowError:
        raise TypeError(f"a timestamp of {value.seconds:,} s lies beyond the years 1 to 9999") from None
    fraction = f".{value.nanoseconds:09d}".rstrip("0").rstrip(".")
    return f"{second.isoformat()[:-6]}{fraction}Z"


def _tag(value: Any) -> str:
    return f"{value.tag}({json.dumps(value.value, default=_within_tag, ensure_ascii=False)})"


def _within_tag(value: object) -> Any:
    return dict(value) if isinstance(value, Mapping) else as_text(value)


def _pattern(value: re.Pattern[Any]) -> str:
    if not isinstance(value.pattern, str) or value.flags != re.UNICODE:
        raise TypeError("a pattern with flags has no text form that Tare would choose")
    return value.pattern


_FOREIGN: dict[str, Callable[[Any], str]] = {
    "bson.ObjectId": str,
    "bson.Decimal128": str,
    **dict.fromkeys(
        ("bson.Timestamp", "bson.Regex", "bson.DBRef", "bson.MinKey", "bson.MaxKey"), _extended_json
    ),
    "msgpack.Timestamp": _moment,
    "msgpack.ExtType": _extension,
    "msgspec.Ext": _extension,
    "ormsgpack.Ext": _extension,
    "cbor2.CBORTag": _tag,
    "cbor2.CBORSimpleValue": lambda value: f"simple({value.value})",
    "cbor2.UndefinedType": lambda _: "undefined",
    "fractions.Fraction": str,
    **dict.fromkeys(
        (f"ipaddress.IPv{v}{what}" for v in "46" for what in ("Address", "Network", "Interface")), str
    ),
    "re.Pattern": _pattern,
}
