"""Values of Avro that its reader takes although no writer makes them: a boolean of 2, the branch -1 of a union, a wrong size of a part."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

from tare.errors import Malformed
from tare.formats.avro_bounds import checked_blocks, is_empty, named_types

__all__ = ["InvalidValue", "check_values", "checker", "field_of"]

_A_DAY = {"time-millis": 86_400_000, "time-micros": 86_400_000_000}
_UNITS = {"time-millis": "milliseconds", "time-micros": "microseconds"}
_MOST = 1 << 31
_MOST_SHIFT = 63
_MOST_DIGITS = 10_000
_Step = Callable[[bytes, int], int]


class InvalidValue(Exception):
    """Says what a value is not, and where it begins in its block.

    Args:
        what: What was expected and found.
        at: The first byte of the value.
    """

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


def check_values(data: bytes) -> bool:
    """Passes over the rows of a file without making a value, and returns whether a map has a key twice.

    What is cut, or refused for another reason, is left to who reads it.

    Args:
        data: The file.

    Raises:
        Malformed: A value is not one of its type.
    """
    made = _Checker({})
    try:
        schema, blocks = checked_blocks(BytesIO(data))
        made = _Checker(named_types(schema))
        step = made.of(schema)
        if is_empty(schema, named_types(schema), ()):
            return False
        for block in blocks:
            rows = block.bytes_.getvalue()
            at, end = 0, len(rows)
            for _ in range(block.num_records):
                at = step(rows, at)
                if at > end:
                    return made.has_twice
    except InvalidValue as error:
        raise Malformed(error.what, format="avro") from None
    except Exception:  # of the reader, which has several, and of what is cut
        return made.has_twice
    return made.has_twice


def field_of(schema: Any, data: bytes, at: int) -> str:
    """Returns the name of the field of a record whose value is not one of its type; empty if there is none.

    Args:
        schema: As fastavro has parsed it.
        data: The bytes of a block.
        at: Where the record begins.
    """
    made = _Checker(named_types(schema))
    for field in schema.get("fields", ()) if isinstance(schema, dict) else ():
        try:
            at = made.of(field["type"])(data, at)
        except InvalidValue:
            return str(field["name"])
    return ""


def checker(schema: Any) -> _Step:
    r"""Returns what passes over one value of a schema: of the bytes of a block and a place in it, it gives the place behind the value.

    It raises `InvalidValue`, and `IndexError` at the end of the bytes, or gives a place behind that.

    Args:
        schema: As fastavro has parsed it.

    >>> checker(["null", "boolean"])(b"\2\1", 0)
    2
    >>> checker("boolean")(b"\2", 0)
    Traceback (most recent call last):
    tare.datasets.avro_values.InvalidValue: expected a boolean, of 0 or 1, got the byte 2
    """
    return _Checker(named_types(schema)).of(schema)


class _Checker:
    """Makes a step of each schema; a named one is made once, so that it may hold itself.

    Args:
        named: Schemas by name.
    """

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._made: dict[str, _Step] = {}
        self.has_twice = False

    def of(self, node: Any) -> _Step:
        """Returns the step of a schema."""
        if isinstance(node, list):
            return _union([self.of(one) for one in node], node)
        if isinstance(node, str):
            return self._of_name(node) if node in self._named else _SIMPLE[node]
        kind = node["type"]
        if not isinstance(kind, str):
            return self.of(kind)
        if kind in ("record", "error", "enum", "fixed"):
            return self._of_name(node["name"]) if "name" in node else self._complex(node, kind)
        if kind in ("array", "map"):
            return self._complex(node, kind)
        logical = node.get("logicalType", "")
        if logical in _A_DAY and kind in ("int", "long"):
            return _time(logical)
        if logical == "decimal" and kind == "bytes" and node["precision"] <= _MOST_DIGITS:
            return _decimal(node)
        return self.of(kind)

    def _of_name(self, name: str) -> _Step:
        if name not in self._made:

            def itself(data: bytes, at: int) -> int:
                return self._made[name](data, at)

            self._made[name] = itself
            node = self._named[name]
            self._made[name] = self._complex(node, node["type"])
        return self._made[name]

    def _complex(self, node: Any, kind: str) -> _Step:
        if kind == "enum":
            return _enum(len(node["symbols"]))
        if kind == "fixed":
            size = node["size"]
            return lambda _, at: at + size
        if kind == "array":
            inner = node["items"]
            return _parts(None if is_empty(inner, self._named, ()) else self.of(inner))
        if kind == "map":
            return _parts(self.of(node["values"]), self)
        return _record([self.of(field["type"]) for field in node["fields"]])


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Returns a whole number and the place behind it."""
    value = shift = 0
    begin = at
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128 or shift > _MOST_SHIFT:
            break
    if value >> 64 or byte > 127:
        raise InvalidValue("expected an integer of 64 bits, got one of more", begin)
    return (value >> 1) ^ -(value & 1), at


def _long(data: bytes, at: int) -> int:
    begin = at
    while data[at] > 127:
        at += 1
    return at + 1 if at - begin < 9 else _number(data, begin)[1]


def _int(data: bytes, at: int) -> int:
    begin = at
    while data[at] > 127:
        at += 1
    if at - begin > 3:
        value, at = _number(data, begin)
        if not -_MOST <= value < _MOST:
            raise InvalidValue(f"expected an integer of 32 bits, got {value:,}", begin)
        return at
    return at + 1


def _text(data: bytes, at: int) -> int:
    size, behind = _number(data, at)
    if size < 0:
        raise InvalidValue(f"expected a length of 0 or more, got {size:,}", at)
    return behind + size


def _boolean(data: bytes, at: int) -> int:
    if data[at] > 1:
        raise InvalidValue(f"expected a boolean, of 0 or 1, got the byte {data[at]}", at)
    return at + 1


_SIMPLE: dict[str, _Step] = {
    "null": lambda _, at: at,
    "boolean": _boolean,
    "int": _int,
    "long": _long,
    "float": lambda _, at: at + 4,
    "double": lambda _, at: at + 8,
    "bytes": _text,
    "string": _text,
}


def _union(steps: list[_Step], kinds: list[Any]) -> _Step:
    count = len(steps)

    def step(data: bytes, at: int) -> int:
        byte = data[at]
        if byte < 128 and not byte & 1 and byte >> 1 < count:
            return steps[byte >> 1](data, at + 1)
        branch, behind = _number(data, at)
        if not 0 <= branch < count:
            raise InvalidValue(
                f"expected the number of a type of a union, 0 to {count - 1}, got {branch:,}", at
            )
        return steps[branch](data, behind)

    return step


def _enum(count: int) -> _Step:
    def step(data: bytes, at: int) -> int:
        symbol, behind = _number(data, at)
        if not 0 <= symbol < count:
            raise InvalidValue(
                f"expected the number of a symbol of an enum, 0 to {count - 1}, got {symbol:,}", at
            )
        return behind

    return step


def _record(steps: list[_Step]) -> _Step:
    def step(data: bytes, at: int) -> int:
        for one in steps:
            at = one(data, at)
        return at

    return step


def _parts(item: _Step | None, of_map: _Checker | None = None) -> _Step:
    """The step of a list or a map, whose parts may say how many bytes they have; None for items without bytes."""

    def step(data: bytes, at: int) -> int:
        end = len(data)
        keys: set[bytes] = set()
        total = 0
        while True:
            begin = at
            count, at = _number(data, at)
            if not count:
                if of_map is not None and len(keys) < total:
                    of_map.has_twice = True
                return at
            size = None
            if count < 0:
                count = -count
                size, at = _number(data, at)
            start = at
            if item is not None:
                for _ in range(count):
                    if of_map is not None:
                        begins, at = at, _text(data, at)
                        keys.add(data[begins:at])
                        total += 1
                    at = item(data, at)
                    if at > end:
                        raise IndexError(at)
            if size is not None and at - start != size:
                said = f"expected a part of a list or map of {size:,} bytes, got {at - start:,}"
                raise InvalidValue(said, begin)

    return step


def _time(logical: str) -> _Step:
    most = _A_DAY[logical]

    def step(data: bytes, at: int) -> int:
        value, behind = _number(data, at)
        if not 0 <= value < most:
            raise InvalidValue(f"expected a time of day, got {value:,} {_UNITS[logical]}", at)
        return behind

    return step


def _decimal(node: Any) -> _Step:
    digits = node["precision"]
    most = 10**digits

    def step(data: bytes, at: int) -> int:
        behind = _text(data, at)
        size, start = _number(data, at)
        if behind > len(data):
            raise IndexError(behind)
        if abs(int.from_bytes(data[start : start + size], "big", signed=True)) >= most:
            raise InvalidValue(f"expected a decimal of at most {digits} digits, got one of more", at)
        return behind

    return step
