"""Accepts connections in an event loop, as many as there are places; others wait in the system's queue.

`asyncio.Server` would accept all of them, and close those that find no place.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import ssl
from typing import TYPE_CHECKING, Any

from tare._tare import MessageSession
from tare.messages.aio_wires import WireProtocol
from tare.messages.places import FULL_S, Places, is_passing
from tare.messages.pulled import poll_for

if TYPE_CHECKING:
    from tare.messages.listening import SocketListener

__all__ = ["Acceptor"]


class Acceptor:
    """Gives connections that shook hands and have the token to whoever waits for `arrivals`.

    Args:
        listener: What listens; nobody else accepts from it.
        context: TLS, if it is spoken.
        wire: What sessions are told.
        options: The options, checked.
    """

    def __init__(
        self,
        listener: SocketListener,
        context: ssl.SSLContext | None,
        wire: dict[str, Any],
        options: dict[str, Any],
    ) -> None:
        self._listener = listener
        self._context = context
        self._options = options
        self._wire = wire | {"expected": options["token"]}
        self._places = Places(options)
        self._sock = socket.socket(fileno=os.dup(listener.fileno()))
        self._sock.setblocking(False)
        self._welcomes: set[asyncio.Task[None]] = set()
        self._guests: set[WireProtocol] = set()
        self.arrivals: asyncio.Queue[WireProtocol] = asyncio.Queue()
        self._accepting = asyncio.create_task(self._accept())

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._listener.url

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not self._places.has_free():
                await asyncio.sleep(FULL_S)
                if poll_for(self._sock.fileno(), select.POLLIN, 0):  # somebody waits
                    self._places.dismiss_idle()
            try:
                sock, address = await loop.sock_accept(self._sock)
            except OSError as error:
                if not is_passing(error, self._places):
                    self._places.pause()  # nobody waits for this task who could be told
                continue
            self._welcome(sock, address[0] if isinstance(address, tuple) else None)

    def _welcome(self, sock: socket.socket, host: str | None) -> None:
        if not self._places.admits(host):
            sock.close()
            return
        protocol = WireProtocol(
            MessageSession(self._wire["wire"], self._wire), self._options, arrivals=self.arrivals
        )
        self._places.take(protocol, host)
        self._guests = {guest for guest in self._guests if guest.is_guest} | {protocol}
        task = asyncio.create_task(self._shake(sock, protocol))
        self._welcomes.add(task)
        task.add_done_callback(self._welcomes.discard)

    async def _shake(self, sock: socket.socket, protocol: WireProtocol) -> None:
        seconds = self._options["handshake_timeout"] if self._context is not None else None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, sock, ssl=self._context, ssl_handshake_timeout=seconds or None
            )
        except OSError:  # whoever may not come in is told nothing
            protocol.abort()
            sock.close()
        except BaseException:
            protocol.abort()
            sock.close()
            raise

    async def close(self) -> None:
        """Listen no more; connections that were accepted stay."""
        tasks = (self._accepting, *self._welcomes)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._sock.close()
        self._listener.close()
        for guest in self._guests:
            if guest.is_guest:
                guest.abort()
        while not self.arrivals.empty():
            self.arrivals.get_nowait().abort()
        await asyncio.sleep(0)  # asyncio closes its sockets in the next turn
