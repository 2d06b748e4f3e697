"""Pickle: protocol, opcodes, and what it would import and call; nothing is run."""

from __future__ import annotations

import io
import pickletools
from collections import Counter
from typing import Any

from tare.datasets.source import Source, printable
from tare.errors import Malformed, Truncated
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]

_MOST_OPCODES = 1_000_000
_CALLS = ("REDUCE", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "BUILD")
_TEXT = ("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8")
_GROUPS = (
    ("text", (*_TEXT,)),
    ("bytes", ("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8")),
    ("numbers", ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT")),
    ("imports and calls", ("GLOBAL", "STACK_GLOBAL", *_CALLS)),
    ("memo", ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "GET", "BINGET", "LONG_BINGET")),
)


def look(source: Source, max_bytes: int) -> Findings:
    """Disassemble, up to a million opcodes.

    Raises:
        Truncated, Malformed: The opcodes end too early, or are none.
    """
    data, share = source.read(max_bytes)
    reader = _Reader()
    findings = Findings(kind="document or table")
    try:
        for number, (opcode, argument, at) in enumerate(pickletools.genops(io.BytesIO(data))):
            if number >= _MOST_OPCODES:
                findings.notes.append(f"only its first {number:,} opcodes were looked at; imports may follow")
                break
            reader.take(opcode.name, argument, at or 0)
    except (ValueError, IndexError, OverflowError, UnicodeDecodeError) as error:
        if share == 1.0:
            cut = "exhausted" in str(error) or "remain" in str(error) or "no newline" in str(error)
            kind = Truncated if cut else Malformed
            raise source.error(
                kind, printable(str(error), 120), offset=reader.at, advice="Fetch it again."
            ) from None
        findings.notes.append(f"only its first {len(data):,} bytes were looked at; imports may follow")
    reader.finish(len(data))
    findings.version = f"protocol {reader.protocol}"
    findings.parts = reader.parts()
    calls = sum(reader.opcodes[name] for name in _CALLS)
    findings.details = {
        "opcodes": f"{sum(reader.opcodes.values()):,}",
        "imports": ", ".join(sorted(reader.imports)) or "none",
        "calls": f"{calls:,}",
    }
    if reader.imports:
        findings.flags.append(
            f"reading it imports: {', '.join(printable(name, 60) for name in sorted(reader.imports)[:8])}"
        )
    if reader.opcodes["PERSID"] or reader.opcodes["BINPERSID"]:
        findings.flags.append("needs objects from outside (persistent ids)")
    return findings


class _Reader:
    """Sums over opcodes; follows the texts that name what is imported."""

    def __init__(self) -> None:
        self.protocol = 0
        self.opcodes: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.imports: set[str] = set()
        self.texts: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.last = ""
        self.at = 0
        self.ended = 0

    def take(self, name: str, argument: Any, at: int) -> None:
        self.bytes[self.last] += at - self.at
        self.last, self.at = name, at
        self.opcodes[name] += 1
        if name == "PROTO":
            self.protocol = argument
        elif name in _TEXT:
            self.texts = [*self.texts[-1:], argument]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = self.texts[-1] if self.texts else None
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[argument] = self.texts[-1] if self.texts else None
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self.texts = [*self.texts[-1:], self.memo.get(argument)]
        elif name in ("GLOBAL", "INST"):
            self.imports.add(str(argument).replace(" ", "."))
        elif name == "STACK_GLOBAL":
            self.imports.add(".".join(str(text) for text in self.texts[-2:]))
            self.texts = []

    def finish(self, end: int) -> None:
        self.bytes[self.last] += end - self.at

    def parts(self) -> list[Part]:
        left = Counter(self.bytes)
        found = []
        for what, names in _GROUPS:
            found.append(Part(what, sum(left.pop(name, 0) for name in names)))
        return [*found, Part("structure", sum(left.values()))]
