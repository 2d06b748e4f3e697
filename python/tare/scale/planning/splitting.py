"""Where large files may be cut, so that each part is a unit of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, BinaryIO, cast

from tare import compress
from tare.compress.reading import ReadFile
from tare.scale.planning.sources import Found
from tare.scale.ranges import open_plain

__all__ = ["parts_of"]

_LINES = ("ndjson",)
_HEAD_BYTES = 64


def parts_of(
    found: Found, path: str | BinaryIO, format: str, split: int, *, split_lines: bool = False
) -> list[dict[str, Any]]:
    """The ranges of a file, each near `split` bytes; none if it is one unit.

    Args:
        found: The file.
        path: The file, or its path.
        format: Its format.
        split: Bytes of a part.
        split_lines: The user says that no line break of a CSV stands within a value.
    """
    if format in _LINES or (split_lines and format == "csv"):
        return list(_bytes(path, found.size, split))
    if format not in ("parquet", "arrow", "fst") or _is_packed(path):
        return []
    if format == "parquet":
        return list(_row_groups(path, found.size, split))
    if format == "arrow":
        return list(_batches(path, found.size, split))
    return list(_rows(path, found.size, split))


def _is_packed(path: str | BinaryIO) -> bool:
    """Whether a compressor is around all of the file: what says where its parts lie has no place of its own then."""
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(path, "rb")) if isinstance(path, str) else path
        file.seek(0)
        head = file.read(_HEAD_BYTES)
        file.seek(0)
    return compress.sniff(head) is not None


def _several(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return parts if len(parts) > 1 else []


def _row_groups(path: str | BinaryIO, size: int, split: int) -> Iterator[dict[str, Any]]:
    from pyarrow import parquet

    meta = parquet.read_metadata(path)
    # By what they are uncompressed: Arrow aborts the process that asks for the size of a column that is encrypted.
    plain = [meta.row_group(k).total_byte_size for k in range(meta.num_row_groups)]
    sizes = [size * one // max(sum(plain), 1) for one in plain]
    yield from _several(list(_gathered("row_groups", sizes, split)))


def _batches(path: str | BinaryIO, size: int, split: int) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    from pyarrow import ipc

    try:
        held: Any = pa.OSFile(path, "rb") if isinstance(path, str) else pa.PythonFile(cast(Any, path), "r")
        count = ipc.open_file(held).num_record_batches
        if isinstance(path, str):
            held.close()
    except pa.ArrowException:
        return  # a stream, which has no index
    if count:
        yield from _several(list(_gathered("batches", [size // count] * count, split)))


def _rows(path: str | BinaryIO, size: int, split: int) -> Iterator[dict[str, Any]]:
    """Rows of fst, at borders of its blocks of 4,096."""
    from tare import io

    count = io.inspect(path).rows or 0
    parts = max(1, size // split)
    step = max(4096, -(-count // parts) // 4096 * 4096)
    cuts = [*range(0, count, step), count]
    found = [
        {"kind": "rows", "start": start, "end": end, "bytes": size * (end - start) // max(count, 1)}
        for start, end in pairwise(cuts)
    ]
    yield from _several(found)


def _gathered(kind: str, sizes: list[int], split: int) -> Iterator[dict[str, Any]]:
    """Neighbours together until a part has its size."""
    start, total = 0, 0
    for k, size in enumerate(sizes):
        if total and total + size > split:
            yield {"kind": kind, "start": start, "end": k, "bytes": total}
            start, total = k, 0
        total += size
    if start < len(sizes):
        yield {"kind": kind, "start": start, "end": len(sizes), "bytes": total}


def _bytes(path: str | BinaryIO, size: int, split: int) -> Iterator[dict[str, Any]]:
    """Ranges of plain bytes; compressed files only where an index says where chunks begin."""
    with open_plain(path) as plain:
        if isinstance(plain, ReadFile) and not plain.seekable():
            return
        size = plain.seek(0, 2)
    if size <= split:
        return
    count = -(-size // split)
    step = -(-size // count)
    for start in range(0, size, step):
        yield {"kind": "bytes", "start": start, "end": min(start + step, size)}
