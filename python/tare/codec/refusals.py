"""Whatever a library raises, as an error of ours; and what is refused before it sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tare.errors import DecodeError, EncodeError, Limit, Malformed, TareError, Truncated

if TYPE_CHECKING:
    from tare.codec.codec import Codec

__all__ = ["PASSED", "deeper_than", "mapped", "ours", "too_deep"]

PASSED = (TareError, KeyboardInterrupt, SystemExit, GeneratorExit)
"""Errors that are raised as they come."""

_MESSAGE_CHARACTERS = 300
# What Python says of integers whose text takes long to make or to read.
_LONG = re.compile(r"Exceeds the limit \(([0-9]+)([0-9]{3}) digits\).*")


@contextmanager
def mapped(
    codec: Codec, general: type[EncodeError | Malformed], but: type[Exception] | None = None
) -> Iterator[None]:
    """Turn whatever a library raises into an error of ours, with its cause kept; but one kind of errors."""
    try:
        yield
    except PASSED:
        raise
    except BaseException as error:
        if but is not None and isinstance(error, but):
            raise
        raise ours(codec, general, error) from error


def ours(
    codec: Codec, general: type[EncodeError | Malformed], error: BaseException, size: int | None = None
) -> TareError:
    """Maps what a library raised to an error of ours; a panic of a Rust library is not an Exception.

    Args:
        codec: Codec that ran.
        general: Class of the error if nothing more is known.
        error: Error that the library raised.
        size: How many bytes it was given; None if that is not known.
    """
    if isinstance(error, RecursionError):
        return Limit(f"{codec}: nested too deeply for this library", format=codec.format_id)
    if isinstance(error, MemoryError):
        return Limit(
            f"{codec}: not enough memory; take fewer rows or columns at once", format=codec.format_id
        )
    if general is EncodeError:
        said = _LONG.sub(r"an integer of more than \1,\2 digits is not written as text", _message(error))
        return EncodeError(f"{codec}: {said}", format=codec.format_id)
    cls: type[DecodeError] = Truncated if _is_truncation(error) else Malformed
    said = _LONG.sub(r"an integer of more than \1,\2 digits is not read from text", _message(error))
    return cls(f"{codec}: {said}", format=codec.format_id, offset=_offset(error, size))


def too_deep(codec: Codec, limit: int) -> Limit:
    """The refusal of a value or bytes nested deeper than the codec's library survives."""
    return Limit(
        f"{codec}: nested deeper than {limit} levels, more than this library survives; another library may take it",
        format=codec.format_id,
    )


def deeper_than(obj: object, limit: int) -> bool:
    """Whether containers are nested more than ``limit`` deep, by level and without recursion."""
    level: dict[int, Any] = {id(obj): obj}
    for _ in range(limit):
        below: dict[int, Any] = {}  # by identity: what is shared is looked at once a level
        for item in level.values():
            values = (
                item.values() if isinstance(item, dict) else item if isinstance(item, (list, tuple)) else ()
            )
            below.update((id(value), value) for value in values if isinstance(value, (dict, list, tuple)))
        if not below:
            return False
        level = below
    return True


_ENDS_EARLY = re.compile(
    r"truncat|unexpected(ly)? end|unexpected eof|incomplete|\beof\b|end of (the )?(data|input|file|stream|buffer|string)"
    r"|premature|too (short|small)|not enough (data|bytes)|ran out|no more data|exhausted",
    re.IGNORECASE,
)


def _is_truncation(error: BaseException) -> bool:
    """Whether a library's error says that the bytes end too early; libraries have no common class."""
    return isinstance(error, EOFError) or _ENDS_EARLY.search(str(error)) is not None


def _offset(error: BaseException, size: int | None) -> int | None:
    """Byte offset, where the error carries one (text offsets count characters: close enough to look)."""
    if isinstance(error, UnicodeDecodeError) and len(error.object) != size:
        return None  # it counts from the beginning of a text within the bytes
    for name in ("pos", "start"):
        value = getattr(error, name, None)
        if isinstance(value, int):
            return value
    return None


def _message(error: BaseException) -> str:
    """The library's message on one line, escaped and cut: it may quote the data."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = text.replace("Unsupported Type:", "there is no place for values of the type ")  # pyarrow's of CSV
    text = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    return text if len(text) <= _MESSAGE_CHARACTERS else text[: _MESSAGE_CHARACTERS - 3] + "..."
