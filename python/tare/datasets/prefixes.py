"""The first items of binary documents that are lists or streams of values, by the library's own streaming."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from tare import kinds
from tare.datasets.source import Source
from tare.formats import msgpack_times
from tare.formats.avro_bounds import bounded_rows
from tare.formats.avro_types import table_of

__all__ = ["READ", "first_items"]

# Of these many items each is measured; of those that follow, one in so many.
_EACH, _ONE_IN = 100, 32
_READ_BYTES = 4096


def first_items(source: Source, max_bytes: int) -> tuple[Any, float] | None:
    """The items from the front that fit in memory; those of Avro as a table, with the types that the file says.

    Args:
        source: A file of a format in `READ`.
        max_bytes: Bound on the bytes of the items in memory.

    Returns:
        The items and the share of the file's bytes that was read; None if the file is one value
        that is no list, or its first item does not fit.

    Raises:
        Exception: As the library says of damaged bytes.
    """
    found: list[Any] = []
    used = last = 0.0
    plain, stored = source.open_counted()
    with source.naming(), plain:
        for item in READ[source.format](plain, max_bytes):
            if len(found) < _EACH or len(found) % _ONE_IN == 0:
                last = kinds.resident_bytes(item)
            used += last
            if used > max_bytes:
                return (_typed(source, found), source.part_share(stored.tell())) if found else None
            found.append(item)
    return (_typed(source, found), 1.0) if found else None


def _typed(source: Source, items: list[Any]) -> Any:
    if source.format == "msgpack":
        return msgpack_times.settled(items)
    if source.format != "avro":
        return items
    import fastavro

    with source.open() as file:
        return table_of(items, fastavro.reader(file).writer_schema)


def _msgpack(file: BinaryIO, max_bytes: int) -> Iterator[Any]:
    import msgpack

    unpacker = msgpack.Unpacker(
        file, timestamp=0, strict_map_key=False, read_size=_READ_BYTES, max_buffer_size=max_bytes
    )
    try:
        count = unpacker.read_array_header()
    except ValueError:  # maps on end, or one
        first = unpacker.unpack()
        if not isinstance(first, dict | list):
            return
        try:
            second = unpacker.unpack()
        except msgpack.OutOfData:
            return
        yield first
        yield second
        yield from unpacker
        return
    for _ in range(count):
        yield unpacker.unpack()


def _cbor(file: BinaryIO, _max_bytes: int) -> Iterator[Any]:
    """Items of the array that the file is (RFC 8949, section 3: major type 4)."""
    import cbor2

    head = file.read(1)
    kind, low = head[0] >> 5, head[0] & 31
    if kind != 4 or low == 31:  # no array, or one of unknown length
        return
    # What is shared may be endless where it is a key, and is looked at in the whole file only.
    decoder = cbor2.CBORDecoder(file, semantic_decoders={29: _refuse_shared})
    count = low if low < 24 else int.from_bytes(file.read(1 << (low - 24)), "big")
    for _ in range(count):
        yield decoder.decode()


def _refuse_shared(*_value: Any) -> Any:
    raise ValueError("a shared value")


def _bson(file: BinaryIO, max_bytes: int) -> Iterator[Any]:
    import bson

    while head := file.read(4):
        size = int.from_bytes(head, "little")
        if size > max_bytes:
            return
        yield bson.decode(head + file.read(max(size - 4, 0)))


def _avro(file: BinaryIO, _max_bytes: int) -> Iterator[Any]:
    yield from bounded_rows(file)


READ = {"avro": _avro, "bson": _bson, "cbor": _cbor, "msgpack": _msgpack}
"""The formats, each with what gives their items one by one."""
