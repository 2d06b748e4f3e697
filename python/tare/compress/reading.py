"""Compressed files that are read: in order, or from any offset on."""

from __future__ import annotations

import errno
import io
import os
import stat
import warnings
from typing import TYPE_CHECKING, Any

from tare import _tare
from tare.compress.facts import Info, Summary
from tare.compress.names import not_of_ending, of_ending
from tare.errors import Limit, TareError, Unsupported, UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in the standard library from 3.12 on

__all__ = ["RawFile", "ReadFile", "info_of", "named", "reading_options"]

_BUFFER_BYTES = 128 << 10
# The end of a seek table, and of the index of lz4: 0x8F92EAB1.
_TABLE_END = b"\xb1\xea\x92\x8f"
# First bytes that were not kept, and are of no compressor.
_UNKNOWN = b"\0"
# Up to so many stored bytes it costs little to walk over a file for its chunks.
_WALKED_BYTES = 64 << 20


class RawFile(io.RawIOBase):
    """The plain bytes below a `ReadFile`: decoded in order, until somebody seeks.

    Args:
        path: A path, a descriptor, or an open binary file.
        options: As `_tare.Reader` takes them.
    """

    mode = "rb"

    def __init__(self, path: Any, options: dict[str, Any]) -> None:
        super().__init__()
        self._options = options
        self._process = os.getpid()
        self._owned = isinstance(path, int)
        self.path: str | None = None
        self.stored: Any = io.FileIO(path, "r") if self._owned else path
        self._base = 0
        self._position = 0
        self._ended = False
        self._random: _tare.SeekableReader | None = None
        self._why_not: Exception | None = None
        self._found: Info | None = None
        self._ending: str | None = None
        self._last: tuple[str, int, int, int, bool | None, bool] | None = None
        if isinstance(path, str | bytes | os.PathLike):
            self.name: Any = os.fspath(path)
            self.path = os.fsdecode(self.name)
            if os.path.isdir(self.path):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.name)
            try:
                # Once: what has the name later may be another file, or none.
                self.stored = _tare.StoredFile(self.path)
            except OSError as error:
                raise named(error, self.name) from None
            if options["compressor"] is None:
                self._ending = of_ending(self.path)
            if self._ending is not None:
                self._refuse_plain_file()
        else:
            _check_binary(self.stored)
            self.name = getattr(self.stored, "name", path if self._owned else "")
            if _seeks(self.stored):
                self._base = self.stored.tell()
            # Who waits for the next frame before giving this one stalls a conversation.
            self._options["read_ahead"] = self._options["read_ahead"] and not _is_socket(self.stored)
        try:
            self._stream: _tare.Reader | None = _tare.Reader(self.stored, options)
        except OSError as error:
            raise named(error, self.name) from None

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill the start of ``buffer``; 0 at the end."""
        if self._stream is not None:
            size = self._stream.readinto(buffer)
            self._refuse_plain()
        elif self._random is not None:
            size = self._random.readinto(self._position, buffer)
        else:
            raise ValueError("I/O operation on closed file.")
        self._position += size
        self._ended |= size == 0
        return size

    def readall(self) -> bytes:
        """Read all that is left."""
        parts = []
        while part := self._part():
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _part(self) -> bytes:
        if self._stream is None:
            part = self.pread(self._position, 1 << 20)
        else:
            part = self._stream.read(1 << 24)
            self._refuse_plain()
        self._position += len(part)
        self._ended |= not part
        return part

    def _refuse_plain(self) -> None:
        """Refuse plain bytes where the name says compressed ones: their head is damaged, or cut off."""
        if self._ending is not None and self._stream is not None:
            if self._stream.info()[0] == "none":
                raise self._not_of_ending(b"" if self._stream.info()[2] == 0 else _UNKNOWN)
            self._ending = None

    def _refuse_plain_file(self) -> None:
        """Do so at once for a file whose first bytes can be looked at."""
        try:
            head = self.stored.pread(0, 64)
        except OSError:  # a FIFO: the first read will tell
            return
        # What skippable frames begin with, others may follow: reading will tell.
        if _tare.sniff(head) == "none" and head[1:4] != b"\x2a\x4d\x18":
            raise self._not_of_ending(head)

    def _not_of_ending(self, head: bytes) -> Exception:
        return not_of_ending(str(self.path), str(self._ending), head, ": compressor='none' reads it as it is")

    def tell(self) -> int:
        """Offset of the next plain byte."""
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        return self._position

    def seekable(self) -> bool:
        """Whether any part can be read without decoding all before it, and finding it is cheap."""
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if self._random is not None:
            return True
        if self._why_not is not None or not self._cheap():
            return False
        try:
            self.locate()
        except (io.UnsupportedOperation, TareError, OSError):
            return False
        return True

    def _cheap(self) -> bool:
        """Whether a table ends the file, or it is short enough to walk over."""
        try:
            size, end, _ = self._outline()
            return 0 < size <= _WALKED_BYTES or end == _TABLE_END
        except (OSError, ValueError, AttributeError):
            return False

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a plain offset; the next read decodes only what it touches.

        Raises:
            io.UnsupportedOperation: The file has no parts that can be decoded by themselves.
        """
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if whence == os.SEEK_CUR:
            offset += self._position
        if whence != os.SEEK_END and offset == self._position:
            return offset
        reader = self.locate()
        if whence == os.SEEK_END:
            offset += reader.facts()[0]
        if offset < 0:
            raise ValueError(f"seek to {offset}, before the first byte")
        self._switch()
        self._position = offset
        return offset

    def pread(self, offset: int, size: int) -> bytes:
        """Give the plain bytes from ``offset`` on, ``size`` of them unless they end before."""
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if offset < 0 or size < 0:
            raise ValueError(f"no {size} bytes from {offset} on")
        reader = self.locate()
        if self._owner_moves():
            self._switch()
        return reader.pread(offset, size)

    def _owner_moves(self) -> bool:
        """Whether reading anywhere moves what the stream reads from."""
        return self.path is None

    def _outline(self) -> tuple[int, bytes, bytes]:
        """The stored file's size, its last four bytes and its first 64."""
        if isinstance(self.stored, _tare.StoredFile):
            size = self.stored.size()
            return size, self.stored.pread(max(0, size - 4), 4), self.stored.pread(0, 64)
        at = self.stored.tell()
        try:
            size = self.stored.seek(0, os.SEEK_END) - self._base
            self.stored.seek(self._base + max(0, size - 4))
            end = self.stored.read(4)
            self.stored.seek(self._base)
            return size, end, self.stored.read(64)
        finally:
            self.stored.seek(at)

    def locate(self) -> _tare.SeekableReader:
        """Find the chunks, once."""
        if self._random is not None:
            return self._random
        if self._why_not is not None:
            raise io.UnsupportedOperation(str(self._why_not)) from self._why_not
        at = None
        try:
            if self._owner_moves():
                if not _seeks(self.stored):
                    raise UsageError("the file below cannot be sought")
                at = self.stored.tell()
            reader = _tare.SeekableReader(self.stored, self._base, self._options)
        except (Unsupported, UsageError) as error:
            self._why_not = error
            raise io.UnsupportedOperation(str(error)) from error
        finally:
            if at is not None:
                self.stored.seek(at)
        most = self._options["max_output"]
        if most is not None and reader.facts()[0] > most:
            size = reader.facts()[0]
            raise Limit(f"{size} plain bytes, the limit max_output is {most}", format=reader.facts()[3])
        if self._ending is not None and reader.facts()[3] == "none":
            raise self._not_of_ending(_UNKNOWN)
        self._found = self._located(reader)
        self._random = reader
        return reader

    def _switch(self) -> None:
        """Leave the stream for the reader of any part."""
        if self._stream is not None:
            self._last = self._stream.info()
            self._stream.close()
            self._stream = None

    def facts(self) -> Info:
        """What is known so far."""
        if self._stream is None and self._found is not None:
            return self._found
        known = self._last if self._stream is None else self._stream.info()
        if known is None:
            raise ValueError("I/O operation on closed file.")
        kind, units, stored, plain, proven, looks_cut = known
        if proven is None:
            return Info(kind, units=units, stored_size=stored)
        return Info(kind, None, units, plain, stored, complete=_ending(proven), looks_cut=looks_cut)

    def _located(self, reader: _tare.SeekableReader) -> Info:
        """What is known of a file whose chunks were found."""
        size, units, proven, kind, looks_cut = reader.facts()
        stored, end, head = self._outline()
        has_index = end == _TABLE_END
        bgzf = kind == "gzip" and b"BC\x02\x00" in head[12:]
        layout: str | None = None
        if has_index or bgzf:
            layout = "seekable"
        elif kind == "gzip" and units > 1:
            layout = "members"
        elif kind != "none" and units == 1:
            layout = "single"
        return Info(kind, layout, units, size, stored, has_index, _ending(proven), looks_cut)

    def summary(self) -> Summary | None:
        """What was read in order, if it was to its end."""
        if self._last is None or not self._ended:
            return None
        kind, units, stored, plain, proven, _ = self._last
        return Summary(stored, plain, units, kind, "auto", _ending(bool(proven)), 0)

    def fileno(self) -> int:
        """The system's number of the stored file."""
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if self.path is None:
            return int(self.stored.fileno())
        reader = self._random if self._stream is None else self._stream
        number = reader.descriptor if reader is not None else None
        if number is None:
            raise io.UnsupportedOperation("no file of the system")
        return number

    def close(self) -> None:
        """Close the reader, and the file if it was opened here."""
        if not self.closed:
            try:
                # In a forked child the threads are the parent's: there is nothing to close.
                if self.here():
                    self._switch()
                if self._owned:
                    self.stored.close()
            finally:
                self._random = None
                if self.path is not None:
                    self.stored = None
                super().close()

    def here(self) -> bool:
        """Whether this is the process that opened it, and no child that was forked since."""
        return self._process == os.getpid()

    def held_bytes(self) -> int:
        """Bytes that buffers take."""
        parts = (part for part in (self._stream, self._random) if part is not None)
        return sum(part.__sizeof__() for part in parts)


class ReadFile(io.BufferedReader):
    """A compressed file that gives its plain bytes; made by `tare.compress.open`.

    Args:
        raw: What it reads from.
    """

    raw: RawFile

    def __init__(self, raw: RawFile) -> None:
        super().__init__(raw, buffer_size=_BUFFER_BYTES)

    @property
    def info(self) -> Info:
        """What is known of the file so far."""
        return self.raw.facts()

    @property
    def summary(self) -> Summary | None:
        """What was read, after `close`; None if that was not in order to the end."""
        return self.raw.summary()

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a plain offset; the next read decodes only what it touches.

        Raises:
            io.UnsupportedOperation: The file has no parts that can be decoded by themselves.
        """
        if whence == os.SEEK_END or not self.closed:
            self.raw.locate()
        return super().seek(offset, whence)

    def pread(self, offset: int, size: int) -> bytes:
        """Give the plain bytes from an offset on; the position stays. Several threads may.

        Args:
            offset: Of the first plain byte.
            size: How many; fewer come where they end.

        Raises:
            io.UnsupportedOperation: The file has no parts that can be decoded by themselves.

        >>> packed = io.BytesIO(_tare.compress(b"0123456789", "zstd"))
        >>> ReadFile(RawFile(packed, reading_options())).pread(3, 4)
        b'3456'
        """
        return self.raw.pread(offset, size)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + _BUFFER_BYTES + self.raw.held_bytes()

    def __del__(self) -> None:
        try:
            raw = self.raw
            if raw.closed:
                return
            if raw.path is not None and raw.here():
                warnings.warn(f"unclosed file {raw.name!r}", ResourceWarning, stacklevel=2, source=self)
            self.close()
        except Exception:  # never made, or the interpreter ends: nobody could act on it
            return


def info_of(path: Any) -> Info:
    """What a file is, without decoding it.

    Raises:
        TareError, OSError: As `tare.compress.info`.
    """
    if isinstance(path, str | bytes | os.PathLike):
        name = os.fspath(path)
        try:
            found = _tare.survey(os.fsdecode(name), 0)
        except OSError as error:
            raise named(error, name) from None
    else:
        _check_binary(path)
        if not _seeks(path):
            raise UsageError("what a file is, headers all over it say: this one cannot be sought")
        base = path.tell()
        try:
            found = _tare.survey(path, base)
        finally:
            path.seek(base)
    kind, layout, units, plain, stored, has_index, proven, looks_cut = found
    complete = None if proven is None else _ending(proven)
    return Info(kind, layout, units, plain, stored, has_index, complete, looks_cut)


def reading_options(**given: Any) -> dict[str, Any]:
    """What `RawFile` takes: the defaults, and what is given."""
    defaults = {"compressor": None, "threads": None, "strict": False, "max_output": None}
    return defaults | {"max_window": 1 << 27, "build_index": False, "read_ahead": True} | given


def _seeks(file: Any) -> bool:
    seekable = getattr(file, "seekable", None)
    return seekable is not None and bool(seekable()) and hasattr(file, "tell")


def _is_socket(file: Any) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(file.fileno()).st_mode)
    except (AttributeError, OSError, TypeError, ValueError):
        return False


def _check_binary(file: Any) -> None:
    if isinstance(file, io.TextIOBase):
        raise UsageError("the file object gives text; open it in binary mode")
    if not hasattr(file, "read"):
        raise TypeError(f"no path and no open binary file: {type(file).__name__}")


def _ending(proven: bool) -> str:
    return "proven" if proven else "unproven"


def named(error: OSError, name: Any) -> OSError:
    """The error of the operating system, with the file's name."""
    return OSError(error.errno, error.strerror, name) if error.errno is not None else error
