"""The relay's process: ``TARGET RATE RTT`` lines in, addresses out, ends with its input."""

from __future__ import annotations

import sys
from collections import deque

from tare._tare import Relay

__all__ = ["serve"]

KEPT = 32


def serve() -> None:
    """Answer each line with the address of a relay for it.

    Writers of several cases get ready at the same time: an address must stay good until its writer
    has connected, so the last relays are all kept, not just the newest.
    """
    kept: deque[Relay] = deque(maxlen=KEPT)
    for line in sys.stdin:
        target, rate, round_trip = line.split()
        kept.append(Relay(target, float(rate), float(round_trip)))
        sys.stdout.write(kept[-1].address + "\n")
        sys.stdout.flush()
