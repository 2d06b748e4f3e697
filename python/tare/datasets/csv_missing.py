"""Words in columns of text that were read as missing: `NA` may be a name, as of Namibia's code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tare.datasets import csvs
from tare.datasets.source import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from tare.datasets.csv_dialect import Dialect
    from tare.datasets.source import Source

__all__ = ["missing_words", "note_words", "texts_with_nulls"]

_WORDS = tuple(word.encode() for word in csvs.MISSING if word)
_TOLD = 3


def texts_with_nulls(table: pa.Table) -> list[str]:
    """Returns the names of the columns that have missing values, and text or nothing else."""
    import pyarrow as pa

    text = (pa.string(), pa.null())
    columns = zip(table.column_names, table.columns, strict=True)
    return [name for name, column in columns if column.type in text and column.null_count]


def missing_words(
    source: Source, data: bytes, style: Dialect, table: pa.Table, names: Sequence[str]
) -> dict[str, str]:
    """Returns the most frequent word of each column that was read as missing; of a column of empty fields, none.

    Args:
        source: Where the text is from, for messages.
        data: UTF-8 text with a header line.
        style: How fields stand in it.
        table: The table that the text was read as.
        names: Names of columns of the table; one that occurs twice is passed over.
    """
    import pyarrow.compute as pc

    often = Counter(table.column_names)
    names = [name for name in dict.fromkeys(names) if often[name] == 1]
    if not names or not any(word in data for word in _WORDS):
        return {}
    compute: Any = pc
    plain = csvs.texts_of(source, data, style, names)
    found = {}
    for name in names:
        words = plain.column(name).filter(compute.is_null(table.column(name)))
        counts = compute.value_counts(words.filter(compute.not_equal(words, ""))).to_pylist()
        if counts:
            found[name] = max(counts, key=lambda one: one["counts"])["values"]
    return found


def note_words(source: Source, found: Mapping[str, str]) -> None:
    """Notes which words stand for missing values in columns of text.

    Args:
        source: The file; it gets the note.
        found: The words of columns of text, as of `missing_words`.
    """
    if not found:
        return
    told = [f"'{word}' in {printable(name, 30)}" for name, word in list(found.items())[:_TOLD]]
    more = ", ..." if len(found) > _TOLD else ""
    source.notes.append(
        f"bare words are read as missing values: {', '.join(told)}{more}; in quotes they are text"
    )
