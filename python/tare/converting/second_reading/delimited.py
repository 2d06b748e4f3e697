"""CSV by the standard library or, of larger texts whose rows are not lines, by polars: fields as texts, beside the values that were made of them."""

from __future__ import annotations

import csv
import datetime as dt
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from itertools import chain
from typing import TYPE_CHECKING, Any

from tare._tare import lines_of_rows, row_end
from tare.bare_arrays import python_values
from tare.converting.second_reading.outcome import (
    Difference,
    Request,
    SecondReading,
    may_load,
    numbered,
    sampled,
)
from tare.converting.second_reading.time_units import in_unit_of
from tare.datasets import csvs, recognise
from tare.datasets.csv_dialect import dialect
from tare.datasets.source import printable
from tare.fidelity.comparison import show
from tare.formats.csv_rows import BOM

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.datasets.csv_dialect import Dialect
    from tare.datasets.source import Source

__all__ = ["read_csv"]

OWN = "Python's csv"
# Texts up to here are read by the standard library, and of longer ones as much, where there is nothing quicker.
_PLAIN_BYTES = 1 << 20
_NEAR_BYTES, _STEP_BYTES, _LONGEST_ROW_BYTES = 1 << 14, 1 << 20, 64 << 20
_TRUE, _FALSE = frozenset({"1", "true", "True", "TRUE"}), frozenset({"0", "false", "False", "FALSE"})
_Blocks = list[tuple[int, int]]
# The fields of some blocks of rows, by column, and the number of all rows; None if it is not known.
_Texts = tuple[list[list[str | None]], int | None]


def read_csv(request: Request) -> SecondReading:
    """Reads a CSV by another reader, which gives texts, and judges the values that the first made of them.

    What polars reads differently the standard library has to, too: it decides.
    """
    table: pa.Table = request.value
    source = replace(request.source, notes=[])
    if not table.num_columns:
        return SecondReading(why="it has no columns")
    blocks = sampled(table.num_rows, table.num_columns)
    plain = request.encoding is None and recognise.encoding_of(source.head[:4]) in (None, "utf-8-sig")
    try:
        large = source.size > _PLAIN_BYTES or bool(source.compressors)
        if plain and large and (lines := _by_lines(source, blocks)) is not None:
            return _judged(OWN, request, lines[0], blocks, lines[1])
    except csv.Error:
        return SecondReading(why=f"{OWN} does not read it")
    data = source.read()[0]
    if not plain:
        data = csvs.text_of(source, data, request.encoding, final=True)
    data = data.removeprefix(BOM)
    style = csvs.settled(source, data)
    names, _ = may_load(request, "polars")
    names = [] if style.escaped else names  # polars knows no escapes
    if len(data) > _PLAIN_BYTES and names:
        try:
            found = _judged("polars", request, style, blocks, _by_polars(data, style, blocks))
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException:  # it panics, and has errors of its own
            found = None
        if found is not None and found.difference is None:
            return found
    elif len(data) > _PLAIN_BYTES:
        data = data[: csvs.last_row(data[:_PLAIN_BYTES], style)]
        blocks = [(0, min(table.num_rows, data.count(b"\n")))]  # no fewer than its rows
    try:
        texts = _by_python(data, style, blocks, whole=len(data) > _PLAIN_BYTES or bool(names))
        return _judged(OWN, request, style, blocks, texts)
    except csv.Error:  # such as a field that is longer than it takes
        return SecondReading(why=f"{OWN} does not read it")


# --- the readers ------------------------------------------------------------------------------


def _by_polars(data: bytes, style: Dialect, blocks: _Blocks) -> _Texts:
    import polars as pl

    lazy = pl.scan_csv(
        BytesIO(data),
        separator=style.delimiter,
        quote_char=None if style.literal else '"',
        infer_schema=False,
        raise_if_empty=False,
    )
    parts = [lazy.slice(start, end - start).collect() for start, end in blocks]
    whole = pl.concat(parts) if parts else lazy.head(0).collect()
    return [column.to_list() for column in whole.get_columns()], int(lazy.select(pl.len()).collect().item())


def _by_lines(source: Source, blocks: _Blocks) -> tuple[Dialect, _Texts] | None:
    """Returns the dialect of a text and the fields of some rows, if each line is a row; None otherwise.

    Reads the text once, a step at a time, and keeps only those rows.
    """
    style = dialect(source.head.removeprefix(BOM), source.delimiter)
    if style.one:
        return None
    parts: list[bytes] = []
    rest, row = b"", -1  # the header's
    for step in chain(source.steps(_STEP_BYTES), [b""]):
        text = rest + step
        end = row_end(text) if step else len(text)
        rest = text[end:]
        if len(rest) > _LONGEST_ROW_BYTES:
            return None
        if not end:
            continue
        piece = text[:end]
        if row < 0:
            piece = piece.removeprefix(BOM)
        lines = lines_of_rows(piece, ord(style.delimiter))
        if lines is None:
            return None
        at, before = 0, row
        for first, last in [(-1, 0), *blocks]:
            first, last = max(first, row), min(last, row + lines)  # noqa: PLW2901
            if first < last:
                at = _past_lines(piece, at, first - before)
                begin, at = at, _past_lines(piece, at, last - first)
                before = last
                parts.append(piece[begin:at])
        row += lines
    rows = sum(last - first for first, last in blocks)
    columns, read = _by_python(b"".join(parts), style, [(0, rows)], whole=True)
    if read != min(rows, row):
        raise csv.Error("rows of several lines")
    return style, (columns, row)


def _past_lines(data: bytes, at: int, count: int) -> int:
    """Returns where so many lines end behind a place."""
    while (
        count and (ends := data.count(b"\n", at, at + _NEAR_BYTES)) < count and at + _NEAR_BYTES < len(data)
    ):
        at, count = at + _NEAR_BYTES, count - ends
    for _ in range(count):
        at = data.find(b"\n", at) + 1 or len(data)
    return at


def _by_python(data: bytes, style: Dialect, blocks: _Blocks, *, whole: bool) -> _Texts:
    text = TextIOWrapper(BytesIO(data), "utf-8-sig", newline="")
    lines = csv.reader(
        text,
        delimiter=style.delimiter,
        quoting=csv.QUOTE_NONE if style.literal else csv.QUOTE_MINIMAL,
        escapechar="\\" if style.escaped else None,
    )
    header = next(filter(None, lines), [])
    chosen, last = iter(blocks), 0
    start, end = next(chosen, (0, 0))
    kept: list[list[str]] = []
    for number, row in enumerate(_rows_of(lines, len(header))):
        last = number + 1
        if number >= end:
            start, end = next(chosen, (0, 0))
        if start <= number < end:
            kept.append(row)
        elif not end and not whole:
            break
    columns: list[list[str | None]] = [[] for _ in header]
    for row in kept:
        if len(row) != len(header):
            raise csv.Error("rows of several lengths")
    if kept:
        columns = [list(column) for column in zip(*kept, strict=True)]
    return columns, last if whole else None


def _rows_of(lines: Iterator[list[str]], fields: int) -> Iterator[list[str]]:
    """The rows: a blank line is one where there is one column, and none of them elsewhere."""
    return (row or [""] for row in lines) if fields == 1 else filter(None, lines)


# --- the judgement ----------------------------------------------------------------------------


def _judged(name: str, request: Request, style: Dialect, blocks: _Blocks, texts: _Texts) -> SecondReading:
    """What is said of the texts that a reader gave."""
    import pyarrow as pa

    table, (fields, total) = request.value, texts
    rows = list(numbered(blocks))
    if total is None:
        rows = rows[: len(fields[0])] if fields else []
    if total is not None and total != table.num_rows:
        difference = Difference("the number of rows", f"{table.num_rows:,}", f"{total:,}")
        return SecondReading(name, "", len(rows), table.num_rows, difference)
    places = _places(request, style, len(fields))
    if places is None:
        return SecondReading(why=f"{name} reads other columns of it")
    parts = [table.slice(start, end - start) for start, end in blocks]
    own = pa.concat_tables(parts) if parts else table.slice(0, 0)
    for at, place in enumerate(places):
        cells, found = own.column(at).slice(0, len(rows)), fields[place]
        wrong = _first_wrong(cells, found, style.decimal)
        if wrong is not None:
            place_ = f"column {printable(table.column_names[at])!r}, row {rows[wrong] + 1:,}"
            value, text = show(cells[wrong].as_py()), show(found[wrong])
            return SecondReading(name, "", len(rows), table.num_rows, Difference(place_, value, text))
    return SecondReading(name, "", len(rows), table.num_rows)


def _places(request: Request, style: Dialect, fields: int) -> list[int] | None:
    """Where the columns of the table stand in the text; None if that cannot be said."""
    names: list[str] = request.value.column_names
    if request.columns is None:
        return list(range(fields)) if fields == len(names) else None
    source = request.source
    text = recognise.as_utf8(source.head, request.encoding)
    text = text if source.skipped else text.removeprefix(source.above)
    head = TextIOWrapper(BytesIO(text), "utf-8-sig", errors="replace", newline="")
    header = next(filter(None, csv.reader(head, delimiter=style.delimiter)), [])
    if len(header) != fields or len(set(names)) != len(names) or len(set(header)) != len(header):
        return None
    try:
        return [header.index(name) for name in names]
    except ValueError:
        return None


def _first_wrong(cells: Any, texts: list[str | None], decimal: str) -> int | None:
    """The place of the first cell whose text means another value; None if there is none."""
    import pyarrow as pa

    kind = cells.type
    if (pa.types.is_timestamp(kind) or pa.types.is_time64(kind)) and kind.unit == "ns":
        kind = pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.time64("us")
        parts = [in_unit_of(part, kind) for part in getattr(cells, "chunks", [cells])]
        cells = pa.chunked_array(parts, kind)
    meaning = _meaning(kind, decimal)
    if meaning is None:
        return None
    values = python_values(cells)
    try:
        if values == list(map(meaning, texts)):  # type: ignore[arg-type]
            return None
    except (TypeError, ValueError, AttributeError):
        pass  # a missing value, or one that only a closer look compares
    for at, (value, text) in enumerate(zip(values, texts, strict=False)):
        if not _means(text, value, meaning, temporal=bool(pa.types.is_temporal(kind))):
            return at
    return None


def _means(text: str | None, value: Any, meaning: Callable[[str], Any], *, temporal: bool) -> bool:
    """Returns whether a text stands for a value; one that only the first reader can parse is taken as right."""
    if value is None:
        return text is None or text.strip() in csvs.MISSING
    if text is None:
        return bool(value == "")
    try:
        found = meaning(text)
    except ValueError:
        return temporal
    if isinstance(value, dt.datetime) and (found.tzinfo is None) != (value.tzinfo is None):
        return True  # a zone that the column has, and its texts have not
    return bool(found == value) or (isinstance(value, float) and math.isnan(value) and math.isnan(found))


def _meaning(kind: Any, decimal: str) -> Callable[[str], Any] | None:
    """Returns what makes a value of a text, for a type; None for those that are not compared."""
    import pyarrow as pa

    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return str
    if types.is_null(kind):
        return str
    if types.is_integer(kind):
        return int
    if types.is_floating(kind):
        return float if decimal == "." else lambda text: float(text.replace(decimal, "."))
    if types.is_boolean(kind):
        return _truth
    if types.is_timestamp(kind):
        return _moment
    if types.is_date32(kind):
        return dt.date.fromisoformat
    return dt.time.fromisoformat if types.is_time(kind) else None


def _truth(text: str) -> bool:
    word = text.strip()
    if word not in _TRUE and word not in _FALSE:
        raise ValueError(word)
    return word in _TRUE


def _moment(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text.strip())
    return moment if moment.tzinfo is None else moment.astimezone(dt.UTC)
