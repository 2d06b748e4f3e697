"""Arguments of a caller, checked before anything is read or written: what is wrong is named."""

from __future__ import annotations

import codecs
from typing import Any

from tare.errors import UsageError

__all__ = ["MOST", "checked_encoding", "checked_names", "checked_number", "checked_text"]

MOST = (1 << 63) - 1


def checked_names(name: str, value: Any) -> list[str] | None:
    """A list of names, or None.

    Raises:
        UsageError: It is something else.

    >>> checked_names("columns", ("a", "b"))
    ['a', 'b']
    """
    if value is None:
        return None
    if isinstance(value, str):
        raise UsageError(f"{name}= is a list of names: [{value[:60]!r}]")
    try:
        names = list(value)
    except TypeError:
        names = [None]
    if not all(isinstance(one, str) for one in names):
        raise UsageError(f"{name}= is a list of names, such as ['a', 'b'], not {value!r:.60}")
    return names


def checked_number(name: str, value: Any, *, least: int = 0, most: int = MOST) -> int | None:
    """A whole number from the least to the most, or None.

    Raises:
        UsageError: It is something else.

    >>> checked_number("threads", 2, least=1)
    2
    """
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"{name}= is a whole number, not {value!r:.40}")
    number = int(value)
    if not least <= number <= most:
        upper = "" if most == MOST and number < least else f" and at most {most}"
        raise UsageError(f"{name}= is at least {least}{upper}, not {str(number)[:40]}")
    return number


def checked_text(name: str, value: Any) -> str | None:
    """A text, or None.

    Raises:
        UsageError: It is something else.
    """
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"{name}= is text, not {value!r:.40}")


def checked_encoding(value: Any) -> str | None:
    """The name of an encoding that exists, as R calls it, or None: its latin1 is CP1252, as on Windows.

    Raises:
        UsageError: There is no such encoding.

    >>> checked_encoding("ISO-8859-1"), checked_encoding("euc_jp")
    ('latin1', 'euc-jp')
    """
    name = checked_text("encoding", value)
    if name is None:
        return None
    try:
        found = codecs.lookup(name).name.replace("_", "-")
    except (LookupError, ValueError):
        raise UsageError(
            f"encoding={name[:40]!r} does not exist; there are latin1, CP1252, UTF-8 ..."
        ) from None
    return "latin1" if found == "iso8859-1" else found
