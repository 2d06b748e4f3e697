"""Compression in standard containers: one buffer, or files of any length, on all cores.

`open` gives a file object that compresses or decompresses what goes through it, in memory
that does not depend on its length; `compress` and `decompress` take one buffer.

Reading is strict for every compressor: what is cut is `Truncated`, what follows the last
frame, member or stream is `Malformed`, several of them are read whole, and every checksum
present is verified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare import _tare
from tare.compress.facts import Info, Summary
from tare.compress.files import (
    ReadFile,
    TextFile,
    WriteFile,
    info,
    open,  # noqa: A004 - as gzip.open and lzma.open are called
    open_reader,
)
from tare.compress.names import (
    COMPRESSORS,
    Compressor,
    check_counts,
    choose,
    compressor,
    effort,
    parse,
    refuse_auto,
    sniff,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in the standard library from 3.12 on

__all__ = [
    "COMPRESSORS",
    "Compressor",
    "Info",
    "ReadFile",
    "Summary",
    "TextFile",
    "WriteFile",
    "choose",
    "compress",
    "compressor",
    "decompress",
    "effort",
    "info",
    "open",
    "open_reader",
    "parse",
    "sniff",
]

# What `decompress` gives at most unless told otherwise, so that a small bomb fills no memory.
_MAX_OUTPUT = 1 << 30


def compress(
    buffer: Buffer,
    compressor: str = "zstd:3",
    *,
    threads: int | None = None,
    chunk_size: int | None = None,
    layout: str | None = "single",
    checksum: bool = True,
) -> bytes:
    """Compress one buffer.

    Args:
        buffer: Any contiguous bytes-like object. ``bytes`` and a `memoryview` of them are not
            copied; others, which may change meanwhile, are: from 16 MiB on 1 MiB at a time, and
            whole below that, for gzip, and for chunks of 16 MiB and more.
        compressor: Id: ``zstd:3``, ``lz4``, ``gzip:9``, ``bz2``, ``xz:6``, ``none``.
        threads: How many may work; by default all cores, at most 16. The bytes do not depend on it.
        chunk_size: Plain bytes that one thread takes at once; by default 1 to 4 MiB.
        layout: ``single``: one frame, member or stream, which every reader reads whole;
            ``seekable``: in chunks that are found and decoded in parallel; ``members``: gzip's
            alone, a member a chunk; None: what the id says, else ``single``.
        checksum: Whether zstd and lz4 keep a checksum of the content.

    Raises:
        UsageError: No such compressor, level, chunk or layout.
        BufferError: The buffer is not contiguous.

    >>> decompress(compress(b"weigh" * 1000, "lz4:9")) == b"weigh" * 1000
    True
    """
    check_counts(threads=threads, chunk_size=chunk_size)
    if compressor[:4] == "auto":
        refuse_auto(compressor)
    return _tare.compress(buffer, compressor, threads, chunk_size, layout, checksum)


def decompress(
    buffer: Buffer,
    compressor: str | None = None,
    *,
    max_output: int | None = _MAX_OUTPUT,
    threads: int | None = None,
    strict: bool = False,
) -> bytes:
    """Decompress all frames, members or streams of a buffer.

    Args:
        buffer: Any contiguous bytes-like object; it must end where the last frame ends. All but
            ``bytes`` and a `memoryview` of them are copied first.
        compressor: What it must be, with or without a level; by default its first bytes tell, and
            what is of no compressor is given back as it is. ``zlib`` is never told by its bytes:
            name it.
        max_output: Longest result allowed, in bytes; 1 GiB by default, None for no limit.
        threads: How many may work; by default all cores, at most 16.
        strict: Whether an end that nothing proves to be the end is an error.

    Raises:
        Truncated: More bytes could make it valid.
        Malformed: Not of that compressor, damaged, or followed by other bytes.
        ChecksumMismatch: Well formed, but damaged.
        Unsupported: A dictionary, an old version, or reserved bits.
        Limit: The result would be longer than ``max_output``.
        UsageError: No such compressor.

    >>> decompress(compress(b"plain", "xz"))
    b'plain'
    """
    check_counts(threads=threads, max_output=max_output)
    return _tare.decompress(buffer, compressor, max_output, threads, strict)
