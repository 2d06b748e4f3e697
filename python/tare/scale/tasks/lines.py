"""Whole files of JSON lines into tables, block by block: what `tare.convert` makes of them, in bounded memory.

`convert` goes this way where it can tell that the result is the same. Anything else, such as lines that have
no one type or a file that is damaged, is left to `tare.io`, which names what is wrong.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tare.codec import Codec
from tare.converting import changes, line_tables
from tare.converting.counting import Counted
from tare.datasets.source import Source, find
from tare.errors import TareError
from tare.frames import bytes_of
from tare.scale.place import shown
from tare.scale.plain import plain_bytes, plain_bytes_of
from tare.scale.tasks.written import Terms, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["are_lines", "converted", "goes_in_blocks", "may_be_lines", "need_of_lines"]

_NEED_BYTES = 256 << 20  # of a process, however large the file is; lines are far shorter than that
_WHOLE_FACTOR = 11  # of the text, where its values are Python's all at once
_BLOCK_BYTES = 4 << 20
_GROUP_BYTES = 16 << 20
_GROUP_ROWS = 131_072
# Lines of so many bytes are held as one table, which is compared with what is read back.
_COMPARED_BYTES = 32 << 20


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
    except (TareError, _Apart, pa.ArrowException):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(target)
        return None


def _written(source: Source, target: str, codec: Codec, block_bytes: int) -> Done | None:
    if plain_bytes(source.path or "", source.size) > _COMPARED_BYTES:
        note = "converted batch by batch and not verified; --verify reads it back"
        try:
            count = _write(*line_tables.batches_of_once(source, size=block_bytes), target, codec)
            return Done(count, [*source.notes, *_notes(codec), note], list(source.counted))
        except line_tables.Contradicted:  # then it takes all lines to tell their types
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target)
        found = line_tables.columns_of(source, block_bytes)
        if found is None:
            return None
        rows = line_tables.batches_of(source, found.schema, block_bytes)
        count = _write(found.schema, rows, target, codec)
        return Done(count, [*source.notes, *_notes(codec), note], found.counted)
    whole = line_tables.table_of(source, size=block_bytes)
    if whole is None:
        return None
    table, counted = whole
    count = _write(table.schema, table.to_batches(), target, codec, compare=True)
    return Done(count, [*source.notes, *_notes(codec)], counted)


def _notes(codec: Codec) -> list[str]:
    from tare.converting import objects

    return list(objects.notes_of(codec))


class _Apart(Exception):
    """What changes is told by another."""


def _write(
    schema: pa.Schema, rows: Iterable[pa.RecordBatch], target: str, codec: Codec, *, compare: bool = False
) -> int:
    terms = Terms("decode" if compare else "size")
    done = write_rows((schema, _grouped(rows)), target, codec, os.path.basename(target), terms)
    if done.changes or not done.rows:
        raise _Apart
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
