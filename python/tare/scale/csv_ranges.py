"""Parts of a CSV: the rows whose first byte lies in a range, with the names and types that the plan fixed."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from tare.datasets import csvs
from tare.datasets.csv_dialect import Dialect
from tare.errors import Malformed, UsageError
from tare.formats.csv_rows import BOM, unclosed_quote
from tare.scale.ranges import line_blocks, open_plain, schema_from_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_csv_range"]

_BATCH_ROWS = 65_536


def read_csv_range(
    path: str | BinaryIO, start: int, end: int, options: Mapping[str, Any], name: str
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The rows of a range of plain bytes. The user said that no line break stands within a value.

    Args:
        path: The file, or its path.
        start: First byte of the range.
        end: The byte behind its last.
        options: ``schema, delimiter, decimal``, and ``header``: where the header's line ends.
        name: What to call the file.

    Raises:
        Malformed: A row does not fit the header, or a value its type; its first byte is named.
        UsageError: The options are those of no CSV.
    """
    schema = schema_from_text(str(options.get("schema", "")))
    first = max(start, int(options.get("header", 0)))
    delimiter, decimal = str(options["delimiter"]), str(options.get("decimal", "."))
    if len(delimiter) != 1 or len(decimal) != 1:
        raise UsageError(f"{name}: options.delimiter and options.decimal are one character each")

    one = len(schema) == 1  # then a blank line is a row

    def batches() -> Iterator[pa.RecordBatch]:
        if first >= end:
            return
        with open_plain(path) as file:
            for begin, data in line_blocks(file, first, end):
                own = len(BOM) if begin == 0 and data.startswith(BOM) else 0  # the file's mark, no value's
                at, block = begin + own, data[own:]
                if block and (block.strip(b"\r\n") or one):
                    style = Dialect(delimiter, b'"' in block, decimal, one)
                    yield from _rows(block, style, schema, name, at).to_batches(_BATCH_ROWS)

    return schema, batches()


def _rows(block: bytes, style: Dialect, schema: pa.Schema, name: str, at: int) -> pa.Table:
    import pyarrow as pa

    broken = unclosed_quote(block, style.delimiter) if style.quoted else None
    if broken is not None:
        raise _malformed(name, at, *_line(block, broken), "a quote is not closed in its line")
    try:
        return _parsed(block, style, schema)
    except pa.ArrowException as error:
        raise _malformed(name, at, *_fault(block, style, schema, str(error))) from error


def _malformed(name: str, at: int, offset: int, line: bytes, said: str) -> Malformed:
    text = (
        f"{name}: csv: the row from byte {at + offset:,} on: {said} ({line!r:.80}). "
        "If a line break stands within a value, convert it without --split-lines"
    )
    return Malformed(text, format="csv", offset=at + offset)


def _line(block: bytes, at: int) -> tuple[int, bytes]:
    """The line that a byte is in, behind its offset."""
    start = block.rfind(b"\n", 0, at) + 1
    return start, block[start:].split(b"\n", 1)[0].strip()


def _parsed(block: bytes, style: Dialect, schema: pa.Schema) -> pa.Table:
    from pyarrow import csv

    given = csvs.options(style, {field.name: field.type for field in schema}, None, len(block))
    given["read_options"] = csv.ReadOptions(
        use_threads=False, block_size=len(block) + 1, column_names=schema.names
    )
    mark = BOM if block.startswith(BOM) else b""  # one of these is taken for the file's and left out
    end = b"\n" if csvs.lacks_end(block, style) else b""
    return csv.read_csv(io.BytesIO(mark + block + end), **given).cast(schema)


def _fault(block: bytes, style: Dialect, schema: pa.Schema, said: str) -> tuple[int, bytes, str]:
    """Where the first row lies that does not fit, found by halving: its offset, itself, and what is wrong."""
    import pyarrow as pa

    first, lines = 0, block.splitlines(keepends=True)
    while len(lines) > 1:
        half = b"".join(lines[: len(lines) // 2])
        try:
            if half.strip(b"\r\n") or style.one:
                _parsed(half, style, schema)
            first += len(half)
            lines = lines[len(lines) // 2 :]
        except pa.ArrowException as error:
            said = str(error)
            lines = lines[: len(lines) // 2]
    found = re.search(r"Expected (\d+) columns, got (\d+)", said)
    if found is not None:
        said = f"it has {found[2]} fields, the header has {found[1]}"
    return first, lines[0].strip(), said.removeprefix("CSV parse error: ")[:200]
