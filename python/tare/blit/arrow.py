"""Documents of Arrow tables: rows as objects, a null where there is no value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare._tare import blit_encode
from tare.errors import Unsupported

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_arrow"]


def from_arrow(data: Any, **options: Any) -> bytes:
    """A document of a table: an array of objects.

    Args:
        data: A table of Arrow, or what has ``__arrow_c_stream__``.
        options: As of `tare.blit.encode`.

    Raises:
        Unsupported: A column whose type has no place in a document, such as times: it is named.

    >>> import pyarrow as pa
    >>> from tare import blit
    >>> blit.view(from_arrow(pa.table({"id": [1, 2], "to": ["JFK", None]}))).to_python()
    [{'id': 1, 'to': 'JFK'}, {'id': 2, 'to': None}]
    """
    import pyarrow as pa

    table = data if isinstance(data, pa.Table) else pa.table(data)
    for field in table.schema:
        _check(field.type, field.name)
    if len(set(table.column_names)) < table.num_columns:
        raise Unsupported("two columns have the same name", format="blit")
    return blit_encode(table.to_pylist(), **options)


def _check(type: pa.DataType, path: str) -> None:
    """Refuse what `blit` has no type for."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(type):
        return _check(type.value_type, path)
    if kinds.is_list(type) or kinds.is_large_list(type) or kinds.is_fixed_size_list(type):
        return _check(type.value_type, path)
    if kinds.is_struct(type):
        for i in range(type.num_fields):
            _check(type.field(i).type, f"{path}.{type.field(i).name}")
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
    if any(is_one(type) for is_one in plain):
        return None
    text = f"column {path!r:.80} has the type {type}, which has no place in a document: cast it first"
    raise Unsupported(text, format="blit", path=path)
