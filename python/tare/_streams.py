"""The plumbing of `tare.compress`: bzip2 and xz by the standard library, and stream readers."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, Protocol

from tare import _tare
from tare.errors import Limit, Malformed, TareError, Truncated

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in the standard library from 3.12 on

__all__ = ["STEP_BYTES", "Reader", "compress", "decompress"]

STEP_BYTES = 128 << 10
# What xz may take for its dictionary; `xz -9` needs 65 MiB to decompress.
_XZ_MEMORY_BYTES = (128 << 20) + (16 << 20)


class _Decoder(Protocol):
    """What `bz2.BZ2Decompressor` and `lzma.LZMADecompressor` have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def compress(name: str, data: Buffer, level: int | None) -> bytes:
    """Compress with bzip2 or xz at a level that has been checked."""
    if name == "bz2":
        return bz2.compress(data, 9 if level is None else level)
    return lzma.compress(data, preset=level)


def decompress(name: str, data: Buffer, max_bytes: int | None) -> bytes:
    """Decompress all streams of bzip2 or xz bytes, as strictly as the core does.

    Raises:
        Truncated, Malformed, ChecksumMismatch, Limit: As in `tare.compress.decompress`.
    """
    reader = Reader(io.BytesIO(data), name, owned=True)
    parts = []
    size = 0
    while part := reader.take(STEP_BYTES):
        parts.append(part)
        size += len(part)
        if max_bytes is not None and size > max_bytes:
            raise Limit(f"{name}: decompresses to more than max_bytes = {max_bytes} bytes", format=name)
    return b"".join(parts)


class Reader(io.RawIOBase):
    """The plain bytes of a compressed binary file, read once from front to back.

    Args:
        file: An open binary file, pipe or socket file.
        name: A compressor's name.
        owned: Whether closing the reader closes the file.
    """

    def __init__(self, file: BinaryIO, name: str, *, owned: bool) -> None:
        super().__init__()
        self._file = file
        self._owned = owned
        # read1 gives what a pipe holds, read would wait until all it asked for is there.
        read: Callable[[int], bytes] = getattr(file, "read1", file.read)
        self._take = _Streams(name, read).read if name in _NEW else _tare.Reader(name, read).read

    def take(self, size: int) -> bytes:
        """Give up to ``size`` plain bytes; none at the end."""
        return self._take(size)

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill the start of ``buffer``; 0 at the end."""
        with memoryview(buffer).cast("B") as view:
            part = self._take(len(view))
            view[: len(part)] = part
        return len(part)

    def readable(self) -> bool:
        """Always true."""
        return True

    def close(self) -> None:
        """Close the reader, and the file if the reader owns it."""
        if not self.closed and self._owned:
            self._file.close()
        super().close()


class _Streams:
    """The streams of a bzip2 or xz file, decoded one after the other."""

    def __init__(self, name: str, read: Callable[[int], bytes]) -> None:
        self._name = name
        self._read = read
        self._decoder: _Decoder | None = None
        self._held = b""
        self._offset = 0  # of the bytes held
        self._start = 0  # of the stream at work
        self._padding = 0

    def read(self, size: int) -> bytes:
        """Give up to ``size`` plain bytes; none at the proven end."""
        while True:
            if self._decoder is None and not self._begin():
                return b""
            decoder = self._decoder
            assert decoder is not None, "begun above"
            if decoder.needs_input and not self._held:
                self._fill()
                if not self._held:
                    raise self._error(Truncated, f"ends inside the stream that starts at byte {self._start}")
            plain = self._decode(decoder, size)
            if plain:
                return plain

    def _decode(self, decoder: _Decoder, size: int) -> bytes:
        given = self._held if decoder.needs_input else b""
        try:
            plain = decoder.decompress(given, size)
        except (OSError, ValueError, lzma.LZMAError) as error:
            raise self._failed(error) from error
        if given:
            self._offset += len(given)
            self._held = b""
        if decoder.eof:
            self._held = decoder.unused_data
            self._offset -= len(self._held)
            self._decoder = None
        return plain

    def _begin(self) -> bool:
        """Start the next stream; false where the input ends behind a stream."""
        magic = _MAGIC[self._name]
        while len(self._held) < len(magic) and self._fill():
            pass
        if self._offset and not self._skip_padding():
            return False
        self._start = self._offset
        head = self._held[: len(magic)]
        if not magic.startswith(head):
            what = "followed by other bytes" if self._start else f"not a {self._name} file"
            raise self._error(Malformed, f"{what}, expected {magic.hex(' ').upper()}")
        if len(head) < len(magic):
            raise self._error(Truncated, "ends inside the magic number" if head else "the input is empty")
        self._decoder = _NEW[self._name]()
        return True

    def _skip_padding(self) -> bool:
        """Skip the zeros that xz allows between streams; false where the input ends."""
        while self._name == "xz" and self._held.startswith(b"\0"):
            rest = self._held.lstrip(b"\0")
            zeros = len(self._held) - len(rest)
            self._held = rest
            self._offset += zeros
            self._padding += zeros
            while len(self._held) < len(_MAGIC["xz"]) and self._fill():
                pass
        if self._padding % 4:
            raise self._error(Malformed, "the padding between streams is no multiple of 4 bytes")
        self._padding = 0
        return bool(self._held)

    def _fill(self) -> bool:
        more = self._read(STEP_BYTES)
        if more is None:
            raise BlockingIOError("the file has no bytes yet")
        self._held += more
        return bool(more)

    def _failed(self, error: Exception) -> TareError:
        text = str(error)
        if "Memory usage limit" in text:
            return self._error(Limit, f"needs more than {_XZ_MEMORY_BYTES >> 20} MiB of memory")
        return self._error(Malformed, f"damaged: {text}")

    def _error(self, kind: type[TareError], text: str) -> TareError:
        offset = self._offset + (len(self._held) if kind is Truncated else 0)
        return kind(f"{self._name}: {text}, at byte {offset}", format=self._name, offset=offset)


_MAGIC = {"bz2": b"BZh", "xz": b"\xfd7zXZ\x00"}
_NEW: dict[str, Callable[[], _Decoder]] = {
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES),
}
