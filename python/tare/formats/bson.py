"""BSON, as defined in https://bsonspec.org/spec.html.

Its top is a mapping. A list of mappings is written as MongoDB's dumps are: one
document after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tare.formats.base import Buffer, Format, Library, Option, bound
from tare.formats.scalars import DEFAULT, DOCUMENTS_ONLY, NATIVE, hook

__all__ = ["FORMAT"]

_LAYOUT = Option(
    "auto",
    ("auto", "sequence"),
    "auto = a mapping is one document, a list of mappings several, and one document reads as a mapping; "
    "sequence = always a list.",
)
_MINIMUM_BYTES = 5  # length and end of an empty document


def _bind_encode(*, default: str, layout: str) -> Callable[[Any], bytes]:
    import bson
    from bson.codec_options import CodecOptions, TypeRegistry

    options: Any = CodecOptions()
    if default == "text":
        from bson.binary import UuidRepresentation

        registry = TypeRegistry(fallback_encoder=hook(default))
        options = CodecOptions(uuid_representation=UuidRepresentation.STANDARD, type_registry=registry)
    encode_one, is_auto = bson.encode, layout == "auto"

    def encode(obj: Any) -> bytes:
        if is_auto and isinstance(obj, dict):
            return bytes(encode_one(obj, codec_options=options))
        if not isinstance(obj, list) or not obj:
            raise TypeError(
                "the top of BSON is a mapping or, in a sequence, a list of mappings that is not empty"
            )
        try:
            return b"".join([encode_one(item, codec_options=options) for item in obj])
        except TypeError as error:
            at = next((at for at, item in enumerate(obj) if not isinstance(item, Mapping)), None)
            if at is None:
                raise
            raise TypeError(
                f"item {at + 1:,} is of type {type(obj[at]).__name__}, and each item of BSON is an object"
            ) from error

    return encode


def _append(obj: Any, **options: Any) -> bytes:
    return _bind_encode(**options)(obj)


def _bind_decode(*, default: str, layout: str) -> Callable[[Buffer], Any]:
    import bson

    decode_all, is_auto = bson.decode_all, layout == "auto"

    def decode(data: Buffer) -> Any:
        items = decode_all(data)
        return items[0] if is_auto and len(items) == 1 else items

    return decode


def _path(data: Buffer, steps: list[str], **options: Any) -> Any:
    """The value there; of each mapping on the way the names and lengths alone are read."""
    import bson
    from bson.raw_bson import DEFAULT_RAW_BSON_OPTIONS, RawBSONDocument

    found: Any = bson.decode_all(data, DEFAULT_RAW_BSON_OPTIONS)
    if options["layout"] == "auto" and len(found) == 1:
        found = found[0]
    for step in steps:
        found = found[step] if isinstance(found, RawBSONDocument) else found[int(step)]
    if isinstance(found, RawBSONDocument):
        return bson.decode(found.raw)
    return bson.decode(bson.encode({"": found}))[""] if isinstance(found, list) else found


def _sniff(head: bytes) -> bool:
    """The length that opens it, a known element type or the end, and the final NUL if it is in sight."""
    length = int.from_bytes(head[:4], "little")
    if len(head) < _MINIMUM_BYTES or length < _MINIMUM_BYTES:
        return False
    if length == _MINIMUM_BYTES:
        return head[4:5] == b"\0"
    named = head[4] in range(1, 20) and b"\0" in head[5:]
    return named and (len(head) < length or head[length - 1] == 0) and length < 1 << 24


FORMAT = Format(
    id="bson",
    title="BSON",
    extensions=(".bson",),
    kinds=frozenset({"document", "table"}),
    spec="https://bsonspec.org/spec.html",
    languages=("c", "c++", "csharp", "go", "java", "javascript", "php", "python", "ruby", "rust"),
    sniff=_sniff,
    libraries=(
        Library(
            name="pymongo",
            native=NATIVE,
            **bound(_bind_encode, _bind_decode),
            append=_append,
            modules=("bson", "pymongo"),
            distribution="pymongo",
            extra="documents",
            options={"default": DEFAULT, "layout": _LAYOUT},
            path=_path,
            variants=DOCUMENTS_ONLY,
            notes=(
                "Datetimes are kept to the millisecond and come back without their zone.",
                "A list of one mapping comes back as that mapping unless layout=sequence.",
            ),
        ),
    ),
)
