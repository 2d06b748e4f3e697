"""The unix medium: a socket in the file system, between two processes of this machine."""

from __future__ import annotations

import io
import os
import shutil
import tempfile

from tare.media.sockets import SocketListener, connected

__all__ = ["connect", "listen"]


def listen(address: str = "", *, token: bytes = b"") -> SocketListener:
    """Listen for one writer.

    Args:
        address: Path of the socket; empty for one in a new private folder.
        token: What the writer must show first: 16 to 64 bytes; empty for nothing.

    Raises:
        OSError: The socket cannot be made there (a path holds about 100 bytes at most).
    """
    if address:
        return SocketListener(f"unix:{address}", token)
    # Socket paths are short by nature: the system's own folder, not a deep private one.
    folder = tempfile.mkdtemp(prefix="tare-", dir="/tmp" if os.path.isdir("/tmp") else None)  # noqa: S108

    def clean() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    try:
        return SocketListener(f"unix:{os.path.join(folder, 's')}", token, clean)
    except BaseException:
        clean()
        raise


def connect(address: str, *, token: bytes = b"", timeout_s: float | None = None) -> io.RawIOBase:
    """Connect to a listener and show the token.

    Args:
        address: Path of the socket.
        token: As given to ``listen``.
        timeout_s: Longest wait for the connection, in seconds.

    Raises:
        OSError: Nobody listens there.
    """
    return connected(f"unix:{address}", token, timeout_s)
