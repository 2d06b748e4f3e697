"""Parquet: what the footer says of every column, row group and encoding; no page is read."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tare import child_process
from tare.datasets.source import Source, printable
from tare.datasets.tables import arrow_errors, encrypted_ones, ends_with, random_access
from tare.errors import Malformed
from tare.formats.parquet_file import int96_paths
from tare.inspecting.findings import Findings, Part

__all__ = ["chunks", "look"]

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
    plain = source.path if source.path is not None and not source.compressors else source.read()[0]
    with (
        arrow_errors(source, advice=_NO_FOOTER),
        random_access(source) as file,
        parquet.ParquetFile(file) as opened,
    ):
        meta = opened.metadata
        findings = Findings(version=meta.format_version, kind="table", rows=meta.num_rows)
        total, groups = meta.num_row_groups, _sampled(meta)
        if groups.step > 1:
            findings.notes.append(f"sizes estimated from {len(groups):,} of {total:,} row groups")
        if paths := int96_paths(meta):
            findings.notes.append(
                f"{printable(', '.join(map(repr, paths)), 80)} of the type INT96: read in microseconds where years lie beyond 1677 to 2262"
            )
        try:
            known = child_process.ask("describe_parquet", plain)
        except Malformed as error:
            findings.columns = _columns(opened, meta, [None] * meta.num_columns)
            why = _why_not(opened)
            if "decrypt" in why:
                findings.flags.append(f"{encrypted_ones(source)} encrypted, and Tare has no keys: {why}")
            else:
                findings.damage(f"what its footer says of columns cannot be read: {why} ({error})")
            return findings
        findings.columns = _columns(opened, meta, known["nulls"])
        scale = total / max(len(groups), 1)
        findings.parts = [
            Part(
                meta.schema.column(k).path, round(known["stored"][k] * scale), round(known["plain"][k] * scale),
                ", ".join(name for name in known["encodings"][k] if name != "RLE") or "RLE",
            )
            for k in range(meta.num_columns)
        ]  # fmt: skip
        stored = sum(part.bytes for part in findings.parts)
        keys = sum(len(key) + len(value) for key, value in (meta.metadata or {}).items())
        findings.parts.append(
            Part("footer", meta.serialized_size, detail=f"of it {keys:,} bytes of key-value metadata")
        )
        plain_file = source.size if not source.compressors else None
        if plain_file is not None and groups.step == 1:
            findings.parts.append(
                Part("headers, indexes, padding", max(plain_file - stored - meta.serialized_size, 0))
            )
        encodings = Counter(name for names in known["encodings"] for name in names)
        findings.details = {
            "writer": meta.created_by or "unknown",
            "row groups": total,
            "rows in a row group": f"{meta.row_group(0).num_rows:,}" if total else "0",
            "compression": ", ".join(known["compressions"]).lower() or "none",
            "encodings": ", ".join(name for name, _ in encodings.most_common()),
            "statistics": "yes" if known["statistics"] else "no",
        }
        if meta.metadata:
            findings.details["metadata keys"] = ", ".join(
                sorted(key.decode("utf-8", "replace")[:40] for key in meta.metadata)[:8]
            )
    return findings


def chunks(file: Any) -> dict[str, Any]:
    """Returns sums over column chunks, by leaf column: asked of a process, as Arrow aborts at one that is encrypted.

    Args:
        file: An Arrow file.
    """
    from pyarrow import parquet

    meta = parquet.read_metadata(file)
    groups = _sampled(meta)
    columns = range(meta.num_columns)
    stored, plain = [0 for _ in columns], [0 for _ in columns]
    nulls: list[int | None] = [0 for _ in columns]
    used: list[dict[str, None]] = [{} for _ in columns]
    compressions: Counter[str] = Counter()
    statistics = False
    for g in groups:
        group = meta.row_group(g)
        for k in columns:
            chunk: Any = group.column(k)
            stored[k] += chunk.total_compressed_size
            plain[k] += chunk.total_uncompressed_size
            compressions[chunk.compression] += 1
            used[k].update(dict.fromkeys(chunk.encodings))
            if chunk.is_stats_set and chunk.statistics.has_null_count:
                statistics = True
                known = nulls[k]
                nulls[k] = None if known is None else known + int(chunk.statistics.null_count)
            else:
                nulls[k] = None
    return {
        "stored": stored,
        "plain": plain,
        "nulls": nulls,
        "encodings": [list(names) for names in used],
        "compressions": [name for name, _ in compressions.most_common()],
        "statistics": statistics,
    }


def _sampled(meta: Any) -> range:
    """Returns the row groups whose chunks are looked at."""
    return range(
        0, meta.num_row_groups, max(1, meta.num_row_groups * max(meta.num_columns, 1) // _MOST_CHUNKS)
    )


def _why_not(opened: Any) -> str:
    """Returns what keeps column chunks from being looked at, as reading says it."""
    try:
        next(opened.iter_batches(1), None)
    except Exception as error:  # of whatever kind: it is shown
        return printable(str(error).split("\n")[0], 160).rstrip(". ")
    return "the footer is damaged"


def _columns(opened: Any, meta: Any, nulls: list[int | None]) -> list[dict[str, Any]]:
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
                "nulls": None if nested or leaf is None else nulls[leaf],
            }
        )
    return found
