"""Data as files that workers load quickly, and its content hash."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from tare.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["hash_document", "hash_table", "load_saved", "save"]

_HASH_ROWS = 65_536


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

        with ipc.new_file(name, value.schema) as writer:
            writer.write_table(value)
        return {"path": name, "as": "arrow", "kind": kind}
    from tare import tagged

    text = tagged.exact_json(value)
    how = "json"
    if text is None:
        text, how = tagged.dump_text(value), "values"
    with open(name, "wb") as file:
        file.write(text)
    return {"path": name, "as": how, "kind": kind}


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
    import pyarrow as pa

    digest = hashlib.sha256()
    digest.update(data.schema.remove_metadata().serialize())
    for column in data.itercolumns():
        whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if isinstance(whole, pa.ChunkedArray):  # too long for one array
            whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], column.type)
        for start in range(0, len(whole), _HASH_ROWS):
            _hash_array(digest, _plain(whole.slice(start, _HASH_ROWS)))
    return digest.hexdigest()


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
    import pyarrow.compute as pc

    return (pc.is_null(array), pc.drop_null(array)) if array.null_count else (array,)


def _hash_array(digest: Any, arrays: tuple[Any, ...]) -> None:
    """Through Arrow's own serialization, which cuts slices to what they show."""
    import pyarrow as pa

    for array in arrays:
        batch = pa.RecordBatch.from_arrays([array], ["x"])
        digest.update(batch.serialize())
