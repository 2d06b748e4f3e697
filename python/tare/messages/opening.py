"""`connect` and `listen`: a URL, a codec and options become a connection or a server."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import Any

from tare._tare import MessageDeadline
from tare.errors import Unsupported, UsageError
from tare.messages.codecs import MessageCodec
from tare.messages.connection import Connection
from tare.messages.descriptors import open_channel
from tare.messages.listening import SocketListener
from tare.messages.options import checked
from tare.messages.server import Server
from tare.messages.urls import is_loopback, scheme_of

__all__ = ["connect", "listen", "prepared", "wire_options"]

_HELLO_BYTES = 255


def connect(
    url: str | os.PathLike[str],
    codec: str | None = "msgpack",
    *,
    framing: str = "frame",
    mode: str | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Connection:
    """Open a connection for messages.

    Args:
        url: ``tcp://host:port``, ``unix:path`` (``unix:@name`` is abstract), ``fifo:path``,
            ``file:path`` or ``fd:number``; a path alone is ``file:``.
        codec: Id of the codec, as ``json:orjson+zstd:3``; ``raw`` sends and receives bytes; None
            takes what the peer says that it sends, if the option ``accept`` lists it.
        framing: ``frame``, Tare's own; ``native``, values of msgpack, CBOR or JSON lines one after
            another; ``native:wrap``, each value in the bytes of a msgpack one.
        mode: ``r``, ``w``, or ``a`` for files; sockets go both ways.
        timeout: Seconds that opening, and by default every call, may take; None is for ever.
        **options: Limits, marks and what a medium alone has, as docs/specs/messages.md lists them.

    Raises:
        TypeError: No such option, or none for such a URL.
        UsageError: A URL, mode, codec or value that does not exist.
        Unsupported: A codec that runs code when it decodes, or one that the framing cannot cut.
        TimeoutError: Not in time.
        OSError: From the system: nobody listens, no such file, ...

    >>> import tare, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tare.connect(f"file:{folder}/log", "json", mode="w") as log:
    ...         log.send_all([{"a": 1}, [2.5, None]])
    ...     with tare.connect(f"file:{folder}/log", "json", mode="r") as log:
    ...         list(log)
    2
    [{'a': 1}, [2.5, None]]
    """
    url = _as_url(url)
    scheme, made, settings = prepared("connect", url, codec, framing=framing, timeout=timeout, given=options)
    check_mode(scheme, mode)
    if settings.get("token") is not None:
        check_token(url, scheme, settings)
    with naming(url):
        channel = open_channel(url, mode, MessageDeadline(timeout), wire_options(made, settings), settings)
    return Connection(channel, made, url, settings)


def listen(
    url: str | os.PathLike[str],
    codec: str | None = "msgpack",
    *,
    framing: str = "frame",
    timeout: float | None = None,
    **options: Any,
) -> Server:
    """Listen for connections; `Server.accept` gives them.

    Args:
        url: ``tcp://host:port``, where port 0 is any that is free and no host is this machine
            alone (`Server.url` tells), or ``unix:path``.
        codec: As `connect`.
        framing: As `connect`.
        timeout: Seconds that every call may take by default; None is for ever.
        **options: As `connect`, of every connection that is accepted.

    Raises:
        TypeError, UsageError, Unsupported: As `connect`.
        OSError: From the system, as when the port is in use.
    """
    url = _as_url(url)
    scheme, made, settings = prepared("listen", url, codec, framing=framing, timeout=timeout, given=options)
    if scheme not in ("tcp", "unix"):
        raise UsageError(f"{url[:80]!a}: only tcp: and unix: are listened to; connect to it with mode='r'")
    if settings.get("token") is not None:
        check_token(url, scheme, settings)
    with naming(url):
        listener = SocketListener(url, wire_options(made, settings), settings)
    return Server(listener, made, settings)


@contextlib.contextmanager
def naming(url: str) -> Iterator[None]:
    """Errors of the system say which URL they are about, and what helps if nobody listens yet."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = url
        if error.errno == errno.ECONNREFUSED:
            error.add_note(
                "nobody listens there: start the other end first, or wait for it with retry=SECONDS"
            )
        raise


def prepared(
    call: str,
    url: str,
    codec: str | None,
    *,
    framing: str,
    timeout: float | None,
    given: dict[str, Any],
) -> tuple[str, MessageCodec | None, dict[str, Any]]:
    """What the URL begins with, the codec, and every option.

    Raises:
        TypeError, UsageError, Unsupported: As `connect`.
    """
    scheme = scheme_of(url)
    if timeout is not None and (
        isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout >= 0
    ):
        raise UsageError(f"timeout={timeout!r:.40}: expected seconds, 0 or more, or None")
    options = checked(call, scheme, framing, given)
    made: MessageCodec | None = None
    if codec is not None:
        limits = {name: options[name] for name in ("max_message", "max_depth", "compress_min")}
        made = MessageCodec(codec, framing, **limits)
        if "accept" in given:
            raise UsageError(f"accept is for codec=None; this end expects {made.id}")
        if "compress_min" in given and not made.compresses:
            raise UsageError(f"compress_min is for a codec with a compressor, as {made.id}+zstd:3")
        if "on_error" in given and made.native != "ndjson":
            raise UsageError("on_error is for lines of JSON: framing='native' with a codec of JSON")
    elif framing != "frame":
        raise UsageError(
            f"codec=None goes with framing='frame', whose peers say what they send; not {framing!r}"
        )
    options.update(framing=framing, timeout=timeout)
    return scheme, made, options


def wire_options(codec: MessageCodec | None, options: dict[str, Any]) -> dict[str, Any]:
    """What the core is told: the options, how the wire is cut, and what HELLO says."""
    wire = "frame" if codec is None or codec.native is None else codec.native
    framed = wire == "frame"
    says_hello = framed and codec is not None and options["hello"] and not options.get("atomic")
    hello = codec.id if says_hello and codec is not None and len(codec.id) <= _HELLO_BYTES else None
    left_out = (
        "tls", "accept", "server_hostname", "framing", "compress_min", "max_per_peer", "handshake_timeout", "speaks_first",
    )  # fmt: skip
    passed = {name: value for name, value in options.items() if name not in left_out}
    return passed | {
        "wire": wire,
        "hello": hello,
        "end": framed and options["end"] and not options.get("atomic"),
    }


def _as_url(url: str | os.PathLike[str]) -> str:
    return url if isinstance(url, str) else f"file:{os.fspath(url)}"


def check_mode(scheme: str, mode: str | None) -> None:
    allowed = {"fifo": ("r", "w"), "file": ("r", "w", "a"), "fd": (None, "r", "w")}.get(scheme, (None,))
    if mode not in allowed:
        modes = " or ".join(f"mode={one!r}" for one in allowed if one is not None)
        expected = modes or "none: it goes both ways"
        raise UsageError(f"mode={mode!r:.40}: {scheme}: takes {expected}")


def check_token(url: str, scheme: str, options: dict[str, Any]) -> None:
    if scheme == "tcp" and not options["tls"] and not is_loopback(url):
        raise Unsupported("a token would cross the network unencrypted: give tls=True, or a context, too")
