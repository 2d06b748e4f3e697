"""Columns of `blit` documents as NumPy and Arrow arrays."""

from __future__ import annotations

import datetime as dt
import gc

import numpy as np
import pyarrow as pa
import pytest

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


@pytest.mark.parametrize("n", [1, 3000, 70_000])
def test_every_column_is_what_the_rows_have(n):
    value = rows(n)
    view = blit.view(blit.encode(value))
    for name in value[0]:
        column = view.column(name)
        expected = [row[name] for row in value]
        assert len(column) == n
        assert column.to_list() == expected
        assert column.to_arrow().to_pylist() == expected
        if name not in {"gap", "inner"}:
            assert column.to_numpy().tolist() == expected
    assert view.column("/inner/x").to_numpy().tolist() == [row["inner"]["x"] for row in value]
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
