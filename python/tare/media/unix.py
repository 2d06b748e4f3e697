"""The unix medium: a socket in the file system, between two processes of this machine."""

from __future__ import annotations

import io
import os
import shutil
import socket
import tempfile

from tare.media.sockets import BACKLOG, SocketListener, open_end

__all__ = ["connect", "listen"]


def listen(address: str = "", *, token: bytes = b"") -> SocketListener:
    """Listen for one writer.

    Args:
        address: Path of the socket; empty for one in a new private folder.
        token: Bytes the writer must send first.

    Raises:
        OSError: The socket cannot be made there (a path holds about 100 bytes at most).
    """
    folder = None
    if not address:
        # Socket paths are short by nature: the system's own folder, not a deep private one.
        folder = tempfile.mkdtemp(prefix="tare-", dir="/tmp" if os.path.isdir("/tmp") else None)  # noqa: S108
        address = os.path.join(folder, "s")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def clean() -> None:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        elif os.path.exists(address):
            os.unlink(address)

    try:
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return SocketListener(sock, address, token, clean)


def connect(address: str, *, token: bytes = b"", timeout_s: float | None = None) -> io.RawIOBase:
    """Connect to a listener and give the token.

    Args:
        address: Path of the socket.
        token: As given to ``listen``.
        timeout_s: Longest wait for the connection, in seconds.

    Raises:
        OSError: Nobody listens there.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s)
        sock.connect(address)
    except OSError:
        sock.close()
        raise
    return open_end(sock, token)
