"""Blocks of Avro that are looked at before they are decoded: of values that hold themselves, and of values without bytes. Not a format.

The reader calls itself for each value within a value of its own type, until the process dies, and makes as many values
without bytes (nulls, records of nothing) as a few bytes of a count ask for.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from tare.errors import ChecksumMismatch, Limit, Malformed

__all__ = ["bounded_blocks", "bounded_rows", "checked_blocks", "is_empty", "may_exceed", "named_types"]

_MAX_DEPTH = 1000
_RECENT_BYTES = 20  # a checksum and the marker behind it
_MOST_EMPTY = 10_000_000
_BYTES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_NUMBERS = ("int", "long", "enum")
_NAMED = ("record", "error", "enum", "fixed")


def bounded_rows(file: BinaryIO) -> Iterator[Any]:
    """Yields the rows of a file.

    Args:
        file: It is read to its end.

    Raises:
        Limit: As `bounded_blocks`.
    """
    for block in bounded_blocks(file)[1]:
        yield from block


def bounded_blocks(file: BinaryIO) -> tuple[Any, Iterator[Any]]:
    """Returns the schema of a file and its blocks, each an iterator of rows, none of which asks for more than it may.

    Args:
        file: It is read to its end.

    Raises:
        Limit: From the iterator: values nested more than 1,000 deep, or more than ten million without bytes.
        Malformed: From the iterator: a block whose rows were taken has more bytes than they.
    """
    schema, blocks = checked_blocks(file)
    return schema, _checked(schema, blocks, is_checked=may_exceed(schema))


def checked_blocks(file: BinaryIO) -> tuple[Any, Iterator[Any]]:
    """Returns the schema of a file and its blocks as fastavro has them, which passes over the checksums that Snappy's have.

    Args:
        file: It is read to its end.

    Raises:
        ChecksumMismatch: From the iterator: a block is not what was written.
    """
    import fastavro

    seekable = file.seekable()
    start = file.tell() if seekable else 0
    counting = _Counting(file)
    reader: Any = fastavro.block_reader(file if seekable else cast(BinaryIO, counting))
    if reader.codec != "snappy":
        return reader.writer_schema, iter(reader)
    if seekable:
        file.seek(start)
        reader = fastavro.block_reader(cast(BinaryIO, counting))
    return reader.writer_schema, _with_checksums(reader, counting)


def _with_checksums(reader: Any, file: _Counting) -> Iterator[Any]:
    for number, block in enumerate(reader, 1):
        # The CRC-32 of the plain bytes, and the marker of 16 bytes.
        if zlib.crc32(block.bytes_.getvalue()) != int.from_bytes(file.recent[:4], "big"):
            raise ChecksumMismatch(
                f"block {number:,} is damaged: its checksum is that of other bytes", format="avro"
            )
        yield block


def _checked(schema: Any, reader: Any, *, is_checked: bool) -> Iterator[Any]:
    named = named_types(schema)
    left = _MOST_EMPTY
    for number, block in enumerate(reader, 1):
        data = block.bytes_
        if is_checked:
            left = _Walk(data.getvalue(), named, left).rows(schema, block.num_records)
        yield block
        if rest := len(data.read()):
            raise Malformed(
                f"block {number:,} has {rest:,} bytes behind its {block.num_records:,} rows", format="avro"
            )


class _Counting:
    """A file that says where it is and what it read last, and need not be seekable."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._at = 0
        self.recent = b""

    def read(self, size: int = -1) -> bytes:
        """Reads so many bytes."""
        data = self._file.read(size)
        self._at += len(data)
        self.recent = (self.recent + data[-_RECENT_BYTES:])[-_RECENT_BYTES:]
        return data

    def tell(self) -> int:
        """Returns how many bytes were read."""
        return self._at


def may_exceed(schema: Any) -> bool:
    """Returns whether a value of a schema may hold one of its own type, or a list of it many values without bytes.

    Args:
        schema: As fastavro has parsed it.

    >>> may_exceed({"type": "record", "name": "n", "fields": [{"name": "next", "type": ["null", "n"]}]})
    True
    >>> may_exceed({"type": "array", "items": "null"}), may_exceed({"type": "array", "items": "int"})
    (True, False)
    """
    named = named_types(schema)
    if is_empty(schema, named, ()):
        return True
    stack: list[tuple[Any, tuple[str, ...]]] = [(schema, ())]
    while stack:
        node, within = stack.pop()
        if isinstance(node, str):
            if node in within:
                return True
            if node in named:
                stack.append((named[node], within))
            continue
        if isinstance(node, dict):
            if node.get("type") == "array" and is_empty(node["items"], named, ()):
                return True
            within = (*within, node["name"]) if node.get("type") in _NAMED and "name" in node else within
        stack += [(inner, within) for inner in _inner(node)]
    return False


def _inner(node: Any) -> list[Any]:
    """Returns the schemas that stand in a schema."""
    if isinstance(node, list):
        return node
    if not isinstance(node, dict):
        return []
    found = [field["type"] for field in node.get("fields", ())]
    found += [node[key] for key in ("items", "values") if key in node]
    return found if isinstance(node.get("type"), str) else [*found, node.get("type")]


def named_types(schema: Any) -> dict[str, Any]:
    """Returns the types that a schema names, by name.

    Args:
        schema: As fastavro has parsed it.

    >>> list(named_types({"type": "array", "items": {"type": "fixed", "name": "n", "size": 2}}))
    ['n']
    """
    named: dict[str, Any] = {}
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict) and node.get("type") in _NAMED and "name" in node:
            named[node["name"]] = node
        stack += _inner(node)
    return named


def is_empty(node: Any, named: dict[str, Any], within: tuple[str, ...]) -> bool:
    """Returns whether all values of a schema have no bytes."""
    if isinstance(node, str):
        if node not in named:
            return node == "null"
        return node not in within and is_empty(named[node], named, (*within, node))
    if not isinstance(node, dict):
        return False
    kind = node.get("type")
    if kind in ("record", "error"):
        within = (*within, node.get("name", ""))
        return all(is_empty(field["type"], named, within) for field in node.get("fields", ()))
    if kind == "fixed":
        return node.get("size") == 0
    return kind == "null" or (isinstance(kind, dict) and is_empty(kind, named, within))


class _Walk:
    """Goes over the values of a block without making any.

    Args:
        data: Its bytes, decompressed.
        named: Schemas by name.
        left: How many values without bytes may come.
    """

    def __init__(self, data: bytes, named: dict[str, Any], left: int) -> None:
        self._data = data
        self._named = named
        self._left = left
        self._at = 0
        # Schemas to go over, the next one last: how often, how deep, and whether a text stands before each.
        self._stack: list[tuple[Any, int, int, bool]] = []

    def rows(self, schema: Any, count: int) -> int:
        """Goes over so many rows, and returns how many values without bytes may still come.

        What is damaged ends the walk: reading says what it is.

        Raises:
            Limit: There are more, or values are nested too deeply.
        """
        self._take(schema, count, 0, keyed=False)
        try:
            while self._stack and self._at <= len(self._data):
                node, often, depth, keyed = self._stack.pop()
                if often > 1:
                    self._stack.append((node, often - 1, depth, keyed))
                if keyed:
                    self._skip()
                self._value(node, depth)
        except (IndexError, KeyError, TypeError):
            pass
        return self._left

    def _take(self, node: Any, count: int, depth: int, *, keyed: bool) -> None:
        if depth > _MAX_DEPTH:
            raise Limit(f"nested deeper than {_MAX_DEPTH:,} levels", format="avro")
        if count < 1:
            return
        if not keyed and is_empty(node, self._named, ()):
            self._left -= count
            if self._left < 0:
                raise Limit(f"it has more than {_MOST_EMPTY:,} values without bytes", format="avro")
            return
        self._stack.append((node, count, depth, keyed))

    def _value(self, node: Any, depth: int) -> None:
        if isinstance(node, str):
            node = self._named.get(node, node)
        kind = node if isinstance(node, str) else "union" if isinstance(node, list) else node["type"]
        if not isinstance(kind, str):
            self._take(kind, 1, depth, keyed=False)
        elif kind in _BYTES:
            self._at += _BYTES[kind]
        elif kind in _NUMBERS:
            self._long()
        elif kind in ("bytes", "string"):
            self._skip()
        elif kind == "fixed":
            self._at += max(node["size"], 0)
        elif kind == "union":
            self._take(node[self._long()], 1, depth, keyed=False)
        elif kind in ("record", "error"):
            for field in reversed(node["fields"]):
                self._take(field["type"], 1, depth + 1, keyed=False)
        elif kind in ("array", "map"):
            self._items(node, kind, depth)
        else:
            self._take(kind, 1, depth, keyed=False)

    def _items(self, node: Any, kind: str, depth: int) -> None:
        """A part of a list or map: the next part is gone over when its items were."""
        count = self._long()
        if not count:
            return
        if count < 0:
            count = -count
            self._long()
        self._stack.append((node, 1, depth, False))
        keyed = kind == "map"
        self._take(node["values" if keyed else "items"], count, depth + 1, keyed=keyed)

    def _skip(self) -> None:
        """Goes over a text or bytes, and the length before it."""
        length = self._long()
        if length < 0:  # which leads back; the reader refuses it
            raise IndexError(length)
        self._at += length

    def _long(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return (value >> 1) ^ -(value & 1)
