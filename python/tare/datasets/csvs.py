"""CSV and its kin, read so that no value changes without a word.

Types are guessed by pyarrow from the whole file. Guesses that lose data are taken
back: text like ``001`` and ``0x1F`` is no number, integers above 64 bits are no doubles, nor are
numbers above 2^53 with more digits than a double holds, and a quoted ``"NA"`` or
``""`` is text where a bare one is missing. Decimals below 2^53 become the nearest
double, as everywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.datasets import csv_comments, csv_guesses, csv_headers, csv_misfits, csv_quotes, encodings
from tare.datasets.csv_dialect import Dialect, dialect
from tare.datasets.csv_fields import MISSING, Fields, fields_of, plain_columns
from tare.datasets.recognise import format_option
from tare.datasets.source import Source, printable
from tare.datasets.tables import check_columns
from tare.errors import Malformed, Truncated
from tare.formats.csv_rows import blank_start, ends_within_quotes, first_row, header_of, uncut
from tare.frames import with_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    import pyarrow as pa

__all__ = [
    "KEPT",
    "MISSING",
    "Guessed",
    "blank_error",
    "guessed",
    "lacks_end",
    "last_row",
    "names_of",
    "note",
    "note_guessed",
    "options",
    "parse",
    "read",
    "settled",
    "text_of",
    "texts_of",
    "with_types",
]

KEPT = "numbers with leading zeros, with a plus as phone numbers, in hexadecimal, or with more digits than fit a number are kept as text"
_ONE_BLOCK_BYTES = 2 << 20
_MAX_BLOCK_BYTES = (1 << 31) - (1 << 20)


@dataclass(frozen=True)
class Guessed:
    """A text as a table whose types were guessed.

    Args:
        table: The table.
        kept: Names of its columns that are text, or unsigned, as doubles would lose digits.
        fields: What stands in its fields, which types do not tell.
    """

    table: pa.Table
    kept: frozenset[str]
    fields: Fields


def text_of(source: Source, data: bytes, encoding: str | None, *, final: bool) -> bytes:
    """Returns the text from its header on, in UTF-8.

    Args:
        source: Where it is from, for messages and notes.
        data: What was read of it.
        encoding: What the user says it is in; None for UTF-8, or what a byte order mark says.
        final: Whether `data` goes to the end of the text.

    Raises:
        Malformed, UsageError: As `encodings.to_utf8`.
    """
    text = encodings.to_utf8(source, data, encoding, final=final)
    return text if source.skipped else text.removeprefix(source.above)


def settled(source: Source, data: bytes, *, final: bool = True) -> Dialect:
    """Returns how fields stand in a text, and what quotes mean in it; notes what is not usual.

    Args:
        source: Where it is from; it gets the notes.
        data: UTF-8 text with a header line.
        final: Whether `data` goes to the end of the text.

    Raises:
        Malformed: Rows would be part of one value.
    """
    return csv_quotes.settled(source, data, dialect(data, source.delimiter), final=final and not source.cut)


def parse(
    source: Source, data: bytes, style: Dialect | None = None, *, columns: list[str] | None = None
) -> pa.Table:
    """Make a table of UTF-8 text with a header line.

    Args:
        source: Where it is from, for messages and notes.
        data: The text.
        style: How fields stand in it, as of `settled`, which is called without it.
        columns: Names of the columns to read; all by default.

    Raises:
        Malformed, Truncated: Rows of unequal length; row and offset are given.
    """
    found = guessed(source, data, style or settled(source, data), columns=columns)
    note_guessed(source, found)
    return found.table


def guessed(
    source: Source,
    data: bytes,
    style: Dialect,
    *,
    columns: list[str] | None = None,
    names: list[str] | None = None,
    check_quotes: Callable[[bytes], object] | None = None,
) -> Guessed:
    """Make a table of UTF-8 text whose dialect is known and whose types are not; takes no notes.

    Args:
        source: Where it is from, for messages.
        data: The text.
        style: How fields stand in it.
        columns: Names of the columns to read; all by default.
        names: Those of all its columns, if they are known.
        check_quotes: Called with a text whose quotes may be misplaced; raises if they are.

    Raises:
        Malformed, Truncated: As `parse`.
    """
    import pyarrow as pa

    data = _ended(source, data, style)
    names = names or names_of(data, style)
    plain = _plain(data, style, names, columns)
    if plain is not None:
        table, fields = plain
        return Guessed(table, fields.codes & frozenset(table.column_names), fields)
    if check_quotes is not None:
        check_quotes(data)
    table = _read(source, data, style, {}, columns)
    fields = fields_of(data, style, table.column_names if columns is None else names)
    doubtful = csv_guesses.doubtful(table, fields.codes)
    texts_already = csv_guesses.numbers_as_text(table, fields.codes, style.decimal)
    if not doubtful:
        return Guessed(table, texts_already, fields)
    named = table.column_names
    wanted = list(dict.fromkeys(named[place] for place in doubtful))
    alone = len(set(named)) == table.num_columns  # else a name means the first that has it
    types = dict.fromkeys(wanted, pa.string())
    read = _read(source, data, style, types, wanted if alone else columns)
    place_of = {name: at for at, name in enumerate(read.column_names)}
    texts = {place: read.column(place_of[named[place]] if alone else place) for place in doubtful}
    kept = csv_guesses.taken_back(table, texts, fields.codes, style.decimal)
    changed = {at: (pa.field(named[at], array.type), array) for at, array in kept.items()}
    names_kept = texts_already.union(named[place] for place in kept)
    return Guessed(with_columns(table, changed), names_kept, fields)


def read(
    source: Source,
    data: bytes,
    style: Dialect,
    types: dict[str, Any],
    *,
    columns: list[str] | None = None,
    names: list[str] | None = None,
) -> pa.Table:
    """Make a table of UTF-8 text whose dialect and types are known; takes no notes.

    Args:
        source: Where it is from, for messages.
        data: The text.
        style: How fields stand in it.
        types: Types of its columns, by their names.
        columns: Names of the columns to read; all by default.
        names: Those of all its columns, if the types are those that a guess is likely to give.

    Raises:
        Malformed, Truncated: As `parse`.
    """
    data = _ended(source, data, style)
    plain = _plain(data, style, names, columns) if names else None
    if plain is not None:
        table, odd = with_types(plain[0], types, frozenset())
        if not odd:
            return table
    return _read(source, data, style, types, columns)


def _plain(
    data: bytes, style: Dialect, names: list[str], columns: list[str] | None
) -> tuple[pa.Table, Fields] | None:
    """Returns what `plain_columns` does, of some columns or all."""
    if columns is not None and not (len(set(columns)) == len(columns) and set(columns) <= set(names)):
        return None
    found = plain_columns(data, style, names)
    return found if found is None or columns is None else (found[0].select(columns), found[1])


def with_types(
    table: pa.Table, types: Mapping[str, Any], zeros: AbstractSet[str]
) -> tuple[pa.Table, list[str]]:
    """Returns a table of a part of a text with the types of the whole, and the columns that have to be read again for these.

    Args:
        table: The table.
        types: Types by the names of columns.
        zeros: Columns with a zero that has a minus, which integers do not keep.
    """
    import pyarrow as pa

    changed, odd = {}, []
    for place, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
        wanted = types[field.name]
        if field.type == wanted:
            continue
        is_double = field.type == pa.int64() and wanted == pa.float64() and field.name not in zeros
        is_moment = field.type == pa.date32() and wanted == pa.timestamp("s")
        if is_double or is_moment or pa.types.is_null(field.type):
            changed[place] = (field.with_type(wanted), column.cast(wanted))
        else:
            odd.append(field.name)
    return with_columns(table, changed), odd


def _ended(source: Source, data: bytes, style: Dialect) -> bytes:
    """Returns a text whose last row ends so that its last value is read as what it is."""
    if re.search(rb"\S", data) is None:
        raise blank_error(source)
    if (mark := csv_misfits.mark_of_dos(source, data, style)) is not None:
        raise mark
    if lacks_end(data, style) or (not data.endswith((b"\n", b"\r")) and _is_header(data, style)):
        return data + b"\n"
    return data


def texts_of(source: Source, data: bytes, style: Dialect, names: list[str]) -> pa.Table:
    """Returns columns of a text as they are written: a word for a missing value stays that word.

    Raises:
        Malformed, Truncated: As `parse`.
    """
    import pyarrow as pa

    if lacks_end(data, style):
        data += b"\n"
    return _read(source, data, style, dict.fromkeys(names, pa.string()), names, nulls=False)


def blank_error(source: Source) -> Truncated:
    """The error of a text without any value or name."""
    if separator := csv_comments.separator_named(source.above):
        text = f"it holds the line 'sep={separator}' alone, no names and no rows"
        return source.error(Truncated, text, advice="Write it again.")
    return source.error(Truncated, "it holds white space only", offset=0, advice="Write it again.")


def lacks_end(data: bytes, style: Dialect) -> bool:
    r"""Whether the last value is missing, and the end of its line too: pyarrow makes it an empty text then, if the field before is quoted.

    Args:
        data: The text, or rows of it.
        style: How fields stand in it.

    >>> [lacks_end(text, Dialect(quoted=True)) for text in (b'"x",', b'"x",\n', b'1,"x,')]
    [True, False, False]
    """
    missing = data.endswith(style.delimiter.encode())
    return missing and not (style.quoted and ends_within_quotes(data, style.delimiter))


def _is_header(data: bytes, style: Dialect) -> bool:
    """Whether names are all there is, which without a line's end is no table for pyarrow."""
    names = len(header_of(data, (style.delimiter,))) == len(data)
    return names and not ends_within_quotes(data, style.delimiter)


def note_guessed(source: Source, found: Guessed) -> None:
    """Notes what a user may not expect of a text that was read at once."""
    import pyarrow as pa

    texts = [field.name for field in found.table.schema if field.type == pa.string()]
    note(source, found.table, [name for name in dict.fromkeys(texts) if name in found.kept])
    if not found.table.num_rows:
        source.notes.append("it has a header and no rows")


def note(source: Source, table: pa.Table, kept: list[str]) -> None:
    """Note what a user may not expect: the columns kept as text, and names that look like values."""
    if skipped := csv_comments.note_of(source):
        source.notes.append(skipped)
    if kept:
        some = ", ".join(repr(printable(name, 30)) for name in kept[:5]) + (", ..." if len(kept) > 5 else "")
        source.notes.append(f"{KEPT}: {some}")
    csv_headers.note(source, table.schema)
    mark = re.match("#|//|--", table.column_names[0]) if len(table.column_names) == 1 else None
    if mark is not None:
        source.notes.append(
            f"its first line begins with '{mark[0]}', and was read as the name of its one column; if it is a comment, remove it"
        )


def options(style: Dialect, types: dict[str, Any], columns: list[str] | None, size: int) -> dict[str, Any]:
    """The options of pyarrow's CSV reader that every read here uses."""
    from pyarrow import csv

    few = size <= _ONE_BLOCK_BYTES
    block = size + 1 if few else min(max(1 << 20, size // 64), 16 << 20)
    return {
        "read_options": csv.ReadOptions(block_size=block, use_threads=not few),
        "parse_options": csv.ParseOptions(
            delimiter=style.delimiter, newlines_in_values=style.quoted, ignore_empty_lines=not style.one,
            quote_char=False if style.literal else '"', escape_char="\\" if style.escaped else False,
        ),
        "convert_options": csv.ConvertOptions(
            null_values=list(MISSING), strings_can_be_null=True, quoted_strings_can_be_null=False,
            column_types=types, include_columns=columns, decimal_point=style.decimal,
        ),
    }  # fmt: skip


def _file(data: bytes, style: Dialect) -> Any:
    import pyarrow as pa

    return pa.BufferReader(memoryview(data)[_begin(data, style) :])


def _begin(data: bytes, style: Dialect) -> int:
    """Where the text begins: blank lines before the header are none of the rows that those behind it are."""
    return blank_start(data) if style.one else 0


def _read(
    source: Source,
    data: bytes,
    style: Dialect,
    types: dict[str, Any],
    columns: list[str] | None,
    *,
    nulls: bool = True,
) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    given = options(style, types, columns, len(data))
    given["convert_options"].strings_can_be_null = nulls
    if style.quoted:
        given["read_options"].block_size = uncut(data, _begin(data, style), given["read_options"].block_size)
    given["memory_pool"] = pa.system_memory_pool()  # the one that gives freed blocks back to the system
    try:
        return csv.read_csv(_file(data, style), **given)
    except pa.ArrowInvalid as error:
        if "straddling" in str(error) and len(data) < _MAX_BLOCK_BYTES:
            given["read_options"] = csv.ReadOptions(block_size=len(data) + 1)
            try:
                return csv.read_csv(_file(data, style), **given)
            except pa.ArrowInvalid as again:
                raise _fault(source, data, style, given, str(again)) from None
        raise _fault(source, data, style, given, str(error)) from None
    except KeyError:
        check_columns(source, names_of(data, style), columns)
        raise


def names_of(data: bytes, style: Dialect) -> list[str]:
    """Returns the names of all columns of a text; none if they cannot be told."""
    import pyarrow as pa
    from pyarrow import csv

    given = options(style, {}, None, 0)["parse_options"]
    try:
        return csv.read_csv(_file(data[: first_row(data)], style), parse_options=given).column_names
    except pa.ArrowInvalid:
        return []


def _fault(
    source: Source, data: bytes, style: Dialect, given: dict[str, Any], text: str
) -> Malformed | Truncated:
    """The error of a row that does not fit, with its number and offset."""
    import pyarrow as pa
    from pyarrow import csv

    given["read_options"] = csv.ReadOptions(block_size=given["read_options"].block_size, use_threads=False)
    try:
        csv.read_csv(_file(data, style), **given)
    except pa.ArrowInvalid as error:
        text = str(error)
    found = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", text)
    if found is None:
        return source.error(
            Malformed, printable(text, 160).rstrip("."), advice=f"Repair the file, or say {format_option()}."
        )
    row, wanted, got = (int(part) for part in found.groups())
    start, last = _row_start(data, row, style)
    what = f"row {row:,} has {got:,} field{'s' * (got != 1)}, the header has {wanted:,}"
    reason = csv_misfits.reason_of_last(source, data, style, start) if last else ""
    if last and got < wanted and not reason:
        advice = "It is the last row: the file was cut. Fetch or write it again."
        return source.error(Truncated, what, offset=start, advice=advice)
    advice = reason or csv_misfits.advice(source, data, style, start, wanted=wanted, got=got)
    return source.error(Malformed, what, offset=start, advice=advice)


def _row_start(data: bytes, row: int, style: Dialect) -> tuple[int, bool]:
    """Where a row starts, counted from 1 with the header, quoted newlines and lines that are no rows left out; is it the last?"""
    begin = _begin(data, style)
    number, start, line, odd = 0, begin, begin, False
    for end in re.compile(rb"\r\n|\n|\r|\Z").finditer(data, begin):
        odd ^= not style.literal and data.count(b'"', line, end.start()) % 2 == 1
        line = end.end()
        if odd:
            continue
        number += style.one or end.start() > start
        if number >= row:
            break
        start = end.end()
    return start, not data[line:].strip()


def last_row(data: bytes, style: Dialect | None = None) -> int:
    r"""Where the last whole row ends; 0 if none does.

    Args:
        data: Text that begins at a row.
        style: How fields stand in it, if quotes may enclose nothing.

    >>> last_row(b'a,b\n1,"x\ny')
    4
    """
    end = data.rfind(b"\n") + 1
    odd = data.count(b'"', 0, end) % 2 == 1 and not (style and style.literal)
    while end and odd:
        before = data.rfind(b"\n", 0, end - 1) + 1
        odd ^= data.count(b'"', before, end) % 2 == 1
        end = before
    return end
