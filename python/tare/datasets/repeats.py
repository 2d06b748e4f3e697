"""Names that stand twice in one object: readers keep one of the values and say nothing.

Of JSON, RFC 8259, section 4: "the names within an object SHOULD be unique"; what a reader does
with others is unpredictable. All those used here keep the last value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tare._tare import NdjsonFinder
from tare.datasets.source import printable
from tare.errors import TareError

__all__ = ["BINARY", "KEPT", "MOST_BYTES", "first_repeated", "is_a_table", "note", "told", "told_of"]

KEPT = "only the last of its values is kept"
"""The end of the note where values are read."""

MOST_BYTES = 64 << 20
"""Texts beyond this are not looked through: it takes about as long as reading them twice."""


def told(data: bytes, *, lines: bool = False) -> str:
    """Which name stands twice, in how many objects; empty if none does, or the text is no JSON.

    Args:
        data: The text; beyond `MOST_BYTES` it is not looked through.
        lines: Whether every line is a value.

    >>> told(b'[{"a": 1, "a": 2}, {"b": 3}]')
    "the name 'a' stands twice in one object; only the last of its values is kept"
    >>> told(b'{"a": 1}')
    ''
    """
    if len(data) > MOST_BYTES or is_a_table(data, lines=lines):
        return ""
    first: list[str] = []

    # Nothing is kept: each object is looked at when it ends, and is then None.
    def look(pairs: list[tuple[str, Any]]) -> None:
        if len({name for name, _ in pairs}) != len(pairs):
            first.append(first_repeated([name for name, _ in pairs]))

    decoder = json.JSONDecoder(object_pairs_hook=look)
    try:
        for text in data.splitlines() if lines else (data,):
            if text.strip():
                decoder.decode(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return ""
    return note(first)


def is_a_table(data: bytes, *, lines: bool) -> bool:
    """Returns whether the core reads a text as a table: then it is valid, and no name stands twice in an object of it.

    Args:
        data: The text.
        lines: Whether every line is a value; else it is one array.

    >>> is_a_table(b'{"a": 1}', lines=True), is_a_table(b'[{"a": 1, "a": 2}]', lines=False)
    (True, False)
    """
    finder = NdjsonFinder()
    try:
        if lines:
            finder.read(data)
        else:
            finder.read_array(data)
    except TareError:
        return False
    return len(finder) > 0


def note(names: list[Any]) -> str:
    """What to say of names that stand twice, one of each object; empty if there is none.

    >>> note([1])
    'the name 1 stands twice in one object; only the last of its values is kept'
    """
    if not names:
        return ""
    others = len(names) - 1
    more = f", and in {others:,} more object{'s' * (others != 1)} a name" if others else ""
    first = names[0]
    shown = ascii(printable(first, 40)) if isinstance(first, str) else printable(repr(first), 40)
    return f"the name {shown} stands twice in one object{more}; {KEPT}"


def told_of(format: str, data: bytes) -> str:
    """As `told`, of a binary format, one of `BINARY`.

    Names are the same if Python's dicts take them for one, as they do ``1`` and ``true``.

    Args:
        format: Its identifier.
        data: A file's bytes, which were read well.

    >>> told_of("msgpack", bytes.fromhex("82a16101a16102"))
    "the name 'a' stands twice in one object; only the last of its values is kept"
    """
    look, most = BINARY[format]
    if len(data) > most:
        return ""
    names: list[Any] = []
    try:
        look(data, names)
    except (
        Exception
    ):  # three libraries, each with errors of its own; what reads the values says what is wrong
        return ""
    return note(names)


def first_repeated(names: Iterable[Any], default: Any = None) -> Any:
    """Returns the first name that stood before, in time that follows the number of names.

    Args:
        names: Keys of one mapping.
        default: What is returned if each stands once.

    >>> first_repeated("abcb"), first_repeated("abc", "-")
    ('b', '-')
    """
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return default


def _of_msgpack(data: bytes, found: list[Any]) -> None:
    import msgpack

    def look(pairs: list[tuple[Any, Any]]) -> None:
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names):
            found.append(first_repeated(names))

    unpacker = msgpack.Unpacker(
        object_pairs_hook=look,
        raw=False,
        strict_map_key=False,
        timestamp=0,
        use_list=False,
        max_buffer_size=len(data) + 1,
    )
    unpacker.feed(data)
    for _ in unpacker:
        pass


def _of_bson(data: bytes, found: list[Any]) -> None:
    from bson import decode_all
    from bson.codec_options import CodecOptions

    class Noting(dict[str, Any]):
        """Notes a name that it has already, each object's first."""

        noted = False

        def __setitem__(self, name: str, value: Any) -> None:
            if not self.noted and name in self:
                self.noted = True
                found.append(name)
            super().__setitem__(name, value)

    options: Any = CodecOptions(document_class=Noting)
    decode_all(data, options)


def _of_cbor(data: bytes, found: list[Any]) -> None:
    _Cbor(data, found).skip(0)


# Major types of CBOR whose values Python may hold equal: integers, tags such as that of large ones, and simple values.
_NUMBERS = (0, 1, 6, 7)


class _Cbor:
    """Walks over the bytes of CBOR: its reader has no way to see the names of one object twice."""

    def __init__(self, data: bytes, found: list[Any]) -> None:
        self.data = data
        self.found = found

    def skip(self, at: int) -> int:
        """Returns where the value ends that begins at a byte."""
        kind, count, at = self._head(at)
        if kind in (2, 3) and count is not None:
            return at + count
        if kind in (2, 3, 4):
            return self._items(at, count)
        if kind == 5:
            return self._pairs(at, count)
        return self.skip(at) if kind == 6 else at

    def _head(self, at: int) -> tuple[int, int | None, int]:
        """Returns the major type, its argument, None if it is of no known length, and where the head ends."""
        first = self.data[at]
        kind, short = first >> 5, first & 31
        if short < 24:
            return kind, short, at + 1
        if short == 31:
            return kind, None, at + 1
        size = 1 << (short - 24)
        return kind, int.from_bytes(self.data[at + 1 : at + 1 + size], "big"), at + 1 + size

    def _more(self, at: int, left: int | None) -> bool:
        return self.data[at] != 0xFF if left is None else left > 0

    def _items(self, at: int, left: int | None) -> int:
        endless = left is None
        while self._more(at, left):
            at = self.skip(at)
            left = None if left is None else left - 1
        return at + endless

    def _pairs(self, at: int, left: int | None) -> int:
        endless, names, noted = left is None, set[Any](), False
        while self._more(at, left):
            end = self.skip(at)
            name: Any = self.data[at:end]
            if self.data[at] >> 5 in _NUMBERS:  # which may be equal in other bytes; text and bytes are not
                name = _of_bytes(name)
            if name in names and not noted:
                noted = True
                self.found.append(_of_bytes(self.data[at:end]))
            names.add(name)
            at = self.skip(end)
            left = None if left is None else left - 1
        return at + endless


def _of_bytes(name: bytes) -> Any:
    import cbor2

    return cbor2.loads(name)


BINARY = {
    "msgpack": (_of_msgpack, MOST_BYTES),
    "bson": (_of_bson, MOST_BYTES),
    "cbor": (_of_cbor, 4 << 20),
}
"""What looks through a format's bytes, and how many at most: a walk in Python takes ten times as long as a reader."""
