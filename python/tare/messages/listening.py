"""Listeners: a peer shakes hands and shows its token before its connection is given to anybody."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
from typing import TYPE_CHECKING, Any

from tare._tare import MessageDeadline, MessageSession
from tare.errors import TareError, UsageError
from tare.messages.descriptors import DescriptorChannel, unix_address
from tare.messages.exact import missing, token_missing
from tare.messages.places import FULL_S, Places, is_passing
from tare.messages.pulled import PulledChannel, poll_for
from tare.messages.urls import host_and_port, tcp_url

if TYPE_CHECKING:
    import ssl

__all__ = ["SocketListener", "listening_socket"]

_BACKLOG = 128
_GRACE_S = 1.0  # of one who says nothing while others wait for its place


def listening_socket(url: str) -> tuple[socket.socket, str]:
    """A socket that listens, and its URL with the port that was chosen.

    Raises:
        OSError: The address is in use, or cannot be bound.
    """
    if url.startswith("tcp:"):
        host, port = host_and_port(url)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        return sock, tcp_url(host, sock.getsockname()[1])
    address = unix_address(url)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if not address.startswith("\0"):
            _remove_stale(address)
        sock.bind(address)
        if not address.startswith("\0"):
            os.chmod(address, 0o600)  # before it listens, nobody can connect
        sock.listen(_BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock, url


def _remove_stale(path: str) -> None:
    """Remove a socket's file that nobody listens at; what cannot be connected to for other reasons stays."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.settimeout(1)
                probe.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)
            except OSError:
                return


class _Guest:
    """A peer that has not shown yet that it may come in.

    Args:
        sock: Its socket.
        peer: Where it comes from.
        session: What cuts and joins its bytes.
        patience: Until when it must have shaken hands and shown its token.
        secured: Whether it must speak TLS.
        speaks_first: Whether it is given once it sent something.
    """

    def __init__(
        self,
        sock: socket.socket | ssl.SSLSocket,
        peer: str,
        session: MessageSession,
        patience: MessageDeadline,
        *,
        secured: bool,
        speaks_first: bool,
    ) -> None:
        self.sock = sock
        self.peer = peer
        self.session = session
        self.patience = patience
        self.grace = MessageDeadline(_GRACE_S)
        self.secured = secured
        self.shaken = not secured
        self.speaks_first = speaks_first
        self.events = select.POLLIN

    @property
    def is_gone(self) -> bool:
        """Whether it was turned away."""
        return self.sock.fileno() < 0

    @property
    def is_late(self) -> bool:
        """Whether it took too long to show who it is; once it has, it may be silent while there are places."""
        return self.patience.over and not (self.shaken and self.session.trusted)

    def progress(self) -> tuple[int, int]:
        """No message has passed."""
        return (0, 0)

    def dismiss(self) -> None:
        """Turn it away."""
        self.sock.close()

    def step(self) -> bool:
        """Go on; True when it may come in.

        Raises:
            OSError, TareError: It may not.
        """
        if not self.shaken:
            from tare.messages.tls import shake

            events = shake(self.sock)  # type: ignore[arg-type] # only one of TLS is not shaken
            if events is not None:
                self.events = events
                return False
            self.shaken, self.events = True, select.POLLIN
        while not self.session.trusted:
            # What follows the token belongs to the connection.
            data = self._read(token_missing(self.session))
            if data is None:
                return False
            if not data:
                raise ConnectionAbortedError("gone before its token came")
            self.session.received(data)
        return not self.speaks_first or self._has_spoken()

    def _has_spoken(self) -> bool:
        """Whether something came, or the end; the first bytes that TLS carried are taken in, as it cannot peek."""
        if not self.secured:
            return self._read(1, socket.MSG_PEEK) is not None
        data = self._read(missing(self.session))
        if data:
            self.session.received(data)
        return data is not None

    def _read(self, most: int, flags: int = 0) -> bytes | None:
        """Read what is there; None if nothing is."""
        try:
            return self.sock.recv(most, flags)
        except BlockingIOError:
            return None
        except OSError as error:
            if type(error).__name__ in ("SSLWantReadError", "SSLWantWriteError"):
                return None
            raise


class SocketListener:
    """Listens by TCP, with TLS or without, or at a path; see `tare.messages.server.Listener`.

    Args:
        url: Where.
        wire: What sessions are told.
        options: The options, checked.

    Raises:
        UsageError: TLS without a certificate.
        OSError: The address cannot be bound.
    """

    def __init__(self, url: str, wire: dict[str, Any], options: dict[str, Any]) -> None:
        self._context: ssl.SSLContext | None = None
        if options.get("tls"):
            from tare.messages.tls import server_context

            self._context = server_context(options["tls"])
        self._wire, self._options = wire, options
        self._sock, self._url = listening_socket(url)
        self._sock.setblocking(False)
        self._guests: list[_Guest] = []
        self._places = Places(options)
        self._turned_away = 0
        self._process = os.getpid()
        self._path = None
        if url.startswith("unix:") and not unix_address(url).startswith("\0"):
            self._path = os.path.abspath(unix_address(url))
            self._inode = os.lstat(self._path).st_ino

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._url

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._sock.fileno() < 0

    def accept(self, deadline: MessageDeadline) -> tuple[PulledChannel, str]:
        """The next connection that shook hands and has the token; several may be on their way."""
        while True:
            if self.closed:
                raise UsageError("the server was closed: listen anew")
            guest = self._admitted()
            if guest is not None:
                channel = self._channel(guest)
                self._places.hand_on(guest, channel)
                return channel, guest.peer
            if deadline.over:
                raise TimeoutError(f"nobody came in time{self._others()}")
            self._wait(deadline.left())

    def _others(self) -> str:
        others = self._turned_away + len(self._guests)
        return f" ({others} without the token or TLS were turned away)" if others else ""

    def _channel(self, guest: _Guest) -> PulledChannel:
        if not guest.secured:
            return DescriptorChannel(guest.sock.detach(), guest.session, self._options, is_socket=True)
        from tare.messages.tls import TlsChannel

        return TlsChannel(guest.sock, guest.session, self._options)  # type: ignore[arg-type] # as above

    def guests(self) -> list[int]:
        """Descriptors of those who came and were not given yet."""
        return [guest.sock.fileno() for guest in self._guests]

    def is_full(self) -> bool:
        """Whether all places are taken, so that who comes waits; idle connections lose theirs then."""
        if self._places.has_free():
            return False
        if poll_for(self._sock.fileno(), select.POLLIN, 0):
            self._places.dismiss_idle()
            self._forget_dismissed()
            if not self._places.has_free():
                self._dismiss_silent()
                self._forget_dismissed()
        return not self._places.has_free()

    def _dismiss_silent(self) -> None:
        """Turns away one, as somebody waits: of those who have not come in, and said nothing for a moment, who came first."""
        for guest in self._guests:
            if guest.grace.over and not poll_for(guest.sock.fileno(), select.POLLIN, 0):
                guest.dismiss()
                return

    def _forget_dismissed(self) -> None:
        there = [guest for guest in self._guests if not guest.is_gone]
        self._turned_away += len(self._guests) - len(there)
        self._guests = there

    def ready(self, timeout: float | None) -> bool:
        """Whether somebody came."""
        deadline = MessageDeadline(timeout)
        while True:
            poller = select.poll()  # `select` takes no descriptor above 1,023
            left = deadline.left()
            if self.is_full():
                left = FULL_S if left is None else min(FULL_S, left)
            else:
                poller.register(self._sock.fileno(), select.POLLIN)
            for guest in self._guests:
                poller.register(guest.sock.fileno(), guest.events)
            if poller.poll(None if left is None else -(-left * 1000 // 1)):
                return True
            if deadline.over:
                return False

    def _wait(self, left: float | None) -> None:
        poller = select.poll()
        if self.is_full():
            left = min(FULL_S, left if left is not None else FULL_S)
        else:
            poller.register(self._sock.fileno(), select.POLLIN)
        for guest in self._guests:
            poller.register(guest.sock.fileno(), guest.events)
            patience = guest.patience.left()
            if patience:
                left = patience if left is None else min(left, patience)
        poller.poll(None if left is None else -(-left * 1000 // 1))

    def _admitted(self) -> _Guest | None:
        while not self.is_full():
            try:
                plain, address = self._sock.accept()
            except OSError as error:
                if not is_passing(error, self._places):
                    raise
                break
            self._welcome(plain, address)
        for guest in list(self._guests):
            try:
                if guest.step():
                    self._guests.remove(guest)
                    return guest
                if guest.is_late:
                    raise TimeoutError
            except (OSError, TareError):  # whoever may not come in is told nothing
                self._guests.remove(guest)
                self._turned_away += 1
                guest.sock.close()
        return None

    def _welcome(self, plain: socket.socket, address: Any) -> None:
        sock: socket.socket | ssl.SSLSocket = plain
        host = address[0] if isinstance(address, tuple) else None
        peer = ""
        if not self._places.admits(host):
            self._turned_away += 1
            plain.close()
            return
        try:
            plain.setblocking(False)
            if isinstance(address, tuple):
                peer = tcp_url(*address[:2])
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                sock = self._context.wrap_socket(
                    plain, server_side=True, do_handshake_on_connect=False, suppress_ragged_eofs=False
                )
        except OSError:
            plain.close()
            return
        patience = MessageDeadline(self._options["handshake_timeout"])
        session = MessageSession(self._wire["wire"], self._wire | {"expected": self._options.get("token")})
        guest = _Guest(
            sock, peer, session, patience,
            secured=self._context is not None, speaks_first=self._options["speaks_first"],
        )  # fmt: skip
        self._guests.append(guest)
        self._places.take(guest, host)

    def fileno(self) -> int:
        """The descriptor that connections come to."""
        return self._sock.fileno()

    def close(self) -> None:
        """Listen no more; connections stay."""
        if self.closed:
            return
        for guest in self._guests:
            guest.sock.close()
        self._guests.clear()
        self._sock.close()
        if self._path is not None and os.getpid() == self._process:
            with contextlib.suppress(OSError):
                if os.lstat(self._path).st_ino == self._inode:
                    os.unlink(self._path)
