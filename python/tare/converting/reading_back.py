"""Reads what was written, to compare it with what it was written from."""

from __future__ import annotations

from typing import Any

from tare import kinds
from tare.codec import Codec
from tare.converting import batches, changes, exact_texts, line_tables
from tare.converting.rows import filled
from tare.dataset import Dataset, open_dataset
from tare.datasets.source import Source, printable
from tare.errors import DecodeError, EncodeError, Unsupported

__all__ = ["read_back"]


def read_back(data: Dataset, result: Source, codec: Codec) -> tuple[Any, list[dict[str, Any]]]:
    """Returns what a reader gives of a result, and how it differs from what was written.

    Args:
        data: What was written.
        result: The bytes that it was written as.
        codec: What wrote it.

    Raises:
        EncodeError: The result cannot be read.
    """
    back: Any = None
    table = data.kind == "table"
    if table and (back := line_tables.table_written(result, data.value.schema)) is not None:
        return back, changes.table_changes(data.value, back)
    if table and codec.format_id == "ndjson" and data.value.num_columns:
        back = batches.lists_of(result, data.value.column_names)
        return back, changes.columns_changes(data.value, back)
    try:  # our own bytes: nothing foreign is run when a pickle is read back
        back = open_dataset(result, allow_pickle=True).value
    except (DecodeError, Unsupported) as error:
        raise EncodeError(
            f"{printable(data.name)}: {codec} writes it, but what it writes cannot be read back here to compare it: "
            f"{str(error).partition(': ')[2].partition('. ')[0]}. Nothing was written. Say --no-verify to write it unread.",
            format=codec.format_id,
        ) from error
    found = _changes(data, back, codec)
    if codec.format_id == "csv":
        found = exact_texts.judged(
            found, data.value, back, result, lambda exact: _changes(data, exact, codec)
        )
    return back, found


def _changes(data: Dataset, back: Any, codec: Codec) -> list[dict[str, Any]]:
    if data.kind == "table":
        return changes.table_changes(data.value, back)
    value = data.value
    columns = kinds.kind_of(back) == "table"  # records went into a table format
    if columns:
        back = kinds.convert(back, "records" if isinstance(value, list) else "columns")
        value = filled(value, back)  # the names that a row lacks are told before
    return changes.document_changes(value, back, columns=columns, in_utc=codec.format_id == "bson")
