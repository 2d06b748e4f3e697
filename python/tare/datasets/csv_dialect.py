"""The dialect of a CSV: what stands between fields, told from its first rows and from the ending of its name."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice

from tare.formats.csv_rows import (
    DELIMITERS,
    RARE_DELIMITERS,
    blank_start,
    has_one_column,
    unquoted_rows,
)

__all__ = ["Dialect", "delimiter_of_ending", "dialect"]

_HEAD_BYTES = 64 << 10
_ROWS = 50
_ENDINGS = {".tsv": "\t", ".tab": "\t", ".psv": "|"}


@dataclass(frozen=True)
class Dialect:
    """How fields stand in a text.

    Args:
        delimiter: What stands between fields.
        quoted: Whether any field is quoted.
        decimal: The decimal point: a comma where semicolons separate.
        one: Whether there is one column: then a blank line is a row whose value is missing.
        literal: Whether quotes are characters like others.
        escaped: Whether a backslash before a quote, or before a backslash, makes it part of the text.
    """

    delimiter: str = ","
    quoted: bool = False
    decimal: str = "."
    one: bool = False
    literal: bool = False
    escaped: bool = False


def delimiter_of_ending(ending: str) -> str:
    r"""Returns the delimiter that the ending of a file's name stands for; empty without one.

    >>> delimiter_of_ending(".tsv"), delimiter_of_ending(".csv")
    ('\t', '')
    """
    return _ENDINGS.get(ending, "")


def dialect(data: bytes, named: str = "") -> Dialect:
    r"""Tell the delimiter and quoting from the first rows.

    Args:
        data: The text from its start.
        named: The delimiter that the file's name or its first line stands for; taken if its header has any.

    >>> dialect(b"a;b\n1,5;2\n")
    Dialect(delimiter=';', quoted=False, decimal=',', one=False, literal=False, escaped=False)
    >>> dialect(b"City, State\tPop\nReno, NV\t264\n", "\t").delimiter
    '\t'
    >>> dialect(b"a^b\n1^2\n").delimiter, dialect(b"10^3 t\n5\n").delimiter
    ('^', ',')
    """
    begin = blank_start(data)
    head = data[begin : begin + _HEAD_BYTES]
    # Two columns have a delimiter in their header too; what stands in values alone is part of them.
    possible = [one for one in DELIMITERS if not has_one_column(data, one)]
    possible = possible or [one for one in RARE_DELIMITERS if _separates(data, head, one)]
    said = named in possible or (named in RARE_DELIMITERS and not has_one_column(data, named))
    delimiter = named if said else _likeliest(head, possible)
    decimal = (
        "," if delimiter == ";" and re.search(rb"(?:^|;)-?\d+,\d+(?:;|\r|\n|$)", head, re.MULTILINE) else "."
    )
    return Dialect(delimiter, b'"' in data, decimal, has_one_column(data, delimiter))


def _separates(data: bytes, head: bytes, delimiter: str) -> bool:
    """Whether a rare delimiter stands in the header, and as often in each of the first rows below it."""
    if has_one_column(data, delimiter):
        return False
    rows = list(islice(unquoted_rows(head, delimiter), _ROWS))
    counts = [row.count(delimiter.encode()) for row in rows]
    if len(data) > len(head) and len(rows) < _ROWS:
        counts.pop()  # it may be cut
    return len(counts) > 1 and len(set(counts)) == 1


def _likeliest(head: bytes, possible: list[str]) -> str:
    """The delimiter of which most rows have the same number, the larger number of two alike; a comma if no row has any."""

    def score(delimiter: str) -> tuple[float, int]:
        others = tuple(one for one in possible if one != delimiter)
        rows = list(islice(unquoted_rows(head, delimiter, others), _ROWS))
        if len(rows) > 2:
            rows = rows[:-1]  # the head may end within it
        counts = Counter(row.count(delimiter.encode()) for row in rows)
        count, rows_with_it = counts.most_common(1)[0] if counts else (0, 0)
        return (rows_with_it / len(rows) if count else 0.0, count)

    best = max(possible, key=score, default=",")
    return best if best == "," or score(best)[1] else ","
