"""TLS: the standard `ssl` module between a TCP socket and the framing."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any

from tare._tare import MessageDeadline
from tare.errors import TareError, UsageError
from tare.messages.pulled import PulledChannel, poll_for
from tare.messages.urls import host_and_port, tcp_url

if TYPE_CHECKING:
    from tare._tare import MessageSession
    from tare.messages.connection import Connection

__all__ = ["TlsChannel", "client_context", "heard_out", "secured", "server_context", "shake"]


class TlsChannel(PulledChannel):
    """Payloads over TLS.

    Args:
        sock: A socket of TLS that does not block.
        session: What cuts and joins its bytes.
        options: The options, checked.
    """

    def __init__(self, sock: ssl.SSLSocket, session: MessageSession, options: dict[str, Any]) -> None:
        super().__init__(session, options)
        self._sock = sock
        self._turn = threading.Lock()  # one thread at a time may be inside OpenSSL
        self._reverse = False  # writing waits for something to read, or the other way round
        self._more = sock.pending() > 0  # as behind a token that came in the same record

    def _read(self, place: memoryview) -> int | None:
        try:
            with self._turn:
                return self._sock.recv_into(place)
        except ssl.SSLZeroReturnError:
            return 0  # the peer's end, after ours was said
        except ssl.SSLWantReadError:
            self._reverse = False
        except ssl.SSLWantWriteError:
            self._reverse = True
        return None

    def _write(self, data: bytes) -> int | None:
        try:
            with self._turn:
                return self._sock.send(data)
        except ssl.SSLWantWriteError:
            self._reverse = False
        except ssl.SSLWantReadError:
            self._reverse = True
        return None

    def _await(self, events: int, seconds: float | None) -> None:
        poll_for(self._sock.fileno(), select.POLLIN | select.POLLOUT if self._reverse else events, seconds)

    def _peer(self) -> str | None:
        with contextlib.suppress(OSError):
            return tcp_url(*self._sock.getpeername()[:2])
        return None

    def _finish(self) -> None:
        # The peer's own word for it is not waited for. ValueError: both said it already.
        with self._turn, contextlib.suppress(OSError, ValueError):
            self._sock.unwrap()

    def heard_out(self, seconds: float) -> bool:
        """Say that nothing follows and wait for the peer's END: False if it left without; True too if it takes its time.

        Between frames alone: other framings have no END.
        """
        deadline = MessageDeadline(seconds)
        try:
            with self._one(self._sending, deadline):
                self._check_writes()
                self._session.finish()
                self._writes = False  # so that closing says it no second time
                self._flush(deadline)
            if self._end_writing():
                return True
            while self.take(1, 0, deadline.left()) is not None:
                pass
        except TimeoutError:
            return True
        except (OSError, TareError):
            return False
        return self._session.status()[0] == "ended"

    def _end_writing(self) -> bool:
        """End our half; whether the peer was heard meanwhile: what it said then can be read no more.

        Not by unwrap(), which takes the object away that the other half is read by.
        """
        with self._turn:
            try:
                self._sock._sslobj.shutdown()  # type: ignore[attr-defined] # noqa: SLF001 - it has no other name
            except ssl.SSLError as error:
                return error.reason == "APPLICATION_DATA_AFTER_CLOSE_NOTIFY"
            except OSError:
                pass  # it is gone: reading will say so
        return False

    def _shut(self) -> None:
        socket.socket.shutdown(self._sock, socket.SHUT_RDWR)  # its own method would undo TLS first

    def _release(self) -> None:
        self._sock.close()

    def _number(self) -> int:
        return self._sock.fileno()


def heard_out(conn: Connection, seconds: float) -> bool:
    """Say on a connection over TLS that nothing follows; whether the other end took everything, as `TlsChannel.heard_out`."""
    channel = conn._channel  # noqa: SLF001 - of this package
    return isinstance(channel, TlsChannel) and channel.heard_out(seconds)


def client_context(given: Any) -> ssl.SSLContext:
    """The context that ``tls=`` names: True verifies the peer against the system's certificates.

    Raises:
        UsageError: It is neither.
    """
    if given is True:
        return ssl.create_default_context()
    if isinstance(given, ssl.SSLContext):
        return given
    raise UsageError(f"tls: expected True or an ssl.SSLContext, not {type(given).__name__}")


def server_context(given: Any) -> ssl.SSLContext:
    """The context that ``tls=`` of a server is.

    Raises:
        UsageError: No certificate: it must be a context here.
    """
    if isinstance(given, ssl.SSLContext):
        return given
    raise UsageError(
        "tls: a server needs an ssl.SSLContext with its certificate, as"
        " ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) with load_cert_chain()"
    )


def secured(
    plain: socket.socket, url: str, options: dict[str, Any], deadline: MessageDeadline
) -> ssl.SSLSocket:
    """A connected socket after the handshake; it is closed if that fails.

    Raises:
        ssl.SSLCertVerificationError: The peer is not who it should be.
        TimeoutError: Not in time.
        OSError: From the system.
    """
    try:
        plain.setblocking(False)
        name = options["server_hostname"] or host_and_port(url)[0]
        sock = client_context(options["tls"]).wrap_socket(
            plain, server_hostname=name, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
    except BaseException:
        plain.close()
        raise
    try:
        while (events := shake(sock)) is not None:
            if deadline.over:
                raise TimeoutError("could not shake hands in time")
            poll_for(sock.fileno(), events, deadline.left())
    except BaseException:
        sock.close()
        raise
    return sock


def shake(sock: ssl.SSLSocket) -> int | None:
    """Go on with the handshake; what must be waited for, or None when it is done.

    Raises:
        OSError: It failed.
    """
    try:
        sock.do_handshake()
    except ssl.SSLWantReadError:
        return select.POLLIN
    except ssl.SSLWantWriteError:
        return select.POLLOUT
    return None
