"""Types and values between Arrow and Avro: a schema each way, and what makes a value one of the other. Not a format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from tare.errors import EncodeError, Malformed, Unsupported
from tare.formats.avro_bounds import named_types
from tare.kinds import column_of, rows_alone, values_of, with_text_keys
from tare.scalar_text import as_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow_type", "rows_of", "schema_of", "table_of"]

_Make = Callable[[Any], Any]
_PRECISION = 38  # digits of a decimal that other readers take
_MOST_PRECISION = 76  # of Arrow's
_INT64 = 2**63
_UINT64_DIGITS = 20
_PLAIN = {"null": "null", "boolean": "bool_", "int": "int32", "long": "int64", "float": "float32", "double": "float64",
          "bytes": "binary", "string": "string", "enum": "string"}  # fmt: skip
# In the order in which one holds those before it.
_NUMBERS = ("int", "long", "float", "double")


def table_of(rows: list[Any], schema: Any) -> pa.Table:
    """Returns rows that fastavro read as a table, with the types that the file's schema says.

    Args:
        rows: The rows.
        schema: The file's schema, parsed.

    Raises:
        EncodeError: A column is of several types that no one of Arrow's holds; or the file holds no records.
        Malformed: Two fields have one name.
    """
    import pyarrow as pa

    if not isinstance(schema, dict) or schema.get("type") not in ("record", "error"):
        if not rows:  # as avsc writes them
            return rows_alone(0)
        raise EncodeError("invalid values: expected records, which become rows, got others", format="avro")
    fields, named = schema["fields"], named_types(schema)
    if not fields:
        return rows_alone(len(rows))
    twice = next(
        (name for name, count in Counter(field["name"] for field in fields).items() if count > 1), None
    )
    if twice is not None:  # of which a row of fastavro has the last
        raise Malformed(f"two fields are named {twice[:80]!r}", format="avro", path=twice)
    arrays = []
    for field in fields:
        name = field["name"]
        cells = [row[name] for row in rows]
        kind = arrow_type(field["type"], named, ())
        if kind is not None:
            arrays.append(_array(name, cells, kind, is_union=isinstance(field["type"], list)))
        elif _holds_map(field["type"], named, ()):  # which would be taken for records
            said = f"column {name[:80]!r}: a union of several types, or a type within itself, that has maps in it is none of Arrow's types"
            raise EncodeError(said, format="avro", path=name)
        elif _joins_records(field["type"], named, ()):
            said = f"column {name[:80]!r}: records of several types have no one type of Arrow"
            raise EncodeError(said, format="avro", path=name)
        else:
            arrays.append(column_of(name, cells))
    return pa.Table.from_arrays(arrays, names=[field["name"] for field in fields])


def _array(name: str, cells: list[Any], kind: Any, *, is_union: bool) -> Any:
    """A column of a type; of a union of numbers only if that holds them all."""
    import pyarrow as pa

    try:
        return pa.array(cells, kind)
    except pa.ArrowInvalid as error:
        if not is_union:
            raise
        said = (
            f"column {name[:80]!r}: no one type of Arrow's holds the numbers of a union: {str(error)[:120]}"
        )
        raise EncodeError(said, format="avro", path=name) from error


def arrow_type(schema: Any, named: dict[str, Any], within: tuple[str, ...]) -> Any:
    """Returns Arrow's type for Avro's; None if there is none: unions of several, types within themselves."""
    import pyarrow as pa

    if isinstance(schema, list):
        return _union_type(schema, named, within)
    if isinstance(schema, str):
        if schema in named:
            return None if schema in within else arrow_type(named[schema], named, (*within, schema))
        return getattr(pa, _PLAIN[schema])() if schema in _PLAIN else None
    kind = schema["type"]
    if not isinstance(kind, str):
        return arrow_type(kind, named, within)
    logical = _logical_type(schema)
    if logical is not None:
        return logical
    within = (*within, schema["name"]) if "name" in schema else within
    if kind == "fixed":
        return pa.binary(schema["size"])
    if kind == "array":
        items = arrow_type(schema["items"], named, within)
        return None if items is None else pa.list_(items)
    if kind == "map":
        values = arrow_type(schema["values"], named, within)
        return None if values is None else pa.map_(pa.string(), values)
    if kind in ("record", "error"):
        types = [arrow_type(field["type"], named, within) for field in schema["fields"]]
        return (
            None
            if None in types
            else pa.struct(list(zip((f["name"] for f in schema["fields"]), types, strict=True)))
        )
    return arrow_type(kind, named, within)


def _union_type(branches: list[Any], named: dict[str, Any], within: tuple[str, ...]) -> Any:
    """Returns the type of the one branch beside null, or the widest of several numbers."""
    import pyarrow as pa

    there = [branch for branch in branches if branch != "null"]
    if not there:
        return pa.null()
    if len(there) == 1:
        return arrow_type(there[0], named, within)
    if all(isinstance(branch, str) and branch in _NUMBERS for branch in there):
        widest = max(there, key=_NUMBERS.index)
        return arrow_type("double" if widest == "float" else widest, named, within)
    return None


def _logical_type(schema: dict[str, Any]) -> Any:
    """Returns the type that a logical type stands for; None for one that is not known, which is what it is made of."""
    import pyarrow as pa

    kind, logical = schema["type"], schema.get("logicalType") or ""
    if kind == "int" and logical == "date":
        return pa.date32()
    if (kind, logical) == ("int", "time-millis"):
        return pa.time32("ms")
    if (kind, logical) == ("long", "time-micros"):
        return pa.time64("us")
    if (kind, logical) == ("string", "uuid"):
        return pa.uuid()
    unit = {"millis": "ms", "micros": "us", "nanos": "ns"}.get(logical.rpartition("-")[2])
    if kind == "long" and unit is not None and logical.startswith(("timestamp-", "local-timestamp-")):
        return pa.timestamp(unit, None if logical.startswith("local-") else "UTC")
    if kind in ("bytes", "fixed") and logical == "decimal":
        precision, scale = schema.get("precision", 0), schema.get("scale", 0)
        if 0 < precision <= _MOST_PRECISION and 0 <= scale <= precision:
            return (pa.decimal128 if precision <= _PRECISION else pa.decimal256)(precision, scale)
    return None


def _holds_map(schema: Any, named: dict[str, Any], within: tuple[str, ...]) -> bool:
    if isinstance(schema, list):
        return any(_holds_map(branch, named, within) for branch in schema)
    if isinstance(schema, str):
        return (
            schema in named and schema not in within and _holds_map(named[schema], named, (*within, schema))
        )
    if schema["type"] == "map":
        return True
    within = (*within, schema["name"]) if "name" in schema else within
    inside = [schema[key] for key in ("items", "values") if key in schema]
    inside += [field["type"] for field in schema.get("fields", ())]
    inside += [] if schema["type"] in ("record", "error", "array", "map") else [schema["type"]]
    return any(_holds_map(one, named, within) for one in inside if one != schema)


def _joins_records(schema: Any, named: dict[str, Any], within: tuple[str, ...]) -> bool:
    """Returns whether a union has several records: a struct would have the fields of all, null where a record has none."""
    if isinstance(schema, str):
        known = schema in named and schema not in within
        return known and _joins_records(named[schema], named, within)
    if isinstance(schema, list):
        records = [one for one in schema if _is_record(one, named)]
        return len(records) > 1 or any(_joins_records(one, named, within) for one in schema)
    within = (*within, schema["name"]) if "name" in schema else within
    inside = [schema[key] for key in ("items", "values") if key in schema]
    inside += [field["type"] for field in schema.get("fields", ())]
    return any(_joins_records(one, named, within) for one in inside)


def _is_record(schema: Any, named: dict[str, Any]) -> bool:
    schema = named.get(schema, schema) if isinstance(schema, str) else schema
    return isinstance(schema, dict) and schema["type"] in ("record", "error")


def schema_of(table: pa.Table, default: str) -> dict[str, Any]:
    """Returns the schema of Avro of a table's rows, as `rows_of` gives it.

    Args:
        table: The table.
        default: As of `rows_of`.

    Raises:
        TypeError: Avro has no type for a column.
        Unsupported: Two columns have one name.
    """
    plans = [(name, _plan(name, column, at, default)) for at, (name, column) in _numbered(table)]
    return _record([(name, kind) for name, (_, kind, _) in plans])


def rows_of(table: pa.Table, default: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns a table as a schema of Avro and the rows that fastavro writes by it.

    Args:
        table: The table.
        default: ``text`` writes values that Avro has no type for as text.

    Raises:
        TypeError: It has none for a column.
        Unsupported: A value that Python has none for; two columns have one name.
    """
    names = table.column_names
    fields, columns = [], []
    for at, (name, given) in _numbered(table):
        column, kind, make = _plan(name, given, at, default)
        cells = values_of(name, column)
        columns.append(cells if make is None else [None if cell is None else make(cell) for cell in cells])
        fields.append((name, kind))
    schema = _record(fields)
    if not columns:
        return schema, [{} for _ in range(table.num_rows)]
    return schema, [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _numbered(table: pa.Table) -> Iterator[tuple[int, tuple[str, Any]]]:
    twice = next((name for name, count in Counter(table.column_names).items() if count > 1), None)
    if twice is not None:
        raise Unsupported(
            f"two columns are named {twice[:80]!r}: a record has each name once", format="avro", path=twice
        )
    return enumerate(zip(table.column_names, table.columns, strict=True))


def _record(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = [{"name": name, "type": _nullable(kind), "default": None} for name, kind in fields]
    return {"type": "record", "name": "row", "fields": plain}


def _plan(name: str, column: Any, at: int, default: str) -> tuple[Any, Any, _Make | None]:
    """Returns a column as it is written, Avro's type for it, and what makes its values of Python's."""
    column, wide = _integers(column)
    if wide is not None:
        return column, *wide
    return column, *_Writer(name, default, column).of(column.type, f"c{at}")


def _integers(column: Any) -> tuple[Any, tuple[Any, _Make | None] | None]:
    """Returns a column whose values `long` cannot hold in another type, and Avro's type for that; else the same, and None."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns" and _has_finer_moments(column):
        return column.cast(pa.int64()), (_in_nanoseconds(kind), None)
    if pa.types.is_uint64(kind) and _has_wide(column):
        return column, (_decimal(_UINT64_DIGITS, 0), Decimal)
    return column, None


def _has_finer_moments(column: Any) -> bool:
    """Returns whether moments in nanoseconds are not all whole microseconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.cast(pa.int64())
    return bool(pc.any(pc.not_equal(pc.multiply(pc.divide(whole, 1000), 1000), whole)).as_py())


def _has_wide(column: Any) -> bool:
    """Returns whether unsigned integers have one that `long`, of 63 bits and a sign, does not hold."""
    import pyarrow.compute as pc

    return (pc.max(column).as_py() or 0) >= _INT64


def _in_nanoseconds(kind: Any) -> dict[str, str]:
    """Returns Avro's type for moments in nanoseconds."""
    return {"type": "long", "logicalType": f"{'local-' if kind.tz is None else ''}timestamp-nanos"}


def _nanoseconds(moment: Any) -> int:
    """Returns the nanoseconds from 1970 on of a moment of pandas', which is what Arrow gives for one within a list or struct."""
    return int(moment.value)


def _leaves(array: Any) -> Iterator[Any]:
    """Yields the arrays of plain values that an array is made of."""
    import pyarrow as pa

    if isinstance(array.type, pa.BaseExtensionType):
        yield from _leaves(array.storage)
    elif pa.types.is_dictionary(array.type):
        yield from _leaves(array.dictionary)
    elif pa.types.is_struct(array.type):
        for at in range(array.type.num_fields):
            yield from _leaves(array.field(at))
    elif pa.types.is_map(array.type):
        yield from _leaves(array.keys)
        yield from _leaves(array.items)
    elif not pa.types.is_nested(array.type):
        yield array
    elif hasattr(array, "flatten"):
        yield from _leaves(array.flatten())


def _nullable(kind: Any) -> Any:
    return kind if kind == "null" else ["null", kind]


def _decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


class _Writer:
    """Types of Avro for those of a column, with what makes a value of Python one that fastavro takes.

    Args:
        name: Name of the column.
        default: ``text`` writes values that Avro has no type for as text.
        column: The column, whose values tell which types hold them all.
    """

    def __init__(self, name: str, default: str, column: Any) -> None:
        import pyarrow as pa

        self.column = name
        self.default = default
        self.maps = with_text_keys(column.type)  # maps are dicts then, and else lists of pairs
        parts = [part for chunk in column.chunks for part in _leaves(chunk)]
        self.finer = any(
            pa.types.is_timestamp(one.type) and one.type.unit == "ns" and _has_finer_moments(one)
            for one in parts
        )
        self.wide = any(pa.types.is_uint64(one.type) and _has_wide(one) for one in parts)

    def of(self, kind: Any, name: str) -> tuple[Any, _Make | None]:
        """Returns the type, and the function; None where the value is taken as it is.

        Args:
            kind: Arrow's type.
            name: A name for a record, which no other of the file has.

        Raises:
            TypeError: Avro has no such type.
        """
        import pyarrow as pa

        if isinstance(kind, pa.UuidType):
            return {"type": "string", "logicalType": "uuid"}, None
        if isinstance(kind, pa.BaseExtensionType):
            return self.of(kind.storage_type, name)
        if pa.types.is_dictionary(kind):
            return self.of(kind.value_type, name)
        if pa.types.is_struct(kind):
            return self._record(kind, name)
        if pa.types.is_map(kind):
            return self._map(kind, name)
        if pa.types.is_nested(kind) and not pa.types.is_union(kind) and not pa.types.is_run_end_encoded(kind):
            items, make = self.of(cast(Any, kind).value_type, name)
            array = {"type": "array", "items": _nullable(items)}
            return array, None if make is None else lambda cell: [
                one if one is None else make(one) for one in cell
            ]
        if self.wide and pa.types.is_uint64(kind):
            return _decimal(_UINT64_DIGITS, 0), Decimal
        if self.finer and pa.types.is_timestamp(kind) and kind.unit == "ns":
            return _in_nanoseconds(kind), _nanoseconds
        scalar = _scalar_type(kind)
        if scalar is not None:
            return scalar, None
        if self.default != "text" or pa.types.is_nested(kind):
            raise TypeError(f"column {self.column[:80]!r}: Avro has no type for {kind}")
        return "string", as_text

    def _record(self, kind: Any, name: str) -> tuple[Any, _Make | None]:
        parts = {}
        for at in range(kind.num_fields):
            parts[kind.field(at).name] = self.of(kind.field(at).type, f"{name}_{at}")
        fields = [{"name": one, "type": _nullable(type), "default": None} for one, (type, _) in parts.items()]
        makes = {one: make for one, (_, make) in parts.items() if make is not None}
        record = {"type": "record", "name": name, "fields": fields}

        def made(cell: dict[str, Any]) -> dict[str, Any]:
            changed = {one: make(cell[one]) for one, make in makes.items() if cell[one] is not None}
            return {**cell, **changed}

        return record, made if makes else None

    def _map(self, kind: Any, name: str) -> tuple[Any, _Make | None]:
        values, make = self.of(kind.item_type, f"{name}_v")
        if self.maps:
            type = {"type": "map", "values": _nullable(values)}
            if make is None:
                return type, None
            return type, lambda cell: {key: one if one is None else make(one) for key, one in cell.items()}
        keys, make_key = self.of(kind.key_type, f"{name}_k")
        fields = [
            {"name": "key", "type": keys},
            {"name": "value", "type": _nullable(values), "default": None},
        ]
        pairs = {"type": "array", "items": {"type": "record", "name": name, "fields": fields}}

        def pair(key: Any, value: Any) -> dict[str, Any]:
            made_key = key if make_key is None else make_key(key)
            return {"key": made_key, "value": value if make is None or value is None else make(value)}

        return pairs, lambda cell: [pair(*one) for one in cell]


def _scalar_type(kind: Any) -> Any:
    """Returns Avro's type for values that fastavro takes as Python has them; None if there is none."""
    import pyarrow as pa

    types = pa.types
    if types.is_timestamp(kind):
        local, unit = "local-" if kind.tz is None else "", "millis" if kind.unit in ("s", "ms") else "micros"
        return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
    if types.is_time(kind):
        small = types.is_time32(kind)
        return {"type": "int" if small else "long", "logicalType": "time-millis" if small else "time-micros"}
    if types.is_decimal(kind):
        return _decimal(kind.precision, kind.scale) if 0 <= kind.scale <= kind.precision else None
    return next((name for tests, name in _SCALARS if any(getattr(types, test)(kind) for test in tests)), None)


_SCALARS: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("is_null",), "null"),
    (("is_boolean",), "boolean"),
    (("is_int8", "is_int16", "is_int32", "is_uint8", "is_uint16"), "int"),
    (("is_integer",), "long"),
    (("is_float16", "is_float32"), "float"),
    (("is_floating",), "double"),
    (("is_string", "is_large_string", "is_string_view"), "string"),
    (("is_binary", "is_large_binary", "is_binary_view", "is_fixed_size_binary"), "bytes"),
    (("is_date",), {"type": "int", "logicalType": "date"}),
)
