"""Lines of JSON into an array, and an array into lines: every value keeps its own text, and none becomes one of Python's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tare._tare import JsonArrayLines, json_elements
from tare.codec import Codec, codec_part
from tare.converting import line_tables
from tare.datasets.source import Source
from tare.errors import TareError
from tare.formats.csv_rows import BOM
from tare.formats.side_by_side import in_order

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NotCopied", "may_copy", "pieces", "rows_of_both"]

_FORMATS = {"json", "ndjson"}
_BLOCK_BYTES = 4 << 20


class NotCopied(Exception):
    """The text is left to who reads documents, and who says what is wrong with it."""


def may_copy(source: Source, codec: Codec, given: str | None) -> bool:
    """Returns whether a file is lines of JSON or an array, and goes into the other.

    Args:
        source: The file.
        codec: What is written.
        given: Its id as the user gave it; one that names a library or a setting is to be written by that.
    """
    plain = given is None or codec_part(given) in _FORMATS
    return plain and {source.format, codec.format_id} == _FORMATS and line_tables.may_read(source)


def pieces(source: Source, codec: Codec) -> Iterator[tuple[bytes, int]]:
    r"""Yields pieces of the text that a file becomes, and how many values each has.

    Args:
        source: The file.
        codec: What is written: JSON or NDJSON.

    Raises:
        NotCopied: It is no JSON, or no array, or has no values; only known when the last was yielded.
        OSError: As the operating system says.

    >>> from tare.codec import Codec
    >>> lines = Source("a", data=b'{"a": 1.50}\n{"b": []}\n', format="ndjson")
    >>> b"".join(piece for piece, _ in pieces(lines, Codec.parse("json")))
    b'[{"a":1.50},{"b":[]}]'
    """
    array = codec.format_id == "json"
    lines = line_tables.blocks(source, _BLOCK_BYTES) if array else _lines(source)
    count = 0
    try:
        for text, number in in_order(lines, partial(json_elements, separator=b"," if array else b"\n")):
            if not number:
                continue
            if array:
                yield b"," if count else b"[", 0
            yield text, number
            if not array:
                yield b"\n", 0
            count += number
    except TareError:
        raise NotCopied from None
    if not count:
        raise NotCopied
    if array:
        yield b"]", 0


def rows_of_both(source: Source, result: Source) -> pa.Table:
    """Returns the rows of two files of JSON that are the same table.

    Raises:
        NotCopied: One of them is no table, or they are not the same.
    """
    first, second = line_tables.table_of(source), line_tables.table_of(result)
    if first is None or second is None or not first[0].equals(second[0]) or first[1] != second[1]:
        raise NotCopied
    return first[0]


def _lines(source: Source) -> Iterator[bytes]:
    """The elements of an array, a line each."""
    array, first = JsonArrayLines(), True
    for step in source.steps(_BLOCK_BYTES):
        if lines := array.pass_over(step.removeprefix(BOM) if first else step):
            yield lines
        first = False
    array.end()
