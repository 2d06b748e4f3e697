"""JSON, as defined in RFC 8259 (https://www.rfc-editor.org/rfc/rfc8259).

Every library keeps its own defaults: what they do with NaN, big integers and
keys that are not text is what fidelity shows.
"""

from __future__ import annotations

import json as stdlib_json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tare import table_text
from tare.formats.base import ANY_LANGUAGE, Buffer, Format, Library, Option, bound
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

if TYPE_CHECKING:
    import pyarrow as pa

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


def _bind_stdlib(
    *, compact: bool, default: str, orient: str, sort_keys: bool = False
) -> Callable[[Any], bytes]:
    write: Callable[[Any], str] = stdlib_json.dumps
    if compact or sort_keys or default != "refuse":
        separators = (",", ":") if compact else None
        write = stdlib_json.JSONEncoder(
            separators=separators, default=hook(default), sort_keys=sort_keys
        ).encode
    return lambda obj: write(obj).encode()


def _bound_stdlib(**options: Any) -> Callable[[Buffer], Any]:
    return lambda data: stdlib_json.loads(_text(data))


def _bind_orjson(*, non_str_keys: bool, default: str, orient: str, sort_keys: bool) -> Callable[[Any], bytes]:
    import orjson

    option = (orjson.OPT_NON_STR_KEYS if non_str_keys else 0) | (orjson.OPT_SORT_KEYS if sort_keys else 0)
    if not option and default == "refuse":
        return orjson.dumps
    return partial(orjson.dumps, default=hook(default), option=option or None)


def _bound_orjson(**options: Any) -> Callable[[Buffer], Any]:
    import orjson

    return orjson.loads


def _arrow_by_stdlib(
    table: pa.Table, *, compact: bool, default: str, orient: str, sort_keys: bool
) -> Iterator[Buffer] | None:
    if orient != "rows" or sort_keys:
        return None
    return table_text.json_parts(table, "ascii items" if compact else "spaced items", default=default)


def _arrow_by_orjson(
    table: pa.Table, *, non_str_keys: bool, default: str, orient: str, sort_keys: bool
) -> Iterator[Buffer] | None:
    if orient != "rows" or sort_keys:
        return None
    return table_text.json_parts(table, "items", default=default, text_of=table_text.text_by_orjson)


def _bind_msgspec(*, default: str, orient: str, sort_keys: bool) -> Callable[[Any], bytes]:
    import msgspec

    if not sort_keys and default == "refuse":
        return msgspec.json.encode
    return partial(msgspec.json.encode, enc_hook=hook(default), order="sorted" if sort_keys else None)


def _bound_msgspec(**options: Any) -> Callable[[Buffer], Any]:
    import msgspec

    return msgspec.json.decode


def _bind_ujson(*, default: str, orient: str, sort_keys: bool) -> Callable[[Any], bytes]:
    import ujson

    write = ujson.dumps
    if sort_keys or default != "refuse":
        write = partial(ujson.dumps, default=hook(default), sort_keys=sort_keys)
    return lambda obj: write(obj).encode("utf-8", "surrogatepass")


def _bound_ujson(**options: Any) -> Callable[[Buffer], Any]:
    import ujson

    return lambda data: ujson.loads(bytes(data))


def _bind_rapidjson(*, default: str, orient: str, sort_keys: bool) -> Callable[[Any], bytes]:
    import rapidjson

    write = rapidjson.dumps
    if sort_keys or default != "refuse":
        write = partial(rapidjson.dumps, default=hook(default), sort_keys=sort_keys)
    return lambda obj: write(obj).encode()


def _bound_rapidjson(**options: Any) -> Callable[[Buffer], Any]:
    import rapidjson

    return lambda data: rapidjson.loads(_text(data))


def _bound_simdjson(**options: Any) -> Callable[[Buffer], Any]:
    import simdjson

    parser = simdjson.Parser
    return lambda data: parser().parse(data, recursive=True)


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


def _bind_simplejson(*, compact: bool, default: str, orient: str, sort_keys: bool) -> Callable[[Any], bytes]:
    import simplejson

    write = simplejson.dumps
    if compact or sort_keys or default != "refuse":
        separators = (",", ":") if compact else None
        # By itself it takes bytes for UTF-8 text and decimals for numbers.
        more: dict[str, Any] = {"encoding": None, "use_decimal": False, "default": hook(default)}
        more = more if default != "refuse" else {}
        write = partial(simplejson.dumps, separators=separators, sort_keys=sort_keys, **more)
    return lambda obj: write(obj).encode()


def _bound_simplejson(**options: Any) -> Callable[[Buffer], Any]:
    import simplejson

    return lambda data: simplejson.loads(_text(data))


def _join(parts: Iterable[Buffer], *, compact: bool = True, **options: Any) -> Buffer:
    """One array of several; behind its commas stands a space unless it is compact."""
    out = bytearray(b"[")
    for part in parts:  # added at once: what a library returns may lie in a larger piece of memory
        if len(out) > 1:
            out += b"," if compact else b", "
        out += memoryview(part)[1:-1]
    out += b"]"
    return out


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
            **bound(_bind_stdlib, _bound_stdlib),
            join=_join,
            of_arrow=_arrow_by_stdlib,
            options={"compact": _COMPACT, "default": DEFAULT, "orient": ORIENT, "sort_keys": _SORT_KEYS},
            variants=ROWS_AS_TEXT,
            notes=(
                "Writes NaN and Infinity, which other readers refuse; keys that are not text become text.",
            ),
        ),
        Library(
            name="orjson",
            native=NATIVE,
            **bound(_bind_orjson, _bound_orjson),
            join=_join,
            of_arrow=_arrow_by_orjson,
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
            **bound(_bind_msgspec, _bound_msgspec),
            join=_join,
            modules=("msgspec",),
            distribution="msgspec",
            options={"default": DEFAULT, "orient": ORIENT, "sort_keys": _SORT_KEYS},
            variants=DOCUMENTS_ONLY,
            notes=("NaN and Infinity become null and bytes become base64 text, silently.",),
        ),
        Library(
            name="ujson",
            native=NATIVE,
            **bound(_bind_ujson, _bound_ujson),
            join=_join,
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
            **bound(_bind_rapidjson, _bound_rapidjson),
            join=_join,
            modules=("rapidjson",),
            distribution="python-rapidjson",
            extra="documents",
            options={"default": DEFAULT, "orient": ORIENT, "sort_keys": _SORT_KEYS},
            variants=DOCUMENTS_ONLY,
        ),
        Library(
            name="simdjson",
            native=NATIVE,
            **bound(_bind_stdlib, _bound_simdjson),
            join=_join,
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
            **bound(_bind_simplejson, _bound_simplejson),
            join=_join,
            modules=("simplejson",),
            distribution="simplejson",
            extra="documents",
            options={"compact": _COMPACT, "default": DEFAULT, "orient": ORIENT, "sort_keys": _SORT_KEYS},
            variants=DOCUMENTS_ONLY,
        ),
    ),
)
