"""What to do about a row of a CSV that has more or fewer fields than the header: by what its lines look like."""

from __future__ import annotations

import re
import shlex
from itertools import islice

from tare.datasets.csv_dialect import Dialect
from tare.datasets.source import Source, printable
from tare.formats.csv_rows import DELIMITERS, first_row, unquoted_rows

__all__ = ["advice", "header_below"]

_AROUND_BYTES = 64 << 10
_ROWS = 20
_LINE = re.compile(rb"[^\r\n]+")


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
    rows = list(islice(unquoted_rows(below, delimiter), _ROWS))
    name = shlex.quote(printable(source.name))
    if line.startswith(b"#"):
        return f"Comment lines are skipped before the header only: remove it, e.g. by grep -v '^#' {name}."
    if re.search(rb"(?:^|" + re.escape(delimiter.encode()) + rb")'[^']", line) and line.count(b"'") > 1:
        return (
            "If its values are in single quotes, write double quotes instead: those alone enclose values. "
            f'pandas reads the others: read_csv({printable(source.name)!r}, quotechar="\'").'
        )
    if got == wanted + 1 and all(row.endswith(delimiter.encode()) for row in rows):
        return (
            "Each row ends with a delimiter, and the header does not: add one to the header (the new column is "
            f"empty), or remove those of the rows, e.g. by sed {shlex.quote(f's/{delimiter}$//')} {name}."
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
        "If its last values are missing, add the delimiters before them, or have pandas add them: "
        f"read_csv({printable(source.name)!r}).to_csv(...); else remove that row."
    )


def header_below(source: Source, data: bytes, style: Dialect) -> str:
    r"""Returns the note on a text of one column whose rows below the first have another delimiter; empty for none.

    Args:
        source: The file.
        data: Its text.
        style: How fields stand in it.
    """
    if not style.one:
        return ""
    head = data[:_AROUND_BYTES]
    for delimiter in DELIMITERS:
        rows = list(islice(unquoted_rows(head, delimiter), 50))
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
            return (
                f"it was read as one column, and its rows have {counts[first] + 1} fields between {delimiter!r} from "
                f"{printable(rows[first].decode('utf-8', 'replace'), 40)!r} on: if that is the header, remove the lines above it"
            )
    return ""


def _header_among(counts: list[int], wanted: int) -> int | None:
    """Returns the first of some rows from which on all have the same number of fields, more than so many; None without one.

    >>> _header_among([1, 3, 3], 1), _header_among([3, 3], 2), _header_among([3, 2, 2], 2), _header_among([3], 2)
    (1, 0, None, None)
    """
    last = counts[-1]
    place = next(place for place in range(len(counts)) if set(counts[place:]) == {last})
    return place if last > wanted and len(counts) - place > 1 else None
