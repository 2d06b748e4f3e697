"""What a conversion changed: what went in beside what a reader gets back, by the rule of ``tare.fidelity``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare import kinds
from tare.converting import objects
from tare.datasets.source import printable
from tare.errors import EncodeError
from tare.fidelity.non_finite import NOT_JSON, non_finite_changes

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.codec import Codec
    from tare.fidelity.comparison import Comparison

__all__ = [
    "becomes",
    "document_changes",
    "has_arrows_types",
    "non_finite_losses",
    "subject",
    "table_changes",
    "type_losses",
]

_MOST = 20
_HAVE_ARROWS_TYPES = ("arrow", "parquet")
_HOLD_MAPS = ("arrow", "parquet", "orc")
_MOST_OF_TABLES = 10_000  # kinds of change are not told apart beyond


def has_arrows_types(codec: Codec) -> bool:
    """Whether Arrow itself writes the format, and notes its types there: other libraries write it by types of their own.

    >>> from tare.codec import Codec
    >>> [has_arrows_types(Codec.parse(one)) for one in ("parquet", "arrow", "parquet:fastparquet", "arrow:polars", "csv")]
    [True, True, False, False, False]
    """
    return codec.format_id in _HAVE_ARROWS_TYPES and codec.library_name == "pyarrow"


def type_losses(schema: pa.Schema, codec: Codec) -> list[dict[str, Any]]:
    """Columns whose type alone tells that they change: maps, and the order of categories that the codec has no place for.

    >>> import pyarrow as pa
    >>> from tare.codec import Codec
    >>> type_losses(pa.schema({"o": pa.dictionary(pa.int8(), pa.string(), ordered=True)}), Codec.parse("csv"))[0]["path"]
    'o (levels)'
    """
    from tare.categories import ordered_within

    found = []
    for field in schema:
        if (ordered := ordered_within(field.type)) and not _keeps_order(codec, ordered):
            told = (f"{field.name} (levels)", "lossy", "ordered", "values without an order", None)
            found.append(_change(*told))
        elif (verdict := _of_maps(field.type)) and not _keeps_maps(codec):
            told = (field.name, verdict, str(field.type), "lists of pairs", None)
            found.append(_change(*told))
    return found


def _keeps_order(codec: Codec, ordered: list[Any]) -> bool:
    """Arrow's own files keep every level, as do its tables and pandas' when pickled; Parquet and R's factors those that are texts."""
    import pyarrow as pa

    values = [kind.value_type for kind in ordered]
    text = all(pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in values)
    own = has_arrows_types(codec)
    return (
        _is_kept_whole(codec)
        or (own and codec.format_id == "arrow")
        or (text and (own or objects.writes(codec)))
    )


def _keeps_maps(codec: Codec) -> bool:
    """Each library of those formats does or refuses them; what writes R's files tells of them itself."""
    return codec.format_id in _HOLD_MAPS or _is_kept_whole(codec) or objects.writes(codec)


def _is_kept_whole(codec: Codec) -> bool:
    """Whether a table is pickled as it is, not as records."""
    return codec.format_id == "pickle" and codec.library_name in ("pyarrow", "pandas")


def _of_maps(kind: Any) -> str:
    """What becomes of maps in a type where they are lists of pairs: no one type holds pairs of two types. Empty without maps."""
    import pyarrow as pa

    inner = [_of_maps(kind.field(k).type) for k in range(kind.num_fields)]
    if pa.types.is_map(kind):
        inner.append("type" if kind.key_type == kind.item_type else "lossy")
    return max(inner, key=("", "type", "lossy").index, default="")


def table_changes(before: pa.Table, back: Any) -> list[dict[str, Any]]:
    """Columns that came back with another type (``type``) or with other values (``lossy``), and metadata that did not (``lost``).

    ``type`` means: the column can be rebuilt by who knows the type that it had. Levels of categories without an order
    belong to it: measuring counts one that no row has as lost, but every value is written.

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
    found = _told(compare_tables(_without_own(before), kinds.convert(back, "arrow"), limit=_MOST_OF_TABLES))
    unordered = {f"{field.name} (levels)" for field in before.schema if _has_no_order(field.type)}
    return [change | {"verdict": "type"} if change["path"] in unordered else change for change in found]


def _has_no_order(kind: Any) -> bool:
    """Whether it is a type of categories whose levels have no order."""
    import pyarrow as pa

    return pa.types.is_dictionary(kind) and not kind.ordered


def subject(change: dict[str, Any]) -> str:
    """What a message says that changed.

    >>> subject({"path": "(rows)"}), subject({"path": "", "row": 2}), subject({"path": "v", "row": 2})
    ('the number of rows', 'the data', 'v')
    """
    if change["path"] == "(rows)" and "row" not in change:
        return "the number of rows"
    return printable(change["path"]) or "the data"


def becomes(change: dict[str, Any]) -> str:
    """Returns what a message says that a value becomes.

    >>> becomes({"to": "null"}), becomes({"to": "text that is not JSON"})
    ('comes back as null', 'is written as text that is not JSON')
    """
    return f"{'is written' if change['to'] == NOT_JSON else 'comes back'} as {change['to']}"


def document_changes(before: Any, back: Any) -> list[dict[str, Any]]:
    """Values that came back as another type or value, at most twenty, by path.

    >>> document_changes({"a": (1, 2)}, {"a": [1, 2]})
    [{'path': 'a (type)', 'verdict': 'type', 'from': 'tuple', 'to': 'list', 'count': 1}]
    """
    from tare.fidelity.values import compare_values

    return _told(compare_values(before, back, limit=_MOST))


def non_finite_losses(codec: Codec, back: Any, kind: str) -> list[dict[str, Any]]:
    """Returns NaN and infinities that were written as text that is not JSON.

    Args:
        codec: The codec that wrote.
        back: What a reader gives that knows such words.
        kind: ``document`` or ``table``.

    >>> from tare.codec import Codec
    >>> non_finite_losses(Codec.parse("json:stdlib"), {"x": float("nan")}, "document")
    [{'path': 'x', 'verdict': 'lossy', 'from': 'NaN', 'to': 'text that is not JSON', 'count': 1}]
    """
    from tare.fidelity.comparison import Comparison

    found = non_finite_changes(codec.format_id, back, kind=kind)
    return _told(Comparison("lossy", 0, 0, tuple(found[:_MOST])))


def _without_own(table: pa.Table) -> pa.Table:
    """The table without what Tare notes of R's objects in metadata: its loss is told as one of theirs."""
    import pyarrow as pa

    def kept(found: Any) -> Any:
        return {key: value for key, value in (found or {}).items() if not key.startswith(b"tare:")}

    if not table.num_columns:
        return kinds.rows_alone(table.num_rows, kept(table.schema.metadata))
    fields = [field.with_metadata(kept(field.metadata)) for field in table.schema]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields, kept(table.schema.metadata)))


def _of_records(records: list[dict[str, Any]], names: list[str]) -> pa.Table:
    import pyarrow as pa

    if not names:
        return kinds.rows_alone(len(records))
    arrays = []
    for name in names:
        cells = [row.get(name) for row in records]
        try:
            arrays.append(kinds.column_of(name, cells))
        except EncodeError:
            arrays.append(pa.array([None if cell is None else str(cell) for cell in cells]))
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
