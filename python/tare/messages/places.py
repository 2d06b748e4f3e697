"""The places of a listener: how many there are, who may take one, and who gives it up while others wait."""

from __future__ import annotations

import errno
import ipaddress
import resource
from typing import Any, Protocol

from tare._tare import MessageDeadline

__all__ = ["FULL_S", "Holder", "Places", "is_passing", "most_places"]

FULL_S = 0.05
"""Seconds between two looks at whether a place is free."""

_SPARE = 64  # descriptors that are left for all else
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
# What `accept` says of a connection that broke before it was accepted.
_BROKEN = (
    errno.ECONNABORTED, errno.ENETDOWN, errno.EPROTO, errno.ENOPROTOOPT, errno.EHOSTDOWN, errno.EHOSTUNREACH,
    errno.EOPNOTSUPP, errno.ENETUNREACH, errno.EAGAIN, errno.EINTR, errno.EPERM, errno.ETIMEDOUT,
)  # fmt: skip


class Holder(Protocol):
    """A connection that holds a place."""

    @property
    def is_gone(self) -> bool:
        """Whether its place is free."""
        ...

    def progress(self) -> tuple[int, int] | None:
        """Bytes of whole messages either way; None if something came that nobody looked at yet."""
        ...

    def dismiss(self) -> None:
        """End it, whoever waits for it."""
        ...


class _Place:
    def __init__(self, holder: Holder, source: str, patience: MessageDeadline) -> None:
        self.holder = holder
        self.source = source
        self.patience = patience
        self.progress = (0, 0)


class Places:
    """The places of one listener.

    Args:
        options: The options, checked.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._most: int = options["max_connections"]
        self._most_of_one: int | None = options.get("max_per_peer")
        self._message_timeout: float | None = options["message_timeout"]
        self._handshake_timeout: float | None = options["handshake_timeout"]
        self._taken: list[_Place] = []
        self._scarce = MessageDeadline(0)

    def has_free(self) -> bool:
        """Whether somebody may come in now."""
        self._taken = [place for place in self._taken if not place.holder.is_gone]
        return self._scarce.over and len(self._taken) < most_places(self._most)

    def pause(self) -> None:
        """Let nobody in for a moment: the system has no descriptor left."""
        self._scarce = MessageDeadline(FULL_S)

    def admits(self, host: str | None) -> bool:
        """Whether one more of an address may come in; always by paths.

        Args:
            host: The address that it comes from.
        """
        if not host:
            return True
        source = _source(host)
        most = self._most_of_one
        if most is None:
            if ipaddress.ip_address(source.partition("/")[0]).is_loopback:
                return True  # all of one machine share it
            most = max(most_places(self._most) // 2, 1)
        return sum(place.source == source for place in self._taken) < most

    def take(self, holder: Holder, host: str | None) -> None:
        """Give a place to somebody who came just now.

        Args:
            holder: The connection.
            host: The address that it comes from; None by a path.
        """
        patience = MessageDeadline(self._handshake_timeout)
        self._taken.append(_Place(holder, _source(host) if host else "", patience))

    def hand_on(self, before: Holder, after: Holder) -> None:
        """Let a connection keep the place that it had while it shook hands."""
        for place in self._taken:
            if place.holder is before:
                place.holder, place.progress = after, after.progress() or place.progress

    def dismiss_idle(self) -> None:
        """End those that let no whole message pass for their time, as somebody waits for a place.

        The time is ``handshake_timeout`` from the beginning, and ``message_timeout`` from the last look that saw a
        message.
        """
        for place in self._taken:
            progress = place.holder.progress()
            if progress is None or progress != place.progress:
                place.progress = progress or place.progress
                place.patience = MessageDeadline(self._message_timeout)
            elif place.patience.over:
                place.holder.dismiss()


def most_places(asked: int) -> int:
    """How many connections may be open: each may need a file beside its descriptor.

    Args:
        asked: The option ``max_connections``.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return asked
    return max(min(asked, (limit - min(_SPARE, limit // 4)) // 2), 1)


def is_passing(error: OSError, places: Places) -> bool:
    """Whether an error of accepting is no end of listening; when descriptors are scarce, places pause.

    Args:
        error: Of `accept`.
        places: Those of the listener.
    """
    if error.errno in _SCARCE:
        places.pause()
        return True
    return error.errno in _BROKEN


def _source(host: str) -> str:
    """Return what connections are counted by: an address, of IPv6 the network that one customer has."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        if not address.is_loopback:
            return str(ipaddress.ip_network((int(address), 64), strict=False))
    return str(address)
