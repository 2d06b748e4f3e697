"""What the media over sockets share: ends, listeners and the token.

The first 16 bytes of a connection are a random token that only the two ends know,
and one connection is accepted, so that nobody else on the machine can feed a reader.
"""

from __future__ import annotations

import hmac
import io
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SocketEnd", "SocketListener", "open_end"]

Buffer = bytes | bytearray | memoryview


class SocketEnd(io.RawIOBase):
    """One end of a connected socket as a raw binary file.

    Args:
        sock: The connected socket; it is closed with the file.
    """

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._sock = sock

    def readable(self) -> bool:
        """Yes."""
        return True

    def writable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Buffer) -> int:  # type: ignore[override]
        """Receive at most ``len(buffer)`` bytes; 0 when the other end has closed."""
        return self._sock.recv_into(buffer)

    def write(self, data: Buffer) -> int:  # type: ignore[override]
        """Send all bytes; return their number."""
        with memoryview(data) as view:
            self._sock.sendall(view)
            return view.nbytes

    def fileno(self) -> int:
        """Descriptor of the socket."""
        return self._sock.fileno()

    def finish(self) -> None:
        """Say that nothing more will be written; reading goes on."""
        self._sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the socket; the other end then reads to the end."""
        if not self.closed:
            super().close()
            self._sock.close()


class SocketListener:
    """A bound, listening socket that accepts one connection with the right token.

    Args:
        sock: The listening socket.
        address: What the writer needs to connect.
        token: Bytes the writer must send first; empty for none.
        clean: Called once on close, to remove what was created.
    """

    def __init__(
        self, sock: socket.socket, address: str, token: bytes, clean: Callable[[], None] | None = None
    ) -> None:
        self._sock = sock
        self._token = token
        self._clean = clean
        self.address = address

    def accept(self, *, timeout_s: float | None = None) -> io.RawIOBase:
        """Wait for the writer and check its token.

        Args:
            timeout_s: Longest wait in seconds; None waits for ever.

        Raises:
            TimeoutError: Nobody came in time.
            ConnectionError: Whoever came did not know the token.
        """
        self._sock.settimeout(timeout_s)
        connection, _ = self._sock.accept()
        try:
            connection.settimeout(timeout_s)
            got = bytearray()
            while len(got) < len(self._token):
                piece = connection.recv(len(self._token) - len(got))
                if not piece:
                    break
                got += piece
            if not hmac.compare_digest(bytes(got), self._token):
                raise ConnectionError("whoever connected did not send the token of this run")
            connection.settimeout(None)
        except OSError:
            connection.close()
            raise
        return SocketEnd(connection)

    def close(self) -> None:
        """Stop listening and remove what was created."""
        self._sock.close()
        if self._clean is not None:
            clean, self._clean = self._clean, None
            clean()


def open_end(sock: socket.socket, token: bytes) -> io.RawIOBase:
    """The writing end of a connected socket, its token sent."""
    try:
        if token:
            sock.sendall(token)
        sock.settimeout(None)
    except OSError:
        sock.close()
        raise
    return SocketEnd(sock)
