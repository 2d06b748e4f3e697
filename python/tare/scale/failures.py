"""Why a unit failed, in classes that say what to do: try again, go on without it, or stop."""

from __future__ import annotations

import errno
import re
from typing import Any

from tare.errors import EncodeError, LossError, TareError

__all__ = ["CLASSES", "RETRIED", "STOPS", "LossRefused", "SourceChanged", "classify", "error_of"]

CLASSES = ("input", "loss", "transient", "resources", "killed", "timeout", "bug")
RETRIED = frozenset({"transient"})
STOPS = frozenset({"resources"})

_RESOURCES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_TRANSIENT = frozenset({
    errno.EIO, errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNABORTED, errno.ECONNREFUSED, errno.EPIPE,
    errno.EAGAIN, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ESTALE, errno.EMFILE, errno.ENFILE,
})  # fmt: skip
_DENIED = frozenset({errno.EACCES, errno.EPERM})


class SourceChanged(TareError):
    """A source is no more what it was when the plan was made, or when reading it began."""


class LossRefused(EncodeError):
    """A conversion that would lose something, where that was not allowed."""


def classify(error: BaseException, *, writing: bool = False) -> str:
    """The class of a failure.

    Args:
        error: What was raised.
        writing: Whether it came from the destination: a denied permission there stops everything.

    >>> classify(OSError(errno.ENOSPC, "full")), classify(ValueError("?")), classify(MemoryError())
    ('resources', 'bug', 'bug')
    """
    for one in _chain(error):
        if isinstance(one, (LossRefused, LossError)):
            return "loss"
        if isinstance(one, OSError) and one.errno in _RESOURCES:
            return "resources"
        if writing and isinstance(one, OSError) and one.errno in _DENIED:
            return "resources"
    for one in _chain(error):
        if isinstance(one, OSError) and one.errno in _TRANSIENT:
            return "transient"
        if isinstance(one, (TimeoutError, ConnectionError)):
            return "transient"
    if isinstance(error, (TareError, OSError)):
        return "input"
    return "bug"


def error_of(error: BaseException, failure: str, trace: str = "") -> dict[str, Any]:
    """A failure as receipts and events hold it: no credentials, no objects."""
    return {
        "class": failure,
        "kind": type(error).__name__,
        "format": str(getattr(error, "format", "") or ""),
        "offset": getattr(error, "offset", None) if type(getattr(error, "offset", None)) is int else None,
        "message": _clean(str(error) or type(error).__name__),
        "traceback": _clean(trace[-4000:]) if failure == "bug" else "",
    }


def _clean(text: str) -> str:
    """Without what stands behind the question mark of a URL, which may be a signature."""
    return re.sub(r"(\w+://[^\s?'\"]+)\?[^\s'\"]*", r"\1", text)[:4000]


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found and len(found) < 10:
        found.append(one)
        one = one.__cause__ or one.__context__
    return found
