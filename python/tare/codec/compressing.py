"""The compressor behind a codec's ``+zstd:3``: encoded bytes in, files on disk out, and back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tare.codec.threads import compressor_threads

if TYPE_CHECKING:
    from tare.codec.peers import Peer
    from tare.formats.base import Buffer

__all__ = [
    "Counted",
    "Settings",
    "compressor_id",
    "packed",
    "packer",
    "packing",
    "peer_of",
    "unpacked",
    "unpacking",
]

Settings = tuple[tuple[str, object], ...]
"""A compressor's options that are not at their default, its library among them, sorted by name."""

# Those whose chunks can be written and read in parallel, as `tare.compress.open` writes them too.
_SEEKABLE = ("zstd", "lz4", "gzip")


def compressor_id(compressor: str, level: int | None, settings: Settings = ()) -> str:
    """As a codec's id ends: ``zstd:3``, ``gzip:1,library=isal``.

    >>> compressor_id("gzip", 6, (("layout", "members"),))
    'gzip:6,layout=members'
    """
    head = compressor if level is None else f"{compressor}:{level}"
    return head + "".join(f",{key}={value}" for key, value in settings)


def peer_of(compressor: str | None, settings: Settings) -> Peer | None:
    """The other library that compresses; None for Tare's own compressors, and for none.

    >>> peer_of("zstd", ()), peer_of("zstd", (("library", "zstandard"),)).distribution
    (None, 'zstandard')
    """
    if not settings and compressor in (None, *_SEEKABLE):
        return None  # the usual case costs no look at the registry
    from tare.codec.peers import peer

    return peer(compressor, cast("str | None", dict(settings).get("library")))


def packed(data: Buffer, compressor: str, level: int | None, settings: Settings = ()) -> Buffer:
    """Compress what a codec encoded, with as many threads as `set_threads` allows.

    Raises:
        Unsupported: More bytes than the library takes at once.

    >>> unpacked(packed(b"plain", "lz4", 1), "lz4")
    b'plain'
    """
    return packer(compressor, level, settings)(data)


def packer(compressor: str, level: int | None, settings: Settings = ()) -> Callable[[Buffer], Buffer]:
    """Returns what compresses as `packed`, with its settings resolved.

    >>> unpacked(packer("lz4", 1)(b"plain"), "lz4")
    b'plain'
    """
    found = peer_of(compressor, settings)
    if found is not None:
        other, options = found, _options(found, settings)
        return lambda data: other.compress(_fitting(data, other), level, compressor_threads(), **options)
    from tare.compress import compress

    id, layout = compressor_id(compressor, level, settings), _layout(compressor, settings)
    return lambda data: compress(data, id, threads=compressor_threads(), layout=layout)


def unpacked(data: Buffer, compressor: str, max_bytes: int | None = None, settings: Settings = ()) -> Buffer:
    """Decompress what a codec decodes, with as many threads as `set_threads` allows.

    Another library has no limit: ``max_bytes`` is held against what it gave.

    Raises:
        DecodeError, Unsupported: As `tare.compress.decompress`.
        Limit: Longer than ``max_bytes``.
    """
    from tare.errors import Limit

    threads, found = compressor_threads(), peer_of(compressor, settings)
    if found is not None:
        return found.decompress(data, threads)
    from tare.compress import decompress

    try:
        return decompress(data, compressor, max_output=max_bytes, threads=threads)
    except Limit as error:
        text = str(error).replace("max_output", "max_bytes")
        raise Limit(text, format=error.format, offset=error.offset) from error


@contextlib.contextmanager
def packing(
    file: BinaryIO, compressor: str, level: int | None, settings: Settings = (), *, size: int | None = None
) -> Iterator[BinaryIO]:
    """A file whose bytes are compressed on their way into another, which stays open.

    Args:
        file: Where the compressed bytes go.
        compressor: Its name.
        level: Its level; None if it has none.
        settings: Its other options.
        size: Plain bytes that will come, if that is known.

    Raises:
        Unsupported: More bytes than the library takes at once.
    """
    threads, found = compressor_threads(), peer_of(compressor, settings)
    if found is None:
        from tare.compress import open as open_compressed

        id, layout = compressor_id(compressor, level, settings), _layout(compressor, settings)
        with open_compressed(file, "wb", id, threads=threads, layout=layout, content_size=size) as out:
            yield cast(BinaryIO, out)
    elif found.writer is not None:
        with found.writer(file, cast(int, level), threads) as out:
            yield out
    else:
        whole = _Whole()
        yield cast(BinaryIO, whole)
        file.write(packed(whole.taken(), compressor, level, settings))


@contextlib.contextmanager
def unpacking(file: BinaryIO, compressor: str, settings: Settings = ()) -> Iterator[BinaryIO]:
    """A file that gives what another holds compressed, for libraries whose users read so.

    >>> import io
    >>> with unpacking(io.BytesIO(packed(b"plain", "zstd", 3)), "zstd") as plain:
    ...     bytes(plain.read())
    b'plain'
    """
    found = peer_of(compressor, settings)
    if found is not None and found.reader is not None:
        with found.reader(file, compressor_threads()) as plain:
            yield plain
    else:
        import io

        yield io.BytesIO(unpacked(file.read(), compressor, None, settings))


class Counted:
    """A binary file that counts what is written to another, and takes all of it each time.

    >>> import io
    >>> file = Counted(io.BytesIO())
    >>> file.write(b"abc") + file.write(memoryview(b"de")), file.count
    (5, 5)
    """

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.count = 0

    def write(self, data: Any) -> int:
        """Write all of it, where the file beneath takes less than it is given too."""
        size = memoryview(data).nbytes
        done = self.file.write(data)
        while done is not None and done < size:
            done += self.file.write(memoryview(data).cast("B")[done:])
        self.count += size
        return size

    def writable(self) -> bool:
        """It is."""
        return True

    def flush(self) -> None:
        """Flush the file beneath."""
        self.file.flush()

    def close(self) -> None:
        """The file beneath is its owner's."""


class _Whole:
    """A file that keeps what is written; the one buffer that is written whole is not copied."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[Buffer] = []

    def write(self, data: Any) -> int:
        """Keep bytes."""
        self._parts.append(data)
        return memoryview(data).nbytes

    def flush(self) -> None:
        """Nothing waits."""

    def taken(self) -> Buffer:
        """All bytes."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


def _options(found: Peer, settings: Settings) -> Mapping[str, Any]:
    given = {name: option.default for name, option in found.options.items()} | dict(settings)
    given.pop("library", None)
    return given


def _fitting(data: Buffer, found: Peer) -> Buffer:
    from tare.errors import Unsupported

    size = memoryview(data).nbytes
    if found.most_bytes is not None and size > found.most_bytes:
        raise Unsupported(
            f"{found.name} takes at most {found.most_bytes} bytes at once, and these are {size}"
        )
    return data


def _layout(compressor: str, settings: Settings) -> str | None:
    """The layout to ask for: the id's own if it names one."""
    return "seekable" if compressor in _SEEKABLE and "layout" not in dict(settings) else None
