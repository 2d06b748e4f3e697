"""Samples: their size, their order, and that they repeat."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.soak import scaled

from tare.datasets import sampling
from tare.errors import UsageError

SIZES = st.floats(min_value=0.0, max_value=1.0, exclude_min=True)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=30), st.dictionaries(st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=80,
)


@given(
    n=st.integers(0, 300),
    size=SIZES,
    seed=st.integers(0, 5),
    how=st.sampled_from(["blocks", "random", "head"]),
)
def test_a_table_keeps_one_plus_rounded_share_in_order(n, size, seed, how):
    """1 + round(n * size) rows, at most n, each once, in source order."""
    table = pa.table({"row": list(range(n))})
    part = sampling.table(table, size, how=how, seed=seed)["row"].to_pylist()
    assert min(n, 1 + round(n * size)) == len(part)
    assert sorted(set(part)) == part


@given(
    n=st.integers(1, 10_000), wanted=st.integers(1, 10_000), least=st.integers(1, 500), seed=st.integers(0, 5)
)
def test_blocks_are_long_and_spread(n, wanted, least, seed):
    """They hold what is wanted, are not shorter than asked unless there is one, and each has its own stretch."""
    wanted = min(n, wanted)
    found = sampling.blocks(n, wanted, least, seed=seed)
    assert sum(end - start for start, end in found) == wanted
    assert len(found) == 1 or min(end - start for start, end in found) >= min(least, n // len(found))
    for k, (start, end) in enumerate(found):
        assert n * k // len(found) <= start < end <= n * (k + 1) // len(found)


def test_neighbours_stay_neighbours():
    """A column that is sorted has as many runs in the part as its blocks meet, not one for each row."""
    table = pa.table({"row": list(range(200_000))})
    part = sampling.table(table, 0.4)["row"].to_pylist()
    assert sum(b != a + 1 for a, b in itertools.pairwise(part)) <= 7


@given(n=st.integers(1, 300), size=SIZES, seed=st.integers(0, 5))
def test_the_same_seed_draws_the_same_rows(n, size, seed):
    """A sample is a function of data, size and seed."""
    table = pa.table({"row": list(range(n))})
    assert sampling.table(table, size, seed=seed).equals(sampling.table(table, size, seed=seed))


@given(data=st.lists(DOCUMENTS, min_size=4, max_size=60), size=SIZES, seed=st.integers(0, 3))
def test_a_long_list_keeps_whole_items(data, size, seed):
    """Items that are kept are the very items, unless the list is too short to be thin enough."""
    wanted = sampling.count(len(data), size)
    part = sampling.document(data, size, seed=seed)
    assert wanted == len(part)
    if size * len(data) / wanted > 0.5:
        assert all(any(item is other for other in data) for item in part)


@settings(max_examples=scaled(30, 60))
@given(data=st.dictionaries(st.text(max_size=3), DOCUMENTS, max_size=5), size=SIZES, seed=st.integers(0, 3))
def test_a_map_keeps_its_keys_and_types(data, size, seed):
    """Structure stays: the same keys and types, and no list grows; the source is not changed."""
    before = repr(data)
    part = sampling.document(data, size, seed=seed)
    assert list(data) == list(part)
    for key, value in part.items():
        assert type(data[key]) is type(value)
        if isinstance(value, list):
            assert len(value) <= len(data[key])
            assert bool(value) == bool(data[key])
    assert before == repr(data)


@given(n=st.integers(8, 200), size=SIZES, seed=st.integers(0, 3))
def test_columns_lose_the_same_rows(n, size, seed):
    """Parallel lists of one map stay parallel."""
    part = sampling.document({"a": list(range(n)), "b": [k * k for k in range(n)]}, size, seed=seed)
    assert [k * k for k in part["a"]] == part["b"]


@given(size=st.floats(min_value=0.02, max_value=0.9), seed=st.integers(0, 3))
def test_strata_keep_their_share(size, seed):
    """Every value of the column keeps its share to within one row."""
    table = pa.table({"g": ["a"] * 500 + ["b"] * 300 + ["c"] * 200})
    part = sampling.table(table, size, how="stratify=g", seed=seed)["g"].to_pylist()
    for name, n in (("a", 500), ("b", 300), ("c", 200)):
        assert abs(part.count(name) - n * len(part) / 1000) <= 1


def test_a_nested_list_is_thinned_where_it_is_long():
    """One feature with many points keeps its one feature and a share of its points."""
    data = {"features": [{"points": [[k, k + 1] for k in range(1000)]}]}
    part = sampling.document(data, 0.1)
    assert 1 == len(part["features"])
    assert 100 == len(part["features"][0]["points"])
    assert all(len(point) == 2 for point in part["features"][0]["points"])


@pytest.mark.parametrize("size", [0, -0.5, 1.5, float("nan")])
def test_a_size_is_a_share(size):
    """Sizes out of (0, 1] are refused."""
    with pytest.raises(UsageError):
        sampling.table(pa.table({"a": [1, 2, 3]}), size)
    with pytest.raises(UsageError):
        sampling.document([1, 2, 3], size)


def test_unknown_rules_are_refused():
    """A rule or column that does not exist is named in the error."""
    with pytest.raises(UsageError, match="stratify"):
        sampling.table(pa.table({"a": list(range(9))}), 0.5, how="stratify=b")
    with pytest.raises(UsageError, match="head"):
        sampling.document([1, 2, 3], 0.5, how="tail")
