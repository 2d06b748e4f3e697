"""Types that few formats have, as plainer ones: a conversion to a format that refuses them casts them, and tells the change."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tare.frames import with_columns
from tare.scalar_text import as_text

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.codec import Codec

__all__ = [
    "first_without_text",
    "has_intervals",
    "is_interval",
    "listed_intervals",
    "with_base64",
    "with_listed_intervals",
    "with_plain_scale",
    "with_plain_types",
]

_DIGITS = 38  # of a decimal of 128 bits
_MOST_DIGITS = 76
_R_SERIALIZED = "X\n\0\0\0"  # what each value begins with that R serialized


def with_plain_types(table: pa.Table, codec: Codec) -> pa.Table:
    """Returns a table whose columns a codec takes in plainer types; the same table if none is cast.

    Decimals of a negative scale have none; UUIDs are texts and other extensions what they are stored as; categories have
    no null among their levels; intervals of months, days and nanoseconds are lists of these three. Times of day that are finer than Python's are texts where rows of Python are written.

    Args:
        table: The table, which the codec refuses.
        codec: The codec.
    """
    by_rows = _writes_rows(codec)
    changed = {}
    for at, field in enumerate(table.schema):
        column = _plain_column(table.column(at), by_rows=by_rows)
        if column is not None:
            changed[at] = field.with_type(column.type), column
    return with_columns(table, changed)


def with_listed_intervals(table: pa.Table) -> pa.Table:
    """Returns a table whose columns of intervals are lists of months, days and nanoseconds; the same table if there are none.

    Args:
        table: The table.

    >>> import pyarrow as pa
    >>> spans = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    >>> with_listed_intervals(pa.table({"i": spans})).to_pylist()
    [{'i': [1, 2, 3]}]
    """
    changed = {}
    for at, field in enumerate(table.schema):
        if has_intervals(field.type):
            column = listed_intervals(table.column(at), _plain_type(field.type, times=False))
            changed[at] = field.with_type(column.type), column
    return with_columns(table, changed)


def with_base64(table: pa.Table) -> pa.Table:
    r"""Returns a table whose columns of bytes that are not all UTF-8 are base64; the same table if there are none.

    A list of R whose values are R's serialization, each on its own, stays as it is: it is values, and these would be no text.

    Args:
        table: The table, which becomes text.

    >>> import pyarrow as pa
    >>> with_base64(pa.table({"a": [b"a", b"\xff"], "b": [b"a", b"b"]})).to_pylist()
    [{'a': 'YQ==', 'b': b'a'}, {'a': '/w==', 'b': b'b'}]
    """
    import pyarrow as pa

    changed = {}
    for at, field in enumerate(table.schema):
        column = table.column(at)
        if _is_bytes(field.type) and _first_other(column) is not None and not _is_of_r(column):
            texts = [None if one is None else as_text(one) for one in column.to_pylist()]
            changed[at] = field.with_type(pa.string()), pa.chunked_array([pa.array(texts, pa.string())])
    return with_columns(table, changed)


def first_of_r(table: pa.Table) -> str | None:
    """Returns the first column whose values are R's serialization, each on its own; None if there is none."""
    columns = zip(table.column_names, table.columns, strict=True)
    return next((name for name, column in columns if _is_bytes(column.type) and _is_of_r(column)), None)


def first_without_text(table: pa.Table) -> tuple[str, int] | None:
    r"""Returns the first column of bytes that are not all UTF-8, and its first row of others; None if there is none.

    Args:
        table: The table.

    >>> import pyarrow as pa
    >>> first_without_text(pa.table({"a": [b"a", b"b"], "b": [b"a", b"\xff"]}))
    ('b', 1)
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        if _is_bytes(column.type) and (row := _first_other(column)) is not None:
            return name, row
    return None


def _is_bytes(kind: Any) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_binary_view,
    )
    return any(test(kind) for test in tests)


def _is_of_r(column: Any) -> bool:
    """Returns whether all values of a column of bytes are R's serialization."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return False
    return bool(pc.all(pc.starts_with(column, pattern=_R_SERIALIZED)).as_py())


def _first_other(column: Any) -> int | None:
    """Returns the first row of a column of bytes that is not UTF-8; None if each is."""
    if _is_text(column):
        return None
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_text(column.slice(low, middle - low)) else (low, middle)
    return low


def _is_text(column: Any) -> bool:
    import pyarrow as pa

    try:
        column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def with_plain_scale(kind: Any, *, most: int = _MOST_DIGITS) -> Any:
    """Returns the type of decimals without a negative scale, of 128 bits where that suffices; text for more digits than there are.

    Args:
        kind: A type of decimals.
        most: Digits that a decimal may have.

    >>> import pyarrow as pa
    >>> with_plain_scale(pa.decimal128(5, -2)), with_plain_scale(pa.decimal256(70, 0), most=38)
    (Decimal128Type(decimal128(7, 0)), DataType(string))
    """
    import pyarrow as pa

    scale = max(kind.scale, 0)
    digits = kind.precision - min(kind.scale, 0)
    if digits > most:
        return pa.string()
    return pa.decimal128(digits, scale) if digits <= _DIGITS else pa.decimal256(digits, scale)


def _writes_rows(codec: Codec) -> bool:
    """Whether values of Python stand between a table and the file, and those that it does not know are text."""
    by_rows = codec.format_id == "avro" or codec.library.native.get("table") in ("records", "columns")
    return by_rows and codec.options.get("default", "text") == "text"


def _plain_column(column: Any, *, by_rows: bool) -> Any:
    """Returns a column in a plainer type; None if it has one."""
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        return _of_extension(column)
    if pa.types.is_dictionary(column.type) and pa.types.is_nested(column.type.value_type):
        # Arrow casts no categories that are lists or structs, and makes none.
        level: Any = column.type.value_type
        return pa.chunked_array([chunk.dictionary.take(chunk.indices) for chunk in column.chunks], level)
    if _has_null_level(column):
        return column.cast(column.type.value_type).dictionary_encode().cast(column.type)
    if has_intervals(column.type):
        return listed_intervals(column, _plain_type(column.type, times=by_rows))
    wanted = _plain_type(column.type, times=by_rows and _has_finer_times(column))
    return None if wanted.equals(column.type) else column.cast(wanted)


def is_interval(kind: Any) -> bool:
    """Returns whether a type is that of intervals of months, days and nanoseconds, for which pyarrow has no test.

    Args:
        kind: A type of Arrow.

    >>> import pyarrow as pa
    >>> is_interval(pa.month_day_nano_interval())
    True
    """
    return str(kind) == "month_day_nano_interval"


def has_intervals(kind: Any) -> bool:
    """Returns whether intervals of months, days and nanoseconds stand in a type at any depth.

    Args:
        kind: A type of Arrow.
    """
    return is_interval(kind) or any(has_intervals(kind.field(at).type) for at in range(kind.num_fields))


def listed_intervals(column: Any, wanted: Any) -> Any:
    """Returns a column with each interval as a list of its months, days and nanoseconds: Arrow casts none.

    Args:
        column: The column.
        wanted: Its type then.
    """
    import pyarrow as pa

    return pa.chunked_array([pa.array(column.to_pylist(), wanted)])


def _has_null_level(column: Any) -> bool:
    """Whether null is one of the levels of categories without an order, which are made anew then."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type) or column.type.ordered:
        return False
    return any(chunk.dictionary.null_count for chunk in column.chunks)


def _of_extension(column: Any) -> Any:
    """Returns the texts of UUIDs, the truth of bytes that stand for it, or what an extension is stored as."""
    import pyarrow as pa

    stored = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    if isinstance(column.type, pa.UuidType):
        texts = [None if one is None else as_text(one) for one in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    return stored.cast(pa.bool_()) if isinstance(column.type, pa.Bool8Type) else stored


def _has_finer_times(column: Any) -> bool:
    """Returns whether a column has times of day, at any depth, that are not whole microseconds."""
    coarse = _plain_type(column.type, times=True, unit="us")
    if coarse.equals(column.type):
        return False
    import pyarrow as pa

    try:
        with contextlib.suppress(pa.ArrowNotImplementedError):  # of a type within that is not cast
            column.cast(coarse)
    except pa.ArrowInvalid:
        return True
    return False


def _plain_type(kind: Any, *, times: bool, unit: str = "") -> Any:
    """Returns the type to write.

    Args:
        kind: The type that it is.
        times: Whether times of day in nanoseconds are cast too.
        unit: Their unit then; text if it is empty.
    """
    import pyarrow as pa

    types = pa.types
    if types.is_decimal(kind) and kind.scale < 0 and not unit:
        return with_plain_scale(kind)
    if times and types.is_time64(kind) and kind.unit == "ns":
        return pa.time64("us") if unit else pa.string()
    if is_interval(kind) and not unit:
        return pa.list_(pa.int64())
    if types.is_struct(kind):
        fields = [kind.field(at) for at in range(kind.num_fields)]
        return pa.struct([one.with_type(_plain_type(one.type, times=times, unit=unit)) for one in fields])
    if types.is_list(kind) or types.is_large_list(kind):
        inner = kind.value_field.with_type(_plain_type(kind.value_type, times=times, unit=unit))
        return (pa.list_ if types.is_list(kind) else pa.large_list)(inner)
    return kind
