"""Parts of files: which rows belong to a range, so that all ranges together give every row once.

A line of text belongs to the range in which its first byte lies. So the rows of ``[start, end)`` stand
between ``border(start)`` and ``border(end)``, where ``border(k)`` is what follows the first line feed at or
behind byte ``k - 1``: neighbours share their border, whatever they are cut at.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tare import compress
from tare._tare import NdjsonReader
from tare.converting.counting import Counted
from tare.datasets import documents
from tare.datasets.views import plain_batches
from tare.errors import Malformed, TareError, Truncated, Unsupported
from tare.formats.columnar import batches_of_groups
from tare.formats.parquet_file import open_parquet
from tare.scale.widening import no_type_of, widened

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.r.losses import Losses

__all__ = [
    "BOM",
    "border",
    "line_blocks",
    "not_json",
    "open_plain",
    "packed_schema",
    "read_range",
    "row_of",
    "schema_from_text",
    "schema_to_text",
]

_BLOCK_BYTES = 16 << 20
_LOOK_BYTES = 64 << 10
_BATCH_ROWS = 65_536
_PACKED = "xz:"  # before a schema that is compressed; no base64 begins so
_SCHEMA_BYTES = 16 << 20
BOM = b"\xef\xbb\xbf"
_OF_TYPES = re.compile(r"there is no column|is no (null|boolean|int64|uint64|double|text|list|object)$")


@contextlib.contextmanager
def open_plain(source: str | BinaryIO) -> Iterator[BinaryIO]:
    """A file's plain bytes, seekable: as they are, or decompressed by the index of its chunks.

    Args:
        source: A path, or a file, which stays open.
    """
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(source, "rb")) if isinstance(source, str) else source
        file.seek(0)
        packed = compress.sniff(file.read(64)) is not None
        file.seek(0)
        if packed:
            yield stack.enter_context(
                cast(BinaryIO, compress.open(source if isinstance(source, str) else file, "rb"))
            )
        else:
            yield file


def border(file: BinaryIO, at: int) -> int:
    r"""Where the first line begins whose first byte lies at `at` or behind; the file's end if none does.

    >>> import io
    >>> [border(io.BytesIO(b"ab\ncd\n"), at) for at in range(8)]
    [0, 3, 3, 3, 6, 6, 6, 6]
    """
    if at <= 0:
        return 0
    position = at - 1
    file.seek(position)
    while block := file.read(_LOOK_BYTES):
        found = block.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(block)
    return min(position, file.seek(0, 2))


def line_blocks(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a range in blocks of whole lines, each with its offset; a line that is longer is a block.

    Args:
        file: The plain bytes.
        start: First byte of the range.
        end: The byte behind its last.
    """
    first, stop = border(file, start), border(file, end)
    file.seek(first)
    rest, at = b"", first
    while at + len(rest) < stop:
        read = file.read(min(_BLOCK_BYTES, stop - at - len(rest)))
        if not read:
            break
        rest += read
        cut = len(rest) if at + len(rest) >= stop else rest.rfind(b"\n") + 1
        if cut:
            yield at, rest[:cut]
            at += cut
            rest = rest[cut:]
    if rest:
        yield at, rest


def read_range(
    path: str | BinaryIO,
    part: Mapping[str, Any],
    options: Mapping[str, Any],
    name: str,
    *,
    tell: Callable[[Counted], None] | None = None,
    losses: Losses | None = None,
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The rows of a part of a file as batches.

    Args:
        path: The file, or its path.
        part: ``kind, start, end``.
        options: Of the unit: ``schema`` of text; ``delimiter, decimal, header`` of CSV.
        name: What to call the file.
        tell: Called behind the last row of lines of JSON with what their types changed.
        losses: Takes what a file of R has and the rows have not; without it a warning says so.

    Raises:
        Malformed: Not what the format, or the schema that was fixed, says.
        Unsupported: Such parts are not read.
    """
    kind, start, end = str(part["kind"]), int(part["start"]), int(part["end"])
    if kind == "bytes" and "delimiter" in options:
        from tare.scale.csv_ranges import read_csv_range

        return read_csv_range(path, start, end, options, name)
    if kind == "bytes":
        return _lines(path, start, end, schema_from_text(str(options.get("schema", ""))), name, tell=tell)
    if kind == "row_groups":
        return plain_batches(*_row_groups(path, start, end))
    if kind == "batches":
        return plain_batches(*_record_batches(path, start, end))
    if kind == "rows":
        return _rows(path, start, end, losses)
    raise Unsupported(f"{name}: parts by {kind} are not read as a table")


def _lines(
    path: str | BinaryIO,
    start: int,
    end: int,
    schema: pa.Schema,
    name: str,
    *,
    tell: Callable[[Counted], None] | None,
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Lines of JSON as rows of a fixed schema: other names and values of other types are refused, nothing is rounded."""
    import pyarrow as pa

    reader = NdjsonReader(schema)

    def batches() -> Iterator[pa.RecordBatch]:
        with open_plain(path) as file:
            for at, block in line_blocks(file, start, end):
                if at == 0 and block.startswith(BOM):
                    at, block = len(BOM), block[len(BOM) :]  # noqa: PLW2901 - the same, without it
                try:
                    rows = pa.record_batch(reader.read(block))
                except (Malformed, Truncated) as error:
                    raise _line_fault(error, block, name, at, schema) from error
                for first in range(0, len(rows), _BATCH_ROWS):
                    yield rows.slice(first, _BATCH_ROWS)
        if tell:
            tell(reader.changes())

    return schema, batches()


def _line_fault(
    error: Malformed | Truncated, block: bytes, name: str, at: int, schema: pa.Schema
) -> Malformed:
    """What is wrong with which line of a block that begins at byte `at`."""
    first = block.rfind(b"\n", 0, error.offset or 0) + 1
    end = block.find(b"\n", first)
    line, offset = block[first : end if end >= 0 else len(block)], at + first
    try:
        row = row_of(line)
    except (TareError, ValueError, RecursionError) as fault:
        text = f"{name}: the line from byte {offset:,} on {not_json(fault, offset)}"
        return Malformed(text, format="ndjson", offset=offset)
    said = str(error).removeprefix("ndjson: ").rpartition(", at byte ")[0]
    text = f"{name}: the line from byte {offset:,} on: {_why(row, said, schema)}"
    return Malformed(text, format="ndjson", offset=offset)


def _why(row: dict[str, Any], said: str, schema: pa.Schema) -> str:
    """What a reader said of a row that is no row of the schema, and what would help."""
    documents = "documents, as --to ndjson writes them, have none"
    if said.endswith("a value is missing"):
        return f"{said}: what stands there, such as NaN, is no JSON"
    if not _OF_TYPES.search(said):
        return said
    for key, value in row.items():
        if said.startswith(f"{key[:60]}: ") and (why := no_type_of(value)):
            return f"{key[:60]}: it holds {why}, which no column does; {documents}"
    if not widened(schema, [row]).equals(schema):
        return (
            f"{said}. Names and types are those of a sample of the file, or with --whole-schema of all of it; "
            f"{documents}"
        )
    return f"{said}. The type is that of a sample of the file, or of all of it, and no type holds both; {documents}"


def row_of(line: bytes) -> dict[str, Any]:
    """The object of a line.

    Raises:
        Malformed: It holds something else.
        ValueError, RecursionError: As `documents.parse_json`; `not_json` says it.
    """
    row = documents.parse_json(line)
    if not isinstance(row, dict):
        raise Malformed("holds no object, so it is no row of a table")
    return row


def not_json(error: Exception, at: int) -> str:
    """What is wrong with a line that begins at byte `at`; what its decoder calls line 1 is not the file's."""
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        before = len(error.doc[: error.pos].encode(errors="surrogatepass"))
        return f"is not JSON: {error.msg}, at byte {at + before:,}"
    said = str(error)[:200]
    return said if said.startswith("holds no object") else f"is not JSON: {said}"


def _row_groups(path: str | BinaryIO, start: int, end: int) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    file = open_parquet(path, page_checksum_verification=True)

    def batches() -> Iterator[pa.RecordBatch]:
        with file:
            yield from batches_of_groups(file, _BATCH_ROWS, range(start, end))

    return file.schema_arrow, batches()


def _record_batches(path: str | BinaryIO, start: int, end: int) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    import pyarrow as pa
    from pyarrow import ipc

    held: Any = pa.OSFile(path, "rb") if isinstance(path, str) else pa.PythonFile(cast(Any, path), "r")
    file = ipc.open_file(held)

    def batches() -> Iterator[pa.RecordBatch]:
        with held:
            for number in range(start, end):
                batch = file.get_batch(number)
                batch.validate(full=True)
                yield batch

    return file.schema, batches()


def _rows(
    path: str | BinaryIO, start: int, end: int, losses: Losses | None
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Rows of an fst file."""
    from tare import r
    from tare.r.plain import of_frame

    held = path if isinstance(path, str) else cast(Any, path)
    if losses is None:
        table = cast("pa.Table", r.read(held, as_="arrow", rows=(start, end)))
    else:
        table = of_frame(r.read(held, as_="robject", rows=(start, end)), losses)
    return table.schema, iter(table.to_batches(_BATCH_ROWS))


def schema_to_text(schema: pa.Schema) -> str:
    """A schema as a unit holds it."""
    return base64.b64encode(schema.remove_metadata().serialize().to_pybytes()).decode()


def packed_schema(text: str) -> str:
    """A schema as a unit holds it that has no room for its text: a fifth of it, or less.

    The core compresses it, whose bytes are the same on every host: it is a part of the unit's key.
    """
    return _PACKED + base64.b64encode(compress.compress(base64.b64decode(text), "xz:6")).decode()


def schema_from_text(text: str) -> pa.Schema:
    """The opposite of `schema_to_text`, and of `packed_schema`.

    Raises:
        Malformed: It is no schema.
    """
    import pyarrow as pa
    from pyarrow import ipc

    try:
        data = base64.b64decode(text.removeprefix(_PACKED), validate=True)
        if text.startswith(_PACKED):
            data = compress.decompress(data, "xz", max_output=_SCHEMA_BYTES)
        return ipc.read_schema(pa.py_buffer(data))
    except (TareError, ValueError, OSError, pa.ArrowException) as error:
        raise Malformed(f"options.schema is no schema: {str(error)[:100]}") from error
