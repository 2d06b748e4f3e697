"""What a conversion changed: what went in beside what a reader gets back, by the rule of ``tare.fidelity``."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from tare import kinds
from tare.converting import objects
from tare.datasets.source import printable
from tare.errors import EncodeError
from tare.fidelity.non_finite import NOT_JSON, non_finite_changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from tare.codec import Codec
    from tare.fidelity.comparison import Comparison
    from tare.r import Loss

__all__ = [
    "allowed",
    "becomes",
    "columns_changes",
    "document_changes",
    "guessed",
    "has_arrows_types",
    "non_finite_losses",
    "subject",
    "table_changes",
    "type_losses",
    "without_told",
]

_MOST = 20
_WOULD_CHANGE = "would change"
_LEVELS, _MORE_COLUMNS = " (levels)", " more columns"  # what stands behind a name, and in the place of many
_CATEGORIES = re.compile(r"dictionary<values=(.+), indices=(u?int[0-9]+), ordered=([01])>")
_NUMBERED = " numbered by "
_HAVE_ARROWS_TYPES = ("arrow", "parquet")
_HOLD_MAPS = ("arrow", "parquet", "orc")
_OBJECTS = "objects"  # what maps with texts as keys become in JSON and its kin
_PAIRS = "lists of pairs"  # and those with other keys
_WORDS: dict[type, str] = {
    bool: "booleans", int: "integers", float: "numbers", str: "text", bytes: "bytes", dict: "objects", list: "lists"
}  # fmt: skip
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
        elif (verdict := _of_maps(field.type)) and not _keeps_maps(codec, field.type):
            became = _PAIRS
            if codec.library.native["table"] in ("records", "columns"):  # whose lists hold any types
                verdict = "type"
                became = _OBJECTS if kinds.with_text_keys(field.type) else became
            elif codec.format_id == "avro":
                verdict = "type"  # of records, which hold two types
            told = (field.name, verdict, str(field.type), became, None)
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


def _keeps_maps(codec: Codec, kind: Any) -> bool:
    """Each library of those formats does or refuses them; what writes R's files tells of them itself."""
    holds = codec.format_id in _HOLD_MAPS or (codec.format_id == "avro" and kinds.with_text_keys(kind))
    return holds or _is_kept_whole(codec) or objects.writes(codec)


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
        if isinstance(back, dict) and before.num_rows == 1 and set(back) == set(before.column_names):
            # BSON has no lists at its top: of one row the reader gives the object itself.
            return [_change("", "type", "a table of one row", "its row", 1), *table_changes(before, [back])]
        if not isinstance(back, list) or not all(isinstance(row, dict) for row in back):
            return [_change("", "lossy", "a table", type(back).__name__, None)]
        if not back and before.num_rows == 0:
            return [
                _change(field.name, "type", str(field.type), "unknown: no rows", 0) for field in before.schema
            ]
        if not before.num_columns:
            return table_changes(before, kinds.rows_alone(len(back)))
        return columns_changes(
            before, {name: [row.get(name) for row in back] for name in before.column_names}
        )
    found = _told(compare_tables(_without_own(before), kinds.convert(back, "arrow"), limit=_MOST_OF_TABLES))
    unordered = {f"{field.name} (levels)" for field in before.schema if _has_no_order(field.type)}
    return [
        _in_words(change | {"verdict": "type"} if change["path"] in unordered else change) for change in found
    ]


def _in_words(change: dict[str, Any]) -> dict[str, Any]:
    """The change with what differs of two types of categories, which read alike, in words; any other as it is.

    >>> kinds = "dictionary<values=string, indices=int32, ordered=1>", "dictionary<values=string, indices=int8, ordered=0>"
    >>> _in_words({"from": kinds[0], "to": kinds[1]})
    {'from': 'categories with an order', 'to': 'categories without an order'}
    >>> _in_words({"from": kinds[1], "to": kinds[1].replace("int8", "uint32")})
    {'from': 'categories numbered by int8', 'to': 'categories numbered by uint32'}
    """
    sides = [_CATEGORIES.fullmatch(str(change[side])) for side in ("from", "to")]
    if sides[0] is None or sides[1] is None:
        return change
    one, other = (side.groups() for side in sides if side is not None)
    of, ordered = one[0] != other[0], one[2] != other[2]

    def words(values: str, index: str, order: str) -> str:
        said = f" of {values}" * of + f" with{'out' * (order == '0')} an order" * ordered
        return f"categories{said or f'{_NUMBERED}{index}'}"

    return change | {"from": words(*one), "to": words(*other)}


def without_told(found: list[dict[str, Any]], losses: Sequence[Loss]) -> list[dict[str, Any]]:
    """Returns the changes but for how categories are numbered, where the loss of their levels is told.

    Args:
        found: Changes of a conversion.
        losses: What objects of R lose in it.

    >>> loss = objects.Loss("$f@levels", "attribute_dropped", "levels")
    >>> without_told([{"path": "f", "to": "categories numbered by uint32"}, {"path": "g", "to": "text"}], [loss])
    [{'path': 'g', 'to': 'text'}]
    """
    told = {loss.path for loss in losses}
    return [one for one in found if not (_NUMBERED in str(one["to"]) and f"${one['path']}@levels" in told)]


def _has_no_order(kind: Any) -> bool:
    """Whether it is a type of categories whose levels have no order."""
    import pyarrow as pa

    return pa.types.is_dictionary(kind) and not kind.ordered


def columns_changes(before: pa.Table, back: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """As `table_changes`, of a table whose columns came back as lists, objects in the place of maps.

    Args:
        before: What was written.
        back: Lists by the name of a column.

    >>> import pyarrow as pa
    >>> columns_changes(pa.table({"a": [1, 2]}), {"a": [1, "x"]})[0]["verdict"]
    'lossy'
    """
    table, mixed = _of_columns(back, before.schema)
    found = table_changes(before, table)
    for name in [name for name in mixed if _has_union_inside(before.schema.field(name).type)]:
        if any(change["path"] == name and change["verdict"] == "lossy" for change in found):
            found = [change for change in found if change["path"] != name]
            found += _changes_within(name, before, back[name], mixed[name])
    found = [
        change | {"to": mixed[change["path"]]}
        if change["verdict"] == "type" and change["path"] in mixed
        else change
        for change in found
    ]
    paired = {field.name for field in before.schema if _holds_pairs(field.type)}
    found = [
        change | {"to": _PAIRS} if change["verdict"] == "type" and change["path"] in paired else change
        for change in found
    ]
    told = {change["path"] for change in found}
    mapped = [field for field in before.schema if kinds.with_text_keys(field.type) and field.name not in told]
    return found + [_change(field.name, "type", str(field.type), _OBJECTS, None) for field in mapped]


def subject(change: dict[str, Any], limit: int = 80) -> str:
    """Returns what a message says that changed, names in quotes.

    >>> subject({"path": "(rows)"}), subject({"path": "", "row": 2}), subject({"path": "v w (levels)", "row": 2})
    ('the number of rows', 'the data', "'v w' (levels)")
    """
    path = str(change["path"])
    if path == "(rows)" and "row" not in change:
        return "the number of rows"
    if path in ("", "(whole)"):
        return "the data"
    if path.endswith(_MORE_COLUMNS):
        return path
    name = path.removesuffix(_LEVELS)
    return repr(printable(name, limit)) + path[len(name) :]


def becomes(change: dict[str, Any]) -> str:
    """Returns what a message says that a value becomes.

    >>> becomes({"to": "null"}), becomes({"to": "text that is not JSON"})
    ('comes back as null', 'is written as text that is not JSON')
    """
    return f"{'is written' if change['to'] == NOT_JSON else 'comes back'} as {change['to']}"


def document_changes(
    before: Any, back: Any, *, columns: bool = False, in_utc: bool = False
) -> list[dict[str, Any]]:
    """Values that came back as another type or value, at most twenty, by path.

    The name of a zone belongs to the type of a time, as in tables: measuring counts it as lost, but the moment and its
    offset are written.

    Args:
        before: What was written.
        back: What a reader gives.
        columns: Whether it is rows that were the columns of a table, of which one of decimals has one scale.
        in_utc: Whether times without a zone are in UTC there.

    >>> document_changes({"a": (1, 2)}, {"a": [1, 2]})
    [{'path': 'a (type)', 'verdict': 'type', 'from': 'tuple', 'to': 'list', 'count': 1}]
    """
    from tare.fidelity.values import compare_values

    if type(before) is list and len(before) == 1 and type(before[0]) is type(back) is dict:
        # BSON has no lists at its top: of one object the reader gives the object itself.
        told = _change("", "type", "a list of one object", "the object", 1)
        return [told, *document_changes(before[0], back, columns=columns, in_utc=in_utc)]
    found = compare_values(before, back, limit=_MOST, by_offset=True, by_number=columns, in_utc=in_utc)
    return _told(found)


def tells_loss(error: Exception) -> bool:
    """Returns whether an error is that of `allowed`: a value would change.

    Args:
        error: The error.

    >>> tells_loss(EncodeError("csv: column a would change: 1 comes back as 2"))
    True
    """
    return _WOULD_CHANGE in str(error)


def guessed(change: dict[str, Any], codec: Codec) -> str:
    """Returns what to say of a text of CSV that a reader takes for another type; empty of other changes.

    >>> from tare.codec import Codec
    >>> [bool(guessed({"from": "'1.10' (string)", "to": to}, Codec.parse("csv"))) for to in ("1.1 (double)", "'x' (string)")]
    [True, False]
    """
    if codec.format_id != "csv" or not _is_text(change["from"]) or _is_text(change["to"]):
        return ""
    return "The file would hold this very text, but readers of CSV that guess types take it for another. "


def _is_text(shown: Any) -> bool:
    return str(shown).startswith(("'", '"'))


def allowed(found: list[dict[str, Any]], codec: Codec, *, allow_loss: bool) -> list[dict[str, Any]]:
    """Returns the same changes.

    Args:
        found: Changes of a conversion.
        codec: The codec that wrote.
        allow_loss: Whether values may change.

    Raises:
        EncodeError: A value changes, and no loss is allowed.
    """
    lossy = [change for change in found if change["verdict"] == "lossy"]
    if lossy and not allow_loss:
        first = lossy[0]
        row = f" (first in row {first['row'] + 1:,})" if "row" in first else ""
        more = f", and {len(lossy) - 1} more" if len(lossy) > 1 else ""
        raise EncodeError(
            f"{codec}: {subject(first)} {_WOULD_CHANGE}: {first['from']} {becomes(first)}"
            f"{row}{more}. {guessed(first, codec)}Nothing was written. Say --allow-loss (to tare run: --on-loss allow) to write it, or choose another format.",
            format=codec.format_id,
            path=first["path"],
        )
    return found


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


def _of_columns(columns: dict[str, list[Any]], schema: pa.Schema) -> tuple[pa.Table, dict[str, str]]:
    """Returns a table of lists by the name of a column, and of those that have no type in common, which are text in it, what they hold."""
    import pyarrow as pa

    arrays, mixed = [], {}
    for field in schema:
        cells = columns[field.name]
        try:
            arrays.append(_with_maps(field.name, cells, field.type))
        except EncodeError:
            arrays.append(pa.array([None if cell is None else str(cell) for cell in cells]))
            mixed[field.name] = _kinds_of(cells)
    return pa.table(arrays, names=schema.names), mixed


def _has_union_inside(kind: Any) -> bool:
    """Returns whether a type contains a union below its top level: such values are compared as Python's."""
    import pyarrow as pa

    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return any(pa.types.is_union(one) or _has_union_inside(one) for one in inner)


def _changes_within(name: str, before: pa.Table, back: list[Any], became: str) -> list[dict[str, Any]]:
    """Returns what changed of a column that holds unions, whose cells came back as values of several types."""
    column = before.column(name)
    found = document_changes(column.to_pylist(), back)
    told = [change | {"path": f"{name}{change['path']}"} for change in found]
    if all(change["verdict"] == "type" for change in told):
        return [_change(name, "type", str(column.type), became, len(column) - column.null_count)]
    return told


def _kinds_of(cells: list[Any]) -> str:
    """Returns what cells are, in words.

    >>> _kinds_of([1, "a", None, 2.5])
    'integers, text and numbers'
    """
    kinds_there = dict.fromkeys(type(cell) for cell in cells if cell is not None)
    words = [_WORDS.get(kind, f"values of the type {kind.__name__}") for kind in kinds_there]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def _holds_pairs(kind: Any) -> bool:
    """Returns whether a type has maps with keys other than text, which are lists of pairs in Python."""
    return bool(_of_maps(kind)) and not kinds.with_text_keys(kind)


def _with_maps(name: str, cells: list[Any], kind: Any) -> Any:
    """Returns cells as an array in which objects are maps where a type has them; the types of other parts are guessed.

    Lists of pairs in the place of maps become lists of structs, which hold keys and values of two types.

    Raises:
        EncodeError: They have no one type.
    """
    import pyarrow as pa

    there = [cell for cell in cells if cell is not None]
    mask = pa.array([cell is None for cell in cells], pa.bool_())
    if not _of_maps(kind):
        return kinds.column_of(name, cells)
    if pa.types.is_struct(kind) and all(isinstance(cell, dict) for cell in there):
        names = [field.name for field in kind]
        inner = [
            _with_maps(name, [None if cell is None else cell.get(field.name) for cell in cells], field.type)
            for field in kind
        ]
        return pa.StructArray.from_arrays(inner, names, mask=mask)
    ends = pa.array([0, *accumulate(0 if cell is None else len(cell) for cell in cells)], pa.int32())
    if pa.types.is_map(kind) and all(isinstance(cell, dict) for cell in there):
        keys = pa.array([key for cell in there for key in cell], pa.string())
        values = _with_maps(name, [value for cell in there for value in cell.values()], kind.item_type)
        return cast(Any, pa.MapArray).from_arrays(ends, keys, values, mask=mask)
    if all(isinstance(cell, list) for cell in there):
        items = [item for cell in there for item in cell]
        if not pa.types.is_map(kind):
            return pa.ListArray.from_arrays(ends, _with_maps(name, items, kind.value_type), mask=mask)
        if all(isinstance(item, list | tuple) and len(item) == 2 for item in items):
            parts = [
                _with_maps(name, [item[at] for item in items], one)
                for at, one in enumerate((kind.key_type, kind.item_type))
            ]
            return pa.ListArray.from_arrays(
                ends, pa.StructArray.from_arrays(parts, ["key", "value"]), mask=mask
            )
    return kinds.column_of(name, cells)


def _told(found: Comparison) -> list[dict[str, Any]]:
    return [
        _change(
            one.path, "lost" if one.side in ("metadata", "index") else one.verdict, one.in_, one.out, one.count,
            row=int(one.at[4:]) if one.at.startswith("row ") else None,
        )
        for one in found.changes
    ]  # fmt: skip


def _change(
    path: str, verdict: str, before: str, after: str, count: int | None, *, row: int | None = None
) -> dict[str, Any]:
    found = {"path": path, "verdict": verdict, "from": before, "to": after, "count": count}
    return found if row is None else {**found, "row": row}
