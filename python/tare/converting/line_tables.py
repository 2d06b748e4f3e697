"""Lines of JSON as tables: the core finds the types of columns and fills them, and no value becomes one of Python's.

It reads what is a table beyond doubt: every line an object, one type for all values of a path. Anything else, such as a
damaged line, a name that stands twice in an object, or NaN, it leaves to who reads documents, and who says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from tare import kinds
from tare._tare import NdjsonFinder
from tare.codec import Codec
from tare.converting import objects
from tare.converting.counting import Counted
from tare.datasets import recognise, stretches
from tare.datasets.source import Source
from tare.datasets.tables import places_of
from tare.errors import Malformed, TareError, Unsupported
from tare.formats.csv_rows import BOM

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Columns",
    "Contradicted",
    "batches_of",
    "batches_of_once",
    "becomes_columns",
    "blocks",
    "columns_of",
    "may_read",
    "table_of",
    "table_written",
]

_READ = ("json", "ndjson")
_BLOCK_BYTES = 16 << 20
_BATCH_ROWS = 65_536
# Blocks that tell the types of a file which is read once, and parts of all of it that have to agree.
_FIRST_BLOCKS = 4
_SPREAD_BYTES = 4 << 20


class Contradicted(Exception):
    """Later lines of a file have other types than the first."""


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

    Args:
        source: The file.
        codec: What writes it.
        verify: Whether what is written is compared, as `tare.convert` has it.
    """
    if source.format not in _READ or "document" in codec.format.kinds or objects.writes(codec) or verify:
        return False
    return codec.peer is None


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
    try:
        batches = finder.take()
    except TareError:  # far more missing names than there are bytes
        return None
    table = pa.Table.from_batches(map(pa.record_batch, batches), found.schema)
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
    finder = NdjsonFinder(schema)
    for block in blocks(source, size):
        finder.read(block)
        if not _schema(finder).equals(schema):
            raise source.error(Malformed, "its lines are others than they were when their types were found")
        yield from _chosen(finder, schema, range(len(schema)))


def batches_of_once(
    source: Source, columns: list[str] | None = None, size: int = _BLOCK_BYTES
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Returns the columns of a file's first lines, and its rows, each line of which is read once.

    What the columns make of the lines is in `Source.counted` behind the last row.

    Args:
        source: A file of lines.
        columns: Names of the columns that are wanted; all by default.
        size: Bytes of a block.

    Raises:
        Contradicted: The lines are left to others; or, while they are read, later ones have other types, or are damaged.
        UsageError: There is no such column.
        OSError: As the operating system says.
    """
    import pyarrow as pa

    if not may_read(source):
        raise Contradicted
    finder, rest = NdjsonFinder(), blocks(source, size)
    try:
        for block in islice(rest, _FIRST_BLOCKS):
            finder.read(block)
        schema = _schema(finder)
        if not schema.names or not _agrees(source, schema):
            raise Contradicted
    except TareError:  # whoever reads all of it before says what is wrong
        raise Contradicted from None
    places: Sequence[int] = range(len(schema))
    if columns is not None:
        places = places_of(source, schema, list(dict.fromkeys(columns)))
    chosen = pa.schema([schema.field(place) for place in places])

    def batches() -> Iterator[pa.RecordBatch]:
        yield from _chosen(finder, schema, places)
        try:
            for block in rest:
                finder.read(block)
                if not _schema(finder).equals(schema):
                    raise Contradicted
                yield from _chosen(finder, schema, places)
        except TareError:
            raise Contradicted from None
        source.counted += [one for one in finder.changes() if one[0] in chosen.names]

    return chosen, batches()


def table_written(source: Source, schema: pa.Schema) -> pa.Table | None:
    r"""Returns the rows of a text that a table was written as; None if it is left to who reads documents.

    Args:
        source: The text.
        schema: Of the table; objects in the place of its maps are no rows of one type.

    >>> import pyarrow as pa
    >>> source = Source("a", data=b'{"a": 1}\n', format="ndjson")
    >>> table_written(source, pa.schema({"a": pa.int8()})).to_pylist()
    [{'a': 1}]
    """
    if not schema.names or any(kinds.with_text_keys(field.type) for field in schema):
        return None
    found = table_of(source)
    return None if found is None or found[0].column_names != schema.names else found[0]


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


def may_read(source: Source) -> bool:
    """Returns whether it is a whole text of JSON in UTF-8 that no other reader was asked for."""
    plain = source.format in _READ and source.reader is None and not source.cut
    return plain and recognise.encoding_of(source.head) in (None, "utf-8-sig")


def _read(source: Source, size: int, *, keep: bool) -> NdjsonFinder | None:
    """What read all lines, or an array; None if they are none, or left to others."""
    if not may_read(source):
        return None
    finder = NdjsonFinder()
    try:
        if source.format == "json":
            finder.read_array(source.read()[0].removeprefix(BOM))
            return finder if len(finder) and _schema(finder).names else None
        for block in blocks(source, size):
            finder.read(block)
            if not keep:
                finder.take()
        return finder if len(finder) and _schema(finder).names else None
    except TareError:  # whoever reads it as documents says it, or knows what it is
        return None


def _agrees(source: Source, schema: pa.Schema) -> bool:
    """Returns whether parts of all of the file have no other columns; true where there are none that can be read alone."""
    found = stretches.spread(source, _SPREAD_BYTES)
    if found is None:
        return True
    finder = NdjsonFinder(schema)
    finder.read(found[0].removeprefix(BOM))
    return bool(_schema(finder).equals(schema))


def _chosen(finder: NdjsonFinder, schema: pa.Schema, places: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The rows that were read and not taken before: some of their columns."""
    import pyarrow as pa

    # Readers on several threads give smaller batches than are good to write.
    rows = pa.Table.from_batches(map(pa.record_batch, finder.take()), schema).select(list(places))
    yield from rows.combine_chunks().to_batches(_BATCH_ROWS)


def _columns(finder: NdjsonFinder) -> Columns:
    return Columns(_schema(finder), len(finder), finder.changes())


def _schema(finder: Any) -> pa.Schema:
    import pyarrow as pa

    try:
        return pa.schema(finder)
    except ValueError as error:  # where the interface of C ends a name
        raise Unsupported(f"a name has the character NUL: {str(error)[:100]}", format="ndjson") from error
