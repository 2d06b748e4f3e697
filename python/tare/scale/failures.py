"""Why a unit failed, in classes that say what to do: try again, go on without it, or stop."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from typing import Any

from tare.errors import EncodeError, LossError, SourceChanged, TareError, UsageError

__all__ = [
    "CLASSES",
    "RETRIED",
    "STOPS",
    "HostBusy",
    "LossRefused",
    "NameTaken",
    "Several",
    "SourceChanged",
    "Unwritable",
    "classify",
    "error_of",
    "unreachable",
    "unwritable",
    "without_room",
]

CLASSES = ("input", "loss", "transient", "resources", "killed", "timeout", "bug")
RETRIED = frozenset({"transient"})
STOPS = frozenset({"resources"})

_RESOURCES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_TRANSIENT = frozenset({
    errno.EIO, errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNABORTED, errno.ECONNREFUSED, errno.EPIPE,
    errno.EAGAIN, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ESTALE, errno.EMFILE, errno.ENFILE,
})  # fmt: skip
_UNREACHED = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH})
_ALSO = 255  # files of a group, but for one
_DENIED = frozenset({errno.EACCES, errno.EPERM})

_WORDS = {
    errno.ENOSPC: "its disk is full; make room there",
    errno.EDQUOT: "the quota of its disk is used up; make room there",
    errno.EROFS: "its disk is read-only; name another place, or have this one made writable",
    **dict.fromkeys(_DENIED, "this user may not write there; get the right, or name another place"),
}


class HostBusy(TareError):
    """Others are at work on this host: figures would be theirs too."""


class NameTaken(UsageError):
    """A file that is not from here has the name of a result."""


class LossRefused(EncodeError):
    """A conversion that would lose something, where that was not allowed."""


class Several(TareError):
    """Several inputs of one unit failed, each for a reason of its own.

    Args:
        errors: What was raised, one for each.
    """

    def __init__(self, errors: Sequence[Exception]) -> None:
        super().__init__(str(errors[0]))
        self.errors = list(errors)


class Unwritable(OSError):
    """A place that takes nothing, by its name and with what to do."""


def unwritable(error: OSError, where: str) -> OSError:
    """An error of writing in words; its number stays, as classes go by it.

    Args:
        error: As the system gave it.
        where: The place that was written to.

    >>> print(unwritable(OSError(errno.ENOSPC, "No space left on device"), "/results"))
    /results: its disk is full; make room there (No space left on device)
    """
    words = _WORDS.get(error.errno or 0)
    if words is None or isinstance(error, Unwritable):
        return error
    system = f" ({error.strerror})" if error.strerror and "[Errno" not in error.strerror else ""
    told = Unwritable(f"{where}: {words}{system}")
    told.errno, told.__cause__ = error.errno, error
    return told


def unreachable(error: OSError) -> bool:
    """Whether nothing answers where a source or the results are.

    >>> unreachable(OSError(errno.EHOSTUNREACH, "no answer")), unreachable(OSError(errno.EIO, "?"))
    (True, False)
    """
    return error.errno in _UNREACHED


def without_room(error: BaseException) -> OSError | None:
    """What of an error says that nothing more can be written, whatever it came through; None if nothing does."""
    return next((one for one in _chain(error) if isinstance(one, OSError) and one.errno in _RESOURCES), None)


def classify(error: BaseException, *, writing: bool = False) -> str:
    """The class of a failure.

    Args:
        error: What was raised.
        writing: Whether it came from the destination: a denied permission there stops everything.

    >>> classify(OSError(errno.ENOSPC, "full")), classify(ValueError("?")), classify(MemoryError())
    ('resources', 'bug', 'bug')
    """
    if isinstance(error, Several):
        found = [classify(one, writing=writing) for one in error.errors]
        return next((one for one in ("resources", "transient", "bug") if one in found), found[0])
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
        if isinstance(one, (TimeoutError, ConnectionError, HostBusy)):
            return "transient"
    if isinstance(error, (TareError, OSError)):
        return "input"
    return "bug"


def error_of(error: BaseException, failure: str, trace: str = "") -> dict[str, Any]:
    """A failure as receipts and events hold it: no credentials, no objects. The others of one unit stand in ``also``."""
    if isinstance(error, Several):
        first = next(one for one in error.errors if classify(one) == failure or one is error.errors[-1])
        others = [one for one in error.errors if one is not first]
        also = [error_of(one, classify(one)) for one in others[:_ALSO]]
        return {**error_of(first, failure, trace), "count": len(error.errors), "also": also}
    if failure == "resources" and isinstance(error, OSError):
        error = unwritable(error, str(error.filename or "the destination"))
    return {
        "class": failure,
        "kind": type(error).__name__,
        "format": str(getattr(error, "format", "") or ""),
        "offset": getattr(error, "offset", None) if type(getattr(error, "offset", None)) is int else None,
        "message": _clean(str(error) or type(error).__name__),
        "traceback": _clean(trace[-4000:]) if failure == "bug" else "",
    }


def _clean(text: str) -> str:
    """Without what stands behind the question mark of a URL, which may be a signature; UTF-8 in any case."""
    text = text.encode(errors="backslashreplace").decode()
    return re.sub(r"(\w+://[^\s?'\"]+)\?[^\s'\"]*", r"\1", text)[:4000]


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found and len(found) < 10:
        found.append(one)
        one = one.__cause__ or one.__context__
    return found
