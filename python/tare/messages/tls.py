"""TLS: the standard `ssl` module between a TCP socket and the framing.

The socket never blocks: a readable one may hold no payload, and one that is not readable may have
decrypted some already. So reading goes on until nothing is left, and only then is the descriptor
waited for.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tare._tare import MessageDeadline, MessageSession
from tare.errors import Limit, TareError, UsageError
from tare.messages.urls import host_and_port, tcp_url

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tare.messages.channel import Taken, Timeout

__all__ = ["TlsChannel", "TlsListener", "connect_tls"]

_ROUND = 1 << 20  # bytes read before other connections are looked at
_RECORD = 64 << 10
_MANY = 1 << 40


class TlsChannel:
    """Payloads over TLS; see `tare.messages.channel.Channel`.

    Args:
        sock: A socket of TLS that does not block.
        session: What cuts and joins its bytes.
        options: The options, checked.
    """

    def __init__(self, sock: ssl.SSLSocket, session: MessageSession, options: dict[str, Any]) -> None:
        self._sock = sock
        self._session = session
        self._timeout: float | None = options["timeout"]
        self._message_timeout: float | None = options["message_timeout"]
        self._batch: int = options["batch"]
        self._high: int = options["high"]
        self._low: int = options["low"]
        self._held = 0
        self._closed = False
        self._failed: OSError | None = None
        self._slow: MessageDeadline | None = None
        self._slow_at = -1
        self._kept: Taken | None = None
        self._sending = threading.RLock()
        self._receiving = threading.RLock()
        self._turn = threading.Lock()  # one thread at a time may be inside OpenSSL
        self._place = bytearray(_RECORD)

    # Sending

    def send(self, data: Buffer, timeout: Timeout = ..., compressed: bool = False) -> None:
        """Queue a payload, and flush unless payloads are held."""
        deadline = self._deadline(timeout)
        with self._one(self._sending, deadline):
            self._check()
            if self._session.unsent > self._high:
                self._flush(deadline, self._low)
            self._session.send(data, compressed)
            if not self._held or self._session.unsent >= self._batch:
                self._flush(deadline)

    def send_many(
        self, payloads: Sequence[Buffer], timeout: Timeout = ..., flags: bytes | None = None
    ) -> int:
        """Queue payloads, and flush as they grow, but not at the end; their number."""
        deadline = self._deadline(timeout)
        with self._one(self._sending, deadline):
            self._check()
            for index, data in enumerate(payloads):
                self._session.send(data, flags is not None and bool(flags[index]))
                if self._session.unsent >= self._batch:
                    self._flush(deadline)
        return len(payloads)

    def hold(self) -> None:
        """From now on `send` flushes only what has grown."""
        self._held += 1

    def release(self) -> None:
        """The opposite of `hold`; nothing is flushed."""
        self._held -= 1

    def flush(self, timeout: Timeout = ...) -> None:
        """Push out all that is queued."""
        deadline = self._deadline(timeout)
        with self._one(self._sending, deadline):
            self._check()
            self._flush(deadline)

    def _flush(self, deadline: MessageDeadline, down_to: int = 0) -> None:
        while self._session.unsent > down_to:
            data = self._session.outgoing(_RECORD)
            try:
                with self._turn:
                    count = self._sock.send(data)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN, deadline, "send")
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT, deadline, "send")
            else:
                self._session.written(count)

    # Receiving

    def take(self, count: int, budget: int, timeout: Timeout = ...) -> Taken | None:
        """At least one message, at most ``count``, and no more behind ``budget`` bytes; None at the end."""
        deadline = self._deadline(timeout)
        with self._one(self._receiving, deadline):
            if self._kept is not None:
                taken, self._kept = self._kept, None
                return taken
            while True:
                self._check()
                # What was asked must leave before its answer is waited for, but reading never waits for
                # writing: two ends that both send much would wait for each other.
                unsent = self._offer()
                taken = self._session.take(count, budget)
                if taken is not None:
                    return taken
                if self._session.at_end:
                    return None
                if self._failed is not None:
                    raise self._failed
                if not self._pump():
                    events = select.POLLIN | select.POLLOUT if unsent else select.POLLIN
                    self._wait(events, self._slower(deadline), "receive")

    def _offer(self) -> bool:
        """Write what can be written without waiting; whether there is more, and nobody else writes it."""
        if not self._session.unsent or not self._sending.acquire(blocking=False):
            return False
        try:
            self._flush(MessageDeadline(0))
        except TimeoutError:
            return True
        finally:
            self._sending.release()
        return False

    def _pump(self) -> bool:
        """Take in what is there, at most a round; whether anything was."""
        total = 0
        view = memoryview(self._place)
        while total < _ROUND and not self._session.full:
            try:
                with self._turn:
                    count = self._sock.recv_into(view)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:  # an end that TLS does not vouch for is one of these
                self._fail(error)
                return True
            if count == 0:
                self._session.received_end()
                return True
            total += count
            self._session.received(view[:count])
        self._watch()
        return total > 0

    def _watch(self) -> None:
        """Remember since when a message has been on its way."""
        if self._message_timeout is None:
            return
        at = self._session.position()[0]
        if not self._session.partial_size:
            self._slow = None
        elif self._slow is None or at != self._slow_at:
            self._slow, self._slow_at = MessageDeadline(self._message_timeout), at

    def _slower(self, deadline: MessageDeadline) -> MessageDeadline:
        slow = self._slow
        if slow is None:
            return deadline
        if slow.over:
            self._fail(TimeoutError(f"a message took longer than message_timeout={self._message_timeout}"))
            assert self._failed is not None
            raise self._failed
        left = deadline.left()
        return slow if left is None or (slow.left() or 0) < left else deadline

    def _fail(self, error: OSError) -> None:
        self._failed = error
        self._session.received_failure(error.errno or 0)

    def receive_into(self, buffer: Buffer, timeout: Timeout = ...) -> int | None:
        """The payload of one message into a buffer, its length; None at the end."""
        taken = self.take(1, 0, timeout)
        if taken is None:
            return None
        payload = taken[0][0]
        with memoryview(buffer).cast("B") as view:
            if view.nbytes < len(payload):
                self._kept = taken
                raise Limit(f"the message has {len(payload)} bytes, the buffer {view.nbytes}", format="frame")
            view[: len(payload)] = payload
        return len(payload)

    def poll(self, timeout: Timeout = ...) -> bool:
        """Whether `take` would not wait."""
        deadline = self._deadline(timeout)
        with self._one(self._receiving, deadline):
            while True:
                self._check()
                if self._kept is not None or self._session.ready or self._failed is not None:
                    return True
                if self._pump():
                    continue
                if deadline.over:
                    return False
                try:
                    self._wait(select.POLLIN, self._slower(deadline), "receive")
                except TimeoutError:
                    return self._failed is not None

    # What it knows

    @property
    def peer_codec(self) -> str | None:
        """What the peer says that the messages taken last are in; None if it did not say."""
        return self._session.peer_codec

    @property
    def pending(self) -> int:
        """Whole messages received and not taken."""
        return self._session.pending

    @property
    def partial_size(self) -> int:
        """Bytes of the message that is not whole yet."""
        return self._session.partial_size

    def partial(self) -> bytes:
        """What is there of the message that is not whole yet."""
        return self._session.partial()

    def status(self) -> tuple[str, int | None, int | None]:
        """Name, offset and hint of the state."""
        return ("closed", None, None) if self._closed else self._session.status()

    def position(self) -> tuple[int, int]:
        """Bytes of whole messages taken and queued."""
        return self._session.position()

    def facts(self) -> dict[str, Any]:
        """What `Connection.summary` says."""
        peer = None
        if not self._closed:
            with contextlib.suppress(OSError):
                peer = tcp_url(*self._sock.getpeername()[:2])
        return {"peer": peer, **self._session.facts()}

    @property
    def closed(self) -> bool:
        """Whether this end closed it."""
        return self._closed

    def fileno(self) -> int:
        """The descriptor."""
        self._check()
        return self._sock.fileno()

    # Its end

    def detach(self) -> tuple[int, bytes]:
        """Not over TLS: whoever goes on with the descriptor would need its keys."""
        raise UsageError("a connection over TLS is not detached: its descriptor alone cannot be read")

    def close(self, timeout: Timeout = ..., end: bool = True) -> None:
        """Flush, say that this is the end, and close."""
        if self._closed:
            return
        deadline = self._deadline(timeout)
        try:
            if self._failed is None:
                self._flush(deadline)
                if end:
                    self._session.finish()
                with contextlib.suppress(ConnectionError):  # a peer that is gone misses no message
                    self._flush(deadline)
                    self._notify()
        finally:
            self._closed = True
            self._sock.close()

    def _notify(self) -> None:
        """Tell the peer, by TLS, that nothing follows; its own word for it is not waited for."""
        with self._turn, contextlib.suppress(OSError):
            self._sock.unwrap()

    # Common parts

    def _check(self) -> None:
        if self._closed:
            raise UsageError("the connection was closed: connect anew")

    def _deadline(self, timeout: Timeout) -> MessageDeadline:
        return MessageDeadline(self._timeout if timeout is ... else timeout)

    @contextlib.contextmanager
    def _one(self, lock: Any, deadline: MessageDeadline) -> Iterator[None]:
        left = deadline.left()
        if not lock.acquire(timeout=-1 if left is None else left):
            raise TimeoutError("another thread is at it")
        try:
            yield
        finally:
            lock.release()

    def _wait(self, events: int, deadline: MessageDeadline, verb: str) -> None:
        _wait_for(self._sock, events, deadline, verb)


def _wait_for(sock: socket.socket, events: int, deadline: MessageDeadline, verb: str) -> None:
    left = deadline.left()
    poller = select.poll()
    poller.register(sock.fileno(), events)
    if not poller.poll(None if left is None else left * 1000) and deadline.over:
        raise TimeoutError(f"could not {verb} in time")


def connect_tls(url: str, wire: dict[str, Any], options: dict[str, Any]) -> TlsChannel:
    """Connect by TCP, shake hands, and give the token.

    Raises:
        ssl.SSLCertVerificationError: The peer is not who it should be.
        TimeoutError: Not in time.
        OSError: From the system.
    """
    host, port = host_and_port(url)
    deadline = MessageDeadline(options["timeout"])
    context = options["tls"] if isinstance(options["tls"], ssl.SSLContext) else ssl.create_default_context()
    plain = _connected(host, port, deadline, options["retry"])
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setblocking(False)
        name = options["server_hostname"] or host
        sock = context.wrap_socket(
            plain, server_hostname=name, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
    except BaseException:
        plain.close()
        raise
    try:
        while (events := _shaken(sock)) is not None:
            _wait_for(sock, events, deadline, "shake hands")
    except BaseException:
        sock.close()
        raise
    session = MessageSession(wire["wire"], wire)
    channel = TlsChannel(sock, session, options)
    if options["token"] is not None:
        session.token(options["token"])
        channel.flush(deadline.left())  # nobody is let in before it came
    return channel


def _connected(host: str, port: int, deadline: MessageDeadline, retry: float | None) -> socket.socket:
    again = MessageDeadline(retry if retry is not None else 0)
    pause = 0.01
    while True:
        try:
            return socket.create_connection((host, port), timeout=deadline.left())
        except ConnectionRefusedError:
            left = again.left()
            if again.over or deadline.over:
                raise
            select.select([], [], [], min(pause, left or pause))
            pause = min(pause * 2, 1.0)


def _shaken(sock: ssl.SSLSocket) -> int | None:
    """Go on with the handshake; what must be waited for, or None when it is done."""
    try:
        sock.do_handshake()
    except ssl.SSLWantReadError:
        return select.POLLIN
    except ssl.SSLWantWriteError:
        return select.POLLOUT
    return None


class _Guest:
    """Somebody who came, and has not shown yet that it may come in."""

    def __init__(
        self, sock: ssl.SSLSocket, peer: str, session: MessageSession, patience: MessageDeadline
    ) -> None:
        self.sock = sock
        self.peer = peer
        self.session = session
        self.patience = patience
        self.shaken = False
        self.events = select.POLLIN

    def step(self) -> bool:
        """Go on; True when it may come in.

        Raises:
            OSError: It may not.
        """
        if not self.shaken:
            events = _shaken(self.sock)
            if events is not None:
                self.events = events
                return False
            self.shaken, self.events = True, select.POLLIN
        while not self.session.trusted:
            try:
                data = self.sock.recv(_RECORD)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return False
            if not data:
                raise ConnectionAbortedError("gone before its token came")
            self.session.received(data)
        return True


class TlsListener:
    """Listens by TCP for connections of TLS.

    Args:
        url: Where.
        wire: What the core is told.
        options: The options, checked.

    Raises:
        UsageError: No certificate: ``tls`` must be a context here.
        OSError: The address cannot be bound.
    """

    def __init__(self, url: str, wire: dict[str, Any], options: dict[str, Any]) -> None:
        if not isinstance(options["tls"], ssl.SSLContext):
            raise UsageError(
                "tls: a server needs an ssl.SSLContext with its certificate, as"
                " ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) with load_cert_chain()"
            )
        self._context: ssl.SSLContext = options["tls"]
        self._wire, self._options = wire, options
        host, port = host_and_port(url)
        self._sock = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=128
        )
        self._sock.setblocking(False)
        self._url = tcp_url(host, self._sock.getsockname()[1])
        self._guests: list[_Guest] = []
        self._open: list[TlsChannel] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._url

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._sock.fileno() < 0

    def accept(self, deadline: MessageDeadline) -> tuple[TlsChannel, str]:
        """The next connection that shook hands and has the token; several may be on their way."""
        while True:
            if self.closed:
                raise UsageError("the server was closed: listen anew")
            guest = self._admitted()
            if guest is not None:
                channel = TlsChannel(guest.sock, guest.session, self._options)
                self._open.append(channel)
                return channel, guest.peer
            self._wait(deadline.left())
            if deadline.over and not self.ready(0):
                raise TimeoutError("nobody came in time")

    def ready(self, timeout: float | None) -> bool:
        """Whether somebody came."""
        readable, _, _ = select.select([self._sock, *(guest.sock for guest in self._guests)], [], [], timeout)
        return len(readable) > 0

    def _wait(self, left: float | None) -> None:
        poller = select.poll()
        if self._full:
            left = min(0.05, left if left is not None else 0.05)
        else:
            poller.register(self._sock.fileno(), select.POLLIN)
        for guest in self._guests:
            poller.register(guest.sock.fileno(), guest.events)
            patience = guest.patience.left()
            if patience is not None:
                left = patience if left is None else min(left, patience)
        poller.poll(None if left is None else left * 1000)

    @property
    def _full(self) -> bool:
        self._open = [channel for channel in self._open if not channel.closed]
        most: int = self._options["max_connections"]
        return len(self._open) + len(self._guests) >= most

    def _admitted(self) -> _Guest | None:
        while not self._full:
            try:
                plain, address = self._sock.accept()
            except (BlockingIOError, ConnectionAbortedError):
                break
            self._welcome(plain, tcp_url(*address[:2]))
        for guest in list(self._guests):
            try:
                if guest.step():
                    self._guests.remove(guest)
                    return guest
                if guest.patience.over:
                    raise TimeoutError
            except (OSError, TareError):  # whoever may not come in is told nothing
                self._guests.remove(guest)
                guest.sock.close()
        return None

    def _welcome(self, plain: socket.socket, peer: str) -> None:
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.setblocking(False)
            sock = self._context.wrap_socket(
                plain, server_side=True, do_handshake_on_connect=False, suppress_ragged_eofs=False
            )
        except OSError:
            plain.close()
            return
        patience = MessageDeadline(self._options["message_timeout"])
        session = MessageSession(self._wire["wire"], self._wire | {"expected": self._options["token"]})
        self._guests.append(_Guest(sock, peer, session, patience))

    def fileno(self) -> int:
        """The descriptor that connections come to."""
        return self._sock.fileno()

    def close(self) -> None:
        """Listen no more; connections stay."""
        for guest in self._guests:
            guest.sock.close()
        self._guests.clear()
        self._sock.close()
