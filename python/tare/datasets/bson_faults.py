"""Faults of BSON with their bytes and paths, which its reader does not give."""

from __future__ import annotations

from tare.datasets.binary_faults import Fault
from tare.errors import Malformed, Truncated
from tare.fidelity.comparison import show

__all__ = ["first_fault"]

_CUT = "The file was cut: fetch or write it again."
_MOST_VALUES = 5_000_000  # to go over them takes seconds
_LEAST = 5  # bytes of a document: its size, and the NUL behind its elements
# Bytes of the types that have always as many (https://bsonspec.org/spec.html).
_FIXED = {
    0x01: 8, 0x06: 0, 0x07: 12, 0x08: 1, 0x09: 8, 0x0A: 0, 0x10: 4, 0x11: 8, 0x12: 8, 0x13: 16, 0x7F: 0, 0xFF: 0
}  # fmt: skip
_TEXTS = (0x02, 0x0C, 0x0D, 0x0E)
_DOCUMENTS = (0x03, 0x04)
_BINARY, _BOOLEAN, _REGEX, _POINTER, _SCOPED = 0x05, 0x08, 0x0B, 0x0C, 0x0F


class _Wrong(Exception):
    """Carries a fault out of what finds it."""

    def __init__(self, said: str, offset: int, kind: type[Malformed | Truncated] = Malformed) -> None:
        super().__init__(said)
        self.offset = offset
        self.kind = kind


def first_fault(data: bytes) -> Fault | None:
    """Returns the first thing in documents one behind the other that is no BSON; None if there is none.

    Args:
        data: The bytes.

    >>> first_fault(bytes.fromhex("0c0000007761000100000000")).what
    'invalid BSON: expected a type of a value, got the byte 77, at /a'
    """
    walk = _Walk(data)
    try:
        walk.run()
    except _Wrong as wrong:
        pointer = show(walk.pointer(), 80)[1:-1]
        said = f"invalid BSON: {wrong}{f', at {pointer}' if pointer else ''}"
        if walk.number > 1:
            said += f", in document {walk.number:,}"
        if wrong.kind is Truncated:
            return Fault(Truncated, said, wrong.offset, _CUT)
        return Fault(Malformed, said, wrong.offset)
    return None


class _Walk:
    """Goes over documents, without recursion.

    Args:
        data: The bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._left = _MOST_VALUES
        self.number = 0
        # The byte behind each document that is open, and the name of the value that is looked at in it.
        self._open: list[tuple[int, str]] = []

    def pointer(self) -> str:
        """Returns the JSON pointer (RFC 6901) to the value that is looked at."""
        names = [name for _, name in self._open if name]
        return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)

    def run(self) -> None:
        """Goes over all documents.

        Raises:
            _Wrong: One is none.
        """
        while self._at < len(self._data):
            self.number += 1
            self._begin(len(self._data))
            while self._open and self._left:
                self._left -= 1
                self._element()
            if not self._left:
                return

    def _begin(self, end: int) -> None:
        begin = self._at
        size = self._int(end, "the size of a document")
        if size < _LEAST:
            raise _Wrong(f"expected a document of {_LEAST} bytes or more, got {size:,}", begin)
        if begin + size > end:
            kind = Malformed if self._open else Truncated
            said = f"expected a document of {size:,} bytes, got {end - begin:,}"
            raise _Wrong(said, begin if self._open else end, kind)
        if self._data[begin + size - 1]:
            raise _Wrong("expected a NUL at the end of a document, got another byte", begin + size - 1)
        self._open.append((begin + size - 1, ""))

    def _element(self) -> None:
        end, _ = self._open[-1]
        if self._at == end:
            self._open.pop()
            self._at = end + 1
            return
        begin = self._at
        kind = self._data[begin]
        self._at += 1
        self._open[-1] = end, self._name(end, "the name of a value")
        if kind in _DOCUMENTS:
            self._begin(end)
        elif kind in _TEXTS:
            self._text(end)
            if kind == _POINTER:
                self._skip(12, end, "the 12 bytes of an ObjectId")
        elif kind == _BINARY:
            size_at = self._at
            size = self._int(end, "the size of bytes")
            if size < 0:
                raise _Wrong(f"expected a size of 0 or more, got {size:,}", size_at)
            self._skip(size + 1, end, f"{size:,} bytes and their type")
        elif kind == _REGEX:
            self._name(end, "a regular expression")
            self._name(end, "the flags of a regular expression")
        elif kind == _SCOPED:
            self._int(end, "the size of code")
            self._text(end)
            self._begin(end)
        elif kind in _FIXED:
            value_at = self._at
            self._skip(_FIXED[kind], end, f"the {_FIXED[kind]} bytes of a value")
            if kind == _BOOLEAN and self._data[value_at] > 1:
                raise _Wrong(f"expected 0 or 1 for a boolean, got {self._data[value_at]}", value_at)
        else:
            raise _Wrong(f"expected a type of a value, got the byte {kind:02x}", begin)

    def _name(self, end: int, what: str) -> str:
        begin = self._at
        stop = self._data.find(b"\0", begin, end)
        if stop < 0:
            raise _Wrong(f"expected {what} that ends with a NUL, got none", begin)
        self._at = stop + 1
        return self._decoded(begin, stop)

    def _text(self, end: int) -> None:
        begin = self._at
        size = self._int(end, "the size of a text")
        if size < 1 or self._at + size > end:
            raise _Wrong(f"expected a text of 1 to {end - self._at:,} bytes, got one of {size:,}", begin)
        self._at += size
        if self._data[self._at - 1]:
            raise _Wrong("expected a NUL at the end of a text, got another byte", self._at - 1)
        self._decoded(begin + 4, self._at - 1)

    def _decoded(self, begin: int, stop: int) -> str:
        try:
            return self._data[begin:stop].decode()
        except UnicodeDecodeError as error:
            wrong = self._data[begin + error.start : begin + error.end].hex()
            raise _Wrong(f"expected text in UTF-8, got the byte {wrong}", begin + error.start) from None

    def _int(self, end: int, what: str) -> int:
        begin = self._at
        self._skip(4, end, what)
        return int.from_bytes(self._data[begin : begin + 4], "little", signed=True)

    def _skip(self, size: int, end: int, what: str) -> None:
        if self._at + size > end:
            kind = Malformed if self._open else Truncated
            raise _Wrong(f"expected {what}, got the end after {end - self._at:,}", end, kind)
        self._at += size
