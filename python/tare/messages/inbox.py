"""Messages taken from a stream, decoded a batch at a time, and given one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import length_hint
from typing import TYPE_CHECKING, Any

from tare.errors import UsageError
from tare.messages.codecs import MessageCodec, adopted

if TYPE_CHECKING:
    from tare.messages.channel import Marks, Taken

__all__ = ["Inbox"]

_LARGE = 64 << 10
_AHEAD = 128  # values decoded at once: those of many more would leave the caches, and wake the collector
_NOTHING: Iterator[Any] = iter(())


class _One:
    """An iterator of one value, which it lets go of with it; a list's would keep it."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self._values:
            raise StopIteration
        return self._values.pop()

    def __length_hint__(self) -> int:
        return len(self._values)


class Inbox:
    """What was taken and is not given yet.

    What is decoded ahead is `ready`: a list's own iterator, which a loop and single calls share, so
    that what one of them took the other never sees.

    Args:
        codec: What messages are in; None adopts what the peer says.
        accept: What may be adopted.
        settings: What a `MessageCodec` is made with.
    """

    def __init__(self, codec: MessageCodec | None, accept: tuple[str, ...], settings: dict[str, Any]) -> None:
        self.codec = codec
        self.ready: Iterator[Any] = _NOTHING
        self.trouble: Exception | None = None
        """The error of the message behind those that are ready."""
        self.skip: Callable[[int], None] | None = None
        """Where lines that do not decode are counted, instead of being errors."""
        self._accept = accept
        self._settings = settings
        self._adopts = codec is None
        self._peer: str | None = None
        self._agreed: str | None = None
        self._payloads: list[bytes] = []
        self._flags: bytes | None = None
        self._marks: Marks | None = None
        self._count = 0  # of the batch
        self._decoded = 0  # how many of it were decoded, or failed to

    def __len__(self) -> int:
        return self._count - self._first()

    def _first(self) -> int:
        """Index of the first message of the batch that was not given."""
        return self._decoded - length_hint(self.ready) - (self.trouble is not None)

    @property
    def has_ready(self) -> bool:
        """Whether a value is ready."""
        return length_hint(self.ready) > 0

    @property
    def has_any(self) -> bool:
        """Whether a value or an error is ready, or messages were not looked at yet."""
        return self._decoded < self._count or length_hint(self.ready) > 0 or self.trouble is not None

    @property
    def undecoded(self) -> bool:
        """Whether messages of the batch were not looked at yet."""
        return self._decoded < self._count

    def forget(self) -> None:
        """Let go of a batch that was given whole."""
        self.ready = _NOTHING
        self._payloads = []
        self._flags = None

    def clear(self) -> None:
        """Drop all: this end closed."""
        self.forget()
        self.trouble = self._marks = None
        self._count = self._decoded = 0

    def put(self, taken: Taken, peer: str | None) -> None:
        """Keep a batch and decode it; the one before is used up.

        Args:
            taken: The batch.
            peer: What the peer says that it is in.

        Raises:
            TareError: The codec is not what this end expects, or the first message does not decode.
        """
        self._payloads, self._flags, self._marks = taken
        self._count, self._decoded = len(self._payloads), 0
        self._peer = peer
        self.decode()

    def _agree(self) -> MessageCodec:
        peer = self._peer
        if self._adopts:
            if peer is None:
                raise UsageError("codec=None, and the peer does not say what it sends: name the codec")
            self.codec = MessageCodec(adopted(peer, self._accept), "frame", **self._settings)
        elif peer is not None:
            assert self.codec is not None
            self.codec.agree(peer)
        self._agreed = peer
        assert self.codec is not None
        return self.codec

    def decode(self) -> None:
        """Decode what is kept up to the first message that does not decode.

        Raises:
            TareError: The first one does not. It is left out of what comes next.
        """
        codec = self.codec
        if codec is None or self._peer != self._agreed:
            codec = self._agree()
        start = self._decoded
        stop = self._count if codec.is_raw else min(start + _AHEAD, self._count)
        rest = self._payloads if stop - start == self._count else self._payloads[start:stop]
        if self._flags is None and not (codec.compresses and codec.native):
            try:
                values = codec.decoded_many(rest)
            except Exception:
                self._one_by_one(codec, stop)
            else:
                self._decoded = stop
                self.ready = iter(values)
        else:
            self._one_by_one(codec, stop)
        if self._count == 1 and len(self._payloads[0]) > _LARGE:
            self._payloads = []  # what is large is not held beside its value, nor behind it
            self.ready = _One(list(self.ready))

    def _one_by_one(self, codec: MessageCodec, stop: int) -> None:
        values: list[Any] = []
        while self._decoded < stop:
            index = self._decoded
            flagged = self._flags is not None and bool(self._flags[index])
            try:
                value = codec.decode(codec.unpacked(self._payloads[index], flagged=flagged))
            except Exception as error:
                assert self._marks is not None
                if self.skip is not None:
                    self.skip(self._marks.offset(index))
                    self._decoded += 1
                    continue
                refused = codec.refusal(error, self._marks.offset(index), self._marks.number(index))
                self._decoded += 1
                if not values:
                    raise refused from error
                self.trouble = refused
                break
            values.append(value)
            self._decoded += 1
        self.ready = iter(values)

    def given(self) -> tuple[int, int] | None:
        """Bytes and number of the messages that were given; None if all that were taken were."""
        if self._marks is None or not len(self):
            return None
        first = self._first()
        return self._marks.end(first), self._marks.number(first)

    def give_back(self, values: list[Any]) -> None:
        """Put values, the last that were given, in front of what is ready."""
        self.ready = iter([*values, *self.ready])

    def taken_back(self) -> Iterator[tuple[bytes, bool]]:
        """Payloads that were not given, and whether each is compressed.

        Raises:
            UsageError: They are there as values alone.
        """
        first = self._first()
        if len(self._payloads) != self._count or first < 0:
            raise UsageError("a large message was taken ahead: receive it, then detach")
        flags = self._flags or bytes(self._count)
        return zip(self._payloads[first:], map(bool, flags[first:]))
