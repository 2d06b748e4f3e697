"""What columns of one type each make of lines of JSON: nulls of missing names, doubles of whole numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from tare.scale.failures import LossRefused
from tare.scale.ranges import Counted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["counted_in", "told_of"]

_Found = list[tuple[str, str, int]]
_MOST = 200
_WORDS = {
    "missing": {"verdict": "null", "from": "a missing name", "to": "null"},
    "whole": {"verdict": "type", "from": "a whole number", "to": "a double of the same value"},
}


def counted_in(rows: Sequence[Any], schema: pa.Schema) -> Counted:
    """What a schema makes of objects, counted as `NdjsonReader.changes` counts it.

    >>> import pyarrow as pa
    >>> counted_in([{"a": 1.5}, {"a": 1, "b": None}], pa.schema({"a": pa.float64(), "b": pa.null()}))
    [('a', 'a', 'whole', 1), ('b', 'b', 'missing', 1)]
    """
    return [(field.name, *one) for field in schema for one in _of_field(rows, field, field.name)]


def _of_field(rows: Sequence[Any], field: Any, path: str) -> _Found:
    missing = sum(field.name not in row for row in rows)
    found = [(path, "missing", missing)] if missing else []
    return found + _of_values([row.get(field.name) for row in rows], field.type, path)


def _of_values(values: list[Any], kind: Any, path: str) -> _Found:
    import pyarrow as pa

    if pa.types.is_floating(kind):
        whole = sum(type(value) is int for value in values)
        return [(path, "whole", whole)] if whole else []
    there = [value for value in values if value is not None]
    if pa.types.is_struct(kind):
        fields = [kind.field(k) for k in range(kind.num_fields)]
        return [one for field in fields for one in _of_field(there, field, f"{path}.{field.name}")]
    if pa.types.is_list(kind):
        return _of_values(list(chain.from_iterable(there)), kind.value_type, f"{path}[]")
    return []


def told_of(
    name: str, counted: Counted, *, written: Container[str] | None = None, refused: bool = False
) -> list[dict[str, Any]]:
    """What was counted, by one reader or several, as a receipt holds it.

    Args:
        name: The output.
        counted: Columns, paths, ``missing`` or ``whole``, and how often.
        written: The columns that were written, if not all.
        refused: Whether a missing name may be no null.

    Raises:
        LossRefused: A name is missing.

    >>> told_of("a.parquet", [("w", "w", "whole", 1), ("v", "v.x", "missing", 2)], written=["v"])[0]["path"]
    'v.x'
    """
    totals: Counter[tuple[str, str]] = Counter()
    for column, path, what, count in counted:
        if written is None or column in written:
            totals[path, what] += count
    nulls = [path for path, what in totals if what == "missing"]
    if nulls and refused:
        raise LossRefused(
            f"{name}: {nulls[0]} would change: a missing name comes back as null ({totals[nulls[0], 'missing']:,} times). "
            "Nothing was written. Say --on-loss allow to write it, or choose another format.",
            path=nulls[0],
        )
    ordered = sorted(totals.items(), key=lambda item: item[0][1] != "missing")
    told = [
        {"name": name, "path": path[:80], "count": count, **_WORDS[what]}
        for (path, what), count in ordered[:_MOST]
    ]
    for what, words in _WORDS.items():
        if more := sum(one == what for (_, one), _ in ordered[_MOST:]):
            told.append({"name": name, "path": f"{more:,} more columns", "count": more, **words})
    return told
