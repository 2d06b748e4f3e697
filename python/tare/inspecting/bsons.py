"""BSON: documents on end, told apart by their lengths."""

from __future__ import annotations

from tare.datasets.source import Source
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]


def look(source: Source, max_bytes: int) -> Findings:
    """Walk the lengths (https://bsonspec.org: a little-endian int32, then the document)."""
    data, share = source.read(max_bytes)
    at = count = largest = 0
    findings = Findings(kind="document")
    while at + 5 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little", signed=True)
        if size < 5 or at + size > len(data) or data[at + size - 1] != 0:
            if share == 1.0:
                findings.damage(f"no whole document at byte {at:,}: cut or damaged")
            break
        at += size
        count += 1
        largest = max(largest, size)
    findings.rows = count
    findings.parts = [Part("documents", at, detail=f"{count:,}, the largest {largest:,} bytes")]
    if share < 1.0:
        findings.notes.append(f"only the first {len(data):,} bytes were looked at")
    return findings
