"""Texts and bytes in the place of views of them, as polars writes them to Arrow files: much of Arrow does not take those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NOTE", "batch_without_views", "schema_without_views", "without_views"]

NOTE = "views of texts or bytes are read as texts or bytes: other types, the same values"


def without_views(table: pa.Table) -> pa.Table:
    """The table with ``string`` for ``string_view`` and ``binary`` for ``binary_view``, in categories and nested types too.

    ``large_string`` or ``large_binary``, where a chunk has more than 2 GiB of them.

    >>> import pyarrow as pa
    >>> without_views(pa.table({"t": pa.array(["a"], pa.string_view())})).schema.field("t").type
    DataType(string)
    """
    for at, field in enumerate(table.schema):
        if _has_views(field.type):
            column = table.column(at)
            wanted = _plain_type(field.type, large=_is_large(column))
            table = table.set_column(at, field.with_type(wanted), _plain_column(column, wanted))
    return table


def schema_without_views(schema: pa.Schema) -> pa.Schema:
    """The schema of `batch_without_views`."""
    for at, field in enumerate(schema):
        if _has_views(field.type):
            schema = schema.set(at, field.with_type(_plain_type(field.type)))
    return schema


def batch_without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """As `without_views`, of a batch.

    Raises:
        pyarrow.ArrowInvalid: It has more than 2 GiB of texts in a column.
    """
    schema = schema_without_views(batch.schema)
    if schema is batch.schema:
        return batch
    columns = [_plain(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return batch.from_arrays(columns, schema=schema)


def _has_views(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _has_views(kind.value_type)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return True
    return _is_cast(kind) and any(_has_views(kind.field(at).type) for at in range(kind.num_fields))


def _is_cast(kind: Any) -> bool:
    """Nested types whose parts are put in place of others; a view of lists, a union, runs stay as they are."""
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_struct(kind)
        or types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_map(kind)
    )


def _is_large(column: Any) -> bool:
    return any(chunk.get_total_buffer_size() >= 2**31 for chunk in column.chunks)


def _plain_type(kind: Any, *, large: bool = False) -> Any:
    import pyarrow as pa

    types = pa.types
    if types.is_string_view(kind):
        return pa.large_string() if large else pa.string()
    if types.is_binary_view(kind):
        return pa.large_binary() if large else pa.binary()
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain_type(kind.value_type, large=large), kind.ordered)
    if not _is_cast(kind):
        return kind
    parts = [
        kind.field(at).with_type(_plain_type(kind.field(at).type, large=large))
        for at in range(kind.num_fields)
    ]
    if types.is_struct(kind):
        return pa.struct(parts)
    if types.is_map(kind):
        pair = parts[0].type
        return pa.map_(pair.field(0), pair.field(1), kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pa.list_(parts[0], kind.list_size)
    return pa.large_list(parts[0]) if types.is_large_list(kind) else pa.list_(parts[0])


def _plain_column(column: Any, wanted: Any) -> Any:
    import pyarrow as pa

    return pa.chunked_array([_plain(chunk, wanted) for chunk in column.chunks], wanted)


def _plain(array: Any, wanted: Any) -> Any:
    import pyarrow as pa

    if array.type.equals(wanted):
        return array
    if pa.types.is_dictionary(wanted):
        levels = _plain(array.dictionary, wanted.value_type)
        return pa.DictionaryArray.from_arrays(array.indices, levels, ordered=wanted.ordered)
    if pa.types.is_struct(wanted):
        fields = [_plain(array.field(at), field.type) for at, field in enumerate(wanted)]
        return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=array.is_null())
    try:
        return array.cast(wanted)
    except pa.ArrowNotImplementedError:  # categories within lists
        return pa.array(array.to_pylist(), wanted)
