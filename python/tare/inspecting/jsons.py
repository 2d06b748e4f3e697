"""JSON and NDJSON: bytes in keys, strings, numbers, structure and white space; depth; counts."""

from __future__ import annotations

from collections.abc import Iterator

from tare.datasets import jsonscan
from tare.datasets.source import Source
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]


def look(source: Source, max_bytes: int) -> Findings:
    """Pass over the text once, in bounded memory; up to `max_bytes` of it."""
    lines = _Lines()
    found = jsonscan.scan(lines.count(source, max_bytes))
    stream = source.format == "ndjson"
    # Of a large plain file the rest is taken to be like its beginning.
    scale = source.size / found.length if lines.cut and not source.compressors else 1.0
    findings = Findings(kind="document", rows=round(lines.values * scale) if stream else None)
    first = (source.head.lstrip() or b" ")[0]
    findings.shape = {
        "depth": found.depth,
        "values": round(found.values * scale),
        "keys": round(found.key_count * scale),
        "top": "values on lines" if stream else {0x5B: "array", 0x7B: "object"}.get(first, "value"),
    }
    counts = (
        ("strings", found.strings), ("keys", found.keys), ("numbers", found.numbers), ("true, false, null", found.words),
        ("brackets, commas, colons", found.structure), ("white space", found.space),
    )  # fmt: skip
    findings.parts = [Part(what, round(size * scale)) for what, size in counts]
    if lines.cut:
        what = "estimated from" if scale > 1 else "counted in"
        findings.notes.append(f"{what} the first {found.length:,} bytes")
    elif found.open_levels or found.in_string:
        inside = "a string" if found.in_string else f"{found.open_levels:,} open arrays or objects"
        findings.flags.append(f"ends inside {inside}: the file was cut")
    if found.depth > 254:
        findings.flags.append(f"nested {found.depth:,} levels deep: many libraries refuse it")
    return findings


class _Lines:
    """Counts the values on lines while the text passes by."""

    def __init__(self) -> None:
        self.values = 0
        self.cut = False

    def count(self, source: Source, max_bytes: int) -> Iterator[bytes]:
        seen = 0
        rest = b""
        for step in source.steps():
            part = step[: max_bytes - seen]
            lines = (rest + part).split(b"\n")
            rest = lines.pop()[:64]
            self.values += sum(1 for line in lines if line.strip())
            seen += len(part)
            yield part
            if seen >= max_bytes:
                self.cut = True
                return
        self.values += bool(rest.strip())
