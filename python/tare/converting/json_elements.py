"""Lines of JSON into an array, and an array into lines: every value keeps its own text, and none becomes one of Python's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from tare._tare import JsonArrayLines, json_elements
from tare.codec import Codec, codec_part
from tare.converting import changes, line_tables
from tare.converting.second_reading import Request, SecondReading, read_again
from tare.datasets import json_check, repeats
from tare.datasets.source import Source, find
from tare.errors import EncodeError, TareError
from tare.formats.csv_rows import BOM
from tare.formats.side_by_side import in_order

__all__ = ["NotCopied", "may_copy", "pieces", "read_back", "refuse_non_finite", "repeated_note"]

_FORMATS = {"json", "ndjson"}
_BLOCK_BYTES = 4 << 20
# From which on documents, which are many times as large, are not made to tell of a loss.
_LARGE_BYTES = 16 << 20


class NotCopied(Exception):
    """The text is left to who reads documents, and who says what is wrong with it."""


def may_copy(source: Source, codec: Codec, given: str | None) -> bool:
    """Returns whether a file is lines of JSON or an array, and goes into the other.

    Args:
        source: The file.
        codec: What is written.
        given: Its id as the user gave it; one that names a library or a setting is to be written by that.
    """
    plain = given is None or codec_part(given).partition("+")[0] in _FORMATS
    return plain and {source.format, codec.format_id} == _FORMATS and line_tables.may_read(source)


def pieces(source: Source, codec: Codec) -> Iterator[tuple[bytes, int]]:
    r"""Yields pieces of the text that a file becomes, and how many values each has.

    Args:
        source: The file.
        codec: What is written: JSON or NDJSON.

    Raises:
        NotCopied: The source is invalid JSON, not an array, or empty; known only after the last piece.
        OSError: As the operating system says.

    >>> from tare.codec import Codec
    >>> lines = Source("a", data=b'{"a": 1.50}\n{"b": []}\n', format="ndjson")
    >>> b"".join(piece for piece, _ in pieces(lines, Codec.parse("json")))
    b'[{"a":1.50},{"b":[]}]'
    """
    first, between, last = (b"[", b",", b"]") if codec.format_id == "json" else (b"", b"\n", b"\n")
    count = 0
    for text, number in _compact(source, between):
        yield between if count else first, 0
        yield text, number
        count += number
    if not count:
        raise NotCopied
    yield last, 0


def read_back(source: Source, codec: Codec, text: bytes, *, thorough: bool) -> SecondReading | None:
    """Returns what another library reads of a result; None if its values have another text than the source's.

    Args:
        source: The file.
        codec: What was written: JSON or NDJSON.
        text: What was written.
        thorough: As of `Request`.
    """
    result = find(text, format=codec.format_id, name="the result")
    first, second = (b"\n".join(text for text, _ in _compact(one, b"\n")) for one in (source, result))
    if first != second:
        return None
    value = _value_of(source)
    if value is None:
        return SecondReading(why="Python's types do not hold its values")
    return read_again(Request(result, value, thorough=thorough))


def _value_of(source: Source) -> Any:
    """The values of a file: a table if its objects are one, else a document; None if Python's types do not hold them."""
    found = line_tables.table_of(source)
    if found is not None:
        return found[0]
    from tare.datasets import documents

    try:
        return documents.load(replace(source, notes=[]))[0]
    except TareError:
        return None


def refuse_non_finite(source: Source, codec: Codec) -> None:
    """Refuses a large file for its first NaN or infinity, which JSON has not, in the memory of a block; else it is left to others.

    Args:
        source: The file.
        codec: What is written: JSON or NDJSON.

    Raises:
        EncodeError: There is one, and all before it is JSON.
        OSError: As the operating system says.
    """
    if source.size < _LARGE_BYTES:
        return
    lines = line_tables.blocks(source, _BLOCK_BYTES) if source.format == "ndjson" else _cut(source)
    try:
        for block in lines:
            values = json_check.odd_values(block)
            if values is None:  # invalid JSON, which reading it as documents reports
                return
            for value in values:
                changes.allowed(
                    changes.non_finite_losses(codec, [value], "document"), codec, allow_loss=False
                )
    except EncodeError:
        raise
    except TareError:
        return


def repeated_note(source: Source) -> str:
    """Returns what to say of names that stand twice in one object; empty if there are none."""
    said = repeats.told(source.read()[0], lines=source.format == "ndjson")
    return said.replace(repeats.KEPT, "all of its values are kept, and most readers take the last")


def _compact(source: Source, between: bytes) -> Iterator[tuple[bytes, int]]:
    """The values without white space around their tokens, some at a time with this between them, and how many."""
    lines = line_tables.blocks(source, _BLOCK_BYTES) if source.format == "ndjson" else _cut(source)
    try:
        for text, number in in_order(lines, partial(json_elements, separator=between)):
            if number:
                yield text, number
    except TareError:
        raise NotCopied from None


def _cut(source: Source) -> Iterator[bytes]:
    """The elements of an array, a line each."""
    array, first = JsonArrayLines(), True
    for step in source.steps(_BLOCK_BYTES):
        if lines := array.pass_over(step.removeprefix(BOM) if first else step):
            yield lines
        first = False
    array.end()
