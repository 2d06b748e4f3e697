"""Standard streams that were closed before the program began, as by ``>&-``: using one is an error in words.

Their numbers are taken, so that no file which is opened later gets one, and what a library prints is not written into it.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, NoReturn

__all__ = ["is_closed", "replace_closed"]


class _Closed(io.RawIOBase):
    """A stream that cannot be used.

    Args:
        number: Its descriptor.
        name: What it is called in the error.
    """

    def __init__(self, number: int, name: str) -> None:
        super().__init__()
        self._number = number
        self._name = name

    def fileno(self) -> int:
        return self._number

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> NoReturn:
        raise OSError(errno.EBADF, "is closed", self._name)

    def write(self, data: Any, /) -> NoReturn:
        raise OSError(errno.EBADF, "is closed", self._name)


def replace_closed() -> None:
    """Put something in the place of each standard stream that is closed: standard error takes all and shows nothing."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    if sys.stdin is None:
        sys.stdin = _text(_Closed(0, "standard input"))
    if sys.stdout is None:
        sys.stdout = _text(_Closed(1, "standard output"))
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")


def _text(raw: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        raw, encoding="utf-8", write_through=True
    )  # keeps nothing that the end would write again


def is_closed(stream: Any) -> bool:
    """Whether a standard stream was closed before the program began."""
    return stream is None or isinstance(getattr(stream, "buffer", None), _Closed)
