"""Where rows of a CSV begin, and whether it has one column.

In a CSV of one column a blank line is a row whose value is missing: there is no other way to write it.
In a CSV of several columns a blank line is no row. Blank lines before the header are passed over in both.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from tare.formats.base import Buffer

__all__ = [
    "BOM",
    "DELIMITERS",
    "RARE_DELIMITERS",
    "at_borders",
    "blank_start",
    "ends_within_quotes",
    "first_row",
    "has_one_column",
    "header_of",
    "one_column_start",
    "opened",
    "unclosed_quote",
    "uncut",
    "unquoted_rows",
]

BOM = b"\xef\xbb\xbf"
DELIMITERS = (",", "\t", ";", "|")
# Such as Hive writes, and old programs: looked for in a header that has none of the usual ones.
RARE_DELIMITERS = ("\x01", "^")
_TRIES = 1000
_LEAST_HEADER_BYTES, _MOST_HEADER_BYTES = 4 << 10, 4 << 20


@functools.cache
def _tokens(delimiters: tuple[str, ...]) -> re.Pattern[bytes]:
    """Quoted fields, and line ends outside of them. A quote within a field is a character like others."""
    begins = re.escape("".join(delimiters).encode()) + rb"\r\n"
    return re.compile(rb"(?:(?<=[" + begins + rb'])|\A)"[^"]*(?:""[^"]*)*(?:"|\Z)|\r\n|\n|\r')


@functools.cache
def _tokens_of_any(delimiter: str, others: tuple[str, ...]) -> re.Pattern[bytes]:
    """The tokens of a delimiter, and what is quoted behind another one and closed before any."""
    tokens = _tokens((delimiter,))
    if not others:
        return tokens
    begins = re.escape("".join(others).encode())
    borders = re.escape("".join((delimiter, *others)).encode()) + rb"\r\n"
    quoted = rb'"[^"]*(?:""[^"]*)*"'
    return re.compile(rb"(?<=[" + begins + rb"])" + quoted + rb"(?=[" + borders + rb"]|\Z)|" + tokens.pattern)


def first_row(data: bytes, delimiters: tuple[str, ...] = (*DELIMITERS, *RARE_DELIMITERS)) -> int:
    r"""Where the header ends: behind its line's end, which may be a lone CR; empty lines before it are passed over.

    >>> first_row(b'a,"b\nc"\n1,2\n'), first_row(b"a,b\r1,2\n"), first_row(b"\r\n\na,b\r\n1,2\r\n")
    (8, 4, 8)
    >>> first_row(b'5" pipe\n"1,0"\n')
    8
    """
    at = len(BOM) if data.startswith(BOM) else 0
    line, begun = 0, False
    for token in _tokens(delimiters).finditer(data[at:]):
        if token[0].startswith(b'"'):
            begun = True
        elif begun or token.start() > line:
            return at + token.end()
        else:
            line = token.end()
    return len(data)


def unquoted_rows(
    data: bytes, delimiter: str, others: tuple[str, ...] = (), *, mark: bytes = b""
) -> Iterator[bytes]:
    r"""The rows of a text without their line ends and without what is quoted; blank lines are left out.

    Args:
        data: Text from its start; its last row need not be whole.
        delimiter: What may stand between fields.
        others: What may instead: a text between two of them that is quoted is left out too.
        mark: What stands in the place of a quoted text.

    >>> list(unquoted_rows(b'a;"b\nc"\n\n1;2', ";")), list(unquoted_rows(b'1;"Doe, Jane"', ",", (";",)))
    ([b'a;', b'1;2'], [b'1;'])
    """
    text = data.removeprefix(BOM)
    row, at, quoted = b"", 0, False
    for token in _tokens_of_any(delimiter, others).finditer(text):
        row += text[at : token.start()]
        at = token.end()
        if token[0].startswith(b'"'):
            row, quoted = row + mark, True
            continue
        if row or quoted:
            yield row
        row, quoted = b"", False
    if (row := row + text[at:]) or quoted:
        yield row


def ends_within_quotes(data: bytes, delimiter: str) -> bool:
    r"""Whether the last value of a text is quoted and not closed.

    Args:
        data: Text that begins at a field.
        delimiter: What stands between fields.

    >>> ends_within_quotes(b'1,"a,', ","), ends_within_quotes(b'5" pipe,', ","), ends_within_quotes(b'1,"a"', ",")
    (True, False, False)
    """
    last = b""
    for token in _tokens((delimiter,)).finditer(data):
        last = token[0] if token.end() == len(data) else b""
    return last.startswith(b'"') and last.count(b'"') % 2 == 1


def unclosed_quote(data: bytes, delimiter: str) -> int | None:
    r"""The first quote that opens a value which does not end in its line; None if each does.

    A quote within a field is a character like others.

    Args:
        data: Text that begins at a field.
        delimiter: What stands between fields.

    >>> unclosed_quote(b'1,"a\nb"\n', ","), unclosed_quote(b'1,"a', ","), unclosed_quote(b'1,5" pipe\n', ",")
    (2, 2, None)
    """
    import numpy as np

    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == ord('"'))
    ends = np.flatnonzero(text == ord("\n"))
    within = np.searchsorted(quotes, ends) % 2
    if len(quotes) % 2 == 0 and not within.any() and at_borders(text, quotes, delimiter):
        return None
    for token in _tokens((delimiter,)).finditer(data):
        if token[0].startswith(b'"') and (b"\n" in token[0] or token[0].count(b'"') % 2):
            return token.start()
    return None


def at_borders(text: Any, quotes: Any, delimiter: str) -> bool:
    """Whether the quotes of a text open and close fields in turn, as they do where none stands within a field.

    Args:
        text: Bytes, as an array.
        quotes: Where in them the quotes are.
        delimiter: What stands between fields.
    """
    import numpy as np

    border = np.zeros(256, dtype=bool)
    border[[ord(delimiter), *b'\r\n"']] = True
    opening, closing = quotes[0::2], quotes[1::2]
    before = opening[opening > 0] - 1
    after = closing[closing < len(text) - 1] + 1
    return bool(border[text[before]].all() and border[text[after]].all())


def blank_start(data: bytes) -> int:
    r"""How many bytes of blank lines stand before the header, with a byte order mark before them.

    >>> blank_start(b"\r\n\nv\n1\n"), blank_start(b"v\n\n1\n"), blank_start(b"\xef\xbb\xbf\nv\n")
    (3, 0, 4)
    """
    found = re.match(rb"(?:\xef\xbb\xbf)?[\r\n]+", data)
    return found.end() if found else 0


def has_one_column(data: Buffer, delimiter: str) -> bool:
    r"""Whether the header names one column.

    Args:
        data: Text with the header.
        delimiter: What stands between fields.

    >>> has_one_column(b'"a,b"\n1\n', ","), has_one_column(b"\na,b\n1,2\n", ","), has_one_column(b"v", ",")
    (True, False, True)
    """
    header = header_of(data, (delimiter,))
    fields = _tokens((delimiter,)).sub(b"", header[len(BOM) if header.startswith(BOM) else 0 :])
    return delimiter.encode() not in fields


def one_column_start(data: Buffer, delimiter: str) -> int | None:
    r"""Where the header of a CSV of one column begins; None if it has several.

    >>> one_column_start(b"\nv\n1\n", ","), one_column_start(b"v,w\n1,2\n", ",")
    (1, None)
    """
    return blank_start(header_of(data)) if has_one_column(data, delimiter) else None


def header_of(data: Buffer, delimiters: tuple[str, ...] = (*DELIMITERS, *RARE_DELIMITERS)) -> bytes:
    """The header with its line's end, and blank lines before it; of one that does not end in 4 MiB so much."""
    size = _LEAST_HEADER_BYTES
    while (
        size < min(len(data), _MOST_HEADER_BYTES)
        and first_row(bytes(memoryview(data)[:size]), delimiters) >= size - 1
    ):
        size *= 4
    head = bytes(memoryview(data)[:size])
    return head[: first_row(head, delimiters)]


def uncut(data: Buffer, begin: int, size: int) -> int:
    r"""A size of blocks, none of which ends between CR and LF: pyarrow leaves out an LF that begins one, in quotes too.

    Args:
        data: The text.
        begin: Where its first block begins.
        size: The least size.

    >>> uncut(b'v\r\n"a\r\nb"\r\n', 0, 6), uncut(b'v\r\n"a\r\nb"\r\n', 0, 4)
    (7, 4)
    """
    view = memoryview(data)
    for more in range(_TRIES):
        places = range(begin + size + more, len(view), size + more)
        if not any(view[at - 1] == 13 and view[at] == 10 for at in places):
            return size + more
    return len(view) + 1


def opened(file: BinaryIO, delimiter: str, *, whole_ends: bool = False) -> tuple[BinaryIO, bool]:
    """A file that is read once, from its header on, and whether that names one column.

    Args:
        file: Where it is read from; it need not be seekable.
        delimiter: What stands between fields.
        whole_ends: Whether no read ends between CR and LF: see `uncut`.

    Returns:
        A file of the same bytes, but blank lines before the header of one column, and whether it is one.
    """
    head = b""
    while len(head) < _MOST_HEADER_BYTES:
        part = file.read(64 << 10)
        head += part
        if not part or first_row(head) < len(head):
            break
    start = one_column_start(head, delimiter)
    rest = io.BufferedReader(_Behind(head[start or 0 :], file))
    return cast(BinaryIO, _Uncut(rest) if whole_ends else rest), start is not None


class _Behind(io.RawIOBase):
    """Bytes, and behind them a file.

    Args:
        head: The bytes.
        file: The file; it stays open.
    """

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head = memoryview(head)
        self._file = file

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill a buffer."""
        into = memoryview(cast(bytearray, buffer)).cast("B")
        data = self._head[: len(into)] if self._head else self._file.read(len(into))
        self._head = self._head[len(data) :] if self._head else self._head
        into[: len(data)] = data
        return len(data)


class _Uncut(io.RawIOBase):
    """A file of which no read ends with a CR, but the last.

    Args:
        file: The file; a read gives all that was asked for, if so much is left.
    """

    def __init__(self, file: io.BufferedReader[Any]) -> None:
        self._file = file
        self._held = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes, or fewer."""
        wanted = -1 if size is None or size < 0 else max(size, 2) - len(self._held)
        data, self._held = self._held + self._file.read(wanted), b""
        if len(data) > 1 and data.endswith(b"\r") and self._file.peek(1):
            data, self._held = data[:-1], data[-1:]
        return data
