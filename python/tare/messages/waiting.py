"""`wait`: which of several connections have something."""

from __future__ import annotations

import select
from collections.abc import Iterable
from typing import TypeVar

from tare._tare import MessageDeadline
from tare.errors import UsageError
from tare.messages.connection import Connection
from tare.messages.server import Server

__all__ = ["wait"]

_End = TypeVar("_End", bound=Connection | Server)
_FILE_S = 0.05  # no system tells when a file grows


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
        TypeError: One is neither.
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
    for end in given:
        if not isinstance(end, Connection | Server):
            raise TypeError(f"wait() is for connections and servers, not {type(end).__name__}")
    deadline = MessageDeadline(timeout)
    poller = select.poll()
    numbers: list[int] = []
    at_hand: set[int] = set()
    longest: float | None = None
    for end in given:
        number, is_at_hand, is_file = end.watched()
        numbers.append(number)
        poller.register(number, select.POLLIN)
        if is_at_hand:
            at_hand.add(number)
        if is_file:
            longest = _FILE_S
    events: list[tuple[int, int]] = poller.poll(0)
    while True:
        # What was decrypted, or taken in before, is looked at whatever the descriptor says.
        look = {number for number, _ in events} | at_hand
        ready = [end for end, number in zip(given, numbers) if number in look and end.poll(0)] if look else []
        if ready or deadline.over:
            return ready
        at_hand = {number for end, number in zip(given, numbers) if number in look and end.watched()[1]}
        lefts = [left for left in (deadline.left(), longest) if left is not None]
        if longest is not None:  # a file is always readable, and nothing may be there
            select.select([], [], [], min(lefts))
        if longest is not None or at_hand:
            lefts = [0.0]
        events = poller.poll(-(-min(lefts) * 1000 // 1) if lefts else None)
