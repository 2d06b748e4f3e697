"""Words in columns of text that were read as missing: `NA` may be a name, as of Namibia's code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.datasets.source import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from tare.datasets.source import Source

__all__ = ["note_words"]

_TOLD = 3


def note_words(source: Source, words: Mapping[str, str], schema: pa.Schema) -> None:
    """Notes which words stand for missing values in columns of text.

    Args:
        source: The file; it gets the note.
        words: The word that most often stands for a missing value, of columns that have one.
        schema: What they were read as.
    """
    import pyarrow as pa

    texts = [field.name for field in schema if field.type in (pa.string(), pa.null())]
    found = [name for name in texts if name in words]
    if not found:
        return
    told = [f"'{words[name]}' in {printable(name, 30)!r}" for name in found[:_TOLD]]
    more = ", ..." if len(found) > _TOLD else ""
    source.notes.append(
        f"bare words are read as missing values: {', '.join(told)}{more}; in quotes they are text"
    )
