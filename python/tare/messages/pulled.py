"""Payloads over descriptors that are read and written from Python.

A descriptor never blocks. One that is readable may hold no payload, and one that is not may have some
that TLS decrypted already. So reading goes on until nothing is left, and only then it is waited for.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tare._tare import MessageBatcher, MessageDeadline, MessageSession
from tare.errors import Limit, TareError, Unsupported, UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tare.messages.channel import Taken, Timeout

__all__ = ["ROUND", "PulledChannel", "poll_for"]

ROUND = 1 << 20
"""Bytes that are read before other connections are looked at."""

_PIECE = 256 << 10  # bytes written at once
_PLACE = 256 << 10  # bytes read at once
_FREE: list[memoryview] = []
_MOST_FREE = 4


def poll_for(descriptor: int, events: int, seconds: float | None) -> int:
    """Wait for a descriptor; what is ready, 0 if nothing was in time.

    Raises:
        OSError: It is closed.
    """
    poller = select.poll()
    poller.register(descriptor, events)
    ready = poller.poll(None if seconds is None else -(-seconds * 1000 // 1))
    found: int = ready[0][1] if ready else 0
    if found & select.POLLNVAL:
        raise OSError(9, os.strerror(9))
    return found


class PulledChannel(ABC):
    """Payloads over what is read and written from Python; see `tare.messages.channel.Channel`.

    Args:
        session: What cuts and joins the bytes.
        options: The options, checked.
    """

    def __init__(self, session: MessageSession, options: dict[str, Any]) -> None:
        self._session = session
        self._process = os.getpid()
        self._timeout: float | None = options["timeout"]
        self._message_timeout: float | None = options["message_timeout"]
        self._batch: int = options["batch"]
        self._high: int = options["high"]
        self._low: int = options["low"]
        self._held = 0
        self._closed = False
        self._failed: OSError | None = None
        self._kept: Taken | None = None
        self._sending = threading.RLock()
        self._receiving = threading.RLock()
        self._room: int = options["read_size"] or _PLACE
        self._more = False
        self._is_file = False
        self._reads = self._writes = True

    # What carries the bytes

    @abstractmethod
    def _read(self, place: memoryview) -> int | None:
        """Read without waiting: 0 at the end, None if nothing is there."""

    @abstractmethod
    def _write(self, data: bytes) -> int | None:
        """Write without waiting: None if there is no room."""

    @abstractmethod
    def _await(self, events: int, seconds: float | None) -> None:
        """Wait until it may be read or written, or for so long."""

    @abstractmethod
    def _peer(self) -> str | None:
        """Who is at the other end."""

    @abstractmethod
    def _finish(self) -> None:
        """Say that nothing follows, where the transport can."""

    @abstractmethod
    def _release(self) -> None:
        """Close the descriptor."""

    @abstractmethod
    def _number(self) -> int:
        """The descriptor."""

    def _shut(self) -> None:  # noqa: B027 - only sockets have places
        """Let nothing pass any more, so that whoever waits for it wakes."""

    def _synchronise(self) -> None:  # noqa: B027 - most have nothing to do here
        """Make what was written last, where that was asked for."""

    # Sending

    def send(self, data: Buffer, timeout: Timeout = ..., compressed: bool = False) -> None:
        """Queue a payload, and flush unless payloads are held."""
        deadline = self._deadline(timeout)
        with self._one(self._sending, deadline):
            self._check_writes()
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
            self._check_writes()
            given = payloads if isinstance(payloads, list) else list(payloads)
            index = 0
            while index < len(given):
                index = self._session.send_many(given, index, self._batch, flags)
                if self._session.unsent >= self._batch:
                    self._flush(deadline)
        return len(given)

    def holds(self) -> bool:
        """Whether a message was taken from the stream and not given."""
        return self._kept is not None

    def batcher(self) -> MessageBatcher | None:
        """What queues bytes faster within a batch."""
        return MessageBatcher(self._session, self.flush, self._batch)

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
            self._synchronise()

    def _flush(self, deadline: MessageDeadline, down_to: int = 0) -> None:
        while self._session.unsent > down_to:
            if not self._pushed():
                self._wait(select.POLLOUT, deadline, "send")

    def _pushed(self) -> bool:
        """Write once; False if there is no room."""
        count = self._write(self._session.outgoing(_PIECE))
        if count is None:
            return False
        self._session.written(count)
        return True

    # Receiving

    def take(self, count: int, budget: int, timeout: Timeout = ...) -> Taken | None:
        """At least one message, at most ``count``, and no more behind ``budget`` bytes; None at the end."""
        deadline = self._deadline(timeout)
        with self._one(self._receiving, deadline):
            if self._kept is not None:
                kept, self._kept = self._kept, None
                return kept
            while True:
                self._check_reads()
                # What was asked must leave before its answer is waited for, but reading never waits for
                # writing: two ends that both send much would wait for each other.
                unsent = self._offer()
                try:
                    taken = self._session.take(count, budget)
                except OSError as error:
                    raise self._failed or error from None
                if taken is not None:
                    return taken
                if self._session.at_end:
                    return None
                if self._failed is not None:
                    raise self._failed
                self._more_bytes(deadline, unsent)

    def _more_bytes(self, deadline: MessageDeadline, unsent: bool) -> None:
        """Take in what is there, or wait for it; a peer that sends no message without end is given up too."""
        if not self._pump():
            events = select.POLLIN | select.POLLOUT if unsent else select.POLLIN
            self._wait(events, self._slower(deadline), "receive")
        elif deadline.long_over:
            raise TimeoutError("could not receive in time")

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
        # Taken from a few that all connections have together: an idle one has none.
        whole = (
            _FREE.pop() if _FREE and self._room <= _PLACE else memoryview(bytearray(max(self._room, _PLACE)))
        )
        try:
            return self._pumped(whole[: self._room])
        finally:
            if len(whole) == _PLACE and len(_FREE) < _MOST_FREE:
                _FREE.append(whole)

    def _pumped(self, view: memoryview) -> bool:
        total = 0
        while total < ROUND and not self._session.full:
            try:
                count = self._read(view)
            except OSError as error:  # an end that TLS does not vouch for is one of these
                self._fail(error)
                return True
            if count is None:
                break
            if count == 0:
                self._session.received_end()
                return True
            total += count
            self._session.received(view[:count])
        self._more = total >= ROUND  # and more may have been decrypted
        self._watch()
        return total > 0

    def _watch(self) -> None:
        """Remember since when a message has been on its way."""
        if self._message_timeout is not None:
            self._session.clock(self._message_timeout)

    def _slower(self, deadline: MessageDeadline) -> MessageDeadline:
        slow = None if self._message_timeout is None else self._session.clock_left()
        if slow is None:
            return deadline
        if not slow:
            self._fail(self._too_slow())
            assert self._failed is not None
            raise self._failed
        left = deadline.left()
        return MessageDeadline(slow) if left is None or slow < left else deadline

    def _too_slow(self) -> OSError:
        return TimeoutError(f"a message took longer than message_timeout={self._message_timeout}")

    def _fail(self, error: OSError) -> None:
        self._failed = error
        self._session.received_failure(error.errno or 0)

    def receive_into(self, buffer: Buffer, timeout: Timeout = ...) -> int | None:
        """The payload of one message into a buffer, its length; None at the end."""
        deadline = self._deadline(timeout)
        with self._one(self._receiving, deadline):
            while self._kept is None:
                self._check_reads()
                unsent = self._offer()
                try:
                    found = self._session.take_into(buffer)
                except OSError as error:
                    raise self._failed or error from None
                if found is not None:
                    size, self._kept = found
                    if self._kept is None:
                        return size
                elif self._session.at_end:
                    return None
                elif self._failed is not None:
                    raise self._failed
                else:
                    self._more_bytes(deadline, unsent)
            return self._copied(buffer)

    def _copied(self, buffer: Buffer) -> int:
        """What is kept, into a buffer; it stays if it does not fit."""
        assert self._kept is not None
        payload, flags = self._kept[0][0], self._kept[1]
        if flags is not None:
            raise Unsupported("the message is compressed: receive() decompresses it", format="frame")
        with memoryview(buffer).cast("B") as view:
            if view.nbytes < len(payload):
                text = f"the message has {len(payload)} bytes, the buffer {view.nbytes}: receive it into a larger one"
                raise Limit(text, format="frame")
            view[: len(payload)] = payload
        self._kept = None
        return len(payload)

    def poll(self, timeout: Timeout = ...) -> bool:
        """Whether `take` would not wait."""
        deadline = self._deadline(timeout)
        with self._one(self._receiving, deadline):
            while True:
                self._check_reads()
                if self._has_one():
                    return True
                if self._pump():
                    if deadline.long_over:
                        return False
                    continue
                if deadline.over:
                    return False
                try:
                    self._wait(select.POLLIN, self._slower(deadline), "receive")
                except TimeoutError:
                    return self._failed is not None

    def _has_one(self) -> bool:
        """Whether a message is there, an end or an error: what is said between messages is none of these."""
        if self._kept is None and self._session.ready:
            try:
                self._kept = self._session.take(1, 0)
            except (OSError, TareError):
                return True  # it stays, and comes again
        return self._kept is not None or self._failed is not None or self._session.at_end

    def watched(self) -> tuple[int, bool, bool]:
        """The descriptor, whether something was taken in already, and whether it is a file."""
        self._check()
        at_hand = self._session.ready or self._more or self._kept is not None or self._failed is not None
        return self._number(), at_hand, self._is_file

    def slow_left(self) -> float | None:
        """Seconds until a message on its way has taken too long; None if none is."""
        if self._message_timeout is None or self._failed is not None:
            return None
        return self._session.clock_left()

    def quick(self) -> MessageSession | None:
        """What `tare.wait` may look at without asking; None here, for TLS has bytes of its own."""
        return None

    def note_skipped(self, offset: int) -> None:
        """Count a line that did not decode and was passed over."""
        self._session.note_skipped(offset)

    # What its listener asks

    @property
    def is_gone(self) -> bool:
        """Whether its place is free."""
        return self._closed

    def progress(self) -> tuple[int, int] | None:
        """Bytes of whole messages either way; None if something came that nobody looked at yet."""
        if self._closed or poll_for(self._number(), select.POLLIN, 0):
            return None
        return self._session.position()

    def dismiss(self) -> None:
        """End it, as it was idle while others waited for its place; whoever receives from it is told."""
        if not self._closed:
            self._failed = TimeoutError("was idle while others waited for its place")
            with contextlib.suppress(OSError):
                self._shut()

    # What it knows

    @property
    def peer_codec(self) -> str | None:
        """What the peer says that the messages taken last are in; None if it did not say."""
        return self._session.peer_codec

    @property
    def pending(self) -> int:
        """Whole messages received and not taken."""
        self._has_one()
        return int(self._kept is not None)  # at least: those behind it were not looked at

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
        received, sent = self._session.position()
        return (received if self._kept is None else self._kept[2].end(0)), sent

    def facts(self) -> dict[str, Any]:
        """What `Connection.summary` says."""
        facts = {"peer": None if self._closed else self._peer(), **self._session.facts()}
        if self._kept is not None:
            facts["messages_in"] -= 1
            facts["bytes_in"] = self._kept[2].end(0)
        return facts

    @property
    def closed(self) -> bool:
        """Whether this end closed it."""
        return self._closed

    def fileno(self) -> int:
        """The descriptor."""
        self._check()
        return self._number()

    # Its end

    def detach(self) -> tuple[int, bytes]:
        """The descriptor and the bytes that were read ahead."""
        raise UsageError("this connection is not detached: its descriptor alone cannot be read")

    def close(self, timeout: Timeout = ..., end: bool = True) -> None:
        """Flush, say that this is the end, and close."""
        if self._closed:
            return
        deadline = self._deadline(timeout)
        try:
            # A child that inherited it closes its copy of the descriptor alone: the stream is its parent's.
            if self._failed is None and os.getpid() == self._process:
                self._flush(deadline)
                if end and self._writes:
                    self._session.finish()
                with contextlib.suppress(ConnectionError):  # a peer that is gone misses no message
                    self._flush(deadline)
                    self._finish()
        finally:
            self._closed = True
            self._release()

    # Common parts

    def _check(self) -> None:
        if self._closed:
            raise UsageError("the connection was closed: connect anew")
        if os.getpid() != self._process:
            raise UsageError("opened before a fork and used in the child: open it in the child")

    def _check_writes(self) -> None:
        self._check()
        if not self._writes:
            raise UsageError("opened for reading: nothing can be sent")

    def _check_reads(self) -> None:
        self._check()
        if not self._reads:
            raise UsageError("opened for writing: nothing can be received")

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
        if deadline.over:
            raise TimeoutError(f"could not {verb} in time")
        self._await(events, deadline.left())
