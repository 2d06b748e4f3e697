"""Words in columns of text that were read as missing: `NA` may be a name, as of Namibia's code."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from tare.datasets import csvs, encodings
from tare.datasets.csv_dialect import dialect
from tare.datasets.source import printable
from tare.errors import TareError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from tare.datasets.source import Source

__all__ = ["note_words", "texts_with_nulls"]

# Only the beginning of a text is looked at: a look at all of it would take as long as reading it.
_HEAD_BYTES = 1 << 20
_TOLD = 3


def texts_with_nulls(table: pa.Table) -> list[str]:
    """Returns the names of the columns that have missing values, and text or nothing else."""
    import pyarrow as pa

    text = (pa.string(), pa.null())
    columns = zip(table.column_names, table.columns, strict=True)
    return [name for name, column in columns if column.type in text and column.null_count]


def note_words(source: Source, names: Sequence[str], encoding: str | None = None) -> None:
    """Notes which words stand for missing values in columns of text, where some do at the beginning of the file.

    Args:
        source: The file; it gets the note.
        names: Names of the columns of text.
        encoding: The text's encoding if it is not UTF-8.
    """
    import pyarrow as pa

    if not names:
        return
    notes = list(source.notes)
    try:
        found = _words(source, list(dict.fromkeys(names)), encoding)
    except (TareError, pa.ArrowInvalid, KeyError):
        found = {}  # the reading of the whole says what is wrong with it
    source.notes[:] = notes
    if not found:
        return
    told = [f"'{word}' in {printable(name, 30)}" for name, word in list(found.items())[:_TOLD]]
    more = ", ..." if len(found) > _TOLD else ""
    source.notes.append(
        f"bare words are read as missing values: {', '.join(told)}{more}; in quotes they are text"
    )


def _words(source: Source, names: list[str], encoding: str | None) -> dict[str, str]:
    """The most frequent word of each column that was read as missing."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    compute: Any = pc
    data, share = source.read(_HEAD_BYTES)
    data = encodings.to_utf8(source, data, encoding, final=share == 1.0)
    if share < 1.0:
        data = data[: csvs.last_row(data)]
    style = dialect(data, source.ending)
    given = csvs.options(style, dict.fromkeys(names, pa.string()), names, len(data))
    missing = csv.read_csv(io.BytesIO(data), **given)
    given["convert_options"].strings_can_be_null = False
    plain = csv.read_csv(io.BytesIO(data), **given)
    found = {}
    for name in names:
        words = plain.column(name).filter(compute.is_null(missing.column(name)))
        counts = compute.value_counts(words.filter(compute.not_equal(words, ""))).to_pylist()
        if counts:
            found[name] = max(counts, key=lambda one: one["counts"])["values"]
    return found
