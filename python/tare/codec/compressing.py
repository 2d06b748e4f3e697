"""The compressor behind a codec's ``+zstd:3``: encoded bytes in, files on disk out, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.codec.threads import compressor_threads

if TYPE_CHECKING:
    from tare.formats.base import Buffer

__all__ = ["packed", "unpacked"]

# Those whose chunks can be written and read in parallel, as `tare.compress.open` writes them too.
_SEEKABLE = ("zstd", "lz4", "gzip")


def packed(data: Buffer, compressor: str, level: int | None) -> bytes:
    """Compress what a codec encoded, with as many threads as `set_threads` allows.

    >>> unpacked(packed(b"plain", "lz4", 1), "lz4")
    b'plain'
    """
    from tare.compress import compress

    id = compressor if level is None else f"{compressor}:{level}"
    layout = "seekable" if compressor in _SEEKABLE else None
    return compress(data, id, threads=compressor_threads(), layout=layout)


def unpacked(data: Buffer, compressor: str, max_bytes: int | None = None) -> bytes:
    """Decompress what a codec decodes, with as many threads as `set_threads` allows.

    Raises:
        DecodeError, Unsupported: As `tare.compress.decompress`.
        Limit: Longer than ``max_bytes``.
    """
    from tare.compress import decompress
    from tare.errors import Limit

    try:
        return decompress(data, compressor, max_output=max_bytes, threads=compressor_threads())
    except Limit as error:
        text = str(error).replace("max_output", "max_bytes")
        raise Limit(text, format=error.format, offset=error.offset) from error
