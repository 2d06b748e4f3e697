"""The other ends of a run: the host behind ``remote``, and the relay that emulates a link.

Each is reached once, when a seat first needs it, and closed with the run.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.measure.remote_end import RemoteEnd
    from tare.measure.session import Settings
    from tare.media.link import RelayProcess

__all__ = ["DEFAULT_LINK", "Reach"]

DEFAULT_LINK = "1Gbit,0.3ms"
"""The emulated link where none is given: a local network's."""


class Reach:
    """What media with two ends need beyond two workers.

    Args:
        settings: What the user asked for: the link, the host, the deadline.
        noise: Block of the record that is told what was found of both.
    """

    def __init__(self, settings: Settings, noise: dict[str, Any]) -> None:
        self._settings = settings
        self._noise = noise
        self._relay: RelayProcess | None = None
        self._remote: RemoteEnd | None = None
        self._reaching = threading.Lock()

    def close(self) -> None:
        """End the relay and the connection to the host, if there are any."""
        for end in (self._relay, self._remote):
            if end is not None:
                end.close()

    def medium(self, name: str) -> dict[str, Any]:
        """What ``open`` is told of the medium; an emulated link is TCP with a relay between."""
        return {"kind": "tcp" if name == "link" else name, "timeout_s": self._settings.deadline_s}

    @property
    def remote(self) -> RemoteEnd:
        """The other host.

        Raises:
            UsageError: None was given.
        """
        from tare.measure.remote_end import RemoteEnd

        with self._reaching:  # seats start two at a time, and each host is reached once
            if self._remote is None:
                self._remote = RemoteEnd(self._settings.remote)
                self._noise["remote"] = self._remote.summary()
            return self._remote

    def through_link(self, name: str, address: str) -> str:
        """The address the writer must use: the relay's on an emulated link, else the reader's own.

        Raises:
            UsageError: The medium is ``link`` and no link was given.
        """
        if name == "remote":
            return f"{self.remote.address}:{address.rpartition(':')[2]}"
        if name != "link":
            return address
        from tare.media.link import Link, RelayProcess

        link = Link.parse(self._settings.link or DEFAULT_LINK)
        with self._reaching:
            if self._relay is None:
                from tare.measure.link_check import check_link

                self._noise["link"] = check_link(link)
                self._relay = RelayProcess(address, link)
                return self._relay.address
        return self._relay.retarget(address, link)
