"""Some rows of an array of any type, in the type that it has and in memory that is theirs alone.

Arrow picks no rows of runs, of views of texts, and of what holds such. They are picked of their parts.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tare.errors import Unsupported
from tare.fidelity.column_masks import as_pairs, codes_of, items_of, union_places

__all__ = ["booleans", "picked", "unsupported"]


def booleans(mask: np.ndarray[Any, Any]) -> Any:
    """The mask as Arrow has it. Not by ``pa.array``, which imports pandas to look at what it is given.

    >>> booleans(np.array([True, False])).to_pylist()
    [True, False]
    """
    bits = pa.py_buffer(np.packbits(mask, bitorder="little").data)
    return pa.BooleanArray.from_buffers(pa.bool_(), len(mask), [None, bits])


def unsupported(name: str, kind: Any, what: str) -> Unsupported:
    """The error of a column of whose values something cannot be done."""
    return Unsupported(
        f"column {name[:80]!a} has values of the type {str(kind)[:80]}, and {what}; leave it out with columns="
    )


def picked(array: Any, mask: np.ndarray[Any, Any], name: str) -> Any:
    """The values where the mask is true, in the type that they have.

    Args:
        array: Of any type.
        mask: As long.
        name: Of the column, for messages.

    Raises:
        Unsupported: No part of them can be taken.

    >>> views = pa.array(["a", None, "b"], pa.string_view())
    >>> picked(views, np.array([True, False, True]), "s").to_pylist()
    ['a', 'b']
    """
    pool = pa.system_memory_pool()  # the one that gives freed blocks back to the system
    with contextlib.suppress(pa.ArrowNotImplementedError):
        return pc.filter(array, booleans(mask), memory_pool=pool)
    try:
        return _of_parts(array, mask, name)
    except pa.ArrowNotImplementedError as error:
        raise unsupported(name, array.type, "no part of them can be taken") from error


def _of_parts(array: Any, mask: np.ndarray[Any, Any], name: str) -> Any:
    """As `picked`, of a type that Arrow picks no rows of."""
    kind, types = array.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, picked(array.storage, mask, name))
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return _views(array, mask)
    if types.is_run_end_encoded(kind):
        return _runs(array, mask, name)
    if types.is_struct(kind):
        fields = [picked(array.field(at), mask, name) for at in range(kind.num_fields)]
        nulls = pc.filter(array.is_null(), booleans(mask))
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=nulls)
    if types.is_union(kind):
        return _union(array, mask, name)
    if not types.is_nested(kind):
        raise unsupported(name, kind, "no part of them can be taken")
    return _lists(array, mask, name)


def _views(array: Any, mask: np.ndarray[Any, Any]) -> Any:
    """By way of plain texts. Views share buffers, and what is joined of slices of them has those of each slice."""
    plain = pa.large_string() if pa.types.is_string_view(array.type) else pa.large_binary()
    drawn: Any = pc.filter(array.cast(plain), booleans(mask), memory_pool=pa.system_memory_pool())
    return _as_views(drawn, array.type)


def _as_views(texts: Any, kind: Any) -> Any:
    """Texts as views of them; in parts where their bytes are more than views of one buffer lead to."""
    try:
        return texts.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowCapacityError):
        if len(texts) < 2:
            raise
    half = len(texts) // 2
    parts = (pa.concat_arrays([part, part.slice(0, 0)]) for part in (texts.slice(0, half), texts.slice(half)))
    return pa.concat_arrays([_as_views(part, kind) for part in parts])


def _runs(array: Any, mask: np.ndarray[Any, Any], name: str) -> Any:
    """By their values. Slices that Arrow joins of runs of categories lose the levels that they do not have."""
    rows = np.flatnonzero(mask) + array.offset
    runs = np.searchsorted(np.asarray(array.run_ends), rows, side="right")
    shown = np.zeros(len(array.values), bool)
    shown[runs] = True
    ends = np.append(np.flatnonzero(np.diff(runs)) + 1, len(runs))
    lengths: Any = pa.array(ends if len(runs) else [], array.type.run_end_type)
    return pa.RunEndEncodedArray.from_arrays(lengths, picked(array.values, shown, name), array.type)


def _union(array: Any, mask: np.ndarray[Any, Any], name: str) -> Any:
    kind = array.type
    codes = codes_of(array)[mask]
    fields = [array.field(at) for at in range(kind.num_fields)]
    buffers = [None, pa.py_buffer(codes.tobytes())]
    if kind.mode == "sparse":
        parts = [picked(field, mask, name) for field in fields]
    else:
        places, parts = union_places(array)[mask], []
        moved = np.zeros(len(codes), np.int32)
        for code, field in zip(kind.type_codes, fields, strict=True):
            mine = codes == code
            shown = np.zeros(len(field), bool)
            shown[places[mine]] = True
            moved[mine] = (np.cumsum(shown) - 1)[places[mine]]
            parts.append(picked(field, shown, name))
        buffers.append(pa.py_buffer(moved.tobytes()))
    return pa.Array.from_buffers(kind, len(codes), buffers, 0, 0, children=parts)


def _lists(array: Any, mask: np.ndarray[Any, Any], name: str) -> Any:
    """Lists, views of them and maps: the items of those that are picked, one after another."""
    kind, types = array.type, pa.types
    nulls = pc.filter(array.is_null(), booleans(mask))
    if types.is_fixed_size_list(kind):
        size = kind.list_size
        items = array.values.slice(array.offset * size, len(array) * size)
        items = picked(items, np.repeat(mask, size), name)
        return pa.FixedSizeListArray.from_arrays(items, type=array.type, mask=nulls)
    lists = as_pairs(array) if types.is_map(kind) else array
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    items = picked(items_of(lists), np.repeat(mask, sizes), name)
    sizes = sizes[mask]
    long = types.is_large_list(kind) or types.is_large_list_view(kind)
    ends: Any = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int64() if long else pa.int32())
    if types.is_map(kind):
        maps: Any = pa.MapArray
        return maps.from_arrays(ends, items.field(0), items.field(1), kind, mask=nulls)
    if types.is_list(kind):
        return pa.ListArray.from_arrays(ends, items, type=array.type, mask=nulls)
    if types.is_large_list(kind):
        return pa.LargeListArray.from_arrays(ends, items, type=array.type, mask=nulls)
    views: Any = pa.LargeListViewArray if long else pa.ListViewArray
    return views.from_arrays(ends[:-1], pa.array(sizes, ends.type), items, kind, mask=nulls)
