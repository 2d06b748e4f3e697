"""Documents of Arrow tables: rows as objects, a null where there is no value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from tare._tare import blit_encode
from tare.errors import EncodeError, Unsupported

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from tare.blit.options import Writing

__all__ = ["from_arrow"]

_ROWS = 4096
"""Rows that there are Python objects of at a time."""


def from_arrow(
    data: Any, *, default: Callable[[Any], Any] | None = None, **options: Unpack[Writing]
) -> bytes:
    """A document of a table: an array of objects.

    Python objects are made of a few thousand rows at a time, column by column.

    Args:
        data: A table of Arrow, a reader of its batches, or what has ``__arrow_c_stream__``.
        default: Called with each date, time and duration, which JSON does not have either; what it gives is
            encoded in its place. None refuses columns of them.
        options: As of `tare.blit.Writing`.

    Raises:
        Unsupported: A column whose type has no place in a document, such as times: it is named. Two columns,
            or fields of a struct, of one name.
        EncodeError: A time that Python does not have, as of nanoseconds.

    >>> import pyarrow as pa
    >>> from datetime import date
    >>> from tare import blit
    >>> blit.view(from_arrow(pa.table({"id": [1, 2], "to": ["JFK", None]}))).to_python()
    [{'id': 1, 'to': 'JFK'}, {'id': 2, 'to': None}]
    >>> days = pa.table({"day": [date(2013, 1, 1)]})
    >>> blit.view(from_arrow(days, default=date.isoformat)).to_python()
    [{'day': '2013-01-01'}]
    """
    import pyarrow as pa

    if isinstance(data, pa.Table):
        data = data.to_reader(_ROWS)
    elif not isinstance(data, pa.RecordBatchReader):
        if not hasattr(data, "__arrow_c_stream__"):
            raise Unsupported(
                f"an Arrow table is read of what has __arrow_c_stream__, not of {type(data).__name__}",
                format="blit",
            )
        data = pa.RecordBatchReader.from_stream(data)
    _unlike(data.schema, "the table")
    for field in data.schema:
        _check(field.type, field.name, temporal=default is not None)
    return blit_encode(_Rows(data), default=default, **options)


class _Rows(list[dict[str, Any]]):
    """The rows of a reader, which are made as they are encoded."""

    def __init__(self, batches: pa.RecordBatchReader) -> None:
        super().__init__()
        self._batches = batches

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return chain.from_iterable(map(_rows, self._parts()))

    def _parts(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            for start in range(0, batch.num_rows, _ROWS):
                yield batch.slice(start, _ROWS)


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    names = batch.schema.names
    if not names:
        return repeat({}, batch.num_rows)
    columns = [_values(column, name) for column, name in zip(batch.columns, names, strict=True)]
    return map(dict, map(zip, repeat(names), zip(*columns, strict=True)))  # no code of Python's for each row


def _values(column: pa.Array[Any], name: str) -> list[Any]:
    """The Python objects of a column."""
    import pyarrow as pa

    kind = column.type
    values: list[Any]
    if pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind):
        filled = column.fill_null(0) if column.null_count else column
        values = filled.to_numpy(zero_copy_only=False).tolist()
        if column.null_count:
            for i in column.is_null().to_numpy(zero_copy_only=False).nonzero()[0].tolist():
                values[i] = None
        return values
    try:
        if _is_fine(kind):
            column = column.cast(pa.time64("us"))  # Python's times are no finer, and would be cut
        values = column.to_pylist()
    except ValueError as error:
        text = f"column {name!r:.80} has a value that Python does not have: {error}"
        raise EncodeError(text[:400], format="blit", path=name) from error
    return values


def _is_fine(type: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_time64(type) and type.unit == "ns"


def _unlike(fields: Any, where: str) -> None:
    """Check that no two fields have one name."""
    names = [field.name for field in fields]
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        places = [i for i, name in enumerate(names) if name == twice]
        text = (
            f"{where} has {len(places)} fields of the name {twice!r:.80}, number {', '.join(map(str, places[:8]))}:"
            " rename them first, as with table.rename_columns"
        )
        raise Unsupported(text, format="blit", path=twice)


def _check(type: pa.DataType, path: str, *, temporal: bool, inside: bool = False) -> None:
    """Refuse what `blit` has no type for."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(type):
        return _check(type.value_type, path, temporal=temporal, inside=True)
    if kinds.is_list(type) or kinds.is_large_list(type) or kinds.is_fixed_size_list(type):
        return _check(type.value_type, path, temporal=temporal, inside=True)
    if kinds.is_struct(type):
        fields = [type.field(i) for i in range(type.num_fields)]
        _unlike(fields, f"column {path!r:.80}")
        for field in fields:
            _check(field.type, f"{path}.{field.name}", temporal=temporal, inside=True)
        return None
    plain = (
        kinds.is_null,
        kinds.is_boolean,
        kinds.is_integer,
        kinds.is_floating,
        kinds.is_decimal,
        kinds.is_string,
        kinds.is_large_string,
        kinds.is_string_view,
        kinds.is_binary,
        kinds.is_large_binary,
        kinds.is_fixed_size_binary,
    )
    timely = kinds.is_temporal(type) and not kinds.is_interval(type)
    if any(is_one(type) for is_one in plain) or (timely and temporal and not (inside and _is_fine(type))):
        return None
    text = f"column {path!r:.80} has the type {type}, which has no place in a document: cast it first"
    if timely and not temporal:
        text += ", or say what becomes of it, as default=lambda value: value.isoformat()"
    raise Unsupported(text, format="blit", path=path)
