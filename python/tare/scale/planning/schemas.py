"""The types of a text, found once when the plan is made, so that all parts have the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from tare._tare import NdjsonFinder
from tare.datasets import csv_quotes, csvstream, documents
from tare.datasets.source import Source, find
from tare.errors import Malformed, PlanError, TareError
from tare.formats.csv_rows import first_row
from tare.scale.ranges import (
    BOM,
    border,
    line_blocks,
    not_json,
    open_plain,
    packed_schema,
    row_of,
    schema_from_text,
    schema_to_text,
)
from tare.scale.unit import MAX_BYTES, canonical
from tare.scale.widening import widened

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["fitting", "layout_of_csv", "schema_of_lines"]

_ALL_BYTES = 64 << 20
_SAMPLE_BYTES = 1 << 20
_SAMPLES = 16
_HEADER_BYTES = 1 << 20
_LONGER_BYTES = 32  # that the unit of another part may be longer, by what it needs


def schema_of_lines(path: str | BinaryIO, name: str, *, whole: bool = False) -> pa.Schema:
    """The type of each name of an NDJSON file: by all of it where it is one of this machine, else by sixteen parts of 1 MiB.

    Args:
        path: The file, or its path.
        name: What to call it.
        whole: Look at every line, wherever they are, and whether or not values of a name are of one type.

    A line that is no object, or whose values are not of the types of those before it, changes nothing: the
    reader of its part refuses it with its byte, and no other part has to do with it.

    Raises:
        Malformed: No line of those that were looked at is an object.
    """
    import pyarrow as pa

    schema, fault = pa.schema([]), None
    with open_plain(path) as file:
        size = file.seek(0, 2)
        all_of_it = whole or size <= _ALL_BYTES or isinstance(path, str)
        if all_of_it and (found := _of_all(file, size)) is not None:
            return found
        for start, end in _samples(size, whole):
            first, stop = border(file, start), border(file, end)
            file.seek(first)
            block = file.read(stop - first)
            if first == 0:
                block = block.removeprefix(BOM)
            if block.strip():
                rows, wrong = _rows(name, block, first)
                schema, fault = widened(schema, rows), fault or wrong
    if not len(schema) and fault is not None:
        raise fault
    return schema


def layout_of_csv(path: str) -> dict[str, str | int] | None:
    """What every part of a CSV is read with: names, types, delimiter and where the header ends.

    The whole text is looked at, as `tare.convert` does: a type found in a sample would change what it does
    not fit, such as ``007``, without a word.

    Args:
        path: The file, with a header line.

    Returns:
        Options of a unit; None if parts do not tell what the whole text would.
    """
    import pyarrow as pa

    try:
        source = find(path, format="csv")
        found = csvstream.guess(source)
        style = found.blocks.style
        with open_plain(path) as file:
            start = file.read(_HEADER_BYTES)
    except (csv_quotes.Undecided, TareError):
        return None  # read whole: it is settled there, or the row and the byte are named
    header = first_row(start)
    if found.unsure or not found.types or not start[:header].strip() or header == len(start):
        return None
    # A part has no place for a note, nor for the loss of comment lines.
    if source.skipped or found.rows_in_value is not None:
        return None
    if not start[:header].endswith(
        b"\n"
    ):  # a lone CR: parts begin behind line feeds, so the first row would be in none
        return None
    return {
        "schema": schema_to_text(pa.schema(list(found.types.items()))),
        "delimiter": style.delimiter,
        "decimal": style.decimal,
        "header": header,
    }


def fitting(
    cut: list[tuple[dict[str, Any], str, dict[str, str | int]]], unit_of: Callable[..., dict[str, Any]]
) -> list[tuple[dict[str, Any], str, dict[str, str | int]]]:
    """The parts of a file, with their schema compressed if a unit has no room for it as it is.

    Args:
        cut: Input, name and options of each part; the options of all are the same.
        unit_of: The unit of such a part.

    Raises:
        PlanError: There is no room for it compressed either.
    """
    if not cut or "schema" not in cut[-1][2] or _fits(unit_of(*cut[-1])):
        return cut
    part, name, more = cut[-1]  # its numbers have the most digits
    packed = {**more, "schema": packed_schema(str(more["schema"]))}
    if not _fits(unit_of(part, name, packed)):
        count = len(schema_from_text(str(more["schema"])))
        raise PlanError(
            f"it cannot be cut: each part has to name its {count:,} columns with their types, which takes more "
            f"than {MAX_BYTES:,} bytes. Convert it by itself, without --split"
        )
    return [(part, name, packed) for part, name, _ in cut]


def _fits(unit: Mapping[str, Any]) -> bool:
    return len(canonical(unit)) <= MAX_BYTES - _LONGER_BYTES


def _samples(size: int, whole: bool) -> list[tuple[int, int]]:
    if whole or size <= _ALL_BYTES:
        return [(start, min(start + _SAMPLE_BYTES, size)) for start in range(0, size, _SAMPLE_BYTES)]
    step = (size - _SAMPLE_BYTES) // (_SAMPLES - 1)
    return [(k * step, k * step + _SAMPLE_BYTES) for k in range(_SAMPLES)]


def _of_all(file: BinaryIO, size: int) -> pa.Schema | None:
    """The types of all lines of a text of so many bytes; None where they are not one for each name, or a line is no object."""
    import pyarrow as pa

    finder = NdjsonFinder()
    try:
        for at, block in line_blocks(file, 0, size):
            finder.read(block if at else block.removeprefix(BOM))
            finder.take()
        found: Any = finder
        return pa.schema(found) if len(finder) else None
    except (TareError, ValueError):  # of a name with NUL, where the interface of C ends it
        return None


def _rows(name: str, block: bytes, at: int) -> tuple[list[dict[str, Any]], Malformed | None]:
    """The objects of lines, and what is wrong with the first that holds none."""
    try:
        rows = documents.parse_lines(Source(name, format="ndjson"), block)
        if all(isinstance(row, dict) for row in rows):
            return rows, None
    except TareError:
        pass
    rows, fault = [], None
    for line in block.split(b"\n"):
        if line.strip():
            try:
                rows.append(row_of(line))
            except (TareError, ValueError, RecursionError) as error:
                fault = fault or Malformed(
                    f"{name}: the line from byte {at:,} on {not_json(error, at)}", format="ndjson", offset=at
                )
        at += len(line) + 1
    return rows, fault
