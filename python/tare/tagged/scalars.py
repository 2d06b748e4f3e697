"""Scalars of the dialect ``values/1``: each to its tag and back, bit for bit.

Additions to the table of the worker protocol, all of them fields that other
readers may ignore: ``as`` names the host type when it is not the usual one
(``"as": "bytearray"``, ``"numpy"``, ``"pandas"``), and ``fold`` the second
reading of a repeated local time.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import re
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from tare.errors import Malformed, Unsupported
from tare.tagged.stand_ins import MISSING, NA, NA_KINDS, Factor, Missing

__all__ = ["READERS", "WRITERS", "f64_bits", "plain_text", "scalar_to_tag", "zone_of"]

PLAIN_INT = 2**53
Tag = dict[str, Any]


def f64_bits(value: float) -> str:
    """The 16 hexadecimal digits of a double, most significant first."""
    return struct.pack(">d", value).hex()


def plain_text(value: str) -> bool:
    """Whether UTF-8 can carry the text: it holds no surrogate."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def zone_of(value: dt.datetime | dt.time) -> str | None:
    """Name of the zone, else the fixed offset as ``+05:30``, else None."""
    zone = value.tzinfo
    if zone is None:
        return None
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if isinstance(name, str) and name:
        return name
    offset = value.utcoffset()
    if offset is None:
        return type(zone).__name__
    return _offset_text(offset)


def _offset_text(offset: dt.timedelta) -> str:
    sign, rest = ("-", -offset) if offset < dt.timedelta(0) else ("+", offset)
    seconds = rest.days * 86400 + rest.seconds
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}"
    if seconds % 60 or rest.microseconds:
        text += f":{seconds % 60:02}"
    if rest.microseconds:
        text += f".{rest.microseconds:06}"
    return text


# --- value to tag ---------------------------------------------------------------------------


def scalar_to_tag(value: Any) -> Any:
    """The tagged form of a scalar, or NotImplemented for a container or a foreign type."""
    kind = type(value)
    writer = WRITERS.get(kind)
    if writer is not None:
        return writer(value)
    module = kind.__module__.partition(".")[0]
    if module == "numpy":
        return _numpy_tag(value)
    if module == "pandas":
        return _pandas_tag(value)
    return NotImplemented


def _int_tag(value: int) -> Any:
    if -PLAIN_INT <= value <= PLAIN_INT:
        return value
    return {"$int": _decimal_text(value)}


def _decimal_text(value: int) -> str:
    """``str(value)`` without the interpreter's limit of 4,300 digits."""
    if value.bit_length() < 14_000:
        return str(value)
    digits = [int(d) for d in _chunks_of(abs(value))]
    text = str(digits[0]) + "".join(f"{d:04000}" for d in digits[1:])
    return "-" + text if value < 0 else text


def _chunks_of(value: int) -> list[int]:
    base = 10**4000
    out = []
    while value:
        value, low = divmod(value, base)
        out.append(low)
    return out[::-1] or [0]


def _text_tag(value: str) -> Any:
    if plain_text(value):
        return value
    units = value.encode("utf-16-be", "surrogatepass")
    if units.decode("utf-16-be", "surrogatepass") == value:
        return {"$text16": units.hex()}
    # Two lone surrogates that happen to form a pair: UTF-16 would join them.
    return {"$text16": value.encode("utf-32-be", "surrogatepass").hex(), "as": "utf-32"}


def _time_tag(value: dt.time) -> Tag:
    tag: Tag = {"$time": value.isoformat(timespec="microseconds")}
    if value.tzinfo is not None:
        tag["tz"] = zone_of(value)
    if value.fold:
        tag["fold"] = 1
    return tag


def _datetime_tag(value: dt.datetime) -> Tag:
    tag: Tag = {"$ts": value.isoformat(timespec="microseconds"), "unit": "us", "tz": zone_of(value)}
    if value.fold and value.tzinfo is None:
        tag["fold"] = 1
    return tag


def _duration_tag(value: dt.timedelta) -> Tag:
    micros = (value.days * 86400 + value.seconds) * 1_000_000 + value.microseconds
    return {"$dur": _int_tag(micros), "unit": "us"}


def _factor_tag(value: Factor) -> Tag:
    return {
        "$factor": {
            "codes": list(value.codes),
            "levels": [_text_tag(level) for level in value.levels],
            "ordered": value.ordered,
        }
    }


def _numpy_tag(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.float32):
        return {"$f32": np.asarray(value, dtype=">f4").tobytes().hex()}
    if isinstance(value, np.float64):
        return {"$f64": f64_bits(float(value)), "as": "numpy"}
    if isinstance(value, np.datetime64):
        unit = np.datetime_data(value.dtype)[0]
        tag: Tag = {"$ts": str(value), "unit": unit, "tz": None}
        return tag if unit == "ns" else {**tag, "as": "numpy"}
    if isinstance(value, np.timedelta64):
        unit = np.datetime_data(value.dtype)[0]
        tag = {"$dur": _int_tag(int(value.view("i8"))), "unit": unit}
        return {**tag, "as": "numpy"} if unit == "us" else tag
    if isinstance(value, np.bool_ | np.integer):
        return {"$int": str(int(value)), "as": value.dtype.name}
    return NotImplemented


def _pandas_tag(value: Any) -> Any:
    name = type(value).__name__
    if name == "Timestamp":
        text = value.isoformat(timespec="nanoseconds")
        tag: Tag = {"$ts": text, "unit": value.unit, "tz": zone_of(value)}
        return tag if value.unit == "ns" and value.tzinfo is not None else {**tag, "as": "pandas"}
    if name == "Timedelta":
        return {"$dur": _int_tag(value.as_unit("ns").value), "unit": "ns", "as": "pandas"}
    return NotImplemented


WRITERS: dict[type, Callable[[Any], Any]] = {
    type(None): lambda value: value,
    bool: lambda value: value,
    int: _int_tag,
    float: lambda value: {"$f64": f64_bits(value)},
    str: _text_tag,
    Decimal: lambda value: {"$dec": str(value)},
    bytes: lambda value: {"$bytes": base64.b64encode(value).decode("ascii")},
    bytearray: lambda value: {"$bytes": base64.b64encode(value).decode("ascii"), "as": "bytearray"},
    dt.date: lambda value: {"$date": value.isoformat()},
    dt.time: _time_tag,
    dt.datetime: _datetime_tag,
    dt.timedelta: _duration_tag,
    uuid.UUID: lambda value: {"$uuid": str(value)},
    NA: lambda value: {"$na": value.kind},
    Factor: _factor_tag,
    Missing: lambda value: {"$missing": 1},
}


# --- tag to value ---------------------------------------------------------------------------


def _want(ok: bool, what: str) -> None:
    if not ok:
        raise Malformed(what)


_INT = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
MAX_DIGITS = 100_000


def _read_int(tag: Tag) -> Any:
    text = tag["$int"]
    _want(
        isinstance(text, str) and _INT.match(text) is not None and text != "-0", "$int needs decimal digits"
    )
    _want(len(text) <= MAX_DIGITS, f"$int has more than {MAX_DIGITS} digits")
    value = _parse_digits(text)
    host = tag.get("as")
    if host is None:
        return value
    _want(host in _NUMPY_INTS, f"$int as {host!r} is none of {', '.join(_NUMPY_INTS)}")
    import numpy as np

    try:
        return np.dtype(host).type(value)
    except OverflowError as error:
        raise Malformed(f"$int {text[:40]} does not fit {host}") from error


_NUMPY_INTS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _parse_digits(text: str) -> int:
    if len(text) <= 4000:
        return int(text)
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text)
    head = len(digits) % 4000
    value = int(digits[:head] or "0")
    for at in range(head, len(digits), 4000):
        value = value * 10**4000 + int(digits[at : at + 4000])
    return sign * value


def _hex(tag: Tag, name: str, digits: int) -> bytes:
    text = tag[name]
    _want(isinstance(text, str) and len(text) == digits, f"{name} needs {digits} hexadecimal digits")
    return _unhex(text, name)


def _unhex(text: Any, name: str) -> bytes:
    try:
        return binascii.unhexlify(text)
    except (ValueError, TypeError) as error:
        raise Malformed(f"{name} needs hexadecimal digits") from error


def _read_f64(tag: Tag) -> Any:
    value = struct.unpack(">d", _hex(tag, "$f64", 16))[0]
    if tag.get("as") is None:
        return value
    _want(tag["as"] == "numpy", "$f64 as can only be numpy")
    import numpy as np

    return np.float64(value)


def _read_f32(tag: Tag) -> Any:
    import numpy as np

    return np.frombuffer(_hex(tag, "$f32", 8), dtype=">f4").astype("<f4").view(np.float32)[0]


def _read_dec(tag: Tag) -> Decimal:
    text = tag["$dec"]
    _want(
        isinstance(text, str) and len(text) <= MAX_DIGITS and text.isascii(),
        "$dec needs a decimal number as text",
    )
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise Malformed("$dec needs a decimal number as text") from error
    _want(str(value) == text, "$dec is not in its canonical form")
    return value


def _read_bytes(tag: Tag) -> bytes | bytearray:
    try:
        value = base64.b64decode(tag["$bytes"], validate=True)
    except (ValueError, TypeError) as error:
        raise Malformed("$bytes needs base64 text") from error
    host = tag.get("as")
    _want(host in (None, "bytearray"), "$bytes as can only be bytearray")
    return bytearray(value) if host else value


def _read_text16(tag: Tag) -> str:
    data = _unhex(tag["$text16"], "$text16")
    wide = tag.get("as")
    _want(wide in (None, "utf-32"), "$text16 as can only be utf-32")
    try:
        return data.decode("utf-32-be" if wide else "utf-16-be", "surrogatepass")
    except UnicodeDecodeError as error:
        raise Malformed("$text16 is cut inside a code unit") from error


def _iso(parse: Callable[[str], Any], text: Any, name: str) -> Any:
    try:
        return parse(text)
    except (ValueError, TypeError) as error:
        raise Malformed(f"{name} needs ISO 8601 text") from error


def _read_time(tag: Tag) -> dt.time:
    value: dt.time = _iso(dt.time.fromisoformat, tag["$time"], "$time")
    name = tag.get("tz")
    if name is not None and value.tzinfo is None:
        value = value.replace(tzinfo=_zone(name))
    return value.replace(fold=1) if tag.get("fold") else value


def _zone(name: Any) -> dt.tzinfo:
    _want(isinstance(name, str) and 0 < len(name) <= 100, "tz needs a zone's name or an offset")
    if name[0] in "+-":
        zone = _iso(dt.time.fromisoformat, f"00:00{name}", "tz").tzinfo
        _want(zone is not None, f"tz {name!r} is no offset")
        return zone or dt.UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise Unsupported(f"time zone {name!r} is not known on this machine") from error


_TIME_TEXT = re.compile(
    r"[+-]?\d{1,18}(?:-\d\d(?:-\d\d(?:T\d\d(?::\d\d(?::\d\d(?:\.\d{1,18})?)?)?)?)?)?"
    r"(?P<offset>[+-]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?\Z",
    re.ASCII,
)
_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic")


def _read_ts(tag: Tag) -> Any:
    text, unit, host, zone = tag["$ts"], tag.get("unit", "us"), tag.get("as"), tag.get("tz")
    _want(isinstance(text, str) and len(text) <= 100, "$ts needs ISO 8601 text")
    _want(unit in _UNITS, f"$ts unit is none of {', '.join(_UNITS)}")
    _want(host in (None, "numpy", "pandas"), "$ts as can only be numpy or pandas")
    shape = _TIME_TEXT.match(text)
    _want(shape is not None or text == "NaT", "$ts needs ISO 8601 text")
    offset = shape["offset"] if shape is not None else None
    _want(zone is not None or offset is None, "$ts has an offset but no tz")
    _want(zone is None or offset is not None, "$ts has a tz but no offset")
    if ":60" in text:
        raise Unsupported("a leap second: Python's datetime has none")
    if host == "pandas" or (unit == "ns" and zone is not None):
        return _pandas_timestamp(text, unit, zone)
    if host == "numpy" or unit != "us":
        _want(zone is None, "$ts of this unit has no zone")
        import numpy as np

        return _iso(lambda iso: np.datetime64(iso, unit), text, "$ts")
    return _datetime(text, zone, tag.get("fold"))


def _datetime(text: str, zone: Any, fold: Any) -> dt.datetime:
    value: dt.datetime = _iso(dt.datetime.fromisoformat, text, "$ts")
    if zone is None:
        return value.replace(fold=1) if fold else value
    offset = value.utcoffset()
    for choice in (0, 1):
        local = value.replace(tzinfo=_zone(zone), fold=choice)
        if local.utcoffset() == offset:
            return local
    raise Malformed(f"$ts: {zone} has no such offset at that time")


def _pandas_timestamp(text: str, unit: str, zone: Any) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise Unsupported("a time of this unit and zone needs pandas") from error
    value = _iso(pd.Timestamp, text, "$ts")
    if zone is not None:
        value = _iso(value.tz_convert, _zone(zone), "$ts")
    return _iso(value.as_unit, unit, "$ts")


def _read_dur(tag: Tag) -> Any:
    count, unit, host = tag["$dur"], tag.get("unit", "us"), tag.get("as")
    if isinstance(count, dict):
        _want(set(count) == {"$int"}, "$dur needs a whole number")
        count = _read_int(count)
    _want(type(count) is int, "$dur needs a whole number")
    _want(unit in _UNITS, f"$dur unit is none of {', '.join(_UNITS)}")
    try:
        if host == "pandas":
            import pandas as pd

            return pd.Timedelta(count, unit="ns")
        if unit == "us" and host is None:
            return dt.timedelta(microseconds=count)
        import numpy as np

        return np.int64(count).view(f"m8[{unit}]" if unit != "generic" else "m8")
    except (OverflowError, TypeError, ValueError) as error:
        raise Malformed("$dur is out of range") from error


def _read_uuid(tag: Tag) -> uuid.UUID:
    text = tag["$uuid"]
    _want(isinstance(text, str) and len(text) == 36, "$uuid needs 36 characters")
    return _iso(uuid.UUID, text, "$uuid")  # type: ignore[no-any-return]


def _read_na(tag: Tag) -> NA:
    _want(tag["$na"] in NA_KINDS, f"$na is none of {', '.join(NA_KINDS)}")
    return NA(tag["$na"])


def _read_factor(tag: Tag) -> Factor:
    inner = tag["$factor"]
    _want(isinstance(inner, dict) and {"codes", "levels"} <= set(inner), "$factor needs codes and levels")
    codes, levels = inner["codes"], inner["levels"]
    _want(isinstance(codes, list) and isinstance(levels, list), "$factor needs two lists")
    _want(all(code is None or type(code) is int for code in codes), "$factor codes are whole numbers or null")
    texts = [_read_text16(t) if isinstance(t, dict) and set(t) <= {"$text16", "as"} else t for t in levels]
    _want(all(isinstance(text, str) for text in texts), "$factor levels are texts")
    return Factor(tuple(codes), tuple(texts), bool(inner.get("ordered", False)))


def _read_missing(tag: Tag) -> Missing:
    return MISSING


# Tag name: (reader, fields it may have beside its name).
READERS: dict[str, tuple[Callable[[Tag], Any], frozenset[str]]] = {
    "$int": (_read_int, frozenset({"as"})),
    "$f64": (_read_f64, frozenset({"as"})),
    "$f32": (_read_f32, frozenset()),
    "$dec": (_read_dec, frozenset()),
    "$bytes": (_read_bytes, frozenset({"as"})),
    "$text16": (_read_text16, frozenset({"as"})),
    "$date": (lambda tag: _iso(dt.date.fromisoformat, tag["$date"], "$date"), frozenset()),
    "$time": (_read_time, frozenset({"tz", "fold"})),
    "$ts": (_read_ts, frozenset({"unit", "tz", "fold", "as"})),
    "$dur": (_read_dur, frozenset({"unit", "as"})),
    "$uuid": (_read_uuid, frozenset()),
    "$na": (_read_na, frozenset()),
    "$factor": (_read_factor, frozenset()),
    "$missing": (_read_missing, frozenset()),
}
