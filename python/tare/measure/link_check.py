"""What an emulated link, or a path to another host, really reaches: rate and round trip."""

from __future__ import annotations

import socket
import threading
import time
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.media.link import Link

__all__ = ["check_link"]

_PINGS = 40
_SECONDS = 0.3
_PIECE = bytes(1 << 16)


def check_link(link: Link) -> dict[str, Any]:
    """Measure the emulation of a link.

    Args:
        link: What is emulated.

    Returns:
        ``asked`` (text), ``method``, ``bytes_per_second`` and ``round_trip_s`` as reached.

    Raises:
        OSError: The relay did not start.
    """
    from tare.media.link import METHOD, RelayProcess

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_serve, args=(server,), daemon=True).start()
        host, port = server.getsockname()
        relay = RelayProcess(f"{host}:{port}", link)
        try:
            round_trip_s = _ping(relay.address)
            rate = _pour(relay.address, max(1 << 16, int(link.bytes_per_second * _SECONDS)))
        finally:
            relay.close()
    return {"asked": str(link), "method": METHOD, "bytes_per_second": rate, "round_trip_s": round_trip_s}


def _connect(address: str) -> socket.socket:
    host, port = address.rsplit(":", 1)
    sock = socket.create_connection((host, int(port)), timeout=30)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _ping(address: str) -> float:
    times = []
    with _connect(address) as sock:
        for _ in range(_PINGS):
            began = time.perf_counter()
            sock.sendall(b"p")
            sock.recv(1)
            times.append(time.perf_counter() - began)
    return median(times)


def _pour(address: str, total: int) -> float:
    """Bytes per second at the far end: ``p`` starts its clock, the answer is its count of seconds."""
    with _connect(address) as sock:
        began = time.perf_counter()
        left = total
        while left > 0:
            sock.sendall(_PIECE[: min(left, len(_PIECE))])
            left -= len(_PIECE)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1 << 16):
            pass
        return total / (time.perf_counter() - began)


def _serve(server: socket.socket) -> None:
    """Answer single bytes at once, and swallow whatever is longer."""
    for _ in range(2):
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while piece := connection.recv(1 << 16):
                if len(piece) == 1:
                    connection.sendall(piece)
