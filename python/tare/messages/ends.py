"""How a stream of messages ends, and what state it is in."""

from __future__ import annotations

from typing import Self

__all__ = ["EndOfStream", "Status"]


class EndOfStream(EOFError):
    """The other end finished: all its messages were received, and there are no more.

    No `tare.TareError`, because nothing is wrong; a stream that was cut raises
    `tare.errors.Truncated` instead.
    """

    @classmethod
    def at(cls, state: str) -> Self:
        """What is said at ``ended``, or ``eof_clean``.

        >>> str(EndOfStream.at("ended"))
        'the peer finished, and all its messages were received'
        """
        if state == "ended":
            return cls("the peer finished, and all its messages were received")
        return cls("the stream ended between messages; the peer did not say that it had finished")


class Status(str):
    """State of what is received: ``ok``, ``need_more``, ``ended``, ``eof_clean``, ``failed``, ...

    Args:
        name: The state, as docs/specs/messages.md lists them.
        offset: Byte of the stream that it is about, for an error.
        hint: Least number of bytes that are missing, for ``need_more``.

    >>> status = Status("need_more", hint=3)
    >>> status == "need_more", status.hint, status.offset
    (True, 3, None)
    """

    __slots__ = ("hint", "offset")

    offset: int | None
    hint: int | None

    def __new__(cls, name: str, offset: int | None = None, hint: int | None = None) -> Self:
        """A text that knows more."""
        status = super().__new__(cls, name)
        status.offset = offset
        status.hint = hint
        return status
