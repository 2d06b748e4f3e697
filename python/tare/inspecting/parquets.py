"""Parquet: what the footer says of every column, row group and encoding; no page is read."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tare.datasets.source import Source, printable
from tare.datasets.tables import arrow_errors, ends_with, random_access
from tare.formats.parquet_file import int96_paths
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]

# Column chunks looked at one by one; beyond, row groups are sampled.
_MOST_CHUNKS = 60_000
_NO_FOOTER = "Without the footer at its end no part of it can be read: fetch or write it again."


def look(source: Source, max_bytes: int) -> Findings:
    """Read the footer.

    Raises:
        Truncated, Malformed: It is missing or damaged; then nothing can be read.
    """
    from pyarrow import parquet

    ends_with(source, b"PAR1", least=12, advice=_NO_FOOTER)
    with (
        arrow_errors(source, advice=_NO_FOOTER),
        random_access(source) as file,
        parquet.ParquetFile(file) as opened,
    ):
        meta = opened.metadata
        findings = Findings(version=meta.format_version, kind="table", rows=meta.num_rows)
        total = meta.num_row_groups
        step = max(1, total * max(meta.num_columns, 1) // _MOST_CHUNKS)
        groups = range(0, total, step)
        if step > 1:
            findings.notes.append(f"sizes estimated from {len(groups):,} of {total:,} row groups")
        if paths := int96_paths(meta):
            findings.notes.append(
                f"{printable(', '.join(paths), 80)}: INT96; read in microseconds where years lie beyond 1677 to 2262"
            )
        chunks = _Chunks(meta, groups, total / max(len(groups), 1))
        findings.columns = _columns(opened, meta, chunks)
        findings.parts = chunks.parts
        stored = sum(part.bytes for part in chunks.parts)
        keys = sum(len(key) + len(value) for key, value in (meta.metadata or {}).items())
        findings.parts.append(
            Part("footer", meta.serialized_size, detail=f"of it {keys:,} bytes of key-value metadata")
        )
        plain_file = source.size if not source.compressors else None
        if plain_file is not None and step == 1:
            findings.parts.append(
                Part("headers, indexes, padding", max(plain_file - stored - meta.serialized_size, 0))
            )
        findings.details = {
            "writer": meta.created_by or "unknown",
            "row groups": total,
            "rows in a row group": f"{meta.row_group(0).num_rows:,}" if total else "0",
            "compression": ", ".join(f"{name.lower()}" for name, _ in chunks.compressions.most_common())
            or "none",
            "encodings": ", ".join(name for name, _ in chunks.encodings.most_common()),
            "statistics": "yes" if chunks.statistics else "no",
        }
        if meta.metadata:
            findings.details["metadata keys"] = ", ".join(
                sorted(key.decode("utf-8", "replace")[:40] for key in meta.metadata)[:8]
            )
    return findings


class _Chunks:
    """Sums over column chunks, by leaf column."""

    def __init__(self, meta: Any, groups: range, scale: float) -> None:
        self.compressions: Counter[str] = Counter()
        self.encodings: Counter[str] = Counter()
        self.statistics = False
        stored, plain = [0] * meta.num_columns, [0] * meta.num_columns
        self.nulls: list[int | None] = [0 for _ in range(meta.num_columns)]
        used: list[dict[str, None]] = [{} for _ in range(meta.num_columns)]
        for g in groups:
            group = meta.row_group(g)
            for k in range(meta.num_columns):
                chunk = group.column(k)
                stored[k] += chunk.total_compressed_size
                plain[k] += chunk.total_uncompressed_size
                self.compressions[chunk.compression] += 1
                used[k].update(dict.fromkeys(chunk.encodings))
                self._nulls(k, chunk)
        for names in used:
            self.encodings.update(names.keys())
        self.parts = [
            Part(
                meta.schema.column(k).path, round(stored[k] * scale), round(plain[k] * scale),
                ", ".join(name for name in used[k] if name != "RLE") or "RLE",
            )
            for k in range(meta.num_columns)
        ]  # fmt: skip

    def _nulls(self, k: int, chunk: Any) -> None:
        if chunk.is_stats_set and chunk.statistics.has_null_count:
            self.statistics = True
            known = self.nulls[k]
            if known is not None:
                self.nulls[k] = known + int(chunk.statistics.null_count)
        else:
            self.nulls[k] = None


def _columns(opened: Any, meta: Any, chunks: _Chunks) -> list[dict[str, Any]]:
    first: dict[str, int] = {}
    for k in range(meta.num_columns):
        first.setdefault(meta.schema.column(k).path.partition(".")[0], k)
    found = []
    for field in opened.schema_arrow:
        leaf = first.get(field.name)
        nested = field.type.num_fields > 0
        found.append(
            {
                "name": field.name,
                "type": str(field.type),
                "nulls": None if nested or leaf is None else chunks.nulls[leaf],
            }
        )
    return found
