"""Quotes of a CSV that do not enclose values: found before rows vanish in them.

A quote that begins a field encloses it. If one begins a title in a TSV whose writer knows no quotes, all
rows up to the next quote become one value. Stretches whose quotes open and close fields in turn are told
by arrays, at the speed of memory; only others are looked at quote by quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tare import _tare
from tare.errors import Malformed
from tare.formats.csv_rows import at_borders, first_row, unquoted_rows

if TYPE_CHECKING:
    from tare.datasets.csv_dialect import Dialect
    from tare.datasets.source import Source

__all__ = [
    "Fault",
    "Undecided",
    "delimiters_of_row",
    "faults",
    "note_rows",
    "rows_are_lines",
    "rows_within_quotes",
    "settled",
    "whole_rows",
]

_STEP_BYTES = 1 << 20
_ESCAPED = re.compile(rb'\\["\\]')
_OTHER_ESCAPE = re.compile(rb'(?<!\\)(?:\\["\\])*+\\(?!["\\])')


class Undecided(Exception):
    """Only the whole text tells where rows end."""


@dataclass(frozen=True)
class Fault:
    """A quoted value that is not what it should be.

    Args:
        kind: ``open`` if it is never closed, ``stray`` if text follows its closing quote, ``rows`` if each of
            the lines it is in has the fields of a row.
        start: Where its quote is.
        end: Behind its closing quote.
    """

    kind: str
    start: int
    end: int


def settled(source: Source, data: bytes, style: Dialect, *, final: bool = True) -> Dialect:
    """Returns the dialect with the meaning that quotes have in a text, and notes what is not usual.

    Args:
        source: Where the text is from; it gets the notes.
        data: UTF-8 text with a header line.
        style: The dialect as its head tells it.
        final: Whether `data` goes to the end of the text.

    Raises:
        Malformed: Rows would be part of one value.
    """
    if not style.quoted or rows_are_lines(data, style.delimiter):
        return style
    first = next(faults(data, style), None)
    if first is None or (first.kind == "open" and not final):
        return style
    line = _line(source, data, first.start)
    whole = data if final else data[: data.rfind(b"\n") + 1]
    if style.delimiter == "\t" and _is_even_without_quotes(whole, style.delimiter):
        source.notes.append(f"quotes are read as part of the text: one in line {line:,} encloses no value")
        return replace(style, quoted=False, literal=True)
    if _has_escapes(data, style):
        source.notes.append(
            f"a backslash before a quote is read as in JSON: the quote is part of the text (line {line:,})"
        )
        return replace(style, escaped=True)
    _judge(source, data, style, final=final)
    return style


def _judge(source: Source, data: bytes, style: Dialect, *, final: bool) -> None:
    """Refuses quotes in which lines vanish, and notes others."""
    strays, rows = [], []
    for fault in faults(data, style):
        if fault.kind == "rows":
            rows.append(fault)
        elif fault.kind == "open":
            if final:
                _refuse_open(source, data, fault)
        elif b"\n" in data[fault.start : fault.end]:
            first, last = _line(source, data, fault.start), _line(source, data, fault.end)
            raise source.error(
                Malformed,
                f"a quote in line {first:,} begins a value that ends in line {last:,}, where text follows its closing quote",
                offset=fault.start,
                advice="Close the quote, or double it if it is part of the text.",
            )
        else:
            strays.append(fault.start)
    if rows:
        lines = data.count(b"\n", rows[0].start, rows[0].end)
        note_rows(source, _line(source, data, rows[0].start), lines)
    if strays:
        others = f" and {len(strays) - 1:,} more" if len(strays) > 1 else ""
        source.notes.append(
            f"text follows a closing quote in line {_line(source, data, strays[0]):,}{others}; "
            "a quote that is part of the text must be doubled"
        )


def _refuse_open(source: Source, data: bytes, fault: Fault) -> None:
    row, after = _line(source, data, fault.start), data.count(b"\n", fault.start) - (data[-1:] == b"\n")
    if after < 1:
        source.notes.append(f"the quote in line {row:,}, the last, is never closed: the file may be cut")
        return
    lines = f"the {after:,} lines" if after > 1 else "the line"
    raise source.error(
        Malformed,
        f"a quote in line {row:,} is never closed: {lines} after it would be part of one value",
        offset=fault.start,
        advice="Close the quote, or double it if it is part of the text.",
    )


def note_rows(source: Source, line: int | None, lines: int) -> None:
    """Notes that a quoted value has lines that look like rows.

    Args:
        source: The file; it gets the note.
        line: Number of the value's first line; None if it is not known.
        lines: How many ends of lines it holds.
    """
    where = "" if line is None else f" that begins in line {line:,}"
    source.notes.append(
        f"a quoted value{where} holds the ends of {lines:,} line{'s' * (lines > 1)} that look like rows; "
        "if its quote is part of the text, double it"
    )


def faults(data: bytes, style: Dialect) -> Iterator[Fault]:
    r"""Finds the quoted values of a text that are not what they should be, in order.

    Args:
        data: Text with a header line.
        style: Its dialect.

    >>> from tare.datasets.csv_dialect import dialect
    >>> data = b'a,b\n"x" y,1\n"u,2\nv,3\nw",4\n"z,5\n'
    >>> [(fault.kind, fault.start) for fault in faults(data, dialect(data))]
    [('stray', 4), ('rows', 12), ('open', 26)]
    """
    between = delimiters_of_row(data, style.delimiter)
    size, at = _STEP_BYTES, 0
    while at < len(data):
        part = _Places(data, at, size, style.delimiter)
        if not part.enclose(inner=True):
            found, at = _one_by_one(data, at, at + size, style.delimiter, between)
            yield from found
        elif end := part.whole_rows():
            if rows := part.rows_within_quotes(between):
                yield Fault("rows", at + rows[0], at + rows[1])
            at, size = at + end, _STEP_BYTES
        elif at + size < len(data):
            size *= 4  # a row that is longer
        else:
            yield from _one_by_one(data, at, len(data), style.delimiter, between)[0]
            return


def rows_are_lines(data: bytes, delimiter: str) -> bool:
    r"""Returns whether all quotes of a text enclose fields, and none of these the end of a line.

    Args:
        data: Text from its start to its end.
        delimiter: What stands between fields.

    >>> rows_are_lines(b'a,b\n"x, y",1\n', ","), rows_are_lines(b'a,b\n"x\ny",1\n', ","), rows_are_lines(b'a\n5" pipe\n', ",")
    (True, False, False)
    >>> rows_are_lines(b'a,b\n1,"x\ny"', ",")
    False
    """
    found = _tare.whole_rows(data, ord(delimiter))
    if found is None:
        return False
    end, encloses = found
    return not encloses and data.find(b"\n", end) < 0 and data.count(b'"', end) % 2 == 0


def rows_within_quotes(data: bytes, delimiter: str, between: int) -> tuple[int, int] | None:
    r"""Returns where the first value begins that lies in several lines of which each has the fields of a row; and its end.

    Args:
        data: Whole rows, in which quotes open and close fields in turn.
        delimiter: What stands between fields.
        between: How many of them a row has.

    >>> rows_within_quotes(b'1,"a\n2,b"\n', ",", 1), rows_within_quotes(b'1,"a\nb"\n', ",", 1)
    ((2, 9), None)
    """
    places = _Places(data, 0, len(data), delimiter)
    return places.rows_within_quotes(between) if places.whole_rows() else None


def delimiters_of_row(data: bytes, delimiter: str) -> int:
    r"""Returns how many delimiters a row has, by the header.

    >>> delimiters_of_row(b'"a,b",c\n1,2\n', ",")
    1
    """
    header = next(unquoted_rows(data[: first_row(data)], delimiter), b"")
    return header.count(delimiter.encode())


def whole_rows(data: bytes, delimiter: str) -> int:
    r"""Where the last whole row ends; 0 if none does.

    Args:
        data: Text that begins at a row.
        delimiter: What stands between fields.

    Raises:
        Undecided: A quote stands within a field that is not quoted, so that quotes do not tell.

    >>> whole_rows(b'a,b\n1,"x\ny', ",")
    4
    """
    found = _tare.whole_rows(data, ord(delimiter))
    if found is None:
        raise Undecided
    return found[0]


class _Places:
    """Where quotes and ends of lines are in a stretch of text that begins at a row.

    Args:
        data: The text.
        start: Where the stretch begins.
        size: How long it is at most.
        delimiter: What stands between fields.
    """

    def __init__(self, data: bytes, start: int, size: int, delimiter: str) -> None:
        import numpy as np

        self.text = np.frombuffer(data, np.uint8, min(size, len(data) - start), start)
        self.quotes: Any = np.flatnonzero(self.text == ord('"'))
        self.ends: Any = np.flatnonzero(self.text == ord("\n"))
        self.delimiter = delimiter

    def enclose(self, *, inner: bool = False) -> bool:
        """Whether all quotes open and close fields in turn; with `inner`, but for those within fields that none encloses."""
        if at_borders(self.text, self.quotes, self.delimiter):
            return True
        return inner and self._enclose_without_inner()

    def _enclose_without_inner(self) -> bool:
        import numpy as np

        border = np.zeros(256, dtype=bool)
        border[[ord(self.delimiter), *b'\r\n"']] = True
        around = np.pad(self.text, 1, constant_values=ord("\n"))
        within = ~border[around[self.quotes]] & ~border[around[self.quotes + 2]]
        others = self.quotes[~within]
        if (np.searchsorted(others, self.quotes[within]) % 2).any():
            return False
        self.quotes = others
        return at_borders(self.text, others, self.delimiter)

    def whole_rows(self) -> int:
        """Where the last whole row ends; 0 if none does. What follows is left out from here on."""
        import numpy as np

        self.enclosed = np.searchsorted(self.quotes, self.ends) % 2 == 1
        outside = np.flatnonzero(~self.enclosed)
        if not len(outside):
            return 0
        self.ends, self.enclosed = self.ends[: outside[-1] + 1], self.enclosed[: outside[-1] + 1]
        return int(self.ends[-1]) + 1

    def rows_within_quotes(self, between: int) -> tuple[int, int] | None:
        """The first value of which each line has so many delimiters; `whole_rows` was called before."""
        import numpy as np

        if not between or not self.enclosed.any():
            return None
        delimiters = np.flatnonzero(self.text == ord(self.delimiter))
        counts = np.diff(np.searchsorted(delimiters, self.ends), prepend=0)
        firsts = np.flatnonzero(np.append(True, ~self.enclosed[:-1]))  # the first line of each row
        lengths = np.diff(firsts, append=len(self.ends))
        suspects = np.flatnonzero(np.logical_and.reduceat(counts == between, firsts) & (lengths > 1))
        if not len(suspects):
            return None
        opening = np.searchsorted(self.quotes, self.ends[firsts[suspects[0]]]) - 1
        return int(self.quotes[opening]), int(self.quotes[opening + 1]) + 1


def _one_by_one(data: bytes, at: int, stop: int, delimiter: str, between: int) -> tuple[list[Fault], int]:
    """The faults among the values that begin before `stop`, and where a row begins behind them."""
    borders = delimiter.encode() + b"\r\n"
    quoted = re.compile(rb"(?<![^" + re.escape(borders) + rb'])"[^"]*(?:""[^"]*)*("|\Z)')
    found: list[Fault] = []
    done = at
    for value in quoted.finditer(data, at):
        if value.start() >= stop:
            row = data.find(b"\n", max(stop, done)) + 1
            if row and row <= value.start():
                return found, row
        done = value.end()
        if not value[1]:
            found.append(Fault("open", value.start(), done))
        elif done < len(data) and data[done] not in borders:
            found.append(Fault("stray", value.start(), done))
        elif between and b"\n" in value[0] and _are_rows(data, value.start(), done, delimiter, between):
            found.append(Fault("rows", value.start(), done))
    return found, len(data)


def _are_rows(data: bytes, start: int, end: int, delimiter: str, between: int) -> bool:
    """Whether each line that a value is in has the delimiters of a row."""
    first, last = data.rfind(b"\n", 0, start) + 1, data.find(b"\n", end)
    lines = data[first : last if last >= 0 else len(data)].split(b"\n")
    return all(line.count(delimiter.encode()) == between for line in lines)


def _is_even_without_quotes(data: bytes, delimiter: str) -> bool:
    """Whether each line has as many fields as the first if quotes enclose nothing, and no name is in quotes."""
    import numpy as np

    header = data.lstrip(b"\r\n").split(b"\n", 1)[0]
    between = header.count(delimiter.encode())
    if not between or header.startswith(b'"') or delimiter.encode() + b'"' in header:
        return False
    at = 0
    while at < len(data):
        end = data.rfind(b"\n", at, at + _STEP_BYTES) + 1 or data.find(b"\n", at) + 1 or len(data)
        text = np.frombuffer(data, np.uint8, end - at, at)
        ends = np.flatnonzero(text == ord("\n"))
        if not len(ends) or ends[-1] != len(text) - 1:
            ends = np.append(ends, len(text))
        counts = np.diff(np.searchsorted(np.flatnonzero(text == ord(delimiter)), ends), prepend=0)
        lengths = np.diff(ends, prepend=-1) - 1
        blank = (lengths == 0) | ((lengths == 1) & (text[ends - 1] == ord("\r")))
        if not (blank | (counts == between)).all():
            return False
        at = end
    return True


def _has_escapes(data: bytes, style: Dialect) -> bool:
    """Whether backslashes stand before quotes and backslashes alone, and all quotes are in their place but for these."""
    if _ESCAPED.search(data) is None or _OTHER_ESCAPE.search(data) is not None:
        return False
    return next(faults(_ESCAPED.sub(b"..", data), style), None) is None


def _line(source: Source, data: bytes, at: int) -> int:
    return source.above.count(b"\n") + data.count(b"\n", 0, at) + 1
