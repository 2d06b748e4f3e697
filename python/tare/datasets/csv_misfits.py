"""What to do about a row of a CSV that has more or fewer fields than the header: by what its lines look like."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Collection
from itertools import islice, takewhile

from tare.datasets.csv_dialect import Dialect
from tare.datasets.source import Source, printable
from tare.errors import Malformed
from tare.formats.csv_rows import BOM, DELIMITERS, blank_start, first_row, unquoted_rows

__all__ = ["advice", "header_below", "reason_of_last"]

_AROUND_BYTES = 64 << 10
_ROWS = 20
_LINE = re.compile(rb"[^\r\n]+")
_NUMBER = re.compile(rb" *[+-]?[0-9][0-9.,eE+-]* *")
_NAME = re.compile(rb"[A-Za-z_.\x80-\xff][^:]*")
_COMMENT = re.compile(rb"(#|//|--|;(?=[^;]*\Z)|[%!](?=[ \t]|\Z|[\r\n]))")
_BETWEEN = re.compile(rb"[,;\t|]")
_UNKNOWN = ("~", "\x1f", "\x1e", "\x02", "::", "@@", "\u00a6", "\u00ac", "\u00a7")
_COUNT = re.compile(rb"\(?[\d,.]+ (?:rows?|records?|Zeilen?|lignes?|filas?)[^,;\t|]*", re.IGNORECASE)
_RULE = re.compile(rb"[-+|= ]*(?:--|==)[-+|= ]*")
_ABSENT = (b"", b"NA")
_QUOTED = b'"'  # stands for any text in quotes
_END_OF_DOS = b"\x1a"
_LAST_BYTES = 64


def advice(source: Source, data: bytes, style: Dialect, start: int, *, wanted: int, got: int) -> str:
    """Returns what can be done about a row.

    Args:
        source: The file, for commands that name it.
        data: Its text.
        style: How fields stand in it.
        start: Where the row begins.
        wanted: How many fields the header has.
        got: How many the row has.
    """
    delimiter = style.delimiter
    below = data[start : start + _AROUND_BYTES]
    line = below[: first_row(below, (delimiter,))].strip(b"\r\n")
    rows = list(islice(unquoted_rows(_unescaped(below, style), delimiter, mark=_QUOTED), _ROWS))
    name = shlex.quote(printable(source.name))
    if _RULE.fullmatch(line):
        return (
            "A line between names and rows, as clients of SQL draw it, is a row here: remove it, e.g. by "
            f"grep -vE '^[-+|= ]+$' {name}."
        )
    if not line.strip():
        return f"It holds blanks alone: remove it, e.g. by grep -v '^[[:space:]]*$' {name}."
    if reason := _comment(source, data, style, line, start):
        return reason
    if re.search(rb"(?:^|" + re.escape(delimiter.encode()) + rb")'[^']", line) and line.count(b"'") > 1:
        return (
            "If its values are in single quotes, write double quotes instead: those alone enclose values. "
            f'pandas reads the others: read_csv({printable(source.name)!r}, quotechar="\'").'
        )
    if reason := _misplaced_quote(source, below, style):
        return reason
    if got == wanted + 1 and all(row.endswith(delimiter.encode()) for row in rows):
        return (
            "Each row ends with a delimiter, and the header does not: add one to the header (the new column is "
            f"empty), or remove those of the rows, e.g. by sed {shlex.quote(f's/{delimiter}$//')} {name}."
        )
    if (
        got == wanted + 1
        and not data[first_row(data, (delimiter,)) : start].strip()
        and _have_row_names(rows, delimiter, wanted)
    ):
        return (
            "Each row has one field more than the header, as R's write.table writes row names: give the first "
            f"column a name, e.g. by {_naming(source, data, delimiter)}."
        )
    counts = [row.count(delimiter.encode()) + 1 for row in rows]
    above = data.count(b"\n", 0, start)
    if above < _ROWS and (place := _header_among(counts, wanted)) is not None:
        at = start + [match.start() for match in islice(_LINE.finditer(below), place + 1)][-1]
        number = source.above.count(b"\n") + above + data.count(b"\n", start, at) + 1
        header = printable(data[at : at + 200].splitlines()[0].decode("utf-8", "replace"), 40)
        return (
            f"If line {number:,} is the header ({header}), remove the "
            f"lines above it: tail -n +{number} {name} | tare convert - OUT --from csv."
        )
    if got > wanted:
        return "Put a value that holds a delimiter in double quotes, or remove that row."
    return (
        "If its last values are missing, add the delimiters before them; else remove that row. pandas adds them, and "
        f"leaves out rows of more fields: {_padding(source, delimiter)}."
    )


def _padding(source: Source, delimiter: str) -> str:
    """Returns the call of pandas that writes a file whose rows all have the fields of its header, values as they are."""
    above = source.above.count(b"\n")
    given = [
        repr(printable(source.name)),
        *([f"sep={delimiter!r}"] if delimiter != "," else []),
        *([f"skiprows={above}"] if above else []),
        "dtype=str",
        "keep_default_na=False",
        "on_bad_lines='skip'",
    ]
    return f"pd.read_csv({', '.join(given)}).to_csv('whole.csv', index=False)"


def _comment(source: Source, data: bytes, style: Dialect, line: bytes, start: int) -> str:
    """Returns what to do about comment lines, if a row is one or stands right below some; empty if it does not."""
    name = shlex.quote(printable(source.name))
    lines = data[:_AROUND_BYTES].splitlines(keepends=True)
    above = [one for one in takewhile(lambda one: _mark(one) or not one.strip(), lines) if one.strip()]
    marks = dict.fromkeys(map(_mark, above))
    if set(marks) - {"#"} and start <= sum(map(len, lines[: lines.index(above[-1]) + 1])):
        rows = list(islice(unquoted_rows(b"".join(lines[len(above) :]), style.delimiter), _ROWS))
        if len({len(_BETWEEN.findall(row)) for row in rows[:2]}) == 1:
            said = " or ".join(repr(mark) for mark in marks)
            return (
                f"If the lines that begin with {said} are comments, remove them: "
                f"grep -vE {_pattern(marks)} {name} | tare convert - OUT --from csv."
            )
    mark = _mark(line)
    if mark == "#":
        return f"Comment lines are skipped before the header only: remove it, e.g. by grep -v '^#' {name}."
    if mark and mark != style.delimiter:
        return (
            f"If a line that begins with {mark!r} is a comment, remove it, e.g. by grep -v '^{mark}' {name}."
        )
    return ""


def _mark(line: bytes) -> str:
    """Returns the mark of a comment that a line begins with; empty without one."""
    found = _COMMENT.match(line)
    return found[1].decode() if found else ""


def _pattern(marks: Collection[str]) -> str:
    return shlex.quote(f"^({'|'.join(marks)})" if len(marks) > 1 else f"^{next(iter(marks))}")


def reason_of_last(source: Source, data: bytes, style: Dialect, start: int) -> str:
    """Returns why a last row that is too short need not be where a file was cut, and what to do; empty if nothing says so.

    Args:
        source: The file.
        data: Its text.
        style: How fields stand in it.
        start: Where the row begins.
    """
    last = data[start:]
    if last.strip() == _END_OF_DOS:
        return _without_mark(source)
    if reason := _comment(source, data, style, last.strip(b"\r\n"), start):
        return reason
    if _COUNT.fullmatch(last.strip()):
        name = shlex.quote(printable(source.name))
        return f"It is how clients of SQL end, with the number of rows: remove it, e.g. by sed '$d' {name}."
    return _misplaced_quote(source, last[:_AROUND_BYTES], style)


def mark_of_dos(source: Source, data: bytes, style: Dialect) -> Malformed | None:
    """Returns the error of a text that ends with the mark of old programs of DOS, which would be a value; None without one.

    Alone in a row of several columns it is told as a row that is too short.

    Args:
        source: The file.
        data: Its text.
        style: How fields stand in it.
    """
    last = data[-_LAST_BYTES:].rstrip()
    before = last.removesuffix(_END_OF_DOS)
    if before == last or (not style.one and (not before or before.endswith((b"\n", b"\r")))):
        return None
    at = len(data) - len(data[-_LAST_BYTES:]) + len(before)
    return source.error(
        Malformed, "its last value ends with a mark that is no text", offset=at, advice=_without_mark(source)
    )


def _without_mark(source: Source) -> str:
    return (
        "It is the byte 0x1a, with which old programs of DOS end a file: remove it, e.g. by "
        f"tr -d '\\032' < {shlex.quote(printable(source.name))}."
    )


def header_below(source: Source, data: bytes, style: Dialect) -> str:
    r"""Returns the note on a text of one column whose rows below the first have another delimiter, or on a title above the header.

    Empty where there is neither.

    Args:
        source: The file.
        data: Its text.
        style: How fields stand in it.
    """
    head = data[:_AROUND_BYTES]
    if not style.one:
        return _below_title(source, head, style)
    if reason := _unknown_delimiter(source, head, whole=len(head) == len(data)):
        return reason
    for delimiter in DELIMITERS:
        rows = list(islice(unquoted_rows(head, delimiter, mark=_QUOTED), 50))
        counts = [row.count(delimiter.encode()) for row in rows]
        if len(data) > len(head) and len(counts) < 50:
            counts.pop()  # it may be cut
        first = next((place for place, count in enumerate(counts) if count), None)
        if (
            delimiter != style.delimiter
            and first
            and len(counts) - first > 1
            and len(set(counts[first:])) == 1
        ):
            if first == 1 and counts[1] == 1 and _have_row_names(rows[1:], delimiter, 1):
                return (
                    f"it was read as one column, and each row has two fields between {delimiter!r}: if the first are R's "
                    f"row names, give them a name, e.g. by {_naming(source, data, delimiter)}"
                )
            return (
                f"it was read as one column, and its rows have {counts[first] + 1} fields between {delimiter!r} from "
                f"{printable(rows[first].decode('utf-8', 'replace'), 40)!r} on: if that is the header, remove the lines above it"
            )
    return ""


def _below_title(source: Source, head: bytes, style: Dialect) -> str:
    """Returns the note on a header most of whose names are empty, as of a title in Excel, where a row below names all columns."""
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=style.delimiter)
    names: list[str] | None = None
    number = source.above.count(b"\n") + 1
    try:
        for row in islice(rows, _ROWS):
            if names is None:
                names = row or None
                if row and 2 * sum(not name.strip() for name in row) <= len(row):
                    return ""
            elif all(name.strip() and not _NUMBER.fullmatch(name.encode()) for name in row) and row:
                shown = printable(style.delimiter.join(row), 40)
                name = shlex.quote(printable(source.name))
                return (
                    f"most names of its header are empty: if line {number:,} is the header ({shown}), remove the lines "
                    f"above it: tail -n +{number} {name} | tare convert - OUT --from csv"
                )
            number = source.above.count(b"\n") + rows.line_num + 1
    except csv.Error:
        return ""
    return ""


def _unknown_delimiter(source: Source, head: bytes, *, whole: bool) -> str:
    """Returns the note on rows that all have as many of a character that separates fields nowhere here; empty without one."""
    for delimiter in _UNKNOWN:
        counts = [row.count(delimiter.encode()) for row in islice(unquoted_rows(head, delimiter), 50)]
        if not whole and len(counts) < 50:
            counts.pop()  # it may be cut
        if len(counts) > 1 and counts[0] and len(set(counts)) == 1:
            name = shlex.quote(printable(source.name))
            if delimiter.isascii() and len(delimiter) == 1:
                shown = delimiter if delimiter.isprintable() else f"\\{ord(delimiter):03o}"
                command = f"tr '{shown}' '\\t'"
            else:
                command = f"sed $'s/{delimiter}/\\t/g'"
            return (
                f"it was read as one column, and each row has {counts[0] + 1} fields between {delimiter!r}: if that separates "
                f"them, have tabs do so: {command} < {name} | tare convert - OUT --from csv"
            )
    return _blanks_or_colons(source, head, whole=whole)


def _blanks_or_colons(source: Source, head: bytes, *, whole: bool) -> str:
    """Returns the note on rows that all have as many blanks or colons, which texts and times of day have too; empty without it."""
    lines = [line for line in head.splitlines()[: 50 + (not whole)] if line.strip()]
    if not whole:
        lines.pop()  # it may be cut
    if len(lines) < 2 or any(b'"' in line for line in lines):
        return ""
    name = shlex.quote(printable(source.name))
    for delimiter, pattern, trimmed in ((":", b":", b""), (" ", b" +", b" ")):
        rows = [re.split(pattern, line.strip(trimmed) if trimmed else line) for line in lines]
        header, columns = rows[0], list(zip(*rows[1:], strict=False))
        if len(header) < 2 or {len(row) for row in rows} != {len(header)} or len(set(header)) < len(header):
            continue
        names = all(_NAME.fullmatch(one) for one in header)
        if not names or not any(all(map(_NUMBER.fullmatch, column)) for column in columns):
            continue
        many = trimmed and any(line != line.strip() or b"  " in line for line in lines)
        command = "sed -E 's/^ +//; s/ +/\\t/g'" if many else f"tr '{delimiter}' '\\t'"
        return (
            f"it was read as one column, and each row has {len(header)} fields between {delimiter!r}: if that separates "
            f"them, have tabs do so: {command} < {name} | tare convert - OUT --from csv"
        )
    return ""


def _unescaped(data: bytes, style: Dialect) -> bytes:
    """Returns a text of as many fields without backslashes, and what they stand before."""
    return re.sub(rb"\\.", b"", data) if style.escaped else data


def _misplaced_quote(source: Source, below: bytes, style: Dialect) -> str:
    """Returns what to do about a quote in a row that does not begin its value, and so encloses nothing; empty without one."""
    if style.literal or style.escaped:
        return ""
    delimiter = style.delimiter.encode()
    lines = _LINE.findall(below)
    line = b"".join(unquoted_rows(lines[0], style.delimiter)) if lines else b""
    if re.search(rb"(?:^|" + re.escape(delimiter) + rb')[ \t]+"', line):
        return (
            "A blank before a quote keeps it from enclosing a value: remove the blank. pandas does: "
            f"read_csv({printable(source.name)!r}, sep={style.delimiter!r}, skipinitialspace=True)."
        )
    if line.count(b'"') % 2 and any(b'"' in each for each in lines[1:]):
        return (
            "A quote within a value encloses nothing, so that the value ends with its line: put the whole value in "
            "double quotes, and double those within it."
        )
    return ""


def _naming(source: Source, data: bytes, delimiter: str) -> str:
    """Returns the command that puts a name before those of a header."""
    number = source.above.count(b"\n") + data.count(b"\n", 0, blank_start(data)) + 1
    added = "\\t" if delimiter == "\t" else delimiter
    program = f'NR=={number}{{printf "row{added}"}}1'
    return f"awk {shlex.quote(program)} {shlex.quote(printable(source.name))}"


def _have_row_names(rows: list[bytes], delimiter: str, wanted: int) -> bool:
    """Returns whether each row has one field more than the header, and the first one is not the header of the others.

    >>> _have_row_names([b'",1.5', b'",2'], ",", 1), _have_row_names([b"a,b", b"1,2"], ",", 1)
    (True, False)
    """
    fields = [row.split(delimiter.encode()) for row in rows]
    named = all(each not in _ABSENT and not _NUMBER.fullmatch(each) for each in fields[0])
    numbers = any(_NUMBER.fullmatch(each) for row in fields[1:] for each in row)
    return all(len(row) == wanted + 1 for row in fields) and not (named and numbers)


def _header_among(counts: list[int], wanted: int) -> int | None:
    """Returns the first of some rows from which on all have the same number of fields, more than so many; None without one.

    >>> _header_among([1, 3, 3], 1), _header_among([3, 3], 2), _header_among([3, 2, 2], 2), _header_among([3], 2)
    (1, 0, None, None)
    """
    last = counts[-1]
    place = next(place for place in range(len(counts)) if set(counts[place:]) == {last})
    return place if last > wanted and len(counts) - place > 1 else None
