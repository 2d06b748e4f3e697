"""Reads ORC by stripes: what a process of its own does for `tables.load_orc`, as damaged bytes crash Arrow's reader.

Arrow reads them on one core. Several readers of the same file, each of some columns, use the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from tare.datasets.tables import spread

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["load"]


# Readers for each core: columns take longer than others.
_RUNS_A_CORE = 2


def load(file: Any, *, columns: list[str] | None, max_bytes: int | None, threads: int = 1) -> Any:
    """Returns names of columns and number of rows, and runs of neighbouring columns: the schema and the batches of each.

    These have all rows, or those of stripes spread over the file that fit.

    Args:
        file: An Arrow file.
        columns: Names of the columns to read; None for all.
        max_bytes: Bound on their bytes in memory; None for none.
        threads: How many threads may read runs at the same time.
    """
    from pyarrow import orc

    opened = orc.ORCFile(file)
    names = opened.schema.names
    known = [name for name in columns if name in names] if columns is not None else None
    schema = _chosen(opened.schema, known)
    said: dict[str, Any] = {"names": names, "rows": opened.nrows, "whole": True}
    if columns is not None and len(known or ()) < len(columns):
        return said, [(schema, iter(()))]  # who asks says so
    numbers = list(range(opened.nstripes))
    if max_bytes is not None and len(numbers) > 1:
        first = opened.read_stripe(0, columns=known)
        if first.nbytes * len(numbers) > max_bytes:
            numbers = spread([1] * len(numbers), max(int(max_bytes / max(first.nbytes, 1)), 1))
            said["whole"] = False
    runs = _runs(schema, threads)
    if len(runs) < 2:
        return said, [(schema, (opened.read_stripe(number, columns=known) for number in numbers))]
    return said, [(_chosen(opened.schema, run), _stripes(file, numbers, run)) for run in runs]


def _stripes(file: Any, numbers: list[int], names: list[str]) -> Iterator[pa.RecordBatch]:
    """Yields some columns of stripes, by a reader of their own."""
    from pyarrow import orc

    opened = orc.ORCFile(file)
    for number in numbers:
        yield opened.read_stripe(number, columns=names)


def _runs(schema: pa.Schema, threads: int) -> list[list[str]]:
    """Returns names of neighbouring columns that one reader reads; one run of all where names tell no column alone."""
    names = schema.names
    plain = len(set(names)) == len(names) and not any("." in name or not name for name in names)
    count = min(threads * _RUNS_A_CORE, len(names)) if threads > 1 and plain else 1
    ends = [len(names) * at // count for at in range(count + 1)] if count else []
    return [names[start:end] for start, end in pairwise(ends)]


def _chosen(schema: pa.Schema, names: list[str] | None) -> pa.Schema:
    """The schema of some columns, in the order of the file, which ORC keeps."""
    import pyarrow as pa

    if names is None:
        return schema
    return pa.schema([field for field in schema if field.name in names], metadata=cast(Any, schema.metadata))
