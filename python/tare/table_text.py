"""Tables as text in the bytes that other libraries write, without their objects: JSON of orjson and Python, CSV of Arrow.

Rows are written by the core (`tare._tare.RowText`), on as many threads as Arrow has. Columns of types that
it has no text for become texts first. What cannot be written so is left to the library: each function returns None then,
before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from tare.bare_arrays import python_values, texts
from tare.errors import TareError, Unsupported
from tare.kinds import in_microseconds
from tare.scalar_text import as_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["csv_parts", "json_parts", "text_by_orjson"]

Parts = Iterator[bytes | memoryview]
# Rows that are text at a time, so that memory does not grow with the table.
_CELLS = 1 << 17
_LEAST_ROWS = 1 << 10
_A_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DAYS = (
    -12_687_427,
    11_248_737,
)  # since 1970, from which and before which each zone's time is of such a year
_MINUTE = timedelta(minutes=1)
_BARE = {"tare:bare": ""}


def json_parts(
    table: pa.Table, form: str, *, default: str, text_of: Callable[[Any], str] | None = None
) -> Parts | None:
    r"""Returns the rows as objects of JSON, in parts: lines, or an array of items.

    Args:
        table: The table.
        form: ``lines`` or ``items`` as orjson writes them; ``spaced items`` or ``ascii items`` as Python's `json` does.
        default: The option of that name: with ``text`` decimals, durations and bytes become text.
        text_of: The text of dates and times, where it is another than that of `as_text`; None where they are refused
            without ``default=text``.

    >>> import pyarrow as pa
    >>> b"".join(json_parts(pa.table({"a": [1, None]}), "lines", default="text"))
    b'{"a":1}\n{"a":null}\n'
    """
    if not table.num_columns:
        return None
    found = _prepared(table, lambda name, column: _of_json(name, column, default, text_of))
    ready = None if found is None else _texts(found, form)
    if ready is None:
        return None
    if form.endswith("lines"):
        return _blocks(ready, table.num_columns) if table.num_rows else iter((b"\n",))
    return _array(_blocks(ready, table.num_columns), 2 if form == "spaced items" else 1)


def is_finite(table: pa.Table) -> bool:
    """Returns whether no value of a table is NaN or an infinity, at whatever depth.

    >>> import pyarrow as pa
    >>> [is_finite(pa.table({"x": [1.5, one]})) for one in (2.5, None, float("nan"))], is_finite(pa.table({"x": [[float("inf")]]}))
    ([True, True, False], False)
    """
    return all(map(_is_finite, table.columns))


def _is_finite(column: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    is_, kind, compute = pa.types, column.type, cast(Any, pc)
    if is_.is_floating(kind):
        kept = column.cast(pa.float32()) if is_.is_float16(kind) else column
        return bool(compute.all(compute.is_finite(kept), min_count=0).as_py())
    if is_.is_struct(kind):
        return all(map(_is_finite, column.flatten()))
    if is_.is_dictionary(kind):
        return all(_is_finite(pa.chunked_array([chunk.dictionary])) for chunk in column.chunks)
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        return _is_finite(compute.list_flatten(column))
    return not is_.is_nested(kind)


def text_by_orjson(value: Any) -> str:
    """Returns the text of a date or time by orjson; by Python where its offset from UTC has seconds, which orjson rounds.

    >>> from datetime import datetime, timedelta, timezone
    >>> text_by_orjson(datetime(1930, 1, 1, tzinfo=timezone(timedelta(minutes=19, seconds=32))))
    '1930-01-01T00:00:00+00:19:32'
    """
    import orjson

    offset = value.utcoffset() if hasattr(value, "utcoffset") else None
    if offset is not None and offset % _MINUTE:
        return as_text(value)
    return orjson.dumps(value)[1:-1].decode()


def csv_parts(table: pa.Table, delimiter: str, first: int = 0) -> Parts | None:
    r"""Returns the header and the rows as Arrow's writer of CSV writes them, in parts.

    Args:
        table: The table.
        delimiter: What stands between fields.
        first: Rows that stand before those of the table, for messages.

    Raises:
        Unsupported: A date or moment lies where Arrow's texts of them are no dates.

    >>> import pyarrow as pa
    >>> b"".join(csv_parts(pa.table({"a": [1, None], "b": ["x", ""]}), ","))
    b'"a","b"\n1,"x"\n,""\n'
    """
    if not table.num_columns:
        return None
    for name, column in zip(table.column_names, table.columns, strict=True):
        _refuse_far(name, column, first)
    found = _prepared(table, lambda _, column: _of_csv(column))
    ready = None if found is None else _texts(found, delimiter)
    if ready is None:
        return None
    names = (name.replace('"', '""') for name in table.column_names)
    header = delimiter.join(f'"{name}"' for name in names) + "\n"
    return _behind(header.encode(), _blocks(ready, table.num_columns))


def _behind(header: bytes, parts: Parts) -> Parts:
    yield header
    yield from parts


def _texts(table: pa.Table, form: str) -> list[Any] | None:
    """Returns the batches of a table, ready to be written; None if one of them cannot be."""
    from tare._tare import RowText

    try:
        return [RowText(batch, form) for batch in table.to_batches()]
    except (TareError, ValueError, TypeError):  # a value without a text, a type that the core does not know
        return None


def _blocks(ready: list[Any], columns: int) -> Parts:
    """Yields the rows of batches, some thousands at a time, and lets each batch go when it is written."""
    import pyarrow as pa

    threads, rows = pa.cpu_count(), max(_CELLS // columns, _LEAST_ROWS)
    ready.reverse()
    while ready:
        text = ready.pop()
        for start in range(0, len(text), rows):
            yield from text.write(start, start + rows, threads)


def _array(parts: Parts, comma: int) -> Parts:
    """Yields items in brackets, without the comma behind the last one, which has so many bytes."""
    yield b"["
    last: Any = b""
    for part in parts:
        if last:
            yield last
        last = part
    yield memoryview(last)[:-comma] if last else b""
    yield b"]"


def _prepared(table: pa.Table, texted: Callable[[str, Any], tuple[Any, bool] | None]) -> pa.Table | None:
    """Returns the table with columns that the core writes, of which some are marked as bare; None if one cannot be."""
    import pyarrow as pa

    fields, columns = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        if "\0" in field.name:  # where the interface of C ends a name
            return None
        try:
            found = texted(field.name, column)
        except (pa.ArrowException, TareError, ValueError, TypeError, OverflowError):
            return None
        if found is None:
            return None
        written, bare = found
        fields.append(pa.field(field.name, written.type, metadata=_BARE if bare else None))
        columns.append(written)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _refuse_far(name: str, column: Any, first: int) -> None:
    """Refuses a column with a day of no year of which Arrow has a text.

    Raises:
        Unsupported: It has one; column and row are named.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    days = 1 if pa.types.is_date32(kind) else 86_400_000 if pa.types.is_date64(kind) else 0
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        days = 86_400 * _A_SECOND[kind.unit]
    if not days:
        return
    numbers: Any = (column.cast(kind) if kind != column.type else column).cast(
        pa.int32() if pa.types.is_date32(kind) else pa.int64()
    )
    least, most = (number * days for number in _DAYS)
    ends: Any = pc.min_max(numbers).as_py()
    if ends["min"] is None or (ends["min"] >= least and ends["max"] < most):
        return
    ends = [pa.scalar(number, numbers.type) for number in (least, most)]
    far: Any = pc.or_(pc.less(numbers, ends[0]), pc.greater_equal(numbers, ends[1]))
    row = pc.index(far, True).as_py()
    raise Unsupported(
        f"csv: column {name[:80]!r}, row {first + row + 1:,}: a value of type {kind} ({numbers[row].as_py()}) lies beyond the "
        "years -32,767 to 32,767, of which CSV has dates here; files of Parquet and Arrow hold it",
        format="csv",
        path=name,
    )


def _of_csv(column: Any) -> tuple[Any, bool] | None:
    import pyarrow as pa

    is_, kind = pa.types, column.type
    if isinstance(kind, pa.BaseExtensionType):
        column = _plain_of(column)
        kind = column.type
    if is_.is_dictionary(kind):
        if is_.is_string(kind.value_type):
            return column, False
        column = column.cast(kind.value_type)
        kind = column.type
    if is_.is_binary(kind) or is_.is_fixed_size_binary(kind):
        return column.cast(pa.string()), False
    if is_.is_decimal(kind) or is_.is_duration(kind) or is_.is_date64(kind):
        return column.cast(pa.string()), True
    if is_.is_timestamp(kind) and kind.tz not in (None, "UTC"):  # whose rules are asked for each value
        written = _by_value(column, _zoned_texts)
        return written.cast(pa.string()), True
    plain = (is_.is_null, is_.is_boolean, is_.is_integer, is_.is_floating, is_.is_date32, is_.is_time)
    text = is_.is_string(kind) or is_.is_large_string(kind) or is_.is_timestamp(kind)
    return (column, False) if text or any(test(kind) for test in plain) else None


def _zoned_texts(moments: Any) -> Any:
    """Returns the texts of moments with their offsets, as Arrow writes them; in UTC where an offset has seconds, which Arrow cuts off."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = moments.cast(pa.string())
    if moments.type.tz[:1] in "+-":
        return written
    plain = pa.timestamp(moments.type.unit)
    away: Any = pc.subtract(pc.local_timestamp(moments), moments.cast(plain)).cast(pa.int64())
    minute = 60 * _A_SECOND[moments.type.unit]
    odd = pc.not_equal(pc.multiply(pc.divide(away, minute), minute), away)
    if not pc.any(odd).as_py():
        return written
    return pc.if_else(odd, moments.cast(pa.timestamp(moments.type.unit, "UTC")).cast(pa.string()), written)


def _plain_of(column: Any) -> Any:
    """Returns a column of a type that extends another as texts of UUIDs, as truths, or as what it is stored as."""
    import pyarrow as pa

    kind = column.type
    if isinstance(kind, pa.UuidType):
        return pa.chunked_array([_each(as_text)(chunk) for chunk in column.chunks], pa.string())
    stored = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
    return stored.cast(pa.bool_()) if isinstance(kind, pa.Bool8Type) else stored


def _of_json(
    name: str, column: Any, default: str, text_of: Callable[[Any], str] | None
) -> tuple[Any, bool] | None:
    import pyarrow as pa

    is_, kind = pa.types, column.type
    if is_.is_nested(kind):
        return (column, False) if _is_written(kind, default, text_of) else None
    if is_.is_dictionary(kind):
        if _is_written(kind.value_type, default, text_of) and not getattr(kind.value_type, "tz", None):
            return column, False
        column = column.cast(kind.value_type)
        kind = column.type
    if is_.is_temporal(kind) and not is_.is_interval(kind):
        column = in_microseconds(name, column)
        kind = column.type
        if default != "text" and (text_of is None or is_.is_duration(kind)):
            return None
        if is_.is_date64(kind):
            return column.cast(pa.date32()), False
        if is_.is_timestamp(kind) and kind.unit != "ns" and kind.tz not in (None, "UTC"):
            return _by_value(column, _each(text_of or as_text)), False
        if is_.is_duration(kind) and kind.unit != "ns":
            return _by_value(column, _each(as_text)), False
        return column, False
    if _is_written(kind, default, text_of):
        return column, False
    if default != "text":
        return None
    if is_.is_decimal(kind) and kind.scale >= 0:
        return column.cast(pa.string()), False
    if is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_fixed_size_binary(kind):
        return _by_value(column, _each(as_text)), False
    return None


def _is_written(kind: Any, default: str, text_of: Callable[[Any], str] | None) -> bool:
    """Returns whether the core writes cells of a type as they are, at whatever depth."""
    import pyarrow as pa

    is_ = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return False
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        return _is_written(kind.value_type, default, text_of)
    if is_.is_map(kind):
        inner = kind.key_type, kind.item_type
        return all(_is_written(one, default, text_of) for one in inner)
    if is_.is_struct(kind):
        fields = [kind.field(at) for at in range(kind.num_fields)]
        return all("\0" not in one.name and _is_written(one.type, default, text_of) for one in fields)
    if is_.is_dictionary(kind):
        return _is_written(kind.value_type, default, text_of)
    if is_.is_date32(kind) or is_.is_time(kind) or is_.is_timestamp(kind):
        return (default == "text" or text_of is not None) and getattr(kind, "unit", "") != "ns"
    plain = (is_.is_null, is_.is_boolean, is_.is_integer, is_.is_floating)
    text = is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind)
    return text or any(test(kind) for test in plain)


def _by_value(column: Any, texts_of: Callable[[Any], Any]) -> Any:
    """Returns a column of the texts of values, each of which is made once.

    Args:
        column: The column.
        texts_of: Gives an array of texts for one of values.
    """
    import pyarrow as pa

    coded: Any = column.combine_chunks().dictionary_encode()
    parts: Any = coded.chunks if isinstance(coded, pa.ChunkedArray) else [coded]
    made: Any = [pa.DictionaryArray.from_arrays(part.indices, texts_of(part.dictionary)) for part in parts]
    kind: Any = pa.dictionary(pa.int32(), pa.string())
    return pa.chunked_array(made, kind)


def _each(text_of: Callable[[Any], str]) -> Callable[[Any], Any]:
    """Returns the function that makes an array of texts, one value of Python after another."""

    def made(levels: Any) -> Any:
        return texts(None if value is None else text_of(value) for value in python_values(levels))

    return made
