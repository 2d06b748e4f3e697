"""The fifo medium: a named pipe in a private folder.

Opening a fifo blocks until the other end is opened too. So the reader opens its end
at once without blocking, which lets the writer's open succeed, and only ``accept``
waits (for the first byte, with ``poll``).
"""

from __future__ import annotations

import hmac
import io
import os
import select
import shutil
import tempfile

__all__ = ["FifoListener", "connect", "listen"]


class FifoListener:
    """The reading side of a fifo, before the writer has come.

    Args:
        address: Path of the fifo.
        token: Bytes the writer must send first; empty for none.
        folder: Folder to remove on close; None leaves everything.
    """

    def __init__(self, address: str, token: bytes, folder: str | None) -> None:
        self.address = address
        self._token = token
        self._folder = folder
        self._descriptor: int | None = os.open(address, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def accept(self, *, timeout_s: float | None = None) -> io.RawIOBase:
        """Wait for the first bytes, check the token, and return the reading end.

        Args:
            timeout_s: Longest wait in seconds; None waits for ever.

        Raises:
            TimeoutError: Nobody wrote in time.
            ConnectionError: Whoever wrote did not know the token.
            ValueError: The listener is closed or was accepted already.
        """
        if self._descriptor is None:
            raise ValueError("this fifo was accepted or closed already")
        self._wait(timeout_s)
        got = b""
        while len(got) < len(self._token):
            piece = os.read(self._descriptor, len(self._token) - len(got))
            if not piece:
                break
            got += piece
            if len(got) < len(self._token):
                self._wait(timeout_s)
        if not hmac.compare_digest(got, self._token):
            raise ConnectionError("whoever wrote to the fifo did not send the token of this run")
        os.set_blocking(self._descriptor, True)
        end = io.FileIO(self._descriptor, "rb", closefd=True)
        self._descriptor = None
        return end

    def _wait(self, timeout_s: float | None) -> None:
        """Wait until there is something to read, or the writer has gone."""
        if self._descriptor is None:
            return
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        if not poller.poll(None if timeout_s is None else timeout_s * 1000):
            raise TimeoutError(f"nobody wrote to the fifo within {timeout_s:g} s")

    def close(self) -> None:
        """Remove the fifo; an accepted end stays open."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def listen(address: str = "", *, token: bytes = b"") -> FifoListener:
    """Make a fifo and open its reading end.

    Args:
        address: Path of the fifo; empty for one in a new private folder.
        token: Bytes the writer must send first.

    Raises:
        OSError: The fifo cannot be made.
    """
    folder = None
    if not address:
        folder = tempfile.mkdtemp(prefix="tare-fifo-")
        address = os.path.join(folder, "fifo")
    os.mkfifo(address, 0o600)
    return FifoListener(address, token, folder)


def connect(address: str, *, token: bytes = b"", timeout_s: float | None = None) -> io.RawIOBase:
    """Open the writing end and give the token; it never waits, because the reader is there already.

    Args:
        address: Path of the fifo.
        token: As given to ``listen``.
        timeout_s: Not needed here; the same for every medium.

    Raises:
        OSError: There is no fifo, or nobody reads it.
    """
    del timeout_s
    descriptor = os.open(address, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    end = io.FileIO(descriptor, "wb", closefd=True)
    if token:
        end.write(token)
    return end
