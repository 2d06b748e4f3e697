"""Batches of a table with the same levels of categories in all: an Arrow file has room for one dictionary of a column.

They are gathered in a first pass over the columns that have some. What is held is the levels, and no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["columns_with_levels", "of_one_dictionary"]


def columns_with_levels(schema: pa.Schema) -> list[str]:
    """Columns that are or hold categories, at whatever depth.

    >>> import pyarrow as pa
    >>> columns_with_levels(pa.schema({"n": pa.int8(), "k": pa.list_(pa.dictionary(pa.int8(), pa.string()))}))
    ['k']
    """
    import pyarrow as pa

    from tare.fidelity.column_masks import holds

    return [field.name for field in schema if holds(field.type, pa.types.is_dictionary)]


def of_one_dictionary(
    batches: Iterable[pa.RecordBatch], again: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The batches, each with the levels that any of them has, in order of appearance.

    Args:
        batches: Those to give.
        again: The same rows, of columns with levels at least; read to the end first.

    Raises:
        pyarrow.ArrowInvalid: More levels than the type of the codes counts.
        pyarrow.ArrowNotImplementedError: Levels are of a type that Arrow does not look up.

    >>> import pyarrow as pa
    >>> parts = [pa.record_batch({"k": pa.array([x]).dictionary_encode()}) for x in "ab"]
    >>> [part["k"].dictionary.to_pylist() for part in of_one_dictionary(parts, parts)]
    [['a', 'b'], ['a', 'b']]
    """
    known: dict[str, Any] = {}
    for batch in again:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            none = column.slice(0, 0)
            known[name] = _both(known[name], none)[0] if name in known else none
    for batch in batches:
        columns = [
            _both(known[name], column)[1] if name in known else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        yield batch.from_arrays(columns, schema=batch.schema)


def _both(known: Any, column: Any) -> list[Any]:
    """Both arrays with the levels of both, of which those of the first stay as they are."""
    import pyarrow as pa

    return pa.chunked_array([known, column]).unify_dictionaries().chunks
