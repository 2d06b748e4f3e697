"""A file of the package qs, version 1, which nothing can write any more: as the design lays it out."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BLOCK = 524_288
# Of a list below 32 values, and of vectors with a length of four bytes.
_LIST, _DOUBLE, _INTEGER, _TEXT = 0x20, 0x07, 0x0B, 0x13
_SHORT, _MISSING = 0x20, 0x0F
_NO_INTEGER = -(2**31)


def write_qs(columns: list[Any], path: Path) -> None:
    """Arrow arrays of doubles, 32-bit integers or short text as a list without names, in blocks of zstd."""
    import zstandard

    plain = bytes([_LIST | len(columns)]) + b"".join(_bytes(column) for column in columns)
    pack = zstandard.ZstdCompressor(level=4)
    frames = [pack.compress(plain[at : at + _BLOCK]) for at in range(0, len(plain), _BLOCK)]
    header = bytes.fromhex("0b0e0a0c00000000") + bytes([3, 0, 0, 0]) + struct.pack("<Q", len(frames))
    path.write_bytes(header + b"".join(struct.pack("<I", len(frame)) + frame for frame in frames))


def _bytes(column: Any) -> bytes:
    import pyarrow as pa

    count = struct.pack("<I", len(column))
    if pa.types.is_string(column.type):
        return bytes([_TEXT]) + count + b"".join(_strings(column.to_pylist()))
    if pa.types.is_int32(column.type):
        return bytes([_INTEGER]) + count + column.fill_null(_NO_INTEGER).to_numpy().tobytes()
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy()
    return bytes([_DOUBLE]) + count + values.tobytes()


def _strings(values: list[str | None]) -> Iterator[bytes]:
    for value in values:
        if value is None:
            yield bytes([_MISSING])
            continue
        stored = value.encode()
        if len(stored) >= _SHORT:
            raise ValueError(f"{value!r} is not short")
        yield bytes([_SHORT | len(stored)]) + stored
