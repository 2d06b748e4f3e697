"""Newline-delimited JSON, one value a line, as described in https://github.com/ndjson/ndjson-spec.

A format of its own beside JSON: it holds a list (of documents, or the rows of a
table), can be appended to, and is read line by line. An empty list is written as
one blank line, so that a file cut to nothing is not taken for it.
"""

from __future__ import annotations

import json as stdlib_json
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

from tare import table_text
from tare.formats.base import ANY_LANGUAGE, Buffer, Format, Library, Stream
from tare.formats.columnar import INFER_ROWS, polars_library
from tare.formats.scalars import DEFAULT, DOCUMENTS_ONLY, NATIVE, ROWS_AS_TEXT, hook, is_lines, parts_of
from tare.kinds import hold_empty

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["FORMAT"]

_OPTIONS = {"default": DEFAULT}
_LINES = 1024


def _lines(data: Buffer) -> list[bytes]:
    """The lines that are not blank."""
    return [line for line in bytes(data).split(b"\n") if line and not line.isspace()]


def _encode_orjson(obj: Any, *, default: str) -> bytes:
    import orjson

    dumps, convert, items = orjson.dumps, hook(default), parts_of(obj)
    # Each line has a kilobyte of its own at first, and those that stay keep what lies between them: few may stay.
    lines = [
        b"\n".join([dumps(item, default=convert) for item in items[at : at + _LINES]])
        for at in range(0, len(items), _LINES)
    ]
    return b"\n".join(lines) + b"\n"


def _decode_orjson(data: Buffer, *, default: str) -> list[Any]:
    import orjson

    return list(map(orjson.loads, _lines(data)))


def _join(parts: Iterable[Buffer], **options: Any) -> Buffer:
    out = bytearray()
    for part in parts:
        out += part
    return out


def _of_arrow(table: pa.Table, *, default: str) -> Iterator[Buffer] | None:
    return table_text.json_parts(table, "lines", default=default, text_of=table_text.text_by_orjson)


def _encode_msgspec(obj: Any, *, default: str) -> bytes:
    import msgspec

    return msgspec.json.Encoder(enc_hook=hook(default)).encode_lines(parts_of(obj)) or b"\n"


def _decode_msgspec(data: Buffer, *, default: str) -> list[Any]:
    import msgspec

    return msgspec.json.Decoder().decode_lines(data)


def _encode_stdlib(obj: Any, *, default: str) -> bytes:
    dumps = stdlib_json.JSONEncoder(default=hook(default)).encode
    return ("\n".join([dumps(item) for item in parts_of(obj)]) + "\n").encode()


def _decode_stdlib(data: Buffer, *, default: str) -> list[Any]:
    loads = stdlib_json.JSONDecoder().decode
    return [loads(str(line, "utf-8")) for line in _lines(data)]


def _write_orjson(obj: Any, file: BinaryIO, *, default: str) -> None:
    import orjson

    convert = hook(default)
    for item in parts_of(obj):  # noqa: FURB122 - a medium has write() alone
        file.write(orjson.dumps(item, default=convert, option=orjson.OPT_APPEND_NEWLINE))


def _read_orjson(file: BinaryIO, *, default: str) -> Iterator[Any]:
    import orjson

    yield from (orjson.loads(line) for line in file if not line.isspace())


def _write_msgspec(obj: Any, file: BinaryIO, *, default: str) -> None:
    import msgspec

    encode = msgspec.json.Encoder(enc_hook=hook(default)).encode
    for item in parts_of(obj):  # noqa: FURB122 - a medium has write() alone
        file.write(encode(item) + b"\n")


def _read_msgspec(file: BinaryIO, *, default: str) -> Iterator[Any]:
    import msgspec

    decode = msgspec.json.Decoder().decode
    yield from (decode(line) for line in file if not line.isspace())


def _write_stdlib(obj: Any, file: BinaryIO, *, default: str) -> None:
    dumps = stdlib_json.JSONEncoder(default=hook(default)).encode
    for item in parts_of(obj):  # noqa: FURB122 - a medium has write() alone
        file.write(dumps(item).encode() + b"\n")


def _read_stdlib(file: BinaryIO, *, default: str) -> Iterator[Any]:
    yield from (stdlib_json.loads(line) for line in file if not line.isspace())


def _encode_polars(obj: pl.DataFrame, *, infer_rows: int) -> bytes:
    if not obj.width:
        hold_empty(obj.height)
    file = BytesIO()
    obj.write_ndjson(file)
    return file.getvalue() or b"\n"


def _decode_polars(data: Buffer, *, infer_rows: int) -> pl.DataFrame:
    import polars as pl

    whole = bytes(data)
    frame = pl.read_ndjson(whole, infer_schema_length=infer_rows or None)
    # Polars gives more than some dozens of columns in any order: those of the first line lead, as they stand there.
    first = _first_object(whole) if frame.width > 1 else {}
    had = set(frame.columns)
    names = [name for name in first if name in had] + [name for name in frame.columns if name not in first]
    return frame if names == frame.columns else frame.select(names)


def _first_object(data: bytes) -> dict[str, Any]:
    """The object of the first line that is none of blanks; empty where Python does not read it."""
    try:
        first = stdlib_json.loads(next((line for line in BytesIO(data) if not line.isspace()), b"{}"))
    except (ValueError, RecursionError):
        return {}
    return first if isinstance(first, dict) else {}


FORMAT = Format(
    id="ndjson",
    title="NDJSON",
    extensions=(".ndjson", ".jsonl"),
    kinds=frozenset({"document", "table"}),
    sequence=True,
    spec="https://github.com/ndjson/ndjson-spec",
    languages=ANY_LANGUAGE,
    text=True,
    sniff=is_lines,
    libraries=(
        Library(
            name="orjson",
            native=NATIVE,
            encode=_encode_orjson,
            append=_encode_orjson,
            join=_join,
            of_arrow=_of_arrow,
            decode=_decode_orjson,
            modules=("orjson",),
            distribution="orjson",
            options=_OPTIONS,
            variants=ROWS_AS_TEXT,
            stream=Stream(_write_orjson, _read_orjson, list),
            notes=("NaN and Infinity become null silently; dates and UUIDs become text.",),
        ),
        Library(
            name="msgspec",
            native=NATIVE,
            encode=_encode_msgspec,
            append=_encode_msgspec,
            join=_join,
            decode=_decode_msgspec,
            modules=("msgspec",),
            distribution="msgspec",
            options=_OPTIONS,
            variants=DOCUMENTS_ONLY,
            stream=Stream(_write_msgspec, _read_msgspec, list),
            notes=("NaN and Infinity become null and bytes become base64 text, silently.",),
        ),
        Library(
            name="stdlib",
            native=NATIVE,
            encode=_encode_stdlib,
            append=_encode_stdlib,
            join=_join,
            decode=_decode_stdlib,
            options=_OPTIONS,
            variants=DOCUMENTS_ONLY,
            stream=Stream(_write_stdlib, _read_stdlib, list),
            notes=(
                "Writes NaN and Infinity, which other readers refuse; keys that are not text become text.",
            ),
        ),
        polars_library(
            encode=_encode_polars,
            append=_encode_polars,
            decode=_decode_polars,
            options={"infer_rows": INFER_ROWS},
        ),
    ),
)
