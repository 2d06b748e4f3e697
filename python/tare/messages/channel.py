"""What a `Connection` stands on: payloads in and out, whatever carries them."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tare._tare import MessageBatcher, MessageSession

__all__ = ["Channel", "Marks", "Taken", "Timeout"]

Timeout = float | EllipsisType | None
"""Seconds; None waits for ever, and ``...`` is what the connection was opened with."""


class Marks(Protocol):
    """Where the messages of a batch lay in the stream."""

    def offset(self, index: int, /) -> int:
        """First byte of the message at an index."""
        ...

    def end(self, index: int, /) -> int:
        """Where so many messages of the batch ended; for none, where the one before did."""
        ...

    def number(self, index: int, /) -> int:
        """How many messages of the stream came before it."""
        ...


Taken = tuple[list[bytes], bytes | None, Marks]
"""Payloads; for each whether it is compressed (None if none is); where they lay."""


class Channel(Protocol):
    """Payloads over one byte stream."""

    @property
    def peer_codec(self) -> str | None:
        """What the peer says that the messages taken last are in; None if it did not say."""
        ...

    @property
    def pending(self) -> int:
        """Whole messages received and not taken."""
        ...

    @property
    def partial_size(self) -> int:
        """Bytes of the message that is not whole yet."""
        ...

    def watched(self) -> tuple[int, bool, bool]:
        """The descriptor, whether something was taken in already, and whether it is a file."""
        ...

    def slow_left(self) -> float | None:
        """Seconds until a message on its way has taken too long; None if none is."""
        ...

    def quick(self) -> MessageSession | None:
        """What `tare.wait` may look at without asking; None if it has to ask."""
        ...

    def note_skipped(self, offset: int, /) -> None:
        """Count a line that did not decode and was passed over."""
        ...

    @property
    def closed(self) -> bool:
        """Whether this end closed it."""
        ...

    def send(self, data: Buffer, timeout: Timeout = ..., compressed: bool = False) -> None:
        """Queue a payload, and flush unless payloads are held."""
        ...

    def send_many(
        self, payloads: Sequence[Buffer], timeout: Timeout = ..., flags: bytes | None = None
    ) -> int:
        """Queue payloads, and flush as they grow, but not at the end; their number."""
        ...

    def holds(self) -> bool:
        """Whether a message was taken from the stream and not given."""
        ...

    def batcher(self) -> MessageBatcher | None:
        """What queues bytes faster within a batch, if anything does."""
        ...

    def hold(self) -> None:
        """From now on `send` flushes only what has grown."""
        ...

    def release(self) -> None:
        """The opposite of `hold`; nothing is flushed."""
        ...

    def flush(self, timeout: Timeout = ...) -> None:
        """Push out all that is queued."""
        ...

    def take(self, count: int, budget: int, timeout: Timeout = ...) -> Taken | None:
        """At least one message, at most ``count``, and no more behind ``budget`` bytes; None at the end.

        What is taken at once is of one codec: a peer that says another ends the batch.
        """
        ...

    def receive_into(self, buffer: Buffer, timeout: Timeout = ...) -> int | None:
        """The payload of one message into a buffer, its length; None at the end."""
        ...

    def poll(self, timeout: Timeout = ...) -> bool:
        """Whether `take` would not wait."""
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
        """What `Connection.summary` says."""
        ...

    def detach(self) -> tuple[int, bytes]:
        """The descriptor and the bytes that were read ahead; it is closed without touching the descriptor."""
        ...

    def fileno(self) -> int:
        """The descriptor."""
        ...

    def close(self, timeout: Timeout = ..., end: bool = True) -> None:
        """Flush, say that this is the end, and close."""
        ...
