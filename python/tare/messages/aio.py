"""Messages for asyncio: the verbs of `tare.messages`, awaited.

>>> import asyncio
>>> from tare.messages import aio
>>> async def talk():
...     async with await aio.listen("tcp://127.0.0.1:0", "json") as server:
...         client = await aio.connect(server.url, "json")
...         await client.send({"a": 1})
...         await client.close()
...         async with await server.accept() as conn:
...             return [value async for value in conn]
>>> asyncio.run(talk())
[{'a': 1}]
"""

# ruff: noqa: ASYNC109 - the twin takes what the calls take

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, cast

from tare._tare import MessageDeadline, MessageSession
from tare.errors import Truncated, UsageError
from tare.messages.aio_accepting import Acceptor
from tare.messages.aio_wires import PulledWire, Wire, WireProtocol
from tare.messages.descriptors import open_channel, unix_address
from tare.messages.ends import EndOfStream, Status
from tare.messages.inbox import Inbox
from tare.messages.listening import SocketListener
from tare.messages.opening import check_mode, check_token, naming, prepared, wire_options
from tare.messages.tls import client_context, server_context
from tare.messages.urls import host_and_port

if TYPE_CHECKING:
    from tare.messages.channel import Timeout
    from tare.messages.codecs import MessageCodec
    from tare.messages.descriptors import DescriptorChannel

__all__ = ["AsyncConnection", "AsyncServer", "connect", "listen"]

_BUDGET = 64 << 10
_MOST = 4096  # values that are encoded ahead of what was queued
_MANY = 1 << 40
_NONE = object()


class AsyncConnection:
    """Values over a byte stream, for one event loop; made by `connect` and `AsyncServer.accept`.

    What is sent in one turn of the loop leaves in one write. A cancelled `receive` loses nothing.

    Args:
        wire: What carries payloads.
        codec: Their codec; None adopts what the peer says.
        url: Where it leads to.
        options: The options, checked.
    """

    def __init__(self, wire: Wire, codec: MessageCodec | None, url: str, options: dict[str, Any]) -> None:
        self._wire = wire
        self._url = url
        self._framing: str = options["framing"]
        self._timeout: float | None = options["timeout"]
        settings = {name: options[name] for name in ("max_message", "max_depth", "compress_min")}
        self._inbox = Inbox(codec, options.get("accept", ()), settings)
        if options.get("on_error") == "skip":
            self._inbox.skip = wire.note_skipped
        self._receiving = asyncio.Lock()

    async def send(self, value: Any, timeout: Timeout = ...) -> None:
        """Encode a value and queue it; it leaves at the end of this turn of the loop.

        Waits while more than the option ``high`` is not written yet.

        Raises:
            EncodeError, Limit, OSError: As `tare.messages.Connection.send`.
            TimeoutError: The peer does not read; what was queued stays so.
        """
        codec = self._codec()
        payload, compressed = codec.encoded(value), False
        if codec.compresses:
            payload, compressed = codec.packed(payload)
        if self._wire.crowded:
            await self._within(self._wire.drain(), timeout)
        self._wire.send(payload, compressed)
        if self._wire.crowded:
            await self._within(self._wire.drain(), timeout)

    async def send_all(self, values: Iterable[Any], timeout: Timeout = ...) -> int:
        """Send values, flush, and say how many they were.

        Raises:
            As `send`; the values before it were queued.
        """
        deadline, count, codec, source = self._deadline(timeout), 0, self._codec(), iter(values)
        size = 1
        while part := list(islice(source, size)):
            payloads, refused = codec.encoded_many(part)
            size = min(max(len(payloads) * _BUDGET // max(sum(map(len, payloads)), 1), 1), size * 16, _MOST)
            flags = None
            if codec.compresses:
                pairs = [codec.packed(payload) for payload in payloads]
                payloads, flags = [data for data, _ in pairs], bytes(flag for _, flag in pairs)
            start = 0
            while start < len(payloads):
                if self._wire.crowded:
                    await self._within(self._wire.drain(), deadline.left())
                start = self._wire.send_many(payloads, start, flags)
            count += len(payloads)
            if refused is not None:
                raise refused
        await self.flush(deadline.left())
        return count

    async def flush(self, timeout: Timeout = ...) -> None:
        """Give all that is queued to the system, and wait until little of it is left there.

        Raises:
            TimeoutError, OSError: What is left stays queued.
        """
        await self._within(self._wire.flush(), timeout)

    async def receive(self, timeout: Timeout = ...) -> Any:
        """The next value.

        Raises:
            EndOfStream, TimeoutError, TareError, OSError: As `tare.messages.Connection.receive`.
        """
        while (value := next(self._inbox.ready, _NONE)) is _NONE:
            await self._within(self._fill(_MANY, _BUDGET), timeout)
        return value

    async def receive_all(
        self, n: int | None = None, timeout: Timeout = 0, *, require_end: bool = False
    ) -> list[Any]:
        """The values that are there by the deadline, as `tare.messages.Connection.receive_all`.

        Raises:
            As `receive`, but for `EndOfStream` and `TimeoutError`.
            Truncated: With ``require_end``, the stream ended and nobody said that it was whole.
        """
        values: list[Any] = []
        deadline, inbox = self._deadline(timeout), self._inbox
        while n is None or len(values) < n:
            left = None if n is None else n - len(values)
            fresh = list(islice(inbox.ready, left))
            if fresh:
                if values:
                    values += fresh
                else:
                    values = fresh
                continue
            try:
                await self._within(self._fill(_MANY if left is None else left, _MANY), deadline.left())
            except TimeoutError:
                break
            except asyncio.CancelledError:
                inbox.give_back(values)
                raise
            except EndOfStream:
                if require_end and self.status != "ended":
                    inbox.give_back(values)
                    text = f"the stream ended after {len(values)} values and the peer did not say that it finished"
                    raise Truncated(text, offset=self.tell()[0]) from None
                break
            except Exception as error:
                if require_end:
                    inbox.give_back(values)
                if require_end or not values:
                    raise
                inbox.trouble = error
                break
        return values

    async def _fill(self, count: int, budget: int) -> None:
        async with self._receiving:
            inbox = self._inbox
            if inbox.has_ready:
                return  # another task was first, and something is left
            if inbox.trouble is not None:
                error, inbox.trouble = inbox.trouble, None
                raise error
            if inbox.undecoded:
                inbox.decode()
                return
            inbox.forget()
            taken = await self._wire.take(count, budget)
            if taken is None:
                raise EndOfStream.at(self._wire.status()[0])
            inbox.put(taken, self._wire.peer_codec)

    async def __aiter__(self) -> AsyncIterator[Any]:
        while True:
            for value in self._inbox.ready:
                yield value
            try:
                await self._within(self._fill(_MANY, _BUDGET), ...)
            except EndOfStream:
                return

    @property
    def pending(self) -> int:
        """How many whole messages were received and not taken."""
        return len(self._inbox) + self._wire.pending

    @property
    def partial_size(self) -> int:
        """How many bytes are there of a message that is not whole yet."""
        return self._wire.partial_size

    def partial(self) -> bytes:
        """The bytes that are there of a message that is not whole yet."""
        return self._wire.partial()

    @property
    def status(self) -> Status:
        """State of the stream that is received."""
        return Status(*self._wire.status())

    def tell(self) -> tuple[int, int]:
        """Bytes of the whole messages that were received and that were sent, framing included."""
        received, sent = self._wire.position()
        given = self._inbox.given()
        return (received if given is None else given[0]), sent

    def summary(self) -> dict[str, Any]:
        """What went through, and in which state it is."""
        codec, given = self._inbox.codec, self._inbox.given()
        facts = {
            "url": self._url,
            "framing": self._framing,
            "codec": None if codec is None else codec.id,
            "peer_codec": self._wire.peer_codec,
            "status": str(self.status),
            **self._wire.facts(),
        }
        if given is not None:
            facts["bytes_in"], facts["messages_in"] = given
        return facts

    @property
    def closed(self) -> bool:
        """Whether it was closed here."""
        return self._wire.closed

    async def close(self, timeout: Timeout = ...) -> None:
        """Flush, tell the peer that this is the end, and close.

        Raises:
            TimeoutError: The peer did not take all of it; it is closed all the same.
            OSError: From the system.
        """
        try:
            await self._within(self._wire.close(end=True), timeout)
        except BaseException:
            self._wire.abort()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            await self.close()
        else:
            self._wire.abort()  # who broke off did not finish

    def __repr__(self) -> str:
        return (
            f"<tare.messages.aio.AsyncConnection {self._url} {'closed' if self.closed else str(self.status)}>"
        )

    def _codec(self) -> MessageCodec:
        codec = self._inbox.codec
        if codec is None:
            raise UsageError("codec=None, and the peer did not say yet what it sends: name the codec to send")
        return codec

    def _deadline(self, timeout: Timeout) -> MessageDeadline:
        return MessageDeadline(self._timeout if timeout is ... else timeout)

    async def _within(self, work: Any, timeout: Timeout) -> None:
        seconds = self._timeout if timeout is ... else timeout
        if seconds is None:
            await work
            return
        if seconds <= 0:
            await self._wire.look()  # what is there by now is taken without waiting
        async with _in_time(max(seconds, 0), "send or receive"):
            await work


@contextlib.asynccontextmanager
async def _in_time(seconds: float | None, verb: str) -> AsyncIterator[None]:
    """A deadline that says what was not done by then."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        if error.args:  # of another deadline, or the system
            raise
        raise TimeoutError(f"could not {verb} in time") from None


class AsyncServer:
    """A place that connections come to, for one event loop; made by `listen`.

    Args:
        acceptor: What accepts.
        codec: Codec of every connection.
        options: The options, checked.
    """

    def __init__(self, acceptor: Acceptor, codec: MessageCodec | None, options: dict[str, Any]) -> None:
        self._acceptor = acceptor
        self._codec = codec
        self._options = options

    @property
    def url(self) -> str:
        """Where it listens, with the port that was chosen."""
        return self._acceptor.url

    async def accept(self, timeout: Timeout = ...) -> AsyncConnection:
        """The next connection. Who has not the right token, or no TLS, is closed and not given.

        Raises:
            TimeoutError: Nobody came in time.
        """
        seconds = self._options["timeout"] if timeout is ... else timeout
        async with _in_time(seconds, "accept a connection"):
            wire = await self._acceptor.arrivals.get()
        return AsyncConnection(wire, self._codec, wire.peer or self.url, self._options)

    async def __aiter__(self) -> AsyncIterator[AsyncConnection]:
        while True:
            yield await self.accept()

    async def close(self) -> None:
        """Listen no more; connections that were accepted stay."""
        await self._acceptor.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


async def connect(
    url: str | os.PathLike[str],
    codec: str | None = "msgpack",
    *,
    framing: str = "frame",
    mode: str | None = None,
    timeout: float | None = None,
    **options: Any,
) -> AsyncConnection:
    """Open a connection, as `tare.connect`; ``file:`` runs in a thread.

    Raises:
        TypeError, UsageError, Unsupported, TimeoutError, OSError: As `tare.connect`.
    """
    url = url if isinstance(url, str) else f"file:{os.fspath(url)}"
    scheme, made, settings = prepared("connect", url, codec, framing=framing, timeout=timeout, given=options)
    check_mode(scheme, mode)
    wire = wire_options(made, settings)
    if settings.get("token") is not None:
        check_token(url, scheme, settings)
    if scheme in ("fifo", "file", "fd"):
        with naming(url):
            opened = await asyncio.to_thread(
                open_channel, url, mode, MessageDeadline(timeout), wire, settings
            )
        return AsyncConnection(PulledWire(cast("DescriptorChannel", opened)), made, url, settings)
    session = MessageSession(wire["wire"], wire)
    if settings.get("token") is not None:
        session.token(settings["token"])
    with naming(url):
        async with _in_time(timeout, "connect"):
            protocol = await _connected(url, scheme, session, settings)
            await protocol.flush()  # nobody is let in before its token came
    return AsyncConnection(protocol, made, url, settings)


async def _connected(
    url: str, scheme: str, session: MessageSession, settings: dict[str, Any]
) -> WireProtocol:
    loop = asyncio.get_running_loop()
    again, pause = MessageDeadline(settings["retry"] or 0), 0.01
    while True:
        try:
            if scheme == "unix":
                address = unix_address(url)
                _, protocol = await loop.create_unix_connection(
                    lambda: WireProtocol(session, settings), address
                )
                return protocol
            host, port = host_and_port(url)
            context = client_context(settings["tls"]) if settings["tls"] else None
            name = (settings["server_hostname"] or host) if context else None
            _, protocol = await loop.create_connection(
                lambda: WireProtocol(session, settings), host, port, ssl=context, server_hostname=name
            )
            return protocol
        except (ConnectionRefusedError, FileNotFoundError):
            if again.over:
                raise
            await asyncio.sleep(min(pause, again.left() or pause))
            pause = min(pause * 2, 1.0)


async def listen(
    url: str | os.PathLike[str],
    codec: str | None = "msgpack",
    *,
    framing: str = "frame",
    timeout: float | None = None,
    **options: Any,
) -> AsyncServer:
    """Listen for connections, as `tare.listen`.

    Raises:
        TypeError, UsageError, Unsupported, OSError: As `tare.listen`.
    """
    url = url if isinstance(url, str) else f"file:{os.fspath(url)}"
    scheme, made, settings = prepared("listen", url, codec, framing=framing, timeout=timeout, given=options)
    if scheme not in ("tcp", "unix"):
        raise UsageError(f"{url[:80]!a}: only tcp: and unix: are listened to; connect to it with mode='r'")
    if settings.get("token") is not None:
        check_token(url, scheme, settings)
    context = server_context(settings["tls"]) if settings.get("tls") else None
    wire = wire_options(made, settings)
    # What listens knows about stale socket files and modes; its descriptor is accepted from here.
    with naming(url):
        listener = SocketListener(url, wire, settings)
    return AsyncServer(Acceptor(listener, context, wire, settings), made, settings)
