"""CSV in blocks of whole rows: types are found in a first pass, values read in a second.

A guess of types keeps all parsed text until the last row has agreed; with types that
are known each block is freed when it is read. So the text goes through twice, and what
is held is the table and one block. Where blocks cannot tell what the whole text would
(stray quotes, guesses that only all rows together settle), `Undecided` or `Guess.unsure`
says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tare.datasets import csv_guesses, csv_missing, csv_quotes, csvs, encodings, recognise
from tare.datasets.csv_dialect import Dialect, dialect
from tare.datasets.csv_quotes import Undecided, delimiters_of_row, rows_within_quotes, whole_rows
from tare.datasets.source import Source
from tare.formats.csv_rows import BOM, first_row, has_one_column

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Blocks", "Guess", "guess", "note_rows", "tables"]

_LEAST_BLOCK_BYTES, _MOST_BLOCK_BYTES = 1 << 20, 16 << 20
_LONGEST_ROW_BLOCKS = 16
# Stretches of a part, the least bytes of one, and the share of the file from which on the part is its first rows.
_STRETCHES, _LEAST_STRETCH_BYTES, _NEARLY_ALL = 8, 1 << 20, 0.8
# Where a stretch may begin is looked for in so many bytes, at so many ends of lines.
_BEGIN_BYTES, _BEGINNINGS = 64 << 10, 32
_MAX_EXACT = 1 << 53
_SIGNED_ZERO = re.compile(rb"-0+(?![0-9A-Za-z.])")


@dataclass
class Guess:
    """What the first pass found.

    Args:
        types: Type of each column, in the order of the file.
        unsure: Columns that stand as text because their blocks disagree and not for their digits; all
            rows together may be of another type.
        kept: Columns that are text because numbers would lose digits.
        words: A word that was read as missing, of each column that has one, whatever its type.
        rows_in_value: Of the first quoted value whose lines look like rows: the number of the line it begins in, 0
            if that is not known, and how many ends of lines it holds.
    """

    types: dict[str, pa.DataType] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    words: dict[str, str] = field(default_factory=dict)
    rows_in_value: tuple[int, int] | None = None


class Blocks:
    """The text of a source in blocks of whole rows, the header before each of them.

    Args:
        source: The file.
        limit: How many bytes of the text are read; all by default. Of an uncompressed file they are spread over it.
    """

    def __init__(self, source: Source, limit: int | None = None) -> None:
        self.source = source
        self.limit = limit
        self.spread = limit is not None and _can_spread(source, limit)
        """True if the blocks are spread over the file, false if they are its first rows."""
        self.style = dialect(source.head, source.delimiter)
        self.share = 1.0
        """Share of the file's bytes that the blocks stand for, once they have been taken."""

    def __iter__(self) -> Iterator[bytes]:
        """Each block as UTF-8 text.

        Raises:
            Undecided: Where rows end cannot be told, or what separates fields.
            Malformed: A byte is not UTF-8.
        """
        if recognise.encoding_of(self.source.head[:4]) not in (None, "utf-8-sig"):
            raise Undecided
        if not self.source.head.removeprefix(BOM).strip(b"\r\n"):
            raise Undecided  # the dialect was told of nothing
        header = b""
        for block in self._stretches() if self.spread else self._rows():
            text = encodings.to_utf8(self.source, block, None)
            if not header and not text.strip(b"\r\n"):
                continue  # blank lines before the header are passed over
            if not header:
                header = text[: first_row(text)]
                self.style = replace(self.style, one=has_one_column(header, self.style.delimiter))
                yield text
            else:  # a mark that does not begin the file is a part of its value
                yield header + (BOM if block.startswith(BOM) else b"") + text

    def _stretches(self) -> Iterator[bytes]:
        size, length = self.source.size, (self.limit or 0) // _STRETCHES
        taken = 0
        with self.source.naming(), self.source.open() as file:
            for place in range(_STRETCHES):
                start = max(place * size // _STRETCHES, len(self.source.skipped))
                file.seek(start)
                rest, left = b"", length
                while left > 0 and (step := file.read(min(left, _MOST_BLOCK_BYTES))):
                    left -= len(step)
                    if place and left + len(step) == length:
                        step = step[_beginning(step, self.style.delimiter) :]
                    data = rest + step
                    end = whole_rows(data, self.style.delimiter)
                    if end:
                        taken += end
                        yield data[:end]
                    rest = data[end:]
                if len(rest) == length:
                    raise Undecided  # not one row ends in it
        self.share = taken / max(size, 1)

    def _rows(self) -> Iterator[bytes]:
        size = min(max(_LEAST_BLOCK_BYTES, self.source.size // 64), _MOST_BLOCK_BYTES)
        rest, taken, limited = b"", 0, False
        for step in self.source.steps(size):
            data = rest + step
            taken += len(step)
            if self.limit is not None and taken > self.limit:
                data = data[: len(data) - taken + self.limit]
                taken, limited = self.limit, True
            end = whole_rows(data, self.style.delimiter)
            if not end and len(data) > _LONGEST_ROW_BLOCKS * size:
                raise Undecided
            if end:
                yield data[:end]
            rest = data[end:]
            if limited:
                break
        if limited:
            self.share = self.source.done / max(self.source.size, 1) * (taken - len(rest)) / taken
        elif rest.strip(b"\r\n") or (
            rest and self.style.one
        ):  # of tabs alone it is a row of nothing but nulls
            if rest.count(b'"') % 2:
                raise Undecided  # a quote may never have been closed
            yield rest


def _can_spread(source: Source, limit: int) -> bool:
    plain = not source.compressors and not source.cut
    return plain and _STRETCHES * _LEAST_STRETCH_BYTES <= limit < _NEARLY_ALL * source.size


def _beginning(data: bytes, delimiter: str) -> int:
    r"""Returns the offset of the first whole row in text that may begin within one.

    A line may end within quotes: then what follows does not look like quoted fields, and the next end is tried.

    Raises:
        Undecided: No end of a line begins a row.

    >>> data = b'y\nz",4\n5,"a\nb"\n'
    >>> data[_beginning(data, ",") :]
    b'5,"a\nb"\n'
    """
    head, at = data[:_BEGIN_BYTES], 0
    for _ in range(_BEGINNINGS):
        at = head.find(b"\n", at) + 1
        if not at:
            break
        try:
            if whole_rows(head[at:], delimiter):
                return at
        except Undecided:
            continue
    raise Undecided


def guess(source: Source, *, columns: list[str] | None = None, limit: int | None = None) -> Guess:
    """Find the types of all columns, as a read of the whole text would.

    Args:
        source: The file.
        columns: Names of the columns to read; all by default.
        limit: How many bytes of the text are looked at; all by default.

    Raises:
        Undecided: Only the whole text tells.
        TareError: As `csvs.parse`; row and offset are those within a block.
    """
    import pyarrow as pa

    blocks = Blocks(replace(source, notes=[]), limit)
    seen: dict[str, _Column] = {}
    found = Guess()
    before, repeated = source.skipped.count(b"\n"), 0  # lines before the block, and of the header in it
    for text in blocks:
        style = _style(blocks, text)
        table, kept = csvs.read(source, text, style, columns=columns)
        ends = text.count(b"\n")
        if ends > table.num_rows + 1 and found.rows_in_value is None:
            found.rows_in_value = _rows_in_value(text, style, None if blocks.spread else before - repeated)
        before += ends - repeated
        repeated = text[: first_row(text)].count(b"\n")
        if len(set(table.column_names)) < table.num_columns:
            raise Undecided
        signs = _SIGNED_ZERO.search(text) is not None
        for name, column in zip(table.column_names, table.columns, strict=True):
            seen.setdefault(name, _Column()).add(column, kept=name in kept, signs=signs)
        holes = [name for name in table.column_names if table.column(name).null_count]
        unexplained = [name for name in holes if name not in found.words]
        found.words |= csv_missing.missing_words(source, text, style, table, unexplained)
    for name, each in seen.items():
        found.types[name], sure = each.type()
        if not sure:
            found.unsure.add(name)
        if not each.text and (each.zeros or each.digits) and pa.types.is_string(found.types[name]):
            found.kept.add(name)
    return found


def _rows_in_value(text: bytes, style: Dialect, lines: int | None) -> tuple[int, int] | None:
    """The line in which a quoted value begins whose lines look like rows, and how many ends of lines it holds.

    Raises:
        Undecided: Tabs separate fields, so that quotes may enclose nothing.
    """
    value = rows_within_quotes(text, style.delimiter, delimiters_of_row(text, style.delimiter))
    if value is None:
        return None
    if style.delimiter == "\t":
        raise Undecided
    line = 0 if lines is None else lines + 1 + text.count(b"\n", 0, value[0])
    return line, text.count(b"\n", *value)


def note_rows(source: Source, found: Guess) -> None:
    """Notes the quoted value whose lines look like rows, if the first pass found one."""
    if found.rows_in_value is not None:
        line, lines = found.rows_in_value
        csv_quotes.note_rows(source, line or None, lines)


def tables(
    source: Source, blocks: Blocks, found: Guess, *, columns: list[str] | None = None
) -> Iterator[pa.Table]:
    """The rows of each block, with the types that were found.

    Raises:
        Undecided, TareError: As `guess`.
    """
    for text in blocks:
        yield csvs.read(source, text, _style(blocks, text), columns=columns, types=found.types)[0]


def _style(blocks: Blocks, text: bytes) -> Dialect:
    return replace(blocks.style, quoted=b'"' in text)


class _Column:
    """What the blocks say of one column."""

    def __init__(self) -> None:
        self.types: set[Any] = set()
        self.text = False  # a block is text, whatever the others are
        self.zeros = False  # kept as text for leading zeros, a plus, or in hexadecimal: so is the whole
        self.digits = False  # kept as text, or made unsigned, for digits that a double loses
        self.beyond = False  # holds integers beyond those that doubles count
        self.negative = False  # holds integers below zero
        self.signs = False  # may hold zeros with a sign

    def add(self, column: Any, *, kept: bool, signs: bool) -> None:
        """Take a block's column; `signs` says that some column of the block may hold a zero with a sign, which no uint64 is."""
        import pyarrow as pa

        if kept and pa.types.is_string(column.type) and csv_guesses.holds_codes(column):
            self.zeros = True
        elif kept:
            self.digits = True
        elif pa.types.is_string(column.type):
            self.text = True
        elif pa.types.is_int64(column.type) and not (self.beyond and self.negative):
            least, most = _ends(column)
            self.beyond |= max(-least, most) > _MAX_EXACT
            self.negative |= least < 0
            self.signs |= signs
        self.types.add(column.type)

    def type(self) -> tuple[Any, bool]:
        """The type of all rows, and whether they can be of no other."""
        import pyarrow as pa

        if self.text or self.zeros:
            return pa.string(), True
        types = {type for type in self.types if not pa.types.is_null(type)}
        if len(types) < 2:
            return (types or {pa.null()}).pop(), True
        if types == {pa.int64(), pa.float64()} and not self.beyond:
            return pa.float64(), True
        # More than uint64 holds, or digits that a double loses: what a block has of these, the whole has.
        if self.digits and pa.string() in types and types <= {pa.string(), pa.int64(), pa.uint64()}:
            return pa.string(), True
        if types == {pa.int64(), pa.uint64()} and (self.negative or not self.signs):
            return (pa.string() if self.negative else pa.uint64()), True
        if types == {pa.date32(), pa.timestamp("s")}:
            return pa.timestamp("s"), True
        return pa.string(), False


def _ends(column: Any) -> tuple[int, int]:
    """The least and the most of a column of integers, and zero."""
    import pyarrow.compute as pc

    ends: Any = pc.min_max(column).as_py()
    return min(ends["min"] or 0, 0), max(ends["max"] or 0, 0)
