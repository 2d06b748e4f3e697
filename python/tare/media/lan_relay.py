"""The process that passes packets between two namespaces, until its parent has gone.

Its standard input is a socket on which both devices come, with the rate and the round trip.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket

from tare._tare import PacketRelay

__all__ = ["serve"]


def serve() -> None:
    """Take the devices, pass packets, and end with the parent."""
    with socket.socket(fileno=os.dup(0)) as parent:
        text, (near, far), _, _ = socket.recv_fds(parent, 1 << 10, 2)
        # The threads that are begun from here on wake as soon as they should, not 50 us later.
        with contextlib.suppress(OSError), open("/proc/self/timerslack_ns", "w") as slack:
            slack.write("1")
        with contextlib.suppress(OSError):  # only root may, and a link does not wait for other programs
            os.nice(-10)
        relay = PacketRelay(near, far, *json.loads(text))
        parent.send(b"r")
        while parent.recv(1):
            pass
        del relay
