"""The TCP medium: a connection on this machine, or to an address given.

Loopback by default; port 0 lets the reader's system choose. Nagle's delay is off,
because a message's last, short segment would wait for an acknowledgement.
"""

from __future__ import annotations

import io

from tare.media.sockets import SocketListener, connected

__all__ = ["connect", "listen"]


def listen(address: str = "", *, token: bytes = b"") -> SocketListener:
    """Listen for one writer.

    Args:
        address: ``host:port``; empty for a free port of the loopback address.
        token: What the writer must show first: 16 to 64 bytes; empty for nothing.

    Raises:
        UsageError: The address is not one.
        OSError: The address cannot be bound.
    """
    return SocketListener(f"tcp://{address or ':0'}", token)


def connect(address: str, *, token: bytes = b"", timeout_s: float | None = None) -> io.RawIOBase:
    """Connect to a listener and show the token.

    Args:
        address: ``host:port``.
        token: As given to ``listen``.
        timeout_s: Longest wait for the connection, in seconds.

    Raises:
        UsageError: The address is not one.
        OSError: Nobody listens there, or not in time.
    """
    return connected(f"tcp://{address}", token, timeout_s)
