"""JSON and NDJSON: bytes in keys, strings, numbers, structure and white space; depth; counts."""

from __future__ import annotations

from tare._tare import JsonStructure
from tare.datasets import documents, encodings, jsonscan, recognise, repeats
from tare.datasets.source import Source
from tare.errors import Malformed, TareError, Truncated
from tare.formats.csv_rows import BOM
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]

# A text of at most so much is also read, as it takes reading to know whether it is valid.
_READ_BYTES = 32 << 20


def look(source: Source, max_bytes: int) -> Findings:
    """Pass over the text once, in bounded memory; up to `max_bytes` of it."""
    found, lines, cut = _passed(source, max_bytes)
    stream = source.format == "ndjson"
    # Of a large plain file the rest is taken to be like its beginning.
    scale = source.size / found.length if cut and not source.compressors else 1.0
    findings = Findings(kind="document", rows=round(lines * scale) if stream else None)
    first = (recognise.as_utf8(source.head, None).removeprefix(BOM).lstrip() or b" ")[0]
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
    marked = recognise.encoding_of(source.head)
    if marked not in (None, "utf-8-sig"):
        findings.notes.append(f"its byte order mark says {marked}; the bytes are those of UTF-8")
    if cut:
        what = "estimated from" if scale > 1 else "counted in"
        findings.notes.append(f"{what} the first {found.length:,} bytes")
    known = len(source.notes)
    findings.damaged, fault = _fault(source, min(max_bytes, _READ_BYTES))
    findings.notes += source.notes[known:]
    if fault is None and not cut and (found.open_levels or found.in_string):
        plural = "s" * (found.open_levels != 1)
        levels = f"{found.open_levels:,} open array{plural} or object{plural}"
        inside = "a string" if found.in_string else levels
        fault = f"ends inside {inside}: " + (
            "a line is malformed, or the file was cut" if stream else "the file was cut"
        )
        findings.damaged = True
    findings.flags += filter(None, [fault])
    if found.depth > 254:
        findings.flags.append(f"nested {found.depth:,} levels deep: many libraries refuse it")
    return findings


def _fault(source: Source, max_bytes: int) -> tuple[bool, str | None]:
    """Whether the text is damaged, and why it cannot be read or what is lost then; empty if nothing; None if it is too long to be tried."""
    data, share = source.read(max_bytes)
    stream = source.format == "ndjson"
    if share < 1.0:
        if not stream:
            return False, None
        data = data[: data.rfind(b"\n") + 1]
    try:
        data = encodings.to_utf8(source, data, None, final=share == 1.0)
        if repeats.is_a_table(data, lines=stream):  # its objects have each name once
            return False, "" if share == 1.0 else None
        (documents.parse_lines if stream else documents.parse_whole)(source, data)
    except TareError as error:
        said = str(error).removeprefix(f"{source.name}: ").removeprefix(f"{source.format}: ")
        return isinstance(error, Malformed | Truncated), said
    said = repeats.told(data, lines=stream)
    return False, said or ("" if share == 1.0 else None)


def _passed(source: Source, max_bytes: int) -> tuple[jsonscan.Scan, int, bool]:
    """What stands in a text, how many lines are not blank, and whether there is more than so many bytes."""
    passing, seen, cut = JsonStructure(), 0, False
    for step in encodings.utf8_steps(source):
        part = step[: max_bytes - seen]
        passing.pass_over(part)
        seen += len(part)
        if seen >= max_bytes:
            cut = True
            break
    counts = dict(passing.counts())
    lines, in_line, in_string = (counts.pop(name) for name in ("lines", "in_line", "in_string"))
    return jsonscan.Scan(**counts, in_string=bool(in_string)), lines + (in_line if not cut else 0), cut
