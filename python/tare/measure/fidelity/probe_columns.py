"""The probe set ``columns/1``: columns that formats are known to change, one to a table.

Beside the column ``c`` that is probed stands a column of names for the rows:
alone, a null is an empty line in CSV, and readers skip empty lines. What becomes
of the names is not judged.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from tare.errors import Malformed

__all__ = ["COLUMNS", "ROW", "ColumnProbe", "read_table", "table_tag"]

ROW = "row"


@dataclass(frozen=True)
class ColumnProbe:
    """One table of the set ``columns/1``.

    Args:
        name: Id of the probe.
        help: What it is and whom it breaks, one phrase.
        table: Builds the Arrow table from the module ``pyarrow``.
    """

    name: str
    help: str
    table: Callable[[Any], Any]

    encoded: ClassVar[dict[str, bytes]] = {}
    risky: ClassVar[bool] = False
    set: ClassVar[str] = "columns/1"
    kind: ClassVar[str] = "table"

    def build(self) -> Any:
        """The Arrow table, new each time."""
        import pyarrow as pa

        # Through Arrow's own bytes, so that extension types appear if this process knows them.
        return read_table(table_tag(self.table(pa))["$arrow"])


def table_tag(table: Any) -> dict[str, Any]:
    """A small table for a line of the protocol: Arrow IPC in base64, and its types to read.

    >>> import pyarrow as pa
    >>> table_tag(pa.table({"c": [1]}))["types"]
    {'c': 'int64'}
    """
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = base64.b64encode(sink.getvalue().to_pybytes()).decode("ascii")
    types = {field.name: str(field.type)[:200] for field in table.schema}
    return {"$arrow": data, "types": types, "rows": table.num_rows}


def read_table(text: str) -> Any:
    """The table of a ``table_tag``.

    Raises:
        Malformed: No Arrow stream in base64.
    """
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(base64.b64decode(text, validate=True)) as reader:
            return reader.read_all()
    except (ValueError, TypeError, OSError, pa.ArrowException) as error:
        raise Malformed(f"$arrow holds no Arrow stream: {error}"[:300], format="columns/1") from error


def _one(values: list[Any], kind: str) -> Callable[[Any], Any]:
    """A column of a type given by its name in pyarrow."""
    return lambda pa: _beside(pa, pa.array(values, pa.type_for_alias(kind)))


def _beside(pa: Any, column: Any) -> Any:
    """The column ``c`` beside the names of its rows."""
    return pa.table({ROW: [f"row {number}" for number in range(len(column))], "c": column})


def _ints(values: list[Any], kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A column of a type that is stored as integers: instants, durations, times."""

    def build(pa: Any) -> Any:
        wanted = kind(pa)
        plain = pa.int32() if wanted.bit_width == 32 else pa.int64()
        return _beside(pa, pa.array(values, plain).cast(wanted))

    return build


def _decimal(pa: Any) -> Any:
    texts = pa.array(["1.10", None, "-12345678901234567890.12"])
    return _beside(pa, texts.cast(pa.decimal128(38, 2)))


def _period(pa: Any) -> Any:
    meta = {"ARROW:extension:name": "pandas.period", "ARROW:extension:metadata": json.dumps({"freq": "M"})}
    names = pa.array(["row 0", "row 1", "row 2"])
    schema = pa.schema([pa.field(ROW, pa.string()), pa.field("c", pa.int64(), metadata=meta)])
    return pa.table([names, pa.array([600, 601, None], pa.int64())], schema=schema)


def _category(levels: list[str], *, ordered: bool) -> Callable[[Any], Any]:
    def build(pa: Any) -> Any:
        codes = pa.array([0, 1, None, 0], pa.int8())
        return _beside(pa, pa.DictionaryArray.from_arrays(codes, pa.array(levels), ordered=ordered))

    return build


def _list(pa: Any) -> Any:
    return _beside(pa, pa.array([[1, 2], [], None, [3]], pa.list_(pa.int64())))


def _struct(pa: Any) -> Any:
    kind = pa.struct([("a", pa.int64()), ("b", pa.string())])
    return _beside(pa, pa.array([{"a": 1, "b": "x"}, {"a": None, "b": ""}, None], kind))


def _no_rows(pa: Any) -> Any:
    kinds = (("i", pa.int32()), ("s", pa.string()), ("t", pa.timestamp("us", "UTC")), ("b", pa.bool_()))
    return pa.table({name: pa.array([], kind) for name, kind in kinds})


def _twins(pa: Any) -> Any:
    return pa.table([pa.array([1, 2]), pa.array(["a", "b"])], names=["c", "c"])


def _index(pa: Any) -> Any:
    """What pandas writes for a frame with its own index: a column and a note."""
    note = {
        "index_columns": ["__index_level_0__"],
        "column_indexes": [],
        "columns": [
            {"name": "c", "field_name": "c", "pandas_type": "int64", "numpy_type": "int64", "metadata": None},
            {
                "name": None,
                "field_name": "__index_level_0__",
                "pandas_type": "unicode",
                "numpy_type": "object",
                "metadata": None,
            },
        ],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.0",
    }
    table = pa.table({"c": [1, 2], "__index_level_0__": ["x", "y"]})
    return table.replace_schema_metadata({"pandas": json.dumps(note)})


def _metadata(pa: Any) -> Any:
    schema = pa.schema([pa.field("c", pa.int64(), metadata={"unit": "km"})], metadata={"source": "tare"})
    return pa.table([pa.array([1, 2])], schema=schema)


_NS = 1_600_000_000_123_456_789

COLUMNS: tuple[ColumnProbe, ...] = (
    ColumnProbe(
        "int64_null", "integers with a null, which pandas makes floats", _one([1, None, 2**53 + 1], "int64")
    ),
    ColumnProbe("int8", "small integers", _one([-128, 127], "int8")),
    ColumnProbe("uint64", "integers above the signed range", _one([0, 2**64 - 1], "uint64")),
    ColumnProbe("float_nan_null", "NaN beside null", _one([1.5, float("nan"), None], "double")),
    ColumnProbe("float_minus_zero", "-0.0", _one([-0.0, 1.5], "double")),
    ColumnProbe("float_inf", "both infinities", _one([float("inf"), float("-inf"), 1.5], "double")),
    ColumnProbe("float32", "single precision", _one([0.1, 1.5], "float")),
    ColumnProbe("text_zeros", 'the texts "001" and "002"', _one(["001", "002"], "string")),
    ColumnProbe("text_exponent", 'the text "1e5"', _one(["1e5", "2e5"], "string")),
    ColumnProbe("text_true", 'the texts "TRUE" and "FALSE"', _one(["TRUE", "FALSE"], "string")),
    ColumnProbe("text_na", 'the text "NA"', _one(["NA", "x"], "string")),
    ColumnProbe("text_empty_null", "empty text beside null", _one(["", None, "x"], "string")),
    ColumnProbe("text_lines", "line breaks, quotes and commas", _one(["a\nb", 'c"d', "e,f"], "string")),
    ColumnProbe("bytes", "bytes that are no UTF-8", _one([b"\x00\xff", None, b""], "binary")),
    ColumnProbe("bool_null", "booleans with a null", _one([True, None, False], "bool")),
    ColumnProbe("date", "dates, one before 1970", _ints([18_000, None, -1], lambda pa: pa.date32())),
    ColumnProbe("time", "times of day", _ints([0, None, 86_399_999_999], lambda pa: pa.time64("us"))),
    ColumnProbe(
        "timestamp_us", "times without a zone", _ints([_NS // 1000, None], lambda pa: pa.timestamp("us"))
    ),
    ColumnProbe(
        "timestamp_ns_zone",
        "nanoseconds in a named zone",
        _ints([_NS, None, -1], lambda pa: pa.timestamp("ns", "Europe/Berlin")),
    ),
    ColumnProbe("duration", "durations", _ints([5_000, None, -1_000], lambda pa: pa.duration("us"))),
    ColumnProbe("decimal", "decimals of two places", _decimal),
    ColumnProbe("period", "pandas' months", _period),
    ColumnProbe(
        "category_unused", "levels not in order of use, one unused", _category(["b", "a", "c"], ordered=False)
    ),
    ColumnProbe("category_ordered", "levels with an order", _category(["low", "high"], ordered=True)),
    ColumnProbe("list", "lists, one empty, one null", _list),
    ColumnProbe("struct", "structs, one null", _struct),
    ColumnProbe("no_rows", "no rows, four types", _no_rows),
    ColumnProbe("duplicate_names", "two columns of one name", _twins),
    ColumnProbe("empty_name", "a column whose name is empty", lambda pa: pa.table({"": [1, 2]})),
    ColumnProbe("index", "the index of a pandas frame", _index),
    ColumnProbe("metadata", "metadata of the schema and of a field", _metadata),
)
