"""PostgreSQL's JSONB, as defined in its sources (src/include/utils/jsonb.h).

The bytes are those that the server stores, without TOAST compression; only a server makes and
reads them. Tare starts one of its own when the format is first used.
"""

from __future__ import annotations

from typing import Any

from tare.formats import pgserver
from tare.formats.base import Buffer, Format, Library
from tare.formats.scalars import DEFAULT, hook

__all__ = ["FORMAT"]

# Statements are prepared at their first use.
_WRITE = "SELECT (%s::text::jsonb)::bytea"
_READ = "SELECT (%b::bytea::jsonb)::text"
_PATH = "SELECT ((%b::bytea::jsonb) #> %s::text[])::text"

# The head of a container: its kind in the upper four bits, its items below.
_COUNT, _SCALAR, _OBJECT, _ARRAY = 0x0FFFFFFF, 0x10000000, 0x20000000, 0x40000000
# An item's entry: whether its number is an end, its type, an end or a length.
_HAS_END, _NUMBER = 0x80000000, 0x0FFFFFFF
_TYPES = {0: "text", 1: "numeric", 2: "false", 3: "true", 4: "null", 5: "container"}
_EMPTY = (2, 3, 4)


def _encode(obj: Any, *, default: str) -> bytes:
    import orjson

    text = orjson.dumps(obj, default=hook(default)).decode()
    return bytes(_one(_WRITE, [text]))


def _decode(data: Buffer, *, default: str) -> Any:
    import orjson

    _entries(memoryview(data), 0, len(data))
    return orjson.loads(_one(_READ, [data]))


def _path(data: Buffer, steps: list[str], *, default: str) -> Any:
    import orjson

    _entries(memoryview(data), 0, len(data))
    found = _one(_PATH, [data, steps])
    if found is None:
        raise KeyError("/".join(steps))
    return orjson.loads(found)


def _one(statement: str, values: list[Any]) -> Any:
    row = pgserver.connection().execute(statement, values, binary=True).fetchone()
    assert row is not None  # SELECT without FROM has one row
    return row[0]


def _check(data: Buffer) -> None:
    """Walk all containers: their items must tile them, as the server takes for granted."""
    view = memoryview(data)
    todo = [(0, len(view))]
    while todo:
        start, end = todo.pop()
        for kind, a, b in _items(view, *_entries(view, start, end)):
            if kind == "container":
                todo.append((_aligned(a), b))
            elif kind == "numeric":
                at = _aligned(a)
                if b - at < 6 or int.from_bytes(view[at : at + 4], "little") != (b - at) << 2:
                    raise ValueError(f"the number at byte {a} does not fill its place")


def _entries(view: memoryview, start: int, end: int) -> tuple[list[int], int, int]:
    """The entries of the container at ``start``, and where its items begin and end.

    Raises:
        ValueError: It is no container, or its items end elsewhere.
    """
    if end - start < 4:
        raise ValueError(f"truncated: no container at byte {start}")
    head = int.from_bytes(view[start : start + 4], "little")
    count, kind = head & _COUNT, head & ~_COUNT
    if kind not in (_OBJECT, _ARRAY, _ARRAY | _SCALAR) or (kind & _SCALAR and count != 1):
        raise ValueError(f"unknown container {head:08x} at byte {start}")
    number = 2 * count if kind == _OBJECT else count
    first = start + 4 + 4 * number
    if first > end:
        raise ValueError(f"truncated: the entries at byte {start} end after {end}")
    entries = list(view[start + 4 : first].cast("I")) if number else []
    total = 0
    for entry in reversed(entries):  # lengths, back to the last entry that has an end
        total += entry & _NUMBER
        if entry & _HAS_END:
            break
    if first + total != end:
        raise ValueError(
            f"truncated: items of the container at byte {start} end at {first + total}, not {end}"
        )
    return entries, first, end


def _items(view: memoryview, entries: list[int], first: int, end: int) -> list[tuple[str, int, int]]:
    """Kind, begin and end of each item."""
    found, at = [], first
    for entry in entries:
        kind = _TYPES.get(entry >> 28 & 7)
        until = (first if entry & _HAS_END else at) + (entry & _NUMBER)
        if kind is None or not at <= until <= end or ((entry >> 28 & 7) in _EMPTY and until != at):
            raise ValueError(f"wrong entry {entry:08x} of the container before byte {first}")
        found.append((kind, at, until))
        at = until
    return found


def _aligned(at: int) -> int:
    return (at + 3) & ~3


FORMAT = Format(
    id="pgjsonb",
    title="PostgreSQL JSONB",
    extensions=(),
    kinds=frozenset({"document"}),
    native_to="postgresql",
    spec="https://www.postgresql.org/docs/current/datatype-json.html",
    subset=("path",),
    home="postgresql",
    libraries=(
        Library(
            name="postgresql",
            native={"document": "python"},
            encode=_encode,
            decode=_decode,
            modules=("psycopg", "orjson"),
            distribution="psycopg",
            extra="documents",
            missing=pgserver.missing,
            options={"default": DEFAULT},
            variants={"document": ()},  # nobody who measures a file wants a database server started
            path=_path,
            max_depth=1000,  # orjson, which writes the text, counts no tuples
            check=_check,
            notes=(
                "A server of Tare's own is started for it; JSON text goes to and from it through a socket.",
                "Names are sorted by length; a float without fraction may come back as an integer, -0.0 as 0.0.",
                "NaN and Infinity become null silently; text with the character U+0000 is refused.",
                "What is read is JSON text made by the server from its bytes, parsed by orjson.",
            ),
        ),
    ),
)
