"""How the users of each library call it: ``compress``, ``decompress``, and its file objects.

Threads are a number, or None for all. What takes none is left out by those that have no such knob.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from tare.formats.base import Buffer

__all__: list[str] = []

_BLOCK_BYTES = 1 << 20  # of the threaded gzip files, their default
_DOUBLE_BYTES = 8


def _cores(threads: int | None) -> int:
    """A number of threads for libraries that take no word for all."""
    if threads is not None:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _untyped(module: str) -> Any:
    """A module whose own types are incomplete."""
    return importlib.import_module(module)


# --- zstandard ------------------------------------------------------------------


def _zstandard(level: int, threads: int | None) -> Any:
    import zstandard

    # 0 compresses in the caller's thread, as its users do who name no threads; -1 is all cores.
    return zstandard.ZstdCompressor(
        level=level, threads=-1 if threads is None else threads if threads > 1 else 0
    )


def zstandard_compress(data: Buffer, level: int, threads: int | None) -> bytes:
    """One frame with its content size."""
    return bytes(_zstandard(level, threads).compress(data))


def zstandard_decompress(data: Buffer, threads: int | None) -> bytes:
    """The first frame."""
    import zstandard

    return bytes(zstandard.ZstdDecompressor().decompress(data))


def zstandard_writer(file: BinaryIO, level: int, threads: int | None) -> Any:
    """A file object that leaves ``file`` open."""
    import zstandard

    return zstandard.open(file, "wb", cctx=_zstandard(level, threads), closefd=False)


def zstandard_reader(file: BinaryIO, threads: int | None) -> Any:
    """A file object that leaves ``file`` open."""
    import zstandard

    return zstandard.open(file, "rb", closefd=False)


# --- cramjam --------------------------------------------------------------------


def cramjam_zstd(data: Buffer, level: int, threads: int | None) -> Buffer:
    """A frame; cramjam has no threads and no content size."""
    import cramjam

    return memoryview(cramjam.zstd.compress(data, level))


def cramjam_unzstd(data: Buffer, threads: int | None) -> Buffer:
    """Every frame."""
    import cramjam

    return memoryview(cramjam.zstd.decompress(data))


# --- python-lz4 -----------------------------------------------------------------


def lz4_compress(data: Buffer, level: int, threads: int | None) -> bytes:
    """One frame of linked blocks of 64 KB, the library's default."""
    from lz4 import frame

    return bytes(frame.compress(data, compression_level=level))


def lz4_decompress(data: Buffer, threads: int | None) -> bytes:
    """The first frame."""
    from lz4 import frame

    return bytes(frame.decompress(data))


def lz4_writer(file: BinaryIO, level: int, threads: int | None) -> Any:
    """A file object that leaves ``file`` open."""
    from lz4 import frame

    return frame.open(file, "wb", compression_level=level)


def lz4_reader(file: BinaryIO, threads: int | None) -> Any:
    """A file object that leaves ``file`` open."""
    from lz4 import frame

    return frame.open(file, "rb")


# --- gzip: the standard library, isal, zlib-ng ------------------------------------


def stdlib_compress(data: Buffer, level: int, threads: int | None) -> bytes:
    """One member, without the time of day in it."""
    import gzip

    return gzip.compress(data, level, mtime=0)


def stdlib_decompress(data: Buffer, threads: int | None) -> bytes:
    """Every member."""
    import gzip

    return gzip.decompress(data)


def stdlib_writer(file: BinaryIO, level: int, threads: int | None) -> Any:
    """A file object that leaves ``file`` open."""
    import gzip

    return gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=file, mtime=0)


def stdlib_reader(file: BinaryIO, threads: int | None) -> Any:
    """A file object that leaves ``file`` open."""
    import gzip

    return gzip.open(file, "rb")


def isal_compress(data: Buffer, level: int, threads: int | None) -> bytes:
    """One member."""
    return bytes(_untyped("isal.igzip").compress(data, level, mtime=0))


def isal_decompress(data: Buffer, threads: int | None) -> bytes:
    """Every member."""
    return bytes(_untyped("isal.igzip").decompress(data))


def isal_writer(file: BinaryIO, level: int, threads: int | None) -> Any:
    """A file object that leaves ``file`` open; of several threads, the threaded one."""
    if threads == 1:
        return _untyped("isal.igzip").open(file, "wb", compresslevel=level)
    return _untyped("isal.igzip_threaded").open(
        file, "wb", compresslevel=level, threads=_cores(threads), block_size=_BLOCK_BYTES
    )


def isal_reader(file: BinaryIO, threads: int | None) -> Any:
    """A file object that leaves ``file`` open; of several threads, one that reads ahead in a thread."""
    if threads == 1:
        return _untyped("isal.igzip").open(file, "rb")
    return _untyped("isal.igzip_threaded").open(file, "rb", threads=1)


def zlib_ng_compress(data: Buffer, level: int, threads: int | None) -> bytes:
    """One member."""
    return bytes(_untyped("zlib_ng.gzip_ng").compress(data, level, mtime=0))


def zlib_ng_decompress(data: Buffer, threads: int | None) -> bytes:
    """Every member."""
    return bytes(_untyped("zlib_ng.gzip_ng").decompress(data))


def zlib_ng_writer(file: BinaryIO, level: int, threads: int | None) -> Any:
    """A file object that leaves ``file`` open; of several threads, the threaded one."""
    if threads == 1:
        return _untyped("zlib_ng.gzip_ng").open(file, "wb", compresslevel=level)
    return _untyped("zlib_ng.gzip_ng_threaded").open(
        file, "wb", compresslevel=level, threads=_cores(threads), block_size=_BLOCK_BYTES
    )


def zlib_ng_reader(file: BinaryIO, threads: int | None) -> Any:
    """A file object that leaves ``file`` open; of several threads, one that reads ahead in a thread."""
    if threads == 1:
        return _untyped("zlib_ng.gzip_ng").open(file, "rb")
    return _untyped("zlib_ng.gzip_ng_threaded").open(file, "rb", threads=1)


# --- blosc2 ----------------------------------------------------------------------


def blosc2_compress(data: Buffer, level: int, threads: int | None, *, codec: str) -> bytes:
    """A chunk of its own container; elements of eight bytes are shuffled, its default."""
    import blosc2

    made = blosc2.compress2(
        data,
        typesize=_DOUBLE_BYTES,
        clevel=level,
        codec=blosc2.Codec[codec.upper()],
        nthreads=_cores(threads),
    )
    return bytes(made)


def blosc2_decompress(data: Buffer, threads: int | None) -> bytes:
    """A chunk of its own container."""
    import blosc2

    return bytes(blosc2.decompress2(data, nthreads=_cores(threads)))
