"""Kinds of data in memory: what is what, and that conversion loses nothing it could keep."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from support.capabilities import need_module

from tare import frames, kinds
from tare.errors import EncodeError, Limit, Unsupported, UsageError


def whole_table() -> Any:
    """One column of every type with what is hard in it: nulls, NaN, -0.0, zones, units."""
    import pyarrow as pa

    day = dt.datetime(2013, 1, 1, 12, 30, 0, 123456)
    nan = float("nan")
    return pa.table(
        {
            "int64": [1, 2, 3],
            "int64 null": [2**53 + 1, None, -1],
            "int8": pa.array([1, -128, 127], pa.int8()),
            "uint64 null": pa.array([2**64 - 1, None, 0], pa.uint64()),
            "float": [-0.0, 1e300, 5e-324],
            "float null": [1.5, None, 2.5],
            "float nan": [nan, 1.0, -0.0],
            "float nan null": [nan, None, 1.0],
            "float32": pa.array([0.1, None, 2.5], pa.float32()),
            "float32 nan": pa.array([nan, None, 2.5], pa.float32()),
            "bool": [True, False, True],
            "bool null": [True, None, False],
            "text": ["a", "", "h\u00e9"],
            "text null": ["NA", None, "nan"],
            "large text": pa.array(["a", None, "b"], pa.large_string()),
            "bytes": [b"\x00", None, b""],
            "date32": [day.date(), None, day.date()],
            "date64": pa.array([day.date(), None, day.date()], pa.date64()),
            "time32": pa.array([dt.time(1, 2, 3), None, dt.time(0)], pa.time32("s")),
            "time64 ns": pa.array([1, None, 2], pa.time64("ns")),
            "time64 us": pa.array([1, None, 2], pa.time64("us")),
            "timestamp us": pa.array([day, None, day], pa.timestamp("us")),
            "timestamp ns": pa.array([1, None, 2], pa.timestamp("ns")),
            "timestamp s": pa.array([1, None, 2], pa.timestamp("s")),
            "timestamp zone": pa.array([day, None, day], pa.timestamp("us", "Europe/Paris")),
            "timestamp offset": pa.array([day, None, day], pa.timestamp("ms", "+05:30")),
            "duration": pa.array([1, None, -5], pa.duration("us")),
            "decimal": [Decimal("1.10"), None, Decimal("-0.01")],
            "decimal wide": pa.array([Decimal("1.10"), None, None], pa.decimal128(38, 2)),
            "category": pa.array(["x", None, "x"]).dictionary_encode(),
            "category ordered": pa.DictionaryArray.from_arrays(
                pa.array([0, None, 1], pa.int8()), ["lo", "hi", "unused"], ordered=True
            ),
            "list": [[1], [], None],
            "list floats": [[nan, None], [1.0], None],
            "struct": [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}],
            "all null": pa.nulls(3),
            "all null int": pa.nulls(3, pa.int64()),
            "all null text": pa.nulls(3, pa.string()),
        }
    )


def bits(column: Any) -> Any:
    """Values in which NaN equals itself and -0.0 does not equal 0.0."""
    return repr(column.to_pylist())


@pytest.mark.parametrize("name", whole_table().column_names)
def test_pandas_keeps_the_column(name: str) -> None:
    """From arrow to pandas and back gives the same type, nulls and values for every type."""
    need_module("pandas")
    table = whole_table().select([name])
    back = kinds.convert(kinds.convert(table, "pandas"), "arrow")
    assert table.schema.field(name).type == back.schema.field(name).type
    assert bits(table.column(name)) == bits(back.column(name))


@pytest.mark.parametrize("name", whole_table().column_names)
def test_pandas_keeps_the_empty_column(name: str) -> None:
    """Without rows the type still comes back."""
    need_module("pandas")
    table = whole_table().select([name]).slice(0, 0)
    back = kinds.convert(kinds.convert(table, "pandas"), "arrow")
    assert table.schema.field(name).type == back.schema.field(name).type
    assert 0 == back.num_rows


def test_pandas_users_get_the_dtypes_they_have() -> None:
    """Plain columns have the dtypes that pandas gives everyone; extension types only where needed."""
    need_module("pandas")
    frame = kinds.convert(whole_table(), "pandas")
    dtypes = frame.dtypes.astype(str)
    expected = {
        "int64": "int64",
        "int64 null": "Int64",
        "float null": "float64",
        "float nan": "double[pyarrow]",
        "bool": "bool",
        "bool null": "boolean",
        "text null": "str",
        "date32": "object",
        "timestamp us": "datetime64[us]",
        "timestamp zone": "datetime64[us, Europe/Paris]",
        "duration": "timedelta64[us]",
    }
    assert expected == dtypes[list(expected)].to_dict()


def test_pandas_index_becomes_columns_and_an_index_again() -> None:
    """An index that only counts is left out, however it is stored; any other comes back as the index."""
    pd = need_module("pandas")
    plain = pd.DataFrame({"a": [1, 2]}, index=pd.Index([0, 1], dtype="int64"))
    assert ["a"] == kinds.convert(plain, "arrow").column_names
    for index in (
        pd.Index(["x", "y"]),
        pd.Index([5, 6], name="n"),
        pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["i", None]),
    ):
        frame = pd.DataFrame({"a": [1, 2]}, index=index)
        back = kinds.convert(kinds.convert(frame, "arrow"), "pandas")
        pd.testing.assert_frame_equal(frame, back)


def test_pandas_names_may_repeat() -> None:
    """Duplicate and empty names stay as they are."""
    need_module("pandas")
    import pyarrow as pa

    table = pa.Table.from_arrays([pa.array([1]), pa.array(["x"]), pa.array([2.5])], names=["a", "a", ""])
    back = kinds.convert(kinds.convert(table, "pandas"), "arrow")
    assert table == back


def test_pandas_mixed_column_is_refused() -> None:
    """A column of objects that no Arrow type holds is an error that names it."""
    pd = need_module("pandas")
    with pytest.raises(EncodeError, match="'odd'"):
        kinds.convert(pd.DataFrame({"odd": [1, "x", object()]}), "arrow")


@pytest.mark.parametrize(
    "name", ["int64", "int64 null", "int8", "uint64 null", "float", "float nan null", "float32", "bool null",
             "text null", "bytes", "date32", "timestamp us", "timestamp ns", "timestamp zone", "duration",
             "list", "list floats", "struct", "all null", "all null int"],
)  # fmt: skip
def test_polars_keeps_the_column(name: str) -> None:
    """From arrow to polars and back gives the same type, nulls and values for the types polars has."""
    need_module("polars")
    table = whole_table().select([name])
    back = kinds.convert(kinds.convert(table, "polars"), "arrow")
    assert table.schema.field(name).type == back.schema.field(name).type
    assert bits(table.column(name)) == bits(back.column(name))


@pytest.mark.parametrize("to", ["records", "columns"])
def test_python_kinds_keep_the_values(to: str) -> None:
    """Rows and columns hold Python's own values; nanoseconds that Python has not become microseconds."""
    import pyarrow as pa

    table = pa.table(
        {
            "i": [1, None],
            "t": pa.array([1_000, None], pa.timestamp("ns")),
            "d": pa.array([2_000, None], pa.duration("ns")),
            "x": [Decimal("1.10"), None],
        }
    )
    value = kinds.convert(table, to)
    first = value[0] if to == "records" else {name: column[0] for name, column in value.items()}
    expected = {
        "i": 1,
        "t": dt.datetime(1970, 1, 1, 0, 0, 0, 1),
        "d": dt.timedelta(microseconds=2),
        "x": Decimal("1.10"),
    }
    assert expected == first
    assert {dt.datetime, dt.timedelta} <= {type(v) for v in first.values()}
    assert to == kinds.memory_kind(value)
    assert value == kinds.convert(kinds.convert(value, "arrow"), to)


def test_rows_with_missing_names_get_nulls() -> None:
    """Rows need not all have every name: what is missing is null, names in order of appearance."""
    table = kinds.convert([{"b": 1}, {"a": "x"}, {}], "arrow")
    assert {"b": [1, None, None], "a": [None, "x", None]} == table.to_pydict()


def test_what_is_no_table_is_refused() -> None:
    """Values without rows, ragged columns, repeated names and unknown kinds are refused by name."""
    import pyarrow as pa

    for bad in (1, "text", None, [1], [{1: 2}]):
        with pytest.raises(Unsupported):
            kinds.convert(bad, "arrow")
    with pytest.raises(Unsupported, match="one length"):
        kinds.convert({"a": [1], "b": []}, "arrow")
    with pytest.raises(EncodeError, match="'a'"):
        kinds.convert([{"a": 1}, {"a": "x"}], "arrow")
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(Unsupported, match="two columns are named 'a'"):
        kinds.convert(twice, "records")
    with pytest.raises(UsageError, match="no table kind"):
        kinds.convert(twice, "frame")


def test_items_and_bytes_are_counted() -> None:
    """Rows are counted in every kind; shared objects weigh once; a slice of a table weighs its rows."""
    import pyarrow as pa

    table = pa.table({"a": list(range(1_000))})
    for kind in ("arrow", "records", "columns", *filter(_has, ("pandas", "polars"))):
        value = kinds.convert(table, kind)
        assert 1_000 == kinds.count_items(value), kind
        assert kinds.resident_bytes(value) >= 8_000, kind
    assert 80 == kinds.resident_bytes(table.slice(0, 10))
    text = "x" * 10_000
    assert kinds.resident_bytes([text] * 100) < 20_000
    assert 0 == kinds.count_items(None)
    assert 1 == kinds.count_items("text")


def test_large_forms_become_plain() -> None:
    """Text, bytes and lists with 64-bit offsets or views get the plain type, nested ones too."""
    import pyarrow as pa

    table = pa.table(
        {
            "s": pa.array(["a"], pa.string_view()),
            "l": pa.array([[b"x"]], pa.large_list(pa.large_binary())),
            "d": pa.array([{"t": "x"}], pa.struct([("t", pa.large_string())])),
        }
    )
    expected = [pa.string(), pa.list_(pa.binary()), pa.struct([("t", pa.string())])]
    assert expected == frames.plain(table).schema.types


def _has(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


@pytest.mark.parametrize("name", [None, 1, True, ("a",)])
def test_names_of_columns_are_texts(name: object) -> None:
    """Of rows and of columns; None is a name too."""
    for table in ({name: [1, 2]}, [{name: 1}]):
        with pytest.raises(Unsupported, match="the name of a column is text, not "):
            kinds.convert(table, "arrow")


def test_rows_without_a_column_are_few_objects():
    """A few bytes may claim billions of them."""
    assert kinds.convert(frames.rows_alone(3, {}), "records") == [{}, {}, {}]
    with pytest.raises(Limit, match=r"^20,000,000 rows without a column: at most 10,000,000"):
        kinds.convert(frames.rows_alone(20_000_000, {}), "records")
