"""What columns of one type each make of lines of JSON: nulls of missing names, doubles of whole numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Counted", "changes_of", "counted_in", "told_of"]

# What columns of fixed types made of lines of JSON: column, path within it, ``missing`` or ``whole``, and how often.
Counted = list[tuple[str, str, str, int]]
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
    names = Counter(chain.from_iterable(rows))
    return [(field.name, *one) for field in schema for one in _of_field(rows, names, field, field.name)]


def _of_field(rows: Sequence[Any], names: Mapping[str, int], field: Any, path: str) -> _Found:
    """Counts for one field of objects, of which so many have each name."""
    missing = len(rows) - names.get(field.name, 0)
    found = [(path, "missing", missing)] if missing else []
    if not _has_more(field.type):
        return found
    return found + _of_values([row.get(field.name) for row in rows], field.type, path)


def _has_more(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_floating(kind) or pa.types.is_struct(kind) or pa.types.is_list(kind)


def _of_values(values: list[Any], kind: Any, path: str) -> _Found:
    import pyarrow as pa

    if pa.types.is_floating(kind):
        whole = list(map(type, values)).count(int)
        return [(path, "whole", whole)] if whole else []
    there = [value for value in values if value is not None]
    if pa.types.is_struct(kind):
        fields = [kind.field(k) for k in range(kind.num_fields)]
        names = Counter(chain.from_iterable(there))
        return [one for field in fields for one in _of_field(there, names, field, f"{path}.{field.name}")]
    if pa.types.is_list(kind) and _has_more(kind.value_type):
        return _of_values(list(chain.from_iterable(there)), kind.value_type, f"{path}[]")
    return []


def told_of(name: str, counted: Counted, *, written: Container[str] | None = None) -> list[dict[str, Any]]:
    """What was counted, by one reader or several, as a receipt holds it.

    Args:
        name: The output.
        counted: Columns, paths, ``missing`` or ``whole``, and how often.
        written: The columns that were written, if not all.

    >>> told_of("a.parquet", [("w", "w", "whole", 1), ("v", "v.x", "missing", 2)], written=["v"])[0]["path"]
    'v.x'
    """
    totals: Counter[tuple[str, str]] = Counter()
    for column, path, what, count in counted:
        if written is None or column in written:
            totals[path, what] += count
    ordered = sorted(totals.items(), key=lambda item: item[0][1] != "missing")
    told = [
        {"name": name, "path": path[:80], "count": count, **_WORDS[what]}
        for (path, what), count in ordered[:_MOST]
    ]
    for what, words in _WORDS.items():
        if more := sum(one == what for (_, one), _ in ordered[_MOST:]):
            told.append({"name": name, "path": f"{more:,} more columns", "count": more, **words})
    return told


def changes_of(counted: Counted, *, nulls_alone: bool) -> list[dict[str, Any]]:
    """Returns what was counted as `Conversion.changes` has it.

    Args:
        counted: As for `told_of`.
        nulls_alone: Whether the others are told by a comparison.

    >>> changes_of([("v", "v.x", "missing", 2)], nulls_alone=True)
    [{'path': 'v.x', 'verdict': 'null', 'from': 'a missing name', 'to': 'null', 'count': 2}]
    """
    return [
        {key: one[key] for key in ("path", "verdict", "from", "to", "count")}
        for one in told_of("", counted)
        if one["verdict"] == "null" or not nulls_alone
    ]
