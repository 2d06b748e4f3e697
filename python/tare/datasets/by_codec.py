"""Reads a file by a codec that was named: the whole, or some columns of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare import collector, kinds
from tare.codec import Codec, decode_columns, decode_file
from tare.datasets.tables import check_columns, places_of
from tare.errors import TareError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.datasets.source import Source

__all__ = ["read_by_codec", "select_columns"]


def read_by_codec(
    source: Source, codec: Codec, *, trust: bool = False, columns: list[str] | None = None
) -> Any:
    """Returns what is in a file, as the codec's library gives it.

    Args:
        source: The file.
        codec: What reads it.
        trust: As of `Codec.decode`.
        columns: Names of the columns to read, by the library's own means where it has some; all by default.

    Raises:
        DecodeError, NotTrusted: As of `Codec.decode`.
        UsageError: It has no such column, or no columns at all.
    """
    # As it was measured: the collector would look at every value that is made, again and again.
    with collector.paused(), source.naming(), source.open_stored() as file:
        path = None if source.compressors else source.path
        if columns is None:
            return decode_file(codec, file, path, trust=trust)
        names = list(dict.fromkeys(columns))
        try:
            return select_columns(None, decode_columns(codec, file, path, names, trust=trust), names)
        except TareError:  # whatever is wrong is told of the whole, which tells what columns there are
            file.seek(0)
            return select_columns(source, decode_file(codec, file, path, trust=trust), names)


def select_columns(
    source: Source | None, value: Any, columns: Sequence[str], *, is_part: bool = False
) -> Any:
    """Returns some columns of a table, or of rows, of whatever kind in memory.

    Args:
        source: The file that it is from, for messages.
        value: A table of Arrow, pandas or polars, a list of dicts or a dict of lists.
        columns: Their names.
        is_part: Whether there are more rows in the file, which may have a name that these do not have.

    Raises:
        UsageError: One of them is not there, or the value has no columns.

    >>> select_columns(None, {"a": [1, 2], "b": [3, 4]}, ["b"])
    {'b': [3, 4]}
    """
    kind = kinds.memory_kind(value)
    if kind == "arrow":
        return value.select(places_of(source, value.schema, columns))
    if kind in ("pandas", "polars"):
        check_columns(source, list(value.columns), columns)
        return value[list(columns)]
    if kind == "columns":
        check_columns(source, list(value), columns)
        return {name: value[name] for name in columns}
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        what, advice = "it has no columns", "Only tables and lists of objects have some: leave out columns."
        raise (
            UsageError(f"{what}. {advice}")
            if source is None
            else source.error(UsageError, what, advice=advice)
        )
    if value and not is_part:
        check_columns(source, list(dict.fromkeys(name for row in value for name in row)), columns)
    return [{name: row[name] for name in columns if name in row} for row in value]
