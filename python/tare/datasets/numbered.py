"""The categories of a column as numbers: each level is looked up once, whatever chunks and dictionaries it stands in.

Levels are numbered in one order that does not depend on how the column is cut: those of the first dictionary, then what
others add, levels of no row too. Ordered ones have the order of all dictionaries, if these do not contradict each other.
Categories within one column whose levels are of one type share numbers: those of the first, then what others add.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tare.categories import Contradiction, merged_order
from tare.fidelity.column_masks import INTEGERS, whole
from tare.fidelity.tables import numbered

__all__ = ["Numbered"]


class Numbered:
    """The levels of the categories that a column is or holds, at every depth.

    Args:
        column: A chunked array.

    >>> column = pa.chunked_array([pa.array([x]).dictionary_encode() for x in "zaz"])
    >>> levels = Numbered(column)
    >>> [levels.of(chunk.dictionary).to_pylist() for chunk in column.chunks]
    [[0], [1], [0]]
    """

    def __init__(self, column: Any) -> None:
        self._known: dict[Any, tuple[Any, Any]] = {}
        self.levels: dict[str, Any] = {}
        self.orders: list[Any] = []
        found: list[tuple[bool, list[Any], str]] = []
        flat: dict[str, dict[Any, tuple[Any, Any]]] = {}
        for ordered, dictionaries in _categories(column.type, column.chunks):
            once, kind = {_place(one): one for one in dictionaries}, ""
            for place, one in once.items():
                plain = _plain(one)
                kind = str(plain.type)
                flat.setdefault(kind, {}).setdefault(place, (one, plain))
            found.append((ordered, list(once), kind))
        numbers: dict[Any, Any] = {}
        ranks: dict[str, Any] = {}
        for kind, parts in flat.items():
            levels, some = numbered([plain for _, plain in parts.values()])
            mine = dict(zip(parts, some, strict=True))
            orders = [
                _order([mine[place] for place in places], how) for how, places, its in found if its == kind
            ]
            shared = _order(orders, False)
            ranks[kind] = rank = np.empty(len(shared), np.int64)
            rank[shared] = np.arange(len(shared))
            self.levels[kind] = levels.take(pa.array(shared))
            for place, (dictionary, _) in parts.items():
                # The dictionary is held, so that no other one gets its place in memory.
                self._known[place] = dictionary, self._codes(rank[mine[place]], kind)
            numbers.update(mine)
        for how, places, kind in found:
            order = _order([numbers[place] for place in places], how)
            self.orders.append(pa.array(ranks[kind][order]) if kind else pa.array([], pa.int64()))

    def of(self, dictionary: Any) -> Any:
        """The number of each level of a dictionary, null for a level that is null; of a width that their count tells."""
        place = _place(dictionary)
        if place not in self._known:  # Arrow made one of several
            plain = _plain(dictionary)
            kind = str(plain.type)
            self._known[place] = dictionary, self._codes(numbered([self.levels[kind], plain])[1][1], kind)
        return self._known[place][1]

    def _codes(self, numbers: Any, kind: str) -> Any:
        levels = self.levels[kind]
        width = np.min_scalar_type(-len(levels))  # signed; of no level it is unsigned
        nulls = levels.is_null().to_numpy(zero_copy_only=False)[numbers] if levels.null_count else None
        return pa.array(numbers.astype(width), mask=nulls)


def _order(chains: list[Any], ordered: bool) -> Any:
    """The numbers of all chains, each once, in order of appearance; in that of all chains, if it is one and there is one."""
    every, first = np.unique(np.concatenate([np.zeros(0, np.int64), *chains]), return_index=True)
    found = every[np.argsort(first)]
    if ordered and len(chains) > 1:
        place = np.empty(int(every[-1]) + 1 if len(every) else 0, np.int64)
        place[found] = np.arange(len(found))
        with contextlib.suppress(Contradiction):
            return found[merged_order([place[chain] for chain in chains], len(found))]
    return found


def _plain(levels: Any) -> Any:
    """Levels in a type of which Arrow tells apart what is apart, however long they are together."""
    levels = whole(levels)
    kind = levels.type
    if pa.types.is_floating(kind):  # not a number is one level for Arrow, whatever its bits are
        return levels.view(INTEGERS[kind.bit_width])
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return levels.cast(pa.large_string() if pa.types.is_string(kind) else pa.large_binary())
    return levels


def _categories(kind: Any, chunks: list[Any]) -> Iterator[tuple[bool, list[Any]]]:
    """Of each category that a column is or holds whether it is ordered, and its dictionaries."""
    if pa.types.is_dictionary(kind):
        found = [chunk.dictionary for chunk in chunks]
        yield kind.ordered, found
        yield from _categories(kind.value_type, found)
        return
    for at, part in enumerate(_part_types(kind)):
        yield from _categories(part, [_parts(chunk)[at] for chunk in chunks])


def _part_types(kind: Any) -> list[Any]:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return [kind.storage_type]
    if types.is_map(kind):
        return [kind.key_type, kind.item_type]
    if types.is_struct(kind) or types.is_union(kind):
        return [kind.field(at).type for at in range(kind.num_fields)]
    return [kind.value_type] if kind.num_fields else []  # lists, views of them, runs


def _parts(array: Any) -> list[Any]:
    """What is within an array, as `_part_types` has it."""
    kind, types = array.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return [array.storage]
    if types.is_map(kind):
        return [array.keys, array.items]
    if types.is_struct(kind) or types.is_union(kind):
        return [array.field(at) for at in range(kind.num_fields)]
    return [array.values] if kind.num_fields else []


def _place(levels: Any) -> Any:
    """What two arrays share that are the same memory: chunks of one column often have one dictionary."""
    kind = levels.type
    own = str(kind), levels.offset, len(levels), *(part.address if part else 0 for part in levels.buffers())
    inner = [levels.dictionary, levels.indices] if pa.types.is_dictionary(kind) else _parts(levels)
    if pa.types.is_run_end_encoded(kind):
        inner.append(levels.run_ends)
    return own, *map(_place, inner)
