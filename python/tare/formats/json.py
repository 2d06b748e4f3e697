"""JSON, as defined in RFC 8259 (https://www.rfc-editor.org/rfc/rfc8259).

Every library keeps its own defaults: what they do with NaN, big integers and
keys that are not text is what fidelity shows.
"""

from __future__ import annotations

import json as stdlib_json
import re
from functools import partial
from typing import Any

from tare.formats.base import ANY_LANGUAGE, Buffer, Format, Library, Option, decode_by, encode_by
from tare.formats.scalars import (
    BOTH_ORIENTS,
    DEFAULT,
    DOCUMENTS_ONLY,
    NATIVE,
    ORIENT,
    ROWS_AS_TEXT,
    hook,
    is_lines,
)

__all__ = ["FORMAT"]

_COMPACT = Option(
    False, (False, True), "Leave out the spaces after commas and colons, as the C libraries do."
)
_NON_STR_KEYS = Option(
    False, (False, True), "Write keys that are not text (numbers, dates) as text instead of refusing them."
)
_SORT_KEYS = Option(
    False,
    (False, True),
    "Write the names of each mapping sorted by code point instead of in the order they came.",
)


def _encode_stdlib(obj: Any, *, compact: bool, default: str, orient: str, sort_keys: bool = False) -> bytes:
    separators = (",", ":") if compact else None
    return stdlib_json.dumps(obj, separators=separators, default=hook(default), sort_keys=sort_keys).encode()


def _decode_stdlib(data: Buffer, *, compact: bool, default: str, orient: str, sort_keys: bool) -> Any:
    return stdlib_json.loads(_text(data))


def _orjson(*, non_str_keys: bool, default: str, orient: str, sort_keys: bool) -> tuple[Any, Any]:
    import orjson

    option = (orjson.OPT_NON_STR_KEYS if non_str_keys else 0) | (orjson.OPT_SORT_KEYS if sort_keys else 0)
    if not option and hook(default) is None:
        return orjson.dumps, orjson.loads
    return partial(orjson.dumps, default=hook(default), option=option or None), orjson.loads


def _msgspec(*, default: str, orient: str, sort_keys: bool) -> tuple[Any, Any]:
    import msgspec

    encode, decode = msgspec.json.encode, msgspec.json.decode
    if hook(default) is None and not sort_keys:
        return encode, decode
    return partial(encode, enc_hook=hook(default), order="sorted" if sort_keys else None), decode


def _ujson(*, default: str, orient: str, sort_keys: bool) -> tuple[Any, Any]:
    import ujson

    dumps, loads, more = ujson.dumps, ujson.loads, _more(default, sort_keys)

    def decode(data: Buffer) -> Any:
        return loads(data if type(data) is bytes else bytes(data))

    return lambda obj: dumps(obj, **more).encode("utf-8", "surrogatepass"), decode


def _rapidjson(*, default: str, orient: str, sort_keys: bool) -> tuple[Any, Any]:
    import rapidjson

    dumps, loads, more = rapidjson.dumps, rapidjson.loads, _more(default, sort_keys)
    return lambda obj: dumps(obj, **more).encode(), lambda data: loads(_text(data))


def _more(default: str, sort_keys: bool) -> dict[str, Any]:
    """Returns the arguments that are not a library's own defaults."""
    found: dict[str, Any] = {"sort_keys": True} if sort_keys else {}
    return found if hook(default) is None else found | {"default": hook(default)}


def _decode_simdjson(data: Buffer, *, compact: bool, default: str, orient: str) -> Any:
    import simdjson

    return simdjson.Parser().parse(data, recursive=True)


def _open_simdjson(data: Buffer, **options: Any) -> Any:
    """A proxy that decodes each value when it is asked for."""
    import simdjson

    return simdjson.Parser().parse(data)


def _path_simdjson(data: Buffer, steps: list[str], **options: Any) -> Any:
    """The value there; of the rest only the structure is found."""
    import simdjson

    value: Any = simdjson.Parser().parse(data)
    for step in steps:
        value = value[step] if isinstance(value, simdjson.Object) else value[int(step)]
    if isinstance(value, simdjson.Object):
        return value.as_dict()
    return value.as_list() if isinstance(value, simdjson.Array) else value


def _encode_simplejson(obj: Any, *, compact: bool, default: str, orient: str, sort_keys: bool) -> bytes:
    import simplejson

    separators = (",", ":") if compact else None
    if default == "refuse":
        text: str = simplejson.dumps(obj, separators=separators, sort_keys=sort_keys)
        return text.encode()
    # By itself it takes bytes for UTF-8 text and decimals for numbers.
    more: dict[str, Any] = {"encoding": None, "use_decimal": False, "default": hook(default)}
    text = simplejson.dumps(obj, separators=separators, sort_keys=sort_keys, **more)
    return text.encode()


def _decode_simplejson(data: Buffer, *, compact: bool, default: str, orient: str, sort_keys: bool) -> Any:
    import simplejson

    return simplejson.loads(_text(data))


def _text(data: Buffer) -> str:
    """Text of UTF-8 bytes; unlike ``json.loads(bytes)`` it guesses no other encoding."""
    return str(data, "utf-8")


# Brackets open YAML and Python literals too: JSON goes on with a double quote or a value of its own.
_OPENS = re.compile(rb'[\[\s]*(\{\s*("|\}|$)|\]|"|-?\d|true|false|null|NaN|-?Infinity|$)')
_SCALAR = re.compile(rb'"[^"\n]*"|-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null')


def _sniff(head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if not start or is_lines(head):
        return False
    if start[:1] in b"{[":
        return _OPENS.match(start) is not None
    return _SCALAR.fullmatch(start.rstrip()) is not None


FORMAT = Format(
    id="json",
    title="JSON",
    extensions=(".json", ".geojson"),
    kinds=frozenset({"document", "table"}),
    spec="https://www.rfc-editor.org/rfc/rfc8259",
    languages=ANY_LANGUAGE,
    text=True,
    sniff=_sniff,
    libraries=(
        Library(
            name="stdlib",
            native=NATIVE,
            encode=_encode_stdlib,
            decode=_decode_stdlib,
            options={"compact": _COMPACT, "default": DEFAULT, "orient": ORIENT, "sort_keys": _SORT_KEYS},
            variants=ROWS_AS_TEXT,
            notes=(
                "Writes NaN and Infinity, which other readers refuse; keys that are not text become text.",
            ),
        ),
        Library(
            name="orjson",
            native=NATIVE,
            encode=encode_by(_orjson),
            decode=decode_by(_orjson),
            calls=_orjson,
            modules=("orjson",),
            distribution="orjson",
            options={
                "default": DEFAULT,
                "non_str_keys": _NON_STR_KEYS,
                "orient": ORIENT,
                "sort_keys": _SORT_KEYS,
            },
            variants=BOTH_ORIENTS,
            notes=("NaN and Infinity become null silently; dates and UUIDs become text.",),
        ),
        Library(
            name="msgspec",
            native=NATIVE,
            encode=encode_by(_msgspec),
            decode=decode_by(_msgspec),
            calls=_msgspec,
            modules=("msgspec",),
            distribution="msgspec",
            options={"default": DEFAULT, "orient": ORIENT, "sort_keys": _SORT_KEYS},
            variants=DOCUMENTS_ONLY,
            notes=("NaN and Infinity become null and bytes become base64 text, silently.",),
        ),
        Library(
            name="ujson",
            native=NATIVE,
            encode=encode_by(_ujson),
            decode=decode_by(_ujson),
            calls=_ujson,
            modules=("ujson",),
            distribution="ujson",
            extra="documents",
            options={"default": DEFAULT, "orient": ORIENT, "sort_keys": _SORT_KEYS},
            variants=DOCUMENTS_ONLY,
            notes=("Decimals become floats silently.",),
        ),
        Library(
            name="rapidjson",
            native=NATIVE,
            encode=encode_by(_rapidjson),
            decode=decode_by(_rapidjson),
            calls=_rapidjson,
            modules=("rapidjson",),
            distribution="python-rapidjson",
            extra="documents",
            options={"default": DEFAULT, "orient": ORIENT, "sort_keys": _SORT_KEYS},
            variants=DOCUMENTS_ONLY,
        ),
        Library(
            name="simdjson",
            native=NATIVE,
            encode=_encode_stdlib,
            decode=_decode_simdjson,
            modules=("simdjson",),
            distribution="pysimdjson",
            extra="documents",
            options={"compact": _COMPACT, "default": DEFAULT, "orient": ORIENT},
            variants=DOCUMENTS_ONLY,
            open=_open_simdjson,
            path=_path_simdjson,
            notes=("Reads only: writing is the standard library's, as its own `dumps` is.",),
        ),
        Library(
            name="simplejson",
            native=NATIVE,
            encode=_encode_simplejson,
            decode=_decode_simplejson,
            modules=("simplejson",),
            distribution="simplejson",
            extra="documents",
            options={"compact": _COMPACT, "default": DEFAULT, "orient": ORIENT, "sort_keys": _SORT_KEYS},
            variants=DOCUMENTS_ONLY,
        ),
    ),
)
