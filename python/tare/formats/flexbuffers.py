"""FlexBuffers, the FlatBuffers without schema (https://flatbuffers.dev/internals/#flexbuffers)."""

from __future__ import annotations

from typing import Any

from tare.formats.base import Buffer, Format, Library
from tare.formats.scalars import DEFAULT, texted

__all__ = ["FORMAT"]

_KNOWN = (bool, int, float, str, bytes, bytearray)


def _encode(obj: Any, *, default: str) -> bytes:
    from flatbuffers import flexbuffers

    try:
        return bytes(flexbuffers.Dumps(texted(obj, _KNOWN, default)))
    except AttributeError as error:
        if error.name != "encode":
            raise
        raise TypeError(f"names must be text, and one is of the type {type(error.obj).__name__}") from error


def _decode(data: Buffer, *, default: str) -> Any:
    from flatbuffers import flexbuffers

    return flexbuffers.Loads(bytes(data))


def _open(data: Buffer, *, default: str) -> Any:
    """The root: each value is read when it is asked for."""
    from flatbuffers import flexbuffers

    return flexbuffers.GetRoot(data)


def _path(data: Buffer, steps: list[str], *, default: str) -> Any:
    """The value there; of each mapping on the way some names are read, by bisection."""
    from flatbuffers import flexbuffers

    found: Any = flexbuffers.GetRoot(data)
    for step in steps:
        found = found.AsMap[step] if found.IsMap else found.AsVector[int(step)]
    return found.Value


FORMAT = Format(
    id="flexbuffers",
    title="FlexBuffers",
    extensions=(),
    kinds=frozenset({"document"}),
    spec="https://flatbuffers.dev/internals/#flexbuffers",
    languages=("c++", "java", "javascript", "python", "rust"),
    subset=("path",),
    libraries=(
        Library(
            name="flatbuffers",
            native={"document": "python"},
            encode=_encode,
            decode=_decode,
            modules=("flatbuffers",),
            distribution="flatbuffers",
            extra="documents",
            options={"default": DEFAULT},
            path=_path,
            slow=True,
            notes=(
                "The order of names is lost; names that are not ASCII, and integers above 2^63-1, are refused.",
                "Bytes are not checked when read: damaged ones may read as other values.",
            ),
        ),
    ),
)
