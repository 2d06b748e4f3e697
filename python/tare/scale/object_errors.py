"""What an object store says, as the system's errors: in a line, with the object's URI and a number to go by."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator

__all__ = ["told"]

_STATUS = re.compile(r"non-2xx status code: (\d+) ?([^:<\n]*)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_UNREACHED = re.compile(r"kind: (?:Connect|Timeout)\b")
_SERVER = re.compile(r"\b[A-Z]+ (https?://)(?:[^/@\s]*@)?([^/?\s]+)")  # without what may be credentials
_NUMBERS = {"400": errno.EACCES, "401": errno.EACCES, "403": errno.EACCES, "404": errno.ENOENT}


@contextlib.contextmanager
def told(uri: str) -> Iterator[None]:
    """Errors of obstore, whose texts are pages of what it knows, as one line each.

    Args:
        uri: What is asked for.

    Raises:
        OSError: With number, words and the URI: ENOENT of what is not there, EEXIST of what is, EACCES of what is
            refused, EHOSTUNREACH where nothing answers, ENOTSUP of what the store does not know.
    """
    from obstore import exceptions

    try:
        yield
    except OSError as error:
        if error.errno is not None:  # the system's own, of a file of this machine, or told already
            raise
        raise _as_system(error, uri) from None  # obstore has no class of its own for some
    except exceptions.BaseError as error:
        raise _as_system(error, uri) from None


def _as_system(error: Exception, uri: str) -> OSError:
    said = str(error)
    status, code = _STATUS.search(said), _CODE.search(said)
    number = _number(error)
    if number == errno.EIO and status:
        number = _NUMBERS.get(status[1], number)
    if (code and code[1] == "NotImplemented") or (status and status[1] == "501"):
        number = errno.ENOTSUP
    if number == errno.EIO and not status and _UNREACHED.search(said):
        number = errno.EHOSTUNREACH
    return OSError(number, _words(said, number, status, code), uri)


def _words(said: str, number: int, status: re.Match[str] | None, code: re.Match[str] | None) -> str:
    if number == errno.EHOSTUNREACH:
        server = _SERVER.search(said)
        return f"no answer from {server[1]}{server[2]}" if server else "no answer"
    if code:
        words = re.sub("(?<=[a-z])(?=[A-Z])", " ", code[1]).capitalize()
    else:
        words = (status and status[2].strip()) or said.split("\n", 1)[0][:200]
    return f"{words} ({status[1]})" if status else words


def _number(error: Exception) -> int:
    """By class: some are obstore's, and some the system's, but without a number."""
    from obstore import exceptions

    known: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
        ((exceptions.NotFoundError, FileNotFoundError), errno.ENOENT),
        ((exceptions.AlreadyExistsError, FileExistsError), errno.EEXIST),
        ((exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError), errno.EACCES),
        ((exceptions.InvalidPathError,), errno.EINVAL),
    )
    return next((number for kinds, number in known if isinstance(error, kinds)), errno.EIO)
