"""MessagePack and CBOR: bytes by type, read token by token, nothing built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tare.datasets.source import Source
from tare.formats import tokens
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]

_MOST_TOKENS = 500_000


def look(source: Source, max_bytes: int) -> Findings:
    """Walk up to half a million tokens."""
    data, share = source.read(max_bytes)
    read: Callable[[bytes, int], tokens.Token] = tokens.OF[source.format]
    walk = _Walk(read)
    walk.run(data)
    findings = Findings(kind="document", rows=walk.values or None)
    scale = 1.0
    if walk.fault and (share == 1.0 or "ends inside" not in walk.fault):
        findings.damage(f"{walk.fault} at byte {walk.at:,}")
    elif walk.at < len(data) or share < 1.0:
        scale = len(data) / max(walk.at, 1) / share
        findings.notes.append(f"estimated from the first {walk.at:,} bytes")
    findings.shape = {
        "depth": walk.depth,
        "values": round(sum(walk.counts.values()) * scale),
        "top-level values": walk.values,
    }
    findings.parts = [
        Part(name, round(size * scale), detail=_values(round(walk.counts[name] * scale)))
        for name, size in walk.sizes.most_common()
    ]
    return findings


def _values(count: int) -> str:
    return f"{count:,} value{'s' * (count != 1)}"


class _Walk:
    """Counts and bytes by type."""

    def __init__(self, read: Callable[[bytes, int], tokens.Token]) -> None:
        self.read = read
        self.counts: Counter[str] = Counter()
        self.sizes: Counter[str] = Counter()
        self.depth = 0
        self.values = 0
        self.at = 0
        self.fault = ""

    def run(self, data: bytes) -> None:
        open_: list[int] = []
        count = 0
        while self.at < len(data) and count < _MOST_TOKENS:
            count += 1
            try:
                name, head, size, inner = self.read(data, self.at)
            except IndexError:
                self.fault = "ends inside a value"
                return
            except ValueError as error:
                self.fault = str(error)
                return
            if self.at + head + size > len(data):
                self.fault = "ends inside a value"
                return
            self.at += head + size
            self.counts[name] += 1
            self.sizes[name] += head + size
            self._nest(open_, inner, name)
        if open_ and self.at >= len(data):
            self.fault = "ends inside a map or list"

    def _nest(self, open_: list[int], inner: int, name: str) -> None:
        """Keep count of what is open; -1 values means until a break."""
        if name == "break":
            while open_ and open_[-1] >= 0:
                open_.pop()
            if open_:
                open_.pop()
        elif name in ("maps", "arrays", "tags", "text in pieces"):
            self.depth = max(self.depth, len(open_) + (name in ("maps", "arrays")))
            if inner:
                open_.append(inner)
                return
        while open_ and open_[-1] > 0:
            open_[-1] -= 1
            if open_[-1]:
                return
            open_.pop()
        if not open_:
            self.values += 1
