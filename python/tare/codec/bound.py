"""Calls of a codec that encode and decode, with everything resolved that does not depend on the value."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tare import kinds
from tare.codec.refusals import deeper_than, too_deep

if TYPE_CHECKING:
    from tare.codec.codec import Codec
    from tare.formats.base import Buffer

__all__ = ["Encoders", "rows_encoder", "shallow", "shallow_bytes"]

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
        return join((encode(rows) for rows in kinds.record_slices(obj)), **options)

    return of_rows


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
