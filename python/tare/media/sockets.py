"""What the media over sockets share: ends, listeners and the token.

The first 16 bytes of a connection are a random token that only the two ends know. The
first connection that sends it is accepted and no other, so that nobody else can feed a
reader, or end a run by connecting first.
"""

from __future__ import annotations

import hmac
import io
import itertools
import selectors
import socket
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["BACKLOG", "SocketEnd", "SocketListener", "open_end"]

Buffer = bytes | bytearray | memoryview

BACKLOG = 16
"""Connections that may wait to be looked at: the writer must find room beside others."""

_WAITS = 512
# Systems count waits in milliseconds.
_SHORTEST_S = 0.001


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
    """A bound, listening socket that lets in the first connection with the right token.

    Whoever else connects (a port scanner, another user of the machine) is turned away and
    does not keep the writer waiting.

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
        self._turned_away = 0
        self.address = address

    def accept(self, *, timeout_s: float | None = None) -> io.RawIOBase:
        """Wait for the writer, check its token, and turn away everybody else.

        Args:
            timeout_s: Longest wait in seconds, whoever else connects; None waits for ever.

        Raises:
            TimeoutError: Nobody with the token came in time, or too many others did.
        """
        self._sock.setblocking(False)
        with selectors.DefaultSelector() as door:
            door.register(self._sock, selectors.EVENT_READ)
            try:
                for share_s in _shares(timeout_s):
                    for key, _ in door.select(share_s):
                        writer = self._knock(door) if key.fileobj is self._sock else self._hear(door, key)
                        if writer is not None:
                            return writer
            finally:
                undecided = [key.fileobj for key in door.get_map().values() if key.fileobj is not self._sock]
                for caller in undecided:
                    cast("socket.socket", caller).close()
        others = self._turned_away + len(undecided)
        said = f" ({others} without it were turned away)" if others else ""
        raise TimeoutError(f"nobody with the token of this run connected within {timeout_s:g} s{said}")

    def _knock(self, door: selectors.BaseSelector) -> SocketEnd | None:
        """Somebody has connected: the writer, if there is no token to wait for."""
        try:
            caller, _ = self._sock.accept()
        except OSError:  # gone again
            return None
        caller.setblocking(False)
        if not self._token:
            return _let_in(caller)
        door.register(caller, selectors.EVENT_READ, bytearray())
        return None

    def _hear(self, door: selectors.BaseSelector, key: selectors.SelectorKey) -> SocketEnd | None:
        """A caller has said something or left: the writer, if its token is complete and right."""
        caller, said = cast("socket.socket", key.fileobj), key.data
        try:
            piece = caller.recv(len(self._token) - len(said))
        except BlockingIOError:
            return None
        except OSError:
            piece = b""
        said += piece
        if piece and len(said) < len(self._token):
            return None
        door.unregister(caller)
        if hmac.compare_digest(bytes(said), self._token):
            return _let_in(caller)
        caller.close()
        self._turned_away += 1
        return None

    def close(self) -> None:
        """Stop listening and remove what was created."""
        self._sock.close()
        if self._clean is not None:
            clean, self._clean = self._clean, None
            clean()


def _let_in(caller: socket.socket) -> SocketEnd:
    caller.setblocking(True)
    return SocketEnd(caller)


def _shares(timeout_s: float | None) -> Iterator[float | None]:
    """The waits whose sum is never above the time; each counts as spent, because media read no clock."""
    if timeout_s is None:
        return itertools.repeat(None)
    waits = max(1, min(_WAITS, int(timeout_s / _SHORTEST_S)))
    return itertools.repeat(timeout_s / waits, waits)


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
