"""The canonical hash: types are told apart, what is equal is equal however it lies in memory, the rest is refused."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import io
import subprocess
import sys
from collections import Counter, OrderedDict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.capabilities import need_module

from tare import r
from tare.errors import Limit, Unsupported
from tare.store import canonical_hash

pd, pl = need_module("pandas"), need_module("polars")


class Colour(enum.Enum):
    """Two colours."""

    RED = 1
    BLUE = 2


class Number(enum.IntEnum):
    """A number with a name."""

    ONE = 1


@dataclasses.dataclass
class Point:
    """A place."""

    x: float
    y: Any = None


class Pair(NamedTuple):
    """Two values with names."""

    a: int
    b: int


DIFFERENT = [
    None, False, True, 0, 1, -1, 255, 256, -256, 2**63, 2**64, 2**200, 0.0, -0.0, 1.0, float("nan"), float("inf"),
    1j, complex(1, 0), "", "1", "a", "\ud800", b"", b"1", bytearray(b"1"), memoryview(b"1"), Decimal(1),
    Decimal("1.0"), Decimal("NaN"), Fraction(1), dt.date(2013, 1, 1), dt.datetime(2013, 1, 1),
    dt.datetime(2013, 1, 1, fold=1), dt.datetime(2013, 1, 1, tzinfo=dt.UTC),
    dt.datetime(2013, 1, 1, tzinfo=ZoneInfo("UTC")), dt.datetime(2013, 1, 1, tzinfo=ZoneInfo("Europe/London")),
    dt.time(1), dt.timedelta(1), dt.UTC, ZoneInfo("UTC"), UUID(int=1), Path("a"), PureWindowsPath("a"),
    Colour.RED, Colour.BLUE, Number.ONE, [], (), set(), frozenset(), {}, [[]], [()], {"a": 1}, {"a": 2}, {"b": 1},
    {1: 1}, {True: 1}, {(1,): 1}, {frozenset([1]): 1}, OrderedDict(a=1), Counter(a=1), {1}, {1, 2}, {"1", 1}, [1, 2],
    [2, 1], (1, 2), [[1], 2], [1, [2]], ["ab", "c"], ["a", "bc"], Pair(1, 2), Point(1, 2), Point(1, 2.0), range(3),
    range(0, 3, 2), slice(1), slice(0, 1), ..., int, float, np.float64, np.dtype("f8"), np.dtype("f4"),
    np.float64(1), np.float32(1), np.int64(1), np.bool_(True), np.datetime64("2013-01-01"), np.array(1),
    np.array([1]), np.array([[1]]), np.array([1.0]), np.array([1], "u8"), np.array([1], "i4"), np.array(["a"]),
    np.array([b"a"]), np.array([1, "a"], dtype=object), np.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")]),
    np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0]), np.array(["2013"], "M8[D]"),
    pd.Timestamp(1), pd.Timedelta(1), pd.NA, pd.NaT, pd.Series([1]), pd.Series([1.0]), pd.Series([1], name="a"),
    pd.Series([1], index=[1]), pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), pd.DataFrame({"a": ["1"]}),
    pd.DataFrame({"a": [1]}, dtype="Int64"), pd.DataFrame({"a": [1]}, index=["x"]), pd.DataFrame({0: [1]}),
    pd.DataFrame({"0": [1]}), pd.DataFrame({"a": pd.Categorical(["x"])}), pd.Index([1]),
    pd.DataFrame({"a": pd.Series([1, True], dtype=object)}), pd.DataFrame({"a": pd.Series([1, 1], dtype=object)}),
    pd.DataFrame({"a": pd.Series(["x", None], dtype=object)}), pd.DataFrame({"a": pd.Series(["x", "None"], dtype=object)}),
    pd.DataFrame({"a": pd.to_datetime(["2013-01-01"])}), pd.DataFrame({"a": pd.to_datetime(["2013-01-01"], utc=True)}),
    pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1.0]}), pl.Series("a", [1]), pl.Series("b", [1]), pl.Int64,
    pa.table({"a": [1]}), pa.table({"a": [None, 1]}), pa.table({"a": [1, None]}), pa.table({"a": pa.array([1], "i4")}),
    pa.table({"a": ["x", "yz"]}), pa.table({"a": ["xy", "z"]}), pa.table({"a": [[1], [2, 3]]}),
    pa.table({"a": [[1, 2], [3]]}), pa.table({"a": [{"x": 1}]}), pa.table({"a": [{"x": None}]}), pa.array([1]),
    pa.scalar(1), pa.int64(), pa.table({"a": [True, False]}), pa.table({"a": [False, True]}),
    pa.table({"a": pa.nulls(1)}), pa.table({"a": pa.nulls(2)}), pa.table({}), pa.table({"a": [b"x"]}),
]  # fmt: skip


def test_values_that_differ_have_different_hashes() -> None:
    """Type, value, order and nesting all count."""
    met: dict[str, Any] = {}
    for value in DIFFERENT:
        found = canonical_hash(value)
        assert found not in met, (value, met.get(found))
        met[found] = value
        assert found == canonical_hash(value)


def table(chunks: list[list[Any]]) -> pa.Table:
    """A table of one column in these chunks."""
    kind = pa.array([one for chunk in chunks for one in chunk]).type
    return pa.table({"a": pa.chunked_array([pa.array(chunk, kind) for chunk in chunks])})


WHOLE = pd.DataFrame({"a": [1.0, float("nan"), 3.0], "b": ["x", None, "z"], "c": [1, 2, 3]})
EQUAL = {
    "order of names": ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
    "order of mixed names": ({1: 1, "b": 2, (3,): 4}, {(3,): 4, "b": 2, 1: 1}),
    "order of a set": ({1, 2, "x", (3,)}, {(3,), "x", 2, 1}),
    "NaN": (float("nan"), -float("nan")),
    "NaN in an array": (
        np.array([1, np.nan]),
        np.array([0x3FF0000000000000, 0x7FF8000000000001], "u8").view("f8"),
    ),
    "order of items": (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    "a view": (np.arange(0, 10, 2), np.arange(10)[::2]),
    "byte order": (np.arange(5, dtype="<i4"), np.arange(5, dtype=">i4")),
    "gaps between fields": (
        np.array([(1, 2)], dtype=[("a", "i1"), ("b", "i4")]),
        np.array([(1, 2)], dtype=np.dtype([("a", "i1"), ("b", "i4")], align=True)),
    ),
    "blocks of a frame": (WHOLE, WHOLE[["c", "a", "b"]].copy()[["a", "b", "c"]]),
    "a frame in parts": (WHOLE, pd.concat([WHOLE[:1], WHOLE[1:]])),
    "an index that counts": (WHOLE, WHOLE.set_axis(pd.Index([0, 1, 2]))),
    "rows of a frame": (WHOLE[1:], pd.concat([WHOLE, WHOLE])[1:3]),
    "nullable": (
        pd.Series([1, None, 3], dtype="Int64"),
        pd.concat([pd.Series([1, None], dtype="Int64"), pd.Series([3], dtype="Int64")], ignore_index=True),
    ),
    "chunks": (table([[1, None, 3]]), table([[1], [], [None, 3]])),
    "what lies under a null": (
        pa.array([1, None, 3]),
        pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(np.arange(1, 4).tobytes())]),
    ),
    "chunks of text": (table([["a", None, "bc", ""]]), table([["a", None], ["bc", ""]])),
    "a slice": (table([["a", None, "bc"]]), table([["z", "a", None, "bc", "q"]]).slice(1, 3)),
    "a slice of lists": (table([[[1], None, [2, 3]]]), table([[[9], [1], None], [[2, 3], []]]).slice(1, 3)),
    "a slice of truths": (table([[True, None, False]]), table([[False] * 9 + [True, None, False]]).slice(9)),
    "a slice of structs": (table([[{"x": 1}, None]]), table([[{"x": 7}, {"x": 1}, None]]).slice(1)),
    "dictionaries": (
        pa.chunked_array([pa.array(["a", "b"]).dictionary_encode()]),
        pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()]),
    ),
    "maps": (
        pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
        pa.array([[("z", 0)], [("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())).slice(1),
    ),
    "polars in chunks": (pl.DataFrame({"a": [1, 2]}), pl.concat([pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})], rechunk=False)),
    "metadata": (pa.table({"a": [1]}), pa.table({"a": [1]}).replace_schema_metadata({"x": "y"})),
    "R": (r.read(r.write([1, 2], None).data, as_="robject"), r.read(r.write([1, 2], None).data, as_="robject")),
    "R's zeros and encodings": (
        r.read(b"c(0, NaN)", format="dput", as_="robject"),
        r.read(r.write([-0.0, -float("nan")], None).data, as_="robject"),
    ),
    "paths": (Path("a/b"), PurePosixPath("a/b")),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), EQUAL.values(), ids=EQUAL)
def test_what_is_equal_has_one_hash(one: Any, other: Any) -> None:
    """However it lies in memory."""
    assert canonical_hash(one) == canonical_hash(other)


def test_large_tables_have_one_hash_whatever_their_chunks() -> None:
    """Over many runs of rows, nulls among them."""
    n = 200_001
    values = pa.array([None if i % 7 == 0 else i / 3 for i in range(n)])
    texts = pa.array([None if i % 5 == 0 else str(i) for i in range(n)])
    whole = pa.table({"x": values, "s": texts})
    parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 99_999), whole.slice(100_000)])
    assert canonical_hash(whole) == canonical_hash(parts)
    assert canonical_hash(whole) != canonical_hash(whole.slice(0, n - 1))
    frame = whole.to_pandas()
    assert canonical_hash(frame) == canonical_hash(pd.concat([frame[:7], frame[7:]]))


def a_function() -> None:
    """Nothing."""


class Own:
    """A class of one's own."""


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (a_function, r"a_function"),
        (lambda: 1, r"<lambda>"),
        (len, "builtin_function_or_method 'len'"),
        ((n for n in [1]), r"generator"),
        (io.BytesIO(), r"_io.BytesIO"),
        (Own(), r"Own, which"),
        (Own, r"Own"),
        (iter([1]), "list_iterator"),
        (np.longdouble(1), "long doubles"),
        (pl.DataFrame({"a": [1]}).lazy(), "LazyFrame"),
        (pl.Series("a", [Own()], dtype=pl.Object), "objects of Python"),
        ({"a": [1, {2: [a_function]}]}, r"at \['a'\]\[1\]\[2\]\[0\] is of type function"),
        (Point(1, Own()), r"at \.y is"),
        ({(1, a_function): 1}, r"\(key tuple\)\[1\]"),
        (np.array([Own()]), r"at \[0\]"),
    ],
)
def test_what_has_no_lasting_description_is_refused_by_name(value: Any, said: str) -> None:
    """With its type, its name and the way to it."""
    with pytest.raises(Unsupported, match=said):
        canonical_hash(value)


def test_what_holds_itself_is_refused() -> None:
    """A list in itself, and one that is nested without end."""
    value: list[Any] = []
    value.append(value)
    with pytest.raises(Limit, match="holds itself"):
        canonical_hash(value)
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Limit, match="nested"):
        canonical_hash(deep)
    shared = [1]
    assert canonical_hash([shared, shared]) == canonical_hash([[1], [1]])


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.dates(), st.datetimes(),
    st.decimals().filter(lambda d: not d.is_snan()), st.uuids(), st.complex_numbers(),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3) | st.integers(0, 3) | st.booleans(), inner, max_size=4),
        st.frozensets(SCALARS, max_size=4),
    ),
    max_leaves=12,
)


def spelt(value: Any) -> Any:
    """A spelling that differs exactly where type or value do."""
    if isinstance(value, dict):
        return ("dict", frozenset((spelt(name), spelt(one)) for name, one in value.items()))
    if isinstance(value, frozenset):
        return ("set", frozenset(map(spelt, value)))
    if isinstance(value, list | tuple):
        return (type(value).__name__, tuple(map(spelt, value)))
    if isinstance(value, complex):
        return ("complex", spelt(value.real), spelt(value.imag))
    if isinstance(value, float | Decimal) and str(value).strip("-").startswith(("nan", "NaN", "sNaN")):
        return (type(value).__name__, "NaN")
    return (type(value).__name__, repr(value))


@given(VALUES, VALUES)
def test_one_hash_exactly_where_type_and_value_are_one(one: Any, other: Any) -> None:
    """Against a spelling of the value as the naive twin."""
    assert (spelt(one) == spelt(other)) == (canonical_hash(one) == canonical_hash(other))


def test_every_process_gives_the_same() -> None:
    """Whatever the seed of Python's own hashes."""
    code = (
        "from tare.store import canonical_hash; import pyarrow as pa;"
        "print(canonical_hash([{'a', 'b', 'c', 1}, {'x': 1, 'y': {2: pa.table({'a': [1, None]})}}]))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "1")
    }  # fmt: skip
    assert len(found) == 1


def test_the_hash_of_known_values_stays() -> None:
    """Keys that were made with an older version are found by a newer one."""
    value = [None, True, 1, -1.5, "\u00e9", b"x", {"a": (1, 2)}, {1, 2}, dt.date(2013, 1, 1)]
    assert canonical_hash(value) == KNOWN
    assert canonical_hash([np.arange(3), pa.table({"a": ["x", None]})]) == KNOWN_DATA


KNOWN = "c83a678df17a5ccfc056de3fa6f89abfe39618e6937867bdf92cab05f82d571d"
KNOWN_DATA = "b308a4f78d7ef944207d3e7fa6244fd97869617a4ba893c08f5e8cf95af0b3a2"
