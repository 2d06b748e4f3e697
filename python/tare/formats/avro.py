"""Apache Avro's container file, as defined in https://avro.apache.org/docs/1.12.0/specification/.

The schema is told from the values: the type of a column is that of its first
value that is not null, and every column may hold nulls.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from io import BytesIO
from typing import Any, BinaryIO

from tare.formats.base import Buffer, Format, Library, Option, Stream
from tare.formats.scalars import DEFAULT, as_text

__all__ = ["FORMAT"]

_COMPRESSION = Option("none", ("none", "deflate"), "Compression of the blocks.")
_CODECS = {"none": "null", "deflate": "deflate"}
_PRECISION = 38  # digits of a decimal, the most that other readers take


def _encode(obj: list[dict[str, Any]], *, compression: str, default: str) -> bytes:
    file = BytesIO()
    _write(obj, file, compression=compression, default=default)
    return file.getvalue()


def _decode(data: Buffer, *, compression: str, default: str) -> list[Any]:
    import fastavro

    return list(fastavro.reader(BytesIO(data)))


def _write(obj: list[dict[str, Any]], file: BinaryIO, *, compression: str, default: str) -> None:
    import fastavro

    columns = {name: _first(obj, name) for row in obj[:1] for name in row}
    texts = [name for name, value in columns.items() if default == "text" and _type(value) is None]
    if texts:
        obj = [{**row, **{name: _text(row[name]) for name in texts}} for row in obj]
        columns.update(dict.fromkeys(texts, ""))
    fields = []
    for name, value in columns.items():
        kind = _type(value)
        if kind is None:
            raise TypeError(f"column {name[:80]!r}: Avro has no type for {type(value).__name__}")
        fields.append({"name": name, "type": ["null", kind] if kind != "null" else "null", "default": None})
    schema = {"type": "record", "name": "row", "fields": fields}
    fastavro.writer(file, fastavro.parse_schema(schema), obj, codec=_CODECS[compression], strict=True)


def _read(file: BinaryIO, *, compression: str, default: str) -> Iterator[Any]:
    import fastavro

    yield from fastavro.reader(file)


def _first(rows: list[dict[str, Any]], name: str) -> Any:
    return next((row[name] for row in rows if row[name] is not None), None)


def _text(value: Any) -> str | None:
    return None if value is None else as_text(value)


def _type(value: Any) -> Any:
    """Avro's type for values like this one; None if it has none."""
    if value is None:
        return "null"
    if isinstance(value, datetime):
        logical = "local-timestamp-micros" if value.tzinfo is None else "timestamp-micros"
        return {"type": "long", "logicalType": logical}
    if isinstance(value, Decimal):
        scale = max(0, -int(value.as_tuple().exponent)) if value.is_finite() else 0
        return {"type": "bytes", "logicalType": "decimal", "precision": _PRECISION, "scale": scale}
    for types, name in _TYPES:
        if isinstance(value, types):
            return name
    return None


_TYPES: tuple[tuple[type | tuple[type, ...], Any], ...] = (
    (bool, "boolean"),
    (int, "long"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (date, {"type": "int", "logicalType": "date"}),
    (time, {"type": "long", "logicalType": "time-micros"}),
)


FORMAT = Format(
    id="avro",
    title="Avro",
    extensions=(".avro",),
    kinds=frozenset({"table"}),
    magic=(b"Obj\x01",),
    spec="https://avro.apache.org/docs/1.12.0/specification/",
    languages=("c", "c++", "csharp", "go", "java", "javascript", "php", "python", "ruby", "rust"),
    libraries=(
        Library(
            name="fastavro",
            native={"table": "records"},
            encode=_encode,
            decode=_decode,
            modules=("fastavro",),
            distribution="fastavro",
            extra="tables",
            options={"compression": _COMPRESSION, "default": DEFAULT},
            variants={"table": ({"default": "text"},)},
            slow=True,
            stream=Stream(_write, _read, list),
            notes=("Column names must be identifiers; a column takes the type of its first value.",),
        ),
    ),
)
