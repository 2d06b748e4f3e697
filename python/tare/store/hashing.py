"""The canonical hash of Python values: equal values of equal types have it in common, in every process.

What is hashed is a description of the value, never its pickle: each type has a mark of its own, so that
``1``, ``True``, ``1.0`` and ``"1"`` differ; mappings and sets count without their order; NaN is one value;
tables count by their columns, whatever chunks, slices or blocks they lie in. What has no lasting
description, such as a function, a generator or an object of a class of one's own, is refused by name.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
import struct
import zoneinfo
from array import array
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath, PureWindowsPath
from typing import Any
from uuid import UUID

from tare._tare import Blake3, r_canonical
from tare.errors import Limit, Unsupported

__all__ = ["Walk", "canonical_hash"]

_GATHERED = 1 << 16
_DEEPEST = 150
_DOUBLE = struct.Struct("<d")
_LENGTH = struct.Struct("<Q")
_NAN = _DOUBLE.pack(math.nan)
# Libraries whose values are described in `hashed_data`, by the first part of their modules.
_LIBRARIES = {"numpy": "numpys", "pandas": "pandases", "polars": "polarses", "pyarrow": "arrows"}


def canonical_hash(value: object, what: str = "the value") -> str:
    """BLAKE3 of what a value is, in 64 hex digits.

    Known are None, bool, int, float, complex, str, bytes, Decimal, Fraction, dates and times, UUID, paths, enum
    members, ranges and slices, list, tuple, dict, set and their kin, dataclasses, arrays and scalars of NumPy, data
    frames, columns and scalars of pandas, polars and Arrow, and R objects.

    Args:
        value: Any of these, nested as they like.
        what: What messages call it.

    Raises:
        Unsupported: A value in it has no description that lasts; its place and type are named.
        Limit: It is nested too deeply, or holds itself.

    >>> canonical_hash({"a": 1, "b": {2, 3}}) == canonical_hash({"b": {3, 2}, "a": 1})
    True
    >>> len({canonical_hash(one) for one in (1, True, 1.0, "1", b"1", [1], (1,))})
    7
    """
    walk = Walk(what)
    try:
        walk.value(value)
    except RecursionError as error:
        raise Limit(f"{what} is nested too deeply for what Python's stack has left") from error
    return walk.digest()


class Walk:
    """The bytes that describe a value, on their way into the hash.

    Args:
        what: What messages call the value.
        path: Where in it this one lies.
    """

    def __init__(self, what: str, path: list[str] | None = None) -> None:
        self._what = what
        self._path = path if path is not None else []
        self._within: set[int] = set()
        self._gathered = bytearray()
        self._hasher: Blake3 | None = None

    def put(self, data: bytes | bytearray) -> None:
        """Takes a few bytes."""
        self._gathered += data
        if len(self._gathered) > _GATHERED:
            self._flush()

    def mark(self, mark: str, length: int | None = None) -> None:
        """Takes what type is next, and how long it is."""
        self._gathered += (
            mark.encode() + b"\0" if length is None else mark.encode() + b"\0" + _LENGTH.pack(length)
        )

    def text(self, mark: str, text: str) -> None:
        """Takes a text, told apart by a mark."""
        data = text.encode("utf-8", "surrogatepass")
        self.mark(mark, len(data))
        self.put(data)

    def large(self, buffer: Any) -> None:
        """Takes the bytes of a buffer, which are not gathered first."""
        self._flush()
        assert self._hasher is not None  # made by `_flush`
        self._hasher.update(buffer)

    def digest(self) -> str:
        """The hash of all that came."""
        self._flush()
        assert self._hasher is not None  # made by `_flush`
        return self._hasher.hexdigest()

    def _flush(self) -> None:
        if self._hasher is None:
            self._hasher = Blake3()
        if self._gathered:
            self._hasher.update(bytes(self._gathered))
            self._gathered.clear()

    def value(self, value: Any) -> None:
        """Takes any value.

        Raises:
            Unsupported, Limit: As `canonical_hash` says.
        """
        known = _EXACT.get(type(value))
        if known is not None:
            known(self, value)
            return
        found = _described(value)
        if found is None:
            raise self.refusal(value)
        found(self, value)

    def at(self, step: str, value: Any) -> None:
        """Takes a value that lies in another.

        Raises:
            Unsupported, Limit: As `canonical_hash` says.
        """
        self._path.append(step)
        self.value(value)
        self._path.pop()

    def holding(self, value: Any, parts: Iterable[tuple[str, Any]]) -> None:
        """Takes the parts of a container.

        Raises:
            Unsupported, Limit: As `canonical_hash` says.
        """
        if id(value) in self._within or len(self._within) >= _DEEPEST:
            why = (
                "holds itself" if id(value) in self._within else f"is nested more than {_DEEPEST} levels deep"
            )
            raise Limit(f"{self._place()} {why}, so it has no hash")
        self._within.add(id(value))
        for step, part in parts:
            self.at(step, part)
        self._within.discard(id(value))

    def apart(self, value: Any, step: str) -> bytes:
        """The hash of a value by itself, for what is sorted.

        Raises:
            Unsupported, Limit: As `canonical_hash` says.
        """
        other = Walk(self._what, [*self._path, step])
        other._within = self._within
        other.value(value)
        return bytes.fromhex(other.digest())

    def refusal(self, value: Any, why: str = "") -> Unsupported:
        """The error of a value without a lasting description."""
        cls = type(value)
        kind = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        shown = f"{kind} {name[:80]!r}" if isinstance(name, str) else kind
        why = why or "which has no description that lasts from one run to the next"
        return Unsupported(
            f"{self._place()} is of type {shown}, {why}: leave it out (ignore=), or give what it is made from",
            path="".join(self._path) or None,
        )

    def _place(self) -> str:
        path = "".join(self._path)
        return f"{self._what}{' at ' + path[:200] if path else ''}"


_Described = Callable[[Walk, Any], None]


def _none(walk: Walk, value: None) -> None:
    walk.mark("none")


def _bool(walk: Walk, value: bool) -> None:
    walk.mark("true" if value else "false")


def _int(walk: Walk, value: int) -> None:
    size = (value.bit_length() + 8) // 8
    walk.mark("int", size)
    walk.put(value.to_bytes(size, "little", signed=True))


def _float(walk: Walk, value: float) -> None:
    walk.mark("float")
    walk.put(_NAN if value != value else _DOUBLE.pack(value))  # noqa: PLR0124 - NaN alone differs from itself


def _complex(walk: Walk, value: complex) -> None:
    walk.mark("complex")
    _float(walk, value.real)
    _float(walk, value.imag)


def _str(walk: Walk, value: str) -> None:
    walk.text("str", value)


def _bytes(walk: Walk, value: bytes | bytearray) -> None:
    walk.mark(type(value).__name__, len(value))
    if len(value) < _GATHERED:
        walk.put(value)
    else:
        walk.large(value)


def _memoryview(walk: Walk, value: memoryview) -> None:
    walk.text("memoryview", f"{value.format} {value.shape}")
    walk.put(value.tobytes())


def _array(walk: Walk, value: array[Any]) -> None:
    walk.mark("array", len(value))
    walk.holding(value, ((f"[{i}]", one) for i, one in enumerate(value)))


def _decimal(walk: Walk, value: Decimal) -> None:
    walk.text("decimal", "NaN" if value.is_nan() else str(value))


def _fraction(walk: Walk, value: Fraction) -> None:
    walk.text("fraction", str(value))


def _zone(walk: Walk, zone: dt.tzinfo | None, offset: dt.timedelta | None) -> None:
    """A zone: its name in the world's table, or how far it is from UTC."""
    if isinstance(zone, zoneinfo.ZoneInfo) and zone.key:
        walk.text("zone", zone.key)
    walk.text("offset", "" if offset is None else repr(offset))


def _datetime(walk: Walk, value: dt.datetime) -> None:
    walk.text("datetime", f"{value.replace(tzinfo=None).isoformat()} {value.fold}")
    _zone(walk, value.tzinfo, value.utcoffset())


def _time(walk: Walk, value: dt.time) -> None:
    walk.text("time", f"{value.replace(tzinfo=None).isoformat()} {value.fold}")
    _zone(walk, value.tzinfo, value.utcoffset())


def _date(walk: Walk, value: dt.date) -> None:
    walk.text("date", value.isoformat())


def _timedelta(walk: Walk, value: dt.timedelta) -> None:
    walk.text("timedelta", f"{value.days} {value.seconds} {value.microseconds}")


def _timezone(walk: Walk, value: dt.timezone) -> None:
    walk.text("timezone", repr(value))


def _zoneinfo(walk: Walk, value: zoneinfo.ZoneInfo) -> None:
    if not value.key:
        raise walk.refusal(value, "which has no name")
    walk.text("zone", value.key)


def _uuid(walk: Walk, value: UUID) -> None:
    walk.mark("uuid")
    walk.put(value.bytes)


def _path(walk: Walk, value: PurePath) -> None:
    walk.text("windows path" if isinstance(value, PureWindowsPath) else "path", value.as_posix())


def _list(walk: Walk, value: list[Any] | tuple[Any, ...] | deque[Any]) -> None:
    walk.mark(type(value).__name__, len(value))
    walk.holding(value, ((f"[{i}]", one) for i, one in enumerate(value)))


def _namedtuple(walk: Walk, value: Any) -> None:
    walk.text("namedtuple", _name(type(value)))
    walk.holding(value, ((f".{name}", one) for name, one in zip(value._fields, value, strict=True)))


def _set(walk: Walk, value: set[Any] | frozenset[Any]) -> None:
    walk.mark(type(value).__name__, len(value))
    for digest in sorted(walk.apart(one, f"{{{_short(one)}}}") for one in value):
        walk.put(digest)


def _dict(walk: Walk, value: dict[Any, Any]) -> None:
    if all(type(name) is str for name in value):
        walk.mark(f"{type(value).__name__} of str", len(value))
        walk.holding(value, ((f"[{name[:40]!r}]", _Entry(name, value[name])) for name in sorted(value)))
        return
    walk.mark(type(value).__name__, len(value))
    keys = {walk.apart(name, f"(key {_short(name)})"): name for name in value}
    walk.holding(
        value, ((f"[{_short(keys[digest])}]", _Entry(digest, value[keys[digest]])) for digest in sorted(keys))
    )


def _ordered(walk: Walk, value: OrderedDict[Any, Any]) -> None:
    walk.mark("OrderedDict", len(value))
    walk.holding(value, ((f"[{_short(name)}]", _Entry(name, one)) for name, one in value.items()))


@dataclasses.dataclass(frozen=True)
class _Entry:
    """A name and what it stands for, one behind the other."""

    name: Any
    value: Any


def _entry(walk: Walk, entry: _Entry) -> None:
    walk.value(entry.name)
    walk.value(entry.value)


def _range(walk: Walk, value: range) -> None:
    walk.text("range", f"{value.start} {value.stop} {value.step}")


def _slice(walk: Walk, value: slice) -> None:
    walk.mark("slice")
    walk.holding(value, ((".start", value.start), (".stop", value.stop), (".step", value.step)))


def _ellipsis(walk: Walk, value: object) -> None:
    walk.mark("ellipsis")


def _type(walk: Walk, value: type) -> None:
    if value.__module__ not in ("builtins", "numpy", "datetime", "decimal"):
        raise walk.refusal(value, "whose source may change")
    walk.text("type", _name(value))


def _enum(walk: Walk, value: enum.Enum) -> None:
    walk.text("enum", f"{_name(type(value))}.{value.name}")
    walk.holding(value, ((".value", value.value),))


def _dataclass(walk: Walk, value: Any) -> None:
    walk.text("dataclass", _name(type(value)))
    fields = [field.name for field in dataclasses.fields(value)]
    walk.holding(value, ((f".{name}", _Entry(name, getattr(value, name))) for name in fields))


def _robject(walk: Walk, value: Any) -> None:
    walk.text("robject", r_canonical(value._core))  # noqa: SLF001 - its handle is the core's


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _short(value: Any) -> str:
    """A name of a mapping in a path; of what may be long, its type."""
    return repr(value)[:40] if isinstance(value, (str, bytes, int, float)) else type(value).__name__


_EXACT: dict[type, _Described] = {
    type(None): _none,
    bool: _bool,
    int: _int,
    float: _float,
    complex: _complex,
    str: _str,
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _memoryview,
    array: _array,
    Decimal: _decimal,
    Fraction: _fraction,
    dt.datetime: _datetime,
    dt.time: _time,
    dt.date: _date,
    dt.timedelta: _timedelta,
    dt.timezone: _timezone,
    zoneinfo.ZoneInfo: _zoneinfo,
    UUID: _uuid,
    list: _list,
    tuple: _list,
    deque: _list,
    set: _set,
    frozenset: _set,
    dict: _dict,
    Counter: _dict,
    OrderedDict: _ordered,
    _Entry: _entry,
    range: _range,
    slice: _slice,
    type(...): _ellipsis,
    type: _type,
}


def _described(value: Any) -> _Described | None:
    """What describes a value whose very type is not in the table; None if nothing does."""
    cls = type(value)
    if isinstance(value, enum.Enum):
        return _enum
    library = _LIBRARIES.get(cls.__module__.partition(".")[0])
    if library is not None or hasattr(value, "__array_interface__"):
        from tare.store import hashed_data

        return getattr(hashed_data, library or "numpys")  # type: ignore[no-any-return] # one of four
    if isinstance(value, PurePath) and cls.__module__.partition(".")[0] == "pathlib":
        return _path
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass
    if isinstance(value, tuple) and hasattr(cls, "_fields"):
        return _namedtuple
    if cls.__module__ == "tare.r.robject" and cls.__name__ == "RObject":
        return _robject
    return None
