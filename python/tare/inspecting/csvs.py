"""CSV: delimiter, quoting, line ends, types as they would be read, bytes in each column."""

from __future__ import annotations

from typing import Any

from tare.datasets import csv_surprises, csvs
from tare.datasets.csv_dialect import Dialect
from tare.datasets.source import Source
from tare.errors import Limit
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]

_SAMPLE_BYTES = 16 << 20
_NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "pipe"}


def look(source: Source, max_bytes: int) -> Findings:
    """Read the first rows closely; rows beyond them are counted as lines or estimated.

    Raises:
        Limit: Not one row ends among so many bytes.
        TareError: As `csvs.parse`.
    """
    data, share = source.read(min(_SAMPLE_BYTES, max_bytes))
    data = csvs.text_of(source, data, None, final=share == 1.0)
    notes = len(source.notes)
    style = csvs.settled(source, data, final=share == 1.0)
    if share < 1.0:
        whole = csvs.last_row(data, style)
        if not whole:
            raise source.error(Limit, f"its first line is longer than {len(data):,} bytes", offset=0)
        data = data[:whole]
    table = csvs.parse(source, data, style)
    csv_surprises.note_surprises(source, data, table.schema, style)
    findings = Findings(kind="table", notes=source.notes[notes:])
    scale = 1.0 if share == 1.0 else _plain_bytes(source, max_bytes) / len(data)
    findings.rows = round(table.num_rows * scale)
    lengths = _lengths(source, data, style, table.column_names)
    findings.columns = [
        {"name": field.name, "type": str(field.type), "nulls": round(table.column(k).null_count * scale)}
        for k, field in enumerate(table.schema)
    ]
    findings.parts = [
        Part(name, round(size * scale), detail=str(table.schema.field(k).type))
        for k, (name, size) in enumerate(lengths)
    ]
    rest = len(data) - sum(size for _, size in lengths)
    findings.parts.append(Part("delimiters, quotes, line ends, names", round(max(rest, 0) * scale)))
    findings.details = {
        "delimiter": _NAMES.get(style.delimiter, style.delimiter),
        "quoted fields": "yes" if style.quoted else "no",
        "line ends": "CRLF" if b"\r\n" in data[:65536] else "LF" if b"\n" in data else "CR",
        "decimal point": style.decimal,
    }
    if share < 1.0:
        findings.notes.append(f"estimated from the first {len(data):,} bytes")
    return findings


def _plain_bytes(source: Source, max_bytes: int) -> float:
    """Size of the whole text: known, counted up to `max_bytes`, or judged by how far the stored bytes went."""
    if not source.compressors:
        return source.size
    data, share = source.read(max_bytes)
    return len(data) / share


def _lengths(source: Source, data: bytes, style: Dialect, names: list[str]) -> list[tuple[str, int]]:
    """Bytes of the fields of each column, missing values counted as empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types: dict[str, Any] = dict.fromkeys(names, pa.string())
    table = csvs.read(source, data, style, types)
    return [
        (name, pc.sum(pc.binary_length(table.column(k))).as_py() or 0)
        for k, name in enumerate(table.column_names)
    ]
