"""CSV and its kin, read so that no value changes without a word.

Types are guessed by pyarrow from the whole file. Guesses that lose data are taken
back: text like ``001`` is no number, integers above 64 bits are no doubles, nor are
numbers above 2^53 with more digits than a double holds, and a quoted ``"NA"`` or
``""`` is text where a bare one is missing. Decimals below 2^53 become the nearest
double, as everywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tare.datasets.recognise import format_option
from tare.datasets.source import Source, printable
from tare.datasets.tables import check_columns
from tare.errors import Malformed, Truncated
from tare.formats.csv_rows import DELIMITERS, blank_start, first_row, has_one_column, header_of, uncut

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "KEPT", "MISSING", "Dialect", "dialect", "first_row", "has_leading_zeros", "has_one_column", "last_row", "note",
    "parse", "read",
]  # fmt: skip

MISSING = ("", "NA", "N/A", "#N/A", "NULL", "null")
KEPT = "numbers with leading zeros, or with more digits than fit a number, are kept as text"
_MAX_EXACT = 2.0**53
_ONE_BLOCK_BYTES = 2 << 20
_MAX_BLOCK_BYTES = (1 << 31) - (1 << 20)


@dataclass(frozen=True)
class Dialect:
    """How fields stand in a text.

    Args:
        delimiter: What stands between fields.
        quoted: Whether any field is quoted.
        decimal: The decimal point: a comma where semicolons separate.
        one: Whether there is one column: then a blank line is a row whose value is missing.
    """

    delimiter: str = ","
    quoted: bool = False
    decimal: str = "."
    one: bool = False


def parse(
    source: Source, data: bytes, *, columns: list[str] | None = None, types: dict[str, Any] | None = None
) -> pa.Table:
    """Make a table of UTF-8 text with a header line.

    Args:
        source: Where it is from, for messages and notes.
        data: The text.
        columns: Names of the columns to read; all by default.
        types: Types of columns that are known; those of others are guessed.

    Raises:
        Malformed, Truncated: Rows of unequal length; row and offset are given.
    """
    import pyarrow as pa

    table, kept = read(source, data, dialect(data), columns=columns, types=types)
    note(source, table, [name for name, array in kept.items() if pa.types.is_string(array.type)])
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
    if re.search(rb"\S", data) is None:
        raise source.error(Truncated, "it holds white space only", offset=0, advice="Write it again.")
    if b"\n" not in data and b"\r" not in data:
        data += b"\n"  # names alone, and their line not ended: a table without rows
    table = _read(source, data, style, types or {}, columns)
    kept = {} if types else _keep_as_text(source, data, style, table)
    for name, array in kept.items():
        for at in table.schema.get_all_field_indices(name):
            table = table.set_column(at, name, array)
    return table, kept


def note(source: Source, table: pa.Table, kept: list[str]) -> None:
    """Note what a user may not expect: the columns kept as text, and names that look like values."""
    if kept:
        some = ", ".join(printable(name, 30) for name in kept[:5]) + (", ..." if len(kept) > 5 else "")
        source.notes.append(f"{KEPT}: {some}")
    if table.column_names and all(re.fullmatch(r"-?\d+(\.\d+)?", name) for name in table.column_names):
        source.notes.append("its first line holds numbers only, and was read as column names")


def has_leading_zeros(text: Any) -> bool:
    """Whether a value of a text column starts with a zero and another digit: then no number was meant."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(text, r"^[+-]?0[0-9]")).as_py())


def dialect(data: bytes) -> Dialect:
    r"""Tell the delimiter and quoting from the first lines.

    >>> dialect(b"a;b\n1,5;2\n")
    Dialect(delimiter=';', quoted=False, decimal=',', one=False)
    """
    head = data[: 64 << 10]
    lines = [re.sub(rb'"[^"]*"', b"", line) for line in head.splitlines()[:50] if line.strip()]
    if len(lines) > 2:
        lines = lines[:-1]

    def score(delimiter: str) -> tuple[float, int]:
        counts = Counter(line.count(delimiter.encode()) for line in lines)
        count, lines_with_it = counts.most_common(1)[0] if counts else (0, 0)
        return (lines_with_it / len(lines) if count else 0.0, count)

    # Two columns have a delimiter in their header too; what stands in values alone is part of them.
    header = header_of(data)
    best = max((one for one in DELIMITERS if not has_one_column(header, one)), key=score, default=",")
    delimiter = best if score(best)[1] else ","
    decimal = (
        "," if delimiter == ";" and re.search(rb"(?:^|;)-?\d+,\d+(?:;|\r|\n|$)", head, re.MULTILINE) else "."
    )
    return Dialect(delimiter, b'"' in data, decimal, has_one_column(data, delimiter))


def options(style: Dialect, types: dict[str, Any], columns: list[str] | None, size: int) -> dict[str, Any]:
    """The options of pyarrow's CSV reader that every read here uses."""
    from pyarrow import csv

    few = size <= _ONE_BLOCK_BYTES
    block = size + 1 if few else min(max(1 << 20, size // 64), 16 << 20)
    return {
        "read_options": csv.ReadOptions(block_size=block, use_threads=not few),
        "parse_options": csv.ParseOptions(
            delimiter=style.delimiter, newlines_in_values=style.quoted, ignore_empty_lines=not style.one
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
    source: Source, data: bytes, style: Dialect, types: dict[str, Any], columns: list[str] | None
) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    given = options(style, types, columns, len(data))
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
    if last and got < wanted:
        advice = "It is the last row: the file was cut. Fetch or write it again."
        return source.error(Truncated, what, offset=start, advice=advice)
    return source.error(
        Malformed, what, offset=start, advice="Repair that row (quotes, delimiters), or remove it."
    )


def _row_start(data: bytes, row: int, style: Dialect) -> tuple[int, bool]:
    """Where a row starts, counted from 1 with the header, quoted newlines and lines that are no rows left out; is it the last?"""
    begin = _begin(data, style)
    number, start, line, odd = 0, begin, begin, False
    for end in re.compile(rb"\r\n|\n|\r|\Z").finditer(data, begin):
        odd ^= data.count(b'"', line, end.start()) % 2 == 1
        line = end.end()
        if odd:
            continue
        number += style.one or end.start() > start
        if number >= row:
            break
        start = end.end()
    return start, not data[line:].strip()


def _keep_as_text(source: Source, data: bytes, style: Dialect, table: pa.Table) -> dict[str, Any]:
    """The columns that were read as numbers but would lose digits as such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numeric = {f.name for f in table.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)}
    doubtful = set(numeric) if numeric and _has_leading_zero(data, style) else set()
    for name in numeric - doubtful:
        column = table.column(table.schema.get_all_field_indices(name)[0])
        if pa.types.is_floating(column.type):
            ends: Any = pc.min_max(column).as_py()
            if any(end is not None and abs(end) >= _MAX_EXACT for end in ends.values()):
                doubtful.add(name)
    if not doubtful:
        return {}
    names = [name for name in dict.fromkeys(table.column_names) if name in doubtful]
    texts = _read(source, data, style, dict.fromkeys(names, pa.string()), names)
    kept = {}
    for name in names:
        text = texts.column(texts.schema.get_all_field_indices(name)[0])
        if has_leading_zeros(text):
            kept[name] = text
        elif pa.types.is_floating(table.field(table.schema.get_all_field_indices(name)[0]).type):
            if _integers(text):
                kept[name] = _unsigned(text)
            elif _loses_digits(text, style.decimal):
                kept[name] = text
    return kept


def _loses_digits(text: Any, decimal: str) -> bool:
    """Whether a cell above 2^53 has digits that its nearest double does not give back."""
    import pyarrow.compute as pc

    long = text.filter(pc.match_substring_regex(text, r"[0-9][0-9.,]{15}"))
    cells = (cell.strip().replace(decimal, ".") for cell in pc.unique(long).to_pylist() if cell is not None)
    return any(abs(float(cell)) >= _MAX_EXACT and not _round_trips(Decimal(cell)) for cell in cells)


def _round_trips(number: Decimal) -> bool:
    """Whether the nearest double, written with as many digits, is the number.

    >>> _round_trips(Decimal("9007199254740993")), _round_trips(Decimal("100000000000000000000"))
    (False, True)
    """
    digits = len("".join(map(str, number.as_tuple().digits)).strip("0"))
    return Decimal(f"{float(number):.{max(digits, 1)}g}") == number


def _integers(text: Any) -> bool:
    """Whether all are written as integers: then no double was meant."""
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(text, r"^[+-]?[0-9]+$")).as_py())


def _unsigned(text: Any) -> Any:
    """As uint64 if they fit, else the text itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.cast(text, pa.uint64())
    except pa.ArrowInvalid:
        return text


def _has_leading_zero(data: bytes, style: Dialect) -> bool:
    """Whether a field starts with a zero and another digit."""
    import numpy as np

    before = np.zeros(256, dtype=bool)
    before[[ord(style.delimiter), *b'\n\r"+-']] = True
    step = 8 << 20
    for start in range(0, len(data), step):
        part = np.frombuffer(data, np.uint8, min(step + 2, len(data) - start), start)
        zero = np.flatnonzero(part[1:-1] == 0x30) + 1
        zero = zero[before[part[zero - 1]]]
        if np.any((part[zero + 1] >= 0x30) & (part[zero + 1] <= 0x39)):
            return True
    return False


def last_row(data: bytes) -> int:
    r"""Where the last whole row ends; 0 if none does.

    >>> last_row(b'a,b\n1,"x\ny')
    4
    """
    end = data.rfind(b"\n") + 1
    odd = data.count(b'"', 0, end) % 2 == 1
    while end and odd:
        before = data.rfind(b"\n", 0, end - 1) + 1
        odd ^= data.count(b'"', before, end) % 2 == 1
        end = before
    return end
