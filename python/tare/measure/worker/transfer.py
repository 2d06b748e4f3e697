"""Sending and receiving one message, with the time of each end of it.

The writer stamps its start, its first and last byte and the close; the reader its
first and last byte, its first and last value. Stamps are CLOCK_MONOTONIC, so they
compare between processes of one host, and are never compared between two.

How a message ends is the *delivery*:

* ``whole``, ``buffered``: the writer closes; the reader reads to the end, then decodes.
* ``streaming``: the writer closes; the reader decodes parts as they arrive.
* ``framed``: a frame of `tare.messages`; the connection stays open. So is what routes send.
* ``wrapped``: a msgpack ``bin`` that holds the message (framing ``native:wrap``); it stays open too.
"""

from __future__ import annotations

import io
import os
import select
import time
from typing import TYPE_CHECKING, Any

from tare._tare import MessageSession
from tare.errors import Truncated, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare.formats.base import Stream

__all__ = ["DELIVERIES", "MESSAGES", "RECEIVE_STAMPS", "SEND_STAMPS", "Receiver", "Sender"]

MESSAGES = {"framed": "frame", "wrapped": "wrap"}
"""Deliveries that leave the connection open, and how messages cut it."""

DELIVERIES = ("whole", "buffered", "streaming", *MESSAGES)
SEND_STAMPS = ("start_ns", "first_byte_ns", "last_byte_ns", "closed_ns")
RECEIVE_STAMPS = ("first_byte_ns", "first_value_ns", "last_byte_ns", "last_value_ns")

_WRITE_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 18
# What is measured may be longer than what a stranger may send.
_LIMITS = {"max_message": 1 << 40}
_MOST_READ = 1 << 30
_now = time.monotonic_ns


class _Stamped(io.RawIOBase):
    """A raw end that notes when its first and last byte passed, and how many."""

    def __init__(self, end: io.RawIOBase) -> None:
        self._end = end
        self.reset()

    def reset(self) -> None:
        self.first_ns = self.last_ns = 0
        self.count = 0

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self.first_ns:
            self.first_ns = _now()
        done = self._end.write(data) or 0
        self.last_ns = _now()
        self.count += done
        return done

    def write_queued(self, session: MessageSession) -> None:
        """Write what a session has queued: its large payloads are not copied."""
        if not self.first_ns:
            self.first_ns = _now()
        descriptor = self._end.fileno()
        while session.unsent:
            self.count += session.write_to(descriptor) or 0
        self.last_ns = _now()

    def readinto(self, buffer: Any) -> int:
        return self._got(self._end.readinto(buffer) or 0)

    def read_message(self, session: MessageSession) -> bytes | None:
        """The next message of a session, read as connections read; None at the end."""
        before = session.position()[0]
        taken = session.take(1, 0)
        if taken is None and not session.at_end:
            descriptor = self._end.fileno()
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            poller.poll()
            self._noted()
            pulled = session.pull((descriptor, _MOST_READ, False, None), 1, 0)
            assert not isinstance(pulled, str)  # there is no time limit, and nothing to send
            taken = pulled
            self._noted()
        self.count += session.position()[0] - before
        return None if taken is None else taken[0][0]

    def _got(self, done: int) -> int:
        if done:
            self._noted()
            self.count += done
        return done

    def _noted(self) -> None:
        self.last_ns = _now()
        if not self.first_ns:
            self.first_ns = self.last_ns


class Sender:
    """The writing end of a medium.

    Args:
        end: Raw end that ``connect`` gave.
        delivery: How messages end.
        encode: Gives the bytes of a value; not used for ``streaming``.
        stream: The library's parts, for ``streaming``.
        options: Options of the library, for ``streaming``.
        ack: Wait for the reader's answer of one byte after the last one (another host).
    """

    def __init__(
        self,
        end: io.RawIOBase,
        delivery: str,
        encode: Callable[[Any], Any],
        *,
        stream: Stream | None = None,
        options: dict[str, Any] | None = None,
        ack: bool = False,
    ) -> None:
        if delivery == "streaming" and stream is None:
            raise UsageError("this library cannot write in parts")
        self._end = end
        self._raw = _Stamped(end)
        self._delivery = delivery
        self._encode = encode
        self._stream = stream
        self._options = options or {}
        self._ack = ack
        self._session = _session(delivery)
        self._start_ns = self._closed_ns = self._ack_ns = 0

    def reset(self) -> None:
        """Forget the stamps of the last message."""
        self._raw.reset()
        self._start_ns = self._closed_ns = self._ack_ns = 0

    def send(self, value: Any) -> int:
        """Encode and send one value; returns the bytes written."""
        if not self._start_ns:
            self._start_ns = _now()
        if self._delivery == "streaming":
            assert self._stream is not None
            file = io.BufferedWriter(self._raw, _WRITE_BYTES)
            self._stream.write(value, file, **self._options)
            file.flush()
            file.detach()
        elif self._session is not None:
            self._session.send(self._encode(value))
            self._raw.write_queued(self._session)
        else:
            self._write_all(memoryview(self._encode(value)).cast("B"))
        if self._session is None:
            self._finish()
        if self._ack:
            self._wait_for_ack()
        self._closed_ns = _now()
        return self._raw.count

    def stamps(self) -> list[int]:
        """The stamps, in the order of ``SEND_STAMPS``."""
        return [self._start_ns, self._raw.first_ns, self._raw.last_ns, self._closed_ns]

    @property
    def count(self) -> int:
        """Bytes written since the last reset, what frames them included."""
        return self._raw.count

    def _write_all(self, view: memoryview) -> None:
        done = 0
        while done < len(view):
            done += self._raw.write(view[done:])

    def _finish(self) -> None:
        finish = getattr(self._end, "finish", None)
        if self._ack and finish is not None:
            finish()
        else:
            self._end.close()

    def _wait_for_ack(self) -> None:
        if not self._end.readinto(bytearray(1)):
            raise Truncated("the reader closed without acknowledging the message")
        if self._session is None:
            self._end.close()


class Receiver:
    """The reading end of a medium.

    Args:
        end: Raw end that ``accept`` gave.
        delivery: How messages end.
        decode: Gives the value of bytes; not used for ``streaming``.
        stream: The library's parts, for ``streaming``.
        options: Options of the library, for ``streaming``.
        ack: Answer with one byte when the last value is there (another host).
    """

    def __init__(
        self,
        end: io.RawIOBase,
        delivery: str,
        decode: Callable[[Any], Any],
        *,
        stream: Stream | None = None,
        options: dict[str, Any] | None = None,
        ack: bool = False,
    ) -> None:
        if delivery == "streaming" and stream is None:
            raise UsageError("this library cannot read in parts")
        self._end = end
        self._raw = _Stamped(end)
        self._file = io.BufferedReader(self._raw, _CHUNK_BYTES)
        self._delivery = delivery
        self._session = _session(delivery)
        if self._session is not None:
            os.set_blocking(end.fileno(), False)  # as connections have it
        self._decode = decode
        self._stream = stream
        self._options = options or {}
        self._ack = ack
        self._first_value_ns = self._last_value_ns = 0

    def reset(self) -> None:
        """Forget the stamps of the last message."""
        self._raw.reset()
        self._first_value_ns = self._last_value_ns = 0

    def receive(self, _: Any = None) -> Any:
        """Receive and decode one value.

        Raises:
            Truncated: The writer closed in the middle of a message, or before it.
            Malformed: What came is not framed as it should be.
        """
        value = self._parts() if self._delivery == "streaming" else self._decode(self._bytes())
        self._last_value_ns = _now()
        if not self._first_value_ns:
            self._first_value_ns = self._last_value_ns
        if self._ack:
            self._end.write(b"\x06")
        return value

    def stamps(self) -> list[int]:
        """The stamps, in the order of ``RECEIVE_STAMPS``."""
        return [self._raw.first_ns, self._first_value_ns, self._raw.last_ns, self._last_value_ns]

    @property
    def count(self) -> int:
        """Bytes read since the last reset, what frames them included."""
        return self._raw.count

    def _parts(self) -> Any:
        assert self._stream is not None
        parts: list[Any] = []
        for part in self._stream.read(self._file, **self._options):
            if not parts:
                self._first_value_ns = _now()
            parts.append(part)
        return self._stream.join(parts)

    def _bytes(self) -> bytes:
        session = self._session
        if session is None:
            return self._read_to_end()
        data = self._raw.read_message(session)
        if data is None:
            raise Truncated("the writer closed before the message")
        return data

    def _read_to_end(self) -> bytes:
        # RawIOBase.readall would go by 8 KiB.
        chunks = []
        buffer = bytearray(_CHUNK_BYTES)
        view = memoryview(buffer)
        while done := self._raw.readinto(view):
            chunks.append(bytes(view[:done]))
        return b"".join(chunks)


def _session(delivery: str) -> MessageSession | None:
    wire = MESSAGES.get(delivery)
    return None if wire is None else MessageSession(wire, _LIMITS)
