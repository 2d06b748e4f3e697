"""Parquet Variant: a document in a column of type VARIANT of a Parquet file.

As defined in https://github.com/apache/parquet-format/blob/master/VariantEncoding.md. The file has
one column of that name and one row; what is measured has Parquet's own frame around it.
"""

from __future__ import annotations

from typing import Any

from tare.formats import duck
from tare.formats.base import Buffer, Format, Option
from tare.formats.scalars import DEFAULT, hook

__all__ = ["FORMAT"]

_COMPRESSION = Option(
    "snappy",
    ("snappy", "none", "zstd"),
    "Compression of the file's column; none = the encoding itself, and room for a compressor around it.",
)
_COLUMN = "document"


def _encode(obj: Any, *, compression: str, default: str) -> bytes:
    import orjson

    text = orjson.dumps(obj, default=hook(default)).decode()
    codec = "uncompressed" if compression == "none" else compression
    return duck.copy_query(
        f"SELECT ?::JSON::VARIANT AS {_COLUMN}", [text], f"FORMAT parquet, COMPRESSION {codec}"
    )


def _decode(data: Buffer, *, compression: str, default: str) -> Any:
    import orjson

    found = _text(data, f"{_COLUMN}::JSON::VARCHAR")
    return None if found is None else orjson.loads(found)


def _path(data: Buffer, steps: list[str], *, compression: str, default: str) -> Any:
    """The value there; of a column that the writer took apart only the parts on the way are read."""
    import orjson

    way = "".join(f"[{int(step) + 1}]" if step.isdecimal() else f".{duck.quote([step])}" for step in steps)
    found = _text(data, f"({_COLUMN}{way})::JSON::VARCHAR")
    return None if found is None else orjson.loads(found)


def _text(data: Buffer, what: str) -> str | None:
    """JSON text of a value of the one document; None for null, and for a place that is not there."""
    sql = f"SELECT {what} FROM read_parquet({{path}})"  # noqa: S608 - what is quoted above
    column = duck.query(data, sql).column(0).to_pylist()
    if len(column) != 1:
        raise ValueError(f"{len(column)} rows, and not one with a document")
    text: str | None = column[0]
    return text


FORMAT = Format(
    id="variant",
    title="Parquet Variant",
    extensions=(),
    kinds=frozenset({"document"}),
    spec="https://github.com/apache/parquet-format/blob/master/VariantEncoding.md",
    languages=("c++", "java", "rust"),
    subset=("path",),
    libraries=(
        duck.library(
            native={"document": "python"},
            encode=_encode,
            decode=_decode,
            modules=("duckdb", "pyarrow", "orjson"),
            options={"compression": _COMPRESSION, "default": DEFAULT},
            variants={"document": ()},  # a file of one row is no candidate for a document
            path=_path,
            max_depth=18,  # each level more doubles the time of reading
            notes=(
                "A Parquet file of one row: a small document is mostly its frame.",
                "The order of names is lost; integers above 2^63-1 are refused, and before DuckDB 2 the empty name.",
                "Reading takes twice as long for each level of nesting, so that deep documents are refused.",
                "A path that is not there reads as null.",
                "JSON text goes into and out of DuckDB; NaN and Infinity become null silently on the way.",
            ),
        ),
    ),
)
