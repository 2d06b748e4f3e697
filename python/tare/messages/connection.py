"""One connection: values in, values out."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Self

from tare._tare import MessageDeadline, MessageSession
from tare.errors import Limit, TareError, Truncated, Unsupported, UsageError
from tare.messages.ends import EndOfStream, Status
from tare.messages.inbox import Inbox

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tare.messages.channel import Channel, Timeout
    from tare.messages.codecs import MessageCodec

__all__ = ["Connection"]

_BUDGET = 256 << 10  # payload bytes that are taken, and decoded, ahead of what was asked for
_PART = 256 << 10  # payload bytes that `send_all` encodes ahead of what was queued
_MOST = 4096  # ... and values
_MANY = 1 << 40
_NONE = object()


class Connection:
    """Values over a byte stream; made by `tare.connect` and `Server.accept`.

    One thread may send while another receives; two that do the same wait for each other. Every
    ``timeout`` is in seconds over the whole call: None waits for ever, and by default it is what the
    connection was opened with. After a `TimeoutError` nothing is lost: call again.

    Args:
        channel: What carries payloads.
        codec: Their codec; None adopts what the peer says.
        url: Where it leads to, for `summary`.
        options: The options, checked.
    """

    def __init__(
        self, channel: Channel, codec: MessageCodec | None, url: str, options: dict[str, Any]
    ) -> None:
        self._channel = channel
        self._url = url
        self._framing: str = options["framing"]
        self._timeout: float | None = options["timeout"]
        settings = {name: options[name] for name in ("max_message", "max_depth", "compress_min")}
        self._inbox = Inbox(codec, options.get("accept", ()), settings)
        if options.get("on_error") == "skip":
            self._inbox.skip = channel.note_skipped
        self._receiving = threading.Lock()
        self.quick = channel.quick()
        """For `tare.wait`: what it may look at without asking."""
        if codec is not None and codec.is_raw and not codec.compresses:
            self.__dict__["send"] = channel.send  # bytes need nothing of this class

    # Sending

    def send(self, value: Any, timeout: Timeout = ...) -> None:
        """Encode a value, queue it, and flush.

        All or nothing: on a `TimeoutError` before it was queued nothing was sent; what is queued stays so.

        Raises:
            EncodeError: The codec cannot hold it.
            TimeoutError: Too much waits to be written, and the peer does not read.
            Limit: Longer than ``max_message``.
            OSError: From the system.
        """
        codec = self._codec()
        data = codec.encoded(value)
        if codec.compresses:
            data, compressed = codec.packed(data)
            self._channel.send(data, timeout, compressed)
        else:
            self._channel.send(data, timeout)

    def send_all(self, values: Iterable[Any], timeout: Timeout = ...) -> int:
        """Encode and queue values, flushing at each 64 KiB (the option ``batch``) and at the end.

        Returns:
            Their number.

        Raises:
            EncodeError, TimeoutError, Limit, OSError: As `send`; the values before it were queued.
        """
        deadline, codec = self._deadline(timeout), self._codec()
        if codec.is_raw and not codec.compresses and isinstance(values, list):
            count = self._channel.send_many(values, deadline.left())
            self._channel.flush(deadline.left())
            return count
        source, count, size, broken = iter(values), 0, 1, None
        while broken is None:
            part: list[Any] = []
            try:
                part.extend(islice(source, size))  # keeps what came before an error
            except Exception as error:
                broken = error
            ended = len(part) < size
            payloads, refused = codec.encoded_many(part)
            broken = refused or broken
            self._queue(codec, payloads, deadline)
            count += len(payloads)
            if ended:
                break
            queued = sum(map(len, payloads))
            # What is first leaves first, for it may be large.
            size = min(max(len(payloads) * _PART // max(queued, 1), 1), size * 16, _MOST)
        self._channel.flush(deadline.left())
        if broken is not None:
            raise broken
        return count

    def _queue(self, codec: MessageCodec, payloads: list[bytes], deadline: MessageDeadline) -> None:
        if not codec.compresses:
            self._channel.send_many(payloads, deadline.left())
            return
        pairs = [codec.packed(data) for data in payloads]
        flags = bytes(compressed for _, compressed in pairs)
        self._channel.send_many([data for data, _ in pairs], deadline.left(), flags)

    @contextlib.contextmanager
    def batch(self) -> Iterator[Self]:
        """Within it `send` only queues; it is flushed at each 64 KiB and on leaving."""
        codec = self._inbox.codec
        plain = codec is not None and codec.is_raw and not codec.compresses
        batcher = self._channel.batcher() if plain else None
        if batcher is not None:
            self.__dict__["send"] = batcher.send
        self._channel.hold()
        try:
            yield self
        except BaseException:
            self._release(plain)
            with contextlib.suppress(OSError, TareError):
                self._channel.flush(0)  # what was queued leaves, if it may at once
            raise
        self._release(plain)
        self._channel.flush()

    def _release(self, plain: bool) -> None:
        self._channel.release()
        if plain:
            self.__dict__["send"] = self._channel.send

    def flush(self, timeout: Timeout = ...) -> None:
        """Push out all that is queued.

        Raises:
            TimeoutError: The peer does not read; what is left stays queued.
            OSError: From the system.
        """
        self._channel.flush(timeout)

    # Receiving

    def receive(self, timeout: Timeout = ...) -> Any:
        """The next value.

        Raises:
            EndOfStream: The peer finished, and all its messages were received.
            TimeoutError: Not in time; nothing is lost.
            Truncated: The stream was cut inside a message.
            Malformed, ChecksumMismatch, Limit: The stream is damaged there; every later call says so too.
            DecodeError: This message does not decode; the next call goes on behind it.
            CodecMismatch: The peer sends another format.
            OSError: From the system.
        """
        while True:
            for value in self._inbox.ready:  # the first: less than a call of next()
                return value
            self._fill(timeout, _MANY, _BUDGET)

    def receive_all(
        self, n: int | None = None, timeout: Timeout = 0, *, require_end: bool = False
    ) -> list[Any]:
        """The values that are there by the deadline, at most ``n``; at an end, those before it.

        Good values come first: an error behind them is raised by the next call.

        Args:
            n: The most to give; None for all.
            timeout: Seconds; 0 takes what is there, None waits for ``n`` values or the end.
            require_end: The list must be all there is: raise unless the peer said that it finished.
                Then no value is lost: the next call without it gives them.

        Raises:
            As `receive`, but for `EndOfStream` and `TimeoutError`.
            Truncated: With ``require_end``, the stream ended and nobody said that it was whole.
        """
        if n is not None and n < 0:
            raise UsageError(f"n={n}: expected 0 or more, or None for all")
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
                self._fill(deadline.left(), _MANY if left is None else left, _MANY)
            except TimeoutError:
                break
            except EndOfStream:
                if require_end and self.status != "ended":
                    inbox.give_back(values)
                    text = f"the stream ended after {len(values)} values and the peer did not say that it finished"
                    raise Truncated(text, format=self._format, offset=self.tell()[0]) from None
                break
            except Exception as error:
                if not values:
                    raise
                if require_end:
                    inbox.give_back(values)
                    raise
                inbox.trouble = error
                break
        return values

    def _fill(self, timeout: Timeout, count: int, budget: int) -> None:
        """Make something ready, or raise."""
        if not self._receiving.acquire(blocking=False):
            deadline = self._deadline(timeout)
            left = deadline.left()
            if not self._receiving.acquire(timeout=-1 if left is None else left):
                raise TimeoutError("another thread is receiving")
            timeout = deadline.left()
        try:
            inbox = self._inbox
            if inbox.has_ready:
                return  # another thread was first, and something is left
            if inbox.trouble is not None:
                error, inbox.trouble = inbox.trouble, None
                raise error
            if inbox.undecoded:
                inbox.decode()
                return
            inbox.forget()
            channel = self._channel
            taken = channel.take(count, budget, timeout)
            if taken is None:
                raise EndOfStream.at(self._channel.status()[0])
            inbox.put(taken, channel.peer_codec)
        finally:
            self._receiving.release()

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._batches())

    def _batches(self) -> Iterator[Iterator[Any]]:
        while True:
            yield self._inbox.ready
            try:
                self._fill(..., _MANY, _BUDGET)
            except EndOfStream:
                return

    def receive_into(self, buffer: Buffer, timeout: Timeout = ...) -> int:
        """The payload of the next message into a buffer of the caller, and its length; codec ``raw`` only.

        Raises:
            Limit: The buffer is too short; the message stays, and another call may have it.
            As `receive`, too.
        """
        self._only_raw("receive_into")
        ready: Any = next(self._inbox.ready, _NONE)
        if ready is _NONE:
            count = self._channel.receive_into(buffer, timeout)
            if count is None:
                raise EndOfStream.at(self._channel.status()[0])
            return count
        with memoryview(buffer).cast("B") as view:
            payload: bytes = ready
            size = len(payload)
            if view.nbytes < size:
                self._inbox.give_back([ready])
                raise Limit(f"the message has {size} bytes, the buffer {view.nbytes}", format=self._format)
            view[:size] = payload
            return size

    @contextlib.contextmanager
    def receive_view(self, timeout: Timeout = ...) -> Iterator[memoryview]:
        """The payload of the next message as a ``memoryview`` that is valid within; codec ``raw`` only.

        Raises:
            As `receive`.
        """
        self._only_raw("receive_view")
        with memoryview(self.receive(timeout)) as view:
            yield view

    def _only_raw(self, name: str) -> None:
        codec = self._inbox.codec
        if codec is None or not codec.is_raw or codec.compresses:
            raise Unsupported(f"{name}() gives payloads as they are: open the connection with codec='raw'")

    def poll(self, timeout: Timeout = 0) -> bool:
        """Whether `receive` would not wait: a whole message is there, an end, or an error.

        Unlike the polls of sockets, part of a message is taken in and does not count.
        """
        try:
            return self._inbox.has_any or self._channel.poll(timeout)
        except TimeoutError:
            return False  # another thread receives, which `receive` would wait for

    @property
    def has_ready(self) -> bool:
        """Whether a value, or an error, was already taken in and decoded."""
        return self._inbox.has_any

    def watched(self) -> tuple[int, bool, bool]:
        """For `tare.wait`: the descriptor, whether `poll` should be asked whatever it says, and whether
        it is a file, which no system tells to have grown.
        """  # noqa: D205 - three facts, one sentence
        number, at_hand, is_file = self._channel.watched()
        at_hand = at_hand or self.has_ready
        if not at_hand and self._receiving.acquire(blocking=False):
            try:
                if not self.has_ready:
                    self._inbox.forget()  # an idle connection holds nothing
                    if self.quick is not None:
                        self.quick.settled()
            finally:
                self._receiving.release()
        return number, at_hand, is_file

    def slow_left(self) -> float | None:
        """For `tare.wait`: seconds until a message on its way has taken too long; None if none is."""
        return self._channel.slow_left()

    # What it knows

    def partial(self) -> bytes:
        """The bytes that are there of a message that is not whole yet."""
        return self._channel.partial()

    @property
    def partial_size(self) -> int:
        """How many bytes are there of a message that is not whole yet."""
        return self._channel.partial_size

    @property
    def pending(self) -> int:
        """How many whole messages were received and not taken, at least: it looks no further than one read."""
        return len(self._inbox) + self._channel.pending

    @property
    def status(self) -> Status:
        """State of the stream that is received."""
        return Status(*self._channel.status())

    def tell(self) -> tuple[int, int]:
        """Bytes of the whole messages that were received and that were sent, framing included."""
        received, sent = self._channel.position()
        given = self._inbox.given()
        return (received if given is None else given[0]), sent

    def summary(self) -> dict[str, Any]:
        """What went through, and in which state it is."""
        codec = self._inbox.codec
        facts = {
            "url": self._url,
            "framing": self._framing,
            "codec": None if codec is None else codec.id,
            "peer_codec": self._channel.peer_codec,
            "status": str(self.status),
            **self._channel.facts(),
        }
        given = self._inbox.given()
        if given is not None:
            facts["bytes_in"], facts["messages_in"] = given
        return facts

    # Its end

    def detach(self) -> tuple[int, bytes]:
        """The descriptor, and the bytes that were read ahead, for whoever reads on; what is queued is flushed.

        The connection is closed without touching the descriptor.

        Raises:
            UsageError: A large message was taken and not given: receive it first.
            TimeoutError, OSError: From flushing.
        """
        self._channel.flush()
        ahead = b""
        if self._channel.holds():
            self._fill(0, 1, 0)
        if len(self._inbox):
            session = MessageSession(self._wire, {"hello": None, "end": False})
            for payload, compressed in self._inbox.taken_back():
                session.send(payload, compressed)
            ahead = session.outgoing()
        descriptor, rest = self._channel.detach()
        self._inbox.clear()
        return descriptor, ahead + rest

    def fileno(self) -> int:
        """The descriptor, to be waited for and nothing else: see `tare.wait`."""
        return self._channel.fileno()

    @property
    def closed(self) -> bool:
        """Whether it was closed here."""
        return self._channel.closed

    def close(self, timeout: Timeout = ...) -> None:
        """Flush, tell the peer that this is the end, and close.

        Raises:
            TimeoutError: The peer did not take all of it; it is closed all the same.
            OSError: From the system.
        """
        self._inbox.clear()
        self._channel.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.close()
            return
        with contextlib.suppress(OSError, TareError):
            self._channel.close(0, end=False)  # who broke off did not finish

    def __repr__(self) -> str:
        codec = self._inbox.codec
        name = "any" if codec is None else codec.id
        state = "closed" if self.closed else str(self.status)
        return f"<tare.messages.Connection {self._url} {name} {state}>"

    def _codec(self) -> MessageCodec:
        codec = self._inbox.codec
        if codec is None:
            raise UsageError("codec=None, and the peer did not say yet what it sends: name the codec to send")
        return codec

    @property
    def _format(self) -> str:
        return "frame" if self._wire == "frame" else self._wire

    @property
    def _wire(self) -> str:
        codec = self._inbox.codec
        return "frame" if codec is None or codec.native is None else codec.native

    def _deadline(self, timeout: Timeout) -> MessageDeadline:
        return MessageDeadline(self._timeout if timeout is ... else timeout)
