"""Readers of files by other libraries than those by which Tare reads them."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from values import Stamp, canonical, column_values, parse_stamp

__all__ = ["Cells", "Table", "is_own", "most_rows", "read_again", "stored", "table_of", "table_of_rows"]

# Of a larger file the first rows are compared, and the others counted.
_WHOLE_BYTES = 64 << 20
_ROWS = 4000
# By which Tare itself reads a format: what they say of a source proves nothing of its reading.
_OWN = frozenset({("avro", "fastavro"), ("yaml", "pyyaml"), ("orc", "tare")})
_DELIMITERS = ",;\t|"


@dataclass
class Table:
    """Columns with their values.

    Attributes:
        rows: How many rows there are.
        columns: Names and values, of a large file those of the first rows.
    """

    rows: int
    columns: list[tuple[str, list[Any]]] = field(default_factory=list)


@dataclass
class Cells:
    """The cells of a text, as texts; the first row may have names.

    Attributes:
        rows: All rows.
    """

    rows: list[list[str]]


def most_rows(path: Path) -> int | None:
    """Return how many rows of a file are compared; None if all are."""
    return None if path.stat().st_size < _WHOLE_BYTES else _ROWS


def is_own(kind: str, name: str) -> bool:
    """Return whether a reader is the library by which Tare reads a format."""
    return (kind, name) in _OWN


def table_of(table: pa.Table, most: int | None = None) -> Table:
    """Return an Arrow table, or so many of its first rows."""
    part = table.slice(0, most)
    columns = [(name, part.column(at)) for at, name in enumerate(table.column_names)]
    return Table(table.num_rows, [(name, column_values(column)) for name, column in columns])


def stored(path: Path) -> bytes:
    """Return the bytes of a file, decompressed."""
    data = path.read_bytes()
    for magic, decompress in (
        (b"\x1f\x8b", gzip.decompress),
        (b"BZh", bz2.decompress),
        (b"\xfd7zXZ", lzma.decompress),
    ):
        if data.startswith(magic):
            return decompress(data)
    return data


def read_again(kind: str, path: Path, expected: Path | None = None) -> Iterator[tuple[str, Any]]:
    """Yield what each other library reads, until one has no more.

    Args:
        kind: The format.
        path: The file.
        expected: What a file has beside it, where its makers wrote down what it holds.

    Yields:
        The library, and a `Table`, `Cells` or a document. What a library cannot read, it does not yield.
    """
    readers: dict[str, dict[str, Callable[[Path], Any]]] = {
        "arrow": {"polars": _arrow},
        "avro": {"polars": _avro, "fastavro": _fastavro},
        "csv": {"csv": _cells},
        "json": {"json": _json},
        "msgpack": {"msgpack": _msgpack},
        "ndjson": {"json": _lines},
        "orc": {},
        "parquet": {"duckdb": _duckdb, "polars": _polars},
        "yaml": {"ruamel": _ruamel, "pyyaml": _pyyaml},
    }
    if expected is not None:
        yield "expected", _expected(expected)
    for name, read in readers.get(kind, {}).items():
        try:
            value = read(path)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException:
            continue
        yield name, value


def _arrow(path: Path) -> Table:
    import polars as pl

    data = stored(path)
    frame = (
        pl.read_ipc(io.BytesIO(data)) if data.startswith(b"ARROW1") else pl.read_ipc_stream(io.BytesIO(data))
    )
    return table_of(frame.to_arrow(), most_rows(path))


def _avro(path: Path) -> Table:
    import polars as pl

    return table_of(pl.read_avro(io.BytesIO(stored(path))).to_arrow(), most_rows(path))


def _fastavro(path: Path) -> Table:
    import fastavro

    rows = list(fastavro.reader(io.BytesIO(stored(path))))
    return table_of_rows(rows, most_rows(path))


def table_of_rows(rows: list[Any], most: int | None) -> Table:
    """Return the table of records; what a record lacks is None.

    Args:
        rows: The records.
        most: How many of the first ones it has; all for None.

    Raises:
        TypeError: One of them is not a record.
    """
    names: dict[str, None] = {}
    for row in rows:
        if not isinstance(row, dict):
            raise TypeError(f"expected records, got {type(row).__name__}")
        names.update(dict.fromkeys(row))
    part = rows[:most]
    return Table(len(rows), [(name, [canonical(row.get(name)) for row in part]) for name in names])


def _duckdb(path: Path) -> Table:
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone='UTC'")
        found = connection.execute("SELECT * FROM read_parquet(?, hive_partitioning=false)", [str(path)])
        table = found.to_arrow_table() if hasattr(found, "to_arrow_table") else found.fetch_arrow_table()
    return table_of(table, most_rows(path))


def _polars(path: Path) -> Table:
    import polars as pl

    return table_of(
        pl.read_parquet(io.BytesIO(stored(path)), use_statistics=False).to_arrow(), most_rows(path)
    )


def _cells(path: Path) -> Cells:
    text = stored(path)
    for encoding in ("utf-16", "utf-8-sig", "cp1252", "latin-1"):
        if encoding == "utf-16" and not text.startswith((b"\xff\xfe", b"\xfe\xff")):
            continue
        try:
            decoded = text.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    delimiter = _delimiter(decoded, path)
    csv.field_size_limit(1 << 30)
    rows = list(csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter))
    # Empty lines are skipped, except where rows have one cell.
    one = bool(rows) and len(rows[0]) == 1
    return Cells([row or [""] for row in rows if row or one])


def _delimiter(text: str, path: Path) -> str:
    """Return the delimiter by which the first lines have most fields, all of them as many."""
    if ".tsv" in path.name.lower() or path.name.lower().endswith(".tab"):
        return "\t"
    best, most = ",", 1
    head = text[: 1 << 16]
    head = head[: head.rfind("\n") + 1] or text
    for delimiter in _DELIMITERS:
        rows = [row for row in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter) if row][:50]
        widths = {len(row) for row in rows}
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = delimiter, width
    return best


def _json(path: Path) -> Any:
    return canonical(json.loads(stored(path)))


def _lines(path: Path) -> Any:
    text = stored(path).decode("utf-8-sig")
    try:
        rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    except ValueError:
        rows = list(_on_end(text))
    try:
        return table_of_rows(rows, most_rows(path))
    except TypeError:
        return canonical(rows)


def _expected(path: Path) -> Any:
    """Read what ORC's own tool writes: moments as texts with a space within, and any number of digits."""
    read = _lines(path)
    if not isinstance(read, Table):
        return read
    return Table(read.rows, [(name, [_moment(value) for value in values]) for name, values in read.columns])


def _moment(value: Any) -> Any:
    moment = parse_stamp(value) if isinstance(value, str) else None
    return value if moment is None else Stamp(moment)


def _on_end(text: str) -> Iterator[Any]:
    """Yield values that stand one behind the other, of any number of lines each."""
    decoder, rest = json.JSONDecoder(), text.lstrip()
    while rest:
        value, end = decoder.raw_decode(rest)
        yield value
        rest = rest[end:].lstrip()


def _msgpack(path: Path) -> Any:
    import msgpack

    return canonical(msgpack.unpackb(path.read_bytes(), strict_map_key=False))


def _ruamel(path: Path) -> Any:
    from ruamel.yaml import YAML

    return _one_or_all(list(YAML(typ="safe", pure=True).load_all(stored(path).decode("utf-8-sig"))))


def _pyyaml(path: Path) -> Any:
    import yaml

    return _one_or_all(list(yaml.load_all(stored(path), Loader=yaml.SafeLoader)))


def _one_or_all(documents: list[Any]) -> Any:
    return canonical(documents[0] if len(documents) == 1 else documents)
