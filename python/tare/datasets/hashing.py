"""The content hash: names, types and values, and nothing of how they lie in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["hash_columns", "hash_document", "hash_table", "hash_text", "text_of"]


def hash_table(data: pa.Table) -> str:
    """SHA-256 of names, types, nulls, values and levels of categories (without a column, of how many rows), however the table is cut into chunks.

    The levels of a column are those of its first chunk, then what others add, also those of no row: as an Arrow file has them.

    >>> import pyarrow as pa
    >>> a, z = (pa.table({"k": pa.array([level]).dictionary_encode()}) for level in "az")
    >>> hash_table(a) == hash_table(z)
    False
    """
    return hash_columns(data.schema, data.itercolumns(), data.num_rows)


def hash_columns(schema: pa.Schema, columns: Iterable[Any], rows: int) -> str:
    """`hash_table` of a table whose columns come one after another, so that no two need be held.

    Args:
        schema: Of the table.
        columns: Its columns.
        rows: How many rows it has, which tables without a column are told apart by.
    """
    from tare.datasets.hashed_columns import hash_column

    digest = hashlib.sha256()
    digest.update(schema.remove_metadata().serialize())
    for column in columns:
        hash_column(digest, column)
    if rows and not schema.names:
        digest.update(b"rows\0%d" % rows)
    return digest.hexdigest()


def hash_document(value: Any, *, plain: bool = False) -> str:
    """SHA-256 of the value's JSON, or of its tagged values where JSON cannot carry it.

    Args:
        value: The document.
        plain: As `text_of` takes it.

    >>> hash_document([1]) == hash_document([1.0])
    False
    """
    return hash_text(text_of(value, plain=plain)[1])


def text_of(value: Any, *, plain: bool = False) -> tuple[str, bytes]:
    """Returns a document's JSON and ``json``, or its tagged values and ``values`` where JSON cannot carry it.

    Args:
        value: The document.
        plain: Whether JSON is known to carry it exactly, which saves the check.

    >>> text_of([1]), text_of((1,))[0]
    (('json', b'[1]'), 'values')
    """
    from tare import tagged

    text = tagged.exact_json(value, checked=plain)
    return ("values", tagged.dump_text(value)) if text is None else ("json", text)


def hash_text(text: bytes) -> str:
    """Returns the content hash of a document from what `text_of` made of it."""
    return hashlib.sha256(text).hexdigest()
