"""What a conversion changed, value by value: what went in beside what a reader gets back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare import kinds

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["document_changes", "schema_changes", "table_changes"]

_MOST = 20


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
    """Columns that came back with another type (``type``) or with other values (``lossy``).

    ``type`` means: brought back to its old type the column is what it was.

    Args:
        before: What was written.
        back: What a reader gives: a table of any kind, or a list of records.
    """
    import pyarrow as pa

    if kinds.kind_of(back) == "document":
        names = before.column_names
        if not isinstance(back, list) or not all(isinstance(row, dict) for row in back):
            return [_change("", "lossy", "a table", type(back).__name__, None)]
        if not back and before.num_rows == 0:
            return [_change(name, "type", str(kind), "unknown: no rows", 0) for name, kind in _types(before)]
        arrays = []
        for name in names:
            try:
                arrays.append(pa.array([row.get(name) for row in back]))
            except (pa.ArrowException, TypeError, OverflowError):
                arrays.append(pa.array([str(row.get(name)) for row in back]))
        back = pa.table(arrays, names=names)
    back = kinds.convert(back, "arrow")
    if back.num_rows != before.num_rows:
        return [
            _change(
                "",
                "lossy",
                f"{before.num_rows:,} rows",
                f"{back.num_rows:,} rows",
                abs(back.num_rows - before.num_rows),
            )
        ]
    found = []
    for k, field in enumerate(before.schema):
        if k >= back.num_columns or back.schema.field(k).name != field.name:
            found.append(_change(field.name, "lossy", str(field.type), "no such column", None))
            continue
        change = _column(field, before.column(k), back.column(k))
        if change is not None:
            found.append(change)
    return found


def document_changes(before: Any, back: Any) -> list[dict[str, Any]]:
    """Values that came back as another type or value, at most twenty, by path.

    >>> document_changes({"a": (1, 2)}, {"a": [1, 2]})
    [{'path': '$.a', 'verdict': 'type', 'from': 'tuple', 'to': 'list', 'count': 1}]
    """
    if _same_bytes(before, back):
        return []
    found: list[dict[str, Any]] = []
    stack: list[tuple[str, Any, Any]] = [("$", before, back)]
    while stack and len(found) < _MOST:
        path, a, b = stack.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if list(a) != list(b):
                found.append(_change(path, "lossy", f"keys {_short(list(a))}", f"keys {_short(list(b))}", 1))
            stack.extend((f"{path}.{key}", value, b[key]) for key, value in a.items() if key in b)
        elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
            if type(a) is not type(b):
                found.append(_change(path, "type", type(a).__name__, type(b).__name__, 1))
            if len(a) != len(b):
                found.append(_change(path, "lossy", f"{len(a):,} items", f"{len(b):,} items", 1))
            stack.extend((f"{path}[{k}]", x, y) for k, (x, y) in enumerate(zip(a, b, strict=False)))
        elif not _same_leaf(a, b):
            found.append(_change(path, _leaf_verdict(a, b), _short(a), _short(b), 1))
    return found


def _column(field: Any, before: Any, back: Any) -> dict[str, Any] | None:
    import pyarrow as pa

    if back.type == before.type:
        rows = _different(before, back)
        if not rows:
            return None
        return _change(field.name, "lossy", _at(before, rows[0]), _at(back, rows[0]), len(rows), row=rows[0])
    try:
        restored = _restore(back, before.type)
        rows = _different(before, restored)
    except (pa.ArrowException, NotImplementedError, ValueError, TypeError, OverflowError):
        return _change(field.name, "lossy", str(before.type), str(back.type), None)
    if not rows:
        return _change(field.name, "type", str(before.type), str(back.type), len(before))
    return _change(field.name, "lossy", _at(before, rows[0]), _at(back, rows[0]), len(rows), row=rows[0])


def _restore(back: Any, wanted: Any) -> Any:
    """The column in its old type, exactly or not at all."""
    import pyarrow as pa

    if pa.types.is_null(wanted) and back.null_count == len(back):
        return pa.chunked_array([pa.nulls(len(back))])
    if pa.types.is_dictionary(back.type):
        back = back.cast(back.type.value_type)
    if pa.types.is_dictionary(wanted):
        return _restore(back, wanted.value_type)
    if pa.types.is_timestamp(wanted) and wanted.tz and pa.types.is_string(back.type):
        return back.cast(pa.timestamp(wanted.unit, "UTC")).cast(wanted)
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(back.type):
        return back.cast(pa.timestamp(wanted.unit, back.type.tz)).cast(wanted)
    return back.cast(wanted)


def _different(a: Any, b: Any) -> list[int]:
    """Rows that differ; floats by their bits, so that NaN is NaN and -0.0 is not 0.0."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(a.type):
        a = a.cast(a.type.value_type)
    if pa.types.is_dictionary(b.type):
        b = b.cast(b.type.value_type)
    if pa.types.is_floating(a.type):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[a.type.bit_width]
        a, b = (_bits(x, bits) for x in (a, b))
    if a.equals(b):
        return []
    try:
        same = pc.fill_null(pc.equal(a, b), False).to_numpy(zero_copy_only=False)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return [k for k, (x, y) in enumerate(zip(a.to_pylist(), b.to_pylist(), strict=True)) if x != y]
    both_null = pc.and_(pc.is_null(a), pc.is_null(b)).to_numpy(zero_copy_only=False)
    return [int(k) for k in np.flatnonzero(~(same | both_null))]


def _bits(column: Any, type_: Any) -> Any:
    import pyarrow as pa

    return pa.chunked_array([chunk.view(type_) for chunk in column.chunks], type_)


def _same_bytes(a: Any, b: Any) -> bool:
    import marshal

    try:
        return marshal.dumps(a, 2) == marshal.dumps(b, 2)
    except ValueError:
        return False


def _same_leaf(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return _same_bytes(a, b)
    try:
        return bool(a == b)
    except Exception:  # a value's own comparison may do anything
        return False


def _leaf_verdict(a: Any, b: Any) -> str:
    """``type`` if the value can be had back knowing its type alone."""
    if isinstance(a, int | float) and isinstance(b, int | float) and bool not in (type(a), type(b)):
        return "type" if a == b and not (a == 0 and str(a)[0] != str(b)[0]) else "lossy"
    if isinstance(a, bytearray | memoryview) and isinstance(b, bytes):
        return "type" if bytes(a) == b else "lossy"
    return "lossy"


def _types(table: pa.Table) -> list[tuple[str, Any]]:
    return [(field.name, field.type) for field in table.schema]


def _at(column: Any, row: int) -> str:
    return _short(column[row].as_py())


def _short(value: Any) -> str:
    from tare.datasets.source import printable

    return printable(repr(value), 60)


def _change(
    path: str, verdict: str, before: str, after: str, count: int | None, *, row: int | None = None
) -> dict[str, Any]:
    found = {"path": path, "verdict": verdict, "from": before, "to": after, "count": count}
    return found if row is None else {**found, "row": row}
