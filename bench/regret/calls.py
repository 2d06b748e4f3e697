"""The plain library calls that a codec id stands for, one to one, options and levels included.

``calls_of`` reads an id and gives the function that encodes and the one that decodes, as the library's own
documentation writes them. Tare's own formats and compressors are called through ``tare.blit``,
``tare.compress`` and, where they have no public function of their own, their entry in the registry.
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

Call = Callable[[Any], Any]


@dataclass(frozen=True)
class Calls:
    """The two functions of a codec, and its kind of data in memory.

    Args:
        native: Kind in memory: ``python``, ``records``, ``columns``, ``arrow``, ``pandas``, ``polars``.
        encode: Gives bytes, or another object with a length in bytes; of DuckDB the path of a file.
        decode: Takes what ``encode`` gave.
        part: ``part(encoded, column)`` reads one column of a table; None if it cannot.
        path: File that it writes and reads, if it takes no bytes.
    """

    native: str
    encode: Call
    decode: Call
    part: Callable[[Any, str], Any] | None = None
    path: str = ""


@dataclass(frozen=True)
class Id:
    """A codec id in its parts."""

    format: str
    library: str
    options: dict[str, str]
    compressor: str
    level: int | None
    pressing: dict[str, str]


def parsed(id: str) -> Id:
    """Returns the parts of a codec id.

    >>> one = parsed("parquet:pyarrow,compression=zstd,level=9+lz4:1")
    >>> one.format, one.library, one.options["level"], one.compressor, one.level
    ('parquet', 'pyarrow', '9', 'lz4', 1)
    """
    plain, _, pressed = id.partition("+")
    head, *options = plain.split(",")
    format, _, library = head.partition(":")
    compressor, *more = pressed.split(",")
    name, _, level = compressor.partition(":")
    pairs = [dict(text.partition("=")[::2] for text in texts) for texts in (options, more)]
    return Id(format, library or format, pairs[0], name, int(level) if level else None, pairs[1])


def calls_of(id: str, kind: str) -> Calls:
    """Returns the calls of a codec.

    Args:
        id: Codec id.
        kind: ``document`` or ``table``.

    Raises:
        ImportError: The library is not installed.
        LookupError: The oracle does not know the codec.
    """
    one = parsed(id)
    key = f"{one.format}:{one.library}"
    if kind == "table" and key in _tables():
        calls = _tables()[key](one.options)
    elif key in DOCUMENTS:
        calls = _of_documents(key, one.options, kind)
    else:
        calls = _of_registry(id.partition("+")[0], kind)
    return _compressed(calls, one) if one.compressor else calls


def _tables() -> dict[str, Callable[[dict[str, str]], Calls]]:
    from regret import tables

    return tables.TABLES


# --- documents ---------------------------------------------------------------------------


def _json_stdlib(hook: Any) -> tuple[Call, Call]:
    if hook is None:
        return lambda value: json.dumps(value).encode(), json.loads
    return lambda value: json.dumps(value, default=hook).encode(), json.loads


def _json_orjson(hook: Any) -> tuple[Call, Call]:
    import orjson

    return functools.partial(orjson.dumps, default=hook) if hook else orjson.dumps, orjson.loads


def _json_msgspec(hook: Any) -> tuple[Call, Call]:
    import msgspec

    encode = msgspec.json.encode
    return functools.partial(encode, enc_hook=hook) if hook else encode, msgspec.json.decode


def _json_ujson(hook: Any) -> tuple[Call, Call]:
    import ujson

    if hook is None:
        return lambda value: ujson.dumps(value).encode("utf-8", "surrogatepass"), ujson.loads
    return lambda value: ujson.dumps(value, default=hook).encode("utf-8", "surrogatepass"), ujson.loads


def _json_rapidjson(hook: Any) -> tuple[Call, Call]:
    import rapidjson

    return lambda value: rapidjson.dumps(value, default=hook).encode(), rapidjson.loads


def _json_simdjson(hook: Any) -> tuple[Call, Call]:
    import simdjson

    # It has no writer but the standard library's.
    return _json_stdlib(hook)[0], lambda data: simdjson.Parser().parse(data, recursive=True)


def _json_simplejson(hook: Any) -> tuple[Call, Call]:
    import simplejson

    return lambda value: simplejson.dumps(value, default=hook).encode(), simplejson.loads


def _ndjson_orjson(hook: Any) -> tuple[Call, Call]:
    import orjson

    dumps, loads = orjson.dumps, orjson.loads
    return (
        lambda items: b"\n".join([dumps(item, default=hook) for item in items]) + b"\n",
        lambda data: [loads(line) for line in data.splitlines() if line],
    )


def _ndjson_msgspec(hook: Any) -> tuple[Call, Call]:
    import msgspec

    return msgspec.json.Encoder(enc_hook=hook).encode_lines, msgspec.json.Decoder().decode_lines


def _ndjson_stdlib(hook: Any) -> tuple[Call, Call]:
    return (
        lambda items: "".join([json.dumps(item, default=hook) + "\n" for item in items]).encode(),
        lambda data: [json.loads(line) for line in data.splitlines() if line],
    )


def _blit(hook: Any) -> tuple[Call, Call]:
    from tare import blit

    encode = functools.partial(blit.encode, default=hook) if hook else blit.encode
    return encode, lambda data: blit.view(data).to_python()


def _msgpack_msgpack(hook: Any) -> tuple[Call, Call]:
    import msgpack

    encode = functools.partial(msgpack.packb, default=hook) if hook else msgpack.packb
    return encode, functools.partial(msgpack.unpackb, strict_map_key=False)


def _msgpack_msgspec(hook: Any) -> tuple[Call, Call]:
    import msgspec

    encode = msgspec.msgpack.encode
    return functools.partial(encode, enc_hook=hook) if hook else encode, msgspec.msgpack.decode


def _msgpack_ormsgpack(hook: Any) -> tuple[Call, Call]:
    import ormsgpack

    return (functools.partial(ormsgpack.packb, default=hook) if hook else ormsgpack.packb), ormsgpack.unpackb


def _cbor(hook: Any) -> tuple[Call, Call]:
    import cbor2

    if hook is None:
        return cbor2.dumps, cbor2.loads
    return (
        functools.partial(cbor2.dumps, default=lambda encoder, value: encoder.encode(hook(value))),
        cbor2.loads,
    )


def _bson(_: Any) -> tuple[Call, Call]:
    import bson

    def encode(value: Any) -> bytes:
        if isinstance(value, dict):
            return bytes(bson.encode(value))
        return b"".join([bson.encode(item) for item in value])

    def decode(data: bytes) -> Any:
        found = bson.decode_all(data)
        return found[0] if len(found) == 1 else found

    return encode, decode


def _yaml_pyyaml(_: Any, loader: str = "safe", sort_keys: str = "true") -> tuple[Call, Call]:
    import yaml

    dumper = yaml.CSafeDumper if loader == "c" else yaml.SafeDumper
    reader = yaml.CSafeLoader if loader == "c" else yaml.SafeLoader
    return (
        lambda value: yaml.dump(value, Dumper=dumper, encoding="utf-8", sort_keys=sort_keys == "true"),
        lambda data: yaml.load(data, Loader=reader),
    )


def _yaml_rapidyaml(_: Any) -> tuple[Call, Call]:
    import ryml

    return (
        lambda value: str(
            ryml.emit_yaml(ryml.parse_in_arena(json.dumps(value, ensure_ascii=False)))
        ).encode(),
        lambda data: json.loads(ryml.emit_json(ryml.parse_in_arena(str(data, "utf-8"))), strict=False),
    )


def _flexbuffers(_: Any) -> tuple[Call, Call]:
    from flatbuffers import flexbuffers

    return lambda value: bytes(flexbuffers.Dumps(value)), flexbuffers.Loads


def _fory(_: Any) -> tuple[Call, Call]:
    import pyfory

    fory = pyfory.Fory(xlang=True, strict=True, max_graph_memory_bytes=1 << 34)
    return fory.serialize, fory.deserialize


def _sqlitejsonb(_: Any) -> tuple[Call, Call]:
    import apsw
    import orjson

    execute = apsw.Connection(":memory:").execute
    return (
        lambda value: execute("SELECT jsonb(?)", (orjson.dumps(value).decode(),)).get,
        lambda data: orjson.loads(execute("SELECT json(?)", (data,)).get),
    )


DOCUMENTS: dict[str, Callable[..., tuple[Call, Call]]] = {
    "json:stdlib": _json_stdlib,
    "json:orjson": _json_orjson,
    "json:msgspec": _json_msgspec,
    "json:ujson": _json_ujson,
    "json:rapidjson": _json_rapidjson,
    "json:simdjson": _json_simdjson,
    "json:simplejson": _json_simplejson,
    "ndjson:orjson": _ndjson_orjson,
    "ndjson:msgspec": _ndjson_msgspec,
    "ndjson:stdlib": _ndjson_stdlib,
    "blit:tare": _blit,
    "msgpack:msgpack": _msgpack_msgpack,
    "msgpack:msgspec": _msgpack_msgspec,
    "msgpack:ormsgpack": _msgpack_ormsgpack,
    "cbor:cbor2": _cbor,
    "bson:pymongo": _bson,
    "yaml:pyyaml": _yaml_pyyaml,
    "yaml:rapidyaml": _yaml_rapidyaml,
    "flexbuffers:flatbuffers": _flexbuffers,
    "fory:pyfory": _fory,
    "sqlitejsonb:sqlitejsonb": _sqlitejsonb,
}


def _of_documents(key: str, options: dict[str, str], kind: str) -> Calls:
    named = dict(options)
    hook = as_text if named.pop("default", "refuse") == "text" else None
    orient = named.pop("orient", "rows")
    try:
        encode, decode = DOCUMENTS[key](hook, **named)
    except TypeError as error:
        raise LookupError(f"unknown option of {key}: {error}") from error
    native = "python" if kind == "document" else {"rows": "records", "columns": "columns"}[orient]
    return Calls(native, encode, decode)


def as_text(value: object) -> str:
    """Returns the usual text of a scalar that JSON lacks, as ``default=text`` means it."""
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dt.timedelta):
        return f"PT{value.total_seconds():.15g}S"
    raise TypeError(f"{type(value).__name__} has no text")


# --- Tare's own, and compressors -----------------------------------------------------------


def _of_registry(id: str, kind: str) -> Calls:
    """The functions that the registry lists: Tare's own formats, and what a record may name beside."""
    from tare import Codec, TareError

    try:
        codec = Codec.parse(id)
    except TareError as error:
        raise LookupError(f"unknown to the oracle: {error}") from error
    codec.require()
    library, options = codec.library, codec.options
    return Calls(
        library.native[kind],
        functools.partial(library.encode, **options),
        functools.partial(library.decode, **options),
    )


def _compressed(calls: Calls, one: Id) -> Calls:
    """The calls with a compressor behind them; one that writes files has its file read, and written again."""
    press, unpress = _pressing(one)
    encode, decode = calls.encode, calls.decode
    if not calls.path:
        return replace(
            calls,
            encode=lambda value: press(encode(value)),
            decode=lambda data: decode(unpress(data)),
            part=None,
        )

    def encode_file(value: Any) -> Any:
        encode(value)
        with open(calls.path, "rb") as file:
            return press(file.read())

    def decode_file(data: Any) -> Any:
        with open(calls.path, "wb") as file:
            file.write(unpress(data))
        return decode(calls.path)

    return replace(calls, encode=encode_file, decode=decode_file, part=None, path="")


def _pressing(one: Id) -> tuple[Call, Call]:
    name, level, library = one.compressor, one.level, one.pressing.get("library", "tare")
    if library == "tare":
        from tare import compress

        head = name if level is None else f"{name}:{level}"
        id = ",".join([head, *(f"{key}={value}" for key, value in one.pressing.items() if key != "library")])
        layout = "seekable" if "layout" not in one.pressing and name in ("zstd", "lz4", "gzip") else None
        return (
            lambda data: compress.compress(data, id, threads=1, layout=layout),
            lambda data: compress.decompress(data, name, max_output=None, threads=1),
        )
    if (name, library) == ("zstd", "zstandard"):
        import zstandard

        writer, reader = zstandard.ZstdCompressor(level=level or 3), zstandard.ZstdDecompressor()
        return writer.compress, reader.decompress
    if (name, library) == ("lz4", "lz4"):
        import lz4.frame

        return functools.partial(lz4.frame.compress, compression_level=level or 0), lz4.frame.decompress
    if (name, library) == ("gzip", "stdlib"):
        import gzip

        return functools.partial(gzip.compress, compresslevel=9 if level is None else level), gzip.decompress
    raise LookupError(f"unknown to the oracle: {name} by {library}")
