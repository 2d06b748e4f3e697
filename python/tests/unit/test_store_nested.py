"""Values inside values: what a document does not hold comes back from a store as it was, or is refused with its place."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import uuid
from collections import OrderedDict, namedtuple
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.capabilities import need_module
from support.stores import new_store

from tare import blit, open_store
from tare.errors import DecodeError, Limit, Malformed, Unsupported
from tare.store import values

POINT = namedtuple("POINT", "x y")  # noqa: PYI024 - the old kind is a tuple too


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A new store."""
    with new_store(request.param, tmp_path) as opened:
        yield opened


VALUES = [
    (),
    (1, (2, 3)),
    {"a": (1, [2, {"b": (None, True)}])},
    set(),
    {1, "two", (3, 4)},
    frozenset({b"x"}),
    {1: "one", (2, 3): "pair", None: 0.5, 1.5: "float"},
    {"$tuple": [1]},
    {"a": {"$map": 1}},
    {"": {"b": 1}, "$c": (1,)},
    Decimal("1.10"),
    [Decimal("1e400"), Decimal(5), Decimal("0.30")],
    {"when": dt.date(2026, 11, 23), "at": dt.time(1, 2, 3, 4)},
    [dt.datetime(2026, 11, 23, 1, 2, 3, 4), dt.datetime(2026, 11, 23, tzinfo=ZoneInfo("Europe/London"))],
    dt.timedelta(days=-3, microseconds=7),
    uuid.UUID(int=7),
    np.float64(0.5),
    np.bool_(True),
    {"mean": np.float64(0.1)},
    [np.float32(0.5), np.int64(2**40), np.datetime64("2026-11-23T01:02", "m")],
    [bytearray(b"x"), b"x"],
    ([0.1, -0.0, float("inf"), 2**200, "\ud800", "\U0001f600"],),
]


@pytest.mark.parametrize("value", VALUES)
def test_it_comes_back_as_it_was(store: Any, value: Any) -> None:
    """Value and types of every part; by one, by many, in a batch; the same value has the same hash."""
    hash = store.set("k", value)
    store.mset(["m"], [value])
    with store.batch() as batch:
        batch.set("b", value)
    for found in (store.get("k"), store.mget(["m"])[0], store["b"], store.get_value(hash)):
        assert spelt(found) == spelt(value)
    assert store.get_hash("m") == store.get_hash("b") == hash == store.hash_object(value)


def spelt(value: Any) -> Any:
    """Values with their types, which `==` does not look at."""
    kind = type(value).__name__
    if isinstance(value, (list, tuple)):
        return (kind, [spelt(item) for item in value])
    if isinstance(value, (set, frozenset)):
        return (kind, sorted(repr(spelt(item)) for item in value))
    if isinstance(value, dict):
        return (kind, [(spelt(key), spelt(item)) for key, item in value.items()])
    return (kind, repr(value))


def test_only_what_a_document_does_not_hold_is_wrapped(store: Any) -> None:
    """Other values keep the codec `blit`, whose bytes every language reads."""
    for value in ({"a": [1, 0.1, "x", b"y", None]}, [], "$text", {"a": {"$b": 1}}):
        store["k"] = value
        assert store.codec_of("k") == "blit"
    store["k"] = {"a": [1, 0.1], "b": (2,)}
    assert store.codec_of("k") == "blit:values"
    assert blit.view(store.open("k").read()).to_python() == {
        "a": [1, 0.1],
        "b": {"$tuple": [2]},
    }


def test_arrays_and_tables_inside(store: Any) -> None:
    """What a step of a pipeline gives: a table and what is known of it."""
    pd, pl = need_module("pandas"), need_module("polars")
    frame = pd.DataFrame({"x": [1.5, None], "c": pd.Categorical(["a", "b"])})
    array = np.arange(6, dtype="<i2").reshape(2, 3)
    store["k"] = (frame, {"coefficients": array, "rows": pl.DataFrame({"n": [1]}), "t": pa.table({"x": [1]})})
    found, more = store["k"]
    pd.testing.assert_frame_equal(found, frame)
    np.testing.assert_array_equal(more["coefficients"], array)
    assert more["coefficients"].dtype == array.dtype
    assert more["rows"].equals(pl.DataFrame({"n": [1]}))
    assert more["t"].equals(pa.table({"x": [1]}))


def test_subclasses_are_their_base(store: Any) -> None:
    """Named tuples are tuples then, which the guide says."""
    store["k"] = [POINT(1, 2), OrderedDict(a=(1,))]
    assert spelt(store["k"]) == spelt([(1, 2), {"a": (1,)}])


def test_sets_have_one_hash_in_every_process(tmp_path: Path) -> None:
    """Their order in memory is random for each process."""
    program = (
        "from tare import open_store; print(open_store('memory:').hash_object({'a', 'b', 'c', ('d', 1)}))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": [1, object()]}, r"\$\.a\[1\]"),
        ((object(),), r"\$\[0\]"),
        ({1: object()}, r"\$\[1\]"),
        ({"a": (1 + 2j,)}, r"\$\.a\[0\]"),
    ],
)
def test_what_no_codec_holds_is_refused_with_its_place(store: Any, value: Any, place: str) -> None:
    """And with what to do."""
    with pytest.raises(Unsupported, match=rf"codec='pickle'.*at {place}"):
        store["k"] = value
    assert "k" not in store


def test_a_series_in_a_list_is_refused_with_its_place(store: Any) -> None:
    with pytest.raises(Unsupported, match=r"codec='pickle'.*at \$\[0\]"):
        store["k"] = [need_module("pandas").Series([1])]
    assert "k" not in store


def test_a_file_inside_is_refused(store: Any, tmp_path: Path) -> None:
    """Its bytes would be read at some time or other."""
    with (tmp_path / "f").open("wb+") as file, pytest.raises(Unsupported, match="a key of its own"):
        store["k"] = (file,)


def test_a_list_that_holds_itself_is_a_limit(store: Any) -> None:
    """Not the end of the process."""
    value: list[Any] = [()]
    value.append(value)
    with pytest.raises(Limit):
        store["k"] = value
    deep: Any = ()
    for _ in range(5000):
        deep = (deep,)
    with pytest.raises(Limit):
        store["k"] = deep


@pytest.mark.parametrize(
    "tree",
    [
        {"$tuple": 1},
        {"$tuple": [1], "more": 2},
        {"$set": [[1]]},
        {"$map": [[1]]},
        {"$map": [1]},
        {"$map": [[[], 1]]},
        {"$value": ["npy"]},
        {"$value": ["pickle:stdlib", b"cos\nsystem\n(S'true'\ntR."]},
        {"$value": ["pickle", b"\x80\x04."]},
        {"$value": ["npy", b"rubbish"]},
        {"$dec": 5},
        {"$dec": "x"},
        {"$unknown": 1},
        {"$date": "2026-02-31"},
    ],
    ids=repr,
)
def test_what_no_writer_wrote_is_malformed(tree: Any) -> None:
    """And nothing in it is evaluated."""
    with pytest.raises(DecodeError):
        values.decoded("blit:values", blit.encode(tree), allow_pickle=True)


def test_deep_wrapping_that_is_read_is_a_limit() -> None:
    """Also where others wrote it."""
    tree: Any = 1
    for _ in range(900):
        tree = [tree]
    with pytest.raises((Limit, Malformed)):
        values.decoded("blit:values", blit.encode(tree), allow_pickle=False)


KEYS = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.dates()
LEAVES = (
    KEYS
    | st.floats()
    | st.decimals(allow_nan=False)
    | st.datetimes()
    | st.timedeltas()
    | st.uuids()
    | st.times()
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["$", "$set", "$tuple"]), inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.frozensets(KEYS, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(TREES)
def test_any_value_comes_back(value: Any) -> None:
    """Types, order and bits of every part."""
    with open_store("memory:") as store:
        store["k"] = value
        assert spelt(store["k"]) == spelt(value)


def test_memoize_gives_the_same_first_and_later(store: Any) -> None:
    """Type by type: the first call has the value itself, the second what was kept."""

    @store.memoize(version="1")
    def made_of(n: int) -> Any:
        return (n, {"when": dt.date(2026, 11, n), "all": {n}})

    assert spelt(made_of(3)) == spelt(made_of(3)) == spelt((3, {"when": dt.date(2026, 11, 3), "all": {3}}))
