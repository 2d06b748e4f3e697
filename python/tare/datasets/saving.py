"""Data as files that workers load quickly, and its content hash."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.categories import has_order, one_dictionary, same_levels
from tare.errors import EncodeError, Unsupported, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Saved",
    "hash_columns",
    "hash_document",
    "hash_table",
    "load_saved",
    "save",
    "save_batches",
]

_HASH_ROWS = 65_536


@dataclass(frozen=True)
class Saved:
    """A part of the data as a file for workers.

    Args:
        path: Where it is.
        as_: How it is saved: ``arrow``, ``json`` or ``values``.
        kind: ``document`` or ``table``.
        items: Rows of a table, items of a list, 1 for any other document.
        bytes_memory: Its size in memory.
        hash: Content hash.
    """

    path: str
    as_: str
    kind: str
    items: int
    bytes_memory: int
    hash: str


def save(value: Any, kind: str, path: str | os.PathLike[str]) -> dict[str, str]:
    """Write a table as an uncompressed Arrow file, a document as JSON if that carries it exactly, else as tagged values.

    Returns:
        ``path``, ``as`` (``arrow``, ``json`` or ``values``) and ``kind``: what `load_saved` takes.

    Raises:
        OSError: The file cannot be written.
        Unsupported: The document holds a value of a type nothing here can carry.
    """
    name = os.fspath(path)
    if kind == "table":
        from pyarrow import ipc

        with _one_dictionary_each(), ipc.new_file(name, value.schema) as writer:
            writer.write_table(one_dictionary(value))
        return {"path": name, "as": "arrow", "kind": kind}
    from tare import tagged

    text = tagged.exact_json(value)
    how = "json"
    if text is None:
        text, how = tagged.dump_text(value), "values"
    with open(name, "wb") as file:
        file.write(text)
    return {"path": name, "as": how, "kind": kind}


def save_batches(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: str | os.PathLike[str]
) -> tuple[int, int]:
    """Write a table batch by batch as `save` writes it whole.

    Args:
        batches: Its rows; all chunks of a column have the same levels, as `tare.categories.one_dictionary` makes them.
        schema: Its schema.
        path: Where it is written.

    Returns:
        Its rows, and its bytes in memory.

    Raises:
        OSError: The file cannot be written.
        Unsupported: Chunks have several dictionaries.
    """
    from pyarrow import ipc

    rows = size = 0
    with _one_dictionary_each(), ipc.new_file(os.fspath(path), schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
            size += batch.nbytes
    return rows, size


@contextlib.contextmanager
def _one_dictionary_each() -> Iterator[None]:
    """Words for what Arrow says where chunks have several dictionaries that it does not bring together."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowInvalid as error:
        if "ictionary" not in str(error):
            raise
        said = "categories whose chunks have several dictionaries, which Arrow does not bring together"
        raise Unsupported(f"{said}: {str(error)[:120]}") from error


def load_saved(path: str | os.PathLike[str], as_: str, kind: str = "document") -> Any:
    """Read what `save` wrote, wholly into memory.

    Raises:
        UsageError: `as_` is none of ``arrow``, ``json``, ``values``.
        OSError: The file cannot be read.
    """
    name = os.fspath(path)
    if as_ == "arrow":
        import pyarrow as pa
        from pyarrow import ipc

        with pa.OSFile(name, "rb") as file:
            return ipc.open_file(file).read_all()
    with open(name, "rb") as file:
        data = file.read()
    if as_ == "json":
        import orjson

        return orjson.loads(data)
    if as_ == "values":
        from tare import tagged

        return tagged.load_text(data)
    raise UsageError(f"data is saved as arrow, json or values, not as {as_[:40]!a} (kind {kind})")


def hash_table(data: pa.Table) -> str:
    """SHA-256 of names, types, nulls and values, however the table is cut into chunks."""
    return hash_columns(data.schema, data.itercolumns())


def hash_columns(schema: pa.Schema, columns: Iterable[Any]) -> str:
    """`hash_table` of a table whose columns come one after another, so that no two need be held."""
    import pyarrow as pa

    digest = hashlib.sha256()
    digest.update(schema.remove_metadata().serialize())
    for column in columns:
        if has_order(column.type):
            with contextlib.suppress(EncodeError):  # chunks that contradict each other: as they appear
                column = pa.chunked_array(same_levels(column.chunks), column.type)  # noqa: PLW2901
        if pa.types.is_dictionary(column.type) or column.type.num_fields:
            column = pa.chunked_array([_joined(column)])  # noqa: PLW2901 - codes mean the same in all rows
        for start in range(0, len(column), _HASH_ROWS):
            _hash_array(digest, _plain(_joined(column.slice(start, _HASH_ROWS))))
    return digest.hexdigest()


def _joined(column: pa.ChunkedArray[Any]) -> Any:
    """One array of all chunks, from the pool that gives freed memory back to the system."""
    import pyarrow as pa

    if column.num_chunks == 1:
        return column.chunk(0)
    whole: Any = column.combine_chunks(memory_pool=pa.system_memory_pool())
    if isinstance(whole, pa.ChunkedArray):  # too long for one array
        return pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], column.type)
    return whole


def hash_document(value: Any) -> str:
    """SHA-256 of the value's JSON, or of its tagged values where JSON cannot carry it.

    >>> hash_document([1]) == hash_document([1.0])
    False
    """
    from tare import tagged

    text = tagged.exact_json(value)
    return hashlib.sha256(tagged.dump_text(value) if text is None else text).hexdigest()


def _plain(array: Any) -> tuple[Any, ...]:
    """Without bytes that are there but mean nothing: what stands under a null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not array.null_count:
        return (array,)
    pool = pa.system_memory_pool()
    return pc.is_null(array, memory_pool=pool), pc.drop_null(array, memory_pool=pool)


def _hash_array(digest: Any, arrays: tuple[Any, ...]) -> None:
    """Through Arrow's own serialization, which cuts slices to what they show."""
    import pyarrow as pa

    for array in arrays:
        batch = pa.RecordBatch.from_arrays([array], ["x"])
        digest.update(batch.serialize(memory_pool=pa.system_memory_pool()))
