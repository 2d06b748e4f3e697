"""CBOR, as defined in RFC 8949 (https://www.rfc-editor.org/rfc/rfc8949)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO

from tare.formats.base import Buffer, Format, Library, Stream, bound
from tare.formats.cbor_keys import refuse_endless_keys
from tare.formats.scalars import DEFAULT, NATIVE, ORIENT, ROWS_AS_TEXT, parts_of
from tare.scalar_text import as_text

__all__ = ["FORMAT"]


def _bind_encode(*, default: str, orient: str) -> Callable[[Any], bytes]:
    import cbor2

    return partial(cbor2.dumps, **_hooks(default)) if default == "text" else cbor2.dumps


def _bind_decode(**options: Any) -> Callable[[Buffer], Any]:
    import cbor2

    return cbor2.loads


def _hooks(default: str) -> dict[str, Any]:
    if default != "text":
        return {}
    return {"default": _text, "encoders": {datetime: _datetime}}


def _text(encoder: Any, value: object) -> None:
    encoder.encode(as_text(value))


def _datetime(encoder: Any, value: datetime) -> None:
    """CBOR's datetime has an offset; one without is text."""
    if value.tzinfo is None:
        encoder.encode(value.isoformat())
    else:
        encoder.encode_datetime(value)


def _write(obj: Any, file: BinaryIO, *, default: str, orient: str) -> None:
    import cbor2

    encoder = cbor2.CBOREncoder(file, **_hooks(default))
    for part in parts_of(obj):
        encoder.encode(part)


def _read(file: BinaryIO, *, default: str, orient: str) -> Iterator[Any]:
    import cbor2

    while head := file.read(1):
        # One byte is read ahead to tell a clean end from a value cut short.
        yield cbor2.CBORDecoder(_Joined(head, file), read_size=1).decode()


class _Joined(BytesIO):
    """A byte that was read ahead, and the file it came from."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        super().__init__(head)
        self._file = file

    def read(self, size: int | None = -1) -> bytes:
        """At most ``size`` bytes, the one read ahead first."""
        wanted = -1 if size is None else size
        first = super().read(wanted)
        rest = wanted - len(first) if wanted >= 0 else -1
        return first + self._file.read(rest) if rest else first


FORMAT = Format(
    id="cbor",
    title="CBOR",
    extensions=(".cbor",),
    kinds=frozenset({"document", "table"}),
    magic=(b"\xd9\xd9\xf7",),  # the tag "self-described CBOR"
    spec="https://www.rfc-editor.org/rfc/rfc8949",
    languages=("c", "c++", "csharp", "go", "java", "javascript", "python", "rust"),
    libraries=(
        Library(
            name="cbor2",
            native=NATIVE,
            **bound(_bind_encode, _bind_decode),
            modules=("cbor2",),
            distribution="cbor2",
            extra="documents",
            options={"default": DEFAULT, "orient": ORIENT},
            variants=ROWS_AS_TEXT,
            stream=Stream(_write, _read, list),
            check=refuse_endless_keys,
            max_depth=3_000,  # writing 10,000 deep overflows its stack; reading refuses more than 400 itself
            notes=("Bytes after the value are not noticed.",),
        ),
    ),
)
