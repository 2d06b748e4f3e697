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
    "castable",
    "decoded",
    "differences",
    "either",
    "equal_types",
    "has_floats",
    "in_rows",
    "storage",
    "whole",
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
_MISCAST = (pa.types.is_list_view, pa.types.is_large_list_view, pa.types.is_run_end_encoded)
INTEGERS = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}


def differences(a: Any, b: Any) -> Differences:
    """The rows in which two arrays of the same type and length differ.

    >>> differences(pa.array([0.0, 1.0]), pa.array([-0.0, 1.0])).value.tolist()
    [True, False]
    """
    a, b = storage(a), storage(b)
    if any(_is_encoded(side.type) for side in (a, b)):
        return differences(whole(a), whole(b))
    kind = a.type
    if pa.types.is_null(kind):
        return EQUAL
    if pa.types.is_floating(kind):
        return _floats(a, b)
    if not has_floats(kind) and a.equals(b):
        return EQUAL
    if pa.types.is_struct(kind):
        return _structs(a, b)
    if pa.types.is_map(kind):
        return _lists(as_pairs(a), as_pairs(b))
    if pa.types.is_union(kind):
        return _unions(a, b)
    if pa.types.is_nested(kind):
        return _lists(a, b)
    return _plain(a, b)


def equal_types(a: Any, b: Any) -> bool:
    """Whether two types are one. Arrow takes runs of one extension type for those of any other.

    >>> equal_types(pa.run_end_encoded(pa.int32(), pa.uuid()), pa.run_end_encoded(pa.int32(), pa.json_()))
    False
    """
    return bool(a.equals(b)) and str(a) == str(b)


def storage(array: Any) -> Any:
    """The array below an extension type."""
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    return array


def decoded(array: Any) -> Any:
    """The array without extension types, dictionary or run-end encoding, in whatever order they lie on each other.

    >>> decoded(pa.array(["b", None]).dictionary_encode()).to_pylist()
    ['b', None]
    """
    array = storage(array)
    if pa.types.is_dictionary(array.type):
        return _taken(array.dictionary, array.indices)
    if pa.types.is_run_end_encoded(array.type):
        rows = np.arange(array.offset, array.offset + len(array))
        return _taken(array.values, pa.array(np.searchsorted(np.asarray(array.run_ends), rows, side="right")))
    return array


def whole(array: Any) -> Any:
    """The array decoded, and texts and bytes in the place of views of them, which fewer of Arrow's functions take."""
    array = decoded(array)
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def _taken(values: Any, places: Any) -> Any:
    return whole(values).take(places)


def _is_encoded(kind: Any) -> bool:
    return bool(pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind))


def has_floats(kind: Any) -> bool:
    """Whether a type is or contains a floating-point type."""
    if isinstance(kind, pa.BaseExtensionType):
        return has_floats(kind.storage_type)
    if _is_encoded(kind):
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
    """Rows of other validity, then the fields of the rest: what lies under a null is nothing.

    The fields are as they lie there. Flattened they would have the nulls of the struct, and Arrow ends the process
    where one is a union, which can have none.
    """
    found = [_nulls_differ(a, b), None, None]
    shown = _numpy(pc.and_(a.is_valid(), b.is_valid())) if a.null_count or b.null_count else True
    for at in range(a.type.num_fields):
        for place, mask in enumerate(differences(a.field(at), b.field(at))):
            found[place] = either(found[place], None if mask is None else _some(mask & shown))
    return Differences(_some(found[0]), *found[1:])


def _unions(a: Any, b: Any) -> Differences:
    """Rows of another member, then those of each member, of which each has a part of the rows."""
    if len(a) == 0:
        return EQUAL
    codes_a, codes_b = _codes(a), _codes(b)
    found: list[Mask | None] = [_some(codes_a != codes_b), None, None]
    for at, code in enumerate(a.type.type_codes):
        rows = np.flatnonzero((codes_a == code) & (codes_b == code))
        for place, mask in enumerate(differences(_member(a, at, rows), _member(b, at, rows))):
            if mask is not None:
                marked = np.zeros(len(a), dtype=bool)
                marked[rows[mask]] = True
                found[place] = either(found[place], marked)
    return Differences(*found)


def _codes(array: Any) -> Any:
    """Of which member each row of a union is; the array's own ``type_codes`` forget that it is a slice."""
    return np.frombuffer(array.buffers()[1], np.int8)[array.offset : array.offset + len(array)]


def _member(array: Any, at: int, rows: Any) -> Any:
    """One member's values in these rows."""
    if array.type.mode == "dense":
        rows = np.frombuffer(array.buffers()[2], np.int32)[array.offset + rows]
    return _taken(array.field(at), pa.array(rows, pa.int64()))


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


def castable(array: Any) -> Any:
    """The array with lists in the place of list views, and without runs.

    Arrow's cast of views loses items or reads beyond them, and of runs in a part of a struct it takes other rows. Those
    within unions stay, for Arrow casts none to another type.

    >>> castable(pa.array([[1], None, [2, 3]], pa.list_view(pa.int8()))).to_pylist()
    [[1], None, [2, 3]]
    """
    kind = array.type
    if not _is_miscast(kind):
        return array
    if pa.types.is_run_end_encoded(kind):
        return castable(decoded(array))
    if pa.types.is_struct(kind):
        parts = [castable(array.field(at)) for at in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, [field.name for field in kind], mask=array.is_null())
    lists = as_pairs(array) if pa.types.is_map(kind) else array
    items = castable(lists.flatten())
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    if pa.types.is_map(kind):
        ends_of_maps: Any = pa.array(ends, pa.int32())
        return pa.MapArray.from_arrays(ends_of_maps, *items.flatten(), mask=array.is_null())
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), items, mask=array.is_null())


def _is_miscast(kind: Any) -> bool:
    if pa.types.is_union(kind):
        return False
    if any(test(kind) for test in _MISCAST):
        return True
    if pa.types.is_map(kind):
        return _is_miscast(kind.key_type) or _is_miscast(kind.item_type)
    return pa.types.is_nested(kind) and any(_is_miscast(kind.field(at).type) for at in range(kind.num_fields))
