"""Objects as data: what nothing can hold is refused at once, with what to pass instead."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import math

import numpy as np
import pyarrow as pa
import pytest
from support.capabilities import need_module

from tare import open_dataset
from tare.errors import UsageError


def cycle(deep):
    """A list that contains itself, that many levels down."""
    value = inner = []
    for _ in range(deep):
        inner.append([])
        inner = inner[0]
    inner.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (len, "is no data"),
        (lambda: 1, "a function is no data"),
        (math, "a module is no data"),
        (dict, "a type is no data"),
        (object(), "an object is no data"),
        ((n for n in range(3)), r"a generator gives its values once only: pass list\(...\)"),
        (iter([1]), r"pass list\(...\)"),
        (map(str, [1]), r"pass list\(...\)"),
        ({"rows": [{"n": (n for n in "ab")}]}, "a generator in a dict gives its values once only"),
        ([1, "x", object()], "an object in a list is no data"),
        (cycle(0), "a list contains itself"),
        (cycle(3000), "a list contains itself"),
        (np.arange(4), r"a numpy ndarray is no table: pass .tolist\(\)"),
        (pa.array([1]), "a pyarrow Array is no table: pass pyarrow.table"),
        (pa.chunked_array([[1]]), "a pyarrow ChunkedArray is no table"),
    ],
)
def test_what_is_no_data_is_refused(value, said):
    """Before anything is measured."""
    with pytest.raises(UsageError, match=said):
        open_dataset(value)


def test_a_series_is_refused_as_a_table():
    """Says how its library makes a table of it."""
    pd, pl = need_module("pandas"), need_module("polars")
    for value, said in (
        (pd.Series([1]), r"a pandas Series is no table: pass .to_frame\(\)"),
        (pd.date_range("2020-01-01", periods=2), r"pass .to_frame\(index=False\)"),
        (pl.Series([1]), r"a polars Series is no table: pass .to_frame\(\)"),
    ):
        with pytest.raises(UsageError, match=said):
            open_dataset(value)
    assert "table" == open_dataset(pd.Series([1], name="n").to_frame()).kind


def test_what_can_be_held_is_opened():
    """Values of the standard library, shared parts, arrays inside a document, tables of arrays."""
    shared = [1, 2]
    for value in (
        None,
        1.5,
        {},
        [shared, shared],
        {"a": shared, "b": {"c": shared}},
        (1, {2}),
        collections.OrderedDict(a=1),
        [decimal.Decimal(1), dt.date(2020, 1, 1), b"x"],
        {"weights": np.arange(3)},
    ):
        assert "document" == open_dataset(value).kind
    assert "table" == open_dataset(np.zeros(2, [("x", "i8")])).kind


@pytest.mark.parametrize(
    ("value", "ending"),
    [({}, "depth 1  0 leaves"), ({"a": 1}, "1 leaf: 100 % int"), ([1, 2], "2 leaves: 100 % int")],
)
def test_the_headline_has_no_loose_end(value, ending):
    """Without leaves no list of types, and one leaf is in the singular."""
    assert open_dataset(value).headline().endswith(ending)
