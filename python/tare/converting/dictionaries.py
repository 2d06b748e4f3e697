"""Categories of batches that go to a file: an Arrow file has room for one dictionary of a column, and Parquet for one a row group.

So levels are gathered in a pass before the first batch is written. What is held of it is the levels, and no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from tare.formats.columnar import has_levels, same_levels

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["columns_with_levels", "of_one_dictionary", "with_all_levels"]

_AT_ONCE = 16  # batches that are looked up together: each time all levels so far are


def columns_with_levels(schema: pa.Schema) -> list[str] | None:
    """Columns that are or hold categories, at whatever depth; None, which stands for all, where a name tells no column alone.

    >>> import pyarrow as pa
    >>> columns_with_levels(pa.schema({"n": pa.int8(), "k": pa.list_(pa.dictionary(pa.int8(), pa.string()))}))
    ['k']
    """
    found = [field.name for field in schema if has_levels(field.type)]
    plain = len(set(schema.names)) == len(schema.names) and not any("." in name for name in schema.names)
    return found if plain or not found else None


def of_one_dictionary(
    batches: Iterable[pa.RecordBatch], again: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The batches, each with the levels that any of them has, in order of appearance.

    Args:
        batches: Those to give.
        again: The same rows, of those columns that have levels at least, in their order; read to the end first.

    Raises:
        pyarrow.ArrowInvalid: More levels than the type of the codes counts.
        pyarrow.ArrowNotImplementedError: Levels are of a type that Arrow does not look up.

    >>> import pyarrow as pa
    >>> parts = [pa.record_batch({"k": pa.array([x]).dictionary_encode()}) for x in "ab"]
    >>> [part["k"].dictionary.to_pylist() for part in of_one_dictionary(parts, parts)]
    [['a', 'b'], ['a', 'b']]
    """
    known = _gathered(again)
    for some in _groups(batches):
        given = [_categories(batch) for batch in some]
        columns = [
            same_levels([first, *column])[1:] for first, column in zip(known, zip(*given), strict=False)
        ]
        for number, batch in enumerate(some):
            yield _put(batch, [column[number] for column in columns])


def with_all_levels(
    batches: Iterable[pa.RecordBatch], again: Callable[[], Iterable[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """The batches, the first with the levels that any of them has; as they are where Arrow does not gather them.

    A reader of row groups finds all of them then, in their order, and no row group repeats those of another.

    Args:
        batches: Those to give.
        again: Reads the same rows once more, as `of_one_dictionary` takes them.
    """
    import pyarrow as pa

    try:
        known = _gathered(again())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        known = []
    for number, batch in enumerate(batches):
        if number or not known:
            yield batch
        else:
            columns = [
                same_levels([first, column])[1]
                for first, column in zip(known, _categories(batch), strict=True)
            ]
            yield _put(batch, columns)


def _gathered(batches: Iterable[pa.RecordBatch]) -> list[Any]:
    """Of each column with levels an array without rows, which has those of all batches."""
    known: list[Any] = []
    for some in _groups(batches):
        given = zip(*([column.slice(0, 0) for column in _categories(batch)] for batch in some), strict=True)
        before = [[column] for column in known] or [[] for _ in _categories(some[0])]
        known = [same_levels([*first, *column])[0] for first, column in zip(before, given, strict=True)]
    return known


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    rest = iter(batches)
    while some := list(islice(rest, _AT_ONCE)):
        yield some


def _categories(batch: pa.RecordBatch) -> list[Any]:
    return [column for column in batch.columns if has_levels(column.type)]


def _put(batch: pa.RecordBatch, categories: list[Any]) -> pa.RecordBatch:
    left = iter(categories)
    columns = [next(left) if has_levels(column.type) else column for column in batch.columns]
    return batch.from_arrays(columns, schema=batch.schema)
