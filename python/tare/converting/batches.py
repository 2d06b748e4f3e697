"""Tables as batches of rows, from file to file in bounded memory."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tare.codec import Codec
from tare.converting import line_tables
from tare.converting.counting import counted_in
from tare.converting.plain_types import first_without_text
from tare.datasets import (
    csv_missing,
    csv_quotes,
    csv_surprises,
    csvs,
    csvstream,
    documents,
    encodings,
    recognise,
    views,
)
from tare.datasets.invalid_texts import check_texts
from tare.datasets.source import Source, printable
from tare.datasets.tables import arrow_errors, places_of
from tare.errors import EncodeError, Malformed, TareError, Unsupported
from tare.formats.columnar import batches_of_groups, check_names
from tare.formats.parquet_file import open_parquet
from tare.kinds import rows_alone
from tare.table_text import csv_parts

if TYPE_CHECKING:
    from typing import Self

    import pyarrow as pa

__all__ = ["READ", "WRITTEN", "compressing", "lists_of", "reader", "records", "refusal", "writer"]

# Formats that can be read, and written, batch by batch.
READ = ("arrow", "csv", "ndjson", "parquet")
WRITTEN = ("arrow", "csv", "ndjson", "parquet")
_BLOCK_BYTES = 16 << 20
_LINES_BYTES = 1 << 20
_BATCH_ROWS = 65_536
Batches = tuple["pa.Schema", Iterator["pa.RecordBatch"]]


def reader(source: Source, *, columns: list[str] | None = None) -> Batches:
    """The rows of a file in batches, and their schema, which is known before the first batch.

    Text formats are read twice: types are found in the whole file first, so that no
    value in its middle contradicts them.

    Raises:
        Truncated, Malformed: Not what the format says.
        EncodeError: NDJSON whose values have no common type.
        Unsupported: The format, or this text, cannot be read batch by batch.
        UsageError: There is no such column.
    """
    if source.format == "csv":
        return _csv(source, columns)
    if source.format == "ndjson":
        return _ndjson(source, columns)
    if source.format == "parquet":
        return _plain(source, *_parquet(source, columns))
    if source.format == "arrow":
        return _plain(source, *_arrow(source, columns))
    raise Unsupported(f"{source.format} is not read in batches", format=source.format)


def _plain(source: Source, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Batches:
    plain = views.plain_batches(schema, batches)
    if plain[0] is not schema:
        source.notes.append(views.note(schema))
    return plain


def refusal(error: Exception, codec: Codec, *, rows: int, is_gone: bool) -> Exception:
    """Returns what to raise for the error of a writer: `Unsupported` where the whole table may be written another way.

    That casts types, and names what it refuses: so where the first batch is refused, and where a later one has a value that
    only batches cannot hold.

    Args:
        error: The error.
        codec: The codec that wrote.
        rows: How many rows were written before.
        is_gone: Whether what was written cannot be taken back, so that no other way is left.
    """
    if isinstance(error, OSError) and error.errno is not None:  # Arrow has some without a number
        return error
    said = str(error) if isinstance(error, TareError) else f"{codec}: {str(error)[:200]}"
    if is_gone or (rows and not isinstance(error, Unsupported)):
        return EncodeError(said, format=codec.format_id, path=getattr(error, "path", None))
    return Unsupported(said, format=codec.format_id)


def writer(file: BinaryIO, codec: Codec, schema: pa.Schema) -> Any:
    """An object that writes batches to `file`: ``write_batch(batch)``, ``close()``; a context manager.

    Args:
        file: Where they go; see `compressing` for one that compresses.
        codec: How, with its settings; its compressor is not looked at.
        schema: Of all batches.

    Raises:
        Unsupported: The format cannot be written batch by batch.
    """
    import pyarrow as pa

    format, options = codec.format_id, codec.options
    if not schema.names and format in ("csv", "parquet"):
        raise Unsupported(f"{format} has no batches of rows without columns", format=format)
    if format == "parquet":
        from pyarrow import parquet

        return parquet.ParquetWriter(
            file,
            schema,
            compression=options.get("compression", "snappy"),
            compression_level=options.get("level"),
        )
    if format == "arrow":
        from pyarrow import ipc

        name: Any = options.get("compression", "none")
        packed = (
            None
            if name in (None, "none", "uncompressed")
            else pa.Codec(name, compression_level=options.get("level"))
        )
        new = ipc.new_stream if options.get("layout") == "stream" else ipc.new_file
        return new(cast(Any, file), schema, options=ipc.IpcWriteOptions(compression=packed))
    if format == "csv":
        from pyarrow import csv

        delimiter = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}
        chosen = delimiter[str(options.get("delimiter", "comma"))]
        header = BytesIO()
        try:
            csv.CSVWriter(header, schema, write_options=csv.WriteOptions(delimiter=chosen)).close()
        except pa.ArrowException as error:
            raise EncodeError(f"csv: {error}. Nested columns have no form in CSV.", format="csv") from error
        file.write(header.getvalue())
        return _Fields(file, chosen)
    if format == "ndjson":
        return _Lines(file, codec)
    raise Unsupported(f"{format} is not written in batches", format=format)


@contextlib.contextmanager
def compressing(file: BinaryIO, id: str | None, *, compare: bool = False) -> Iterator[BinaryIO]:
    """A file whose bytes are compressed on their way into another; that one itself without an id.

    Args:
        file: Where the compressed bytes go.
        id: Compressor and level: ``zstd:3``.
        compare: Decompress everything again and compare it with what went in.

    Raises:
        EncodeError: What was compared did not come back.
    """
    from tare import compress

    if id is None:
        yield file
        return
    if not compare:
        with compress.open(file, "wb", id) as packed:
            yield cast(BinaryIO, packed)
        return
    with tempfile.SpooledTemporaryFile(_BLOCK_BYTES) as copy:
        into = _Both(file, cast(BinaryIO, copy))
        with compress.open(cast(BinaryIO, into), "wb", id) as packed:
            out = _Hashed(cast(BinaryIO, packed))
            yield cast(BinaryIO, out)
        copy.seek(0)
        back = _Hashed(None)
        with compress.open(cast(BinaryIO, copy), "rb", compress.parse(id)[0]) as again:
            while part := again.read(_BLOCK_BYTES):
                back.write(part)
        if back.digest != out.digest:
            raise EncodeError(f"{id}: the bytes do not come back as they were. Nothing was written.")


class _Both:
    """A file that writes to two others.

    Args:
        one: The one.
        other: The other.
    """

    closed = False

    def __init__(self, one: BinaryIO, other: BinaryIO) -> None:
        self._files = (one, other)

    def write(self, data: Any) -> int:
        """Write to both."""
        for file in self._files:
            file.write(data)
        return memoryview(data).nbytes

    def writable(self) -> bool:
        """It is."""
        return True

    def flush(self) -> None:
        """Flush both."""
        for file in self._files:
            file.flush()

    def close(self) -> None:
        """Both are their owners'."""


class _Hashed:
    """A file that takes the hash of what goes through it into another.

    Args:
        file: The other; None for nowhere.
    """

    closed = False

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file
        self._hash = hashlib.blake2b(digest_size=32)

    @property
    def digest(self) -> bytes:
        """The hash of everything so far."""
        return self._hash.digest()

    def write(self, data: Any) -> int:
        """Take bytes."""
        self._hash.update(data)
        if self._file is not None:
            self._file.write(data)
        return memoryview(data).nbytes

    def writable(self) -> bool:
        """It is."""
        return True

    def flush(self) -> None:
        """Frames are written when they are full."""

    def close(self) -> None:
        """The file beneath is its owner's."""


class _Text:
    """Writes batches of rows as text."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class _Fields(_Text):
    """Writes rows as lines of a CSV behind its header.

    Args:
        file: Where they go.
        delimiter: What stands between fields.
    """

    def __init__(self, file: BinaryIO, delimiter: str) -> None:
        super().__init__(file)
        self._delimiter = delimiter
        self._rows = 0

    def write_batch(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa
        from pyarrow import csv

        rows = pa.Table.from_batches([batch])
        parts = csv_parts(rows, self._delimiter, self._rows)
        if parts is None:
            options = csv.WriteOptions(include_header=False, delimiter=self._delimiter)
            try:
                csv.write_csv(rows, self._file, options)
            except pa.ArrowInvalid as error:
                if (found := first_without_text(rows)) is None:
                    raise
                name, row = found
                raise Unsupported(
                    f"csv: column {printable(name, 80)!r}, row {self._rows + row + 1:,}: its bytes are not UTF-8, and only a "
                    "column that is read whole is written as base64: write into a file, or leave the column out",
                    format="csv",
                    path=name,
                ) from error
        else:
            next(parts)  # the header
            for part in parts:
                self._file.write(part)
        self._rows += rows.num_rows


class _Lines(_Text):
    """Writes rows as JSON, one a line."""

    def __init__(self, file: BinaryIO, codec: Codec) -> None:
        super().__init__(file)
        self._codec = replace(codec, compressor=None)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        if batch.num_rows:
            self._codec.write(pa.Table.from_batches([batch]), self._file)


def _csv(source: Source, columns: list[str] | None) -> Batches:
    import pyarrow as pa

    try:
        found = csvstream.guess(source, columns=columns)
    except csv_quotes.Undecided:
        raise Unsupported(f"{source.name}: only its whole text tells where rows end", format="csv") from None
    schema = pa.schema(list(found.types.items()))
    csvstream.note_rows(source, found)
    csvs.note(source, schema.empty_table(), [name for name in found.types if name in found.kept])
    csv_missing.note_words(source, found.words, schema)
    csv_surprises.note_surprises(source, source.head, schema, found.blocks.style)
    if found.unsure:
        names = ", ".join(repr(printable(name, 30)) for name in sorted(found.unsure)[:5])
        source.notes.append(
            f"values that no one type holds in all parts of the text are kept as text: {names}"
        )

    def batches() -> Iterator[pa.RecordBatch]:
        for table in csvstream.tables(source, csvstream.Blocks(source), found, columns=columns):
            yield from table.cast(schema).to_batches(_BATCH_ROWS)

    return schema, batches()


def _ndjson(source: Source, columns: list[str] | None) -> Batches:
    import pyarrow as pa

    if recognise.encoding_of(source.head) not in (None, "utf-8-sig"):
        raise Unsupported(f"{source.name}: only a text in UTF-8 is read line by line", format="ndjson")
    if (known := line_tables.columns_of(source)) is not None:
        return _known_lines(source, known, columns)
    schema = pa.schema([])
    for rows, first_line in records(source):
        try:
            schema = _widened(schema, rows)
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            line = first_line + source.line_of(_first_conflict(schema, rows)) + 1
            raise EncodeError(
                f"{printable(source.name)}: no one type holds all values of a column, from line {line:,} on: "
                f"{str(error)[:200]}. Convert it to another document format instead.",
                format="ndjson",
            ) from error
    if columns is not None:
        schema = _chosen(schema, places_of(source, schema, list(dict.fromkeys(columns))))

    def batches() -> Iterator[pa.RecordBatch]:
        for rows, _ in records(source):
            source.counted += counted_in(rows, schema)
            table = pa.Table.from_pylist(rows, schema=schema) if schema.names else rows_alone(len(rows))
            yield from table.to_batches(_BATCH_ROWS)

    return schema, batches()


def _known_lines(source: Source, known: line_tables.Columns, columns: list[str] | None) -> Batches:
    """Lines whose columns the core found: as it reads them."""
    schema = known.schema
    places = None if columns is None else places_of(source, schema, list(dict.fromkeys(columns)))
    if places is not None:
        schema = _chosen(schema, places)

    def batches() -> Iterator[pa.RecordBatch]:
        source.counted += [one for one in known.counted if one[0] in schema.names]
        for batch in line_tables.batches_of(source, known.schema):
            yield batch if places is None else batch.select(places)

    return schema, batches()


def _widened(schema: pa.Schema, rows: list[dict[str, Any]]) -> pa.Schema:
    """Returns the types that hold those of a schema and of some rows."""
    import pyarrow as pa

    schema = pa.unify_schemas([schema, pa.Table.from_pylist(rows).schema], promote_options="permissive")
    names = dict.fromkeys(name for row in rows for name in row)
    for name in names.keys() - set(schema.names):
        part = pa.array([row.get(name) for row in rows])
        schema = pa.unify_schemas([schema, pa.schema([(name, part.type)])], promote_options="permissive")
    return schema


def _first_conflict(schema: pa.Schema, rows: list[dict[str, Any]]) -> int:
    """Returns the place of the first row whose types have none in common with those before it."""
    import pyarrow as pa

    good, bad = 0, len(rows)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            _widened(schema, rows[:middle])
            good = middle
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            bad = middle
    return bad - 1


def records(source: Source, size: int = _BLOCK_BYTES) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """Yields the rows of NDJSON, those of a block of the text at a time, and the place of the line that the block begins with.

    Args:
        source: The file.
        size: Bytes of a block.

    Raises:
        Truncated, Malformed, Limit: A line is not a JSON object; its number and offset are given.
    """
    at, before = 0, 0
    for block in _whole(source, lambda data: data.rfind(b"\n") + 1, size):
        rows = documents.parse_lines(source, encodings.to_utf8(source, block, None))
        odd = next((k for k, row in enumerate(rows) if not isinstance(row, dict)), None)
        if odd is not None:
            lines = block.split(b"\n")
            place = [place for place, line in enumerate(lines) if line.strip()][odd]
            raise source.error(
                Malformed,
                f"line {before + place + 1:,} is of type {type(rows[odd]).__name__}, and each row of a table is an object",
                offset=at + sum(len(line) + 1 for line in lines[:place]),
                advice="Convert it to a document format instead.",
            )
        if rows:
            yield rows, before
        at, before = at + len(block), before + block.count(b"\n")


def lists_of(source: Source, names: list[str]) -> dict[str, list[Any]]:
    """Returns the cells of NDJSON as lists by the name of a column; of its rows few are there at a time, as they take ten times the memory.

    Args:
        source: The file.
        names: The columns; a name that a line lacks is None.

    Raises:
        Truncated, Malformed, Limit: As `records`.
    """
    found: dict[str, list[Any]] = {name: [] for name in names}
    for rows, _ in records(source, _LINES_BYTES):
        for name, cells in found.items():
            cells += [row.get(name) for row in rows]
    return found


def _whole(source: Source, end_of: Callable[[bytes], int], size: int = _BLOCK_BYTES) -> Iterator[bytes]:
    """Blocks that end where a row ends."""
    rest = b""
    for step in source.steps(size):
        data = rest + step
        end = end_of(data)
        if end:
            yield data[:end]
        rest = data[end:]
    if rest.strip():
        yield rest


def _chosen(schema: pa.Schema, places: list[int]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([schema.field(place) for place in places], metadata=cast(Any, schema.metadata))


def _parquet(source: Source, columns: list[str] | None) -> Batches:
    import pyarrow as pa

    with arrow_errors(source):
        file = open_parquet(
            source.path or pa.BufferReader(source.read()[0]),
            columns=columns,
            page_checksum_verification=True,
        )
        schema = file.schema_arrow
        check_names(schema)
    if columns is not None:
        columns = list(dict.fromkeys(columns))
        schema = _chosen(schema, places_of(source, schema, columns))

    def batches() -> Iterator[pa.RecordBatch]:
        with file, arrow_errors(source):
            rows = 0
            for batch in batches_of_groups(file, _BATCH_ROWS, columns=columns):
                check_texts(source, pa.Table.from_batches([batch]), rows)
                rows += batch.num_rows
                source.done = source.size * rows // max(file.metadata.num_rows, 1)
                yield batch

    return schema, batches()


def _arrow(source: Source, columns: list[str] | None) -> Batches:
    import pyarrow as pa
    from pyarrow import ipc

    with arrow_errors(source):
        file = (
            pa.OSFile(source.path, "rb")
            if source.path and not source.compressors
            else pa.BufferReader(source.read()[0])
        )
        stream = not source.head.startswith(b"ARROW1")
        opened: Any = ipc.open_stream(file) if stream else ipc.open_file(file)
        schema = opened.schema
        check_names(schema)
    places = None if columns is None else places_of(source, schema, columns)
    if places is not None:
        schema = _chosen(schema, places)

    def batches() -> Iterator[pa.RecordBatch]:
        with file, arrow_errors(source):
            found = opened if stream else (opened.get_batch(k) for k in range(opened.num_record_batches))
            for number, batch in enumerate(found, 1):
                source.done = file.tell() if stream else source.size * number // opened.num_record_batches
                chosen = batch if places is None else batch.select(places)
                chosen.validate(full=True)
                yield chosen

    return schema, batches()
