"""`blit`, Tare's own format: a document that is read by field, without being parsed (docs/specs/blit.md)."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tare import table_text
from tare.errors import Limit
from tare.formats.base import Buffer, Format, Library, Option, bound
from tare.formats.scalars import DEFAULT, NATIVE, ROWS_AS_TEXT, hook, parts_of

if TYPE_CHECKING:
    import pyarrow as pa

    from tare import blit

__all__ = ["FORMAT"]

_COLLECTION = b"BLS1"
_LAYOUT = Option(
    "columns",
    ("columns", "rows"),
    "columns = like values of a list lie together, which is smallest; rows = each value by itself, to be patched.",
)
_CONTAINER = Option(
    "document",
    ("document", "collection"),
    "document = one value; collection = the items of a list, each found by its number (.blits).",
)
_COMPRESSION = Option("none", ("none", "zstd", "lz4"), "Compression of each chunk of a collection.")
_SORT_KEYS = Option(
    False, (False, True), "Write the names of each mapping sorted instead of in the order they came."
)
_CANONICAL = Option(False, (False, True), "Write the same bytes for the same value, whoever writes them.")


def _bind_encode(
    *,
    canonical: bool,
    compression: str,
    container: str,
    default: str,
    layout: str,
    sort_keys: bool,
) -> Callable[[Any], bytes]:
    from tare import blit

    encode: Callable[[Any], bytes] = blit.encode
    if container == "collection":
        encode = partial(_collected, compression=compression, default=default)
    elif canonical or default != "refuse" or layout != "columns":
        encode = partial(blit.encode, default=hook(default), canonical=canonical, layout=layout)
    return (lambda obj: encode(_sorted(obj))) if sort_keys else encode


def _collected(obj: Any, *, compression: str, default: str) -> bytes:
    """A collection of the items of a list."""
    from tare import blit

    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        path = os.path.join(folder, "x.blits")
        pressing = None if compression == "none" else compression
        with blit.open_collection(path, "x", compressor=pressing) as collection:
            for item in parts_of(obj):
                collection.append(item, default=hook(default))
        with open(path, "rb") as file:
            return file.read()


def _bind_decode(**options: Any) -> Callable[[Buffer], Any]:
    from tare import blit

    view = blit.view

    def decode(data: Buffer) -> Any:
        if not _is_collection(data):
            return view(data).to_python()
        with _collection(data) as collection:
            return [_whole(document) for document in _listed(collection, data)]

    return decode


def _from_json(text: Buffer, *, canonical: bool, layout: str, **options: Any) -> bytes:
    """JSON text to a document, through no objects."""
    from tare import blit

    return blit.from_json(text, canonical=canonical, layout=layout)


def _to_json(data: Buffer, *, sort_keys: bool, **options: Any) -> bytes:
    """A document to JSON text, through no objects."""
    from tare import blit

    text: bytes = blit.view(data).to_json("lexical" if sort_keys else "insertion")
    return text


def _of_arrow(table: pa.Table, **options: Any) -> Iterator[Buffer] | None:
    """A document of a table by the text of its rows, through no objects: eight times as fast, and the same bytes."""
    from tare import blit

    plain = options["container"] == "document" and not options["sort_keys"]
    if not plain or not table.num_rows or any(map(_has_no_text, table.schema.types)):
        return None
    if not table_text.is_finite(table):  # text has no NaN
        return None
    lines = table_text.json_parts(table, "lines", default=options["default"])
    if lines is None:
        return None
    return iter(
        (blit.from_ndjson(b"".join(lines), canonical=options["canonical"], layout=options["layout"]),)
    )


def _has_no_text(kind: Any) -> bool:
    """Whether a type is, or holds, one whose values documents have and JSON has not: decimals are text there, and names are too."""
    import pyarrow as pa

    inner = [kind.value_type] if pa.types.is_dictionary(kind) else []
    inner += [kind.field(at).type for at in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    return pa.types.is_decimal(kind) or pa.types.is_map(kind) or any(map(_has_no_text, inner))


def _sorted(value: Any) -> Any:
    """The value with the names of each mapping in order."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _open(data: Buffer, **options: Any) -> Any:
    """The root as a view: each value is read when it is asked for."""
    from tare import blit

    if _is_collection(data):
        with _collection(data) as collection:
            return list(_listed(collection, data))  # each keeps the file open
    return blit.view(data)


def _path(data: Buffer, steps: list[str], **options: Any) -> Any:
    """The value there, found without reading any other."""
    from tare import blit

    found: Any = _open(data)
    for step in steps:
        found = found[int(step)] if isinstance(found, list | blit.ListView) else found[step]
    return _whole(found)


def _whole(value: Any) -> Any:
    """A view as Python objects; scalars are."""
    from tare import blit

    return value.to_python() if isinstance(value, blit.View) else value


def _listed(collection: blit.Collection, data: Buffer) -> blit.Collection:
    """The collection, if a list of all its documents is in proportion to its bytes.

    Raises:
        Limit: More than 64 documents for each byte, and more than 2^24.
    """
    if len(collection) > max(1 << 24, 64 * len(data)):
        raise Limit(
            f"{len(collection):,} documents in {len(data):,} bytes are not made into one list: iterate over"
            " tare.blit.open_collection instead",
            format="blit",
        )
    return collection


def _is_collection(data: Buffer) -> bool:
    return bytes(data[:4]) == _COLLECTION


@contextlib.contextmanager
def _collection(data: Buffer) -> Iterator[blit.Collection]:
    """A collection whose bytes are in memory: as a file, from which it is read."""
    from tare import blit

    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        path = os.path.join(folder, "x.blits")
        with open(path, "wb") as file:
            file.write(data)
        with blit.open_collection(path, mmap=False) as collection:
            yield collection


def _resolve(options: dict[str, Any]) -> dict[str, Any]:
    """Refuse options of collections for a document."""
    if options["container"] == "document" and options["compression"] != "none":
        raise ValueError(
            "compression is of a collection's chunks: say container=collection, or +zstd:3 at the end"
        )
    if options["container"] == "collection" and (options["canonical"] or options["layout"] != "columns"):
        raise ValueError("canonical and layout are of a document, not of a collection")
    return options


FORMAT = Format(
    id="blit",
    title="blit",
    extensions=(".blit", ".blits"),
    extension_options={".blits": {"container": "collection"}},
    magic=(b"BLT1", _COLLECTION),
    kinds=frozenset({"document", "table"}),
    spec="docs/specs/blit.md",
    languages=("python", "rust"),
    read_by_tare=("python", "rust"),
    subset=("path",),
    libraries=(
        Library(
            name="tare",
            native=NATIVE,
            **bound(_bind_encode, _bind_decode),
            modules=("tare._tare",),
            distribution="tare",
            options={
                "canonical": _CANONICAL,
                "compression": _COMPRESSION,
                "container": _CONTAINER,
                "default": DEFAULT,
                "layout": _LAYOUT,
                "sort_keys": _SORT_KEYS,
            },
            resolve=_resolve,
            of_arrow=_of_arrow,
            variants=ROWS_AS_TEXT,
            open=_open,
            path=_path,
            from_json=_from_json,
            to_json=_to_json,
            notes=("Decimals come back as floats, whole ones as integers; names are text.",),
        ),
    ),
)
