"""The other host of the medium ``remote``: its worker's command, the data shipped once, the round trip."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

from tare._version import __version__
from tare.errors import UsageError, WorkerError
from tare.measure.worker_client.client import Worker
from tare.media.remote import Remote

__all__ = ["RemoteEnd"]

_CONNECTS = 5


class RemoteEnd:
    """What one run needs of another host.

    Args:
        url: ``ssh://[user@]host[:port][/path/to/tare]``; None is an error.

    Raises:
        UsageError: No host was given, or it is not written as one.
        OSError: The host cannot be found or reached, or has no Tare of this version; the text says
            which, and what to do.
    """

    def __init__(self, url: str | None) -> None:
        if not url:
            raise UsageError("the medium 'remote' needs the other host: --remote ssh://host")
        self._remote = Remote.parse(url)
        self._shipped: dict[str, str] = {}
        self._shipping = threading.Lock()
        self.address = self._remote.address()
        self.command = self._remote.worker_command()
        self._check()

    def summary(self) -> dict[str, Any]:
        """How it is reached and the round trip, for the record; the host's name stays out of it."""
        return {"method": "ssh worker, TCP for the measured bytes", "round_trip_s": self._round_trip_s()}

    def ship(self, path: str) -> str:
        """The path there of a file here, copied at the first call.

        Raises:
            OSError: ssh failed.
        """
        with self._shipping:
            if path not in self._shipped:
                self._shipped[path] = self._remote.ship(path)
            return self._shipped[path]

    def close(self) -> None:
        """Remove what was shipped."""
        self._remote.remove(list(self._shipped.values()))
        self._shipped.clear()

    def _check(self) -> None:
        """Ask a worker there who it is: one message now instead of a failure in every case."""
        host, named = self._remote.host, self._remote.command
        try:
            with Worker("remote", command=self.command) as worker:
                there = worker.hello.get("tare", "of an older version")
        except WorkerError as error:
            said = f"{error}: {error.log_tail.strip()[-300:]}".rstrip(": ")
            if error.type == "start":
                raise OSError("ssh is not installed: install the OpenSSH client") from error
            if "code 255" in str(error):
                raise OSError(f"cannot reach {host} by ssh ({said})") from error
            if error.type == "exit":
                raise OSError(
                    f"{host} has no {named} that runs ({said}): install Tare there, or say where it is:"
                    " --remote ssh://host/path/to/tare"
                ) from error
            raise OSError(
                f"what {host} answers for '{named} worker' is not this version's protocol ({said}):"
                f" install tare {__version__} there; a login shell there must print nothing"
            ) from error
        if there != __version__:
            raise OSError(f"{host} has tare {there}, here is {__version__}: install the same version there")

    def _round_trip_s(self) -> float | None:
        """The least time of a TCP connection to the ssh port: one round trip, nothing of ssh in it."""
        least = None
        for _ in range(_CONNECTS):
            began = time.perf_counter()
            try:
                with socket.create_connection((self.address, self._remote.port), timeout=5):
                    took = time.perf_counter() - began
            except OSError:
                return None
            least = took if least is None else min(least, took)
        return least
