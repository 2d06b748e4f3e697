"""The decompressors of `tare.compress`: one-shot and stream agree on any bytes."""

from __future__ import annotations

import io

from tare import compress
from tare.errors import DecodeError, Limit, Unsupported

MAX_OUTPUT = 1 << 20


def fuzz(data: bytes) -> None:
    """Decompress any bytes with each compressor."""
    for known in compress.COMPRESSORS:
        whole = streamed = None
        try:
            whole = compress.decompress(data, known.name, max_output=MAX_OUTPUT)
        except Limit:
            continue
        except (DecodeError, Unsupported) as error:
            assert error.format == known.name
            assert error.offset is not None
            assert 0 <= error.offset <= len(data)
        try:
            with compress.open_reader(io.BytesIO(data), known.name) as reader:
                streamed = reader.read()
        except (DecodeError, Unsupported, Limit):
            pass
        assert whole == streamed, known.name
