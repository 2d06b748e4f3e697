"""Dates in binary documents that lie beyond the years 1 to 9999, of which Python has no values: where the first one is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, cast

__all__ = ["first_far"]

_DAY_S = 86_400
_LEAST_S, _MOST_S = -62_135_596_800, 253_402_300_800  # of the years 1 and 10000, from 1970 on
# How many of its units Avro has in a second; days are fewer.
_PER_SECOND = {"millis": 10**3, "micros": 10**6, "nanos": 10**9}
_LONG_YEAR = re.compile(r"[+-]?0*[1-9][0-9]{4,}-|-[0-9]{4}-|0000-")


@dataclass(frozen=True)
class _Moment:
    """A date as its format has it.

    Args:
        value: The number or text.
        unit: What the number counts from 1970 on; empty for a text.
        seconds: The same in seconds; None for a text.
    """

    value: Any
    unit: str = ""
    seconds: float | None = None

    def is_far(self) -> bool:
        """Returns whether Python has no date for it."""
        if self.seconds is None:
            return isinstance(self.value, str) and _LONG_YEAR.match(self.value) is not None
        return not _LEAST_S <= self.seconds < _MOST_S

    def text(self) -> str:
        """Returns the value in words."""
        return f"{self.value:,} {self.unit} from 1970" if self.unit else repr(self.value)


def first_far(format_id: str, data: bytes) -> str:
    """Returns where the first date beyond the years 1 to 9999 is and what it says; empty if there is none.

    Args:
        format_id: The format: of Avro, BSON and CBOR dates are found.
        data: The document.
    """
    read = _READERS.get(format_id)
    if read is None:
        return ""
    try:
        for place, moment in read(data):
            if moment.is_far():
                return f"{place} is {moment.text()}"
    except Exception:  # of three libraries: then it is not the date that is wrong
        return ""
    return ""


def _bson(data: bytes) -> Iterator[tuple[str, _Moment]]:
    import bson
    from bson.codec_options import CodecOptions, DatetimeConversion

    options: Any = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)
    for number, document in enumerate(bson.decode_all(data, options), 1):
        for path, value in _leaves(document, ""):
            if isinstance(value, bson.DatetimeMS):
                yield f"{path} of document {number:,}", _Moment(int(value), "ms", int(value) / 1000)


def _cbor(data: bytes) -> Iterator[tuple[str, _Moment]]:
    import cbor2

    def number(value: Any, *_: Any) -> Any:
        return _Moment(value, "s", value) if isinstance(value, int | float) else value

    def day(value: Any, *_: Any) -> Any:
        return _Moment(value, "days", value * _DAY_S) if isinstance(value, int) else value

    def text(value: Any, *_: Any) -> Any:
        return _Moment(value)

    decoders: Any = {0: text, 1: number, 100: day, 1004: text}  # RFC 8949, 3.4.1 and 3.4.2; RFC 8943
    value = cbor2.CBORDecoder(BytesIO(data), semantic_decoders=decoders).decode()
    for path, one in _leaves(value, ""):
        if isinstance(one, _Moment):
            yield path or "its value", one


def _avro(data: bytes) -> Iterator[tuple[str, _Moment]]:
    import fastavro

    blocks = fastavro.block_reader(BytesIO(data))
    schema: Any = blocks.writer_schema
    plain, row = _without_logical_types(schema), 0
    for block in blocks:
        for _ in range(block.num_records):
            row += 1
            record = fastavro.schemaless_reader(cast(Any, block).bytes_, plain, None)
            for path, moment in _moments(schema, record, ""):
                yield f"{path} of row {row:,}", moment


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            name: _without_logical_types(one)
            for name, one in schema.items()
            if name != "logicalType" and not name.startswith("__")
        }
    return [_without_logical_types(one) for one in schema] if isinstance(schema, list) else schema


def _moments(schema: Any, value: Any, path: str) -> Iterator[tuple[str, _Moment]]:
    """Yields the dates of a value of Avro by its schema; of a union, by whichever branch it may be."""
    if isinstance(schema, list):
        for one in schema:
            yield from _moments(one, value, path)
    if not isinstance(schema, dict):
        return
    logical = str(schema.get("logicalType", ""))
    if logical == "date" and isinstance(value, int):
        yield path, _Moment(value, "days", value * _DAY_S)
    elif "timestamp-" in logical and isinstance(value, int):
        unit = logical.rpartition("-")[2]
        yield path, _Moment(value, unit, value / _PER_SECOND[unit])
    elif "fields" in schema and isinstance(value, dict):
        for field in schema["fields"]:
            name = field["name"]
            yield from _moments(field["type"], value.get(name), f"{path}.{name}" if path else name)
    elif "items" in schema and isinstance(value, list):
        for at, one in enumerate(value):
            yield from _moments(schema["items"], one, f"{path}[{at}]")
    elif "values" in schema and isinstance(value, dict):
        for name, one in value.items():
            yield from _moments(schema["values"], one, f"{path}.{name}")


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _leaves(one, f"{path}[{at}]")
    else:
        yield path, value


_READERS: dict[str, Callable[[bytes], Iterator[tuple[str, _Moment]]]] = {
    "avro": _avro,
    "bson": _bson,
    "cbor": _cbor,
}
