"""Columns of arrays that few bytes make long, and columns as sequences and arrays of others."""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.blit_documents import EMPTY, NULL, array_of_equal

from tare import blit
from tare.errors import EncodeError, Limit, Unsupported, UsageError

ARRAY = 0x0C
TEXT = 9
FIVE = 0xA5


@pytest.mark.alone
@pytest.mark.parametrize("tag", [EMPTY, ARRAY, NULL, FIVE, TEXT])
def test_equal_elements_are_looked_at_once(tag: int) -> None:
    """However many there are: no element is an answer that takes no longer than one."""
    began = time.process_time()
    view = array_of_equal(1 << 27, tag)
    for path in ["a", "/a/b", ["0"]]:
        with pytest.raises(UsageError, match="no element"):
            view.column(path)
    if tag == EMPTY:
        assert view.to_arrow().num_columns == 0
    else:
        with pytest.raises(Unsupported, match="array of objects"):
            view.to_arrow()
    assert time.process_time() - began < 1


@pytest.mark.parametrize("tag", [EMPTY, ARRAY, NULL, FIVE, TEXT])
def test_equal_elements_are_an_arrow_array(tag: int) -> None:
    """As many as there are, of the type that one has."""
    few = array_of_equal(1000, tag)
    array = few.column("").to_arrow()
    assert array.to_pylist() == few.to_python()
    assert len(array_of_equal(1 << 20, tag).column("").to_arrow()) == 1 << 20


@pytest.mark.parametrize("tag", [EMPTY, ARRAY, NULL, FIVE, TEXT])
@pytest.mark.parametrize("n", [(1 << 28) + 1, 1 << 40, 1 << 62])
def test_more_elements_than_may_be_are_a_limit(tag: int, n: int) -> None:
    """Before anything is made of them."""
    view = array_of_equal(n, tag)
    for make in (
        lambda: view.column("a"),
        lambda: view.column("").to_list(),
        lambda: view.column("").to_arrow(),
        lambda: view.column("").to_numpy(),
        lambda: view.column("")[:],
    ):
        with pytest.raises(Limit):
            make()
    if tag == EMPTY:
        with pytest.raises(Limit, match="2\\^28"):
            pa.table(view)


def test_rows_count_with_what_is_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows, of arrays that few bytes make long, are as many elements as they hold."""
    one = array_of_equal(1 << 16, NULL)
    view = blit.view(blit.encode([{"a": one, "b": i} if i % 2 else [i] for i in range(6)]))
    assert [value and len(value) for value in view.column("a").to_list()] == [None, 1 << 16] * 3
    monkeypatch.setattr("tare.blit.columns._MOST", (3 << 16) + 5)
    with pytest.raises(Limit):
        view.column("a").to_list()


def mixed() -> Any:
    """A view of rows that lie in columns, and one of rows that do not."""
    rows = [{"i": i, "s": f"name {i % 3}", "x": None if i == 4 else i / 2} for i in range(50)]
    return rows, blit.view(blit.encode(rows)), blit.view(blit.encode(rows, layout="rows"))


def test_a_column_is_a_sequence() -> None:
    """Elements by place, slices, length, iteration: the same in both layouts."""
    rows, *views = mixed()
    for view in views:
        for name in ("i", "s", "x"):
            column, expected = view.column(name), [row[name] for row in rows]
            assert len(column) == 50
            assert list(column) == column[:] == expected
            assert column[-1] == expected[-1]
            assert column[40:10:-7] == expected[40:10:-7]
            assert 3 in view.column("i")
            with pytest.raises(IndexError):
                column[50]


def test_a_column_is_an_array_for_numpy() -> None:
    """`numpy.asarray` and functions of NumPy take it."""
    rows, *views = mixed()
    for view in views:
        column = view.column("i")
        assert np.asarray(column).tolist() == list(range(50))
        assert np.sum(column) == sum(range(50))
        assert np.asarray(column, dtype=np.float32).dtype == np.float32
        assert np.array(column, copy=True).flags.writeable
        assert np.asarray(view.column("s")).tolist() == [row["s"] for row in rows]
        with pytest.raises(EncodeError, match="missing"):
            np.asarray(view.column("x"))
    packed = blit.view(blit.encode([{"i": (i - 25) * 1000} for i in range(50)])).column("i")
    assert not np.asarray(packed).flags.owndata
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        assert not np.asarray(packed, copy=False).flags.owndata
        for column, dtype in [(packed, np.float64), (views[1].column("i"), None)]:
            with pytest.raises(ValueError, match="column 'i'"):
                np.asarray(column, dtype=dtype, copy=False)


def test_a_column_is_pickled_with_its_rows() -> None:
    """It comes back with the name, the kinds and the values."""
    _, *views = mixed()
    for view in views:
        for path in ("i", "/x", ["s"]):
            column = view.column(path)
            again = pickle.loads(pickle.dumps(column))
            assert (again.name, again.kinds, again.to_list()) == (column.name, column.kinds, column.to_list())


def test_integers_beyond_arrow_are_said_plainly() -> None:
    """Not as values of several kinds."""
    for layout in ("columns", "rows"):
        view = blit.view(blit.encode([{"n": 1}, {"n": 2**70}], layout=layout))
        with pytest.raises(Unsupported, match="71 bits"):
            view.to_arrow()
