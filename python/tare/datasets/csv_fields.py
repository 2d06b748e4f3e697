"""What stands in the fields of a CSV that its types do not tell: codes that look like numbers, words for missing values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tare import _tare

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from tare.datasets.csv_dialect import Dialect

__all__ = ["MISSING", "Fields", "fields_of", "plain_columns"]

MISSING = ("", "NA", "N/A", "#N/A", "NULL", "null")
_WORDS = MISSING[1:]
_BYTES = [word.encode() for word in _WORDS]


@dataclass(frozen=True)
class Fields:
    """What stands in the fields of the columns of a text.

    Args:
        codes: Columns with a field that no decimal number is written as: ``007``, ``0x1F``, ``+491701234567``.
        zeros: Columns with a zero that has a minus.
        words: The word that most often stands for a missing value, of each column that has one; a name that occurs
            twice is passed over.
        ends: The least and the most of columns of whole numbers, where they were found by the way.
    """

    codes: frozenset[str] = frozenset()
    zeros: frozenset[str] = frozenset()
    words: dict[str, str] = field(default_factory=dict)
    ends: dict[str, tuple[int, int]] = field(default_factory=dict)


def fields_of(data: bytes, style: Dialect, names: Sequence[str]) -> Fields:
    r"""Returns what stands in the fields of a text that has been read.

    Args:
        data: The text, in UTF-8, with its header line.
        style: How fields stand in it.
        names: The names of all its columns, in their order.

    >>> from tare.datasets.csv_dialect import dialect
    >>> data = b"zip,n\n01067,NA\n80331,-0\n"
    >>> fields_of(data, dialect(data), ["zip", "n"])
    Fields(codes=frozenset({'zip'}), zeros=frozenset({'n'}), words={'n': 'NA'}, ends={})
    """
    found = _tare.look_at_fields(
        data, ord(style.delimiter), _BYTES, quotes=not style.literal, escapes=style.escaped
    )
    return Fields(
        frozenset(name for name, (codes, _, _) in zip(names, found, strict=False) if codes),
        frozenset(name for name, (_, zeros, _) in zip(names, found, strict=False) if zeros),
        _most_frequent(names, [words for _, _, words in found]),
    )


def plain_columns(data: bytes, style: Dialect, names: list[str]) -> tuple[pa.Table, Fields] | None:
    r"""Returns a text as a table, if there is no doubt what its fields are; its codes are text.

    Args:
        data: The text, in UTF-8, with its header line.
        style: How fields stand in it.
        names: The names of all its columns, in their order.

    >>> from tare.datasets.csv_dialect import dialect
    >>> data = b"zip,n\n01067,NA\n80331,2\n"
    >>> table, fields = plain_columns(data, dialect(data), ["zip", "n"])
    >>> table.to_pydict(), set(fields.codes)
    ({'zip': ['01067', '80331'], 'n': [None, 2]}, {'zip'})
    """
    import pyarrow as pa

    if any("\0" in name for name in names):  # where the interface of C ends a name
        return None
    if style.one or style.literal or style.escaped or style.decimal != "." or len(set(names)) < len(names):
        return None
    found = _tare.read_columns(data, ord(style.delimiter), _BYTES, names)
    if found is None:
        return None
    rows, told = found
    batch: pa.RecordBatch = pa.record_batch(rows)
    kept = frozenset(name for name, (are, _, _) in zip(names, told, strict=True) if are)
    ends = {name: ends for name, (_, _, ends) in zip(names, told, strict=True) if ends is not None}
    words = _most_frequent(names, [words for _, words, _ in told])
    return pa.Table.from_batches([batch]), Fields(kept, frozenset(), words, ends)


def _most_frequent(names: Sequence[str], words: Sequence[list[tuple[int, int]]]) -> dict[str, str]:
    often = Counter(names)
    return {
        name: _WORDS[max(found, key=lambda word: word[1])[0]]
        for name, found in zip(names, words, strict=False)
        if found and often[name] == 1
    }
