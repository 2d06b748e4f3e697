"""Apache Avro's container file, as defined in https://avro.apache.org/docs/1.12.0/specification/.

The schema is told from the types of the table, and every column may hold nulls.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

from tare.formats.avro_bounds import bounded_blocks
from tare.formats.avro_columns import write_columns
from tare.formats.avro_types import rows_of, table_of
from tare.formats.base import Buffer, Format, Library, Option, Stream
from tare.formats.columnar import join
from tare.formats.scalars import DEFAULT

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMAT"]

_COMPRESSION = Option("none", ("none", "deflate"), "Compression of the blocks.")
_CODECS = {"none": "null", "deflate": "deflate"}


def _encode(obj: pa.Table, *, compression: str, default: str) -> bytes:
    file = BytesIO()
    _write(obj, file, compression=compression, default=default)
    return file.getvalue()


def _decode(data: Buffer, *, compression: str, default: str) -> pa.Table:
    schema, blocks = bounded_blocks(BytesIO(data))
    return table_of([row for block in blocks for row in block], schema)


def _write(obj: pa.Table, file: BinaryIO, *, compression: str, default: str) -> None:
    import fastavro

    schema, rows = rows_of(obj, default)
    fastavro.writer(file, fastavro.parse_schema(schema), rows, codec=_CODECS[compression], strict=True)


def _read(file: BinaryIO, *, compression: str, default: str) -> Iterator[pa.Table]:
    schema, blocks = bounded_blocks(file)
    block = None
    for block in blocks:
        yield table_of(list(block), schema)
    if block is None:
        yield table_of([], schema)


FORMAT = Format(
    id="avro",
    title="Avro",
    extensions=(".avro",),
    kinds=frozenset({"table"}),
    magic=(b"Obj\x01",),
    spec="https://avro.apache.org/docs/1.12.0/specification/",
    languages=("c", "c++", "csharp", "go", "java", "javascript", "php", "python", "ruby", "rust"),
    libraries=(
        Library(
            name="fastavro",
            native={"table": "arrow"},
            encode=_encode,
            decode=_decode,
            modules=("fastavro",),
            distribution="fastavro",
            extra="tables",
            options={"compression": _COMPRESSION, "default": DEFAULT},
            variants={"table": ({"default": "text"},)},
            slow=True,
            stream=Stream(_write, _read, join),
            of_arrow=write_columns,
            notes=(
                "Names of columns must be identifiers.",
                "It takes and gives rows as dicts: making them of a table, and a table of them, is a part of its time.",
            ),
        ),
    ),
)
