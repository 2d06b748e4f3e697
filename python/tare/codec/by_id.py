"""Encode and decode with the codec of an id, which is parsed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare import formats
from tare.codec.codec import Codec
from tare.errors import UsageError

if TYPE_CHECKING:
    from tare.formats.base import Buffer

__all__ = ["decode", "encode"]

# Codecs by id, with the registry that they were found in.
_RESOLVED: dict[object, tuple[object, Codec]] = {}
_MOST_RESOLVED = 256


def _resolved(id: str | Codec) -> Codec:
    """The codec of an id, which is parsed once."""
    found = _RESOLVED.get(id)
    if found is not None and found[0] is vars(formats).get("FORMATS"):
        return found[1]
    if isinstance(id, Codec):
        return id
    if not isinstance(id, str):
        raise UsageError(f"invalid codec: expected an id such as 'json:orjson', got {type(id).__name__}")
    codec = Codec.parse(id)
    if len(_RESOLVED) >= _MOST_RESOLVED:
        _RESOLVED.clear()
    _RESOLVED[id] = vars(formats).get("FORMATS"), codec  # parsing may have loaded it
    return codec


def encode(obj: Any, id: str | Codec) -> bytes:
    """Encode a value with the codec of that id, or with a `Codec`; see `Codec.encode`.

    An id is parsed once; after that a call costs less than a microsecond more than the library's own.

    Raises:
        UsageError: The id names nothing.
        EncodeError: The codec refuses the value.

    >>> encode([1, None], "json:orjson")
    b'[1,null]'
    """
    return _resolved(id).encode(obj)


def decode(data: Buffer, id: str | Codec, *, trust: bool = False) -> Any:
    """Decode bytes with the codec of that id, or with a `Codec`; see `Codec.decode`, which says what it costs.

    Raises:
        UsageError: The id names nothing.
        DecodeError: The bytes are not what they should be.
        NotTrusted: Decoding can run code, and ``trust`` is not given.

    >>> decode(b'[1,null]', "json:orjson")
    [1, None]
    """
    return _resolved(id).decode(data, trust=trust)
