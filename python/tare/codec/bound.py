"""Calls of a codec that encode and decode, with everything resolved that does not depend on the value."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tare import kinds
from tare.codec.compressing import Counted, packing
from tare.codec.refusals import deeper_than, mapped, too_deep
from tare.errors import EncodeError

if TYPE_CHECKING:
    from tare.codec.codec import Codec
    from tare.formats.base import Buffer

__all__ = ["Encoders", "rows_encoder", "shallow", "shallow_bytes", "text_parts", "write_parts"]

# Until Python 3.12 code in C counts its levels by the recursion limit too, and msgspec refuses what is deeper. (orjson
# counts no tuples, and marshal follows what is shared only once: what they take may be deep.)
_COUNTS_LEVELS = sys.version_info < (3, 12)


class Encoders(dict[str, Any]):
    """The bound calls of a codec that encode, by the in-memory kind of the value; made when first asked for."""

    def __init__(self, codec: Codec) -> None:
        super().__init__()
        self._codec = codec

    def __missing__(self, memory: str) -> Callable[[Any], Buffer]:
        codec = self._codec
        kind = codec._data_kind(memory)  # noqa: SLF001 - a part of the codec
        convert = codec._converter(kind, memory)  # noqa: SLF001
        encode = codec.encoder(kind)
        call = encode if convert is None else lambda obj: encode(convert(obj))
        if convert is not None and (of_rows := rows_encoder(codec, kind)) is not None:
            call = codec._packed(of_rows)  # noqa: SLF001
        self[memory] = call
        return call


def rows_encoder(codec: Codec, kind: str) -> Callable[[Any], Buffer] | None:
    """Returns a call that encodes a table as its rows, in the same bytes, of which a slice is Python's at a time.

    None if the library takes no rows, or what it writes of slices is not part of what it writes of all.
    """
    join, options = codec.library.join, codec.options
    if join is None or codec.native(kind) != "records":
        return None
    encode = codec._plain_encoder(kind)  # noqa: SLF001

    def of_rows(obj: Any) -> Buffer:
        if (parts := text_parts(codec, obj)) is not None:
            return b"".join(parts)
        return join((encode(rows) for rows in kinds.record_slices(obj)), **options)

    return of_rows


def text_parts(codec: Codec, obj: Any) -> Iterator[Buffer] | None:
    """Returns the bytes that a codec without its compressor makes of a table, in parts, without making its native kind.

    None if the library has no such way, or not for this table: then nothing was written yet.

    Args:
        codec: The codec.
        obj: A table of Arrow, pandas or polars.

    Raises:
        EncodeError: From the iterator: a value that the format cannot hold.
    """
    of_arrow = codec.library.of_arrow
    if of_arrow is None or not codec.library.installed or codec.native("table") not in ("records", "arrow"):
        return None
    parts = of_arrow(kinds.convert(obj, "arrow"), **codec.options)
    return None if parts is None else _mapped(codec, parts)


def _mapped(codec: Codec, parts: Iterator[Buffer]) -> Iterator[Buffer]:
    with mapped(codec, EncodeError):
        yield from parts


def write_parts(codec: Codec, parts: Iterator[Buffer], file: BinaryIO) -> int:
    """Writes the parts of a codec's text, compressed on their way, and returns how many bytes these are.

    Args:
        codec: The codec.
        parts: As `text_parts` gives them.
        file: Where they go.
    """
    counted = Counted(file)
    with contextlib.ExitStack() as stack:
        out = cast("BinaryIO", counted)
        if codec.compressor is not None:
            settings = codec.compressor_settings
            out = stack.enter_context(packing(out, codec.compressor, codec.level, settings))
        for part in parts:
            out.write(part)
    return counted.count


def shallow(codec: Codec, limit: int, call: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a call that refuses values nested deeper than its library survives.

    Every value is walked, in time proportional to its size: so it is when the codec is measured. What msgspec
    takes is not deep, and it walks ten times as fast; what it refuses is walked here.

    Raises:
        Limit: By the call: the value is nested deeper than ``limit``.
    """
    if not _COUNTS_LEVELS:
        proof = None
    else:
        from msgspec import msgpack

        proof = msgpack.encode

    def guarded(obj: Any, *more: Any) -> Any:
        proven = False
        if proof is not None and sys.getrecursionlimit() <= limit:
            try:
                proof(obj)
                proven = True
            except Exception:  # too deep, or of a type that MessagePack has not
                proven = False
        if not proven and deeper_than(obj, limit):
            raise too_deep(codec, limit)
        return call(obj, *more)

    return guarded


def shallow_bytes(
    codec: Codec, limit: int, depth: Callable[[Buffer, int], int], call: Callable[[Buffer], Any]
) -> Callable[[Buffer], Any]:
    """Returns a call that refuses bytes nested deeper than its library survives, as `shallow`.

    Raises:
        Limit: By the call: the bytes are nested deeper than ``limit``.
    """

    def guarded(data: Buffer) -> Any:
        if depth(data, limit) > limit:
            raise too_deep(codec, limit)
        return call(data)

    return guarded
