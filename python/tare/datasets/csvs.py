"""CSV and its kin, read so that no value changes without a word.

Types are guessed by pyarrow from the whole file. Guesses that lose data are taken
back: text like ``001`` and ``0x1F`` is no number, integers above 64 bits are no doubles, nor are
numbers above 2^53 with more digits than a double holds, and a quoted ``"NA"`` or
``""`` is text where a bare one is missing. Decimals below 2^53 become the nearest
double, as everywhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tare.datasets import csv_comments, csv_guesses, csv_headers, csv_misfits, csv_quotes, encodings
from tare.datasets.csv_dialect import Dialect, dialect
from tare.datasets.recognise import format_option
from tare.datasets.source import Source, printable
from tare.datasets.tables import check_columns
from tare.errors import Malformed, Truncated
from tare.formats.csv_rows import blank_start, ends_within_quotes, first_row, header_of, uncut
from tare.frames import with_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "KEPT",
    "MISSING",
    "blank_error",
    "lacks_end",
    "last_row",
    "note",
    "options",
    "parse",
    "read",
    "settled",
    "text_of",
    "texts_of",
]

MISSING = ("", "NA", "N/A", "#N/A", "NULL", "null")
KEPT = "numbers with leading zeros, with a plus as phone numbers, in hexadecimal, or with more digits than fit a number are kept as text"
_ONE_BLOCK_BYTES = 2 << 20
_MAX_BLOCK_BYTES = (1 << 31) - (1 << 20)


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
    import pyarrow as pa

    style = style or settled(source, data)
    table, kept = read(source, data, style, columns=columns)
    note(source, table, [name for name, array in kept.items() if pa.types.is_string(array.type)])
    if not table.num_rows:
        source.notes.append("it has a header and no rows")
    return table


def read(
    source: Source,
    data: bytes,
    style: Dialect,
    *,
    columns: list[str] | None = None,
    types: dict[str, Any] | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """Make a table of UTF-8 text whose dialect is known; takes no notes.

    Returns:
        The table, and those of its columns that were taken back from a guess that loses digits.

    Raises:
        Malformed, Truncated: As `parse`.
    """
    import pyarrow as pa

    if re.search(rb"\S", data) is None:
        raise blank_error(source)
    if (mark := csv_misfits.mark_of_dos(source, data, style)) is not None:
        raise mark
    if lacks_end(data, style) or (not data.endswith((b"\n", b"\r")) and _is_header(data, style)):
        data += b"\n"
    table = _read(source, data, style, types or {}, columns)
    doubtful = [] if types else csv_guesses.doubtful(data, style, table)
    kept = {}
    if doubtful:
        texts = _read(source, data, style, dict.fromkeys(doubtful, pa.string()), doubtful)
        kept = csv_guesses.taken_back(table, texts, style.decimal)
    places = {at: name for name in kept for at in table.schema.get_all_field_indices(name)}
    changed = {at: (pa.field(name, kept[name].type), kept[name]) for at, name in places.items()}
    return with_columns(table, changed), kept


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


def note(source: Source, table: pa.Table, kept: list[str]) -> None:
    """Note what a user may not expect: the columns kept as text, and names that look like values."""
    if skipped := csv_comments.note_of(source):
        source.notes.append(skipped)
    if kept:
        some = ", ".join(printable(name, 30) for name in kept[:5]) + (", ..." if len(kept) > 5 else "")
        source.notes.append(f"{KEPT}: {some}")
    csv_headers.note(source, table.schema)
    if len(table.column_names) == 1 and table.column_names[0].startswith("#"):
        source.notes.append(
            "its first line begins with '#', and was read as the name of its one column; if it is a comment, remove it"
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
        known = csv.read_csv(
            _file(data[: first_row(data)], style), parse_options=given["parse_options"]
        ).column_names
        check_columns(source, known, columns)
        raise


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
