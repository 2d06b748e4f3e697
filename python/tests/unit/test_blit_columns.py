"""Columns of `blit` documents as NumPy and Arrow arrays."""

from __future__ import annotations

import datetime as dt
import gc

import numpy as np
import pyarrow as pa
import pytest
from support.soak import scaled

from tare import blit, errors


def rows(n=3000):
    """Rows with a column of each kind."""
    return [
        {
            "int": i * 7919 % 30_000 - 15_000,
            "based": 10**12 + i,
            "float": i / 3,
            "dec": i / 10,
            "bool": i % 3 == 0,
            "dict": f"d{i % 5}",
            "text": f"t{i}\u00e9",
            "gap": None if i % 4 else i,
            "inner": {"x": i % 200, "l": [i, 1]},
        }
        for i in range(n)
    ]


@pytest.mark.parametrize("n", [1, 3000, scaled(66_000, 70_000)])
def test_every_column_is_what_the_rows_have(n):
    value = rows(n)
    view = blit.view(blit.encode(value))
    for name in value[0] if n < 65_536 else scaled(("int", "gap"), value[0]):
        column = view.column(name)
        expected = [row[name] for row in value]
        assert len(column) == n
        assert column.to_list() == expected
        assert column.to_arrow().to_pylist() == expected
        if name not in {"gap", "inner"}:
            assert column.to_numpy().tolist() == expected
    assert view.column("/inner/x").to_numpy().tolist() == [row["inner"]["x"] for row in value]
    if n < scaled(65_536, 1 << 40):
        assert view.to_arrow().to_pylist() == value
        assert pa.table(view).to_pylist() == value


def test_packed_columns_are_not_copied_and_keep_the_document():
    document = blit.encode(rows())
    array = blit.view(document).column("int").to_numpy(copy=False)
    assert not array.flags.owndata
    assert not array.flags.writeable
    start = np.frombuffer(document, np.uint8).__array_interface__["data"][0]
    assert 0 <= array.__array_interface__["data"][0] - start < len(document)
    expected = array.tolist()
    del document
    gc.collect()
    assert array.tolist() == expected
    with pytest.raises(errors.Unsupported):
        blit.view(blit.encode(rows())).column("dec").to_numpy(copy=False)


@pytest.mark.parametrize("ahead", range(8))
def test_aligned_columns_are_used_where_they_lie(ahead):
    """Also those that are written shorter without: in NumPy and in Arrow, at a multiple of their width."""
    value = {"pad": "x" * ahead, "rows": rows(200)}
    document = blit.encode(value, aligned=True)
    assert blit.view(document) == value
    table = blit.view(document)["rows"]
    start = np.frombuffer(document, np.uint8).__array_interface__["data"][0]
    for name in ("int", "based", "float", "dec"):
        expected = [row[name] for row in value["rows"]]
        array = table.column(name).to_numpy(copy=False)
        assert array.tolist() == expected
        assert array.flags.aligned
        at = array.__array_interface__["data"][0] - start
        assert 0 < at < len(document)
        assert at % array.itemsize == 0
        arrow = table.column(name).to_arrow()
        assert arrow.to_pylist() == expected
        if isinstance(arrow, pa.Array):
            assert arrow.buffers()[1].address == start + at
    assert table.to_arrow().to_pylist() == value["rows"]


def test_gaps_need_a_word():
    column = blit.view(blit.encode(rows(100))).column("gap")
    with pytest.raises(errors.EncodeError, match="75 of 100"):
        column.to_numpy()
    assert np.isnan(column.to_numpy(nan=True)).sum() == 75
    assert column.to_numpy(masked=True).count() == 25


def test_rows_that_lie_by_themselves_have_columns_too():
    view = blit.view(blit.encode([{"a": 1}, {"b": 2}, {"a": 3}], layout="rows"))
    assert view.column("a").to_list() == [1, None, 3]
    with pytest.raises(errors.UsageError):
        view.column("zz")


def test_mixed_columns_are_refused_by_name():
    view = blit.view(blit.encode([{"a": 1, "m": 1}, {"a": 2, "m": "x"}]))
    with pytest.raises(errors.Unsupported, match="'m'"):
        view.to_arrow()
    with pytest.raises(errors.Unsupported):
        blit.view(blit.encode([1, 2])).to_arrow()


def test_tables_of_arrow_become_documents():
    table = pa.table(
        {
            "i": pa.array([1, None, 3], pa.int32()),
            "s": pa.array(["a", "b", None]).dictionary_encode(),
            "l": pa.array([[1.5], [], None]),
            "o": pa.array([{"x": 1}, {"x": None}, None]),
        }
    )
    assert blit.view(blit.from_arrow(table)).to_python() == table.to_pylist()
    with pytest.raises(errors.Unsupported, match=r"'o\.when'"):
        blit.from_arrow(pa.table({"o": [{"when": dt.datetime(2026, 1, 1)}]}))


def test_lines_of_json_become_rows():
    assert blit.view(blit.from_ndjson(b'{"a":1}\n{"a":2}\n')).column("a").to_list() == [1, 2]
    with pytest.raises(errors.DecodeError):
        blit.from_ndjson("{}\n{")


def columns_of(values):
    """The values as a column of a table, and as a list of rows that lie by themselves."""
    records = [{"v": value} for value in values]
    for layout in ("columns", "rows"):
        yield blit.view(blit.encode(records, layout=layout)).column("v")


@pytest.mark.parametrize(
    "values",
    [
        [2**53 + 1] * 65_536 + [1.5] * 100,
        [1.5] * 65_536 + [-(2**63) + 1] * 100,
        [-1] * 65_536 + [2**64 - 1] * 100,
        [2**53 + 1, 1.5],
        [-1, 2**63 + 1],
    ],
)
def test_integers_never_change_unseen(values):
    for column in columns_of(values):
        for how in ({}, {"masked": True}, {"nan": True}):
            with pytest.raises(errors.EncodeError, match=r"'v'.*object"):
                column.to_numpy(**how)
        assert column.to_list() == values


def test_integers_that_are_the_same_as_floats_join_them():
    for column in columns_of([2**53] * 65_536 + [2**60, -(2**63)] * 50 + [1.5] * 65_536):
        array = column.to_numpy()
        assert array.dtype == np.float64
        assert array[65_536:65_538].tolist() == [2**60, -(2**63)]
    for column in columns_of([True] * 65_536 + [7] * 100):
        assert column.to_numpy()[[0, -1]].tolist() == [True, 7]
        assert column.to_numpy().dtype == object


def test_integers_stay_themselves_among_other_objects():
    for values in ([2**53 + 1, 1.5] * 32_768 + ["x"] * 10, [2**70, 1.5], [1e300, 10**400, None]):
        for column in columns_of(values):
            assert column.to_numpy().tolist() == values


def test_nan_among_large_integers_is_refused():
    for large in (2**53 + 1, -(2**62) - 1, 2**63 + 1):
        for column in columns_of([large, None] * 50):
            with pytest.raises(errors.EncodeError, match="object"):
                column.to_numpy(nan=True)
            array = column.to_numpy(masked=True)
            assert (array[0], array.count()) == (large, 50)
            assert array.dtype.kind in "iu"


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([7] * 500, "i8"),
        ([7] * 70_000, "i8"),
        ([0.5] * 500, "f8"),
        ([True] * 500, "?"),
        ([2**63 + i for i in range(500)], "u8"),
        ([5] * 65_536 + [2**64 - 1] * 10, "u8"),
        ([2**64 - 1] * 500, "u8"),
    ],
)
def test_numbers_that_are_alike_or_large_have_a_type(values, dtype):
    for column in columns_of(values):
        array = column.to_numpy()
        assert array.dtype.kind == np.dtype(dtype).kind
        assert array.tolist() == values
        assert column.to_arrow().to_pylist() == values
        if dtype == "u8":
            assert column.to_arrow().type == pa.uint64()


@pytest.mark.parametrize(
    "values", [[7, None], [7] * 400 + [None], [None] * 70_000 + [1], [None, None, 300, 7]]
)
def test_gaps_need_a_word_wherever_they_lie(values):
    there = [value for value in values if value is not None]
    for column in columns_of(values):
        with pytest.raises(errors.EncodeError, match=f"{len(values) - len(there)} of {len(values)}"):
            column.to_numpy()
        masked, floats = column.to_numpy(masked=True), column.to_numpy(nan=True)
        assert masked.dtype == np.int64
        assert masked.compressed().tolist() == there
        assert floats.dtype == np.float64
        assert [None if np.isnan(value) else value for value in floats] == values


def test_columns_without_a_value_are_floats():
    empty = blit.view(blit.encode([])).column("").to_numpy()
    assert (empty.dtype, len(empty)) == (np.float64, 0)
    for column in columns_of([None] * 3):
        assert np.isnan(column.to_numpy(nan=True)).all()
        assert column.to_numpy(masked=True).count() == 0


def test_strings_of_half_a_surrogate_are_no_arrow():
    for values in (["a\ud800", "b"], ["a\ud800", "b"] * 500):
        view = blit.view(blit.encode([{"v": value} for value in values], surrogates="keep"))
        with pytest.raises(errors.Unsupported, match="'v'"):
            view.column("v").to_arrow()
        with pytest.raises(errors.Unsupported):
            view.to_arrow()
    view = blit.view(blit.encode([{"v\ud800": 1}], surrogates="keep"))
    with pytest.raises(errors.Unsupported):
        view.to_arrow()


def test_codes_of_no_string_are_malformed():
    document = bytearray(blit.encode(rows(1000)))
    width, offset, strings = blit.view(bytes(document)).chunks(["dict"])[0].codes()
    assert (width, len(strings)) == (1, 5)
    document[offset + 500] = 5
    view = blit.view(bytes(document))
    with pytest.raises(errors.Malformed, match="V25"):
        view.column("dict").to_list()
    with pytest.raises(errors.Malformed, match=r"'dict'.*V25"):
        view.column("dict").to_arrow()
    with pytest.raises(errors.Malformed):
        view.to_arrow()


def test_a_bit_behind_the_last_element_is_an_error():
    """It says that there is one element more than there are: no reader lays it out."""
    document = bytes.fromhex(
        "424c5431010305070901020702df0e0902060402010502e50e090c00018561620109a11f3f00020180040107020c00010a4254"
    )
    column = blit.view(document).column("a")
    with pytest.raises(errors.Malformed, match="V26"):
        column.to_numpy()


def test_rows_without_columns_are_counted():
    table = blit.view(blit.encode([{}, {}])).to_arrow()
    assert (table.num_rows, table.num_columns) == (2, 0)
    assert blit.view(blit.from_arrow(table)).to_python() == [{}, {}]
