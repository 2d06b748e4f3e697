"""The table comparer: verdicts by column, counts, first rows, and what lies beside the cells."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tare.fidelity.comparison import column_of
from tare.fidelity.tables import compare_tables

PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0x7FF80000000007A2))[0]
MINUS_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000000))[0]
NAN = float("nan")


def levels(codes: list[int | None], names: list[str], *, ordered: bool = False) -> Any:
    """A dictionary column."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(names), ordered=ordered)


def verdict(before: Any, after: Any) -> str:
    """The verdict on one column."""
    return compare_tables(pa.table({"c": before}), pa.table({"c": after})).verdict


def beside_unions(numbers: Any) -> list[Any]:
    """Structs of both, and lists of such structs, and lists of unions in them."""
    codes, places = pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32())
    dense = pa.UnionArray.from_dense(codes, places, [pa.array([1]), pa.array(["a"])])
    sparse = pa.UnionArray.from_sparse(codes, [pa.array([1, 2]), pa.array(["a", "b"])])
    ends = pa.array([0, 1, 2], pa.int32())
    unions = [dense, sparse, pa.ListArray.from_arrays(ends, dense), pa.ListArray.from_arrays(ends, sparse)]
    structs = [pa.StructArray.from_arrays([one, numbers], ["u", "x"]) for one in unions]
    return [*structs, *(pa.ListArray.from_arrays(ends, one) for one in structs)]


NUMBERS = pa.array([1, 2], pa.int32())
MAP = pa.map_(pa.string(), pa.float64())
STRUCT = pa.struct([("a", pa.float64()), ("b", pa.list_(pa.int64()))])

SAME = [
    (pa.array([1, None]), pa.array([1, None])),
    (pa.array([NAN, -0.0, None]), pa.array([NAN, -0.0, None])),
    (pa.array([[NAN, 1.0], None, []]), pa.array([[NAN, 1.0], None, []])),
    (pa.array([{"a": NAN, "b": [1]}, None], STRUCT), pa.array([{"a": NAN, "b": [1]}, None], STRUCT)),
    (pa.array([[("k", NAN)], None], MAP), pa.array([[("k", NAN)], None], MAP)),
    (pa.chunked_array([["a"], ["b", None]]), pa.chunked_array([["a", "b"], [None]])),
    (pa.array([None, None]), pa.array([None, None])),
    (levels([0, None, 1], ["b", "a", "c"]), levels([0, None, 1], ["b", "a", "c"])),
    (
        pa.array([[1]], pa.list_(pa.field("item", pa.int64()))),
        pa.array([[1]], pa.list_(pa.field("element", pa.int64(), nullable=False))),
    ),
]

TYPE = [
    (pa.array([1, 2]), pa.array([1.0, 2.0])),
    (pa.array([1, None]), pa.array([1.0, NAN])),
    (pa.array([1, None]), pa.array(["1", ""])),
    (pa.array([1, None]), pa.array(["1", None])),
    (pa.array([2**64 - 1], pa.uint64()), pa.array([str(2**64 - 1)])),
    (pa.array(["a"]), pa.array(["a"], pa.large_string())),
    (pa.array(["5"]), pa.array([5])),
    *zip(beside_unions(NUMBERS), beside_unions(NUMBERS.cast(pa.int64())), strict=True),
    (pa.array(["a"]), levels([0], ["a"])),
    (levels([0, 1], ["b", "a"]), pa.array(["b", "a"])),
    (levels([0, 1], ["b", "a"]), levels([1, 0], ["a", "b"])),
    (pa.array([1.5], pa.float32()), pa.array([1.5])),
    (pa.array([18_000], pa.date32()), pa.array(["2019-04-14"])),
    (pa.array([18_000], pa.date32()), pa.array([18_000 * 86_400], pa.timestamp("s"))),
    (pa.array([1], pa.timestamp("s")), pa.array([10**9], pa.timestamp("ns"))),
    (pa.array([1], pa.timestamp("ns", "Europe/Berlin")), pa.array([1], pa.timestamp("ns", "UTC"))),
    (pa.array([3_600_000_000], pa.time64("us")), pa.array(["01:00:00"])),
    (pa.array([1], pa.duration("ns")), pa.array([1])),
    (pa.array([True, None]), pa.array(["TRUE", None])),
    (pa.array([True, False]), pa.array([1, 0])),
    (pa.array([True, False, False, None]), pa.array([1.0, 0.0, -0.0, NAN])),
    (pa.array([[True, None], None]), pa.array([[1, None], None])),
    (pa.array([b"\xff"]), pa.array(["/w=="])),
    (pa.array(["1.10"]).cast(pa.decimal128(5, 2)), pa.array([1.1])),
    (pa.array(["1.10", "0"]).cast(pa.decimal256(5, 2)), pa.array([1.1, -0.0], pa.float32())),
    (pa.array(["1000.27", "-0.55"]).cast(pa.decimal128(15, 2)), pa.array([1000.27, -0.55])),
    (pa.array([[1]]), pa.array([[1]], pa.large_list(pa.int32()))),
    (pa.array([MINUS_NAN]), pa.array([NAN])),
    (pa.array([], pa.int64()), pa.array([], pa.string())),
]

LOSSY = [
    (pa.array([1, None]), pa.array([1, 0])),
    (pa.array([2**53 + 1]), pa.array([float(2**53)])),
    (pa.array([0.0]), pa.array([-0.0])),
    (pa.array([NAN]), pa.array([None], pa.float64())),
    (pa.array([PAYLOAD]), pa.array([NAN])),
    (pa.array([[PAYLOAD]]), pa.array([[NAN]])),
    (pa.array(["001"]), pa.array([1])),
    (pa.array(["TRUE"]), pa.array([True])),
    (pa.array(["", None]), pa.array([None, None], pa.string())),
    (pa.array(["1e5"]), pa.array([1e5])),
    (pa.array([1], pa.timestamp("ns")), pa.array([0], pa.timestamp("us"))),
    (pa.array([1], pa.timestamp("ns", "Europe/Berlin")), pa.array([3_600_000_000_001], pa.timestamp("ns"))),
    (pa.array(["1.10"]).cast(pa.decimal128(5, 2)), pa.array([1.2])),
    (pa.array(["1.10"]).cast(pa.decimal128(5, 2)), pa.array([1.1049])),
    (pa.array([["1.10"]]).cast(pa.list_(pa.decimal128(5, 2))), pa.array([[1.1049]])),
    (pa.array([True, False]), pa.array([5, 0])),
    (pa.array([True]), pa.array([0.5])),
    (pa.array([[True]]), pa.array([[5]])),
    (pa.array([[True]]), pa.array([[NAN]])),
    (pa.array([[1, 2]]), pa.array([[2, 1]])),
    (pa.array([[1], None]), pa.array([[1], []])),
    (pa.array([[1, 2]]), pa.array(["[1, 2]"])),
    (pa.array([{"a": 1.0, "b": [1]}], STRUCT), pa.array([{"a": 1.0, "b": [2]}], STRUCT)),
    (pa.array([{"a": 0.0, "b": []}], STRUCT), pa.array([{"a": -0.0, "b": []}], STRUCT)),
    (pa.array([[("k", 1.0)]], MAP), pa.array([[("j", 1.0)]], MAP)),
    (levels([0, 1], ["b", "a", "c"]), levels([0, 1], ["b", "a"])),
    (levels([0, 1], ["b", "a", "c"]), pa.array(["b", "a"])),
    (levels([0, 1], ["b", "a"], ordered=True), levels([0, 1], ["b", "a"])),
    (levels([0, 1], ["b", "a"], ordered=True), levels([1, 0], ["a", "b"], ordered=True)),
    (levels([0, 1], ["b", "a"], ordered=True), pa.array(["b", "a"])),
    (levels([0, 1], ["b", "a"]), pa.array(["b", "x"])),
    (
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.array([(1, 2, 4)], pa.month_day_nano_interval()),
    ),
    (pa.array([1, 2]), pa.array([1])),
]


def name_of(item: Any) -> str:
    """A short id for a parameter."""
    return f"{item.type}"[:40]


@pytest.mark.parametrize(("before", "after"), SAME, ids=name_of)
def test_equal_columns_are_the_same(before: Any, after: Any) -> None:
    """Chunks and names of list items are no difference."""
    assert "same" == verdict(before, after)


@pytest.mark.parametrize(("before", "after"), TYPE, ids=name_of)
def test_a_cast_gives_the_column_back(before: Any, after: Any) -> None:
    """Another type, nothing lost."""
    assert "type" == verdict(before, after)


@pytest.mark.parametrize(("before", "after"), LOSSY, ids=name_of)
def test_no_cast_gives_the_column_back(before: Any, after: Any) -> None:
    """Something is gone."""
    assert "lossy" == verdict(before, after)


@pytest.mark.parametrize("rows", [1, 65_535, 65_536, 65_537, 200_000])
def test_the_last_row_is_compared(rows: int) -> None:
    """Slices of rows leave none out, and the row is named."""
    before = pa.table({"i": np.arange(rows), "f": np.arange(rows) * 0.5})
    values = np.arange(rows) * 0.5
    values[-1] = -1.5
    change = compare_tables(before, before.set_column(1, "f", pa.array(values))).changes[0]
    assert ("f", "lossy", 1, f"row {rows - 1}", "-1.5") == (
        change.path,
        change.verdict,
        change.count,
        change.at,
        change.out,
    )


def test_cells_are_counted_not_columns() -> None:
    """The count is of cells that changed."""
    before = pa.table({"c": list(range(100_000))})
    after = pa.table({"c": [value if value % 10 else None for value in range(100_000)]})
    change = compare_tables(before, after).changes[0]
    assert (10_000, "row 0", "0", "null") == (change.count, change.at, change.in_, change.out)


def test_nan_payloads_are_told_apart_from_values() -> None:
    """Payload and sign have lines of their own."""
    found = compare_tables(
        pa.table({"c": [1.0, PAYLOAD, MINUS_NAN, 2.0]}), pa.table({"c": [1.5, NAN, NAN, 2.0]})
    )
    assert {("c", "lossy"), ("c (NaN payload)", "lossy"), ("c (NaN sign)", "type")} == {
        (change.path, change.verdict) for change in found.changes
    }


@pytest.mark.parametrize(
    ("before", "after", "path", "expected"),
    [
        (["a", "b"], ["b", "a"], "(column order)", "type"),
        (["a", "a"], ["a", "a_1"], "(column names)", "lossy"),
        (["", "b"], ["column_1", "b"], "(column names)", "lossy"),
        (["a", "b"], ["a"], "b", "lossy"),
        (["a"], ["index", "a"], "(columns)", "type"),
        (["a", "a"], ["a", "a"], None, "same"),
        (["\x1b[31m", "x"], ["x"], r"'\x1b[31m'", "lossy"),
    ],
)
def test_names_and_order_of_columns(
    before: list[str], after: list[str], path: str | None, expected: str
) -> None:
    """Each way names can change has its own line."""
    values = {"a": 1, "b": 2}

    def table(names: list[str]) -> Any:
        return pa.Table.from_arrays([pa.array([values.get(name, 3)]) for name in names], names=names)

    if path == "(column names)":
        left = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=before)
        right = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=after)
    else:
        left, right = table(before), table(after)
    found = compare_tables(left, right)
    assert expected == found.verdict
    assert path is None or path in {change.path for change in found.changes}


def test_columns_in_another_order_are_compared_by_name() -> None:
    """Order is noted once; values are still found."""
    found = compare_tables(pa.table({"a": [1], "b": ["x"]}), pa.table({"b": ["y"], "a": [1]}))
    assert {"(column order)", "b"} == {change.path for change in found.changes}


def test_rows_that_are_missing_are_said() -> None:
    """The rows that came back are compared, the others counted."""
    found = compare_tables(pa.table({"a": [1, 2, 3]}), pa.table({"a": [1, 5]}))
    assert {("(rows)", 1), ("a", 1)} == {(change.path, change.count) for change in found.changes}
    assert (3, 2, 1) == (found.items_in, found.items_out, found.columns)
    nothing = compare_tables(pa.table({"a": [1]}), pa.table({"a": pa.array([], pa.int64())}))
    assert (1, 0, "lossy") == (nothing.items_in, nothing.items_out, nothing.verdict)


def test_metadata_that_is_lost_is_said() -> None:
    """Of the schema and of a field; bookkeeping of libraries does not count."""
    field = pa.field("a", pa.int64(), metadata={"unit": "km"})
    before = pa.table([pa.array([1])], schema=pa.schema([field], metadata={"source": "x", "pandas": "{}"}))
    found = compare_tables(before, pa.table({"a": [1]}))
    assert {"a (metadata)", "(metadata)"} == {change.path for change in found.changes}
    only_bookkeeping = pa.table({"a": [1]}).replace_schema_metadata({"pandas": "{}", "ARROW:schema": "x"})
    assert "same" == compare_tables(only_bookkeeping, pa.table({"a": [1]})).verdict
    changed = before.replace_schema_metadata({"source": "y"})
    assert "lossy" == compare_tables(before, changed).verdict


def test_an_extension_type_that_became_its_storage_is_of_another_type() -> None:
    """Known to the process or not, the values are all there."""
    storage = pa.array([b"0123456789abcdef"], pa.binary(16))
    before = pa.table({"u": pa.ExtensionArray.from_storage(pa.uuid(), storage)})
    assert "same" == compare_tables(before, before).verdict
    assert "type" == compare_tables(before, pa.table({"u": storage})).verdict
    other = pa.array([b"0123456789abcdeX"], pa.binary(16))
    assert "lossy" == compare_tables(before, pa.table({"u": other})).verdict


def test_memory_stays_bounded_when_everything_differs() -> None:
    """The comparer holds slices, not copies of columns."""
    rows = 1_000_000
    before = pa.table(
        {"a": np.zeros(rows), "s": pa.array(["x"]).take(pa.array(np.zeros(rows, dtype=np.int32)))}
    )
    after = pa.table(
        {"a": np.ones(rows), "s": pa.array(["y"]).take(pa.array(np.zeros(rows, dtype=np.int32)))}
    )
    pool = pa.default_memory_pool()
    start = pool.bytes_allocated()
    found = compare_tables(before, after)
    assert [rows, rows] == [change.count for change in found.changes]
    assert pool.bytes_allocated() - start < 2**20


def test_the_side_of_a_change_is_told_beside_its_path() -> None:
    """A column may be called as the path of another one's metadata is."""
    fields = [pa.field("a", pa.int64(), metadata={"unit": "km"}), pa.field("a (metadata)", pa.int64())]
    before = pa.table([pa.array([1]), pa.array([2])], schema=pa.schema(fields))
    found = compare_tables(before, pa.table({"a": [1], "a (metadata)": [3]}))
    assert {("a (metadata)", "metadata", 1), ("a (metadata)", "", 1)} == {
        (change.path, change.side, change.count) for change in found.changes
    }
    assert {"a", "a (metadata)"} == {column_of(change.as_dict()) for change in found.changes}


def test_more_than_offsets_of_32_bits_lead_to() -> None:
    """Lists of nulls take no memory; three of them are too long for one array, as chunks of 1 GiB of texts are."""

    def chunk(nulls: int, number: float) -> pa.Array:
        lists = pa.ListArray.from_arrays(pa.array([0, nulls], pa.int32()), pa.nulls(nulls))
        return pa.StructArray.from_arrays([lists, pa.array([number])], ["l", "x"])

    long = [chunk(1 << 30, 0.5)] * 3
    before = pa.table({"k": pa.chunked_array([*long, chunk(1, 0.5), *long, chunk(1, 0.5)])})
    after = pa.table({"k": pa.chunked_array([*long, chunk(1, 0.5), *long, chunk(1, 1.5)])})
    assert not compare_tables(before, before).changes
    (change,) = compare_tables(before, after).changes
    assert (change.verdict, change.count, change.at) == ("lossy", 1, "row 7")
