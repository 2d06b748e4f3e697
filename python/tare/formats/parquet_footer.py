"""Footers of Parquet files, read and written as Thrift's compact protocol has them. Not a format.

Only as much of it as joins row groups that were written into files of their own (see `parquet_parts`), and as tells which
columns are encrypted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

__all__ = ["Footer", "encrypted_columns", "join_columns", "read_footer"]

_MAGIC = b"PAR1"
_TAIL_BYTES = 8  # the footer's length, and the magic
_TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 4, 6, 7, 8, 9, 10, 12
_LONG_LIST = 15
# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_BYTES, _GROUP_ROWS, _GROUP_OFFSET, _GROUP_PACKED, _GROUP_ORDINAL = 1, 2, 3, 5, 6, 7
_CHUNK_OFFSET, _CHUNK_META, _CHUNK_CRYPTO = 2, 3, 8
_META_PATH, _OWN_KEY, _OWN_KEY_PATH = 3, 2, 1
_MOST_FOOTER_BYTES = 16 << 20  # of a file that is only asked for names
_META_OFFSETS = (9, 10, 11)  # of data pages, an index page, a dictionary page
# What is known to stay true when bytes move; others, such as those of indexes and filters, say where something lies.
_GROUP_KNOWN = {1, 2, 3, 5, 6, 7}
_CHUNK_KNOWN = {2, 3}
_META_KNOWN = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17}

# A struct: kind and value by the number of the field, in the order of the file.
Struct = dict[int, tuple[int, Any]]


class Footer:
    """A file's footer, and where it begins.

    Args:
        fields: The fields of ``FileMetaData``.
        start: Offset of its first byte.
    """

    def __init__(self, fields: Struct, start: int) -> None:
        self.fields = fields
        self.start = start

    @property
    def groups(self) -> list[Struct]:
        """The row groups."""
        return list(self.fields[_FILE_GROUPS][1][1])

    def is_movable(self) -> bool:
        """Returns whether all that its row groups say of places is known, so that it can be said of other places."""
        return all(
            group.keys() <= _GROUP_KNOWN
            and all(
                chunk.keys() <= _CHUNK_KNOWN and chunk[_CHUNK_META][1].keys() <= _META_KNOWN
                for chunk in group[_GROUP_COLUMNS][1][1]
            )
            for group in self.groups
        )

    def with_groups(self, groups: Sequence[Struct]) -> bytes:
        """Returns the end of a file that has other row groups: footer, its length and the magic.

        Args:
            groups: The row groups.
        """
        rows = sum(group[_GROUP_ROWS][1] for group in groups)
        fields = {
            **self.fields,
            _FILE_ROWS: (_I64, rows),
            _FILE_GROUPS: (_LIST, (_STRUCT, list(groups))),
        }
        out = bytearray()
        _write_struct(out, fields)
        return bytes(out) + len(out).to_bytes(4, "little") + _MAGIC


def read_footer(data: bytes | memoryview) -> Footer:
    """Returns the footer of a whole file.

    Args:
        data: The file.

    Raises:
        ValueError: It holds what no footer does.
    """
    end = len(data) - _TAIL_BYTES
    start = end - int.from_bytes(data[end : end + 4], "little")
    return Footer(_Reader(bytes(data[start:end])).struct(), start)


def encrypted_columns(file: BinaryIO) -> list[str]:
    """Returns the paths of the columns whose chunks are encrypted; none if the footer does not tell them.

    Args:
        file: The file, which can be read anywhere.
    """
    end = file.seek(0, 2) - _TAIL_BYTES
    file.seek(max(end, 0))
    tail = file.read(_TAIL_BYTES)
    size = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or not 0 < size <= min(end, _MOST_FOOTER_BYTES):
        return []
    file.seek(end - size)
    try:
        fields = _Reader(file.read(size)).struct()
        chunks = [one for group in Footer(fields, end - size).groups for one in group[_GROUP_COLUMNS][1][1]]
        paths = [_path_of(chunk) for chunk in chunks if _CHUNK_CRYPTO in chunk]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []  # no footer that is known: it is asked beside an error, which says more
    return list(dict.fromkeys(paths))


def _path_of(chunk: Struct) -> str:
    """Returns the path of an encrypted column chunk: with a key of its own it stands beside that."""
    own = chunk[_CHUNK_CRYPTO][1].get(_OWN_KEY)
    parts = own[1][_OWN_KEY_PATH] if own else chunk[_CHUNK_META][1][_META_PATH]
    return ".".join(part.decode("utf-8", "replace") for part in parts[1][1])


def join_columns(parts: Sequence[tuple[Struct, int]], ordinal: int) -> Struct:
    """Returns the row group that has the columns of several, one behind the other.

    Args:
        parts: Row groups of the same rows, and by how many bytes each has been moved.
        ordinal: Number of the row group in its file.
    """
    columns = [_moved(chunk, by) for group, by in parts for chunk in group[_GROUP_COLUMNS][1][1]]
    first, moved = parts[0]
    joined = dict(first)
    joined[_GROUP_COLUMNS] = (_LIST, (_STRUCT, columns))
    joined[_GROUP_BYTES] = (_I64, sum(group[_GROUP_BYTES][1] for group, _ in parts))
    if _GROUP_OFFSET in first:
        joined[_GROUP_OFFSET] = (_I64, first[_GROUP_OFFSET][1] + moved)
    if _GROUP_PACKED in first:
        joined[_GROUP_PACKED] = (_I64, sum(group[_GROUP_PACKED][1] for group, _ in parts))
    if _GROUP_ORDINAL in first:
        joined[_GROUP_ORDINAL] = (_I16, ordinal)
    return joined


def _moved(chunk: Struct, by: int) -> Struct:
    """Returns a column chunk whose bytes lie elsewhere. An offset of 0 says that there is none."""
    meta = dict(chunk[_CHUNK_META][1])
    for field in _META_OFFSETS:
        if field in meta and meta[field][1]:
            meta[field] = (_I64, meta[field][1] + by)
    moved = {**chunk, _CHUNK_META: (_STRUCT, meta)}
    if chunk[_CHUNK_OFFSET][1]:
        moved[_CHUNK_OFFSET] = (_I64, chunk[_CHUNK_OFFSET][1] + by)
    return moved


class _Reader:
    """Reads values of the compact protocol.

    Args:
        data: The bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> Struct:
        """Returns the fields of a struct."""
        found: Struct = {}
        last = 0
        while head := self._byte():
            kind = head & 15
            last = last + (head >> 4) if head >> 4 else self._signed()
            found[last] = (kind, self._value(kind))
        return found

    def _value(self, kind: int) -> Any:
        if kind == _BINARY:
            return self._take(self._varint())
        if _I16 <= kind <= _I64:
            return self._signed()
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            head = self._byte()
            size = self._varint() if head >> 4 == _LONG_LIST else head >> 4
            return head & 15, [self._item(head & 15) for _ in range(size)]
        if kind in (_TRUE, _FALSE):
            return None  # the kind is the value
        if kind in (_BYTE, _DOUBLE):
            return self._take(1 if kind == _BYTE else 8)
        raise ValueError(f"invalid Parquet footer: unexpected type {kind} of Thrift at byte {self._at:,}")

    def _item(self, kind: int) -> Any:
        return self._take(1) if kind in (_TRUE, _FALSE) else self._value(kind)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _take(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._data):
            raise ValueError("invalid Parquet footer: expected more bytes of Thrift")
        return self._data[self._at - size : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _write_struct(out: bytearray, fields: Struct) -> None:
    last = 0
    for field, (kind, value) in fields.items():
        if 0 < field - last <= 15:
            out.append((field - last) << 4 | kind)
        else:
            out.append(kind)
            _write_signed(out, field)
        last = field
        if kind not in (_TRUE, _FALSE):
            _write_value(out, kind, value)
    out.append(0)


def _write_value(out: bytearray, kind: int, value: Any) -> None:
    if kind == _BINARY:
        _write_varint(out, len(value))
        out += value
    elif _I16 <= kind <= _I64:
        _write_signed(out, value)
    elif kind == _STRUCT:
        _write_struct(out, value)
    elif kind in (_LIST, _SET):
        inner, items = value
        if len(items) < _LONG_LIST:
            out.append(len(items) << 4 | inner)
        else:
            out.append(_LONG_LIST << 4 | inner)
            _write_varint(out, len(items))
        for item in items:
            _write_value(out, inner, item)
    else:
        out += value


def _write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_signed(out: bytearray, value: int) -> None:
    _write_varint(out, value * 2 if value >= 0 else -value * 2 - 1)
