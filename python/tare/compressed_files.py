"""Whole files compressed and decompressed: what the commands of the same names do.

Outputs appear whole or not at all. Nothing is removed or replaced unless that is asked for.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from tare import compress
from tare.atomic import replacing, replacing_both
from tare.compress.names import not_of_ending, of_ending
from tare.errors import TareError, Truncated, UsageError
from tare.unchanged import Watch, identity, opened

__all__ = [
    "ENDINGS",
    "Done",
    "Tested",
    "compress_file",
    "decompress_file",
    "plain_name",
    "read_range",
    "test_file",
]

_STEP_BYTES = 1 << 20
#: What a compressed file's ending becomes when it is decompressed.
ENDINGS = {
    ".zst": "",
    ".lz4": "",
    ".gz": "",
    ".bgz": "",
    ".bz2": "",
    ".xz": "",
    ".lzma": "",
    ".tzst": ".tar",
    ".tgz": ".tar",
    ".tbz2": ".tar",
    ".txz": ".tar",
}

#: Called with plain and stored bytes so far, and the bytes of the input in all (0: unknown).
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True)
class Done:
    """What was done with one file.

    Args:
        plain: Plain bytes.
        stored: Stored bytes.
        compressor: Id of the compressor, such as ``zstd:3``.
        looks_cut: Whether what was read looks like a file of tare's that was cut between two chunks.
    """

    plain: int
    stored: int
    compressor: str
    looks_cut: bool = False


@dataclass(frozen=True)
class Tested:
    """What a test decode found.

    Args:
        container: ``zst``, ``lz4``, ``gz``, ``bz2``, ``xz`` or ``none``; empty if that was not found out.
        units: Frames, blocks or members.
        plain: Plain bytes.
        stored: Stored bytes.
        complete: ``proven``, ``unproven``, or empty.
        error: What is wrong; None if nothing is.
        looks_cut: As in `Done`.
    """

    container: str
    units: int
    plain: int
    stored: int
    complete: str
    error: BaseException | None = None
    looks_cut: bool = False


def compress_file(
    src: str | BinaryIO,
    dst: str | BinaryIO,
    compressor: str,
    *,
    overwrite: bool = False,
    remove: bool = False,
    index: bool = False,
    on_progress: Progress | None = None,
    **options: Any,
) -> Done:
    """Compress a file, keeping its mode and time of change.

    Args:
        src: Its path, or an open binary file.
        dst: The path to write, or an open binary file; it must not be there unless ``overwrite``.
        compressor: Id, such as ``zstd:3``.
        overwrite: Whether a file at ``dst`` is replaced.
        remove: Whether ``src`` is removed once ``dst`` was decoded again and found equal to it.
        index: Whether ``bgzip``'s index of a BGZF file is written too, to ``dst`` and ``.gzi``.
        on_progress: Called after each step.
        options: ``threads``, ``chunk_size``, ``layout``, ``memory_limit`` of `tare.compress.open`.

    Raises:
        UsageError: ``dst`` is there or is ``src``, or an option does not exist.
        SourceChanged: ``src`` changed while it was read; nothing is left at ``dst``.
        OSError: A file cannot be read or written; nothing is left at ``dst``.
    """
    _refuse_same(src, dst, index=index)
    with (
        _reading(src) as (source, size),
        _writing(dst, overwrite, index=index) as (sink, beside),
        _watching(src, source, dst) as watch,
    ):
        counted = _Counted(sink)
        packed = compress.open(
            cast(BinaryIO, counted), "wb", compressor, content_size=size or None, index=index, **options
        )
        with packed:
            _copy(source, packed, lambda plain: _tell(on_progress, plain, counted.bytes, size or 0))
        watch.check()
        if beside is not None:
            beside.write(packed.summary.index)
        plain = packed.summary.bytes_in
        status = os.fstat(source.fileno()) if isinstance(src, str) else None
    _keep(status, dst)
    if index:
        _keep(status, f"{dst}.gzi")
    if remove and isinstance(src, str) and isinstance(dst, str):
        _remove_if_equal(src, dst)
    return Done(plain, counted.bytes, str(packed.summary.compressor))


def decompress_file(
    src: str | BinaryIO,
    dst: str | BinaryIO,
    *,
    overwrite: bool = False,
    remove: bool = False,
    on_progress: Progress | None = None,
    **options: Any,
) -> Done:
    """Decompress a file, keeping its mode and time of change.

    Args:
        src: Its path, or an open binary file.
        dst: The path to write, or an open binary file; it must not be there unless ``overwrite``.
        overwrite: Whether a file at ``dst`` is replaced.
        remove: Whether ``src`` is removed when ``dst`` is complete, which a checksum must have proven.
        on_progress: Called after each step.
        options: ``threads``, ``strict``, ``max_output``, ``max_window`` of `tare.compress.open`.

    Raises:
        TareError: What is wrong with the stored bytes, at its offset; nothing is left at ``dst``.
        UsageError: ``dst`` is there or is ``src``, or ``src`` is not compressed.
        SourceChanged: ``src`` changed while it was read; nothing is left at ``dst``.
        OSError: A file cannot be read or written.
    """
    _refuse_same(src, dst)
    with _reading(src) as (source, size), _watching(src, source, dst) as watch:
        counted = _Counted(source)
        with compress.open(cast(BinaryIO, counted), "rb", **options) as packed:
            first = packed.peek(1)
            if packed.info.container == "none":
                ending = of_ending(src) if isinstance(src, str) else None
                if ending is not None:
                    raise not_of_ending(_name(src), ending, first[:64])
                raise UsageError(f"{_name(src)} is not compressed: nothing to do", path=_name(src))
            with _writing(dst, overwrite) as (sink, _):
                plain = _copy(packed, sink, lambda plain: _tell(on_progress, plain, counted.bytes, size or 0))
                watch.check()
            info = packed.info
        status = os.fstat(source.fileno()) if isinstance(src, str) else None
    _keep(status, dst)
    proven = info.complete == "proven"
    if remove and isinstance(src, str) and isinstance(dst, str):
        if not proven:
            raise Truncated(
                f"{src} stays: nothing proves that its end is the end of what was written", path=src
            )
        if status is not None and identity(os.stat(src)) != identity(status):
            raise TareError(f"{src} stays: it is another file than the one that was decompressed", path=src)
        os.unlink(src)
    return Done(plain, counted.bytes, info.container, looks_cut=info.looks_cut)


def test_file(src: str | BinaryIO, **options: Any) -> Tested:
    """Decode and verify all of a file, and keep nothing.

    Args:
        src: Its path, or an open binary file.
        options: As of `decompress_file`.
    """
    container, units, plain, complete, looks_cut, first = "", 0, 0, "", False, b""
    failed: BaseException | None = None
    counted: _Counted | None = None
    try:
        with _reading(src) as (source, _size):
            counted = _Counted(source)
            with compress.open(cast(BinaryIO, counted), "rb", **options) as packed:
                try:
                    first = packed.peek(1)[:64]
                    plain = _copy(packed, None, lambda _plain: None)
                except (TareError, OSError) as error:
                    failed = error
                ending = of_ending(src) if isinstance(src, str) else None
                if failed is None and packed.info.container == "none" and ending is not None:
                    failed = not_of_ending(_name(src), ending, first)
                name, units = packed.info.container, packed.info.units
                container = compress.compressor(name).extension[1:] or name
                complete, looks_cut = packed.info.complete or "", packed.info.looks_cut
    except (TareError, OSError) as error:
        failed = error
    return Tested(container, units, plain, counted.bytes if counted else 0, complete, failed, looks_cut)


def read_range(
    src: str,
    start: int,
    end: int | None,
    dst: str | BinaryIO,
    *,
    overwrite: bool = False,
    **options: Any,
) -> tuple[int, bool]:
    """Write the plain bytes from ``start`` to before ``end``.

    Args:
        src: The file.
        start: Offset of the first plain byte.
        end: Offset behind the last; None for all.
        dst: The path to write, or an open binary file; it must not be there unless ``overwrite``.
        overwrite: Whether a file at ``dst`` is replaced.
        options: As of `decompress_file`.

    Returns:
        How many there were, and whether they were found without decoding all before them.

    Raises:
        TareError, OSError: As of `decompress_file`.
    """
    _refuse_same(src, dst)
    with compress.open(src, "rb", **options) as packed, _writing(dst, overwrite) as (sink, _):
        found = packed.seekable()
        if found:
            packed.seek(start)
        else:
            _skip(packed, start)
        left = None if end is None else max(0, end - start)
        written = 0
        while left is None or left > 0:
            part = packed.read(_STEP_BYTES if left is None else min(left, _STEP_BYTES))
            if not part:
                break
            sink.write(part)
            written += len(part)
            left = None if left is None else left - len(part)
        return written, found


def plain_name(path: str) -> str | None:
    """What a compressed file is called without its ending; None if it has none that is known.

    >>> plain_name("a/flights.csv.zst"), plain_name("all.tgz"), plain_name("flights.csv")
    ('a/flights.csv', 'all.tar', None)
    """
    stem, ending = os.path.splitext(path)
    instead = ENDINGS.get(ending.lower())
    return None if instead is None or not os.path.basename(stem) else stem + instead


def _skip(packed: BinaryIO, size: int) -> None:
    while size > 0:
        part = packed.read(min(size, _STEP_BYTES))
        if not part:
            return
        size -= len(part)


def _copy(source: BinaryIO, sink: BinaryIO | None, tell: Callable[[int], None]) -> int:
    place = memoryview(bytearray(_STEP_BYTES))
    copied = 0
    readinto = cast(Any, source).readinto
    while read := readinto(place):
        if sink is not None:
            sink.write(place[:read])
        copied += read
        tell(copied)
    return copied


def _tell(on_progress: Progress | None, plain: int, stored: int, total: int) -> None:
    if on_progress is not None:
        on_progress(plain, stored, total)


@contextlib.contextmanager
def _reading(src: str | BinaryIO) -> Iterator[tuple[BinaryIO, int | None]]:
    """The file, and how many bytes it has if it is a regular one."""
    if not isinstance(src, str):
        yield src, None
        return
    with open(src, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        import stat

        yield cast(BinaryIO, file), status.st_size if stat.S_ISREG(status.st_mode) else None


def _watching(src: str | BinaryIO, source: BinaryIO, dst: str | BinaryIO) -> Watch:
    """What tells whether a file that was opened by its path changes; of any other it tells nothing."""
    if not isinstance(src, str):
        return Watch("", None, lambda: None)
    left = "nothing was written" if isinstance(dst, str) else "what came out is not to be used"
    return opened(src, source.fileno(), left)


@contextlib.contextmanager
def _writing(
    dst: str | BinaryIO, overwrite: bool, *, index: bool = False
) -> Iterator[tuple[BinaryIO, BinaryIO | None]]:
    """The file to write, and the one for its index if there is to be one."""
    if not isinstance(dst, str):
        if index:
            raise UsageError("an index stands beside a file, and there is none: say -o OUT")
        yield dst, None
        return
    beside = f"{dst}.gzi"
    for name in (dst, beside) if index else (dst,):
        if os.path.lexists(name) and not overwrite:
            raise UsageError(f"{name} exists already: -f replaces it, -o names another", path=name)
    if not index:
        with replacing(dst) as file:
            yield file, None
        return
    if os.path.exists(dst) and not os.path.isfile(dst):
        raise UsageError(f"no index stands beside {dst}, which is no regular file", path=dst)
    with replacing_both(dst, beside) as both:
        yield both


def _refuse_same(src: str | BinaryIO, dst: str | BinaryIO, *, index: bool = False) -> None:
    """Refuse an output that would take the place of its input, under whatever name."""
    if not isinstance(src, str) or not isinstance(dst, str):
        return
    for name in (dst, f"{dst}.gzi") if index else (dst,):
        if os.path.isfile(name) and os.path.exists(src) and os.path.samefile(src, name):
            raise UsageError(f"{name} is the input itself: -o names another output", path=name)


def _keep(status: os.stat_result | None, dst: str | BinaryIO) -> None:
    """Give an output that is a regular file the mode and the time of change of its input."""
    if status is None or not isinstance(dst, str) or not os.path.isfile(dst):
        return
    with contextlib.suppress(PermissionError):
        os.chmod(dst, status.st_mode & 0o777)
        os.utime(dst, ns=(status.st_atime_ns, status.st_mtime_ns))


def _remove_if_equal(src: str, dst: str) -> None:
    with open(src, "rb") as plain, compress.open(dst, "rb") as packed:
        while True:
            expected = plain.read(_STEP_BYTES)
            if packed.read(len(expected) or 1) != expected:
                raise TareError(f"{src} stays: {dst} does not decode to it", path=dst)
            if not expected:
                break
    os.unlink(src)


def _name(file: str | BinaryIO) -> str:
    return file if isinstance(file, str) else str(getattr(file, "name", "the input"))


class _Counted(io.RawIOBase):
    """A binary file that counts what goes through it, and stays open."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self.bytes = 0

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes | None:
        data = self._file.read(size)
        self.bytes += len(data or b"")
        return data

    def readinto(self, place: Any) -> int | None:
        read = cast(Any, self._file).readinto(place)
        self.bytes += read or 0
        return cast("int | None", read)

    def write(self, data: Any) -> int:
        written = self._file.write(data)
        self.bytes += written or 0
        return written
