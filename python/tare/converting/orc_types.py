"""Types that ORC has no place for, as the nearest that it has: a conversion to it casts them, and tells the change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.converting.plain_types import has_intervals, is_interval, listed_intervals, with_plain_scale

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["with_types_of_orc"]


def with_types_of_orc(table: pa.Table) -> pa.Table:
    """Returns a table with every column in a type that Arrow writes to ORC, as far as there is one.

    Categories and runs are their values; unsigned integers signed ones that hold them, or decimals; small floats larger ones; times of
    day their texts, as decimals of more than 38 digits; lengths of time numbers of their unit, intervals lists of their months, days and nanoseconds.

    Args:
        table: The table.

    >>> import pyarrow as pa
    >>> with_types_of_orc(pa.table({"u": pa.array([2**63], pa.uint64())})).schema.field("u").type
    Decimal128Type(decimal128(20, 0))
    """
    import pyarrow as pa

    from tare.fidelity.column_masks import decoded

    for at, field in enumerate(table.schema):
        column: Any = table.column(at)
        wanted = _type_of_orc(field.type, pa.int64())
        if wanted.equals(field.type):
            continue
        if has_intervals(field.type):
            table = table.set_column(at, field.with_type(wanted), listed_intervals(column, wanted))
            continue
        if pa.types.is_run_end_encoded(field.type):
            parts = list(map(decoded, column.chunks))
            column = pa.chunked_array(parts, parts[0].type if parts else wanted)
        try:
            column = column.cast(wanted)
        except pa.ArrowInvalid:  # integers beyond 63 bits
            wanted = _type_of_orc(field.type, pa.decimal128(20, 0))
            column = column.cast(wanted)
        except pa.ArrowNotImplementedError:  # run ends within lists or structs: the writer refuses them
            continue
        table = table.set_column(at, field.with_type(wanted), column)
    return table


def _type_of_orc(kind: Any, widest: Any) -> Any:
    """Returns the type to write; `widest` is that of unsigned integers of 64 bits."""
    import pyarrow as pa

    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _type_of_orc(kind.storage_type, widest)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _type_of_orc(kind.value_type, widest)
    if types.is_struct(kind):
        return pa.struct([_field(kind.field(at), widest) for at in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(_type_of_orc(kind.key_type, widest), _type_of_orc(kind.item_type, widest))
    if types.is_list(kind) or types.is_large_list(kind):
        return (pa.list_ if types.is_list(kind) else pa.large_list)(_field(kind.value_field, widest))
    if types.is_fixed_size_list(kind):
        return pa.list_(_field(kind.value_field, widest), kind.list_size)
    if is_interval(kind):
        return pa.list_(pa.int64())
    if types.is_uint64(kind):
        return widest
    if types.is_decimal(kind):
        return with_plain_scale(kind, most=38)
    return next((there for test, there in _SCALARS if getattr(types, test)(kind)), lambda: kind)()


def _field(field: Any, widest: Any) -> Any:
    return field.with_type(_type_of_orc(field.type, widest))


def _arrow(name: str) -> Any:
    def make() -> Any:
        import pyarrow as pa

        return getattr(pa, name)()

    return make


_SCALARS = tuple(
    (test, _arrow(name))
    for test, name in {
        "is_uint8": "int16",
        "is_uint16": "int32",
        "is_uint32": "int64",
        "is_float16": "float32",
        "is_time": "string",
        "is_duration": "int64",
        "is_date64": "date32",
        "is_null": "string",
        "is_string_view": "string",
        "is_binary_view": "binary",
    }.items()
)
