"""Lines of JSON as tables: the core finds the types of columns and fills them, and no value becomes one of Python's.

It reads what is a table beyond doubt: every line an object, one type for all values of a path. Anything else, such as a
damaged line, a name that stands twice in an object, or NaN, it leaves to who reads documents, and who says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare._tare import NdjsonFinder
from tare.codec import Codec
from tare.converting import changes, objects
from tare.converting.counting import Counted
from tare.datasets import recognise
from tare.datasets.source import Source
from tare.errors import Malformed, TareError
from tare.formats.csv_rows import BOM

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Columns", "batches_of", "becomes_columns", "blocks", "columns_of", "table_of"]

_READ = ("json", "ndjson")
_BLOCK_BYTES = 16 << 20
# Lines that may be so few values that what they are written as is read back and compared.
_SMALL_BYTES = 64 << 20
_BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Columns:
    """What the lines of a file are as a table.

    Args:
        schema: Its columns.
        rows: How many rows it has.
        counted: What the columns make of the lines.
    """

    schema: pa.Schema
    rows: int
    counted: Counted


def becomes_columns(source: Source, codec: Codec, verify: bool | None) -> bool:
    """Returns whether lines go into a format as a table of the core's.

    Where a format has other types than Arrow, what a small file's values come back as is told of Python's values.

    Args:
        source: The file.
        codec: What writes it.
        verify: Whether what is written is compared, as `tare.convert` has it.
    """
    if source.format not in _READ or "document" in codec.format.kinds or objects.writes(codec) or verify:
        return False
    small = verify is None and source.size <= _SMALL_BYTES
    return codec.peer is None and (changes.has_arrows_types(codec) or not small)


def columns_of(source: Source, size: int = _BLOCK_BYTES) -> Columns | None:
    """Returns what columns hold all lines of a file, in the memory of a block; None if it is left to others.

    Args:
        source: The file.
        size: Bytes of a block.

    Raises:
        OSError: As the operating system says.
    """
    finder = _read(source, size, keep=False)
    return None if finder is None else _columns(finder)


def table_of(
    source: Source, *, columns: list[str] | None = None, size: int = _BLOCK_BYTES
) -> tuple[pa.Table, Counted] | None:
    r"""Returns the rows of a file, and what its columns make of the lines; None if it is left to others.

    Args:
        source: The file.
        columns: Names of the columns that are wanted; all by default.
        size: Bytes of a block.

    Raises:
        OSError: As the operating system says.

    >>> source = Source("a", data=b'{"a": 1}\n{"a": 2.5, "b": []}\n', format="ndjson")
    >>> table, counted = table_of(source)
    >>> table.schema.types, counted
    ([DataType(double), ListType(list<item: null>)], [('a', 'a', 'whole', 1), ('b', 'b', 'missing', 1)])
    """
    import pyarrow as pa

    finder = _read(source, size, keep=True)
    if finder is None:
        return None
    found = _columns(finder)
    table = pa.Table.from_batches([pa.record_batch(rows) for rows in finder.take()], found.schema)
    if columns is None:
        return table, found.counted
    names = list(dict.fromkeys(columns))
    if not names or set(names) - set(table.column_names):
        return None  # whoever reads documents says which there is not
    return table.select(names), [one for one in found.counted if one[0] in names]


def batches_of(source: Source, schema: pa.Schema, size: int = _BLOCK_BYTES) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file whose columns are known.

    Args:
        source: The file.
        schema: As `columns_of` gives it.
        size: Bytes of a block.

    Raises:
        Malformed, Truncated: The lines are others than they were.
        OSError: As the operating system says.
    """
    import pyarrow as pa

    finder = NdjsonFinder(schema)
    for block in blocks(source, size):
        finder.read(block)
        found = _schema(finder)
        if not found.equals(schema):
            raise source.error(Malformed, "its lines are others than they were when their types were found")
        # Readers on several threads give smaller batches than are good to write.
        rows = pa.Table.from_batches(map(pa.record_batch, finder.take()), found).combine_chunks()
        yield from rows.to_batches(_BATCH_ROWS)


def blocks(source: Source, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
    """Yields the plain bytes of a text in blocks of whole lines; a line that is longer is a block.

    Args:
        source: The file; the mark at the beginning of its text is left out.
        size: Bytes of a block.

    Raises:
        Truncated, Malformed: A compressor's bytes are not what they should be.
    """
    held: list[bytes] = []
    first = True
    for step in source.steps(size):
        part = step.removeprefix(BOM) if first else step
        first = False
        cut = part.rfind(b"\n") + 1
        if not cut:
            held.append(part)
            continue
        yield b"".join([*held, memoryview(part)[:cut]]) if held or cut < len(part) else part
        held = [part[cut:]] if cut < len(part) else []
    if last := b"".join(held):
        yield last


def _read(source: Source, size: int, *, keep: bool) -> NdjsonFinder | None:
    """What read all lines, or an array; None if they are none, or left to others."""
    if source.format not in _READ or source.reader is not None or source.cut:
        return None
    if recognise.encoding_of(source.head) not in (None, "utf-8-sig"):
        return None
    finder = NdjsonFinder()
    try:
        if source.format == "json":
            finder.read_array(source.read()[0].removeprefix(BOM))
            return finder if _has_columns(finder) else None
        for block in blocks(source, size):
            finder.read(block)
            if not keep:
                finder.take()
    except TareError:  # whoever reads it as documents says it, or knows what it is
        return None
    return finder if _has_columns(finder) else None


def _has_columns(finder: NdjsonFinder) -> bool:
    try:
        return bool(len(finder) and _schema(finder).names)
    except ValueError:  # a name with a NUL, which ends names where Arrow's libraries meet
        return False


def _columns(finder: NdjsonFinder) -> Columns:
    return Columns(_schema(finder), len(finder), finder.changes())


def _schema(finder: Any) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(finder)
