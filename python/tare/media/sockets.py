"""What the media over sockets share: ends and listeners over `tare.messages`.

Connecting, listening, deadlines and tokens are those of messages: a writer's first frame
is a random token that only the two ends know. The first connection that sends it is
accepted and no other, so that nobody else can feed a reader, or end a run by connecting
first. Behind the token the bytes are the codec's own, whatever the delivery makes of them.
"""

from __future__ import annotations

import io
import socket
from typing import TYPE_CHECKING, Any

from tare._tare import MessageDeadline

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare.messages.pulled import PulledChannel

__all__ = ["SocketEnd", "SocketListener", "connected"]

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
    """Listens for one writer, and lets in the first that shows the token.

    Whoever else connects (a port scanner, another user of the machine) is turned away and
    does not keep the writer waiting.

    Args:
        url: Where, as `tare.listen` takes it.
        token: What the writer must show first; empty for none.
        clean: Called once on close, to remove what was created.

    Raises:
        OSError: The address cannot be bound.
    """

    def __init__(self, url: str, token: bytes, clean: Callable[[], None] | None = None) -> None:
        from tare.messages.listening import SocketListener as Door

        wire, settings = _settings("listen", url, token)
        self._door = Door(url, wire, settings)
        self._clean = clean
        self.address = self._door.url.removeprefix("tcp://").removeprefix("unix:")

    def accept(self, *, timeout_s: float | None = None) -> io.RawIOBase:
        """Wait for the writer, check its token, and turn away everybody else.

        Args:
            timeout_s: Longest wait in seconds, whoever else connects; None waits for ever.

        Raises:
            TimeoutError: Nobody with the token came in time, or too many others did.
        """
        channel, _ = self._door.accept(MessageDeadline(timeout_s))
        return _end(channel)

    def close(self) -> None:
        """Stop listening and remove what was created."""
        self._door.close()
        if self._clean is not None:
            clean, self._clean = self._clean, None
            clean()


def connected(url: str, token: bytes, timeout_s: float | None) -> SocketEnd:
    """A connection to a listener that was shown the token.

    Args:
        url: Where it listens, as `tare.connect` takes it.
        token: What it wants to be shown; empty for none.
        timeout_s: Longest wait in seconds.

    Raises:
        OSError: Nobody listens there, or not in time.
    """
    from tare.messages.descriptors import open_channel

    wire, settings = _settings("connect", url, token)
    return _end(open_channel(url, None, MessageDeadline(timeout_s), wire, settings))


def _settings(call: str, url: str, token: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """What messages are told; the token of a run is shown once and opens nothing else, so TLS is no condition."""
    from tare.messages.opening import prepared, wire_options

    given: dict[str, Any] = {"token": token} if token else {}
    _, codec, settings = prepared(call, url, "raw", framing="frame", timeout=None, given=given)
    return wire_options(codec, settings), settings


def _end(channel: PulledChannel) -> SocketEnd:
    """The socket itself: its bytes from now on are not messages, or those of a session of their own."""
    descriptor, ahead = channel.detach()
    sock = socket.socket(fileno=descriptor)
    if ahead:  # never: a token is read to its last byte and no further
        sock.close()
        raise ConnectionError("bytes behind the token were read with it")
    sock.setblocking(True)
    return SocketEnd(sock)
