"""A CSV file as a table: in blocks if it is large, and a part that fits when a bound was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.datasets import csv_comments, csv_missing, csv_quotes, csv_surprises, csvs, csvstream, encodings
from tare.datasets.footprint import give_back
from tare.datasets.source import Source
from tare.errors import Limit, TareError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["load"]

# Smaller texts are read at once: what that costs is less than a library's pages.
STREAM_BYTES = 8 << 20
_PROBE_BYTES = 1 << 20
FIRST, SPREAD = "first rows", "blocks of rows"
_EXPANDS = 8  # what a compressor's bytes are taken to stand for


def load(
    source: Source,
    *,
    max_bytes: int | None = None,
    encoding: str | None = None,
    columns: list[str] | None = None,
) -> tuple[pa.Table, float, str]:
    """Read a CSV file, or as many of its rows as fit in memory.

    Args:
        source: The file.
        max_bytes: Bound on the table's bytes in memory.
        encoding: The text's encoding if it is not UTF-8.
        columns: Names of the columns to read; all by default.

    Returns:
        The table, the share of the file's bytes that was read, and which rows these are where it is below 1:
        ``blocks of rows`` spread over the file, or its ``first rows``.

    Raises:
        Malformed, Truncated: Rows of unequal length, bad text; row and offset are given.
    """
    size = source.size * (_EXPANDS if source.compressors else 1)
    limit = None
    if max_bytes is not None and size > max_bytes // 4:
        limit = _limit(source, max_bytes, encoding)
    if (
        size > STREAM_BYTES
        and not source.cut
        and (encoding is None or encodings.codecs_name(encoding) == "utf-8")
    ):
        notes = list(source.notes)
        try:
            return _in_blocks(source, columns, limit)
        except (csv_quotes.Undecided, TareError):
            source.notes[:] = notes  # the whole text settles it, or names the row and the byte
        finally:
            give_back()
    return (*_at_once(source, columns, encoding, limit), FIRST)


def _in_blocks(source: Source, columns: list[str] | None, limit: int | None) -> tuple[pa.Table, float, str]:
    import pyarrow as pa

    found = csvstream.guess(source, columns=columns, limit=limit, keep=True)
    give_back()
    if found.unsure:
        raise csv_quotes.Undecided
    blocks = csvstream.Blocks(source, limit)
    parts = list(csvstream.tables(source, blocks, found, columns=columns))
    if not parts:
        raise csv_quotes.Undecided
    csvstream.note_rows(source, found)
    csvs.note(source, parts[0], [name for name in found.types if name in found.kept])
    table = pa.concat_tables(parts)
    csv_missing.note_words(source, found.words, table.schema)
    csv_surprises.note_surprises(source, source.head, table.schema, found.blocks.style)
    return table, found.blocks.share, SPREAD if found.blocks.spread else FIRST


def _at_once(
    source: Source, columns: list[str] | None, encoding: str | None, limit: int | None
) -> tuple[pa.Table, float]:
    data, share = source.read(limit)
    data = csvs.text_of(source, data, encoding, final=share == 1.0)
    style = csvs.settled(source, data, final=share == 1.0)
    if share < 1.0:
        whole = csvs.last_row(data, style)
        if whole == 0:
            raise source.error(
                Limit,
                f"one row is longer than {len(data):,} bytes",
                advice="Raise the memory limit (max_bytes).",
            )
        share, data = share * whole / len(data), data[:whole]
    found = csvs.guessed(source, data, style, columns=columns)
    csvs.note_guessed(source, found)
    csv_missing.note_words(source, found.fields.words, found.table.schema)
    csv_surprises.note_surprises(source, data, found.table.schema, style)
    if (comment := csv_comments.comment_among(data, style.delimiter)) is not None:
        line = source.above.count(b"\n") + data.count(b"\n", 0, comment[0]) + 1
        csv_comments.note_among(source, line, comment[1])
    return found.table, share


def _limit(source: Source, max_bytes: int, encoding: str | None) -> int | None:
    """How many bytes of text make a table of `max_bytes`, judged by the first of them."""
    data, share = source.read(_PROBE_BYTES)
    if share == 1.0:
        return None
    notes = list(source.notes)
    data = csvs.text_of(source, data, encoding, final=False)
    style = csvs.settled(source, data, final=False)
    whole = data[: csvs.last_row(data, style)]
    if not whole:
        source.notes[:] = notes
        return max(max_bytes, _PROBE_BYTES)
    per_byte = csvs.parse(source, whole, style).nbytes / len(whole)
    source.notes[:] = notes
    limit = max(int(max_bytes / max(per_byte, 0.05)), 4096)
    return None if limit >= source.size and not source.compressors else limit
