"""The fifo medium: a named pipe in a private folder.

Opening a fifo blocks until the other end is opened too. So the reader opens its end
at once without blocking, which lets the writer's open succeed, and only ``accept``
waits (for the first byte). Opening, deadlines and the token are those of `tare.messages`.
"""

from __future__ import annotations

import io
import os
import select
import shutil
import tempfile

from tare._tare import MessageDeadline, MessageSession
from tare.errors import TareError
from tare.messages.descriptors import open_fifo
from tare.messages.exact import show_token, token_missing
from tare.messages.pulled import poll_for

__all__ = ["FifoListener", "connect", "listen"]

_STRANGER = "whoever wrote to the fifo did not send the token of this run"


class FifoListener:
    """The reading side of a fifo, before the writer has come.

    Args:
        address: Path of the fifo.
        token: What the writer must show first; empty for nothing.
        folder: Folder to remove on close; None leaves everything.
    """

    def __init__(self, address: str, token: bytes, folder: str | None) -> None:
        self.address = address
        self._session = MessageSession("frame", {"expected": token or None})
        self._folder = folder
        self._descriptor: int | None = open_fifo(address, "r", MessageDeadline(0))

    def accept(self, *, timeout_s: float | None = None) -> io.RawIOBase:
        """Wait for the first bytes, check the token, and return the reading end.

        Args:
            timeout_s: Longest wait in seconds; None waits for ever.

        Raises:
            TimeoutError: Nobody wrote in time.
            ConnectionError: Whoever wrote did not know the token.
            ValueError: The listener is closed or was accepted already.
        """
        descriptor, deadline = self._descriptor, MessageDeadline(timeout_s)
        if descriptor is None:
            raise ValueError("this fifo was accepted or closed already")
        admitted = False
        while not admitted:
            if not poll_for(descriptor, select.POLLIN, deadline.left()):
                raise TimeoutError(f"nobody wrote to the fifo within {timeout_s:g} s")
            try:
                admitted = self._session.trusted or self._hear(descriptor)
            except TareError:
                raise ConnectionError(_STRANGER) from None
        os.set_blocking(descriptor, True)
        self._descriptor = None
        return io.FileIO(descriptor, "rb", closefd=True)

    def _hear(self, descriptor: int) -> bool:
        """Take in more of the token; whether it is whole and right."""
        data = os.read(descriptor, token_missing(self._session))
        if not data:
            raise ConnectionError(_STRANGER)
        self._session.received(data)
        return self._session.trusted

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
        token: What the writer must show first: 16 to 64 bytes; empty for nothing.

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
    """Open the writing end and show the token; it never waits, because the reader is there already.

    Args:
        address: Path of the fifo.
        token: As given to ``listen``.
        timeout_s: Not needed here; the same for every medium.

    Raises:
        TimeoutError: Nobody reads it.
        OSError: There is no fifo.
    """
    del timeout_s
    descriptor = open_fifo(address, "w", MessageDeadline(0))
    os.set_blocking(descriptor, True)
    end = io.FileIO(descriptor, "wb", closefd=True)
    if token:
        end.write(show_token(token))
    return end
