"""The grammar of route ids: a codec id, ``@`` and a medium with its settings.

A route id is accepted wherever a codec id is: what is printed as a recommendation can be pasted
into any command. What only needs the codec takes `codec_part`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tare.errors import UsageError

__all__ = ["KEYS", "MEDIA", "checked_setting", "codec_part", "split_route"]

MEDIA = ("memory", "file", "conn", "fifo", "unix", "tcp", "remote", "link", "store")
"""Media that a route may name."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "delivery": ("whole", "buffered", "streaming", "framed", "wrapped"),
    "sync": ("none", "fsync"),
    "threads": ("1", "all"),
}
"""Settings that may follow a medium: the values of each, its default first."""


def split_route(text: str) -> tuple[str, str | None, dict[str, str]]:
    """Split an id into its codec, its medium and the medium's settings.

    The codec is not looked up. An ``@`` that is the value of an option, as in ``csv:perl,delimiter=@``, is part of
    the codec.

    Raises:
        UsageError: No such medium or setting.

    >>> split_route("msgpack:msgspec+zstd:3@tcp,delivery=framed")
    ('msgpack:msgspec+zstd:3', 'tcp', {'delivery': 'framed'})
    >>> split_route("csv:perl,delimiter=@")
    ('csv:perl,delimiter=@', None, {})
    """
    codec, at, place = text.rpartition("@")
    if not at or codec.endswith("="):
        return text, None, {}
    medium, *pairs = place.split(",")
    if medium not in MEDIA:
        raise UsageError(f"{text[:80]!a}: {_unknown('medium', medium, MEDIA)}")
    settings: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key in settings:
            raise UsageError(f"{text[:80]!a}: expected key=value once after the medium, not {pair[:80]!a}")
        settings[key] = checked_setting(text, key, value)
    return codec, medium, settings


def codec_part(text: str) -> str:
    """The codec id of a route id; a codec id as it is.

    Raises:
        UsageError: No such medium or setting.

    >>> codec_part("arrow:pyarrow@file,sync=fsync"), codec_part("json:orjson")
    ('arrow:pyarrow', 'json:orjson')
    """
    return split_route(text)[0] if "@" in text else text


def checked_setting(text: str, key: str, value: str) -> str:
    """The value of a route's setting, checked.

    Args:
        text: The whole id, for messages.
        key: Name of the setting.
        value: Its value as text.

    Raises:
        UsageError: No such setting, or no such value of it.
    """
    if key not in KEYS:
        raise UsageError(f"{text[:80]!a}: {_unknown('key', key, tuple(KEYS))}")
    if value not in KEYS[key]:
        raise UsageError(f"{text[:80]!a}: {key} is {' or '.join(KEYS[key])}, not {value[:80]!a}")
    return value


def _unknown(what: str, name: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name[:80], known)
    those = f"there are {', '.join(known)}"
    hint = f"did you mean {' or '.join(near)}? ({those})" if near else those
    return f"there is no {what} {name[:80]!a}; {hint}"
