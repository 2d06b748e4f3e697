"""Where R's files are read from: a path, bytes, or a binary file object; and what they are."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import Any

from tare.errors import DecodeError, Limit, Truncated, Unsupported, UsageError

__all__ = ["FORMATS", "READ", "by_name", "name_of", "naming", "opened", "sniffed", "told"]

FORMATS = ("rds", "rdata", "fst", "qs2", "qdata", "dput")
READ = (*FORMATS, "qs")
_ENDINGS = {
    ".rds": "rds",
    ".rdata": "rdata",
    ".rda": "rdata",
    ".fst": "fst",
    ".qs2": "qs2",
    ".qdata": "qdata",
    ".qd": "qdata",
    ".qs": "qs",
    ".r": "dput",
    ".dput": "dput",
}
_HEAD_BYTES = 16


def opened(source: Any) -> str | bytes | bytearray | memoryview:
    """A source as the core takes it: a path as text, or bytes; a pipe is read, as it can be only once.

    Raises:
        UsageError: A file object that gives text, or what is no source at all.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return source
    if hasattr(source, "read"):
        data = source.read()
        if isinstance(data, str):
            raise UsageError("the file object gives text; open it in binary mode ('rb')")
        return bytes(data)
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(os.fspath(source))
        if _is_pipe(path):
            with open(path, "rb") as file:
                return file.read()
        return path
    try:
        return memoryview(source)
    except TypeError:
        raise UsageError(
            f"neither path nor bytes nor binary file object: {source!r:.60} ({type(source).__name__})"
        ) from None


def _is_pipe(path: str) -> bool:
    """Whether it gives its bytes once only: a pipe, a terminal, a socket."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextlib.contextmanager
def naming(source: Any) -> Iterator[None]:
    """A block in which errors about the contents of a file get its name, and what to do.

    Args:
        source: The path; nothing is added for bytes and file objects.

    Raises:
        DecodeError, Limit, Unsupported: The block raised it; of the same class.
    """
    try:
        yield
    except (DecodeError, Limit, Unsupported) as error:
        if not isinstance(source, str | os.PathLike):
            raise
        name, path = name_of(source), os.fsdecode(os.fspath(source))
        if str(error).startswith(name):
            error.path = path
            raise
        text = f"{name}: {str(error).rstrip('.')}"
        if isinstance(error, Truncated):
            text += ". The file ends too early: fetch or write it again."
        elif isinstance(error, DecodeError):
            text += ". The file is damaged or is something else: fetch it again, or name its format."
        raise type(error)(text, format=error.format, offset=error.offset, path=path) from error


def told(source: str | bytes | bytearray | memoryview, format: str | None) -> str:
    """The format of a file of R, by its first bytes; by its name only where they are text.

    Args:
        source: The path, or the bytes.
        format: Its id, if the caller says it.

    Raises:
        UsageError: There is no such format of R.
        Truncated: There are no bytes.
        Unsupported: It is no file of R's.
        OSError: It cannot be read.
    """
    if format is not None:
        if format not in READ:
            raise UsageError(f"{format[:40]!r} is no format of R; there are {', '.join(READ)}")
        return format
    head = _head_of(source)
    name = name_of(source)
    if not head:
        raise Truncated(f"{name}: the file is empty (0 bytes)", offset=0)
    found = sniffed(source) or (by_name(source) if isinstance(source, str) else None)
    if found is None:
        raise Unsupported(
            f"{name}: no file of R: its first bytes are {head[:8].hex(' ')}. Text of dput is read with format='dput'."
        )
    return found


def _head_of(source: str | bytes | bytearray | memoryview) -> bytes:
    """The first bytes of a file, or of bytes.

    Raises:
        OSError: It cannot be read.
    """
    if not isinstance(source, str):
        return bytes(source[:_HEAD_BYTES])
    with open(source, "rb") as file:
        return file.read(_HEAD_BYTES)


def sniffed(source: str | bytes | bytearray | memoryview) -> str | None:
    r"""The format of R that a file or bytes are in, compressed or not; None if their beginning tells none.

    Args:
        source: The path, or the bytes: what is compressed is read until its first block is whole.

    Raises:
        OSError: It cannot be read.

    >>> sniffed(b"X\n\x00\x00\x00\x03"), sniffed(b"PAR1")
    ('rds', None)
    """
    from tare._tare import sniff_r

    return sniff_r(source)


def by_name(path: str) -> str | None:
    """The format that a file name's ending stands for.

    >>> by_name("work.RData"), by_name("x.csv")
    ('rdata', None)
    """
    return _ENDINGS.get(os.path.splitext(path)[1].lower())


def name_of(source: Any) -> str:
    """What to call a source in messages."""
    if isinstance(source, str | os.PathLike):
        base = os.path.basename(os.fsdecode(os.fspath(source)))
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in base)[:80]
    return "bytes"
