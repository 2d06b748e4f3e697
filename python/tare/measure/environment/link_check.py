"""What an emulated link, or a path to another host, really reaches: rate and round trip."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from statistics import quantiles
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.media.lan import Lan
    from tare.media.link import Link

__all__ = ["check_link", "drift"]

_PINGS, _LEAST_PINGS = 200, 20
_SECONDS = 0.3
_LEAST_BYTES = 1 << 16
_PIECE = bytes(1 << 16)
_PATIENCE_S = 30
# The first part fills buckets and windows: what is poured from then on has the link's own rate.
_WARM = 1 / 3


def check_link(link: Link, lan: Lan | None = None) -> dict[str, Any]:
    """Measure the emulation of a link.

    Args:
        link: What is emulated.
        lan: The namespaces it lies between; None measures a relay between sockets.

    Returns:
        ``asked`` (text), ``method``, ``bytes_per_second`` and ``round_trip_s`` as reached; and in the
        units of networks ``rate_asked``, ``rate_measured`` (bit/s), ``rtt_asked_us``, ``rtt_p50_us``,
        ``rtt_p90_us``, ``mtu`` (None for a relay) and ``kernel``.

    Raises:
        OSError: The relay did not start, or the link carries nothing.
    """
    with _ends(link, lan) as (method, connect, arrivals):
        trips = _ping(connect, link)
        rate = _pour(connect, arrivals, max(_LEAST_BYTES, int(link.bytes_per_second * _SECONDS)))
    middle, high = quantiles(trips, n=10, method="inclusive")[4::4]
    return {
        "asked": str(link),
        "method": method,
        "bytes_per_second": rate,
        "round_trip_s": middle,
        "rate_asked": link.bytes_per_second * 8,
        "rate_measured": rate * 8,
        "rtt_asked_us": round(link.round_trip_s * 1e6, 3),
        "rtt_p50_us": round(middle * 1e6, 1),
        "rtt_p90_us": round(high * 1e6, 1),
        "mtu": lan.mtu if lan is not None else None,
        "kernel": os.uname().release,
    }


def drift(before: dict[str, Any], after: dict[str, Any]) -> float:
    """By how much the rate or the round trip of a link changed, whichever more: 0.1 is 10 %.

    >>> drift({"bytes_per_second": 100.0, "round_trip_s": 1.0}, {"bytes_per_second": 90.0, "round_trip_s": 1.2})
    0.2
    """
    found: list[float] = [
        abs(after[name] / before[name] - 1) for name in ("bytes_per_second", "round_trip_s")
    ]
    return round(max(found), 3)


@contextlib.contextmanager
def _ends(link: Link, lan: Lan | None) -> Iterator[tuple[str, Callable[[], socket.socket], list[_Arrival]]]:
    """The method, what connects through the link, and what has arrived at its far end."""
    from tare.media.link import METHOD, RelayProcess

    arrivals: list[_Arrival] = []
    with lan.side[0].listen() if lan is not None else socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(_PATIENCE_S)
        thread = threading.Thread(target=_serve, args=(server, arrivals), daemon=True)
        thread.start()
        host, port = server.getsockname()[:2]
        if lan is not None:
            far = lan.side[1]
            yield lan.method, lambda: far.connect(port, host), arrivals
        else:
            relay = RelayProcess(f"{host}:{port}", link)
            try:
                yield METHOD, lambda: _connect(relay.address), arrivals
            finally:
                relay.close()
        thread.join(_PATIENCE_S)


_Arrival = tuple[float, int]
"""A moment, and the bytes that had arrived by then."""


def _connect(address: str) -> socket.socket:
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=_PATIENCE_S)


def _ping(connect: Callable[[], socket.socket], link: Link) -> list[float]:
    times = []
    with connect() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(_PATIENCE_S)
        for _ in range(max(_LEAST_PINGS, min(_PINGS, int(_SECONDS / max(link.round_trip_s, 1e-6))))):
            began = time.perf_counter()
            sock.sendall(b"p")
            sock.recv(1)
            times.append(time.perf_counter() - began)
    return times


def _pour(connect: Callable[[], socket.socket], arrivals: list[_Arrival], total: int) -> float:
    """Bytes per second at the far end, once the link is full."""
    with connect() as sock:
        sock.settimeout(_PATIENCE_S)
        left = total
        while left > 0:
            sock.sendall(_PIECE[: min(left, len(_PIECE))])
            left -= len(_PIECE)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1 << 16):
            pass
    if not arrivals or arrivals[-1][1] < total:
        raise ConnectionError("the link lost a connection")
    began_s, first = next(one for one in arrivals if one[1] >= total * _WARM)
    ended_s, last = arrivals[-1]
    return (last - first) / max(ended_s - began_s, 1e-9)


def _serve(server: socket.socket, arrivals: list[_Arrival]) -> None:
    """Answer single bytes at once, and note when whatever is longer arrives."""
    for _ in range(2):
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(_PATIENCE_S)
            total = 0
            while piece := connection.recv(1 << 16):
                if len(piece) == 1 and not total:
                    connection.sendall(piece)
                    continue
                total += len(piece)
                arrivals.append((time.perf_counter(), total))
