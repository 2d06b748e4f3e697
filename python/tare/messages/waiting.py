"""`wait`: which of several connections have something."""

from __future__ import annotations

import select
from collections.abc import Iterable
from typing import TypeVar

from tare._tare import MessageConnection, MessageDeadline, MessageListener, message_wait
from tare.errors import UsageError
from tare.messages.connection import Connection
from tare.messages.server import Server

__all__ = ["wait"]

_End = TypeVar("_End", bound=Connection | Server)


def wait(ends: Iterable[_End], timeout: float | None = None) -> list[_End]:
    """The connections that have a whole message, an end or an error, and the servers somebody came to.

    Part of a message is taken in and does not count, so that `Connection.receive` does not wait on
    what is given. At most 1 MiB is read of one connection before another is looked at.

    Args:
        ends: Connections and servers.
        timeout: Seconds; None waits for ever, 0 looks once.

    Returns:
        Those that are ready, in the order given; empty if none was in time.

    Raises:
        UsageError: Nothing to wait for, or one of them was closed here.

    >>> import os
    >>> from tare import connect
    >>> reading, writing = os.pipe()
    >>> reader, writer = connect(f"fd:{reading}", "json", mode="r"), connect(f"fd:{writing}", "json", mode="w")
    >>> wait([reader], timeout=0)
    []
    >>> writer.send([1, 2])
    >>> [end.receive() for end in wait([reader])]
    [[1, 2]]
    >>> writer.close(), reader.close()
    (None, None)
    """
    given = list(ends)
    if not given:
        raise UsageError("nothing to wait for")
    ready: list[_End] = [end for end in given if isinstance(end, Connection) and end.has_ready]
    if ready:
        return _with_others(given, ready)
    core = [end.beneath for end in given if isinstance(end.beneath, (MessageConnection, MessageListener))]
    if len(core) == len(given):
        return [given[index] for index in message_wait(core, MessageDeadline(timeout))]
    return _polled(given, timeout)


def _with_others(given: list[_End], ready: list[_End]) -> list[_End]:
    """Those that are ready, and the others that are so by now."""
    held = set(map(id, ready))
    return [end for end in given if id(end) in held or end.poll(0)]


def _polled(given: list[_End], timeout: float | None) -> list[_End]:
    """As the core does it, where TLS lies between: what was decrypted is looked at before the descriptor."""
    deadline = MessageDeadline(timeout)
    poller = select.poll()
    for end in given:
        poller.register(end.fileno(), select.POLLIN)
    while True:
        ready = [end for end in given if end.poll(0)]
        if ready or deadline.over:
            return ready
        left = deadline.left()
        poller.poll(None if left is None else left * 1000)
