"""YAML: documents, anchors, tags, comments, bytes by kind of line."""

from __future__ import annotations

import re
from typing import Any

from tare.datasets import documents, shape
from tare.datasets.source import Source
from tare.errors import Malformed, TareError, Truncated
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]

_LOADED_BYTES = 2 << 20


def look(source: Source, max_bytes: int) -> Findings:
    """Look at the lines; a small file is loaded too, by the safe loader, for its shape."""
    data, share = source.read(max_bytes)
    lines = data.splitlines(keepends=True)
    comments = sum(len(line) for line in lines if line.lstrip().startswith(b"#"))
    indent = sum(len(line) - len(line.lstrip(b" ")) for line in lines)
    findings = Findings(kind="document")
    findings.rows = max(len(re.findall(rb"^---", data, re.MULTILINE)), 1)
    tags = sorted(
        {
            tag.decode("utf-8", "replace")[:40]
            for tag in re.findall(rb"(?:^|[:,-] |\[)(![\w!/:.<>-]*)(?=\s)", data, re.MULTILINE)
        }
    )
    findings.details = {
        "documents": findings.rows,
        "lines": f"{len(lines):,}",
        "anchors": len(re.findall(rb"(?:^|\s)&[\w-]+", data)),
        "aliases": len(re.findall(rb"(?:^|[\s\[,])\*[\w-]+", data)),
        "tags": ", ".join(tags[:8]) or "none",
    }
    findings.parts = [
        Part("content", len(data) - comments - indent),
        Part("indentation", indent),
        Part("comments", comments),
    ]
    if any("python/" in tag for tag in tags):
        findings.flags.append("names Python code in its tags: unsafe loaders would run it; Tare's does not")
    if share < 1.0:
        findings.notes.append(f"only the first {len(data):,} bytes were looked at")
    elif len(data) <= _LOADED_BYTES:
        findings.shape = _shape(source, findings)
    return findings


def _shape(source: Source, findings: Findings) -> dict[str, Any] | None:
    try:
        value, *_ = documents.load(source)
    except (Malformed, Truncated) as error:
        findings.damage(str(error))
        return None
    except TareError as error:
        findings.flags.append(str(error))
        return None
    found = shape.measure(value)
    return {"depth": found.depth, "values": found.leaves, "keys": found.keys}
