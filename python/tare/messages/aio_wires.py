"""What an `AsyncConnection` stands on: asyncio's transports, or a descriptor that is looked at by turns."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import WeakKeyDictionary

from tare.errors import TareError, UsageError
from tare.messages.exact import show_token
from tare.messages.urls import tcp_url

if TYPE_CHECKING:
    from tare._tare import MessageSession
    from tare.messages.channel import Taken
    from tare.messages.descriptors import DescriptorChannel

__all__ = ["PulledWire", "Wire", "WireProtocol"]

_PLACE = 256 << 10
_PLACES: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()
_LOOK_S = 0.1


def _place_of(loop: asyncio.AbstractEventLoop) -> memoryview:
    """Where all wires of a loop read into, one at a time: an idle one has no buffer."""
    place = _PLACES.get(loop)
    if place is None:
        place = _PLACES[loop] = memoryview(bytearray(_PLACE))
    return place


class Wire(Protocol):
    """Payloads over one byte stream, for asyncio; as `tare.messages.channel.Channel` says."""

    @property
    def crowded(self) -> bool:
        """Whether too much waits to be written."""
        ...

    @property
    def closed(self) -> bool:
        """Whether this end closed it."""
        ...

    @property
    def peer_codec(self) -> str | None:
        """What the peer says that the messages taken last are in."""
        ...

    @property
    def pending(self) -> int:
        """Whole messages received and not taken."""
        ...

    @property
    def partial_size(self) -> int:
        """Bytes of the message that is not whole yet."""
        ...

    def partial(self) -> bytes:
        """What is there of the message that is not whole yet."""
        ...

    def status(self) -> tuple[str, int | None, int | None]:
        """Name, offset and hint of the state."""
        ...

    def position(self) -> tuple[int, int]:
        """Bytes of whole messages taken and queued."""
        ...

    def facts(self) -> dict[str, Any]:
        """What `summary` says."""
        ...

    def send(self, payload: bytes, compressed: bool) -> None:
        """Queue a payload."""
        ...

    def send_many(self, payloads: list[bytes], start: int, flags: bytes | None) -> int:
        """Queue payloads from an index on, until enough waits; the index of the next."""
        ...

    def note_skipped(self, offset: int, /) -> None:
        """Count a line that did not decode and was passed over."""
        ...

    async def drain(self) -> None:
        """Wait until it is no longer crowded."""
        ...

    async def flush(self) -> None:
        """Push out what is queued."""
        ...

    async def look(self) -> None:
        """Give the loop a turn, so that what is there is taken in."""
        ...

    async def take(self, count: int, budget: int) -> Taken | None:
        """At least one message; None at the end."""
        ...

    async def close(self, end: bool) -> None:
        """Flush, say that this is the end, and close."""
        ...

    def abort(self) -> None:
        """Close at once."""
        ...


class WireProtocol(asyncio.BufferedProtocol):
    """A socket's transport and the session on it.

    Args:
        session: What cuts and joins its bytes.
        options: The options, checked.
        arrivals: Where to report once it may come in; None for a client.
    """

    def __init__(
        self,
        session: MessageSession,
        options: dict[str, Any],
        *,
        arrivals: asyncio.Queue[WireProtocol] | None = None,
    ) -> None:
        self._session = session
        self._arrivals = arrivals
        self._patience: float | None = options.get("handshake_timeout")
        self._late: asyncio.TimerHandle | None = None
        # Bytes that come before it is given.
        self._awaited = 0
        if arrivals is not None and options["speaks_first"]:
            self._awaited = 1 + len(show_token(options["token"]) if options["token"] else b"")
        self._high: int = options["high"]
        self._low: int = options["low"]
        self._message_timeout: float | None = options["message_timeout"]
        self._loop = asyncio.get_running_loop()
        self._place = _place_of(self._loop)
        self._transport: asyncio.Transport = cast("asyncio.Transport", None)
        self._closed = False
        self._lost = False
        self._failed: OSError | None = None
        self._scheduled = False
        self._reading = True
        self._writing = True
        self._slow: asyncio.TimerHandle | None = None
        self._slow_at = -1
        self._wakes: set[asyncio.Future[None]] = set()
        self.peer: str | None = None

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(self._high, self._low)
        address = transport.get_extra_info("peername")
        if isinstance(address, tuple):
            self.peer = tcp_url(*address[:2])
            sock = transport.get_extra_info("socket")
            if sock is not None:
                import socket

                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._closed:  # its place was needed while it shook hands
            self._transport.abort()
            return
        self._arrive()
        if self._arrivals is not None and self._patience is not None:
            self._late = self._loop.call_later(self._patience, self._too_late)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to read into."""
        return self._place

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes came."""
        self._took_in(self._place[:nbytes])

    def eof_received(self) -> bool:
        """The peer sends no more; this end may."""
        self._session.received_end()
        self._awaited = 0
        self._arrive()
        self._wake()
        return self._transport.get_extra_info("sslcontext") is None  # TLS has no half of a connection

    def connection_lost(self, error: Exception | None) -> None:
        """The socket is gone."""
        self._lost = True
        if error is None:
            self._session.received_end()
        else:
            self._failed = error if isinstance(error, OSError) else ConnectionError(str(error))
            self._session.received_failure(self._failed.errno or 0)
        for timer in (self._slow, self._late):
            if timer is not None:
                timer.cancel()
        self._slow = self._late = self._arrivals = None
        self._wake()

    def pause_writing(self) -> None:
        """Above the high mark."""
        self._writing = False

    def resume_writing(self) -> None:
        """Below the low mark."""
        self._writing = True
        self._wake()

    def _took_in(self, data: memoryview) -> None:
        self._session.received(data)
        if self._arrivals is not None:
            self._awaited -= len(data)
            self._arrive()
        if self._session.full and self._reading:
            self._reading = False
            self._transport.pause_reading()
        if self._message_timeout is not None:
            self._watch()
        self._wake()

    def _arrive(self) -> None:
        """Report to the server, once the token is the right one, and what must come first came."""
        if self._arrivals is None:
            return
        try:
            trusted = self._session.trusted
        except TareError:  # whoever may not come in is told nothing
            self._arrivals = None
            self._transport.abort()
            return
        if trusted and self._awaited <= 0:
            self._arrivals.put_nowait(self)
            self._arrivals = None

    def _too_late(self) -> None:
        """Turn away who has not shown the token; who has may be silent while there are places."""
        if self._arrivals is not None and not self._session.trusted:
            self._transport.abort()

    def _watch(self) -> None:
        """Allow each message its time."""
        at = self._session.position()[0]
        waits = self._session.inside
        if self._slow is not None and (not waits or at != self._slow_at):
            self._slow.cancel()
            self._slow = None
        if waits and self._slow is None and self._message_timeout is not None:
            self._slow_at = at
            self._slow = self._loop.call_later(self._message_timeout, self._too_slow)

    def _too_slow(self) -> None:
        self._slow = None
        self._break_off(TimeoutError(f"a message took longer than message_timeout={self._message_timeout}"))

    def _break_off(self, error: OSError) -> None:
        self._failed = error
        self._session.received_failure(0)
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    # What its listener asks

    @property
    def is_guest(self) -> bool:
        """Whether it was not given to anybody yet."""
        return self._arrivals is not None

    @property
    def is_gone(self) -> bool:
        """Whether its place is free."""
        return self._lost or self._closed

    def progress(self) -> tuple[int, int] | None:
        """Bytes of whole messages either way; None if something came that nobody looked at yet."""
        return None if self._session.ready else self._session.position()

    def dismiss(self) -> None:
        """End it, as it was idle while others waited for its place; whoever receives from it is told."""
        self._arrivals = None
        self._break_off(TimeoutError("was idle while others waited for its place"))
        self._closed = self._closed or self._transport is None

    def _wake(self) -> None:
        for wake in self._wakes:
            _set(wake)

    async def _until(self, come: Callable[[], bool]) -> None:
        while not come():
            wake = self._loop.create_future()
            self._wakes.add(wake)
            try:
                await wake
            finally:
                self._wakes.discard(wake)

    # What a connection calls

    def send(self, payload: bytes, compressed: bool) -> None:
        """Queue a payload; all of one turn leave in one write."""
        self._check_writes()
        self._session.send(payload, compressed)
        self._schedule()

    def send_many(self, payloads: list[bytes], start: int, flags: bytes | None) -> int:
        """Queue payloads from an index on, until enough waits; the index of the next."""
        self._check_writes()
        index = self._session.send_many(payloads, start, self._high + 1, flags)
        self._schedule()
        return index

    def _check_writes(self) -> None:
        self._check()
        if self._failed is not None:
            raise self._failed
        if self._lost:
            raise BrokenPipeError(32, "the peer closed the connection")

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._write)

    def _write(self) -> None:
        self._scheduled = False
        if self._lost or not self._session.unsent:
            return
        data = self._session.outgoing()
        self._session.written(len(data))
        self._transport.write(data)

    @property
    def crowded(self) -> bool:
        """Whether too much waits to be written."""
        return not self._writing or self._session.unsent > self._high

    def note_skipped(self, offset: int) -> None:
        """Count a line that did not decode and was passed over."""
        self._session.note_skipped(offset)

    async def drain(self) -> None:
        """Wait until it is no longer crowded."""
        self._write()
        await self._until(lambda: self._writing or self._lost)
        if self._failed is not None:
            raise self._failed

    async def flush(self) -> None:
        """Push out what is queued."""
        self._check()
        await self.drain()

    async def look(self) -> None:
        """Give the loop two turns: in one it sees what is readable, in the next it has read."""
        self._write()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def take(self, count: int, budget: int) -> Taken | None:
        """At least one message; None at the end."""
        self._check()
        self._write()  # what was asked must have left before its answer is waited for
        while True:
            try:
                taken = self._session.take(count, budget)
            except OSError as error:
                raise self._failed or error from None
            if not self._reading and not self._session.full and not self._lost:
                self._reading = True
                self._transport.resume_reading()
            if taken is not None:
                return taken
            if self._session.at_end:
                return None
            if self._failed is not None:
                raise self._failed
            self._check()
            await self._until(lambda: self._session.ready or self._lost or self._closed)

    @property
    def closed(self) -> bool:
        """Whether this end closed it."""
        return self._closed

    @property
    def peer_codec(self) -> str | None:
        """What the peer says that the messages taken last are in."""
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
        """What `summary` says."""
        return {"peer": self.peer, **self._session.facts()}

    async def close(self, end: bool) -> None:
        """Flush, say that this is the end, and close."""
        if self._closed:
            return
        self._closed = True
        if not self._lost:
            if end:
                self._session.finish()
            self._write()
            self._transport.close()
        self._wake()
        await self._until(lambda: self._lost)

    def abort(self) -> None:
        """Close at once."""
        self._closed = True
        if not self._lost and self._transport is not None:
            self._transport.abort()
        self._wake()

    def _check(self) -> None:
        if self._closed:
            raise UsageError("the connection was closed: connect anew")


def _set(wake: asyncio.Future[None]) -> None:
    if not wake.done():
        wake.set_result(None)


class PulledWire:
    """A fifo, a file or another descriptor: what does not wait is done in place, what waits elsewhere.

    Args:
        channel: The connection.
    """

    def __init__(self, channel: DescriptorChannel) -> None:
        self._channel = channel
        self._is_file = channel.is_file  # which no loop can wait for
        self._loop = asyncio.get_running_loop()
        channel.hold()

    def send(self, payload: bytes, compressed: bool) -> None:
        """Queue a payload."""
        self._channel.queue(payload, compressed)

    def send_many(self, payloads: list[bytes], start: int, flags: bytes | None) -> int:
        """Queue a payload, for each is flushed; the index of the next."""
        self._channel.queue(payloads[start], flags is not None and bool(flags[start]))
        return start + 1

    @property
    def crowded(self) -> bool:
        """Whether a flush is due: each send, for nothing else would push it out."""
        return True

    def note_skipped(self, offset: int) -> None:
        """Count a line that did not decode and was passed over."""
        self._channel.note_skipped(offset)

    async def drain(self) -> None:
        """Push out what is queued."""
        await self.flush()

    async def flush(self) -> None:
        """Push out what is queued; a thread that waits for the reader goes on if this is cancelled."""
        try:
            self._channel.flush(0)
        except TimeoutError:
            await asyncio.to_thread(self._channel.flush, None)

    async def look(self) -> None:
        """Nothing is taken in by turns."""
        await asyncio.sleep(0)

    async def take(self, count: int, budget: int) -> Taken | None:
        """At least one message; None at the end."""
        while not self._channel.poll(0):
            await self._readable()
        return self._channel.take(count, budget, 0)

    async def _readable(self) -> None:
        if self._is_file:
            await asyncio.to_thread(self._channel.poll, _LOOK_S)
            return
        wake = self._loop.create_future()
        descriptor = self._channel.fileno()
        self._loop.add_reader(descriptor, _set, wake)
        try:
            # A fifo whose writers are gone is readable for ever: nothing to wait for, and no end yet.
            await asyncio.wait([wake], timeout=_LOOK_S)
        finally:
            self._loop.remove_reader(descriptor)
            wake.cancel()
        if not self._channel.poll(0):
            await asyncio.sleep(0)

    @property
    def closed(self) -> bool:
        """Whether this end closed it."""
        return self._channel.closed

    @property
    def peer_codec(self) -> str | None:
        """What the peer says that the messages taken last are in."""
        return self._channel.peer_codec

    @property
    def pending(self) -> int:
        """Whole messages received and not taken."""
        return self._channel.pending

    @property
    def partial_size(self) -> int:
        """Bytes of the message that is not whole yet."""
        return self._channel.partial_size

    def partial(self) -> bytes:
        """What is there of the message that is not whole yet."""
        return self._channel.partial()

    def status(self) -> tuple[str, int | None, int | None]:
        """Name, offset and hint of the state."""
        return self._channel.status()

    def position(self) -> tuple[int, int]:
        """Bytes of whole messages taken and queued."""
        return self._channel.position()

    def facts(self) -> dict[str, Any]:
        """What `summary` says."""
        return self._channel.facts()

    async def close(self, end: bool) -> None:
        """Flush, say that this is the end, and close."""
        await asyncio.to_thread(self._channel.close, None, end)

    def abort(self) -> None:
        """Close at once."""
        with contextlib.suppress(OSError, TareError):
            self._channel.close(0, False)
