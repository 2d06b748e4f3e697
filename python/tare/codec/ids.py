"""The grammar of codec ids, and what each part of an id may name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tare.errors import UsageError

if TYPE_CHECKING:
    from tare.formats.base import Library

__all__ = ["compressor_of", "settings_of", "split_id", "unknown"]

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_ID = re.compile(
    rf"(?P<format>{_NAME})(?::(?P<library>{_NAME}))?(?P<options>(?:,[^,+]*)*)(?:\+(?P<compressor>.*))?",
    re.DOTALL,
)


def split_id(text: str) -> tuple[str, str | None, dict[str, str], str | None]:
    """Split an id by the grammar alone: format, library, options, compressor with level.

    Nothing is looked up, so ids of other languages' workers split too.

    Raises:
        UsageError: Not an id.

    >>> split_id("yaml:pyyaml,loader=c+zstd:9")
    ('yaml', 'pyyaml', {'loader': 'c'}, 'zstd:9')
    """
    match = _ID.fullmatch(text)
    if match is None:
        raise UsageError(
            f"not a codec id: {text[:80]!r}; expected format[:library][,key=value]*[+compressor[:level]]"
        )
    options: dict[str, str] = {}
    for part in match["options"].split(",")[1:]:
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise UsageError(f"{text[:80]!r}: expected key=value after a comma, not {part[:80]!r}")
        if key in options:
            raise UsageError(f"{text[:80]!r}: the option {key!r} is given twice")
        if "%" in value:
            from urllib.parse import unquote

            value = unquote(value)
        options[key] = value
    return match["format"], match["library"], options, match["compressor"]


def settings_of(text: str, library: Library, given: Mapping[str, str]) -> dict[str, object]:
    """The options that an id gives and that differ from the library's defaults, as values.

    Args:
        text: The whole id, for messages.
        library: Whose options they are.
        given: Names and values as the id spells them.

    Raises:
        UsageError: No such option, or no such value of it.
    """
    settings: dict[str, object] = {}
    for key, raw in given.items():
        option = library.options.get(key)
        if option is None:
            raise UsageError(
                unknown(f"{text[:80]!r}: {library.name} has no option", key, list(library.options))
            )
        try:
            value = option.parse(raw)
        except ValueError as error:
            raise UsageError(f"{text[:80]!r}: {key}={raw[:80]}: {error}") from error
        if value != option.default or type(value) is not type(option.default):
            settings[key] = value
    return settings


def compressor_of(text: str) -> tuple[str | None, int | None]:
    """Name and level of the compressor that ``zstd:3`` names; None twice for ``none``.

    Raises:
        UsageError: No such compressor or level.
    """
    from tare.compress import parse

    name, level = parse(text)
    return (None, None) if name == "none" else (name, level)


def unknown(what: str, name: str, known: list[str]) -> str:
    """The message for a name that is not among those known, with near ones."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, cutoff=0.5) or known
    hint = f"did you mean {', '.join(near)}?" if near else "it has none"
    return f"{what} {name[:80]!r}; {hint}"
