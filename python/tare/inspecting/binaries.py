"""MessagePack and CBOR: bytes by type, read token by token, nothing built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tare.datasets.source import Source
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]

_MOST_TOKENS = 500_000
# A token: its type, bytes of its head, bytes of its content, number of values it contains.
Token = tuple[str, int, int, int]


def look(source: Source, max_bytes: int) -> Findings:
    """Walk up to half a million tokens."""
    data, share = source.read(max_bytes)
    read: Callable[[bytes, int], Token] = _msgpack if source.format == "msgpack" else _cbor
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
        Part(name, round(size * scale), detail=f"{round(walk.counts[name] * scale):,} values")
        for name, size in walk.sizes.most_common()
    ]
    return findings


class _Walk:
    """Counts and bytes by type."""

    def __init__(self, read: Callable[[bytes, int], Token]) -> None:
        self.read = read
        self.counts: Counter[str] = Counter()
        self.sizes: Counter[str] = Counter()
        self.depth = 0
        self.values = 0
        self.at = 0
        self.fault = ""

    def run(self, data: bytes) -> None:
        open_: list[int] = []
        tokens = 0
        while self.at < len(data) and tokens < _MOST_TOKENS:
            tokens += 1
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


def _msgpack(data: bytes, at: int) -> Token:
    """One token, as the MessagePack specification lays it out."""
    byte = data[at]
    if byte <= 0x7F or byte >= 0xE0:
        return "integers", 1, 0, 0
    if byte <= 0x8F:
        return "maps", 1, 0, 2 * (byte & 15)
    if byte <= 0x9F:
        return "arrays", 1, 0, byte & 15
    if byte <= 0xBF:
        return "text", 1, byte & 31, 0
    if byte in (0xC0, 0xC2, 0xC3):
        return "nil, true, false", 1, 0, 0
    if byte == 0xC1:
        raise ValueError("byte c1 is never used")
    if 0xCA <= byte <= 0xD3:
        return "floats" if byte <= 0xCB else "integers", 1, (4, 8, 1, 2, 4, 8, 1, 2, 4, 8)[byte - 0xCA], 0
    if 0xD4 <= byte <= 0xD8:
        return "extensions", 2, 1 << (byte - 0xD4), 0
    width = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}.get(byte)
    if width is None:
        width = 2 if byte in (0xDC, 0xDE) else 4
        count = _number(data, at + 1, width)
        return ("arrays", 1 + width, 0, count) if byte <= 0xDD else ("maps", 1 + width, 0, 2 * count)
    size = _number(data, at + 1, width)
    if byte <= 0xC6:
        return "binary", 1 + width, size, 0
    return ("extensions", 2 + width, size, 0) if byte <= 0xC9 else ("text", 1 + width, size, 0)


def _cbor(data: bytes, at: int) -> Token:
    """One token, as RFC 8949 lays it out."""
    major, low = data[at] >> 5, data[at] & 31
    if 28 <= low <= 30:
        raise ValueError(f"byte {data[at]:02x} is reserved")
    if low == 31:
        if major == 7:
            return "break", 1, 0, 0
        return ("arrays" if major == 4 else "maps" if major == 5 else "text in pieces"), 1, 0, -1
    width = 0 if low < 24 else 1 << (low - 24)
    value = low if low < 24 else _number(data, at + 1, width)
    head = 1 + width
    if major in (0, 1):
        return "integers", head, 0, 0
    if major in (2, 3):
        return ("binary" if major == 2 else "text"), head, value, 0
    if major in (4, 5):
        return ("arrays", head, 0, value) if major == 4 else ("maps", head, 0, 2 * value)
    if major == 6:
        return "tags", head, 0, 1
    return ("floats" if low in (25, 26, 27) else "nil, true, false"), head, 0, 0


def _number(data: bytes, at: int, width: int) -> int:
    if at + width > len(data):
        raise IndexError(at)
    return int.from_bytes(data[at : at + width], "big")
