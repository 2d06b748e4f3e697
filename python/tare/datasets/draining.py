"""Bytes of what can be read only once, as a pipe: taken in pieces, so that memory is asked for as they come."""

from __future__ import annotations

import io
from typing import Any

__all__ = ["LONGEST_LINE_BYTES", "LineTooLong", "take"]

LONGEST_LINE_BYTES = 256 << 20
_PIECE_BYTES = 4 << 20


class LineTooLong(Exception):
    """A line does not end where one of data would.

    Args:
        start: Its first byte.
    """

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.start = start


def take(file: Any, most: int, *, head: bytes = b"", longest_line: int | None = None) -> bytes:
    """Returns what a file gives, up to `most` bytes.

    Args:
        file: It is read; a read may give less than is asked for, and nothing at its end.
        most: How many bytes are returned at most.
        head: What was read of it before.
        longest_line: How many bytes a line may have; any number by default.

    Raises:
        LineTooLong: A line has more.
        TypeError: The file gives text.

    >>> take(io.BytesIO(b"cde"), 4, head=b"ab")
    b'abcd'
    """
    got = io.BytesIO()
    got.write(head[:most])
    size, line = len(head), _behind_line(head)
    while size < most and (piece := file.read(min(_PIECE_BYTES, most - size))):
        if isinstance(piece, str):
            raise TypeError
        if longest_line is not None:
            end = _behind_line(piece)
            line = size + end if end else line
            if size + len(piece) - line > longest_line:
                raise LineTooLong(line)
        got.write(piece)
        size += len(piece)
    return got.getvalue()


def _behind_line(text: bytes) -> int:
    """Where the last line begins."""
    return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
