"""A place that connections come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, Self

from tare._tare import MessageDeadline
from tare.messages.connection import Connection

if TYPE_CHECKING:
    from tare.messages.channel import Channel, Timeout
    from tare.messages.codecs import MessageCodec

__all__ = ["Listener", "Server"]


class Listener(Protocol):
    """What a `Server` stands on: a socket that accepts."""

    @property
    def url(self) -> str:
        """Where it listens."""
        ...

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        ...

    def accept(self, deadline: MessageDeadline) -> tuple[Channel, str]:
        """The next connection that may come in, and where it comes from."""
        ...

    def guests(self) -> list[int]:
        """Descriptors of those who came and were not given yet."""
        ...

    def ready(self, timeout: float | None) -> bool:
        """Whether `accept` would not wait."""
        ...

    def is_full(self) -> bool:
        """Whether all places are taken, so that who comes waits."""
        ...

    def fileno(self) -> int:
        """The descriptor that connections come to."""
        ...

    def close(self) -> None:
        """Listen no more; connections stay."""
        ...


class Server:
    """A place that connections come to; made by `tare.listen`.

    Args:
        listener: What listens.
        codec: Codec of every connection; None takes what the peer says.
        options: The options, checked.
    """

    quick = None
    """For `tare.wait`: a server is always asked."""

    def __init__(self, listener: Listener, codec: MessageCodec | None, options: dict[str, Any]) -> None:
        self._listener = listener
        self._codec = codec
        self._options = options

    @property
    def url(self) -> str:
        """Where it listens, with the port that was chosen."""
        return self._listener.url

    def accept(self, timeout: Timeout = ...) -> Connection:
        """The next connection. Who has not the right token, or no TLS, is closed and not given.

        Raises:
            TimeoutError: Nobody came in time.
            UsageError: It is closed.
            OSError: From the system.
        """
        seconds = self._options["timeout"] if timeout is ... else timeout
        channel, peer = self._listener.accept(MessageDeadline(seconds))
        return Connection(channel, self._codec, peer or self.url, self._options)

    def __iter__(self) -> Iterator[Connection]:
        while not self.closed:
            yield self.accept()

    def poll(self, timeout: Timeout = 0) -> bool:
        """Whether `accept` would not wait for somebody to come."""
        return self._listener.ready(self._options["timeout"] if timeout is ... else timeout)

    def watched(self) -> tuple[int, bool, bool]:
        """For `tare.wait`: the descriptor, whether somebody shakes hands still, and False: it is no file."""
        return self._listener.fileno(), len(self._listener.guests()) > 0, False

    def guests(self) -> list[int]:
        """For `tare.wait`: descriptors of those who shake hands still."""
        return self._listener.guests()

    def is_full(self) -> bool:
        """For `tare.wait`: whether who comes waits, so that the descriptor must not be asked."""
        return self._listener.is_full()

    def fileno(self) -> int:
        """The descriptor that connections come to, to be waited for."""
        return self._listener.fileno()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._listener.closed

    def close(self) -> None:
        """Listen no more; connections that were accepted stay."""
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tare.messages.Server {self.url}{' closed' if self.closed else ''}>"
