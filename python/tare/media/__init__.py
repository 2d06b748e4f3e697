"""Media: where encoded bytes go. One file per medium; no medium reads a clock.

Two shapes, and nothing else is asked of a medium:

* *one end* (``memory``, ``file``, ``store``): the module has ``write`` and ``read``.
* *two ends* (``fifo``, ``unix``, ``tcp``, ``remote``, ``link``): writer and reader are
  separate processes. The module has ``listen(address, token) -> Listener`` for the
  reader and ``connect(address, token, timeout_s) -> io.RawIOBase`` for the writer.
  Neither waits for the other side: ``listen`` returns at once with the address that
  the writer needs, ``connect`` succeeds as soon as somebody listens there, and only
  ``Listener.accept`` waits.

Ends are raw binary files (``write``, ``readinto``, ``fileno``, ``close``): unbuffered,
so that whoever measures knows which byte went when. Closing the writing end is how a
reader learns that the message is over. A duplex end also has ``finish()``: nothing more
will be written, but the reader's answer can still be read (``shutdown`` of a socket).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

from tare.errors import UsageError

if TYPE_CHECKING:
    import io

__all__ = ["MEDIA", "Listener", "Medium", "StreamModule", "medium"]


class Listener(Protocol):
    """The reading side of a medium with two ends, before the writer has come."""

    address: str
    """What the writer passes to ``connect``: a path, ``host:port``."""

    def accept(self, *, timeout_s: float | None = None) -> io.RawIOBase:
        """Wait for the writer, check its token, and return the reading end.

        Args:
            timeout_s: Longest wait, in seconds; None waits for ever.

        Raises:
            TimeoutError: Nobody came in time, or nobody who knew the token.
            ConnectionError: Whoever wrote did not know the token, on a medium that cannot tell writers apart.
        """

    def close(self) -> None:
        """Stop listening and remove what was created (socket file, fifo)."""


class StreamModule(Protocol):
    """What the module of a medium with two ends offers."""

    def listen(self, address: str = "", *, token: bytes = b"") -> Listener:
        """Create the reading side; an empty address (or port 0) lets it choose."""

    def connect(self, address: str, *, token: bytes = b"", timeout_s: float | None = None) -> io.RawIOBase:
        """Connect to a listener, give the token, and return the writing end."""


@dataclass(frozen=True)
class Medium:
    """One place that encoded bytes can go to.

    Args:
        name: As in a route id: ``json:orjson@tcp``.
        module: Module that implements it, imported on first use.
        ends: 1 if one process writes and later reads; 2 if a writer and a reader run at once.
        duplex: Whether the reader can answer over the same connection.
        help: One sentence.
    """

    name: str
    module: str
    ends: int
    duplex: bool = False
    help: str = ""

    def load(self) -> ModuleType:
        """The module that implements it."""
        return importlib.import_module(self.module)

    def stream(self) -> StreamModule:
        """The module of a medium with two ends.

        Raises:
            UsageError: The medium has one end only.
        """
        if self.ends != 2:
            raise UsageError(f"{self.name} is not a stream: it has one end")
        return cast("StreamModule", self.load())


MEDIA: tuple[Medium, ...] = (
    Medium("memory", "tare.media.memory", 1, help="Bytes stay in the process."),
    Medium("file", "tare.media.file", 1, help="A file on this machine, warm or cold, with or without fsync."),
    Medium("fifo", "tare.media.fifo", 2, help="A named pipe between two processes."),
    Medium("unix", "tare.media.unix", 2, True, help="A socket in the file system, between two processes."),
    Medium("tcp", "tare.media.tcp", 2, True, help="A TCP connection on this machine."),
    Medium(
        "remote", "tare.media.remote", 2, True, help="A TCP connection to another machine, started over ssh."
    ),
    Medium(
        "link",
        "tare.media.link",
        2,
        True,
        help="TCP through an emulated link of a given rate and round trip.",
    ),
    Medium("store", "tare.media.store", 1, help="A folder of Tare's store: hashed, verified when read."),
)
"""Every medium, the plain ones first. Nothing else names the members."""


def medium(name: str) -> Medium:
    """The medium of that name.

    Args:
        name: For example ``file``.

    Raises:
        UsageError: There is none; near names are listed.

    >>> medium("tcp").ends
    2
    """
    for entry in MEDIA:
        if entry.name == name:
            return entry
    import difflib

    names = [entry.name for entry in MEDIA]
    near = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(f"no medium named {name!r}{hint} (there are {', '.join(names)})")
