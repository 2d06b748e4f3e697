"""One message at a time over something that others read and write too: not a byte is taken too many."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tare._tare import MessageSession
from tare.errors import UsageError

if TYPE_CHECKING:
    from tare._tare import MessageMarks

__all__ = ["missing", "receive_one", "send_one", "show_token", "token_missing"]

_HEADER_BYTES = 5  # of a frame; no unit of it is shorter
_MOST_TOKEN_BYTES = 1 + 64
_STEP = 1 << 20


def missing(session: MessageSession, first: int = _HEADER_BYTES) -> int:
    """How many bytes can be read without reading past the message under way.

    Args:
        session: What cuts the bytes; `MessageSession.take` was asked since it received some.
        first: The least that a message has: 5 bytes of a frame, 1 of other framings.

    >>> session = MessageSession("frame", {})
    >>> session.received(bytes.fromhex("e002000000"))
    >>> session.take(1, 0), missing(session)
    (None, 2)
    """
    return session.status()[2] or first


def receive_one(
    session: MessageSession, read: Callable[[int], bytes], first: int = _HEADER_BYTES
) -> tuple[bytes, bool] | None:
    """The payload of the next message, and whether it is compressed; None at a clean end.

    Args:
        session: What cuts the bytes.
        read: Gives at least one byte and at most so many; none at the end.
        first: As `missing`.

    Raises:
        Truncated: The end came inside a message.
        Malformed, ChecksumMismatch, Limit: As the framing finds it.
        OSError: From ``read``.
    """
    while (taken := session.take(1, 0)) is None:
        if session.at_end:
            return None
        data = read(min(missing(session, first), _STEP))
        if data:
            session.received(data)
        else:
            session.received_end()
    return _one(taken)


def _one(taken: tuple[list[bytes], bytes | None, MessageMarks]) -> tuple[bytes, bool]:
    payloads, flags, _ = taken
    return payloads[0], flags is not None and bool(flags[0])


def send_one(session: MessageSession, write: Callable[[bytes], object]) -> int:
    """Write what is queued, by pieces of at most 1 MiB; the number of bytes.

    Args:
        session: What joins the bytes.
        write: Takes all it is given.

    Raises:
        OSError: From ``write``.
    """
    total = 0
    while session.unsent:
        piece = session.outgoing(_STEP)
        write(piece)
        session.written(len(piece))
        total += len(piece)
    return total


def show_token(token: bytes) -> bytes:
    """The bytes that a peer must send first where the listener has a token.

    >>> show_token(b"0123456789abcdef").hex()
    'e8110000000330313233343536373839616263646566'
    """
    session = MessageSession("frame", {})
    session.token(token)
    return session.outgoing()


def token_missing(session: MessageSession) -> int:
    """How many bytes to read next from somebody who has not shown the token: never one behind it.

    Raises:
        UsageError: What came is longer than any token.
    """
    wanted = missing(session)
    if wanted > _MOST_TOKEN_BYTES:
        raise UsageError("the peer does not begin with a token")
    return wanted
