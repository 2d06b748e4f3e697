"""Rows by the values of a column: each value is a folder, named as Hive names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tare.categories import in_one_order
from tare.errors import EncodeError, UsageError
from tare.kinds import rows_alone

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NAMING", "folder_of", "partitions"]

NAMING = 2
"""How values name folders, as units say it: before, empty text had ``__HIVE_EMPTY__``, which every reader takes for text."""

_NULL = "__HIVE_DEFAULT_PARTITION__"


def partitions(table: pa.Table, column: str) -> Iterator[tuple[str, pa.Table]]:
    """``COLUMN=VALUE`` and its rows, without that column and in their order, by name; null is the last.

    The table is sorted once, however many values there are. Floats are told apart by their bits, so that
    0.0 is not -0.0; what is no number is one value. Bytes stand as they are, percent-encoded where a path cannot hold them.

    Args:
        table: All rows.
        column: The column whose values become folders.

    Raises:
        UsageError: There is no such column, or two, its values are lists, maps, structs or intervals, or two of them
            would have one folder.

    >>> import pyarrow as pa
    >>> table = pa.table({"k": [1.0, float("nan"), 1.0], "v": [1, 2, 3]})
    >>> [(name, rows.to_pylist()) for name, rows in partitions(table, "k")]
    [('k=1.0', [{'v': 1}, {'v': 3}]), ('k=nan', [{'v': 2}])]
    """
    import numpy as np

    at = _index(table, column)
    codes, values = _coded(table.column(at), column)
    rest = table.remove_column(at)
    names = _folders(column, values)
    nulls = {name for name, value in zip(names, values, strict=True) if value is None}
    ordered = sorted(set(names), key=lambda name: (name in nulls, name))
    place = {name: number for number, name in enumerate(ordered)}
    numbers = np.array([place[name] for name in names], dtype=np.int64)
    group = numbers[codes] if len(values) else np.zeros(0, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    taken = _taker(rest, order)
    ends = np.cumsum(np.bincount(group, minlength=len(ordered))) if ordered else np.zeros(0, np.int64)
    start = 0
    for name, end in zip(ordered, ends.tolist(), strict=True):
        count = end - start
        if rest.num_columns:
            yield name, taken(start, count)
        else:
            yield name, rows_alone(count, rest.schema.metadata)
        start = end


def _taker(rest: pa.Table, order: Any) -> Callable[[int, int], pa.Table]:
    """What gives some of the rows in an order: from one place in it on, so many."""
    import numpy as np
    import pyarrow as pa

    try:
        whole = in_one_order(rest).take(order)  # which joins chunks, and their levels in order of appearance
    except EncodeError:  # orders that contradict each other: each batch keeps its own, and the format tells
        batches = [batch for batch in rest.to_batches() if batch.num_rows]
        ends = np.cumsum([batch.num_rows for batch in batches])

        def by_batch(start: int, count: int) -> pa.Table:
            rows = order[start : start + count]
            of = np.searchsorted(ends, rows, side="right")
            found = [
                batches[at].take(pa.array(rows[of == at] - (ends[at] - batches[at].num_rows)))
                for at in np.unique(of).tolist()
            ]
            return pa.Table.from_batches(found, rest.schema)

        return by_batch
    return whole.slice


def _folders(column: str, values: list[Any]) -> list[str]:
    """The folder of each value; what is no number has several forms, and one folder."""
    names = [folder_of(column, value) for value in values]
    seen: set[str] = set()
    for name, value in zip(names, values, strict=True):
        if name in seen and value == value:  # noqa: PLR0124 - not what is no number
            raise UsageError(f"--partition {column}: two of its values would both have the folder {name}")
        seen.add(name)
    return names


def folder_of(column: str, value: Any) -> str:
    r"""``column=value``: what a path cannot hold is percent-encoded, and so is text that would mean null.

    >>> folder_of("k", "a/b"), folder_of("k", None), folder_of("k", ""), folder_of("k", b"a\xff")
    ('k=a%2Fb', 'k=__HIVE_DEFAULT_PARTITION__', 'k=', 'k=a%FF')
    """
    text = _NULL if value is None else quote(value if isinstance(value, bytes) else str(value), safe=" +@")
    if value is not None and text in (_NULL, ".", ".."):
        text = f"%{ord(text[0]):02X}{text[1:]}"
    return f"{quote(column, safe=' ')}={text}"


def _index(table: pa.Table, column: str) -> int:
    import pyarrow as pa

    found = table.schema.get_all_field_indices(column)
    if not found:
        raise UsageError(
            f"--partition {column}: there is no such column; there are {', '.join(table.column_names)[:200]}"
        )
    if len(found) > 1:
        raise UsageError(f"--partition {column}: {len(found)} columns have that name; rename all but one")
    kind = table.schema.field(found[0]).type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        raise UsageError(
            f"--partition {column}: its values are {kind}, which name no folder; choose a column of plain values"
        )
    return found[0]


def _coded(values: Any, column: str) -> tuple[Any, list[Any]]:
    """The number of each row's value, and the values."""
    import pyarrow as pa
    from pyarrow import compute

    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
        kind = values.type
    if pa.types.is_null(kind):
        values = values.cast(pa.string())
    bits: dict[int, Any] = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
    floating = pa.types.is_floating(kind)
    if floating:
        bare = bits[kind.bit_width]
        values = pa.chunked_array([chunk.view(bare) for chunk in values.chunks], bare)
    try:
        coded = compute.dictionary_encode(values, null_encoding="encode").combine_chunks()
    except pa.ArrowException as error:
        raise UsageError(f"--partition {column}: {kind} names no folder: {str(error)[:100]}") from error
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], values.type).dictionary_encode()
    held: Any = coded.dictionary
    held = held.view(kind) if floating else held
    return coded.indices.to_numpy(zero_copy_only=False), _python(held)


def _python(values: Any) -> list[Any]:
    """Values of Python; those that it has no type for are told by Arrow's text, and so are nanoseconds, which it drops."""
    import pyarrow as pa

    try:
        found = list(values.to_pylist())
        if values.type == pa.time64("ns"):
            texts, finer = values.cast(pa.string()).to_pylist(), values.cast(pa.int64()).to_pylist()
            return [
                text if ns and ns % 1000 else one for one, text, ns in zip(found, texts, finer, strict=True)
            ]
        return found
    except (ValueError, ImportError, OverflowError):
        return list(values.cast(pa.string()).to_pylist())
