"""Faults of Avro files with their places: the reader raises bare errors of Python, without a byte."""

from __future__ import annotations

import contextlib
import json
from io import BytesIO
from typing import Any

from tare.datasets.avro_values import InvalidValue, checker, field_of
from tare.datasets.binary_faults import Fault
from tare.errors import Malformed, Truncated, Unsupported
from tare.fidelity.comparison import show

__all__ = ["first_fault"]

_MAGIC = b"Obj\x01"
_MARKER_BYTES = 16
_MOST_ROWS = 5_000_000
_SHOWN = 60
_CUT = "The file was cut: fetch or write it again."
_CODECS = ("null", "deflate", "snappy", "bzip2", "zstandard", "lz4", "xz")
_PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_RECORDS = ("record", "error")


class _Wrong(Exception):
    """Carries a fault out of what finds it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


def first_fault(data: bytes) -> Fault | None:
    r"""Returns the first thing in a container file that the reader refuses; None if it is not found.

    Args:
        data: The bytes of the file.

    >>> first_fault(b"Obj\1\0" + b"S" * 16).what
    "invalid Avro: expected the key 'avro.schema' in its metadata, got none"
    """
    try:
        return _Search(data).run()
    except _Wrong as found:
        return found.fault
    except RecursionError:  # of a schema that is nested too deeply
        return None


class _Search:
    """Goes over a file: header, schema, blocks, rows.

    Args:
        data: The bytes of the file.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = len(_MAGIC)

    def run(self) -> Fault | None:
        """Returns the fault that the reader has with a row; raises those of all else."""
        metadata = self._metadata()
        marker = self._take(_MARKER_BYTES, "a marker of 16 bytes behind its metadata")
        schema = _schema(metadata)
        codec, at = metadata.get("avro.codec", (b"null", 0))
        name = codec.decode("utf-8", "replace")
        if name not in _CODECS:
            said = f"expected one of the compressors {', '.join(_CODECS)}, got {show(name, _SHOWN)}"
            raise _Wrong(Fault(Unsupported, f"invalid Avro: {said}", at, "Write it with another one."))
        starts: list[tuple[int, int]] = []
        while self._at < len(self._data):
            starts.append(self._block(len(starts) + 1, marker))
        return self._rows(schema, starts, is_plain=name == "null")

    def _metadata(self) -> dict[str, tuple[bytes, int]]:
        """Returns the values of the metadata by name, each with its first byte."""
        found: dict[str, tuple[bytes, int]] = {}
        what = "a map of metadata behind the first 4 bytes"
        while count := self._long(what):
            if count < 0:
                self._long(what)
            for _ in range(abs(count)):
                key = self._text(what).decode("utf-8", "replace")
                start = self._at
                value = self._text(what)
                found[key] = value, start + (self._at - start - len(value))
        return found

    def _block(self, number: int, marker: bytes) -> tuple[int, int]:
        """Returns the first byte of a block's rows and the byte behind them."""
        begin = self._at
        where = f", in block {number:,}"
        rows = self._long(f"a number of rows{where}")
        size = self._long(f"a number of bytes{where}")
        if rows < 0 or size < 0:
            what, got = ("rows", rows) if rows < 0 else ("bytes", size)
            raise _wrong(Malformed, f"expected a number of {what} of 0 or more, got {got:,}{where}", begin)
        start = self._at
        self._take(size, f"{size:,} bytes of rows{where}")
        end = self._at
        found = self._take(_MARKER_BYTES, f"a marker of 16 bytes{where}")
        if found != marker:
            said = f"expected the marker {marker.hex()} at its end, got {found.hex()}{where}"
            raise _wrong(Malformed, said, end)
        return start, end

    def _rows(self, schema: Any, starts: list[tuple[int, int]], *, is_plain: bool) -> Fault | None:
        """Returns the fault of the first row that is not read."""
        import fastavro

        left, number = _MOST_ROWS, 0
        try:
            parsed = fastavro.parse_schema(schema)
            check = checker(parsed)
            blocks: Any = iter(fastavro.block_reader(BytesIO(self._data)))
            for number, (start, _) in enumerate(starts, 1):
                block = next(blocks)
                rows: Any = block.bytes_
                for row in range(1, block.num_records + 1):
                    begin = rows.tell()
                    try:
                        with contextlib.suppress(IndexError, RecursionError):
                            check(rows.getvalue(), begin)
                        fastavro.schemaless_reader(rows, parsed, None)
                    except InvalidValue as error:
                        name = field_of(parsed, rows.getvalue(), begin)
                        field = f", field {show(name, _SHOWN)}" if name else ""
                        where = f", in block {number:,}, row {row:,} of it{field}"
                        at = start + error.at if is_plain else start
                        return _wrong(Malformed, f"{error.what}{where}", at).fault
                    except Exception as error:  # of the reader, which has several
                        field = _field(schema, rows.getvalue(), begin)
                        where = f", in block {number:,}, row {row:,} of it{field}"
                        at = start + begin if is_plain else start
                        return _wrong(Malformed, f"{_said(error)}{where}", at).fault
                    left -= 1
                    if not left:
                        return None
        except Exception as error:  # of the reader, and of what decompresses
            if number:
                said = f"expected {'rows' if is_plain else 'compressed rows'}, got {_short(error)}"
                return _wrong(Malformed, f"{said}, in block {number:,}", starts[number - 1][0]).fault
            said = f"expected a schema, got one that is refused: {_short(error)}"
            return _wrong(Malformed, said, len(_MAGIC)).fault
        return None

    def _take(self, size: int, what: str) -> bytes:
        if self._at + size > len(self._data):
            got = f"the end after {len(self._data) - self._at:,}"
            raise _wrong(Truncated, f"expected {what}, got {got}", len(self._data))
        self._at += size
        return self._data[self._at - size : self._at]

    def _text(self, what: str) -> bytes:
        size = self._long(what)
        if size < 0:
            raise _wrong(Malformed, f"expected {what}, got a text of {size:,} bytes", self._at)
        return self._take(size, what)

    def _long(self, what: str) -> int:
        value = shift = 0
        begin = self._at
        while self._at < len(self._data):
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return (value >> 1) ^ -(value & 1)
            if shift > 63:
                raise _wrong(Malformed, f"expected {what}, got an integer of more than 64 bits", begin)
        raise _wrong(Truncated, f"expected {what}, got the end of the file", len(self._data))


def _wrong(kind: type[Malformed | Truncated], said: str, offset: int) -> _Wrong:
    if kind is Truncated:
        return _Wrong(Fault(kind, f"invalid Avro: {said}", offset, _CUT))
    return _Wrong(Fault(kind, f"invalid Avro: {said}", offset))


def _schema(metadata: dict[str, tuple[bytes, int]]) -> Any:
    """Returns the schema as JSON has it."""
    if "avro.schema" not in metadata:
        raise _wrong(Malformed, "expected the key 'avro.schema' in its metadata, got none", len(_MAGIC))
    text, at = metadata["avro.schema"]
    try:
        schema = json.loads(text.decode())
    except UnicodeDecodeError as error:
        raise _wrong(Malformed, "expected a schema in UTF-8, got other bytes", at + error.start) from None
    except (ValueError, RecursionError) as error:
        place = getattr(error, "pos", 0)
        raise _wrong(
            Malformed, f"expected a schema in JSON, got {show(text.decode(), _SHOWN)}", at + place
        ) from None
    said = _of_type(schema, "", set())
    if said:
        raise _wrong(Malformed, said, at)
    return schema


def _of_type(schema: Any, path: str, named: set[str]) -> str:
    """Returns what is wrong with a schema; empty if no fault is found.

    Args:
        schema: The schema, or one within it.
        path: The JSON pointer to it.
        named: Names of types so far, without their namespaces.
    """
    at = f", at {show(path, _SHOWN)[1:-1]} of its schema" if path else ", as its schema"
    got = f"got {show(schema, _SHOWN)}"
    if isinstance(schema, list):
        return next(filter(None, (_of_type(one, f"{path}/{k}", named) for k, one in enumerate(schema))), "")
    if isinstance(schema, str):
        known = schema in _PRIMITIVE or schema.rpartition(".")[2] in named
        return "" if known else f"expected the name of a type, {got}{at}"
    if not isinstance(schema, dict):
        return f"expected the name of a type, an object or a list, {got}{at}"
    if "type" not in schema:
        return f"expected the key 'type', {got}{at}"
    kind = schema["type"]
    if kind in (*_RECORDS, "enum", "fixed"):
        if not isinstance(schema.get("name"), str):
            return f"expected the key 'name' with a text, {got}{at}"
        named.add(schema["name"].rpartition(".")[2])
    wanted = {"array": "items", "map": "values", "enum": "symbols", "fixed": "size", "record": "fields", "error": "fields"}  # fmt: skip
    key = wanted.get(kind) if isinstance(kind, str) else None
    if key is None:
        return _of_type(kind, f"{path}/type", named)
    inner = schema.get(key)
    if kind in ("array", "map"):
        missing = f"expected the key '{key}', {got}{at}"
        return _of_type(inner, f"{path}/{key}", named) if key in schema else missing
    if kind == "fixed":
        is_size = type(inner) is int and inner >= 0
        return "" if is_size else f"expected the key 'size' with a number of bytes, {got}{at}"
    if not isinstance(inner, list):
        return f"expected the key '{key}' with a list, {got}{at}"
    if kind == "enum":
        texts = all(isinstance(one, str) for one in inner)
        return "" if texts else f"expected symbols that are text, {got}{at}"
    for place, field in enumerate(inner):
        where = f"{path}/fields/{place}"
        if not isinstance(field, dict) or not isinstance(field.get("name"), str) or "type" not in field:
            return f"expected a field with the keys 'name' and 'type', got {show(field, _SHOWN)}, at {where} of its schema"
        if said := _of_type(field["type"], f"{where}/type", named):
            return said
    return ""


def _field(schema: Any, data: bytes, begin: int) -> str:
    """Returns the first field of a row that is not read, in words; empty if it is not found."""
    import fastavro

    if not isinstance(schema, dict) or schema.get("type") not in _RECORDS:
        return ""
    fields = schema["fields"]
    low, high = 0, len(fields)  # with the first `low` fields it is read, with `high` it is not
    while high - low > 1:
        middle = (low + high) // 2
        file = BytesIO(data)
        file.seek(begin)
        try:
            fastavro.schemaless_reader(file, {**schema, "fields": fields[:middle]}, None)
            low = middle
        except Exception:  # of the reader, which has several
            high = middle
    return f", field {show(fields[high - 1]['name'], _SHOWN)}" if fields else ""


def _said(error: Exception) -> str:
    """Returns the fault that an error of the reader stands for."""
    if isinstance(error, UnicodeDecodeError):
        return "expected text in UTF-8, got other bytes"
    if isinstance(error, IndexError) and "string" not in str(error):
        return "expected the number of a type of a union, or of a symbol, got one that there is not"
    if isinstance(error, EOFError | IndexError):
        return "expected more bytes, got the end of the block"
    return f"expected a value, got {_short(error)}"


def _short(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return f"what its reader refuses ({show(text, 120)[1:-1]})"
