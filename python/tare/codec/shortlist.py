"""The shortlist: the usual codecs, which a measurement tries first, the likeliest first.

The one list of them, by kind of data. `common` ids are what a stranger would expect to see beside their own
format; `beside` are variants that are worth a try where there is time.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tare import compress
from tare.codec.codec import Codec

if TYPE_CHECKING:
    from tare.formats.base import Library

__all__ = ["beside", "is_common", "is_less_used", "is_listed", "missing", "shortlist", "variants"]

_COMMON: Mapping[str, tuple[str, ...]] = {
    "table": (
        "parquet:pyarrow,compression=zstd,level=3",
        "parquet:polars",
        "parquet:duckdb,compression=zstd",
        "arrow:pyarrow",
        "arrow:pyarrow,compression=lz4",
        "arrow:pyarrow,compression=zstd",
        "orc:pyarrow,compression=zstd",
        "parquet:pyarrow,compression=zstd,level=9",
        "csv:pyarrow+zstd:3",
        "ndjson:polars+zstd:3",
    ),
    "document": (
        "json:orjson",
        "json:msgspec",
        "json:stdlib",
        "msgpack:msgspec",
        "msgpack:ormsgpack",
        "msgpack:msgpack",
        "json:orjson+zstd:3",
        "msgpack:msgspec+zstd:3",
        "msgpack:msgspec+lz4",
        "cbor:cbor2",
        "blit:tare",
    ),
}
# Of documents that are alike, blit with zstd costs least as often as any other (docs/decisions.md).
_OF_LISTS = ("blit:tare+zstd:3",)
# A line for each item; not of a file that is one JSON document, whose readers expect one.
_OF_LINES = ("ndjson:orjson+zstd:3", "ndjson:msgspec+zstd:3")
_BESIDE: Mapping[str, tuple[str, ...]] = {
    "table": (
        "parquet:polars,compression=lz4",
        "parquet:polars,compression=snappy",
        "parquet:pyarrow,compression=lz4",
        "parquet:polars,level=9",
        "parquet:duckdb,compression=zstd,level=9",
        "arrow:polars,compression=zstd",
        "orc:pyarrow,compression=lz4",
        "csv:polars+zstd:3",
        "csv:polars+lz4",
    ),
    "document": (
        "blit:tare+lz4",
        "msgpack:ormsgpack+zstd:3",
        "msgpack:ormsgpack+lz4",
        "json:msgspec+zstd:3",
        "json:orjson+lz4",
        "blit:tare+zstd:3",
    ),
}
# Place of the user's own format among tables.
_OWN = 4
# What their users' programs write without a further word.
_USUAL = ("parquet:pyarrow", "parquet:pyarrow,compression=zstd", "csv:pyarrow", "csv:polars", "csv:pandas")
_BESIDE_LINES = ("ndjson:msgspec+lz4",)
# Formats on these lists that far fewer people and tools use than the others there.
_LESS_USED = ("orc", "cbor")


def shortlist(kind: str, *, sequence: bool = False, source_format: str | None = None) -> list[str]:
    """Returns the ids of the codecs that people use, as they are printed, installed or not.

    Args:
        kind: ``document`` or ``table``.
        sequence: Whether the document is a list of documents, such as lines of JSON.
        source_format: Format of the user's file, with its compressor as in ``csv+gzip``, if it is not among them:
            among the first of tables where people use it, as everything is compared with it, else the last, as it
            may be slow; None for objects.

    >>> shortlist("table")[0], shortlist("table", source_format="csv+gzip")[4]
    ('parquet:pyarrow,compression=zstd,level=3', 'csv:pyarrow+gzip:6')
    """
    ids = [*_COMMON[kind], *(_OF_LISTS if sequence else ())]
    if sequence and not _is_json(source_format):
        ids += _OF_LINES
    found = [Codec.parse(id) for id in ids]
    own = _of_file(source_format, kind, found) if source_format else None
    if own is not None and (sequence or kind == "table" or not own.format.sequence):
        usual = kind == "table" and any(own.format_id == one.format_id for one in found)
        found.insert(_OWN if usual else len(found), own)
    return list(dict.fromkeys(map(str, found)))


def _is_json(source_format: str | None) -> bool:
    return (source_format or "").partition("+")[0] == "json"


def _of_file(stored_as: str, kind: str, common: Sequence[Codec]) -> Codec | None:
    """Returns the codec that writes what the user's file is, by the library that people use; None if none does."""
    from tare import formats

    id, _, compressor = stored_as.partition("+")
    usual = [codec.library_name for codec in common if codec.format_id == id and codec.installed]
    libraries = [
        library
        for format in formats.FORMATS
        for library in format.libraries
        if format.id == id and library.writes and kind in library.native
    ]
    places = {name: place for place, name in reversed(list(enumerate(usual)))}
    libraries.sort(key=lambda one: (places.get(one.name, len(places)), not one.installed))
    if not libraries:
        return None
    plain = next(iter(variants(id, libraries[0], kind)), Codec(id, libraries[0].name))
    # Compressed twice over, or in a way that Tare only reads: the format alone is compared.
    able = compressor in {one.name for one in compress.COMPRESSORS}
    return Codec.parse(f"{plain}+{compressor}") if able else plain


def variants(format: str, library: Library, kind: str) -> list[Codec]:
    """Returns the codecs that a library of a format is tried as, its usual one first; none if it is not tried."""
    return [
        Codec(
            format,
            library.name,
            tuple(sorted((k, v) for k, v in variant.items() if library.options[k].default != v)),
        )
        for variant in library.variants.get(kind, ({},))
    ]


def beside(kind: str, *, sequence: bool = False, source_format: str | None = None) -> list[str]:
    """Returns the ids of further variants of what people use.

    Args:
        kind: ``document`` or ``table``.
        sequence: Whether the document is a list of documents.
        source_format: Format of the user's file, as in `shortlist`.

    >>> "parquet:polars,compression=lz4" in beside("table")
    True
    """
    of_lines = _BESIDE_LINES if sequence and not _is_json(source_format) else ()
    return [str(Codec.parse(id)) for id in (*_BESIDE[kind], *of_lines)]


@functools.cache
def _printed(*lists: tuple[str, ...]) -> frozenset[str]:
    return frozenset(str(Codec.parse(id)) for ids in lists for id in ids)


def is_listed(id: str) -> bool:
    """Returns whether a codec is on the shortlist of some kind of data.

    >>> is_listed("json:orjson"), is_listed("parquet:polars,compression=lz4")
    (True, False)
    """
    return id in _printed(*_COMMON.values(), _OF_LISTS, _OF_LINES)


def is_common(id: str) -> bool:
    """Returns whether a codec is one that people use, or a variant of one; what Tare alone reads is not.

    >>> is_common("parquet:polars,compression=lz4"), is_common("json:simplejson"), is_common("blit:tare")
    (True, False, False)
    """
    return not id.startswith("blit:") and id in _printed(
        *_COMMON.values(), _OF_LISTS, _OF_LINES, *_BESIDE.values(), _BESIDE_LINES, _USUAL
    )


def is_less_used(id: str) -> bool:
    """Returns whether a codec's format is used by far fewer people than Parquet, Arrow, JSON or CSV are.

    >>> is_less_used("orc:pyarrow,compression=zstd"), is_less_used("parquet:polars")
    (True, False)
    """
    return id.partition(":")[0].partition("+")[0] in _LESS_USED


def missing(kind: str) -> tuple[list[str], str]:
    """Returns which libraries of the shortlist are not installed, and the command that installs them.

    Args:
        kind: ``document`` or ``table``.

    >>> names, command = missing("table")
    >>> bool(names) == bool(command)
    True
    """
    libraries = [Codec.parse(id).library for id in shortlist(kind)]
    absent = {one.name: one.to_install for one in libraries if not one.installed and one.to_install}
    command = f"pip install {' '.join(dict.fromkeys(absent.values()))}" if absent else ""
    return list(absent), command
