"""Arrow IPC: record batches, dictionaries, metadata, and the buffers of each column."""

from __future__ import annotations

from typing import Any

from tare.datasets.source import Source
from tare.datasets.tables import arrow_errors, ends_with, random_access
from tare.errors import DecodeError
from tare.formats.columnar import check_names
from tare.frames import bytes_of
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]

_MAGIC = b"ARROW1\x00\x00"  # padded to eight bytes at the start


def look(source: Source, max_bytes: int) -> Findings:
    """Read batches up to `max_bytes`; the rest is estimated.

    Raises:
        DecodeError: It is damaged; the message says how many batches are readable, and to which byte.
    """
    try:
        return _look(source, max_bytes)
    except DecodeError as error:
        rows, batches, at = _readable(source)
        far = f"{rows:,} rows in {batches:,} record batches are readable, to byte {at:,}."
        raise type(error)(
            f"{error} {far if batches else 'No record batch of it is readable.'}",
            format=source.format,
            offset=at if error.offset is None else error.offset,
            path=source.path,
        ) from error


def _readable(source: Source) -> tuple[int, int, int]:
    """Rows and batches from the start to the first fault, and the byte where they end.

    The messages of a file are those of a stream between its two magics.
    """
    import pyarrow as pa
    from pyarrow import ipc

    rows = batches = at = 0
    with random_access(source) as file:
        file.seek(len(_MAGIC) if source.head.startswith(_MAGIC) else 0)
        try:
            for batch in ipc.open_stream(file):
                batch.validate(full=True)
                rows, batches, at = rows + batch.num_rows, batches + 1, file.tell()
        except (pa.ArrowException, OSError, ValueError):
            pass  # the fault that was told
    return rows, batches, at


def _look(source: Source, max_bytes: int) -> Findings:
    from pyarrow import ipc

    stream = not source.head.startswith(b"ARROW1")
    if not stream:
        ends_with(source, b"ARROW1", least=16)
    with arrow_errors(source, advice="Fetch or write it again."), random_access(source) as file:
        opened: Any = ipc.open_stream(file) if stream else ipc.open_file(file)
        schema = opened.schema
        check_names(schema)
        sizes, nulls = [0] * len(schema), [0] * len(schema)
        rows = seen = batches = 0
        total = None if stream else opened.num_record_batches
        for batch in opened if stream else (opened.get_batch(k) for k in range(opened.num_record_batches)):
            batches += 1
            rows += batch.num_rows
            batch.validate(full=True)  # Arrow crashes at counting what is not valid
            for k, column in enumerate(batch.columns):
                sizes[k] += bytes_of(column)
                nulls[k] += column.null_count
            seen += bytes_of(batch)
            if seen > max_bytes:
                break
        else:
            total = batches
    whole = total == batches
    scale = 1.0 if whole or not batches else (total / batches if total else source.size / max(seen, 1))
    return _findings(source, schema, (sizes, nulls), (rows, batches, total, scale), stream=stream)


def _findings(
    source: Source,
    schema: Any,
    sums: tuple[list[int], list[int]],
    counts: tuple[int, int, int | None, float],
    *,
    stream: bool,
) -> Findings:
    sizes, nulls = sums
    rows, batches, total, scale = counts
    findings = Findings(
        version="IPC stream" if stream else "IPC file (Feather 2)", kind="table", rows=round(rows * scale)
    )
    findings.columns = [
        {"name": field.name, "type": str(field.type), "nulls": round(nulls[k] * scale)}
        for k, field in enumerate(schema)
    ]
    findings.parts = [
        Part(field.name, round(sizes[k] * scale), detail=f"{field.type}") for k, field in enumerate(schema)
    ]
    inside = sum(part.bytes for part in findings.parts)
    stored = source.size if not source.compressors else None
    compressed = stored is not None and inside > stored
    if stored is not None and not compressed and scale == 1.0:
        findings.parts.append(Part("schema, batch headers, padding, footer", stored - inside))
    findings.details = {
        "record batches": total if total is not None else f"{batches}+",
        "buffers": "compressed (sizes below are in memory)" if compressed else "not compressed",
        "metadata keys": ", ".join(
            sorted(key.decode("utf-8", "replace")[:40] for key in schema.metadata or {})
        )
        or "none",
    }
    if scale != 1.0:
        findings.notes.append(f"estimated from the first {batches:,} record batches")
    return findings
