"""Which rows of two Arrow arrays of one type differ, bit for bit, without a Python loop.

Arrow's own ``equals`` takes -0.0 for 0.0 and NaN for unequal to itself, so floats
are compared as integers, and nested types by their parts: rows whose validity or
length differs, then the items of the others, folded back to rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

__all__ = [
    "INTEGERS",
    "Differences",
    "as_pairs",
    "differences",
    "either",
    "has_floats",
    "in_rows",
    "storage",
    "without_views",
]


class Differences(NamedTuple):
    """Rows that differ; None where none does.

    Args:
        value: Rows with another value or another validity.
        payload: Rows that are NaN on both sides with other payload bits.
        sign: Rows that are NaN on both sides and differ in the sign bit only.
    """

    value: Mask | None
    payload: Mask | None = None
    sign: Mask | None = None


EQUAL = Differences(None)
INTEGERS = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}


def differences(a: Any, b: Any) -> Differences:
    """The rows in which two arrays of the same type and length differ.

    >>> differences(pa.array([0.0, 1.0]), pa.array([-0.0, 1.0])).value.tolist()
    [True, False]
    """
    a, b = storage(a), storage(b)
    kind = a.type
    if pa.types.is_null(kind):
        return EQUAL
    if pa.types.is_floating(kind):
        return _floats(a, b)
    if pa.types.is_dictionary(kind):
        return differences(a.dictionary_decode(), b.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return differences(_run_ends(a), _run_ends(b))
    if not has_floats(kind) and a.equals(b):
        return EQUAL
    if pa.types.is_struct(kind):
        return _structs(a, b)
    if pa.types.is_map(kind):
        return _lists(as_pairs(a), as_pairs(b))
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        return _lists(a, b)
    return _plain(a, b)


def _run_ends(array: Any) -> Any:
    return pc.call_function("run_end_decode", [array])


def storage(array: Any) -> Any:
    """The array below an extension type."""
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    return array


def has_floats(kind: Any) -> bool:
    """Whether a type is or contains a floating-point type."""
    if isinstance(kind, pa.BaseExtensionType):
        return has_floats(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return has_floats(kind.value_type)
    if pa.types.is_map(kind):
        return has_floats(kind.key_type) or has_floats(kind.item_type)
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        return any(has_floats(kind.field(at).type) for at in range(kind.num_fields))
    if pa.types.is_nested(kind):
        item: Any = kind
        return has_floats(item.value_type)
    return bool(pa.types.is_floating(kind))


def _numpy(array: Any) -> Mask:
    out: Mask = array.to_numpy(zero_copy_only=False).astype(bool, copy=False)
    return out


def _nulls_differ(a: Any, b: Any) -> Mask | None:
    if a.null_count == 0 and b.null_count == 0:
        return None
    return _numpy(pc.xor(a.is_null(), b.is_null()))


def _some(mask: Mask | None) -> Mask | None:
    return mask if mask is not None and mask.any() else None


def either(a: Mask | None, b: Mask | None) -> Mask | None:
    """Rows that are marked in one of two masks, of which None marks none."""
    if a is None or b is None:
        return b if a is None else a
    return a | b


def _plain(a: Any, b: Any) -> Differences:
    if pa.types.is_interval(a.type):
        a, b = a.view(pa.binary(16)), b.view(pa.binary(16))
    try:
        unequal = pc.fill_null(pc.not_equal(a, b), False)
    except pa.ArrowNotImplementedError:
        return Differences(_some(_one_by_one(a, b)))
    return Differences(_some(either(_numpy(unequal), _nulls_differ(a, b))))


def _one_by_one(a: Any, b: Any) -> Mask:
    """For types without a comparison (unions): row against row."""
    return np.fromiter(
        (not a.slice(at, 1).equals(b.slice(at, 1)) for at in range(len(a))), dtype=bool, count=len(a)
    )


def _floats(a: Any, b: Any) -> Differences:
    whole = INTEGERS[a.type.bit_width]
    bits_a, bits_b = a.view(whole), b.view(whole)
    if bits_a.equals(bits_b):
        return EQUAL
    unequal = _numpy(pc.fill_null(pc.not_equal(bits_a, bits_b), False))
    if a.type.bit_width == 16:
        a, b = a.cast(pa.float32()), b.cast(pa.float32())
    nan = _numpy(pc.fill_null(pc.and_(pc.is_nan(a), pc.is_nan(b)), False)) & unequal
    value = either(unequal & ~nan, _nulls_differ(a, b))
    if not nan.any():
        return Differences(_some(value))
    sign_off = pa.scalar(2 ** (whole.bit_width - 1) - 1, whole)
    same_payload = pc.equal(pc.bit_wise_and(bits_a, sign_off), pc.bit_wise_and(bits_b, sign_off))
    sign = nan & _numpy(pc.fill_null(same_payload, False))
    return Differences(_some(value), _some(nan & ~sign), _some(sign))


def _structs(a: Any, b: Any) -> Differences:
    value = _nulls_differ(a, b)
    payload = sign = None
    for left, right in zip(a.flatten(), b.flatten(), strict=True):
        inner = differences(left, right)
        value = either(value, inner.value)
        payload, sign = either(payload, inner.payload), either(sign, inner.sign)
    return Differences(_some(value), payload, sign)


def _lists(a: Any, b: Any) -> Differences:
    """Rows of other validity or length, then the items of the rest, folded to rows."""
    lengths_a = pc.fill_null(pc.list_value_length(a), -1)
    lengths_b = pc.fill_null(pc.list_value_length(b), -1)
    alike = _numpy(pc.equal(lengths_a, lengths_b))
    inner_a, inner_b = a, b
    if not alike.all():
        keep = pa.array(alike)
        inner_a, inner_b = a.filter(keep), b.filter(keep)
    inner = differences(inner_a.flatten(), inner_b.flatten())

    def fold(mask: Mask | None) -> Mask | None:
        if mask is None:
            return None
        out = np.zeros(len(a), dtype=bool)
        out[alike] = in_rows(mask, inner_a)
        return out

    value = either(fold(inner.value), None if alike.all() else ~alike)
    return Differences(_some(value), fold(inner.payload), fold(inner.sign))


def in_rows(mask: Mask, lists: Any) -> Mask:
    """Which lists have a marked item, of marks on the items of all lists that are not null.

    >>> in_rows(np.array([False, True, False]), pa.array([[1, 2], None, [3]])).tolist()
    [True, False, False]
    """
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    out = np.zeros(len(lists), dtype=bool)
    out[np.repeat(np.arange(len(lists)), lengths)[mask]] = True
    return out


def as_pairs(array: Any, names: Sequence[str] = ("key", "value")) -> Any:
    """A map as a list of its pairs, which have these names."""
    kind = array.type
    return array.cast(pa.list_(pa.struct(list(zip(names, (kind.key_type, kind.item_type), strict=True)))))


def without_views(array: Any) -> Any:
    """The array with lists in the place of list views: Arrow's cast of these loses items, or reads beyond them.

    >>> without_views(pa.array([[1], None, [2, 3]], pa.list_view(pa.int8()))).to_pylist()
    [[1], None, [2, 3]]
    """
    kind = array.type
    if not _has_views(kind):
        return array
    if pa.types.is_struct(kind):
        parts = [without_views(part) for part in array.flatten()]
        return pa.StructArray.from_arrays(parts, [field.name for field in kind], mask=array.is_null())
    lists = as_pairs(array) if pa.types.is_map(kind) else array
    items = without_views(lists.flatten())
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    if pa.types.is_map(kind):
        ends_of_maps: Any = pa.array(ends, pa.int32())
        return pa.MapArray.from_arrays(ends_of_maps, *items.flatten(), mask=array.is_null())
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), items, mask=array.is_null())


def _has_views(kind: Any) -> bool:
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return True
    if pa.types.is_map(kind):
        return _has_views(kind.key_type) or _has_views(kind.item_type)
    return pa.types.is_nested(kind) and any(_has_views(kind.field(at).type) for at in range(kind.num_fields))
