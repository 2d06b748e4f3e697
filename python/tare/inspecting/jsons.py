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
    findings = Findings(kind="document", rows=lines.values if stream else None)
    findings.shape = {
        "depth": found.depth,
        "values": found.values,
        "keys": found.key_count,
        "top": "values on lines"
        if stream
        else {0x5B: "array", 0x7B: "object"}.get((source.head.lstrip() or b" ")[0], "value"),
    }
    findings.parts = [
        Part("strings", found.strings),
        Part("keys", found.keys, detail=f"{found.key_count:,} keys"),
        Part("numbers", found.numbers),
        Part("true, false, null", found.words),
        Part("brackets, commas, colons", found.structure),
        Part("white space", found.space),
    ]
    if lines.cut:
        findings.notes.append(f"only the first {max_bytes:,} bytes were looked at")
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
