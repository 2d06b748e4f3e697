"""Levels of categories in a part of the data.

A part keeps the levels that its rows have, and those that no row of the whole has, which are data of their own. A level
whose rows are all outside the part goes with them: else what a format did to the part would be told as a loss that
it does not do to the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.categories import same_levels
from tare.errors import EncodeError
from tare.frames import with_columns

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["levels_of_part", "used_levels"]


def levels_of_part(data: pa.Table, mask: np.ndarray[Any, Any]) -> pa.Table:
    """The table with the levels that some of its rows keep; the other rows of such a column may become null.

    All levels stay where chunks have several dictionaries that are not brought together, as of nested types and of orders that contradict each other; so
    do those within lists and structs.

    Args:
        data: The whole table.
        mask: True for each row that the part has.

    >>> import numpy as np
    >>> import pyarrow as pa
    >>> codes = pa.DictionaryArray.from_arrays([0, 1, 0], ["a", "b", "in no row"])
    >>> part = levels_of_part(pa.table({"k": codes}), np.array([True, False, True]))
    >>> part["k"].chunk(0).dictionary.to_pylist()
    ['a', 'in no row']
    """
    import pyarrow as pa

    found = [(at, field) for at, field in enumerate(data.schema) if pa.types.is_dictionary(field.type)]
    return with_columns(data, {at: (field, _pruned(data.column(at), mask)) for at, field in found})


def used_levels(data: pa.Table) -> pa.Table:
    """The table with the levels that its rows have: what remains of the others where they are in other parts of a file.

    All levels stay where `levels_of_part` says so.

    Args:
        data: The rows of a part.

    >>> import pyarrow as pa
    >>> codes = pa.DictionaryArray.from_arrays([0, 0], ["a", "in another part"])
    >>> used_levels(pa.table({"k": codes}))["k"].chunk(0).dictionary.to_pylist()
    ['a']
    """
    import numpy as np
    import pyarrow as pa

    every = np.ones(data.num_rows, bool)
    found = [(at, field) for at, field in enumerate(data.schema) if pa.types.is_dictionary(field.type)]
    return with_columns(
        data, {at: (field, _pruned(data.column(at), every, unused=False)) for at, field in found}
    )


def _pruned(column: Any, mask: np.ndarray[Any, Any], *, unused: bool = True) -> Any:
    """The column with the levels that rows of the part have, and, with ``unused``, those that no row has."""
    import numpy as np
    import pyarrow as pa

    if not column.num_chunks:
        return column
    try:
        chunks = same_levels(column.chunks)
    except EncodeError:  # they have no order in common
        return column
    levels = chunks[0].dictionary
    if not all(one.dictionary.equals(levels) for one in chunks[1:]):  # Arrow does not bring them together
        return column
    column = pa.chunked_array(chunks, column.type)
    whole, part = np.zeros(len(levels), bool), np.zeros(len(levels), bool)
    at = 0
    for chunk in column.chunks:
        codes = chunk.indices
        whole[codes.drop_null().to_numpy()] = True
        part[codes.filter(pa.array(mask[at : at + len(chunk)])).drop_null().to_numpy()] = True
        at += len(chunk)
    kept = part | ~whole if unused else part
    if kept.all():
        return column
    new = pa.array(np.where(kept, np.cumsum(kept) - 1, 0), column.type.index_type, mask=~kept)
    left = levels.filter(pa.array(kept))
    chunks = [
        pa.DictionaryArray.from_arrays(new.take(chunk.indices), left, ordered=column.type.ordered)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, column.type)
