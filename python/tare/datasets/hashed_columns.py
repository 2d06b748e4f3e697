"""Feeds a column to a content hash: its values and levels, and nothing of how they lie in memory.

Of categories the numbers of their levels are fed, then each level once, then for each category the numbers of its levels in their
order. Numbers are as `tare.datasets.numbered` gives them: they depend on values and levels alone, as does their width.

Columns without categories, unions, runs, views and nulls inside nested values are fed as Arrow serializes 65,536 rows
of them that lie alone in memory; texts, as they lie before those of the next rows. Published records hold such hashes.
"""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tare.categories import has_levels
from tare.datasets.numbered import Numbered
from tare.fidelity.column_masks import (
    as_pairs,
    codes_of,
    holds,
    items_of,
    members,
    storage,
    whole,
)

__all__ = ["hash_column"]

_ROWS = 65_536
_POOL = pa.system_memory_pool()  # the one that gives freed blocks back to the system
_ODD = (pa.dictionary(pa.int8(), pa.int8()).id, pa.string_view().id, pa.binary_view().id)
_OFFSETS = (pa.types.is_string, pa.types.is_binary, pa.types.is_list, pa.types.is_map)
_LONG_OFFSETS = (pa.types.is_large_string, pa.types.is_large_binary, pa.types.is_large_list)
_LONG_TEXTS = (pa.large_string(), pa.large_binary())
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
_TOO_LONG = (pa.ArrowInvalid, pa.ArrowCapacityError)


def hash_column(digest: Any, column: Any) -> None:
    """Feed a chunked array to a digest.

    >>> import hashlib
    >>> digest = hashlib.sha256()
    >>> hash_column(digest, pa.chunked_array([[1, None]]))
    >>> digest.hexdigest()[:8]
    'd53d531f'
    """
    if not has_levels(column.type):
        _hash_values(digest, column)
        return
    categories = Numbered(column)
    _hash_values(digest, column, categories.of)
    for levels in categories.levels.values():
        if not len(levels):
            continue  # a table without rows may have no chunk, or an empty one
        digest.update(b"levels\0")
        _hash_values(digest, pa.chunked_array([levels]))
    for order in categories.orders:
        digest.update(b"order\0")
        _hash_values(digest, pa.chunked_array([order]))


def _hash_values(digest: Any, column: Any, look_up: Any = None) -> None:
    """Values, and of categories what stands for their levels: the number of each."""
    flat = _is_flat(column.type)
    for start in range(0, len(column), _ROWS):
        behind = column.slice(start + _ROWS) if flat else None
        _hash_rows(digest, column.slice(start, _ROWS), flat, behind, look_up)


def _hash_rows(digest: Any, rows: Any, flat: bool, behind: Any, look_up: Any) -> None:
    """Rows that are few enough to copy; in halves where offsets of 32 bits do not lead to the end of their values."""
    try:
        arrays, parts = _arrays(rows, flat, behind, look_up)
    except _TOO_LONG:
        if len(rows) < 2:
            raise
        half = len(rows) // 2
        _hash_rows(digest, rows.slice(0, half), flat, None, look_up)
        _hash_rows(digest, rows.slice(half), flat, None, look_up)
        return
    # Arrow's own serialization cuts slices to what they show.
    for array in arrays:
        batch = pa.RecordBatch.from_arrays([array], ["x"])
        digest.update(batch.serialize(memory_pool=_POOL))
    if parts is not None:
        digest.update(b"parts\0")
        for part in parts:
            _hash_values(digest, part)


def _arrays(rows: Any, flat: bool, behind: Any, look_up: Any) -> tuple[list[Any], list[Any] | None]:
    """Arrays without bytes that are there but mean nothing, and the parts of nested values that no array is without.

    What means nothing is what stands under a null, what no item of a list and no row of a union shows, and bits
    behind the last boolean. Which rows have parts is told by their values alone.
    """
    chunks = rows.chunks
    if not flat:
        chunks = [whole(chunk, look_up) for chunk in chunks]
        flat = _is_flat(chunks[0].type)
    if len(chunks) > 1:
        chunks = _one([chunk for chunk in chunks if len(chunk)])
    found = []
    if chunks[0].null_count or (len(chunks) > 1 and any(chunk.null_count for chunk in chunks)):
        nulls = [pc.is_null(chunk, memory_pool=_POOL) for chunk in chunks]
        chunks = [pc.drop_null(chunk, memory_pool=_POOL) for chunk in chunks]
        if flat and len(chunks) == 1:  # what was just made is exact
            return [*nulls, *chunks], None
        found.append(_joined(nulls))
        chunks = [chunk for chunk in chunks if len(chunk)] or chunks[:1]
    elif behind and any(test(behind.type) for test in _TEXTS):
        return _with_next(chunks, behind), None
    if flat or all(_is_bare(chunk) for chunk in chunks):
        return [*found, _joined(chunks)], None
    heads, parts = _parts_of(chunks)
    return found + heads, parts


def _is_flat(kind: Any) -> bool:
    """Whether a type is none that another one is within, and no view."""
    return not (kind.num_fields or isinstance(kind, pa.BaseExtensionType) or kind.id in _ODD)


def _one(chunks: list[Any]) -> list[Any]:
    """All in one array, if that can be; what stands under nulls may be too long for one, and of unions Arrow makes none."""
    if holds(chunks[0].type, pa.types.is_union):
        return chunks
    try:
        return [_joined(chunks)]
    except _TOO_LONG:
        return chunks


def _is_bare(array: Any) -> bool:
    """Whether nothing is within an array that has no nulls itself but what its rows show: no null, no union."""
    kind = array.type
    if pa.types.is_union(kind):
        return False
    if pa.types.is_struct(kind):
        return all(_is_bare_part(array.field(at)) for at in range(kind.num_fields))
    if pa.types.is_nested(kind):
        return _is_bare_part(items_of(as_pairs(array) if pa.types.is_map(kind) else array))
    return True


def _is_bare_part(array: Any) -> bool:
    array = storage(array)
    return (array.null_count == 0 or pa.types.is_null(array.type)) and _is_bare(array)


def _parts_of(chunks: list[Any]) -> tuple[list[Any], list[Any]]:
    """What tells how nested values are made of their parts, and the parts, each a column. No value is null."""
    kind = chunks[0].type
    if pa.types.is_struct(kind):
        fields = range(kind.num_fields)
        return [], [
            pa.chunked_array([chunk.field(at) for chunk in chunks], kind.field(at).type) for at in fields
        ]
    if pa.types.is_union(kind):
        codes = _joined([pa.array(codes_of(chunk), pa.int8()) for chunk in chunks])
        shown = [[values for _, values in members(chunk)] for chunk in chunks]
        return [codes], [pa.chunked_array(list(values)) for values in zip(*shown, strict=True)]
    lists = [as_pairs(chunk) if pa.types.is_map(kind) else chunk for chunk in chunks]
    lengths = _joined([pc.list_value_length(chunk) for chunk in lists])
    return [lengths], [pa.chunked_array([items_of(chunk) for chunk in lists])]


def _with_next(chunks: list[Any], behind: Any) -> list[Any]:
    """Texts as they lie in one piece with those of the next rows, of which Arrow serializes the first bytes: up to 64 in all.

    Columns in one piece had these bytes in their hash from the first; here they are those of the values, whatever lies there.
    """
    width = 8 if behind.type in _LONG_TEXTS else 4
    if not sum(_bytes_of(chunk, width) for chunk in chunks) % 64:
        return [_joined(chunks)]
    found, at, step = b"", 0, 64
    while len(found) < 63 and at < len(behind):
        for chunk in behind.slice(at, step).chunks:
            shown = chunk.filter(pc.cast(pc.binary_length(chunk), pa.bool_()))  # no null, nothing empty
            found += b"".join(value.as_buffer().to_pybytes()[:63] for value in shown.slice(0, 63))
        at, step = at + step, step * 4
    ends = b"".join(end.to_bytes(width, sys.byteorder) for end in (0, len(found)))
    next_ = pa.Array.from_buffers(behind.type, 1, [None, pa.py_buffer(ends), pa.py_buffer(found)])
    rows = sum(len(chunk) for chunk in chunks)
    return [pa.concat_arrays([*chunks, next_], memory_pool=_POOL).slice(0, rows)]


def _bytes_of(chunk: Any, width: int) -> int:
    ends = memoryview(chunk.buffers()[1])
    first, last = (ends[at * width : (at + 1) * width] for at in (chunk.offset, chunk.offset + len(chunk)))
    return int.from_bytes(last, sys.byteorder) - int.from_bytes(first, sys.byteorder)


def _joined(chunks: list[Any]) -> Any:
    """One array of few rows, in memory that ends where they do."""
    if len(chunks) == 1:
        if _is_exact(chunks[0]):
            return chunks[0]
        chunks = [*chunks, chunks[0].slice(0, 0)]
    return pa.concat_arrays(chunks, memory_pool=_POOL)


def _is_exact(array: Any) -> bool:
    """Whether Arrow serializes nothing behind an array's last row: it takes up to 63 bytes more where they are there."""
    kind = array.type
    if pa.types.is_primitive(kind) and len(array) % 512 == 0:  # 64 bytes of booleans
        return True
    if pa.types.is_boolean(kind) or (kind.num_fields and holds(kind, pa.types.is_boolean)):
        return False  # the last byte may have bits more
    if pa.types.is_union(kind) or holds(kind, pa.types.is_union):
        return False  # Arrow crashes when it counts one without a row
    return bool(array.nbytes + _last_offsets(kind) == array.get_total_buffer_size())


def _last_offsets(kind: Any) -> int:
    """Bytes of the offsets behind the last row, which an array needs and does not count as its own."""
    if isinstance(kind, pa.BaseExtensionType):
        return _last_offsets(kind.storage_type)
    own = 4 if any(test(kind) for test in _OFFSETS) else 8 if any(test(kind) for test in _LONG_OFFSETS) else 0
    return own + sum(_last_offsets(kind.field(at).type) for at in range(kind.num_fields))
