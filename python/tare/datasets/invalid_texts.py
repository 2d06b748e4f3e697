"""Texts of tables that are not UTF-8: Arrow reads them from Parquet as they are, and whoever uses them fails or passes them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.datasets.source import Source, printable
from tare.errors import Malformed
from tare.formats.columnar import check_values

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_texts"]

_INVALID = "Invalid UTF8"
_LEAVE_OUT = "Read its other columns (columns, --columns), or have it written again as UTF-8."


def check_texts(source: Source, table: pa.Table, before: int = 0) -> pa.Table:
    """Returns a table whose texts are all UTF-8.

    Args:
        source: The file.
        table: What was read of it.
        before: Rows of the file before these.

    Raises:
        Malformed: A text is not UTF-8; its column and row are named.
    """
    import pyarrow as pa

    try:
        check_values(table)
    except pa.ArrowInvalid as error:  # also of a time of day beyond the day's end, which is no fault here
        place = _place(table, before)
        if place is not None:
            raise source.error(Malformed, place, advice=_LEAVE_OUT) from error
    return table


def _place(table: pa.Table, before: int) -> str | None:
    """Says where the first text stands that is not UTF-8; None if all are."""
    import pyarrow as pa

    for field, column in zip(table.schema, table.columns, strict=True):
        if _is_valid(column):
            continue
        name = printable(field.name, 40)
        if pa.types.is_nested(field.type):  # Arrow looks at all that lies below, whatever rows are asked for
            return f"column {name!r}: a text in it is not UTF-8"
        at, end = 0, len(column)
        while end - at > 1:  # the first half that is not valid, and so on
            middle = (at + end) // 2
            at, end = (at, middle) if not _is_valid(column.slice(at, middle - at)) else (middle, end)
        return f"column {name!r}, row {before + at + 1:,}: the text is not UTF-8"
    return None


def _is_valid(column: Any) -> bool:
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        return _INVALID not in str(error)
    return True
