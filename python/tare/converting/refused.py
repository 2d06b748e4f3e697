"""Which part of a document or table a codec refuses, as libraries seldom say where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.errors import Limit, TareError
from tare.frames import bytes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from tare.codec import Codec
    from tare.datasets.source import Source

__all__ = ["first_refused", "first_refused_column", "reason_of", "refuse_rows_of_nothing"]

_MOST_LEVELS = 1000
# Rows that take less than this part of a byte each hold nothing: as many as a few bytes may claim become no text.
_LEAST_BYTES, _MOST_EMPTY = 1 / 64, 10_000_000
_IN_NO_BYTES = ("arrow", "parquet")


def first_refused(codec: Codec, value: Any) -> tuple[str, Any] | None:
    """The first part that is refused by itself, deep inside: its JSON pointer (RFC 6901) and its value.

    It costs about one encoding of the document for each level that it goes down.

    Args:
        codec: The codec that refused the document.
        value: The document.

    Returns:
        None if the codec takes every part, or nothing but maps of its own kind.

    >>> from tare.codec import Codec
    >>> first_refused(Codec.parse("json:stdlib"), {"a/b": [1, {"c": b""}]})
    ('/a~1b/1/c', b'')
    """
    wrap = next((wrap for wrap in (_in_list, _in_map) if _takes(codec.encode, wrap(0))), None)
    if wrap is None or _takes(codec.encode, wrap(value)):
        return None
    pointer = ""
    for _ in range(_MOST_LEVELS):
        inner = _refused_inside(codec, wrap, value)
        if inner is None:
            break
        name, value = inner
        pointer += "/" + str(name).replace("~", "~0").replace("/", "~1")
    return pointer, value


def first_refused_column(
    codec: Codec, table: pa.Table, write: Callable[[Any], object] | None = None
) -> tuple[str, int | None] | None:
    r"""The first column that is refused by itself, and its first row that is: None where its type alone is refused.

    It costs about one encoding of the table, and two of that column.

    Args:
        codec: The codec that refused the table.
        table: The table.
        write: Writes it as a conversion does, with what that makes of a type; the codec alone by default.

    Returns:
        The column's name and the row, from 0; None if the codec takes every column.

    >>> import pyarrow as pa
    >>> from tare.codec import Codec
    >>> first_refused_column(Codec.parse("csv:pyarrow"), pa.table({"a": [1, 2], "b": [b"a", b"\xff"]}))
    ('b', 1)
    """
    write = write or codec.encode
    for place, name in enumerate(table.column_names):
        column = table.select([place])
        if _takes(write, column):
            continue
        if not column.num_rows or not _takes_type(write, column):
            return name, None
        low, high = 0, column.num_rows
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _takes(write, column.slice(low, middle - low)) else (low, middle)
        return name, low
    return None


def _in_list(value: Any) -> Any:
    return [value]


def _in_map(value: Any) -> Any:
    return {"x": value}


def reason_of(write: Callable[[Any], object], value: Any) -> str:
    """Returns what a writer says of a value that it refuses; empty if it takes it."""
    try:
        write(value)
    except TareError as error:
        return str(error)
    return ""


def _takes(write: Callable[[Any], object], value: Any) -> bool:
    try:
        write(value)
    except TareError:
        return False
    return True


def _takes_type(write: Callable[[Any], object], column: pa.Table) -> bool:
    """Returns whether a writer accepts a missing value of a column's type."""
    import pyarrow as pa

    kind: Any = column.schema.types[0]
    try:
        return _takes(write, pa.Table.from_arrays([pa.nulls(1, kind)], schema=column.schema))
    except pa.ArrowException:
        return True


def _refused_inside(codec: Codec, wrap: Callable[[Any], Any], value: Any) -> tuple[Any, Any] | None:
    """Name or place of the first member that is refused, and it; None if each is taken, or there are none."""
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list | tuple):
        members = list(enumerate(value))
    else:
        return None
    # By halves: the first half with a refused member, until one is left.
    while members:
        half = members[: max(1, len(members) // 2)]
        if _takes(codec.encode, wrap([member for _, member in half])):
            members = members[len(half) :]
        elif len(half) == 1:
            return half[0]
        else:
            members = half
    return None


def refuse_rows_of_nothing(value: Any, codec: Codec, source: Source | None) -> None:
    """Refuses billions of rows without a value, which a file of some bytes may claim, where each of them would be written.

    Args:
        value: What is converted, a table or a document.
        codec: How it is to be written.
        source: The file; None for what is in memory, and whose owner knows its length.

    Raises:
        Limit: They are more than ten million.
    """
    if source is None or not getattr(value, "num_columns", 0) or codec.format_id in _IN_NO_BYTES:
        return
    rows = value.num_rows
    if rows > _MOST_EMPTY and (size := bytes_of(value)) < rows * _LEAST_BYTES:
        raise source.error(
            Limit,
            f"{rows:,} rows that hold next to nothing ({size:,} bytes): at most {_MOST_EMPTY:,} such rows are written as "
            f"{codec.format_id}",
            advice="Convert it to .arrow, which has them in as few bytes.",
        )
