"""Reads ORC by stripes: what a process of its own does for `tables.load_orc`, as damaged bytes crash Arrow's reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tare.datasets.tables import spread

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["load"]


def load(file: Any, *, columns: list[str] | None, max_bytes: int | None) -> Any:
    """Returns names of columns and number of rows, the types, and batches: all, or stripes spread over the file that fit.

    Args:
        file: An Arrow file.
        columns: Names of the columns to read; None for all.
        max_bytes: Bound on their bytes in memory; None for none.
    """
    from pyarrow import orc

    opened = orc.ORCFile(file)
    names = opened.schema.names
    known = [name for name in columns if name in names] if columns is not None else None
    schema = _chosen(opened.schema, known)
    said: dict[str, Any] = {"names": names, "rows": opened.nrows, "whole": True}
    if columns is not None and len(known or ()) < len(columns):
        return said, schema, iter(())  # who asks says so
    numbers = list(range(opened.nstripes))
    if max_bytes is not None and len(numbers) > 1:
        first = opened.read_stripe(0, columns=known)
        if first.nbytes * len(numbers) > max_bytes:
            numbers = spread([1] * len(numbers), max(int(max_bytes / max(first.nbytes, 1)), 1))
            said["whole"] = False
    return said, schema, (opened.read_stripe(number, columns=known) for number in numbers)


def _chosen(schema: pa.Schema, names: list[str] | None) -> pa.Schema:
    """The schema of some columns, in the order of the file, which ORC keeps."""
    import pyarrow as pa

    if names is None:
        return schema
    return pa.schema([field for field in schema if field.name in names], metadata=cast(Any, schema.metadata))
