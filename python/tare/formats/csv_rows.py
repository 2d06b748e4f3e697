"""Where rows of a CSV begin, and whether it has one column.

In a CSV of one column a blank line is a row whose value is missing: there is no other way to write it.
In a CSV of several columns a blank line is no row. Blank lines before the header are passed over in both.
"""

from __future__ import annotations

import io
import re
from typing import BinaryIO, cast

from tare.formats.base import Buffer

__all__ = ["BOM", "begins_blank", "blank_start", "first_row", "has_one_column", "one_column_start", "opened"]

BOM = b"\xef\xbb\xbf"
_LEAST_HEADER_BYTES, _MOST_HEADER_BYTES = 4 << 10, 4 << 20


def first_row(data: bytes) -> int:
    r"""Where the header ends: behind its line's end, which may be a lone CR; empty lines before it are passed over.

    >>> first_row(b'a,"b\nc"\n1,2\n'), first_row(b"a,b\r1,2\n"), first_row(b"\r\n\na,b\r\n1,2\r\n")
    (8, 4, 8)
    """
    start, begun, odd = len(BOM) if data.startswith(BOM) else 0, False, 0
    for end in re.finditer(rb"\r\n|\n|\r", data):
        begun |= end.start() > start
        odd ^= data.count(b'"', start, end.start()) % 2
        if begun and not odd:
            return end.end()
        start = end.end()
    return len(data)


def blank_start(data: bytes) -> int:
    r"""How many bytes of blank lines stand before the header, with a byte order mark before them.

    >>> blank_start(b"\r\n\nv\n1\n"), blank_start(b"v\n\n1\n"), blank_start(b"\xef\xbb\xbf\nv\n")
    (3, 0, 4)
    """
    found = re.match(rb"(?:\xef\xbb\xbf)?[\r\n]+", data)
    return found.end() if found else 0


def has_one_column(data: bytes, delimiter: str) -> bool:
    r"""Whether the header names one column.

    Args:
        data: Text with the header.
        delimiter: What stands between fields.

    >>> has_one_column(b'"a,b"\n1\n', ","), has_one_column(b"\na,b\n1,2\n", ","), has_one_column(b"v", ",")
    (True, False, True)
    """
    header = data[: first_row(data)]
    return delimiter.encode() not in re.sub(rb'"[^"]*"', b"", header)


def one_column_start(data: Buffer, delimiter: str) -> int | None:
    r"""Where the header of a CSV of one column begins; None if it has several.

    >>> one_column_start(b"\nv\n1\n", ","), one_column_start(b"v,w\n1,2\n", ",")
    (1, None)
    """
    header = _header(data)
    return blank_start(header) if has_one_column(header, delimiter) else None


def _header(data: Buffer) -> bytes:
    """The header with its line's end, and blank lines before it."""
    size = _LEAST_HEADER_BYTES
    while size < min(len(data), _MOST_HEADER_BYTES) and first_row(bytes(memoryview(data)[:size])) >= size - 1:
        size *= 4
    head = bytes(memoryview(data)[:size])
    return head[: first_row(head)]


def begins_blank(data: Buffer) -> bool:
    r"""Whether the first line behind the header is blank.

    >>> begins_blank(b"v\n\n1\n"), begins_blank(b"v\r\n1\r\n\r\n")
    (True, False)
    """
    end = len(_header(data))
    return bytes(memoryview(data)[end : end + 1]) in (b"\r", b"\n")


def opened(file: BinaryIO, delimiter: str) -> tuple[BinaryIO, bool]:
    """A file that is read once, from its header on, and whether that names one column.

    Args:
        file: Where it is read from; it need not be seekable.
        delimiter: What stands between fields.

    Returns:
        A file of the same bytes, but blank lines before the header of one column, and whether it is one.
    """
    head = b""
    while len(head) < _MOST_HEADER_BYTES:
        part = file.read(64 << 10)
        head += part
        if not part or first_row(head) < len(head):
            break
    start = one_column_start(head, delimiter)
    rest = cast(BinaryIO, io.BufferedReader(_Behind(head[start or 0 :], file)))
    return rest, start is not None


class _Behind(io.RawIOBase):
    """Bytes, and behind them a file.

    Args:
        head: The bytes.
        file: The file; it stays open.
    """

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head = memoryview(head)
        self._file = file

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill a buffer."""
        into = memoryview(cast(bytearray, buffer)).cast("B")
        data = self._head[: len(into)] if self._head else self._file.read(len(into))
        self._head = self._head[len(data) :] if self._head else self._head
        into[: len(data)] = data
        return len(data)
