"""The remote medium: TCP to another machine, whose worker is started over ssh.

``ssh://[user@]host[:port]`` names the machine. The worker there speaks the worker
protocol over ssh's own pipes; the measured bytes take a TCP connection of their own.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from dataclasses import dataclass
from urllib.parse import urlsplit

from tare.errors import UsageError
from tare.media import tcp
from tare.media.sockets import SocketListener
from tare.media.tcp import connect

__all__ = ["Remote", "connect", "listen"]

_OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5")


@dataclass(frozen=True)
class Remote:
    """Another machine, reached by ssh.

    >>> Remote.parse("ssh://me@lab:2222").ssh("tare", "worker")[-2:]
    ['--', 'tare worker']
    """

    host: str
    user: str = ""
    port: int = 22
    command: str = "tare"

    @classmethod
    def parse(cls, url: str) -> Remote:
        """Read ``ssh://[user@]host[:port][/path/to/tare]``.

        Raises:
            UsageError: It is not of that form.
        """
        try:
            parts = urlsplit(url)
            port = 22 if parts.port is None else parts.port
        except ValueError:
            parts, port = urlsplit(""), 0
        host = parts.hostname or ""
        # A host or user that begins with a dash would be an option of ssh.
        if (
            parts.scheme != "ssh"
            or not host
            or host.startswith("-")
            or (parts.username or "").startswith("-")
            or not port
        ):
            raise UsageError(
                f"{url[:80]!a} is not a remote; write ssh://host, ssh://user@host:port or ssh://host/path/to/tare"
            )
        return cls(host, parts.username or "", port, parts.path if len(parts.path) > 1 else "tare")

    def ssh(self, *words: str) -> list[str]:
        """The command that runs ``words`` there."""
        name = f"{self.user}@{self.host}" if self.user else self.host
        return ["ssh", *_OPTIONS, "-p", str(self.port), name, "--", shlex.join(words)]

    def worker_command(self) -> list[str]:
        """The command that starts a worker there."""
        return self.ssh(self.command, "worker")

    def ship(self, path: str | os.PathLike[str]) -> str:
        """Copy a file there, into a new private file; returns its path there.

        Raises:
            OSError: ssh failed; what it said is in the text.
        """
        script = "umask 077; f=$(mktemp /tmp/tare-XXXXXXXX) && cat > $f && echo $f"
        with open(path, "rb") as file:
            done = subprocess.run(self.ssh("sh", "-c", script), stdin=file, capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()[-300:]
            raise OSError(f"cannot copy the data to {self.host} by ssh (exit {done.returncode}): {said}")
        return done.stdout.decode().strip()

    def remove(self, paths: list[str]) -> None:
        """Remove shipped files; what cannot be removed stays in the temporary folder there."""
        if paths:
            subprocess.run(
                self.ssh("rm", "-f", *paths), stdin=subprocess.DEVNULL, capture_output=True, check=False
            )

    def address(self) -> str:
        """Its address as seen from here, for the measured connection.

        Raises:
            OSError: No such host is known.
        """
        try:
            return str(socket.getaddrinfo(self.host, None, type=socket.SOCK_STREAM)[0][4][0])
        except OSError as error:
            raise OSError(
                f"cannot find the host {self.host} ({error.strerror or error}): check its spelling and the"
                f" network; an alias of ssh's own settings is not enough, so give its full name or address"
            ) from error


def listen(address: str = "", *, token: bytes = b"") -> SocketListener:
    """Listen on every address of the machine (the token keeps others out), for a writer on another one.

    Args:
        address: ``host:port``; empty for a free port.
        token: What the writer must show first; required.

    Raises:
        UsageError: No token was given.
        OSError: The address cannot be bound.
    """
    if len(token) < 16:
        raise UsageError("listening for another machine needs a token of at least 16 bytes")
    return tcp.listen(address or "0.0.0.0:0", token=token)
