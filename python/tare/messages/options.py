"""Options of connections: their defaults, what each is for, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare.codec.ids import unknown
from tare.errors import UsageError

__all__ = ["DEFAULT_ACCEPT", "checked"]

DEFAULT_ACCEPT = ("raw", "json", "msgpack", "cbor", "blit")
"""Formats that a receiver without a codec takes from its peer: those of documents, which expand little."""

_MIB = 1 << 20
_EVERY = frozenset({"tcp", "unix", "fifo", "file", "fd"})
_SOCKETS = frozenset({"tcp", "unix"})
_FILES = frozenset({"file"})
_FIFOS = frozenset({"fifo"})
_TCP = frozenset({"tcp"})
_FRAME = ("frame",)

# Name -> default, which URLs it is for, which framings; None is all of them.
_Row = tuple[Any, frozenset[str], tuple[str, ...] | None]
_ROWS: Mapping[str, _Row] = {
    "max_message": (64 * _MIB, _EVERY, None),
    "max_depth": (512, _EVERY, None),
    "max_ready": (8 * _MIB, _EVERY, None),
    "read_size": (None, _EVERY, None),
    "batch": (64 << 10, _EVERY, None),
    "high": (_MIB, _EVERY, None),
    "low": (256 << 10, _EVERY, None),
    "compress_min": (512, _EVERY, _FRAME),
    "message_timeout": (None, _EVERY, None),
    "crc": (None, _EVERY, _FRAME),
    "require_crc": (False, _EVERY, _FRAME),
    "hello": (True, _EVERY, _FRAME),
    "end": (True, _EVERY, _FRAME),
    "accept": (DEFAULT_ACCEPT, _EVERY, _FRAME),
    "on_error": ("raise", _EVERY, ("native",)),
    "token": (None, _SOCKETS, _FRAME),
    "tls": (None, _TCP, None),
    "retry": (None, _SOCKETS | _FIFOS, None),
    "server_hostname": (None, _TCP, None),
    "max_connections": (1024, _SOCKETS, None),
    "max_per_peer": (None, _TCP, None),
    "handshake_timeout": (10.0, _SOCKETS, None),
    "speaks_first": (False, _SOCKETS, None),
    "pipe_size": (None, _FIFOS, None),
    "keep": (False, _FIFOS, None),
    "atomic": (False, _FIFOS, None),
    "follow": (False, _FILES, None),
    "repair": (False, _FILES, None),
    "sync": (False, _FILES, None),
}
_LISTENERS_ONLY = frozenset({"max_connections", "max_per_peer", "handshake_timeout", "speaks_first"})
_CONNECTORS_ONLY = frozenset({"retry", "server_hostname"})
_FLAGS = frozenset(
    {"require_crc", "hello", "end", "keep", "atomic", "follow", "repair", "sync", "speaks_first"}
)  # fmt: skip
_SECONDS = frozenset({"message_timeout", "handshake_timeout", "retry"})
_COUNTS = frozenset(
    {
        "max_message", "max_depth", "max_ready", "read_size", "batch", "high", "low",
        "compress_min", "max_connections", "max_per_peer", "pipe_size",
    }
)  # fmt: skip
_FOUR_GIB = 1 << 32


def checked(call: str, scheme: str, framing: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option with its value: those given, and the defaults of those that apply.

    Args:
        call: ``connect`` or ``listen``, for messages.
        scheme: What the URL begins with.
        framing: ``frame``, ``native`` or ``native:wrap``.
        given: The caller's keyword arguments.

    Raises:
        TypeError: No such option, or none for such a URL or framing: an option is never silently ignored.
        UsageError: A value that an option cannot have.

    >>> checked("connect", "tcp", "frame", {"batch": 4096})["batch"]
    4096
    """
    others = _LISTENERS_ONLY if call == "connect" else _CONNECTORS_ONLY
    for name in given:
        row = _ROWS.get(name)
        if row is None or name in others:
            known = [known for known in _ROWS if known not in others]
            raise TypeError(unknown(f"{call}() has no option", name, known))
        if scheme not in row[1]:
            where = ", ".join(f"{one}:" for one in sorted(row[1]))
            raise TypeError(f"{call}(): the option {name!r} is for {where}, not for {scheme}:")
        if row[2] is not None and framing.partition(":")[0] not in row[2]:
            raise TypeError(f"{call}(): the option {name!r} is for framing={row[2][0]!r}, not {framing!r}")
    options = {name: row[0] for name, row in _ROWS.items() if name not in others and scheme in row[1]}
    if call == "listen":
        options["message_timeout"] = 30.0  # a stranger may be slow on purpose
    options.update({name: _valued(name, value) for name, value in given.items()})
    if options["low"] > options["high"]:
        raise UsageError(f"low={options['low']} is above high={options['high']}: it must not be")
    return options


def _valued(name: str, value: Any) -> Any:
    if name in _FLAGS and not isinstance(value, bool):
        raise UsageError(f"{name}={value!r:.40}: expected True or False")
    if name in _COUNTS and value is not None:
        least = 0 if name == "compress_min" else 1
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 1 << 63:
            raise UsageError(f"{name}={value!r:.40}: expected a whole number from {least} on")
        if name == "max_depth" and value > 0xFFFF:
            raise UsageError(f"max_depth={value}: at most 65535")
    if name in _SECONDS and value is not None:
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _FOUR_GIB:
            raise UsageError(f"{name}={value!r:.40}: expected seconds, 0 or more")
        return float(value)
    if name == "crc" and value is not None and not isinstance(value, bool):
        raise UsageError(f"crc={value!r:.40}: expected True, False, or None for the default of the URL")
    if name == "on_error" and value not in ("raise", "skip"):
        raise UsageError(f"on_error={value!r:.40}: expected 'raise' or 'skip'")
    if name == "token":
        return _token(value)
    if name == "accept":
        return _accepted(value)
    return value


def _token(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = value.encode()
    if not isinstance(value, bytes | bytearray):  # the value itself is a secret
        raise UsageError(f"token: expected bytes or text, not {type(value).__name__}")
    if not 16 <= len(value) <= 64:
        raise UsageError(f"token: expected 16 to 64 bytes, not {len(value)}")
    return bytes(value)


def _accepted(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(name, str) for name in names):
        raise UsageError("accept: expected ids of codecs or formats, such as ['json', 'msgpack']")
    return names
