"""What a dataset is, in figures: types, missing values, distinct shares, shape, entropy. At most a second."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from tare._tare import NdjsonFinder
from tare.datasets import sampling, shape
from tare.datasets.source import printable
from tare.errors import TareError
from tare.pandas_metadata import shape_of_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "entropy_bits",
    "headline",
    "inner_compression",
    "is_tabular",
    "of_document",
    "of_table",
    "short_type",
    "size_text",
]

_SAMPLE_ROWS = 20_000
_SAMPLE_CELLS = 2_000_000
_MASKED_ROWS = 1 << 28
_DISTINCT_COLUMNS = 2_000
_ENTROPY_BYTES = 1 << 20
# Of so many rows, and of no more text, the types of columns are found.
_TABULAR_ROWS, _TABULAR_BYTES = 1_000, 4 << 20


def of_table(data: pa.Table) -> dict[str, Any]:
    """Columns with type, missing values and share of distinct values, and how many are the index of a data frame; counts of types; share of nulls.

    The share of distinct values is of a sample of rows where the table is longer;
    ``distinct_rows`` says of how many.
    """
    sample = _rows(data, max(min(_SAMPLE_ROWS, _SAMPLE_CELLS // max(data.num_columns, 1)), 100))
    columns: list[dict[str, Any]] = []
    for k, field in enumerate(data.schema):
        column = data.column(k)
        distinct = _distinct_share(sample.column(k)) if k < _DISTINCT_COLUMNS else None
        columns.append(
            {
                "name": field.name,
                "type": str(field.type),
                "nulls": column.null_count,
                "distinct_share": distinct,
            }
        )
    cells = data.num_rows * data.num_columns
    nulls = sum(column["nulls"] for column in columns)
    types = Counter(short_type(field.type) for field in data.schema)
    return {
        "columns": columns,
        "index_columns": len(shape_of_table(data).index),
        "types": dict(types.most_common()),
        "null_share": nulls / cells if cells else 0.0,
        "distinct_rows": sample.num_rows,
        "depth": 0,
        "shape": None,
        "entropy_bits": entropy_bits(_table_bytes(sample)),
    }


def inner_compression(path: str | None, format: str) -> str | None:
    """Returns the compression within a file of a format that has one and tells it, most of its chunks; None if that is not known.

    Args:
        path: The file.
        format: Id of the format; of others than Parquet the size tells.

    >>> inner_compression(None, "parquet") is None
    True
    """
    if format != "parquet" or path is None:
        return None
    import pyarrow as pa
    from pyarrow import parquet

    try:
        meta = parquet.read_metadata(path)
        group = meta.row_group(0)
        found = Counter(group.column(k).compression for k in range(group.num_columns))
    except (OSError, ValueError, IndexError, pa.ArrowException):  # of no consequence: the file was opened
        return None
    name = found.most_common(1)[0][0].lower() if found else None
    return {"uncompressed": "none"}.get(name or "", name)


def of_document(value: Any, items: int) -> dict[str, Any]:
    """Depth, numbers of maps, lists and leaves, types of leaves, mean size of an item, entropy."""
    found = shape.measure(value)
    text = _document_bytes(value)
    leaves = max(found.leaves, 1)
    return {
        "columns": None,
        "types": found.types,
        "null_share": found.types.get("null", 0) / leaves,
        "depth": found.depth,
        "shape": {
            "maps": found.maps,
            "lists": found.lists,
            "leaves": found.leaves,
            "keys": found.keys,
            "distinct_keys": found.distinct_keys,
            "sampled": found.sampled,
            "mean_doc_bytes": text[1] / max(text[2], 1) if isinstance(value, list) else text[1],
            "items": items,
        },
        "entropy_bits": entropy_bits(text[0]),
        "tabular": is_tabular(value),
    }


def is_tabular(value: Any) -> bool:
    """Returns whether a document is a list of objects that make a table, whose columns have one type each.

    Of a long list objects from all over it are looked at.

    >>> is_tabular([{"a": 1, "b": {"c": None}}, {"a": 2.5}]), is_tabular([{"a": 1}, {"a": "x"}]), is_tabular([1])
    (True, False, False)
    >>> is_tabular([{"a": 1, "tags": {}}])  # files of tables have no column without a name within
    False
    """
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return False
    lines, size = [], 0
    finder = NdjsonFinder()
    try:
        for row in value[:: max(1, len(value) // _TABULAR_ROWS)]:
            lines.append(json.dumps(row, default=str).encode() + b"\n")
            size += len(lines[-1])
            if size > _TABULAR_BYTES:
                break
        text = b"".join(lines)
        finder.read(text)
    except (TareError, TypeError, ValueError, RecursionError):
        return False
    return b"{}" not in text or not _has_empty_object(finder)


def _has_empty_object(finder: Any) -> bool:
    """Whether rows, or a column of them, are of objects that have no names at all."""
    import pyarrow as pa

    kinds = [pa.struct(list(pa.schema(finder)))]
    for kind in kinds:
        if pa.types.is_struct(kind) and not kind.num_fields:
            return True
        kinds += [kind.field(place).type for place in range(kind.num_fields)]
    return False


def entropy_bits(data: bytes) -> float | None:
    """Entropy of single bytes, in bits a byte; None without bytes.

    >>> entropy_bits(b"ab" * 100)
    1.0
    """
    if not data:
        return None
    import numpy as np

    counts = np.bincount(np.frombuffer(data, np.uint8))
    shares = counts[counts > 0] / len(data)
    return round(float(-(shares * np.log2(shares)).sum()), 3) + 0.0


def short_type(type_: Any) -> str:
    """One word for an Arrow type: int, num, text, bool, time, decimal, binary, category, list, struct, null."""
    text = str(type_)
    table = (
        (r"u?int\d+", "int"), (r"(halffloat|float|double)", "num"), (r"(large_)?string(_view)?", "text"),
        (r"bool", "bool"), (r"(timestamp|date|time|duration|month).*", "time"), (r"decimal.*", "decimal"),
        (r"((large_)?binary|fixed_size_binary).*", "binary"), (r"dictionary.*", "category"),
        (r"(large_|fixed_size_)?list.*", "list"), (r"struct.*", "struct"), (r"map.*", "map"), (r"null", "null"),
    )  # fmt: skip
    return next((word for pattern, word in table if re.fullmatch(pattern, text, re.DOTALL)), "other")


def size_text(n: float) -> str:
    """Bytes for people: binary units, three digits.

    >>> size_text(44_145_000), size_text(999)
    ('42.1 MiB', '999 B')
    """
    if n < 1024:
        return f"{n:.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        n /= 1024
        if n < 1000 or unit == "TiB":
            break
    return f"{n:.2f} {unit}" if n < 10 else f"{n:.1f} {unit}" if n < 100 else f"{n:.0f} {unit}"


def headline(summary: dict[str, Any]) -> str:
    """One line of at most about 100 characters: name, kind, size, types, missing values."""
    name = printable(summary["name"], 40)
    memory = f"{size_text(summary['bytes_memory'])} in memory"
    part = summary["partial"]
    about = "" if part is None else f"  {part['rule']}, {100 * part['share']:.2g} % of the file"
    types = list(summary["types"].items())
    if summary["kind"] == "table":
        words = " ".join(f"{n} {word}" for word, n in types[:5]) + (" ..." if len(types) > 5 else "")
        nulls, index = f"nulls {100 * summary['null_share']:.1f} %", summary["index_columns"]
        wide = f"{len(summary['columns']) - index:,}{' and the index' * bool(index)}"
        return f"{name}  table {summary['rows']:,} x {wide}  {memory}  {words}  {nulls}{about}"
    total = max(sum(n for _, n in types), 1)
    words = " ".join(f"{100 * n / total:.0f} % {word}" for word, n in types[:4])
    found = summary["shape"]
    almost = "about " if found["sampled"] else ""
    items = summary["items"]
    what = f"document of {items:,} item{'s' * (items != 1)}" if items != 1 else "document"
    leaves = f"{almost}{found['leaves']:,} {'leaf' if found['leaves'] == 1 else 'leaves'}"
    return (
        f"{name}  {what}  {memory}  depth {summary['depth']}  {leaves}{f': {words}' if words else ''}{about}"
    )


def _rows(data: pa.Table, wanted: int) -> pa.Table:
    """Up to `wanted` rows drawn at random, the same ones each time."""
    import numpy as np
    import pyarrow as pa

    if data.num_rows <= wanted:
        return data
    if not data.num_columns:
        return data.slice(0, wanted)
    # Runs of rows from many places cost far less than single ones in wide or nested tables; and rows beyond number,
    # as those of nulls are in a small file, have no place in a mask.
    if data.num_columns > 200 or data.num_rows > _MASKED_ROWS:
        step = max(wanted // 10, 1)
        starts = range(0, data.num_rows - step + 1, max((data.num_rows - step) // 9, 1))
        return pa.concat_tables([data.slice(start, step) for start in starts])
    chosen = np.random.default_rng(0).choice(data.num_rows, wanted, replace=False)
    mask = np.zeros(data.num_rows, dtype=bool)
    mask[chosen] = True
    # Batch by batch: taking by index joins all chunks first, filtering at once holds a third of them.
    return pa.Table.from_batches(list(sampling.masked(data, mask)), schema=data.schema)


def _distinct_share(column: Any) -> float | None:
    """Distinct values as a share of all, a missing value being one value; None for nested columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(column) == 0:
        return None
    try:
        pool = pa.system_memory_pool()  # the one that gives freed memory back to the system
        return round(pc.count_distinct(column, mode="all", memory_pool=pool).as_py() / len(column), 6)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowKeyError):
        pass
    try:
        return round(len(column.unique()) / len(column), 6)
    except (pa.ArrowException, NotImplementedError):
        return None


def _table_bytes(sample: pa.Table) -> bytes:
    """Up to 1 MiB of the values' bytes, each column its share."""
    room = _ENTROPY_BYTES
    share = max(room // max(sample.num_columns, 1), 64)
    parts = []
    for column in sample.itercolumns():
        taken = 0
        for chunk in column.chunks:
            if len(chunk) == 0 or chunk.type.num_buffers == 0:
                continue
            for buffer in chunk.buffers()[1:]:
                if buffer is not None and taken < share:
                    part = bytes(memoryview(buffer)[: share - taken])
                    taken += len(part)
                    parts.append(part)
        room -= taken
        if room <= 0:
            break
    return b"".join(parts)


def _document_bytes(value: Any) -> tuple[bytes, int, int]:
    """Up to 1 MiB of JSON of the value, its bytes, and how many items they hold."""
    if not isinstance(value, list) or not value:
        text = _json_text(value)
        return text[:_ENTROPY_BYTES], len(text), 1
    import random

    order = random.Random(0).sample(range(len(value)), min(len(value), 2000))  # noqa: S311 - a sample, no secret
    parts, size = [], 0
    for k in order:
        parts.append(_json_text(value[k]))
        size += len(parts[-1])
        if size > _ENTROPY_BYTES:
            break
    return b"".join(parts)[:_ENTROPY_BYTES], size, len(parts)


def _json_text(value: Any) -> bytes:
    import orjson

    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError):
        return b""
