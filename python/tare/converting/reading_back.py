"""Reads what was written, to compare it with what it was written from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tare import kinds
from tare.codec import Codec
from tare.converting import batches, changes, exact_texts, line_tables, objects
from tare.converting.rows import filled
from tare.datasets.source import Source, printable
from tare.errors import DecodeError, EncodeError, Unsupported

__all__ = ["read_back"]


def read_back(
    value: Any, name: str, result: Source, codec: Codec, read: Callable[[Source], Any]
) -> tuple[Any, list[dict[str, Any]]]:
    """Returns what a reader gives of a result, and how it differs from what was written.

    Args:
        value: What was written: a table of Arrow, or a document.
        name: What to call it.
        result: The bytes that it was written as.
        codec: What wrote it.
        read: Reads a document or a table, where no quicker reader does.

    Raises:
        EncodeError: The result cannot be read.
    """
    table = kinds.kind_of(value) == "table"
    if table and (columns := line_tables.table_written(result, value.schema)) is not None:
        return columns, changes.table_changes(value, columns)
    if table and codec.format_id == "ndjson" and value.num_columns:
        lists = batches.lists_of(result, value.column_names)
        return lists, changes.columns_changes(value, lists)
    try:
        back = read(result)
    except (DecodeError, Unsupported) as error:
        raise EncodeError(
            f"{printable(name)}: {codec} writes it, but what it writes cannot be read back here to compare it: "
            f"{str(error).partition(': ')[2].partition('. ')[0]}. Nothing was written. Say --no-verify to write it unread.",
            format=codec.format_id,
        ) from error
    found = _changes(value, back, codec)
    if codec.format_id == "csv":
        found = exact_texts.compare_decimals(
            found, value, back, result, lambda exact: _changes(value, exact, codec)
        )
    return back, found


def _changes(value: Any, back: Any, codec: Codec) -> list[dict[str, Any]]:
    if kinds.kind_of(value) == "table":
        return changes.table_changes(value, back)
    columns = kinds.kind_of(back) == "table"  # records went into a table format
    if columns:
        back = kinds.convert(back, "records" if isinstance(value, list) else "columns")
        value = filled(value, back)  # the names that a row lacks are told before
    in_utc = codec.format_id == "bson" or objects.writes(codec)  # as all moments are there
    return changes.document_changes(value, back, columns=columns, in_utc=in_utc)
