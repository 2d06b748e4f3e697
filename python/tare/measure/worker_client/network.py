"""The other ends of a run: the host behind ``remote``, and what emulates a link.

Each is reached once, when a seat first needs it, and closed with the run. A link is emulated
between two network namespaces, in which writer and reader run, where the system allows it; else by
a relay between their sockets.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.measure.settings import Settings
    from tare.measure.worker_client.remote import RemoteEnd
    from tare.media.lan import Lan
    from tare.media.link import Link, RelayProcess

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
        self._lan: Lan | None = None
        self._no_lan = ""
        self._remote: RemoteEnd | None = None
        self._reaching = threading.Lock()

    def close(self) -> None:
        """End the link and the connection to the host, if there are any."""
        for end in (self._relay, self._lan, self._remote):
            if end is not None:
                end.close()
        self._relay = self._lan = self._remote = None

    def check_again(self) -> None:
        """Measure the link once more, behind the samples: the record tells how far it drifted meanwhile."""
        before = self._noise.get("link")
        if (self._lan is None and self._relay is None) or before is None or "after" in before:
            return
        from tare.measure.environment.link_check import check_link, drift

        try:
            before["after"] = check_link(self._link, self._lan)
        except OSError as error:  # the samples are there, whatever became of the link
            before["after"] = {"error": str(error)[:200]}
        else:
            before["drift"] = drift(before, before["after"])

    def medium(self, name: str, role: str) -> dict[str, Any]:
        """What ``open`` of an end is told of the medium; an emulated link is TCP with something between."""
        told = {"kind": "tcp" if name == "link" else name, "timeout_s": self._settings.deadline_s}
        lan = self._between() if name == "link" else None
        if lan is not None and role == "reader":
            told["address"] = f"{lan.side[0].address}:0"
        return told

    def inside(self, name: str, role: str) -> list[str]:
        """What comes before the command of an end's worker; nothing, unless it runs in a namespace."""
        lan = self._between() if name == "link" else None
        return [] if lan is None else lan.side[0 if role == "reader" else 1].command()

    @property
    def _link(self) -> Link:
        from tare.media.link import Link

        return Link.parse(self._settings.link or DEFAULT_LINK)

    def _between(self) -> Lan | None:
        """The two namespaces of a link, made and measured at first use; None where they cannot be had."""
        from tare.measure.environment.link_check import check_link
        from tare.media.lan import Lan

        with self._reaching:
            if self._lan is None and not self._no_lan:
                made = None
                try:
                    made = Lan(self._link)
                    self._noise["link"] = check_link(self._link, made)
                except OSError as error:  # LanError is one; so is a link that carries nothing
                    self._no_lan = str(error) or type(error).__name__
                    if made is not None:
                        made.close()
                else:
                    self._lan = made
            return self._lan

    @property
    def remote(self) -> RemoteEnd:
        """The other host.

        Raises:
            UsageError: None was given.
        """
        from tare.measure.worker_client.remote import RemoteEnd

        with self._reaching:  # seats start two at a time, and each host is reached once
            if self._remote is None:
                self._remote = RemoteEnd(self._settings.remote)
                self._noise["remote"] = self._remote.summary()
            return self._remote

    def through_link(self, name: str, address: str) -> str:
        """The address the writer must use: the relay's where one emulates the link, else the reader's own."""
        if name == "remote":
            return f"{self.remote.address}:{address.rpartition(':')[2]}"
        if name != "link" or self._between() is not None:
            return address
        from tare.media.link import RelayProcess

        link = self._link
        with self._reaching:
            if self._relay is None:
                from tare.measure.environment.link_check import check_link

                self._noise["link"] = check_link(link) | {"no_namespaces": self._no_lan[:300]}
                self._relay = RelayProcess(address, link)
                return self._relay.address
        return self._relay.retarget(address, link)
