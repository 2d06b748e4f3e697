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
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Compare = Callable[[Any, Any], "Differences"]
    LookUp = Callable[[Any], Any]

__all__ = [
    "INTEGERS",
    "Differences",
    "as_pairs",
    "codes_of",
    "decoded",
    "differences",
    "either",
    "equal_types",
    "has_floats",
    "holds",
    "in_parts",
    "in_rows",
    "items_of",
    "members",
    "storage",
    "union_places",
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
_TEXT_VIEWS = (pa.types.is_string_view, pa.types.is_binary_view)
_ENCODED = (pa.types.is_dictionary, pa.types.is_run_end_encoded)
_ODD = (*_ENCODED, *_TEXT_VIEWS, pa.types.is_list_view, pa.types.is_large_list_view)
INTEGERS = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}


def differences(a: Any, b: Any) -> Differences:
    """The rows in which two arrays of the same type and length differ.

    >>> differences(pa.array([0.0, 1.0]), pa.array([-0.0, 1.0])).value.tolist()
    [True, False]
    """
    a, b = storage(a), storage(b)
    if any(test(side.type) for test in (*_ENCODED, *_TEXT_VIEWS) for side in (a, b)):
        return differences(whole(a), whole(b))
    kind = a.type
    if pa.types.is_null(kind):
        return EQUAL
    if pa.types.is_floating(kind):
        return _floats(a, b)
    if not has_floats(kind) and a.equals(b):
        return EQUAL
    return in_parts(a, b, differences) if pa.types.is_nested(kind) else _plain(a, b)


def in_parts(a: Any, b: Any, compare: Compare) -> Differences:
    """The rows in which two nested arrays of one shape differ: structs, unions, or lists and maps.

    Args:
        a: The one.
        b: The other, of the same length.
        compare: Compares their parts.
    """
    if pa.types.is_struct(a.type):
        return _structs(a, b, compare)
    if pa.types.is_union(a.type):
        return _unions(a, b, compare)
    a, b = (as_pairs(side) if pa.types.is_map(side.type) else side for side in (a, b))
    return _lists(a, b, compare)


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


def decoded(array: Any, look_up: LookUp | None = None) -> Any:
    """The array without extension types, dictionary or run-end encoding, in whatever order they lie on each other.

    Args:
        array: The array.
        look_up: What stands for the levels of a dictionary; None for themselves.

    >>> decoded(pa.array(["b", None]).dictionary_encode()).to_pylist()
    ['b', None]
    """
    array = storage(array)
    if pa.types.is_dictionary(array.type):
        return (look_up or whole)(array.dictionary).take(array.indices)
    if pa.types.is_run_end_encoded(array.type):
        rows = np.arange(array.offset, array.offset + len(array))
        places = np.searchsorted(np.asarray(array.run_ends), rows, side="right")
        return whole(array.values, look_up).take(pa.array(places))
    return array


def whole(array: Any, look_up: LookUp | None = None) -> Any:
    """The array decoded, with texts, bytes and lists in the place of views of them, at every depth.

    Fewer of Arrow's functions take these: none picks rows of lists of views of texts, or of lists of runs. Its cast of
    views of lists loses items or reads beyond them, and of runs in a part of a struct it takes other rows. Lists of a
    fixed size that hold such become lists of any. A type of somebody's own stays within others if it holds none.

    Args:
        array: The array.
        look_up: What stands for the levels of a dictionary, as for `decoded`.

    >>> whole(pa.array([["a"], None], pa.list_view(pa.string_view()))).type
    LargeListType(large_list<item: large_string>)
    """
    array = decoded(array, look_up)
    kind = array.type
    if not _is_odd(kind):
        return array
    if any(test(kind) for test in _TEXT_VIEWS):
        return array.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
    if pa.types.is_struct(kind):
        parts = [_whole_part(array.field(at), look_up) for at in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, [field.name for field in kind], mask=array.is_null())
    return (_whole_union if pa.types.is_union(kind) else _whole_lists)(array, look_up)


def _whole_part(array: Any, look_up: LookUp | None) -> Any:
    return whole(array, look_up) if _is_odd(array.type) else array


def _whole_lists(array: Any, look_up: LookUp | None) -> Any:
    kind = array.type
    lists = as_pairs(array) if pa.types.is_map(kind) else array
    items = _whole_part(items_of(lists), look_up)
    ends = np.concatenate([[0], np.cumsum(_lengths(lists))])
    if pa.types.is_map(kind):
        ends_of_maps: Any = pa.array(ends, pa.int32())
        return pa.MapArray.from_arrays(ends_of_maps, items.field(0), items.field(1), mask=array.is_null())
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), items, mask=array.is_null())


def _whole_union(array: Any, look_up: LookUp | None) -> Any:
    kind = array.type
    parts = [_whole_part(array.field(at), look_up) for at in range(kind.num_fields)]
    names = [kind.field(at).name for at in range(kind.num_fields)]
    codes = pa.array(codes_of(array), pa.int8())
    if kind.mode == "sparse":
        return pa.UnionArray.from_sparse(codes, parts, names, kind.type_codes)
    return pa.UnionArray.from_dense(
        codes, pa.array(union_places(array), pa.int32()), parts, names, kind.type_codes
    )


def _is_odd(kind: Any) -> bool:
    """Whether a type is or contains one that `whole` replaces."""
    return holds(kind, *_ODD)


def has_floats(kind: Any) -> bool:
    """Whether a type is or contains a floating-point type."""
    return holds(kind, pa.types.is_floating)


def holds(kind: Any, *tests: Callable[[Any], bool]) -> bool:
    """Whether one of the tests is true of a type or of a part of it.

    >>> holds(pa.list_(pa.dictionary(pa.int8(), pa.string())), pa.types.is_dictionary)
    True
    """
    if isinstance(kind, pa.BaseExtensionType):
        return holds(kind.storage_type, *tests)
    if any(test(kind) for test in tests):
        return True
    if any(test(kind) for test in _ENCODED):
        return holds(kind.value_type, *tests)
    if pa.types.is_map(kind):
        return holds(kind.key_type, *tests) or holds(kind.item_type, *tests)
    return pa.types.is_nested(kind) and any(
        holds(kind.field(at).type, *tests) for at in range(kind.num_fields)
    )


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
    """For types that Arrow has no comparison of, as small decimals in its older versions: row against row."""
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


def _structs(a: Any, b: Any, compare: Compare) -> Differences:
    """Rows of other validity, then the fields of the rest: what lies under a null is nothing.

    The fields are as they lie there. Flattened they would have the nulls of the struct, and Arrow ends the process
    where one is a union, which can have none.
    """
    found = [_nulls_differ(a, b), None, None]
    shown = _numpy(pc.and_(a.is_valid(), b.is_valid())) if a.null_count or b.null_count else True
    for at in range(a.type.num_fields):
        for place, mask in enumerate(compare(a.field(at), b.field(at))):
            found[place] = either(found[place], None if mask is None else _some(mask & shown))
    return Differences(_some(found[0]), *found[1:])


def _unions(a: Any, b: Any, compare: Compare) -> Differences:
    """Rows of another member, then those of each member, of which each has a part of the rows."""
    codes_a, codes_b = codes_of(a), codes_of(b)
    shared = codes_a == codes_b
    found: list[Mask | None] = [_some(~shared), None, None]
    for (rows, ours), (_, theirs) in zip(members(a, shared), members(b, shared), strict=True):
        for place, mask in enumerate(compare(ours, theirs)):
            if mask is not None:
                marked = np.zeros(len(a), dtype=bool)
                marked[rows[mask]] = True
                found[place] = either(found[place], marked)
    return Differences(*found)


def members(array: Any, shown: Mask | bool = True) -> Iterator[tuple[Any, Any]]:
    """For each member of a union the rows that are of it, and its values there.

    Args:
        array: The union.
        shown: Marks of the rows that are looked at.

    >>> union = pa.UnionArray.from_sparse(pa.array([1, 0], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    >>> [(rows.tolist(), values.to_pylist()) for rows, values in members(union)]
    [([1], [2]), ([0], ['a'])]
    """
    codes = codes_of(array)
    for at, code in enumerate(array.type.type_codes):
        rows = np.flatnonzero((codes == code) & shown)
        places = union_places(array)[rows] if array.type.mode == "dense" else rows
        yield rows, whole(array.field(at)).take(pa.array(places, pa.int64()))


def codes_of(array: Any) -> Any:
    """Of which member each row of a union is; the array's own ``type_codes`` forget that it is a slice."""
    return _slice_of(array, 1, np.int8)


def union_places(array: Any) -> Any:
    """Where each row of a dense union is in its member."""
    return _slice_of(array, 2, np.int32)


def _slice_of(array: Any, at: int, kind: Any) -> Any:
    if len(array) == 0:  # there may be no buffer
        return np.zeros(0, kind)
    return np.frombuffer(array.buffers()[at], kind)[array.offset : array.offset + len(array)]


def _lists(a: Any, b: Any, compare: Compare) -> Differences:
    """Rows of other validity or length, then the items of the rest, folded to rows."""
    lengths_a = pc.fill_null(pc.list_value_length(a), -1)
    lengths_b = pc.fill_null(pc.list_value_length(b), -1)
    alike = _numpy(pc.equal(lengths_a, lengths_b))
    inner_a, inner_b = a, b
    if not alike.all():
        keep = pa.array(alike)
        inner_a, inner_b = whole(a).filter(keep), whole(b).filter(keep)
    inner = compare(items_of(inner_a), items_of(inner_b))

    def fold(mask: Mask | None) -> Mask | None:
        if mask is None:
            return None
        out = np.zeros(len(a), dtype=bool)
        out[alike] = in_rows(mask, inner_a)
        return out

    value = either(fold(inner.value), None if alike.all() else ~alike)
    return Differences(_some(value), fold(inner.payload), fold(inner.sign))


def items_of(lists: Any) -> Any:
    """The items of all lists; where there are none Arrow would make an array, which it cannot of every type."""
    if _lengths(lists).any():
        return lists.flatten()
    return lists.values.slice(0, 0)


def _lengths(lists: Any) -> Any:
    return pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)


def in_rows(mask: Mask, lists: Any) -> Mask:
    """Which lists have a marked item, of marks on the items of all lists that are not null.

    >>> in_rows(np.array([False, True, False]), pa.array([[1, 2], None, [3]])).tolist()
    [True, False, False]
    """
    out = np.zeros(len(lists), dtype=bool)
    out[np.repeat(np.arange(len(lists)), _lengths(lists))[mask]] = True
    return out


def as_pairs(array: Any, names: Sequence[str] = ("key", "value")) -> Any:
    """A map as a list of its pairs, which have these names."""
    kind = array.type
    if not _is_odd(kind):
        return array.cast(pa.list_(pa.struct(list(zip(names, (kind.key_type, kind.item_type), strict=True)))))
    # That cast takes other rows of runs, and loses items of views of lists.
    pairs = pa.StructArray.from_arrays([array.keys, array.items], list(names))
    ends = np.array(array.offsets) if len(array) else np.zeros(1, np.int32)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pairs, mask=array.is_null())
