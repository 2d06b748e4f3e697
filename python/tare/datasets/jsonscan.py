"""Structure of JSON text without parsing it: depth, open ends, a whole part of it, where its bytes go.

One pass over the bytes in blocks by numpy; memory does not depend on the length.
Strings are found by their quotes, so the text must be well formed up to where it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Scan", "cut", "outside_strings", "scan"]

_BLOCK_BYTES = 1 << 20
_OPEN, _CLOSE = b"[{", b"]}"


@dataclass
class Scan:
    """What a pass over JSON text found.

    Args:
        length: Bytes seen.
        depth: Deepest nesting of arrays and objects.
        depth_at: Offset where the deepest level opens.
        too_deep_at: Offset where the given limit was first passed; None if never.
        open_levels: Levels still open at the end.
        in_string: Whether the text ends inside a string.
        strings, keys: Bytes in strings that are values, and that are keys, quotes included.
        numbers, words, structure, space: Bytes in numbers; in true, false and null; in
            brackets, commas and colons; and in white space.
        values: Number of strings, numbers and words that are values.
        key_count: Number of keys.
    """

    length: int = 0
    depth: int = 0
    depth_at: int = 0
    too_deep_at: int | None = None
    open_levels: int = 0
    in_string: bool = False
    strings: int = 0
    keys: int = 0
    numbers: int = 0
    words: int = 0
    structure: int = 0
    space: int = 0
    values: int = 0
    key_count: int = 0


def scan(blocks: bytes | Iterable[bytes], *, max_depth: int | None = None) -> Scan:
    """Pass over JSON text, one value or many.

    Args:
        blocks: The text, whole or in pieces.
        max_depth: Remember where nesting first goes deeper than this.

    >>> found = scan(b'{"a": [1, "x"]}')
    >>> found.depth, found.keys, found.strings, found.numbers, found.open_levels
    (2, 3, 3, 1, 0)
    """
    result = Scan()
    state = _State()
    for block in _pieces(blocks):
        _block(block, result, state, max_depth)
    result.open_levels = state.depth
    result.in_string = state.in_string
    if state.string_bytes:  # a string at the end, cut or whole, is a value
        result.strings += state.string_bytes
        result.values += 1
    return result


def cut(data: bytes) -> tuple[bytes, int]:
    """The longest beginning of `data` that is JSON once its open brackets are closed.

    Args:
        data: The first bytes of one JSON value.

    Returns:
        Text that parses, and how many bytes of `data` it stands for; ``(b"", 0)`` if no
        member is complete.

    >>> cut(b'{"a": [1, 2, 3')
    (b'{"a": [1, 2]}', 11)
    """
    result, state = Scan(), _State(keep=True)
    for block in _pieces(data):
        _block(block, result, state, None)
    if state.comma is None:
        return b"", 0
    offset, levels = state.comma
    closing = bytes(_CLOSE[_OPEN.index(bracket)] for bracket in reversed(levels))
    return data[:offset] + closing, offset


def outside_strings(data: bytes) -> tuple[Any, Any]:
    """Where brackets, commas and colons stand outside of strings, in text that may begin within a string.

    Args:
        data: A piece of JSON text, which begins behind no backslash.

    Returns:
        Their offsets if it begins outside of a string, and if it begins in one; None for what cannot be, as then
        other bytes than those of numbers, words and space would stand between strings.

    >>> [marks if marks is None else marks.tolist() for marks in outside_strings(b'b": [1, "x"')]
    [None, [2, 4, 6]]
    """
    import numpy as np

    bytes_ = np.frombuffer(data, np.uint8)
    quotes = np.zeros(len(bytes_), dtype=np.uint8)
    quotes[(bytes_ == 0x22) & ~_escaped(bytes_, _State())] = 1
    inside = np.bitwise_xor.accumulate(quotes) | quotes
    kinds = _plain_classes()[bytes_]
    found = []
    for outside in (inside == 0, (inside == 1) & (quotes == 0)):
        there = kinds * outside
        found.append(None if (there == _OTHER).any() else np.flatnonzero(there == _STRUCT))
    return found[0], found[1]


@dataclass
class _State:
    """What one block leaves for the next."""

    keep: bool = False
    in_string: bool = False
    backslashes: int = 0
    depth: int = 0
    string_bytes: int = 0  # of the last string, if nothing but space has followed it
    token: int = 0  # class of the last byte, to count tokens that cross blocks
    levels: bytearray = field(default_factory=bytearray)
    comma: tuple[int, bytes] | None = None


# classes of bytes outside strings
_SPACE, _STRUCT, _NUMBER, _WORD, _OTHER = 1, 2, 3, 4, 5


def _classes() -> Any:
    import numpy as np

    table = np.full(256, _WORD, dtype=np.uint8)
    table[list(b" \t\r\n")] = _SPACE
    table[list(b"[]{},:")] = _STRUCT
    table[list(b"+-.0123456789eE")] = _NUMBER
    return table


def _plain_classes() -> Any:
    """The classes, with one more for bytes that are in no word that JSON, or Python's, has."""
    table = _classes()
    words = set(b"true false null NaN Infinity")
    table[[byte for byte in range(256) if table[byte] == _WORD and byte not in words]] = _OTHER
    return table


def _block(block: bytes, result: Scan, state: _State, max_depth: int | None) -> None:
    import numpy as np

    bytes_ = np.frombuffer(block, np.uint8)
    quote = np.flatnonzero((bytes_ == 0x22) & ~_escaped(bytes_, state))
    # Inside a string: an odd number of quotes before; the quotes themselves count as string.
    toggles = np.zeros(len(bytes_), dtype=np.uint8)
    toggles[quote] = 1
    if len(bytes_):
        toggles[0] ^= state.in_string
    after = np.bitwise_xor.accumulate(toggles)
    inside = after.astype(bool)
    inside[quote] = True
    outside = ~inside
    kinds = _classes()[bytes_] * outside
    structure = np.flatnonzero(kinds == _STRUCT)
    if not state.keep:
        result.space += int(np.count_nonzero(kinds == _SPACE))
        result.structure += len(structure)
        _tokens(kinds, result, state)
        _strings((bytes_, quote, structure), result, state)
    _depths(bytes_, structure, result, state, max_depth)
    if len(bytes_):
        state.in_string = bool(after[-1])
    result.length += len(bytes_)


def _escaped(bytes_: Any, state: _State) -> Any:
    """Which bytes follow an odd run of backslashes."""
    import numpy as np

    escaped = np.zeros(len(bytes_), dtype=bool)
    slash = np.flatnonzero(bytes_ == 0x5C)
    carried = state.backslashes
    if not len(slash):
        state.backslashes = 0
        if carried % 2 and len(bytes_):
            escaped[0] = True
        return escaped
    starts = slash[np.concatenate(([True], np.diff(slash) > 1))]
    ends = slash[np.concatenate((np.diff(slash) > 1, [True]))] + 1
    runs = ends - starts
    if starts[0] == 0:
        runs[0] += carried
    elif carried % 2:
        escaped[0] = True
    state.backslashes = int(runs[-1]) if ends[-1] == len(bytes_) else 0
    odd = ends[(runs % 2 == 1) & (ends < len(bytes_))]
    escaped[odd] = True
    return escaped


def _tokens(kinds: Any, result: Scan, state: _State) -> None:
    """Numbers and words: runs of their bytes, told apart by how they start."""
    import numpy as np

    loose = (kinds == _NUMBER) | (kinds == _WORD)
    if not len(kinds):
        return
    before = np.concatenate(([state.token], kinds[:-1]))
    starts = np.flatnonzero(loose & (before != _NUMBER) & (before != _WORD))
    at = np.flatnonzero(loose)
    is_word = kinds[starts] == _WORD
    result.values += len(starts)
    # Bytes before the first start continue the block before.
    run = np.searchsorted(starts, at, side="right") - 1
    carried_word = state.token == _WORD
    word = np.where(run >= 0, is_word[np.maximum(run, 0)] if len(starts) else carried_word, carried_word)
    result.words += int(np.count_nonzero(word))
    result.numbers += int(len(at) - np.count_nonzero(word))
    last_is_loose = bool(loose[-1])
    state.token = (_WORD if bool(word[-1]) else _NUMBER) if last_is_loose else int(kinds[-1])


def _strings(found: tuple[Any, Any, Any], result: Scan, state: _State) -> None:
    """Bytes of strings; one that a colon follows is a key."""
    import numpy as np

    bytes_, quote, structure = found

    if not len(quote) and not state.string_bytes:
        return
    length = len(bytes_)
    opens = quote[int(state.in_string) :: 2]
    closes = quote[int(not state.in_string) :: 2]
    sizes = []
    if state.in_string:
        end = int(closes[0]) + 1 if len(closes) else length
        state.string_bytes += end
    if state.string_bytes and (not state.in_string or len(closes)):
        follow = structure[structure >= (int(closes[0]) if state.in_string else 0)]
        if len(follow) or len(opens):
            key = len(follow) > 0 and bytes_[follow[0]] == 0x3A and (not len(opens) or follow[0] < opens[0])
            sizes.append((state.string_bytes, key))
            state.string_bytes = 0
    whole_closes = closes[1:] if state.in_string else closes
    n = len(whole_closes)
    spans = whole_closes - opens[:n] + 1
    nxt = np.searchsorted(structure, whole_closes)
    has = nxt < len(structure)
    key = np.zeros(n, dtype=bool)
    key[has] = bytes_[structure[nxt[has]]] == 0x3A
    pending = 0
    if n and not has[-1] and len(opens) == n:
        pending = int(spans[-1])  # what follows it is in the next block
        spans, key = spans[:-1], key[:-1]
    result.keys += int(spans[key].sum())
    result.key_count += int(np.count_nonzero(key))
    result.strings += int(spans[~key].sum())
    result.values += int(np.count_nonzero(~key))
    for size, is_key in sizes:
        if is_key:
            result.keys += size
            result.key_count += 1
        else:
            result.strings += size
            result.values += 1
    if len(opens) > n:
        pending = length - int(opens[-1])
    state.string_bytes += pending


def _depths(bytes_: Any, structure: Any, result: Scan, state: _State, max_depth: int | None) -> None:
    import numpy as np

    marks = bytes_[structure]
    step = np.zeros(len(marks), dtype=np.int64)
    step[(marks == 0x5B) | (marks == 0x7B)] = 1
    step[(marks == 0x5D) | (marks == 0x7D)] = -1
    depth = state.depth + np.cumsum(step)
    if len(depth):
        top = int(depth.max())
        if top > result.depth:
            result.depth, result.depth_at = top, result.length + int(structure[int(depth.argmax())])
        if max_depth is not None and result.too_deep_at is None and top > max_depth:
            result.too_deep_at = result.length + int(structure[int(np.argmax(depth > max_depth))])
        if state.keep:
            _remember((structure, marks, depth), result.length, state)
        state.depth = int(depth[-1])


def _remember(found: tuple[Any, Any, Any], base: int, state: _State) -> None:
    """The brackets open at the last comma, and at the end of the block."""
    import numpy as np

    structure, marks, depth = found

    def levels(until: int) -> bytes:
        """Brackets open after the first `until` marks: at each level the last one opened."""
        end = int(depth[until - 1]) if until else state.depth
        low = min(int(depth[:until].min()), state.depth) if until else state.depth
        kept = state.levels[: max(low, 0)]
        if end <= len(kept):
            return bytes(kept[:end])
        opened = np.flatnonzero((marks[:until] == 0x5B) | (marks[:until] == 0x7B))
        # The last bracket opened at each level: sorted by level, then by place.
        order = np.lexsort((opened, depth[opened]))
        ranked = depth[opened][order]
        last = np.searchsorted(ranked, np.arange(len(kept) + 1, end + 1), side="right") - 1
        brackets: bytes = marks[opened[order[last]]].tobytes()
        return bytes(kept) + brackets

    commas = np.flatnonzero((marks == 0x2C) & (depth > 0))
    if len(commas):
        last = int(commas[-1])
        state.comma = (base + int(structure[last]), levels(last))
    state.levels = bytearray(levels(len(marks)))


def _pieces(blocks: bytes | Iterable[bytes]) -> Iterator[bytes]:
    for block in (blocks,) if isinstance(blocks, bytes) else blocks:
        for start in range(0, len(block), _BLOCK_BYTES):
            yield block[start : start + _BLOCK_BYTES]
