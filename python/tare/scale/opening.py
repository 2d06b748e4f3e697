"""Opening a file whose name comes from a plan or a listing: something else may have that name by now."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

__all__ = ["NotAFile", "open_file", "special"]


class NotAFile(OSError):
    """A pipe, a socket or a device where a file was."""


def open_file(path: str, buffering: int = -1) -> Any:
    """A file to read bytes of; a pipe, a socket or a device is refused, and never waited for.

    Args:
        path: Of the file.
        buffering: As `open` takes it.

    Raises:
        NotAFile: It is none.
        OSError: It cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     os.mkfifo(f"{folder}/a")
    ...     open_file(f"{folder}/a")
    Traceback (most recent call last):
    tare.scale.opening.NotAFile: [Errno 22] it is a pipe: '...'
    """
    try:
        file = open(path, "rb", buffering, opener=_at_once)
    except OSError as error:
        if error.errno != errno.ENXIO:  # a socket
            raise
        raise NotAFile(errno.EINVAL, f"it is {special(os.stat(path).st_mode)}", path) from None
    if why := special(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotAFile(errno.EINVAL, f"it is {why}", path)
    return file


def special(mode: int) -> str:
    """What is neither a file nor a folder; empty of those.

    >>> special(stat.S_IFIFO), special(stat.S_IFREG)
    ('a pipe', '')
    """
    kinds = {
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "")


def _at_once(path: str, flags: int) -> int:
    """Opens a pipe although nobody writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
