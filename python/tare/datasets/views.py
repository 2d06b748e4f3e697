"""Texts and bytes in the place of views of them, as polars writes them to Arrow files: much of Arrow does not take those."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from tare.datasets.source import printable
from tare.errors import Unsupported
from tare.frames import with_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["note", "plain_batches", "without_views"]

_SHOWN = 3


def note(schema: pa.Schema) -> str:
    """Returns what to tell of the columns of a file that are read as another type.

    Args:
        schema: Their types in the file.

    >>> import pyarrow as pa
    >>> note(pa.schema({"t": pa.string_view(), "n": pa.int8()}))
    'views of texts or bytes are read as texts or bytes (t: string_view): other types, the same values'
    """
    found = [f"{printable(field.name, 30)}: {field.type}" for field in schema if _has_views(field.type)]
    shown = ", ".join([*(printable(one, 60) for one in found[:_SHOWN]), *["..."] * (len(found) > _SHOWN)])
    return f"views of texts or bytes are read as texts or bytes ({shown}): other types, the same values"


def without_views(table: pa.Table) -> pa.Table:
    """The table with ``string`` for ``string_view`` and ``binary`` for ``binary_view``, in categories and nested types too.

    ``large_string`` or ``large_binary`` in a column that has a chunk of more than 2 GiB of them.

    >>> import pyarrow as pa
    >>> without_views(pa.table({"t": pa.array(["a"], pa.string_view())})).schema.field("t").type
    DataType(string)
    """
    import pyarrow as pa

    changed = {}
    for at, field in enumerate(table.schema):
        if _has_views(field.type):
            large = _plain_type(field.type, large=True)
            chunks = [_plain(chunk, large) for chunk in table.column(at).chunks]
            wanted = _plain_type(field.type)
            try:
                chunks = [_plain(chunk, wanted) for chunk in chunks]
            except pa.ArrowInvalid:  # offsets of 32 bits do not lead so far
                wanted = large
            changed[at] = field.with_type(wanted), pa.chunked_array(chunks, wanted)
    return with_columns(table, changed)


def plain_batches(
    schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """As `without_views`, batch by batch; the very same if there are none.

    Types are known before the first batch. So one with more than 2 GiB of texts in a column, which views that
    share them have quickly, is given in halves.

    Raises:
        Unsupported: From the iterator: a single row has more.
    """
    import pyarrow as pa

    if not any(map(_has_views, schema.types)):
        return schema, batches
    fields = [
        field.with_type(_plain_type(field.type)) if _has_views(field.type) else field for field in schema
    ]
    plain = pa.schema(fields, cast("Any", schema.metadata))
    return plain, (part for batch in batches for part in _parts(batch, plain))


def _parts(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        try:
            columns.append(_plain(_plain(column, _plain_type(column.type, large=True)), field.type))
        except pa.ArrowInvalid as error:
            half = len(batch) // 2
            if not half:
                raise Unsupported(
                    f"column {field.name[:80]!r}: a row has more than 2 GiB of texts"
                ) from error
            yield from _parts(batch.slice(0, half), schema)
            yield from _parts(batch.slice(half), schema)
            return
    yield batch.from_arrays(columns, schema=schema)


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
