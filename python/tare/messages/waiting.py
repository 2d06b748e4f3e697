"""`wait`: which of several connections have something."""

from __future__ import annotations

import select
from collections.abc import Iterable
from typing import TypeVar

from tare._tare import MessageDeadline, message_needing, message_poll
from tare.errors import UsageError
from tare.messages.connection import Connection
from tare.messages.places import FULL_S
from tare.messages.server import Server

__all__ = ["wait"]

_End = TypeVar("_End", bound=Connection | Server)
_ENDS = (Connection, Server)
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
        if not isinstance(end, _ENDS):
            raise TypeError(f"wait() is for connections and servers, not {type(end).__name__}")
    deadline = MessageDeadline(timeout)
    # Most say by themselves that they have nothing: the core looks at those, and the others are asked.
    quick = [end.quick for end in given]
    asked: list[tuple[int, int]] = []
    servers: list[tuple[int, Server]] = []
    others: list[tuple[int, Connection]] = []
    at_hand: set[int] = set()
    longest: float | None = None
    for index in message_needing(quick):
        end = given[index]
        number, is_at_hand, is_file = end.watched()
        if isinstance(end, Server):
            servers.append((index, end))
        else:
            others.append((index, end))
            asked.append((index, number))
        if is_at_hand:
            at_hand.add(index)
        if is_file:
            longest = _FILE_S
    events = message_poll(quick, asked + _coming(servers), 0)
    while True:
        # What was decrypted, or taken in before, is looked at whatever the descriptor says.
        look = sorted({*events, *at_hand})
        ready = [given[index] for index in look if given[index].poll(0)]
        if ready or deadline.over:
            return ready
        at_hand = {
            index for index in look if not isinstance(given[index], Server) and given[index].watched()[1]
        }
        # What the core does not look at by itself may have a message that takes too long, too.
        slow = [end.slow_left() for _, end in others]
        full = [FULL_S for _, end in servers if end.is_full()]
        lefts = [left for left in (deadline.left(), longest, *slow, *full) if left is not None]
        if longest is not None:  # a file is always readable, and nothing may be there
            select.select([], [], [], min(lefts))
        if longest is not None or at_hand:
            lefts = [0.0]
        events = message_poll(quick, asked + _coming(servers), min(lefts) if lefts else None)
        events += [index for index, end in others if end.slow_left() == 0]


def _coming(servers: list[tuple[int, Server]]) -> list[tuple[int, int]]:
    """Return what tells that somebody came: who shakes hands does it by what it sends, not by being there."""
    found = [(index, end.fileno()) for index, end in servers if not end.is_full()]
    return found + [(index, guest) for index, end in servers for guest in end.guests()]
