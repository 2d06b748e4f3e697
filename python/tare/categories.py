"""Categories of Arrow: the levels of arrays that each have their own, brought together at whatever depth they stand.

Unordered levels stand in order of appearance. Those of ordered categories stand as every array has them: `lo, hi` and
`lo, mid, hi` are `lo, mid, hi`. Where several orders fit, what appeared first comes first: of `lo, hi` and `mid` nothing
says where `mid` belongs, and it is last. Where two arrays contradict each other there is none.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tare.errors import EncodeError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Contradiction",
    "Gathered",
    "has_levels",
    "has_order",
    "in_one_order",
    "merged_order",
    "one_dictionary",
    "ordered_within",
    "orders_of",
    "same_levels",
    "with_levels",
]

# Levels that wait until they are looked up together, each time in all levels so far: as many as those, and at least these.
_BYTES_AT_ONCE = 8 << 20
_PLACE_BITS = 32


def has_levels(kind: Any) -> bool:
    """Whether a type is or holds categories.

    >>> import pyarrow as pa
    >>> has_levels(pa.list_(pa.dictionary(pa.int8(), pa.string()))), has_levels(pa.string())
    (True, False)
    """
    return any(True for _ in _categories_in(kind))


def has_order(kind: Any) -> bool:
    """Whether a type is or holds ordered categories.

    >>> import pyarrow as pa
    >>> has_order(pa.dictionary(pa.int8(), pa.string()))
    False
    """
    return bool(ordered_within(kind))


def ordered_within(kind: Any) -> list[Any]:
    """The ordered categories that a type is or holds, each by its own type; also those that the levels of others hold.

    >>> import pyarrow as pa
    >>> ordered_within(pa.list_(pa.dictionary(pa.int8(), pa.string(), ordered=True)))
    [DictionaryType(dictionary<values=string, indices=int8, ordered=1>)]
    """
    found: list[Any] = []
    for one in _categories_in(kind):
        found += [one] if one.ordered else []
        found += ordered_within(one.value_type)
    return found


def _categories_in(kind: Any) -> Iterator[Any]:
    """The categories of a type, in the order in which `_dictionaries` and `_empty` take them."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        yield from _categories_in(kind.storage_type)
    elif pa.types.is_dictionary(kind):
        yield kind
    elif pa.types.is_run_end_encoded(kind):
        yield from _categories_in(kind.value_type)
    elif pa.types.is_nested(kind):
        for at in range(kind.num_fields):
            yield from _categories_in(kind.field(at).type)


def _dictionaries(array: Any) -> list[Any]:
    """The dictionaries of an array, at every depth."""
    import pyarrow as pa

    kind, types = array.type, pa.types
    if not has_levels(kind):
        return []
    if isinstance(kind, pa.BaseExtensionType):
        return _dictionaries(array.storage)
    if types.is_dictionary(kind):
        return [array.dictionary]
    if types.is_map(kind):
        return _dictionaries(array.keys) + _dictionaries(array.items)
    if types.is_struct(kind) or types.is_union(kind):
        return [one for at in range(kind.num_fields) for one in _dictionaries(array.field(at))]
    return _dictionaries(array.values)


def _empty(kind: Any, dictionaries: Iterator[Any]) -> Any:
    """An array of no row, with these dictionaries."""
    import pyarrow as pa

    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _empty(kind.storage_type, dictionaries))
    if types.is_dictionary(kind):
        codes: Any = pa.array([], kind.index_type)
        return pa.DictionaryArray.from_arrays(codes, next(dictionaries), ordered=kind.ordered)
    none = pa.py_buffer(b"")
    if types.is_run_end_encoded(kind):
        runs: Any = pa.RunEndEncodedArray
        children = [pa.array([], kind.run_end_type), _empty(kind.value_type, dictionaries)]
        return runs.from_buffers(kind, 0, [None], 0, 0, children=children)
    if not types.is_nested(kind):
        return pa.array([], kind)
    buffers: list[Any] = [None]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        buffers.append(pa.py_buffer(bytes(8)))  # one offset, of 32 or 64 bits
    elif types.is_list_view(kind) or types.is_large_list_view(kind):
        buffers += [none, none]
    elif types.is_union(kind):
        buffers += [none, none] if kind.mode == "dense" else [none]
    children = [_empty(kind.field(at).type, dictionaries) for at in range(kind.num_fields)]
    return pa.Array.from_buffers(kind, 0, buffers, 0, 0, children=children)


# --- orders ---------------------------------------------------------------------------------


class Contradiction(ValueError):
    """Of two levels each comes before the other.

    Args:
        first: The place of the one that came first at first.
        second: The place of the other.
    """

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second} stand in both orders")
        self.places = (first, second)


def merged_order(chains: Iterable[Any], count: int) -> Any:
    """The numbers from 0 to ``count``, in the order of which each chain has a part; smaller ones first, where it may be.

    Args:
        chains: Arrays of such numbers, each in an order of its own.
        count: How many numbers there are.

    Raises:
        Contradiction: There is no such order.

    >>> import numpy as np
    >>> merged_order([np.array([0, 1]), np.array([0, 2, 1])], 3).tolist()
    [0, 2, 1]
    """
    import numpy as np

    return _in_order(np.unique(np.concatenate([_steps(np.asarray(one)) for one in [[], *chains]])), count)


def orders_of(chains: Sequence[Any], count: int) -> list[list[int]]:
    """The order of `merged_order`; where there is none each chain once, of which there are several then.

    >>> import numpy as np
    >>> orders_of([np.array([0, 1]), np.array([0, 2, 1])], 3), orders_of([np.array([0, 1]), np.array([1, 0])], 2)
    ([[0, 2, 1]], [[0, 1], [1, 0]])
    """
    try:
        return [merged_order(chains, count).tolist()]
    except Contradiction:
        return [list(one) for one in dict.fromkeys(tuple(one.tolist()) for one in chains)]


def _steps(chain: Any) -> Any:
    """Each number of a chain with the next one, as one number. A level that a dictionary has twice is where it is first."""
    import numpy as np

    chain = chain.astype(np.int64)
    once = np.unique(chain, return_index=True)[1]
    if len(once) < len(chain):
        chain = chain[np.sort(once)]
    return (chain[:-1] << _PLACE_BITS) | chain[1:]


def _in_order(steps: Any, count: int) -> Any:
    """As `merged_order`, of steps that are sorted and there once."""
    import numpy as np

    before, after = steps >> _PLACE_BITS, steps & ((1 << _PLACE_BITS) - 1)
    if (before < after).all():
        return np.arange(count)
    starts = np.searchsorted(before, np.arange(count + 1)).tolist()
    waiting = np.bincount(after, minlength=count).tolist()
    ready = [one for one in range(count) if not waiting[one]]  # sorted, so that it is a heap
    following, found = after.tolist(), []
    while ready:
        one = heapq.heappop(ready)
        found.append(one)
        for other in following[starts[one] : starts[one + 1]]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, other)
    if len(found) < count:
        raise _contradiction(before, after, np.array(waiting) > 0)
    return np.array(found)


def _contradiction(before: Any, after: Any, left: Any) -> Contradiction:
    """Two numbers of a circle among those that are left, each of which has one before it."""
    import numpy as np

    inside = left[before] & left[after]
    previous = dict(zip(after[inside].tolist(), before[inside].tolist(), strict=True))
    at = int(np.argmax(left))
    seen: dict[int, int] = {}
    while at not in seen:
        seen[at] = previous[at]
        at = previous[at]
    circle = [at]
    while seen[circle[-1]] != at:
        circle.append(seen[circle[-1]])
    pairs = zip(circle, [*circle[1:], at], strict=True)
    return Contradiction(*next((one, earlier) for one, earlier in pairs if earlier > one))


# --- levels ---------------------------------------------------------------------------------


class _Levels:
    """The levels of one category, gathered from dictionaries; each level is looked up a few times, however many there are."""

    def __init__(self, ordered: bool) -> None:
        import numpy as np

        self._ordered = ordered
        self._known: Any = None
        self._as_given = False
        self._steps = np.zeros(0, np.int64)
        self._waiting: list[Any] = []
        self._size = 0
        self._last: Any = None

    def add(self, dictionary: Any) -> None:
        if self._last is not None and dictionary.equals(self._last):
            return
        self._last = dictionary
        self._waiting.append(dictionary)
        self._size += dictionary.nbytes
        if self._size >= max(_BYTES_AT_ONCE, self.nbytes):
            self.look_up()

    @property
    def nbytes(self) -> int:
        """Of the levels that were looked up."""
        return 0 if self._known is None else int(self._known.nbytes)

    def look_up(self) -> None:
        """Take those that wait to the others."""
        import numpy as np
        import pyarrow as pa

        some, self._waiting, self._size = self._waiting, [], 0
        if some and self._as_given:  # a level that it has twice will be there once, and others move
            some, self._known, self._as_given = [self._known, *some], None, False
            self._steps = self._steps[:0]
        if self._known is None and len(some) == 1:
            self._known, self._as_given = some[0], True
            chains = [np.arange(len(some[0]))]
        elif some:
            parts = some if self._known is None else [self._known, *some]
            codes: list[Any] = [pa.array(np.arange(len(one), dtype=np.int32)) for one in parts]
            coded = map(pa.DictionaryArray.from_arrays, codes, parts)
            chunks = _looked_up(list(coded))
            self._known = chunks[0].dictionary
            chains = [one.indices.to_numpy() for one in chunks[len(parts) - len(some) :]]
        else:
            return
        if self._ordered:
            self._steps = np.unique(np.concatenate([self._steps, *map(_steps, chains)]))

    def all(self) -> Any:
        """All of them; None if there was no array.

        Raises:
            EncodeError: Two arrays contradict each other.
        """
        import pyarrow as pa

        self.look_up()
        if not self._ordered or self._known is None:
            return self._known
        try:
            order = _in_order(self._steps, len(self._known))
        except Contradiction as error:
            first, second = (_text(self._known[place]) for place in error.places)
            raise EncodeError(
                f"its parts contradict each other in the order of its levels: {first} comes before {second} in one and after it "
                "by others, and one dictionary has one order"
            ) from error
        return self._known.take(pa.array(order)) if (order[1:] < order[:-1]).any() else self._known


def _text(level: Any) -> str:
    try:
        return repr(level.as_py())[:40]
    except (ValueError, OverflowError):  # a moment that Python has not
        return f"a {level.type}"


class Gathered:
    """The levels of a column, at every depth, gathered from its arrays.

    Args:
        kind: The type of the column.
        most: Bytes of levels from which on it is given up; None for all. An order is never given up.

    >>> import pyarrow as pa
    >>> levels = Gathered(pa.dictionary(pa.int32(), pa.string()))
    >>> for cells in (["a", "b"], ["c", "b"]):
    ...     levels.add(pa.array(cells).dictionary_encode())
    >>> levels.array().dictionary.to_pylist()
    ['a', 'b', 'c']
    """

    def __init__(self, kind: Any, *, most: int | None = None) -> None:
        self._kind = kind
        self._parts = [_Levels(one.ordered) for one in _categories_in(kind)]
        self._most = None if has_order(kind) else most
        self.refused = False
        self.given_up = False

    @property
    def open(self) -> bool:
        """Whether more levels are asked for."""
        return not (self.refused or self.given_up)

    def add(self, array: Any) -> None:
        """Take the levels of an array."""
        if not self.open:
            return
        try:
            for part, dictionary in zip(self._parts, _dictionaries(array), strict=True):
                part.add(dictionary)
        except _refusals():
            self._end(refused=True)
            return
        self._weigh()

    def array(self) -> Any:
        """An array of no row that has all of them.

        None if there was no array, if it was given up, or where Arrow does not gather them: they are more than the codes
        count or than an array holds, a null is among those of several dictionaries, or it does not look up their type.

        Raises:
            EncodeError: Two arrays contradict each other in the order of their levels.
        """
        if not self.open:
            return None
        try:
            found = [part.all() for part in self._parts]
            if any(one is None for one in found):
                return None
            self._weigh()
            counted = zip(found, _categories_in(self._kind), strict=True)
            if any(len(levels) > _most_codes(kind.index_type) for levels, kind in counted):
                self._end(refused=True)
            return _empty(self._kind, iter(found)) if self.open else None
        except _refusals():
            self._end(refused=True)
            return None

    def _weigh(self) -> None:
        if self._most is not None and sum(part.nbytes for part in self._parts) > self._most:
            self._end(refused=False)

    def _end(self, *, refused: bool) -> None:
        self.refused, self.given_up = refused, not refused
        self._parts = []


def _most_codes(index: Any) -> int:
    """How many levels codes of a type count."""
    import pyarrow as pa

    return 1 << (int(index.bit_width) - pa.types.is_signed_integer(index))


def _refusals() -> tuple[type[Exception], ...]:
    """What Arrow raises where it does not bring levels together."""
    import pyarrow as pa

    return pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowCapacityError


class _Shared:
    """The memory of an array in an object of its own."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


def _looked_up(arrays: list[Any]) -> list[Any]:
    """Each level of each array is looked up among those before it."""
    import pyarrow as pa

    return pa.chunked_array(arrays).unify_dictionaries().chunks


def with_levels(first: Any, chunks: Sequence[Any]) -> list[Any]:
    """The arrays with the levels of a first one, and after them what they add; as they are where Arrow cannot give them those.

    Args:
        first: An array of their type, as `Gathered.array` makes it.
        chunks: The arrays.
    """
    return _together([first, *chunks])[1:]


def same_levels(chunks: Sequence[Any]) -> list[Any]:
    """Arrays of one type with the same levels, at whatever depth: in order of appearance, or in that of ordered categories.

    They stay as they are where Arrow cannot give them those: more than the codes count or than an array holds, a null among the
    levels of several dictionaries, or a type that Arrow does not look up. An Arrow file refuses them then.

    Raises:
        EncodeError: Two arrays contradict each other in the order of their levels.

    >>> import pyarrow as pa
    >>> parts = [pa.array([x]).dictionary_encode() for x in "ab"]
    >>> [part.dictionary.to_pylist() for part in same_levels(parts)]
    [['a', 'b'], ['a', 'b']]
    """
    if len(chunks) < 2 or not has_order(chunks[0].type):
        return _together(chunks)
    levels = Gathered(chunks[0].type)
    for one in chunks:
        levels.add(one)
    first = levels.array()
    return list(chunks) if first is None else with_levels(first, chunks)


def _together(chunks: Sequence[Any]) -> list[Any]:
    """With the levels of the first one, then what others add."""
    import pyarrow as pa

    if len(chunks) < 2:
        return list(chunks)
    levels = [_dictionaries(one) for one in chunks]
    if all(one.equals(first) for some in levels[1:] for first, one in zip(levels[0], some, strict=True)):
        return list(chunks)
    given = list(chunks)
    if not pa.types.is_dictionary(given[0].type):
        # What is inside is put in place of what was there: in arrays that others have too, Arrow does not copy.
        own: Any = pa.array
        given = [own(_Shared(one)) for one in chunks]
    try:
        return _looked_up(given)
    except _refusals():
        return list(chunks)


def one_dictionary(table: pa.Table) -> pa.Table:
    """The table with the same levels in all chunks of a category; a column stays as it is, where Arrow cannot give it those.

    Raises:
        EncodeError: Two chunks contradict each other in the order of their levels.

    >>> import pyarrow as pa
    >>> grown = pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()])
    >>> one_dictionary(pa.table({"k": grown}))["k"].chunk(1).dictionary.to_pylist()
    ['a', 'b']
    """
    return _unified(table, has_levels)


def in_one_order(table: pa.Table) -> pa.Table:
    """As `one_dictionary`, of columns with ordered categories alone: for what takes levels in order of appearance.

    Raises:
        EncodeError: Two chunks contradict each other in the order of their levels.
    """
    return _unified(table, has_order)


def _unified(table: pa.Table, which: Any) -> pa.Table:
    import pyarrow as pa

    columns, changed = list(table.columns), False
    for at, field in enumerate(table.schema):
        if columns[at].num_chunks < 2 or not which(field.type):
            continue
        try:
            chunks = same_levels(columns[at].chunks)
        except EncodeError as error:
            raise EncodeError(f"column {field.name[:80]!r}: {error}", path=field.name) from error
        columns[at], changed = pa.chunked_array(chunks, field.type), True
    return pa.Table.from_arrays(columns, schema=table.schema) if changed else table
