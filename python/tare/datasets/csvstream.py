"""CSV in blocks of whole rows, side by side: types are found in a first pass, values read in a second.

Where the whole table is wanted, the rows of the first pass are kept, and read again only where a later
block changes the type of a column. Else the text goes through twice, and what is held is a few blocks.
Where blocks cannot tell what the whole text would (stray quotes, guesses that only all rows together
settle), `Undecided` or `Guess.unsure` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tare._tare import row_end
from tare.datasets import csv_comments, csv_quotes, csvs, encodings, recognise
from tare.datasets.csv_dialect import Dialect, dialect
from tare.datasets.csv_quotes import Undecided, delimiters_of_row, rows_within_quotes, whole_rows
from tare.datasets.footprint import give_back
from tare.datasets.source import Source
from tare.formats.csv_rows import BOM, first_row, has_one_column
from tare.formats.side_by_side import in_order
from tare.frames import with_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Blocks", "Guess", "first_whole_row", "guess", "note_rows", "tables"]

_LEAST_BLOCK_BYTES, _MOST_BLOCK_BYTES = 1 << 20, 16 << 20
_LONGEST_ROW_BLOCKS = 16
# Stretches of a part, the least bytes of one, and the share of the file from which on the part is its first rows.
_STRETCHES, _LEAST_STRETCH_BYTES, _NEARLY_ALL = 8, 1 << 20, 0.8
# Where a stretch may begin is looked for in so many bytes, at so many ends of lines.
_BEGIN_BYTES, _BEGINNINGS = 64 << 10, 32
_MAX_EXACT = 1 << 53
_GIVE_BACK_PARTS = 8


@dataclass
class Guess:
    """What the first pass found.

    Args:
        blocks: The blocks, which are behind it.
        types: Type of each column, in the order of the file.
        unsure: Columns that stand as text because their blocks disagree and not for their digits; all
            rows together may be of another type.
        kept: Columns that are text because numbers would lose digits.
        words: A word that was read as missing, of each column that has one, whatever its type.
        zeros: Columns with a zero that has a minus.
        names: Names of all columns, once they are known.
        rows_in_value: Of the first quoted value whose lines look like rows: the number of the line it begins in, 0
            if that is not known, and how many ends of lines it holds.
        comment: Of the first line that looks like a comment and is read as a row: its number, 0 if that is not known, and
            what it begins with.
        parts: The rows of the blocks, if they are kept.
    """

    blocks: Blocks
    types: dict[str, pa.DataType] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    words: dict[str, str] = field(default_factory=dict)
    zeros: set[str] = field(default_factory=set)
    names: list[str] | None = None
    rows_in_value: tuple[int, int] | None = None
    comment: tuple[int, str] | None = None
    parts: list[pa.Table] = field(default_factory=list)


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
                        step = step[first_whole_row(step, self.style.delimiter) :]
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
        rest, taken, limited, begun = b"", 0, False, False
        for step in self.source.steps(size):
            data = rest + step
            taken += len(step)
            if self.limit is not None and taken > self.limit:
                data = data[: len(data) - taken + self.limit]
                taken, limited = self.limit, True
            # The first block tells the dialect, of the others `guess` looks at the quotes, on all threads.
            end = row_end(data) if begun else whole_rows(data, self.style.delimiter)
            if not end and len(data) > _LONGEST_ROW_BLOCKS * size:
                raise Undecided
            if end:
                yield data[:end]
                begun = True
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


def first_whole_row(data: bytes, delimiter: str) -> int:
    r"""Returns the offset of the first whole row in text that may begin within one.

    A line may end within quotes: then what follows does not look like quoted fields, and the next end is tried.

    Args:
        data: The text, in UTF-8.
        delimiter: What separates fields.

    Raises:
        Undecided: No end of a line begins a row.

    >>> data = b'y\nz",4\n5,"a\nb"\n'
    >>> data[first_whole_row(data, ",") :]
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


def guess(
    source: Source, *, columns: list[str] | None = None, limit: int | None = None, keep: bool = False
) -> Guess:
    """Find the types of all columns, as a read of the whole text would.

    Args:
        source: The file.
        columns: Names of the columns to read; all by default.
        limit: How many bytes of the text are looked at; all by default.
        keep: Whether the rows are kept, so that `tables` reads again only what the types of the whole change.

    Raises:
        Undecided: Only the whole text tells.
        TareError: As `csvs.parse`; row and offset are those within a block.
    """
    import pyarrow as pa

    blocks = Blocks(replace(source, notes=[]), limit)
    found = Guess(blocks)
    seen: dict[str, _Column] = {}
    before = source.skipped.count(b"\n")  # lines before the block

    def read(numbered: tuple[int, bytes]) -> _Part:
        return _part(blocks, found, *numbered, columns=columns)

    for part in in_order(enumerate(blocks), read):
        table, fields = part.guessed.table, part.guessed.fields
        if part.rows_in_value is not None and found.rows_in_value is None:
            line, lines = part.rows_in_value
            found.rows_in_value = (0 if blocks.spread else before + line, lines)
        if part.comment is not None and found.comment is None:
            line, mark = part.comment
            found.comment = (0 if blocks.spread else before + line, mark)
        before += part.lines
        found.names = part.names
        for name, column in zip(table.column_names, table.columns, strict=True):
            one = seen.setdefault(name, _Column())
            one.add(
                column.type,
                part.ends.get(name),
                kept=name in part.guessed.kept,
                codes=name in fields.codes,
                signs=name in fields.zeros,
            )
        found.words = {**fields.words, **found.words}
        found.zeros |= fields.zeros
        if keep:
            found.parts.append(table)
            if len(found.parts) % _GIVE_BACK_PARTS == 0:
                give_back()  # what was freed among the parts that stay
    for name, each in seen.items():
        found.types[name], sure = each.type()
        if not sure:
            found.unsure.add(name)
        if not each.text and (each.codes or each.digits) and pa.types.is_string(found.types[name]):
            found.kept.add(name)
    return found


@dataclass(frozen=True)
class _Part:
    """What a block was read as.

    Args:
        guessed: Its rows.
        names: Names of all columns.
        ends: The least and the most of its columns of whole numbers.
        lines: How many ends of lines it has.
        rows_in_value: Of the first quoted value whose lines look like rows: the line of the block it begins in, and how many ends of lines it holds.
        comment: Of the first line that looks like a comment: its number in the block, and what it begins with.
    """

    guessed: csvs.Guessed
    names: list[str]
    ends: dict[str, tuple[int, int]]
    lines: int
    rows_in_value: tuple[int, int] | None
    comment: tuple[int, str] | None = None


def _part(blocks: Blocks, found: Guess, number: int, text: bytes, *, columns: list[str] | None) -> _Part:
    """Reads a block."""
    import pyarrow as pa

    style = _style(blocks, text)
    names = found.names or csvs.names_of(text, style)
    check = partial(whole_rows, delimiter=style.delimiter)
    guessed = csvs.guessed(blocks.source, text, style, columns=columns, names=names, check_quotes=check)
    if len(set(guessed.table.column_names)) < guessed.table.num_columns:
        raise Undecided
    numbers = {
        name: guessed.fields.ends.get(name) or _ends(column)
        for name, column in zip(guessed.table.column_names, guessed.table.columns, strict=True)
        if pa.types.is_int64(column.type)
    }
    ends = text.count(b"\n")
    repeated = text[: first_row(text)].count(b"\n") if number else 0  # lines of the header
    comment = csv_comments.comment_among(text, style.delimiter) if found.comment is None else None
    if comment is not None:
        comment = (1 + text.count(b"\n", 0, comment[0]) - repeated, comment[1])
    value = None
    if ends > guessed.table.num_rows + 1 and found.rows_in_value is None:
        value = _rows_in_value(text, style)
    if value is None:
        return _Part(guessed, names, numbers, ends - repeated, None, comment)
    line = 1 + text.count(b"\n", 0, value[0]) - repeated
    rows_in_value = (line, text.count(b"\n", *value))
    return _Part(guessed, names, numbers, ends - repeated, rows_in_value, comment)


def _rows_in_value(text: bytes, style: Dialect) -> tuple[int, int] | None:
    """Where the first quoted value begins whose lines look like rows, and its end.

    Raises:
        Undecided: Tabs separate fields, so that quotes may enclose nothing.
    """
    value = rows_within_quotes(text, style.delimiter, delimiters_of_row(text, style.delimiter))
    if value is not None and style.delimiter == "\t":
        raise Undecided
    return value


def note_rows(source: Source, found: Guess) -> None:
    """Notes the quoted value whose lines look like rows, and the comment among rows, if the first pass found one."""
    if found.rows_in_value is not None:
        line, lines = found.rows_in_value
        csv_quotes.note_rows(source, line or None, lines)
    if found.comment is not None:
        csv_comments.note_among(source, *found.comment)


def tables(
    source: Source, blocks: Blocks, found: Guess, *, columns: list[str] | None = None
) -> Iterator[pa.Table]:
    """The rows of each block, with the types that were found.

    Rows that were kept are not read again, but for columns of another type than the whole has.

    Args:
        source: The file.
        blocks: Its blocks, as they were when the types were found.
        found: What was found.
        columns: Names of the columns to read; all by default.

    Raises:
        Undecided, TareError: As `guess`.
    """
    kept: list[Any] = [csvs.with_types(part, found.types, found.zeros) for part in found.parts]
    found.parts.clear()
    if kept and not any(odd for _, odd in kept):
        source.notes += found.blocks.source.notes
        yield from (table for table, _ in kept)
        return

    def read(numbered: tuple[int, bytes]) -> pa.Table:
        number, text = numbered
        style = _style(blocks, text)
        if not kept:
            return csvs.read(source, text, style, found.types, columns=columns, names=found.names)
        table: pa.Table
        (table, odd), kept[number] = kept[number], (None, [])
        if not odd:
            return table
        again = csvs.read(source, text, style, {name: found.types[name] for name in odd}, columns=odd)
        places = {table.column_names.index(name): name for name in odd}
        return with_columns(
            table, {at: (again.schema.field(name), again.column(name)) for at, name in places.items()}
        )

    yield from in_order(enumerate(blocks), read)


def _style(blocks: Blocks, text: bytes) -> Dialect:
    return replace(blocks.style, quoted=b'"' in text)


class _Column:
    """What the blocks say of one column."""

    def __init__(self) -> None:
        self.types: set[Any] = set()
        self.text = False  # a block is text, whatever the others are
        self.codes = False  # kept as text for leading zeros, a plus, or in hexadecimal: so is the whole
        self.digits = False  # kept as text, or made unsigned, for digits that a double loses
        self.beyond = False  # holds integers beyond those that doubles count
        self.negative = False  # holds integers below zero
        self.signs = False  # holds zeros with a sign

    def add(self, type: Any, ends: tuple[int, int] | None, *, kept: bool, codes: bool, signs: bool) -> None:
        """Take a block's column: whether it was kept as text or unsigned, has codes, and zeros with a sign, which no uint64 is."""
        import pyarrow as pa

        if kept and codes:
            self.codes = True
        elif kept:
            self.digits = True
        elif pa.types.is_string(type):
            self.text = True
        elif ends is not None:
            self.beyond |= max(-ends[0], ends[1]) > _MAX_EXACT
            self.negative |= ends[0] < 0
            self.signs |= signs
        self.types.add(type)

    def type(self) -> tuple[Any, bool]:
        """The type of all rows, and whether they can be of no other."""
        import pyarrow as pa

        if self.text or self.codes:
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
    """The least and the most of a column of whole numbers, 0 where it has none."""
    import pyarrow.compute as pc

    ends: Any = pc.min_max(column).as_py()
    return ends["min"] or 0, ends["max"] or 0
