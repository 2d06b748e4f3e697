"""Whether ordered categories inside lists, structs, maps and unions came back with their order.

Their values are compared with the cells that hold them. Of their levels the order alone is looked at, not those of no
row: a part of a table keeps all that its nested types have, whichever rows it was given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tare.categories import ordered_within, orders_of
from tare.fidelity.column_masks import whole

__all__ = ["lost_order"]


def lost_order(a: Any, b: Any) -> tuple[str, str] | None:
    """The first ordered categories of a column that came back without an order or in another; None if none did.

    Args:
        a: The column as it was, a chunked array.
        b: As it came back, with the same values.

    Returns:
        What they were and what they are, as text.

    >>> levels = pa.array(["lo", "hi"])
    >>> was = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), levels, ordered=True)
    >>> lost_order(pa.chunked_array([pa.StructArray.from_arrays([was], ["c"])]), pa.chunked_array([[{"c": "lo"}]]))
    ('ordered', 'string')
    """
    return _lost(a.type, a.chunks, b.type, b.chunks) if ordered_within(a.type) else None


def _lost(kind: Any, chunks: list[Any], other: Any, others: list[Any]) -> tuple[str, str] | None:
    if isinstance(kind, pa.BaseExtensionType):
        return _lost(kind.storage_type, [one.storage for one in chunks], other, others)
    if isinstance(other, pa.BaseExtensionType):
        return _lost(kind, chunks, other.storage_type, [one.storage for one in others])
    if pa.types.is_dictionary(kind):
        return _lost_here(kind, chunks, other, others) if kind.ordered else None
    found = dict(_parts(other, others))
    for name, (part, arrays) in _parts(kind, chunks):
        if ordered_within(part):
            if name not in found:
                return "ordered", str(other)
            lost = _lost(part, arrays, *found[name])
            if lost is not None:
                return lost
    return None


def _lost_here(kind: Any, chunks: list[Any], other: Any, others: list[Any]) -> tuple[str, str] | None:
    if not pa.types.is_dictionary(other) or not other.ordered:
        return "ordered", str(other)
    before, after = _levels(chunks), _levels(others)
    shared = {one for order in before for one in order} & {one for order in after for one in order}
    if _of_them(before, shared) == _of_them(after, shared):
        return None
    return _shown(before), _shown(after)


def _levels(chunks: list[Any]) -> list[list[str]]:
    """Levels as text, in their order; those of each chunk, where they contradict each other."""
    texts = [tuple(repr(level) for level in whole(one.dictionary).to_pylist()) for one in chunks]
    orders = list(dict.fromkeys(texts))
    names = list(dict.fromkeys(level for order in orders for level in order))
    place = {level: at for at, level in enumerate(names)}
    chains = [np.array([place[level] for level in order], np.int64) for order in orders]
    return [[names[at] for at in order] for order in orders_of(chains, len(names))]


def _of_them(orders: list[list[str]], wanted: set[str]) -> list[list[str]]:
    """The orders without other levels; each of those that are left once."""
    left = dict.fromkeys(tuple(one for one in order if one in wanted) for order in orders)
    return [list(order) for order in left]


def _shown(orders: list[list[str]]) -> str:
    return (f"levels {orders[0]}" if len(orders) == 1 else f"levels {orders}, which contradict each other")[
        :80
    ]


def _parts(kind: Any, chunks: list[Any]) -> list[tuple[Any, tuple[Any, list[Any]]]]:
    """What a nested type is made of, each with a name that its counterpart has; of pairs of a map as of lists of them."""
    types = pa.types
    if types.is_map(kind):
        return [
            (("pair", 0), (kind.key_type, [one.keys for one in chunks])),
            (("pair", 1), (kind.item_type, [one.items for one in chunks])),
        ]
    if types.is_struct(kind) or types.is_union(kind):
        return [
            (kind.field(at).name, (kind.field(at).type, [one.field(at) for one in chunks]))
            for at in range(kind.num_fields)
        ]
    if types.is_run_end_encoded(kind) or types.is_nested(kind):
        return _items(kind, chunks)
    return []


def _items(lists: Any, chunks: list[Any]) -> list[tuple[Any, tuple[Any, list[Any]]]]:
    """The items of lists, and of those that are structs also their fields by place."""
    items = (lists.value_type, [one.values for one in chunks])
    fields = _parts(*items) if pa.types.is_struct(items[0]) else []
    return [("item", items), *((("pair", at), part) for at, (_, part) in enumerate(fields))]
