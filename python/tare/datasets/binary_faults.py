"""Faults of MessagePack and CBOR with their bytes and paths, which their readers do not give."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any

from tare.datasets import recognise
from tare.errors import Malformed, TareError, Truncated, Unsupported
from tare.fidelity.comparison import show
from tare.formats.tokens import Item, Walk, cbor_argument

__all__ = ["Fault", "first_fault"]

_MOST_TOKENS = 5_000_000  # to walk over them takes seconds
_MOST_KEY_BYTES = 100
_SHOWN = 40
_CUT = "The file was cut: fetch or write it again."
_REPAIR = "Repair it there, or write it again."
_PAIRS = "rite such a map as a list of pairs of key and value."
_CONTAINERS = ("maps", "arrays")
# What the tags that their reader knows want (https://www.iana.org/assignments/cbor-tags): a name, and the value.
_TAGS = {
    0: "a moment as text, such as 2013-03-21T20:04:00Z",
    1: "a moment as seconds from 1970",
    2: "an integer as bytes",
    3: "an integer as bytes",
    4: "a decimal fraction as two integers, exponent and mantissa",
    5: "a bigfloat as two integers, exponent and mantissa",
    25: "the number of a text before it, within tag 256",
    29: "the number of a shared value before it",
    30: "a fraction as two integers, the second not 0",
    35: "a regular expression as text",
    36: "a MIME message as text",
    37: "a UUID as 16 bytes",
    52: "an IPv4 address as 4 bytes",
    54: "an IPv6 address as 16 bytes",
    100: "a date as days from 1970",
    258: "a set as an array",
    260: "an address as 4, 6 or 16 bytes",
    261: "a network as a map of its address and length",
    1004: "a date as text, such as 1940-10-09",
    43000: "a complex number as two numbers",
}


@dataclass(frozen=True)
class Fault:
    """A fault in bytes.

    Args:
        kind: The error that says so.
        what: What it is, and the path.
        offset: The byte.
        advice: What to do.
    """

    kind: type[Malformed | Truncated | Unsupported]
    what: str
    offset: int
    advice: str = _REPAIR


def first_fault(format: str, data: bytes) -> Fault | None:
    """Returns the first thing that the reader refuses; None if it is not found, or the format is another.

    Args:
        format: ``msgpack`` or ``cbor``.
        data: The bytes of one or several values.

    >>> first_fault("msgpack", bytes.fromhex("92018191000a")).what
    'a list as the key of a map, which is not read, at /1'
    """
    find = {"msgpack": _msgpack, "cbor": _cbor}.get(format)
    return None if find is None else find(data)


def _msgpack(data: bytes) -> Fault | None:
    walk = Walk("msgpack", data, _MOST_TOKENS)
    values: list[Item] = []
    try:
        for item in walk:
            top = walk.open[-1] if walk.open else None
            if top is not None and top.at_key and item.name in _CONTAINERS:
                kind = "map" if item.name == "maps" else "list"
                said = f"a {kind} as the key of a map, which is not read{_at(walk, 'msgpack')}"
                able = f"Say {recognise.format_option()} msgpack:msgspec, which reads it, or w" * (
                    kind == "list"
                )
                return Fault(Unsupported, said, item.start, (able or "W") + _PAIRS)
            if said := _wrong_leaf(data, item):
                return Fault(Malformed, said + _at(walk, "msgpack"), item.start)
            if top is None:
                values.append(item)
    except (Malformed, Truncated) as error:
        return _of_walk(walk, "msgpack", error, behind=bool(values))
    if len(values) > 1 and any(item.name not in _CONTAINERS for item in values):
        return _behind(values, len(data))
    return None


def _wrong_leaf(data: bytes, item: Item) -> str:
    """Returns what is wrong with a text or a timestamp; empty if nothing is."""
    if item.name == "text":
        text = data[item.start : item.end]
        at = 1 if text[0] < 0xC0 else {0xD9: 2, 0xDA: 3, 0xDB: 5}[text[0]]
        try:
            text[at:].decode()
        except UnicodeDecodeError:
            return f"invalid text: expected UTF-8, got {_short(text[at:])}"
    if item.name == "extensions":
        from msgpack import Timestamp

        head = 2 if data[item.start] >= 0xD4 else {0xC7: 3, 0xC8: 4, 0xC9: 6}[data[item.start]]
        if data[item.start + head - 1] == 0xFF:
            content = data[item.start + head : item.end]
            try:
                Timestamp.from_bytes(content)
            except ValueError as error:
                return f"invalid timestamp: {str(error).rstrip('.')}, got {_short(content)}"
    return ""


def _cbor(data: bytes) -> Fault | None:
    import cbor2

    file = BytesIO(data)
    decoder = cbor2.CBORDecoder(file, read_size=1)  # so that it stands where it stopped
    stopped, refused = None, ""
    try:
        while file.tell() < len(data):
            decoder.decode()
    except Exception as error:  # of the reader, which has several
        stopped, refused = file.tell(), str(error)
    walk = Walk("cbor", data, _MOST_TOKENS)
    ends: list[tuple[Item, str]] = []  # the values that end there, the inner ones first
    values: list[Item] = []
    ended: Malformed | Truncated | None = None
    try:
        for item in walk:
            if not walk.open and (stopped is None or item.end < stopped):
                values.append(item)
            if item.end == stopped:
                ends.append((item, _at(walk, "cbor")))
            elif stopped is not None and item.end > stopped:
                break
    except (Malformed, Truncated) as error:
        ended = error
    if stopped is None and len(values) > 1 and any(item.name not in _CONTAINERS for item in values):
        return _behind(values, len(data))
    for item, at in ends:
        if said := _wrong_value(data[item.start : item.end], item.name):
            return Fault(Malformed, said + at, item.start)
    if ended is not None:
        return _of_walk(walk, "cbor", ended, behind=bool(values))
    if stopped is None or not ends:
        return None
    said = f"invalid CBOR: {refused.removeprefix('error decoding ')[:120]}"
    return Fault(Malformed, f"{said}{ends[0][1]}", ends[0][0].start)


def _wrong_value(data: bytes, name: str) -> str:
    """Returns the reader's error for one value of CBOR; empty if it accepts it."""
    import cbor2

    try:
        cbor2.loads(data)
    except Exception as error:  # of the reader, which has several
        if name == "text":
            return f"invalid text: expected UTF-8, got {_short(data[1:])}"
        if name != "tags":
            return f"invalid CBOR: {str(error).removeprefix('error decoding ')[:80]}"
        tag, content = cbor_argument(data, 0)
        expected = _TAGS.get(tag)
        got = _shown(data[content:])
        if expected is not None:
            return f"invalid tag {tag}: expected {expected}, got {got}"
        return f"invalid tag {tag:,}: {str(error)[:80]}, got {got}"
    return ""


def _of_walk(walk: Walk, format: str, error: Malformed | Truncated, *, behind: bool) -> Fault:
    """Returns what ended a walk; behind a first value it may be anything, and is not taken for a value that was cut."""
    said = f"{error}{_at(walk, format)}"
    if behind:
        return Fault(Malformed, f"behind its first value: {said}", error.offset or 0)
    if isinstance(error, Truncated):
        return Fault(Truncated, said, error.offset or 0, _CUT)
    return Fault(Malformed, said, error.offset or 0)


def _behind(values: list[Item], size: int) -> Fault:
    said = f"{size - values[0].end:,} bytes behind its first value, not all of them objects or arrays"
    return Fault(Malformed, said, values[0].end, "Cut them off, or write one value.")


def _at(walk: Walk, format: str) -> str:
    def text(key: bytes) -> str:
        return _key(format, key)

    pointer = walk.path(text)
    return f", at {show(pointer, 80)[1:-1]}" if pointer else ""


def _key(format: str, data: bytes) -> str:
    if len(data) > _MOST_KEY_BYTES:
        return "..."
    try:
        return str(_value(format, data))
    except Exception:  # of two readers
        return data.hex()


def _value(format: str, data: bytes) -> Any:
    if format == "cbor":
        import cbor2

        return cbor2.loads(data)
    import msgpack

    return msgpack.unpackb(data, timestamp=0, strict_map_key=False)


def _shown(data: bytes) -> str:
    """A value of CBOR in a few words."""
    if len(data) > _MOST_KEY_BYTES:
        return f"{len(data):,} bytes of CBOR"
    try:
        return show(_value("cbor", data), _SHOWN)
    except (Exception, TareError):
        return _short(data)


def _short(data: bytes) -> str:
    return f"the bytes {data[:12].hex()}{'...' * (len(data) > 12)}"
