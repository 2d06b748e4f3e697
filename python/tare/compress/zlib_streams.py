"""zlib streams, which are read only when named: two bytes are too little to tell them by."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from tare.errors import ChecksumMismatch, Limit, Malformed, Truncated

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in the standard library from 3.12 on

__all__ = ["decompress"]


def decompress(buffer: Buffer, max_output: int | None) -> bytes:
    """Decompress one zlib stream, with nothing behind it.

    Raises:
        Truncated, Malformed, ChecksumMismatch, Limit: As `tare.compress.decompress`.

    >>> decompress(zlib.compress(b"plain"), None)
    b'plain'
    """
    decoder = zlib.decompressobj()
    size = memoryview(buffer).nbytes
    try:
        if max_output is None:
            plain = decoder.decompress(buffer)
        else:
            plain = decoder.decompress(buffer, max_output + 1)
    except zlib.error as error:
        kind = ChecksumMismatch if "incorrect data check" in str(error) else Malformed
        raise kind(f"zlib: {error}", format="zlib") from error
    if max_output is not None and len(plain) > max_output:
        text = f"zlib: decompresses to more than max_output = {max_output} bytes"
        raise Limit(text, format="zlib")
    if not decoder.eof:
        text = f"zlib: ends inside the stream, at byte {size}"
        raise Truncated(text, format="zlib", offset=size)
    if decoder.unused_data:
        at = size - len(decoder.unused_data)
        raise Malformed(f"zlib: followed by other bytes, at byte {at}", format="zlib", offset=at)
    return plain
