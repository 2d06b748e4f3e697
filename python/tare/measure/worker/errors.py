"""Errors of a worker's operation: what kind, in which phase, in at most 2 KiB."""

from __future__ import annotations

from types import TracebackType

from tare.errors import MissingLibrary, StoreError, TareError, Unsupported, UsageError

__all__ = ["MESSAGE_BYTES", "OpError", "describe", "phase"]

MESSAGE_BYTES = 2048
"""Longest message in a reply."""


class OpError(Exception):
    """An operation failed.

    Args:
        type: ``usage``, ``unknown_op``, ``protocol``, ``memory``, ``refused``, ``traced``,
            or the name of the exception's class.
        message: What happened.
        phase: ``load``, ``encode``, ``decode``, ``verify``, ``open``, ``io`` or ``protocol``.
    """

    def __init__(self, type: str, message: str, phase: str = "protocol") -> None:
        super().__init__(message)
        self.type = type
        self.phase = phase


class phase:  # noqa: N801 -- reads as a statement: with phase("encode")
    """Everything that goes wrong inside becomes an OpError of this phase."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, (OpError, SystemExit, KeyboardInterrupt, GeneratorExit)):
            return
        raise OpError(*describe(error, self.name)) from error


def describe(error: BaseException, phase: str) -> tuple[str, str, str]:
    """Type, message and phase of any exception.

    A codec that refuses a value loudly is ``refused``; running out of memory is
    ``memory`` in every phase.

    >>> describe(TypeError("no sets"), "encode")
    ('refused', 'TypeError: no sets', 'encode')
    >>> describe(MemoryError(), "decode")
    ('memory', 'MemoryError', 'decode')
    """
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:
        text = "(the error has no text)"
    if isinstance(error, (TareError, OSError)) and text:
        message = text
    else:
        message = f"{name}: {text}" if text else name
    kind = name
    if isinstance(error, MemoryError):
        kind = "memory"
    elif isinstance(error, UsageError):
        kind = "usage"
    elif phase == "encode" and not isinstance(error, (MissingLibrary, Unsupported, StoreError, OSError)):
        kind = "refused"
    return kind, cut(message), phase


def cut(message: str) -> str:
    """The message in at most 2 KiB of UTF-8, lone surrogates escaped."""
    data = message.encode("utf-8", "backslashreplace")
    if len(data) > MESSAGE_BYTES:
        data = data[: MESSAGE_BYTES - 3].decode("utf-8", "ignore").encode() + b"..."
    return data.decode()
