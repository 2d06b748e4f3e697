"""Text files must be UTF-8; others are named, with the byte where they stop being it."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from tare.datasets import encoding_hints, recognise
from tare.datasets.source import Source
from tare.errors import Malformed, UsageError

__all__ = ["invalid_utf8", "to_utf8", "utf8_steps"]

_STEP_BYTES = 4 << 20


def invalid_utf8(data: bytes, *, final: bool = True) -> int | None:
    r"""Offset of the first byte that is not UTF-8; None if all are.

    Args:
        data: Text as bytes.
        final: Whether the last character must be complete.

    >>> invalid_utf8(b"\xc3\xa9"), invalid_utf8(b"n\xe9")
    (None, 1)
    """
    at, view = 0, memoryview(data)
    while at < len(view):
        step = view[at : at + _STEP_BYTES]
        last = at + len(step) == len(view)
        try:
            _, used = codecs.utf_8_decode(step, "strict", last and final)
        except UnicodeDecodeError as error:
            return at + error.start
        if last:
            return None
        at += used
    return None


def to_utf8(source: Source, data: bytes, encoding: str | None, *, final: bool = True) -> bytes:
    """The same text as UTF-8 without a byte order mark.

    Args:
        source: Where the bytes are from, for messages and notes.
        data: The bytes.
        encoding: What the user says they are; None for UTF-8, or what a byte order mark says.
        final: Whether `data` goes to the end of the text.

    Raises:
        Malformed: A byte that is not in the encoding; its offset is given.
        UsageError: No such encoding.
    """
    marked = recognise.encoding_of(data[:4])
    if encoding is None and marked not in (None, "utf-8-sig"):
        encoding = marked
        source.notes.append(f"its byte order mark says {marked}; read as that")
    if encoding is None or codecs_name(encoding) == "utf-8":
        wrong = invalid_utf8(data, final=final)
        if wrong is not None:
            raise source.error(
                Malformed,
                f"byte 0x{data[wrong]:02x} is not UTF-8",
                offset=wrong,
                advice=encoding_hints.advice(data, wrong),
            )
        return data[3:] if data.startswith(codecs.BOM_UTF8) else data
    try:
        return data.decode(encoding, "strict" if final else "ignore").encode()
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        raise source.error(
            Malformed,
            f"it is not {encoding}",
            offset=at,
            advice="Name another --encoding, or convert it to UTF-8.",
        ) from None


def utf8_steps(source: Source) -> Iterator[bytes]:
    """Returns the text of a source in pieces, in UTF-8 if its byte order mark says another encoding.

    Raises:
        Malformed: A byte that is not in that encoding.
    """
    marked = recognise.encoding_of(source.head)
    if marked in (None, "utf-8-sig"):
        yield from source.steps()
        return
    decoder = codecs.getincrementaldecoder(marked)("strict")
    try:
        for step in source.steps():
            yield decoder.decode(step).encode()
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        raise source.error(
            Malformed, f"it is not {marked}, as its byte order mark says", advice="Fetch it again."
        ) from error


def codecs_name(encoding: str) -> str:
    """The encoding's usual name.

    Raises:
        UsageError: There is no such encoding.

    >>> codecs_name("UTF8")
    'utf-8'
    """
    try:
        info = codecs.lookup(encoding)
    except (LookupError, ValueError):
        raise UsageError(
            f"there is no encoding {encoding[:40]!a}; usual ones are utf-8, latin1, cp1252, utf-16."
        ) from None
    if not getattr(info, "_is_text_encoding", True):
        raise UsageError(
            f"{encoding[:40]!a} is no encoding of text; usual ones are utf-8, latin1, cp1252, utf-16."
        )
    return info.name
