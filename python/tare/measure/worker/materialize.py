"""Reading every value once: what a lazy view costs when it is used.

Columns are read buffer by buffer (a checksum of each), documents by walking them.
"""

from __future__ import annotations

import zlib
from typing import Any

from tare.formats.columnar import CHUNK_ROWS, batches_of_groups

__all__ = ["items_of", "touch"]


def touch(value: Any) -> int:
    """Read every value once.

    Args:
        value: A document, records, columns, or a table of Arrow, pandas or polars; a lazy polars frame is collected.

    Returns:
        Leaves of a document, or cells of a table: proof that the values were there.

    >>> touch({"a": [1, 2.5, None], "b": {"c": "x"}})
    4
    """
    home = type(value).__module__.partition(".")[0]
    if home == "polars":
        if hasattr(value, "collect"):
            value = value.collect()
        return _touch_arrow(value.to_arrow())
    if home == "pandas":
        return sum(_touch_series(value.iloc[:, i]) for i in range(value.shape[1]))
    if home == "pyarrow":
        if hasattr(value, "iter_batches"):  # a Parquet file of which the footer alone was read
            return sum(map(_touch_arrow, batches_of_groups(value, CHUNK_ROWS)))
        return _touch_arrow(value)
    return _touch_document(value)


def items_of(view: Any) -> int | None:
    """Rows of a table, or entries of a list, that a library's own view stands for; None for what is no such view.

    Args:
        view: What a library's ``open`` gives: often a handle, which no count of values in memory knows.

    >>> import io, pyarrow
    >>> from pyarrow import parquet
    >>> file = io.BytesIO(); parquet.write_table(pyarrow.table({"a": [1, 2, 3]}), file)
    >>> items_of(parquet.ParquetFile(file)), items_of([1, 2])
    (3, None)
    """
    home = type(view).__module__.partition(".")[0]
    if home == "pyarrow" and hasattr(view, "iter_batches"):
        return int(view.metadata.num_rows)
    if home in ("tare", "csimdjson") and hasattr(view, "__len__"):
        return 1 if hasattr(view, "keys") else len(view)
    return None


def _touch_arrow(table: Any) -> int:
    cells = 0
    for column in table.columns:
        for chunk in getattr(column, "chunks", (column,)):
            cells += len(chunk)
            for buffer in chunk.buffers():
                if buffer is not None:
                    zlib.crc32(buffer)
    return cells


def _touch_series(series: Any) -> int:
    array = series.array
    inner = getattr(array, "_pa_array", None)
    if inner is not None:
        for chunk in inner.chunks:
            for buffer in chunk.buffers():
                if buffer is not None:
                    zlib.crc32(buffer)
        return len(series)
    values = series.to_numpy()
    if values.dtype.hasobject:
        return sum(1 for _ in values.flat)
    values.view("u1").sum() if values.flags.c_contiguous and values.size else values.sum()
    return len(series)


def _touch_document(value: Any) -> int:
    leaves = 0
    todo = [value]
    while todo:  # not recursive: documents may be nested deeper than the stack
        item = todo.pop()
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, (list, tuple, set, frozenset)):
            todo.extend(item)
        elif hasattr(item, "keys") and hasattr(item, "__getitem__"):
            todo.extend(item[key] for key in item.keys())  # noqa: SIM118 -- views need not iterate as dicts do
        elif (
            hasattr(item, "__len__")
            and hasattr(item, "__getitem__")
            and not isinstance(item, (str, bytes, bytearray))
        ):
            todo.extend(item[i] for i in range(len(item)))
        else:
            leaves += 1
    return leaves
