"""The relay's process: ``TARGET RATE RTT`` lines in, addresses out, ends with its input."""

from __future__ import annotations

import sys

from tare._tare import Relay

__all__ = ["serve"]


def serve() -> None:
    """Answer each line with the address of a relay for it; the one before is dropped."""
    relay = None
    for line in sys.stdin:
        target, rate, round_trip = line.split()
        relay = Relay(target, float(rate), float(round_trip))
        sys.stdout.write(relay.address + "\n")
        sys.stdout.flush()
    del relay


if __name__ == "__main__":
    serve()
