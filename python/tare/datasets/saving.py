"""Data as files that workers load quickly."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.categories import one_dictionary
from tare.errors import EncodeError, Unsupported, UsageError
from tare.frames import bytes_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Saved",
    "is_stream",
    "load_saved",
    "save",
    "save_batches",
    "save_document",
    "with_one_dictionary",
]


_FILE = b"ARROW1"  # opens an Arrow file, and no stream


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
    """Write a table as `save_batches` does, a document as JSON if that carries it exactly, else as tagged values.

    Returns:
        ``path``, ``as`` (``arrow``, ``json`` or ``values``) and ``kind``: what `load_saved` takes.

    Raises:
        OSError: The file cannot be written.
        Unsupported: The document holds a value of a type nothing here can carry.
    """
    name = os.fspath(path)
    if kind == "table":
        data, apart = with_one_dictionary(value)
        save_batches(data.to_batches(), data.schema, name, apart=apart)
        return {"path": name, "as": "arrow", "kind": kind}
    return {"path": name, "as": save_document(value, name)[0], "kind": kind}


def save_document(value: Any, path: str | os.PathLike[str], *, plain: bool = False) -> tuple[str, str]:
    """Writes a document as JSON if that carries it exactly, else as tagged values.

    Args:
        value: The document.
        path: Where it is written.
        plain: Whether JSON is known to carry it exactly.

    Returns:
        How it was written, ``json`` or ``values``, and its content hash, which is that of the same text.

    Raises:
        OSError: The file cannot be written.
        Unsupported: The document holds a value of a type nothing here can carry.
    """
    from tare.datasets import hashing

    how, text = hashing.text_of(value, plain=plain)
    with open(os.fspath(path), "wb") as file:
        file.write(text)
    return how, hashing.hash_text(text)


def with_one_dictionary(table: pa.Table) -> tuple[pa.Table, bool]:
    """The table with one dictionary of each category; as it is where the orders of ordered ones contradict each other, which is True then."""
    try:
        return one_dictionary(table), False
    except EncodeError:
        return table, True


def save_batches(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    path: str | os.PathLike[str],
    *,
    apart: bool = False,
) -> tuple[int, int]:
    """Write a table batch by batch, as an uncompressed Arrow file or stream.

    Args:
        batches: Its rows.
        schema: Its schema.
        path: Where it is written.
        apart: Each batch has dictionaries of its own, and it becomes a stream; else all have those of `with_one_dictionary`.

    Returns:
        Its rows, and its bytes in memory.

    Raises:
        OSError: The file cannot be written.
        Unsupported: Chunks have several dictionaries.
    """
    from pyarrow import ipc

    rows = size = 0
    new = ipc.new_stream if apart else ipc.new_file
    with _one_dictionary_each(), new(os.fspath(path), schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
            size += bytes_of(batch)
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


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a table was saved as a stream of Arrow, as its batches have dictionaries of their own."""
    with open(path, "rb") as file:
        return file.read(len(_FILE)) != _FILE


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

        opened: Any = ipc.open_stream if is_stream(name) else ipc.open_file
        with pa.OSFile(name, "rb") as file:
            return opened(file).read_all()
    with open(name, "rb") as file:
        data = file.read()
    if as_ == "json":
        import orjson

        return orjson.loads(data)
    if as_ == "values":
        from tare import tagged

        return tagged.load_text(data)
    raise UsageError(f"data is saved as arrow, json or values, not as {as_[:40]!a} (kind {kind})")
