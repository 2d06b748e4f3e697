"""Names for the files that codecs write."""

from __future__ import annotations

from pathlib import PurePath

from tare.codec.ids import split_id
from tare.errors import UsageError

__all__ = ["file_name"]

# Endings of compressed files.
_SUFFIXES = {"zstd": ".zst", "gzip": ".gz", "lz4": ".lz4"}


def file_name(codec: str, source: str) -> str:
    """Returns a name for what a codec writes of a file: the same, with the codec's own endings.

    >>> file_name("parquet:polars", "flights.csv.gz"), file_name("csv:pyarrow+zstd:3", "flights.csv")
    ('flights.parquet', 'flights.csv.zst')
    >>> file_name("not an id", "flights.csv")
    'flights.bin'
    """
    from tare import formats

    try:
        id, _, _, compressor = split_id(codec)
    except UsageError:  # The id of a foreign record.
        id, compressor = "bin", None
    known = {format.id: format for format in formats.FORMATS}
    endings = known[id].extensions if id in known else ()
    ending = endings[0] if endings else f".{id}"
    if compressor:
        kind = compressor.partition(":")[0]
        ending += (known[id].extension_compressors.get(ending, "") and "") or _SUFFIXES.get(kind, f".{kind}")
    stem = source
    while PurePath(stem).suffix and PurePath(stem).stem:
        stem = PurePath(stem).stem
    return f"{stem}{ending}" if f"{stem}{ending}" != source else f"{stem}.new{ending}"
