"""What columns of one type each make of lines of JSON: nulls of missing names, doubles of whole numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from tare.scale.failures import LossRefused
from tare.scale.ranges import Counted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["counted_in", "told_of"]

_MOST = 20
_WORDS = {
    "missing": {"verdict": "null", "from": "a missing name", "to": "null"},
    "whole": {"verdict": "type", "from": "a whole number", "to": "a double of the same value"},
}


def counted_in(rows: Sequence[Any], schema: pa.Schema) -> Counted:
    """What a schema makes of objects, counted as `NdjsonReader.changes` counts it.

    >>> import pyarrow as pa
    >>> counted_in([{"a": 1.5}, {"a": 1, "b": None}], pa.schema({"a": pa.float64(), "b": pa.null()}))
    [('a', 'whole', 1), ('b', 'missing', 1)]
    """
    return _of_objects(rows, list(schema), "")


def _of_objects(rows: Sequence[Any], fields: list[Any], above: str) -> Counted:
    found: Counted = []
    for field in fields:
        path = f"{above}.{field.name}" if above else field.name
        if missing := sum(field.name not in row for row in rows):
            found.append((path, "missing", missing))
        found += _of_values([row.get(field.name) for row in rows], field.type, path)
    return found


def _of_values(values: list[Any], kind: Any, path: str) -> Counted:
    import pyarrow as pa

    if pa.types.is_floating(kind):
        whole = sum(type(value) is int for value in values)
        return [(path, "whole", whole)] if whole else []
    there = [value for value in values if value is not None]
    if pa.types.is_struct(kind):
        return _of_objects(there, [kind.field(k) for k in range(kind.num_fields)], path)
    if pa.types.is_list(kind):
        return _of_values(list(chain.from_iterable(there)), kind.value_type, f"{path}[]")
    return []


def told_of(
    name: str, counted: Counted, columns: list[str] | None = None, *, refused: bool = False
) -> list[dict[str, Any]]:
    """What was counted, by one reader or several, as a receipt holds it.

    Args:
        name: The output.
        counted: Paths, ``missing`` or ``whole``, and how often.
        columns: Those that were written, if not all.
        refused: Whether a missing name may be no null.

    Raises:
        LossRefused: A name is missing.

    >>> told_of("a.parquet", [("v", "missing", 2), ("w", "whole", 1), ("v", "missing", 1)])[0]["count"]
    3
    """
    totals: Counter[tuple[str, str]] = Counter()
    for path, what, count in counted:
        if columns is None or any(path == one or path.startswith((f"{one}.", f"{one}[]")) for one in columns):
            totals[path, what] += count
    nulls = [path for path, what in totals if what == "missing"]
    if nulls and refused:
        raise LossRefused(
            f"{name}: {nulls[0]} would change: a missing name comes back as null ({totals[nulls[0], 'missing']:,} times). "
            "Nothing was written. Say --on-loss allow to write it, or choose another format.",
            path=nulls[0],
        )
    return [
        {"name": name, "path": path[:80], "count": count, **_WORDS[what]}
        for (path, what), count in list(totals.items())[:_MOST]
    ]
