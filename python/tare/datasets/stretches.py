"""Stretches of a long text of JSON, spread over the file: whole items of its long list, or whole lines, read without the rest.

Where an item begins in the midst of a list its brackets tell: while items end in a stretch, the least depth in it is
that of the list. What cannot be told for sure is not guessed: then the caller reads the text from its beginning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.datasets import recognise
from tare.datasets.jsonscan import outside_strings
from tare.formats.csv_rows import BOM

if TYPE_CHECKING:
    import numpy as np

    from tare.datasets.source import Source

__all__ = ["STRETCHES", "spread"]

STRETCHES = 8
"""How many stretches a part is read in."""
# The least bytes of one, and the share of the file from which on the part is its beginning.
_LEAST_BYTES, _NEARLY_ALL = 512 << 10, 0.8
# Items that a stretch has at least, and those looked at to tell whether they are of the same list.
_FEWEST, _LOOKED_AT = 4, 16
# The long list stands at most so deep.
_DEEPEST = 4
_OPEN, _CLOSE, _COMMA = b"[{", b"]}", 0x2C


def spread(source: Source, limit: int) -> tuple[bytes, float] | None:
    """Returns text of whole items, or lines, from all over a file, and the share of its bytes that they are.

    Of an object that holds a long list what stands before the list is kept, and what follows it is not.

    Args:
        source: A file of JSON or NDJSON.
        limit: How many bytes of it are read.

    Returns:
        Text that parses as the file does; None where stretches of it do not tell their items: a compressed file, one
        long value, text in UTF-16, items that are longer than a stretch.
    """
    length = limit // STRETCHES
    plain = not source.compressors and not source.cut
    if not plain or length < _LEAST_BYTES or limit >= _NEARLY_ALL * source.size:
        return None
    if recognise.encoding_of(source.head[:4]) not in (None, "utf-8-sig"):
        return None
    pieces = list(_pieces(source, length))
    found = _lines(pieces) if source.format == "ndjson" else _items(pieces)
    if found is None:
        return None
    text, taken = found
    return text, taken / max(source.size, 1)


def _pieces(source: Source, length: int) -> Iterator[bytes]:
    with source.naming(), source.open() as file:
        for place in range(STRETCHES):
            file.seek(place * source.size // STRETCHES)
            yield file.read(length)


def _lines(pieces: Sequence[bytes]) -> tuple[bytes, int] | None:
    found = []
    for place, piece in enumerate(pieces):
        start = piece.find(b"\n") + 1 if place else 0
        end = piece.rfind(b"\n") + 1
        if (place and not start) or end <= start:
            return None
        found.append(piece[start:end])
    return b"".join(found), sum(map(len, found))


@dataclass
class _Run:
    """Items on end in one piece of text.

    Args:
        text: The piece.
        edges: Offset before the first item, and that of the comma behind each.
    """

    text: bytes
    edges: np.ndarray[Any, Any]

    @property
    def items(self) -> bytes:
        """Their text, with the commas between them."""
        return self.text[int(self.edges[0]) + 1 : int(self.edges[-1])]

    def some(self) -> list[Any]:
        """A few of them, as values.

        Raises:
            ValueError, RecursionError: They are none.
        """
        count = len(self.edges) - 1
        chosen = sorted({place * count // _LOOKED_AT for place in range(_LOOKED_AT)})
        spans = [(int(self.edges[k]) + 1, int(self.edges[k + 1])) for k in chosen]
        return [json.loads(self.text[start:end]) for start, end in spans]


def _items(pieces: Sequence[bytes]) -> tuple[bytes, int] | None:
    first = _first_run(pieces[0].removeprefix(BOM))
    if first is None:
        return None
    before, run, behind = first
    runs = [run]
    for piece in pieces[1:]:
        one = _run_within(piece)
        if one is None:
            return None
        runs.append(one)
    try:
        if not _are_alike([one.some() for one in runs]):
            return None
    except (ValueError, RecursionError):
        return None
    texts = [one.items for one in runs]
    return before + b",".join(texts) + behind, len(before) + sum(map(len, texts))


def _first_run(text: bytes) -> tuple[bytes, _Run, bytes] | None:
    """What stands before the long list at the beginning of a text, the list's items, and what closes it."""
    import numpy as np

    marks = outside_strings(text)[0]
    if marks is None or len(marks) < 2:
        return None
    kinds, depth = _depths(text, marks)
    half = len(marks) // 2
    low = int(depth[half:].min())
    if not 1 <= low <= _DEEPEST:
        return None
    below = np.flatnonzero(depth < low)
    start = int(below[-1]) + 1 if len(below) else 0
    edges = marks[start:][(kinds[start:] == _COMMA) & (depth[start:] == low)]
    if start >= half or kinds[start] != _OPEN[0] or len(edges) < _FEWEST:
        return None
    opened = [
        int(np.flatnonzero((depth[: start + 1] == level) & np.isin(kinds[: start + 1], list(_OPEN)))[-1])
        for level in range(low, 0, -1)
    ]
    behind = bytes(_CLOSE[_OPEN.index(kinds[place])] for place in opened)
    run = _Run(text, np.concatenate(([marks[start]], edges)))
    return text[: int(marks[start]) + 1], run, behind


def _run_within(text: bytes) -> _Run | None:
    """The whole items of a piece that begins and ends anywhere in a list; None where it is not sure which they are."""
    if not text:
        return None
    # An escape may have begun before the piece; behind a byte that is no backslash none has.
    begin = next((at for at in range(1, min(len(text), 1 << 10)) if text[at - 1] != 0x5C), 0)
    if not begin:
        return None
    text = text[begin:]
    runs = []
    for marks in outside_strings(text):
        if marks is None or not len(marks):
            continue
        kinds, depth = _depths(text, marks)
        edges = marks[(kinds == _COMMA) & (depth == min(0, int(depth.min())))]
        if len(edges) > _FEWEST:
            runs.append(_Run(text, edges))
    # Whether it begins within a string is known where only one of the two gives items.
    return runs[0] if len(runs) == 1 else None


def _depths(text: bytes, marks: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The bytes at some places of a text, and behind each how deep it is, from where the text begins."""
    import numpy as np

    kinds = np.frombuffer(text, np.uint8)[marks]
    step = np.zeros(256, dtype=np.int8)
    step[list(_OPEN)], step[list(_CLOSE)] = 1, -1
    return kinds, np.cumsum(step[kinds], dtype=np.int32)


def _are_alike(several: Sequence[Sequence[Any]]) -> bool:
    """Whether items of each stretch are of the types of the first's, and objects of nearly its names.

    An item that is longer than a stretch may hold a list of its own, whose items would be taken for those of the
    outer one.
    """
    types = {type(item) for item in several[0]}
    names = {name for item in several[0] if isinstance(item, dict) for name in item}
    for items in several[1:]:
        if not all(type(item) in types or item is None for item in items):
            return False
        its = [name for item in items if isinstance(item, dict) for name in item]
        if sum(name in names for name in its) * 2 < len(its):
            return False
    return True
