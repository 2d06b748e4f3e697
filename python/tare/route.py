"""Routes: a codec and a medium, ready to run.

What is measured is a route, what is recommended is a route, and what runs afterwards is
that same route, with the same options, threads and framing.

Grammar: ``codec@medium[,key=value]*``, for example ``parquet:pyarrow@file`` or
``msgpack:msgspec@tcp,delivery=framed``. Keys equal to their default are not printed.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tare import collector
from tare.codec import Codec, set_threads
from tare.codec.refusals import mapped
from tare.codec.route_ids import KEYS, MEDIA, checked_setting, split_route
from tare.errors import DecodeError, EncodeError, Limit, Malformed, NotTrusted, Truncated, UsageError

__all__ = ["MEDIA", "RECEIVE_BYTES", "Route"]

# Deliveries that are messages: how they cut the wire, and the least bytes of one.
_MESSAGES: Mapping[str, tuple[str, int]] = {"framed": ("frame", 5), "wrapped": ("wrap", 1)}
_CONTAINERS = ("zstd", "lz4", "gzip")  # what a frame flagged as compressed may hold
_LONGEST = 1 << 62
_STEP_BYTES = 1 << 20
RECEIVE_BYTES = 1 << 30


class Route:
    """A codec and where its bytes go, ready to run.

    Args:
        text: Route id; a codec id alone means the medium ``memory``.
        threads: 1 or ``all``, instead of what the id says. Threads are set for the length
            of each call; after it pyarrow has the count it had before. DuckDB, of which
            Tare has its own instance, may use all cores again; others have no such knob.

    Raises:
        UsageError: The id names what does not exist; near names are listed.

    >>> route = Route("json:orjson+zstd:3@tcp,delivery=framed")
    >>> str(route), route.medium, route.delivery
    ('json:orjson+zstd:3@tcp,delivery=framed', 'tcp', 'framed')
    >>> route.decode(route.encode({"a": [1, None]}))
    {'a': [1, None]}
    """

    __slots__ = ("_has_threads", "codec", "delivery", "medium", "sync", "threads")

    codec: Codec
    medium: str
    delivery: str
    sync: str
    threads: int | str
    _has_threads: bool

    def __init__(self, text: str, *, threads: int | str | None = None) -> None:
        codec, medium, settings = split_route(text)
        if threads is not None:
            settings["threads"] = checked_setting(text, "threads", str(threads))
        object.__setattr__(self, "codec", Codec.parse(codec))
        object.__setattr__(self, "medium", medium or "memory")
        object.__setattr__(self, "delivery", settings.get("delivery", "whole"))
        object.__setattr__(self, "sync", settings.get("sync", "none"))
        object.__setattr__(self, "threads", "all" if settings.get("threads") == "all" else 1)
        has_threads = self.codec.compressor is not None or self.codec.library.set_threads is not None
        object.__setattr__(self, "_has_threads", has_threads)
        if self.delivery == "streaming" and self.codec.stream is None:
            raise UsageError(
                f"{text[:80]!a}: {self.codec} cannot encode and decode in parts; use delivery=framed"
            )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a route does not change: make another one to set {name}")

    def __str__(self) -> str:
        extras = ((name, str(getattr(self, name))) for name in KEYS)
        told = "".join(f",{name}={value}" for name, value in extras if value != KEYS[name][0])
        return f"{self.codec}@{self.medium}{told}"

    def __repr__(self) -> str:
        return f"Route({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Route) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[type[Route], tuple[str]]:
        return Route, (str(self),)

    def encode(self, obj: Any) -> bytes:
        """Encode a value: the bytes that were measured, by the call that was measured.

        Less than a microsecond is added to it, and where the library has threads to set the time that takes.

        Raises:
            EncodeError: The format cannot hold the value, or its library refuses it.
            MissingLibrary: The library is not installed.
        """
        if not self._has_threads:
            return self.codec.encode(obj)
        with self._threads():
            return self.codec.encode(obj)

    def decode(
        self, data: bytes | bytearray | memoryview, *, trust: bool = False, max_bytes: int | None = None
    ) -> Any:
        """Decode bytes to the codec's own in-memory kind; see `Codec.decode`, which says what it costs.

        Args:
            data: The bytes.
            trust: Allow a format that can run code named in the bytes.
            max_bytes: Longest encoding allowed, after decompression; None is no limit.

        Raises:
            DecodeError: The bytes are not what they should be.
            NotTrusted: Decoding can run code, and ``trust`` is not given.
        """
        if not self._has_threads:
            return self.codec.decode(data, trust=trust, max_bytes=max_bytes)
        with self._threads():
            return self.codec.decode(data, trust=trust, max_bytes=max_bytes)

    def write(self, obj: Any, path: str | os.PathLike[str]) -> int:
        """Create or replace a file in one step: a reader sees the old file or the whole new one.

        Args:
            obj: A document or a table.
            path: The file; its folder must exist.

        Returns:
            Bytes written.

        Raises:
            EncodeError: The format cannot hold the value; the file is as it was.
            OSError: The file cannot be written; it is as it was.
        """
        from tare import atomic

        if self.codec.compressor is None:
            return atomic.write_atomic(path, self.encode(obj), sync=self.sync == "fsync")
        with self._threads(), atomic.replacing(path, sync=self.sync == "fsync") as file:
            return self.codec.write(obj, file)

    def read(self, path: str | os.PathLike[str], *, trust: bool = False, max_bytes: int | None = None) -> Any:
        """Read a file that `write` wrote, to the codec's own in-memory kind.

        Args:
            path: The file.
            trust: Allow a format that can run code named in the file.
            max_bytes: Longest encoding allowed, after decompression; None is no limit.

        Raises:
            DecodeError: The file is not what it should be; file, format and offset are named.
            NotTrusted: Reading can run code, and ``trust`` is not given; the file was not opened.
            OSError: The file cannot be read.
        """
        self._check(trust)
        with open(path, "rb", buffering=0) as file:
            data = file.readall()
        try:
            with collector.paused():
                return self.decode(data, trust=trust, max_bytes=max_bytes)
        except (DecodeError, Limit) as error:
            error.args = (f"{os.path.basename(os.fspath(path))}: {error}",)
            raise

    def send(self, obj: Any, conn: Any) -> int:
        """Send one value over an open connection, as it was measured.

        With ``delivery=framed`` the connection stays usable: the message is a frame, and
        `tare.connect` of the other side receives it, whatever program it is. So it does with
        ``wrapped``, where the message is in a msgpack ``bin`` (framing ``native:wrap``). With any
        other the message ends when the caller closes.

        Args:
            obj: A document or a table.
            conn: A binary file, pipe or socket.

        Returns:
            Bytes sent, with what frames them.

        Raises:
            EncodeError: The format cannot hold the value; nothing was sent unless streaming.
            OSError: The connection failed.
        """
        write = _writer(conn)
        if self.delivery == "streaming":
            sent = self._send_parts(obj, write)
        elif self.delivery in _MESSAGES:
            from tare._tare import MessageSession
            from tare.messages.exact import send_one

            session = MessageSession(_MESSAGES[self.delivery][0], {"max_message": _LONGEST})
            session.send(self.encode(obj), self._flags)
            sent = send_one(session, write)
        else:
            data = self.encode(obj)
            sent = len(data)
            write(data)
        if hasattr(conn, "flush"):
            conn.flush()
        return sent

    def receive(self, conn: Any, *, trust: bool = False, max_bytes: int = RECEIVE_BYTES) -> Any:
        """Receive one value that the same route sent.

        Args:
            conn: A binary file, pipe or socket.
            trust: Allow a format that can run code named in the bytes.
            max_bytes: Longest message allowed, in bytes as sent and as decompressed.

        Raises:
            Truncated: The other side closed in the middle of the message, or before it.
            DecodeError: The bytes are not framed, or not encoded, as they should be.
            Limit: The message is longer than ``max_bytes``.
            NotTrusted: Decoding can run code, and ``trust`` is not given; nothing was read.
            OSError: The connection failed.
        """
        self._check(trust)
        read = _reader(conn)
        if self.delivery == "streaming":
            return self._receive_parts(_Raw(read, max_bytes))
        if self.delivery not in _MESSAGES:
            return self.decode(_to_end(read, max_bytes), trust=trust, max_bytes=max_bytes)
        data, plain = self._receive_message(read, max_bytes)
        return (plain or self).decode(data, trust=trust, max_bytes=max_bytes)

    @property
    def _flags(self) -> bool:
        """Whether frames say that the codec compressed them, as those of connections do."""
        packed = self.codec.compressor in _CONTAINERS and self.codec.peer is None
        return packed and self.delivery == "framed"

    def _receive_message(self, read: Callable[[int], bytes], max_bytes: int) -> tuple[bytes, Route | None]:
        """A message's bytes, and the route without a compressor if its sender left them as they were."""
        from tare._tare import MessageSession
        from tare.messages.exact import receive_one

        wire, least = _MESSAGES[self.delivery]
        try:
            # What came before on this connection, another call received.
            session = MessageSession(wire, {"max_message": max_bytes, "midway": True})
            found = receive_one(session, read, least)
        except Limit as error:
            text = f"the message is longer than max_bytes={max_bytes}"
            raise Limit(text, format=error.format, offset=error.offset) from error
        if found is None:
            raise Truncated("the other side closed before the message", offset=0)
        data, flagged = found
        if flagged != self._flags:
            if flagged:
                raise Malformed(f"the message is compressed, and the route {self} is not", offset=0)
            return data, Route(f"{replace(self.codec, compressor=None, level=None, compressor_settings=())}")
        return data, None

    def _check(self, trust: bool) -> None:
        if self.codec.executes_code and not trust:
            raise NotTrusted(
                f"{self.codec.format_id}: bytes of others can run code or crash the reader; pass trust=True for data you trust",
                format=self.codec.format_id,
            )

    def _send_parts(self, obj: Any, write: Callable[[Any], None]) -> int:
        from tare import kinds

        stream, counted = self.codec.stream, _Counted(write)
        assert stream is not None  # checked when the route was made
        native = self.codec.native(kinds.kind_of(obj))
        value = obj if native == "python" else kinds.convert(obj, native)
        with self._threads(), mapped(self.codec, EncodeError):
            file = io.BufferedWriter(counted, _STEP_BYTES >> 4)
            stream.write(value, file, **self.codec.options)
            file.flush()
            file.detach()
        return counted.count

    def _receive_parts(self, raw: _Raw) -> Any:
        stream = self.codec.stream
        assert stream is not None
        with self._threads(), mapped(self.codec, Malformed):
            file = io.BufferedReader(raw, _STEP_BYTES >> 2)
            return stream.join(list(stream.read(file, **self.codec.options)))

    @contextlib.contextmanager
    def _threads(self) -> Iterator[None]:
        before = set_threads(self.codec, self.threads)
        try:
            yield
        finally:
            if before is not None or self.threads != "all":
                set_threads(self.codec, "all" if before is None else before)


class _Counted(io.RawIOBase):
    """The writing end as a raw file that counts."""

    def __init__(self, write: Callable[[Any], None]) -> None:
        self._write = write
        self.count = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._write(bytes(data))
        self.count += size
        return size


class _Raw(io.RawIOBase):
    """The reading end as a raw file with a limit."""

    def __init__(self, read: Callable[[int], bytes], max_bytes: int) -> None:
        self._read = read
        self._max = self._left = max_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise Limit(f"the message is longer than max_bytes={self._max}")
        buffer[: len(data)] = data
        return len(data)


def _writer(conn: Any) -> Callable[[Any], None]:
    if hasattr(conn, "sendall"):
        return conn.sendall  # type: ignore[no-any-return]

    def write(data: Any) -> None:
        view = memoryview(data).cast("B")
        while len(view):  # raw files may take less than they were given
            done = conn.write(view)
            if done is None:
                raise BlockingIOError("the connection does not block; give one that waits")
            view = view[done:]

    return write


def _reader(conn: Any) -> Callable[[int], bytes]:
    read = conn.recv if hasattr(conn, "recv") else getattr(conn, "read1", None) or conn.read

    def some(count: int) -> bytes:
        data = read(count)
        if data is None:
            raise BlockingIOError("the connection does not block; give one that waits")
        return bytes(data)

    return some


def _to_end(read: Callable[[int], bytes], max_bytes: int) -> bytes:
    chunks: list[bytes] = []
    left = max_bytes
    while data := read(_STEP_BYTES):
        left -= len(data)
        if left < 0:
            raise Limit(f"the message is longer than max_bytes={max_bytes}")
        chunks.append(data)
    return b"".join(chunks)
