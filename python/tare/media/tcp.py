"""The TCP medium: a connection on this machine, or to an address given.

Loopback by default; port 0 lets the reader's system choose. Nagle's delay is off,
because a message's last, short segment would wait for an acknowledgement.
"""

from __future__ import annotations

import io
import socket

from tare.errors import UsageError
from tare.media.sockets import BACKLOG, SocketListener, open_end

__all__ = ["connect", "listen", "parse_address"]

_LOOPBACK = "127.0.0.1"


def parse_address(address: str) -> tuple[str, int]:
    """Split ``host:port``; IPv6 hosts are in brackets.

    Raises:
        UsageError: It is neither.

    >>> parse_address("127.0.0.1:0"), parse_address("[::1]:80")
    (('127.0.0.1', 0), ('::1', 80))
    """
    host, colon, port = address.rpartition(":")
    # Only ASCII digits, and few: int() would take others, or refuse a thousand.
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5) or int(port) > 65535:
        raise UsageError(f"{address[:80]!a} is not HOST:PORT (a port from 0 to 65535)")
    return host.strip("[]") or _LOOPBACK, int(port)


def listen(address: str = "", *, token: bytes = b"") -> SocketListener:
    """Listen for one writer.

    Args:
        address: ``host:port``; empty for a free port of the loopback address.
        token: Bytes the writer must send first.

    Raises:
        OSError: The address cannot be bound.
    """
    host, port = parse_address(address) if address else (_LOOPBACK, 0)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    bound = sock.getsockname()[1]
    return SocketListener(sock, f"[{host}]:{bound}" if ":" in host else f"{host}:{bound}", token)


def connect(address: str, *, token: bytes = b"", timeout_s: float | None = None) -> io.RawIOBase:
    """Connect to a listener and give the token.

    Args:
        address: ``host:port``.
        token: As given to ``listen``.
        timeout_s: Longest wait for the connection, in seconds.

    Raises:
        OSError: Nobody listens there, or not in time.
    """
    sock = socket.create_connection(parse_address(address), timeout=timeout_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return open_end(sock, token)
