"""Whole files of JSON lines into tables, block by block: what `tare.convert` makes of them, in bounded memory.

`convert` goes this way where it can tell that the result is the same. Anything else, such as lines that have
no one type or a file that is damaged, is left to `tare.io`, which names what is wrong.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from tare import io, kinds
from tare._tare import NdjsonReader
from tare.codec import Codec
from tare.converting import changes
from tare.converting.counting import Counted
from tare.datasets import documents
from tare.datasets.source import Source, find
from tare.errors import TareError
from tare.frames import bytes_of
from tare.scale.place import shown
from tare.scale.plain import plain_bytes, plain_bytes_of
from tare.scale.tasks.row_schemas import as_rows_are, found_in, like_old
from tare.scale.tasks.written import Terms, write_rows
from tare.scale.widening import Apart, merged

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["are_lines", "converted", "goes_in_blocks", "may_be_lines", "need_of_lines"]

_NEED_BYTES = 256 << 20  # of a process, however large the file is; lines are far shorter than that
_WHOLE_FACTOR = 11  # of the text, where its values are Python's all at once
_BLOCK_BYTES = 4 << 20
_GROUP_BYTES = 16 << 20
_GROUP_ROWS = 131_072
_JUDGED_ROWS = 200
_FEW_ROWS = 200
# Values of so many bytes, which are estimated here as there, `tare.convert` surely does not read back and compare.
_NOT_COMPARED = io.VERIFY_BYTES * 4 // 3


def goes_in_blocks(write: str, options: Mapping[str, Any], verify: str = "size") -> bool:
    """Whether lines of JSON are converted so, if all is well with them.

    >>> [goes_in_blocks(to, {"tare": "1"}) for to in ("parquet", "csv", "ndjson")]
    [True, False, False]
    """
    codec = Codec.parse(write)
    return (
        changes.has_arrows_types(codec)  # which are more than lines of JSON have
        and codec.peer is None
        and verify != "decode"
        and not options.keys() - {"tare"}
    )


def are_lines(given: Mapping[str, Any], read: str) -> bool:
    """Whether an input is a whole file of JSON lines, by what the user said or its name.

    >>> are_lines({"uri": "file:///logs/a.ndjson.gz"}, ""), are_lines({"uri": "file:///a.csv"}, "")
    (True, False)
    """
    if given.get("range") or read:
        return read == "ndjson" and not given.get("range")
    codec = Codec.for_path(shown(str(given["uri"])))
    return codec is not None and codec.format_id == "ndjson"


def may_be_lines(given: Mapping[str, Any], read: str) -> bool:
    """Whether it is worth to look at its bytes: names of other formats say no, and none says nothing.

    >>> [may_be_lines({"uri": f"file:///a{ending}"}, "") for ending in (".csv", ".json", ".gz", "")]
    [False, True, True, True]
    """
    codec = None if read else Codec.for_path(shown(str(given["uri"])))
    return read in ("", "ndjson") and (codec is None or codec.format_id in ("ndjson", "json"))


def need_of_lines(given: Iterable[Mapping[str, Any]], write: str, options: Mapping[str, Any]) -> int:
    """Memory that converting whole files of JSON lines takes; not of those that cannot go in blocks, which only they tell."""
    whole = _WHOLE_FACTOR * sum(map(plain_bytes_of, given))
    return min(whole, _NEED_BYTES) if goes_in_blocks(write, options) else whole


@dataclass(frozen=True)
class Done:
    """What was written.

    Args:
        rows: How many rows.
        notes: What the user should know.
        counted: What the types of the columns changed.
    """

    rows: int
    notes: list[str]
    counted: Counted = field(default_factory=list)


def converted(
    path: str, target: str, *, read: str, write: str, block_bytes: int = _BLOCK_BYTES
) -> Done | None:
    """Write the rows of a file of JSON lines at `target`; None, and no file, if this way is not for it.

    Args:
        path: The file, compressed or not.
        target: The path to write at, which must not be there.
        read: Id of the format, if the user named it.
        write: Codec id of the result.
        block_bytes: How much text is read at once.

    Raises:
        OSError: As the operating system says.
    """
    import pyarrow as pa

    try:
        source = find(path, format=read or None)
        if source.format != "ndjson" or source.path is None:
            return None
        return _written(source, target, Codec.parse(write), block_bytes)
    except (TareError, Apart, _Misfit, RecursionError, pa.ArrowException):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(target)
        return None


def _written(source: Source, target: str, codec: Codec, block_bytes: int) -> Done:
    beginning = _Beginning(source, block_bytes)
    schema = beginning.schema
    if beginning.is_all:
        count = _write(schema, beginning.rows(Counted()), target, codec, compare=True)
        return Done(count, [*source.notes, *_notes(codec)])
    counted = Counted()
    try:
        rest = _rest(source, schema, beginning, beginning.count, counted)
        count = _write(schema, itertools.chain(beginning.rows(counted), rest), target, codec)
    except _Misfit:  # types that the beginning did not tell: all are looked at, then it is written anew
        os.unlink(target)
        schema = _settled(source, schema, beginning)
        counted.clear()
        count = _write(schema, _rest(source, schema, beginning, 0, counted), target, codec)
    note = "converted batch by batch and not verified; --verify reads it back"
    return Done(count, [*source.notes, *_notes(codec), note], counted)


def _notes(codec: Codec) -> list[str]:
    from tare.converting import objects

    return list(objects.notes_of(codec))


class _Misfit(Exception):
    """Lines do not fit the schema of those before them."""


class _Beginning:
    """The first lines, up to where `tare.convert` compares no more; of a small file, all.

    Their values are looked at as it does: if all are, it would find nothing that changed.

    Args:
        source: The file.
        block_bytes: How much text is read at once.
    """

    def __init__(self, source: Source, block_bytes: int) -> None:
        import pyarrow as pa

        self.block_bytes = block_bytes
        self.schema = pa.schema([])
        self.is_all = True
        self._blocks: list[bytes] = []
        held, as_read = 0.0, True
        least = plain_bytes(source.path or "", source.size)
        for block in _blocks(source, block_bytes):
            rows = documents.parse_lines(source, block)
            self._blocks.append(block)
            # With a name that comes late, or a type, all rows before it are other than they were read.
            widened = self._widen(block, rows) and len(self._blocks) > 1
            held += _bytes_of(rows)
            if max(held, held / sum(map(len, self._blocks)) * least / 2) > _NOT_COMPARED:
                self.is_all = False
                break
            as_read = as_read and not widened and as_rows_are(self.schema, rows)
        if self.is_all and not as_read:
            raise Apart("what changes is told, or refused, value by value")
        if not self.schema.names:
            raise Apart("no columns")

    @property
    def count(self) -> int:
        """How many blocks it is."""
        return len(self._blocks)

    def rows(self, counted: Counted) -> Iterator[pa.RecordBatch]:
        """As the schema of all of them has them; what it changed is counted behind the last."""
        reader = NdjsonReader(self.schema)
        for block in self._blocks:
            yield _batch(reader, block, self.schema)
        counted += reader.changes()

    def _widen(self, block: bytes, rows: list[Any]) -> bool:
        """Whether the schema must be, and is, another for these lines: a few tell the types of most."""
        if self._fits(block):
            return False
        for some in (rows[:_FEW_ROWS], rows):
            self.schema = merged(self.schema, found_in(some))
            if self._fits(block):
                break
        return True

    def _fits(self, block: bytes) -> bool:
        try:
            NdjsonReader(self.schema).read(block)
        except TareError:
            return False
        return True


def _bytes_of(rows: list[Any]) -> float:
    sample = rows[:: max(1, len(rows) // _JUDGED_ROWS)]
    return kinds.resident_bytes(sample) * len(rows) / max(1, len(sample))


def _rest(
    source: Source, schema: pa.Schema, beginning: _Beginning, skip: int, counted: Counted
) -> Iterator[pa.RecordBatch]:
    """The rows behind so many blocks; what the schema changed is counted behind the last."""
    reader = NdjsonReader(schema)
    for block in itertools.islice(_blocks(source, beginning.block_bytes), skip, None):
        try:
            batch = _batch(reader, block, schema)
        except TareError as error:
            raise _Misfit from error
        yield batch
    counted += reader.changes()


def _settled(source: Source, schema: pa.Schema, beginning: _Beginning) -> pa.Schema:
    """The schema of all lines: those that do not fit it widen it."""
    reader = NdjsonReader(schema)
    for block in itertools.islice(_blocks(source, beginning.block_bytes), beginning.count, None):
        try:
            reader.read(block)
        except TareError:
            rows = documents.parse_lines(source, block)
            schema = merged(schema, found_in(rows))
            reader = NdjsonReader(schema)
    return schema


def _batch(reader: NdjsonReader, block: bytes, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    batch = pa.record_batch(reader.read(block))
    like_old(batch, lambda: documents.parse_lines(Source("lines", format="ndjson"), block))
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _write(
    schema: pa.Schema, rows: Iterable[pa.RecordBatch], target: str, codec: Codec, *, compare: bool = False
) -> int:
    terms = Terms("decode" if compare else "size")
    done = write_rows((schema, _grouped(rows)), target, codec, os.path.basename(target), terms)
    if done.changes or not done.rows:
        raise Apart("what changes is told by another")
    return done.rows


def _grouped(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches as large as groups of rows should be."""
    held: list[pa.RecordBatch] = []
    for batch in rows:
        held.append(batch)
        if sum(map(bytes_of, held)) >= _GROUP_BYTES or sum(b.num_rows for b in held) >= _GROUP_ROWS:
            yield _joined(held)
            held = []
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    import pyarrow as pa

    table = pa.Table.from_batches(batches).combine_chunks()
    return table.to_batches()[0]


def _blocks(source: Source, size: int) -> Iterator[bytes]:
    """The plain bytes in blocks of whole lines; a line that is longer is a block."""
    held: list[bytes] = []
    with source.naming(), source.open() as plain:
        while step := _filled(plain, size):
            cut = step.rfind(b"\n") + 1
            if cut:
                yield b"".join([*held, step[:cut]])
                held = []
            held.append(step[cut:])
    if last := b"".join(held):
        yield last


def _filled(plain: BinaryIO, size: int) -> bytes:
    """So many bytes unless the file ends: decompressors give what they have, and blocks shall be the same always."""
    data = plain.read(size)
    while len(data) < size and (more := plain.read(size - len(data))):
        data += more
    return data
