"""The link medium: TCP through an emulated link of a given rate and round trip.

Where namespaces can be had, the link lies between two of them and writer and reader run inside:
`tare.media.lan`. Elsewhere the emulation is the core's relay, here: a token bucket of 32 KiB in front
of a delay queue, in a process of its own, without privileges. Either is called an emulated link,
never a network, and what it reached is measured and kept beside the numbers.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import threading
from dataclasses import dataclass
from decimal import Decimal

from tare.errors import UsageError
from tare.media.lan import own_program
from tare.media.tcp import connect, listen

__all__ = ["Link", "RelayProcess", "connect", "listen"]

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmMgG]?)(bit|B)(?:/s|ps)?", re.ASCII)
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s)", re.ASCII)
# Decimals, so that a link is printed as it was written: 0.3 ms in seconds is no exact binary number.
_SCALE = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_SECONDS = {"us": Decimal("0.000001"), "ms": Decimal("0.001"), "s": Decimal(1)}
_SLOWEST, _FASTEST, _LONGEST_S = 1, 10**15, 60
METHOD = "socket relay: token bucket 32 KiB, delay queue"


@dataclass(frozen=True)
class Link:
    """A link: its rate in bytes per second and its round trip in seconds.

    >>> link = Link.parse("1Gbit,0.3ms")
    >>> link.bytes_per_second, link.round_trip_s, str(link)
    (125000000.0, 0.0003, '1Gbit,0.3ms')
    """

    bytes_per_second: float
    round_trip_s: float

    @classmethod
    def parse(cls, text: str) -> Link:
        """Read ``RATE,RTT``: ``1Gbit,0.3ms``, ``12.5MB/s,20ms``, ``100Mbit``.

        Raises:
            UsageError: It is not of that form, or the rate is below 1 B/s, or the round trip above 60 s.
        """
        rate, comma, time = text.partition(",")
        found = _RATE.fullmatch(rate.strip())
        round_trip = _TIME.fullmatch(time.strip())
        if not found or (comma and not round_trip):
            raise UsageError(
                f"{text[:80]!a} is not a link; write RATE,RTT such as 1Gbit,0.3ms or 12.5MB/s,20ms"
            )
        per_second = Decimal(found[1]) * _SCALE[found[2].lower()] / (8 if found[3] == "bit" else 1)
        round_trip_s = Decimal(round_trip[1]) * _SECONDS[round_trip[2]] if round_trip else Decimal(0)
        if not _SLOWEST <= per_second <= _FASTEST or round_trip_s > _LONGEST_S:
            raise UsageError(
                f"{text[:80]!a}: a link has 1 B/s to 1 PB/s and a round trip of at most {_LONGEST_S} s,"
                " such as 1Gbit,0.3ms"
            )
        return cls(float(per_second), float(round_trip_s))

    def __str__(self) -> str:
        bits = Decimal(repr(self.bytes_per_second)) * 8
        step = next(step for step in (3, 2, 1, 0) if bits >= 1000**step or not step)
        rate = f"{_plain(bits / 1000**step)}{('', 'k', 'M', 'G')[step]}bit"
        return f"{rate},{_plain(Decimal(repr(self.round_trip_s)) * 1000)}ms"


def _plain(number: Decimal) -> str:
    """Digits without an exponent or trailing zeros."""
    return f"{number.normalize():f}"


class RelayProcess:
    """A relay in a process of its own, so that it takes no time from who is measured.

    Args:
        target: ``host:port`` of the listener.
        link: What to emulate.

    Raises:
        OSError: The process did not start.
    """

    def __init__(self, target: str, link: Link) -> None:
        self._asking = threading.Lock()
        self._process = subprocess.Popen(
            own_program("tare.media.relay"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self.address = self._ask(f"{target} {link.bytes_per_second!r} {link.round_trip_s!r}")
        except OSError:
            self.close()
            raise

    def retarget(self, target: str, link: Link) -> str:
        """Pass connections on to another listener too; returns the address for it.

        The last 32 addresses stay good, so that several threads may ask for one each and connect later.
        """
        return self._ask(f"{target} {link.bytes_per_second!r} {link.round_trip_s!r}")

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            # What a process that has ended was not told, nobody needs.
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _ask(self, line: str) -> str:
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("the relay has no pipes")
        with self._asking:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline().decode().strip()
        if not answer:
            raise OSError("the relay process ended without an address")
        return answer
