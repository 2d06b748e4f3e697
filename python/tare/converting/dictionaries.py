"""Categories of batches that go to a file: an Arrow file has room for one dictionary of a column, and Parquet for one a row group.

So levels are gathered in a pass before the first batch is written. What is held of it is the levels, and no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.categories import Gathered, has_levels, with_levels
from tare.converting import batches
from tare.errors import EncodeError
from tare.frames import bytes_of

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.codec import Codec
    from tare.datasets.source import Source

__all__ = ["columns_with_levels", "of_one_dictionary", "rows_for", "with_all_levels"]

# Batches that are looked up together are as large as the levels that they are looked up in, and at least so large.
_BYTES_AT_ONCE = 64 << 20
# Levels of an unordered category that are gathered for Parquet, whose row groups may have their own.
_MOST_LEVELS = 16 << 20
_OWN_LEVELS = "each row group has the levels of its own batch, as all are more than {} MiB; those of a batch without rows are left out"


def rows_for(source: Source, codec: Codec, columns: list[str] | None = None) -> batches.Batches:
    """The schema and the rows of a file in batches, with levels of categories as the target has room for them.

    Args:
        source: The file.
        codec: What is written.
        columns: Only these.

    Raises:
        TareError: As `tare.converting.batches.reader`.
    """
    if codec.format_id not in ("arrow", "parquet") or codec.options.get("layout") == "stream":
        return batches.reader(source, columns=columns)
    if source.format == "arrow" and source.compressors:  # read in memory: once for both passes
        source = replace(source, data=source.read()[0], path=None, compressors=())
    schema, rows = batches.reader(source, columns=columns)
    names = columns_with_levels(schema)
    if names == []:
        return schema, rows

    def again() -> Iterator[pa.RecordBatch]:
        return batches.reader(source, columns=columns if names is None else names)[1]

    if codec.format_id == "parquet":
        return schema, with_all_levels(rows, again, tell=source.notes.append)
    # A batch of an Arrow file is one piece of memory, and some of its columns keep all of it.
    if source.format == "arrow" and columns is not None:
        rows = map(_apart, rows)
    return schema, of_one_dictionary(rows, again())


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
    rows: Iterable[pa.RecordBatch], again: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The batches, each with the levels that any of them has: in order of appearance, or in that of ordered categories.

    Args:
        rows: The batches to give.
        again: The same rows, of those columns that have levels at least, in their order; read to the end first.

    Those stay as they are whose levels Arrow does not bring together, as `tare.categories.Gathered.array` has them.

    Raises:
        EncodeError: Two batches contradict each other in the order of their levels.

    >>> import pyarrow as pa
    >>> parts = [pa.record_batch({"k": pa.array([x]).dictionary_encode()}) for x in "ab"]
    >>> [part["k"].dictionary.to_pylist() for part in of_one_dictionary(parts, parts)]
    [['a', 'b'], ['a', 'b']]
    """
    known = [column.levels for column in _gathered(again)]
    if not any(levels is not None for levels in known):
        yield from rows
        return
    size = sum(levels.nbytes for levels in known if levels is not None)
    for some in _groups(rows, max(_BYTES_AT_ONCE, size)):
        given = list(map(_categories, some))
        columns = [_with(levels, [one[at] for one in given]) for at, levels in enumerate(known)]
        del given
        while some:  # each goes as soon as it is written
            yield _put(some.pop(0), [column.pop(0) for column in columns])


def with_all_levels(
    rows: Iterable[pa.RecordBatch],
    again: Callable[[], Iterable[pa.RecordBatch]],
    *,
    tell: Callable[[str], object] = lambda _: None,
) -> Iterator[pa.RecordBatch]:
    """The batches, the first that has rows with the levels that any of them has; as they are where these are too many.

    A reader of row groups finds all of them then, in their order, and no row group repeats those of another.

    Args:
        rows: The batches to give.
        again: Reads the same rows once more, as `of_one_dictionary` takes them.
        tell: Takes what the user should know.

    Raises:
        EncodeError: As `of_one_dictionary`.
    """
    found = _gathered(again(), _MOST_LEVELS)
    for column in found:
        if column.too_many:
            tell(f"column {column.name[:80]!r}: {_OWN_LEVELS.format(_MOST_LEVELS >> 20)}")
    known = [column.levels for column in found]
    for batch in rows:
        if batch.num_rows and known:
            pairs = zip(known, _categories(batch), strict=True)
            yield _put(batch, [_with(levels, [one])[0] for levels, one in pairs])
            known = []  # a row group without rows has no levels
        else:
            yield batch


class _Column(NamedTuple):
    """The levels of a column in an array of no row; None where they are not gathered."""

    name: str
    levels: Any
    too_many: bool


def _gathered(rows: Iterable[pa.RecordBatch], most: int | None = None) -> list[_Column]:
    """Of each column with levels those of all batches; none without a batch.

    Args:
        rows: The batches; no more of them are read than are needed.
        most: Bytes of levels of an unordered column from which on it is given up.
    """
    found: list[tuple[str, Gathered]] = []
    for batch in rows:
        if not found:
            fields = [field for field in batch.schema if has_levels(field.type)]
            found = [(field.name, Gathered(field.type, most=most)) for field in fields]
        for (_, levels), column in zip(found, _categories(batch), strict=True):
            levels.add(column)
        if not any(levels.open for _, levels in found):
            break
    return [_ended(name, levels) for name, levels in found]


def _ended(name: str, levels: Gathered) -> _Column:
    try:
        return _Column(name, levels.array(), levels.given_up)
    except EncodeError as error:
        raise EncodeError(f"column {name[:80]!r}: {error}", path=name) from error


def _with(levels: Any, columns: list[Any]) -> list[Any]:
    return columns if levels is None else with_levels(levels, columns)


def _apart(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch in memory of its own, but for the dictionaries."""
    return batch.from_arrays(list(map(_copied, batch.columns)), schema=batch.schema)


def _copied(column: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.concat_arrays([column])
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return column


def _groups(rows: Iterable[pa.RecordBatch], least: int) -> Iterator[list[pa.RecordBatch]]:
    """Batches that together have so many bytes, or a little more."""
    some: list[pa.RecordBatch] = []
    size = 0
    for batch in rows:
        some.append(batch)
        size += bytes_of(batch)
        if size >= least:
            yield some
            some, size = [], 0
    if some:
        yield some


def _categories(batch: pa.RecordBatch) -> list[Any]:
    return [column for column in batch.columns if has_levels(column.type)]


def _put(batch: pa.RecordBatch, categories: list[Any]) -> pa.RecordBatch:
    left = iter(categories)
    columns = [next(left) if has_levels(column.type) else column for column in batch.columns]
    return batch.from_arrays(columns, schema=batch.schema)
