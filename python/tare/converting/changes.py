"""What a conversion changed: what went in beside what a reader gets back, by the rule of ``tare.fidelity``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare import kinds

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.fidelity.comparison import Comparison

__all__ = ["document_changes", "schema_changes", "table_changes"]

_MOST = 20
# As many columns may come back otherwise.
_MOST_OF_TABLES = 1000


def schema_changes(before: pa.Schema, after: pa.Schema) -> list[dict[str, Any]]:
    """Columns whose type is another, or that are gone; values are not looked at.

    >>> import pyarrow as pa
    >>> schema_changes(pa.schema({"a": pa.int32()}), pa.schema({"a": pa.int64()}))
    [{'path': 'a', 'verdict': 'type', 'from': 'int32', 'to': 'int64', 'count': None}]
    """
    found = []
    for k, field in enumerate(before):
        other = after.field(k) if k < len(after) else None
        if other is None or other.name != field.name:
            found.append(_change(field.name, "lossy", str(field.type), "no such column", None))
        elif other.type != field.type:
            found.append(_change(field.name, "type", str(field.type), str(other.type), None))
    return found


def table_changes(before: pa.Table, back: Any) -> list[dict[str, Any]]:
    """Columns that came back with another type (``type``) or with other values (``lossy``), and metadata that did not (``lost``).

    ``type`` means: the column can be rebuilt by who knows the type that it had.

    Args:
        before: What was written.
        back: What a reader gives: a table of any kind, or a list of records.

    >>> import pyarrow as pa
    >>> table_changes(pa.table({"a": [1, 2**53 + 1]}), pa.table({"a": [1.0, 2.0**53]}))[0]["verdict"]
    'lossy'
    """
    from tare.fidelity.tables import compare_tables

    if kinds.kind_of(back) == "document":
        if not isinstance(back, list) or not all(isinstance(row, dict) for row in back):
            return [_change("", "lossy", "a table", type(back).__name__, None)]
        if not back and before.num_rows == 0:
            return [
                _change(field.name, "type", str(field.type), "unknown: no rows", 0) for field in before.schema
            ]
        back = _of_records(back, before.column_names)
    return _told(compare_tables(_without_own(before), kinds.convert(back, "arrow"), limit=_MOST_OF_TABLES))


def document_changes(before: Any, back: Any) -> list[dict[str, Any]]:
    """Values that came back as another type or value, at most twenty, by path.

    >>> document_changes({"a": (1, 2)}, {"a": [1, 2]})
    [{'path': 'a (type)', 'verdict': 'type', 'from': 'tuple', 'to': 'list', 'count': 1}]
    """
    from tare.fidelity.values import compare_values

    return _told(compare_values(before, back, limit=_MOST))


def _without_own(table: pa.Table) -> pa.Table:
    """The table without what Tare notes of R's objects in metadata: its loss is told as one of theirs."""
    import pyarrow as pa

    def kept(found: Any) -> Any:
        return {key: value for key, value in (found or {}).items() if not key.startswith(b"tare:")}

    fields = [field.with_metadata(kept(field.metadata)) for field in table.schema]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields, kept(table.schema.metadata)))


def _of_records(records: list[dict[str, Any]], names: list[str]) -> pa.Table:
    import pyarrow as pa

    arrays = []
    for name in names:
        cells = [row.get(name) for row in records]
        try:
            arrays.append(pa.array(cells))
        except (pa.ArrowException, TypeError, OverflowError):
            arrays.append(pa.array([str(cell) for cell in cells]))
    return pa.table(arrays, names=names)


def _told(found: Comparison) -> list[dict[str, Any]]:
    return [
        _change(
            one.path, "lost" if one.side == "metadata" else one.verdict, one.in_, one.out, one.count,
            row=int(one.at[4:]) if one.at.startswith("row ") else None,
        )
        for one in found.changes
    ]  # fmt: skip


def _change(
    path: str, verdict: str, before: str, after: str, count: int | None, *, row: int | None = None
) -> dict[str, Any]:
    found = {"path": path, "verdict": verdict, "from": before, "to": after, "count": count}
    return found if row is None else {**found, "row": row}
