"""MessagePack and CBOR token by token: what each is, and a walk over values that knows where it stands. Not a format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tare.errors import Malformed, Truncated

__all__ = ["OF", "Item", "Open", "Token", "Walk", "cbor", "cbor_argument", "msgpack"]

# A token: its type, bytes of its head, bytes of its content, number of values it contains.
Token = tuple[str, int, int, int]

_INNER = ("maps", "arrays", "tags", "text in pieces")


@dataclass(slots=True)
class Open:
    """A value that is not at its end.

    Args:
        name: Its type.
        start: Its first byte.
        left: How many values are missing; below 0 until a break.
        done: How many values it has.
        key: Where the last key of a map stands.
        size: For who walks: what its values add up to.
    """

    name: str
    start: int
    left: int
    done: int = 0
    key: tuple[int, int] = (0, 0)
    size: int = 0

    @property
    def at_key(self) -> bool:
        """Whether it is a map whose next value is a key."""
        return self.name == "maps" and self.done % 2 == 0


@dataclass(slots=True)
class Item:
    """A value at its end.

    Args:
        name: Its type.
        start: Its first byte.
        end: The byte behind it.
        size: What its values added up to; 0 of one that has none.
    """

    name: str
    start: int
    end: int
    size: int = 0


class Walk:
    """Goes over values one behind the other, without recursion, and makes none.

    Args:
        format: ``msgpack`` or ``cbor``.
        data: The bytes.
        most: How many tokens are read.
        opened: Is called with each value that has others, where it begins.

    >>> [(one.name, one.start, one.end) for one in Walk("cbor", bytes.fromhex("820102"))]
    [('integers', 1, 2), ('integers', 2, 3), ('arrays', 0, 3)]
    """

    def __init__(
        self, format: str, data: bytes, most: int = 1 << 62, *, opened: Callable[[Open], None] | None = None
    ) -> None:
        self._read = OF[format]
        self._opened = opened
        self._data = data
        self._left = most
        self.at = 0
        self.open: list[Open] = []

    def __iter__(self) -> Iterator[Item]:
        """Yields each value where it ends, those within others before these.

        Raises:
            Truncated: The bytes end within a value.
            Malformed: A byte that begins none, at `at`.
        """
        data, stack = self._data, self.open
        while self.at < len(data) and self._left:
            self._left -= 1
            try:
                name, head, size, inner = self._read(data, self.at)
            except IndexError:
                raise Truncated("it ends inside a value", offset=len(data)) from None
            except ValueError as error:
                raise Malformed(str(error), offset=self.at) from None
            start = self.at
            if start + head + size > len(data):
                raise Truncated("it ends inside a value", offset=len(data))
            if name == "break" and (not stack or stack[-1].left >= 0):
                raise Malformed("a break ends nothing", offset=start)
            self.at = start + head + size
            if name in _INNER and inner:
                stack.append(Open(name, start, inner))
                if self._opened is not None:
                    self._opened(stack[-1])
                continue
            item = self._close() if name == "break" else Item(name, start, self.at)
            yield item
            while stack:
                top = stack[-1]
                if top.at_key:
                    top.key = (item.start, item.end)
                top.done += 1
                top.left -= top.left > 0
                if top.left:
                    break
                item = self._close()
                yield item
        if stack and self._left:
            raise Truncated("it ends inside a map, list or tag", offset=len(data))

    def _close(self) -> Item:
        top = self.open.pop()
        return Item(top.name, top.start, self.at, top.size)

    def path(self, show: Callable[[bytes], str]) -> str:
        """Returns the JSON pointer (RFC 6901) to the value that was read last, or is being read.

        Args:
            show: Makes text of the bytes of a key.
        """
        steps: list[str] = []
        for one in self.open:
            if one.at_key:
                break  # the pointer to a key is that of its map
            if one.name == "arrays":
                steps.append(str(one.done))
            elif one.name == "maps":
                steps.append(show(self._data[one.key[0] : one.key[1]]))
        return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def msgpack(data: bytes, at: int) -> Token:
    """Returns one token, as the MessagePack specification lays it out.

    Args:
        data: The bytes.
        at: The token's first byte.

    Raises:
        IndexError: The bytes end within its head.
        ValueError: No token begins with this byte.
    """
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


def cbor(data: bytes, at: int) -> Token:
    """Returns one token, as RFC 8949 lays it out.

    Args:
        data: The bytes.
        at: The token's first byte.

    Raises:
        IndexError: The bytes end within its head.
        ValueError: No token begins with this byte.
    """
    major, low = data[at] >> 5, data[at] & 31
    if 28 <= low <= 30 or (low == 31 and major in (0, 1, 6)):
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


def cbor_argument(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number in the head of a token of CBOR, and where its content begins.

    Args:
        data: The bytes.
        at: The token's first byte; it is not one of unknown length.
    """
    low = data[at] & 31
    if low < 24:
        return low, at + 1
    width = 1 << (low - 24)
    return _number(data, at + 1, width), at + 1 + width


def _number(data: bytes, at: int, width: int) -> int:
    if at + width > len(data):
        raise IndexError(at)
    return int.from_bytes(data[at : at + width], "big")


OF: dict[str, Callable[[bytes, int], Token]] = {"msgpack": msgpack, "cbor": cbor}
"""What reads a token, by format."""
