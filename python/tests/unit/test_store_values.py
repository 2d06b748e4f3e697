"""Values of every kind come back as they were, by the codec of their kind or any of the registry; nothing is copied twice."""

from __future__ import annotations

import datetime as dt
import io
import mmap
import os
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.capabilities import need_codec, need_module
from support.stores import new_store

from tare import formats, open_store, r
from tare.codec import Codec
from tare.errors import Corrupt, EncodeError, NotTrusted, TareError, Unsupported, UsageError
from tare.r import LossWarning

pd, pl = need_module("pandas"), need_module("polars")

FRAME = pd.DataFrame(
    {
        "n": [1, 2, 3],
        "x": [0.5, float("nan"), 2.5],
        "s": ["a", None, "c"],
        "t": pd.to_datetime(["2013-01-01", None, "2013-01-03"]),
        "z": pd.to_datetime(["2013-01-01", None, "2013-01-03"], utc=True).tz_convert("Europe/London"),
        "c": pd.Categorical(["u", "v", "u"], categories=["v", "u"], ordered=True),
        "i": pd.array([1, None, 3], dtype="Int64"),
        "b": pd.array([True, None, False], dtype="boolean"),
        "d": pd.to_timedelta([1, 2, 3], unit="s"),
    },
    index=pd.Index(["p", "q", "r"], name="row"),
)
FRAMES = {
    "nothing at all": pd.DataFrame(),
    "dtypes": FRAME,
    "no index": FRAME.reset_index(drop=True),
    "names that are numbers": pd.DataFrame({0: [1], 1: [2]}),
    "levels": FRAME.set_index(["n", "s"])[["x"]],
    "levels of columns": pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
    "no rows": FRAME[:0],
    "no columns": pd.DataFrame(index=range(3)),
    "large": pd.DataFrame({"x": np.arange(200_000.0), "s": ["text"] * 200_000}),
}


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A new store."""
    with new_store(request.param, tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("value", "back"),
    [
        *[
            (v, v)
            for v in (
                None,
                True,
                False,
                0,
                -1,
                2**63,
                2**200,
                1.5,
                -0.0,
                float("inf"),
                "",
                "text",
                "\u00e9\U0001f600",
            )
        ],
        *[
            (v, v)
            for v in ([], {}, [1, [2, {"a": None}]], {"a": {"b": [1.5, "x", b"y"]}}, b"", b"bytes", "\ud800")
        ],
        (bytearray(b"x"), b"x"),
        (memoryview(b"xyz")[::2], b"xz"),
        ([{"id": n, "name": str(n)} for n in range(2000)], [{"id": n, "name": str(n)} for n in range(2000)]),
    ],
)
def test_documents_and_bytes_come_back(store: Any, value: Any, back: Any) -> None:
    """By get, by the mapping, by many, and by their hash."""
    hash = store.set("k", value)
    for found in (store.get("k"), store["k"], store.mget(["k"])[0], store.get_value(hash)):
        assert found == back
        assert type(found) is type(back)
    assert str(store.get("k")) == str(back)  # -0.0
    assert store.codec_of("k") == ("raw" if isinstance(back, bytes) else "blit")
    assert store.hash_object(value) == hash


def test_a_document_has_the_bytes_of_the_codec(store: Any) -> None:
    """What is encoded in the core is what the codec `blit` writes: the same hash."""
    for value in ({"a": [1, 2.5, None]}, [0.1, 10**40], "x", [{"n": n} for n in range(100)]):
        store.set("k", value)
        assert store.open("k").read() == Codec.parse("blit").encode(value)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_pandas_comes_back(store: Any, frame: pd.DataFrame) -> None:
    """With its types, its index and the names of its columns."""
    store["k"] = frame
    assert store.codec_of("k") == "arrow:pandas"
    pd.testing.assert_frame_equal(frame, store["k"], check_freq=False)
    assert store.set("l", frame.copy()) == store.get_hash("k")


def test_tables_come_back_as_the_library_that_made_them(store: Any) -> None:
    """Arrow as Arrow, a batch as a table, polars as polars."""
    table = pa.table({"a": [1, None], "s": ["x", "y"], "l": [[1], None]}, metadata={"k": "v"})
    polars = pl.DataFrame(
        {
            "a": [1, None],
            "s": ["x", "y"],
            "d": [dt.date(2013, 1, 1), None],
            "c": pl.Series(["u", "v"], dtype=pl.Categorical),
        }
    )
    large = pa.table({"x": np.arange(500_000.0)})
    store.mset(["arrow", "batch", "polars", "large"], [table, table.to_batches()[0], polars, large])
    store["large again"] = large
    assert store["arrow"].equals(table, check_metadata=True)
    assert store["batch"].equals(table)
    assert store["polars"].equals(polars)
    assert store["polars"].schema == polars.schema
    assert store["large"].equals(large)
    assert store.get_hash("large") == store.get_hash("large again")  # written whole, and part by part


@pytest.mark.parametrize(
    "array",
    [np.arange(12.0).reshape(3, 4), np.asfortranarray(np.eye(3)), np.array(2.5), np.array(["a", "bc"]), np.zeros((0, 2)),
     np.array([(1, 2.5)], dtype=[("a", "i2"), ("b", "f8")]), np.array(["2013-01-01"], "M8[D]"), np.arange(10)[::-2]],
)  # fmt: skip
def test_arrays_come_back(store: Any, array: Any) -> None:
    """With type, shape and order, as read-only arrays."""
    store["k"] = array
    back = store["k"]
    np.testing.assert_array_equal(array, back)
    assert (array.dtype, array.shape) == (back.dtype, back.shape)
    assert not back.flags.writeable or not back.nbytes


def test_r_objects_come_back_exactly(store: Any, tmp_path: Path, shared: Callable[[str], Path]) -> None:
    """A closure of a real file; of a store of R the same under R's own hash."""
    closure = r.read(shared("fixtures/rds/closure_global.v3.xdr.gzip.rds"), as_="robject")
    store["k"] = closure
    assert store["k"] == closure
    with open_store(f"storr:{tmp_path}/r") as theirs:
        hash = theirs.set("k", closure)
        assert theirs["k"] == closure
        assert len(hash) == 32
        assert theirs.export_(store, namespace="objects").keys == 1
        assert store["k"] == closure


def test_a_store_of_r_converts_and_tells_what_is_lost(tmp_path: Path) -> None:
    """A value that is no R object becomes one; what R has not is a warning."""
    with new_store("storr", tmp_path) as store:
        store["n"] = [1, 2, 3]
        assert store["n"].to_python().tolist() == [1, 2, 3]
        store["df"] = pd.DataFrame({"a": [1.5, 2.5]})
        assert store["df"].r_class == ["data.frame"]
        with pytest.warns(LossWarning, match="kept"):
            store["big"] = pa.table({"u": pa.array([2**64 - 1], "u8")})
        with pytest.raises(Unsupported, match="holds rds only"):
            store.set("j", [1], codec="json")
        with pytest.raises(TareError):
            store["o"] = object()
        assert store.list() == ["big", "df", "n"]


CODECS = [
    f"{format.id}:{library.name}"
    for format in formats.FORMATS
    for library in format.libraries
    if library.writes and library.installed and format.id != "pgjsonb"
]


@pytest.mark.parametrize("id", CODECS)
def test_every_codec_of_the_registry_may_be_asked_for(id: str) -> None:
    """It is recorded with the key, and the value comes back as the codec gives it."""
    codec = need_codec(id)
    store = open_store("memory:", allow_pickle=True)
    table = pa.table({"n": [1, 2, 3], "s": ["a", "b", "c"]})
    kind = next(iter(codec.library.native))
    value = {"document": [{"a": 1, "b": "x"}], "table": table, "array": np.arange(3)}[kind]
    store.set("k", value, codec=id)
    assert store.codec_of("k") in {str(codec), codec.format_id}
    back, expected = store["k"], codec.decode(codec.encode(value), trust=True)
    if codec.format_id == "rds":
        back = back.to_python()
        expected = r.read(codec.encode(value), format="rds")
    if kind == "table":
        from tare import kinds

        assert kinds.convert(back, "arrow").equals(kinds.convert(expected, "arrow"))
    else:
        np.testing.assert_equal(back, expected)


@pytest.mark.parametrize("kind", ["i8", "u8"])
def test_numbers_that_r_does_not_hold_are_told(tmp_path: Path, kind: str) -> None:
    """R has doubles for them: what is cut is a warning, what is not is none."""
    with new_store("storr", tmp_path) as store:
        with pytest.warns(LossWarning, match="precision"):
            store["k"] = np.array([2**53 + 1, 2**62 + 1], kind)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            store["l"] = np.array([2**53, 2**62], kind)
        assert store["l"].to_python().tolist() == [2.0**53, 2.0**62]


def test_pickle_is_never_the_default_and_needs_to_be_allowed() -> None:
    """Neither written nor read unless the store was opened so."""
    trusting = open_store("memory:pickles", allow_pickle=True)
    value = {1: {2, 3}}
    trusting.set("k", value, codec="pickle")
    assert trusting["k"] == value
    wary = open_store("memory:pickles")
    for call in (lambda: wary["k"], lambda: wary.set("l", 1, codec="pickle"), lambda: wary.mget(["k"])):
        with pytest.raises(NotTrusted, match="allow_pickle=True"):
            call()
    with pytest.raises(NotTrusted):
        open_store("memory:", codec="pickle")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "builtins.object"), (lambda: 1, "builtins.function"), (1j, "builtins.complex"), (range(3), "builtins.range"),
        ({"a": [1j]}, r"complex.*\$\.a\[0\]"), ({1: 2j}, r"complex.*\$\[1\]"), (pd.Series([1]), "Series"),
        (np.array([None]), "objects of Python"), (np.ma.array([1], mask=[1]), "masks"), (io.StringIO("x"), "mode 'rb'"),
        (pd.DataFrame({"a": [1, "x"]}), "Arrow does not hold"), (pl.DataFrame({"a": [object()]}), "objects"),
    ],
)  # fmt: skip
def test_what_no_codec_holds_is_refused_by_name(value: Any, said: str) -> None:
    """With its place, and what to do; nothing is written."""
    store = open_store("memory:")
    with pytest.raises((Unsupported, EncodeError), match=said):
        store["k"] = value
    with pytest.raises((Unsupported, EncodeError)):
        store.mset(["a", "k"], [1, value])
    assert store.list() == []


def test_codecs_that_do_not_exist_are_usage_errors() -> None:
    """A wrong id, and one that names a compressor."""
    store = open_store("memory:")
    with pytest.raises(UsageError, match="did you mean"):
        store.set("k", 1, codec="jsn")
    with pytest.raises(UsageError, match="compressor='zstd:3'"):
        store.set("k", 1, codec="json+zstd:3")
    with pytest.raises(Unsupported, match="raw holds bytes"):
        store.set("k", 1, codec="raw")
    with pytest.raises(TareError, match=r"compressor|xyz"):
        store.set("k", b"", compressor="xyz")


def test_a_codec_for_all_values(tmp_path: Path) -> None:
    """That the store was opened with; each call may say another."""
    store = open_store("memory:", codec="json:orjson")
    store["a"] = {"x": [1, 2]}
    store.set("b", b"x", codec="raw")
    assert (store.open("a").read(), store.codec_of("a"), store["b"]) == (b'{"x":[1,2]}', "json:orjson", b"x")


def test_bytes_that_do_not_decode_are_corrupt_and_not_missing() -> None:
    """With the key, whatever the decoder said."""
    store = open_store("memory:")
    for codec in ("json:orjson", "npy", "blit", "arrow"):
        store.set("bad", b"\xff\xfe no such thing", codec="raw")
        store._name([("objects", "bad", store.get_hash("bad"), codec)])
        for call in (
            lambda: store.get("bad"),
            lambda: store.get("bad", default=1),
            lambda: store.mget(["bad"]),
        ):
            with pytest.raises(Corrupt) as caught:
                call()
            assert (caught.value.key, caught.value.namespace) == ("bad", "objects")


SIZES = st.sampled_from(
    [
        0,
        1,
        127,
        128,
        129,
        (64 << 10) - 1,
        64 << 10,
        (64 << 10) + 1,
        (1 << 20) + 1,
        3_000_000,
        (4 << 20) + 4097,
    ]
)


@given(
    size=SIZES,
    compressor=st.sampled_from(["auto", "none", "zstd:1", "lz4", "gzip:1"]),
    noise=st.booleans(),
    stream=st.booleans(),
)
@settings(max_examples=60)
def test_bytes_of_any_size_come_back(size: int, compressor: str, noise: bool, stream: bool) -> None:
    """Whatever the compressor, from memory and from a file."""
    data = (
        np.random.default_rng(size).bytes(size) if noise else b"weighed, and found wanting" * (size // 26 + 1)
    )
    data = data[:size]
    store = open_store("memory:")
    hash = store.set("k", io.BytesIO(data) if stream else data, compressor=compressor)
    assert store["k"] == data == store.open("k").read()
    assert hash == store.hash_object(data)


def test_an_array_is_neither_copied_when_set_nor_when_got(tmp_path: Path) -> None:
    """Set takes the array's own memory; get makes one buffer, of which the array is a view."""
    array = np.random.default_rng(0).random(4_000_000)
    with new_store("folder", tmp_path, compressor="none") as store:
        tracemalloc.start()
        store["k"] = array
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
        tracemalloc.reset_peak()
        back = store["k"]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        np.testing.assert_array_equal(array, back)
        assert array.nbytes <= peak < array.nbytes + (2 << 20)
        mapped = np.frombuffer(store.view("k", mmap=True), "f8", offset=128)
        np.testing.assert_array_equal(array, mapped)
        assert isinstance(store.view("k", mmap=True).obj, mmap.mmap)


@pytest.mark.parametrize("compressor", ["none", "zstd:3"])
def test_a_view_is_read_unless_a_mapping_is_asked_for(compressor: str, tmp_path: Path) -> None:
    """So that nobody who cuts the file ends the process; of what is compressed, what it holds."""
    data = bytes(range(256)) * 1000
    with new_store("folder", tmp_path, compressor=compressor) as store:
        store["k"] = data
        view = store.view("k")
        assert isinstance(view.obj, bytes)
        for path in (tmp_path / "cache/objects").rglob("*.*"):
            os.truncate(path, 1)
        assert bytes(view) == data


PEAK = """
import resource, sys
import numpy as np, pyarrow as pa, tare
url, what = sys.argv[1:]
store = tare.open_store(url, compressor="none", threads=2)
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) << 10
class File:
    left = 64 << 20
    def read(self, n=-1):
        n = min(n, self.left) if n >= 0 else self.left
        self.left -= n
        return bytes(n)
if what == "set array":
    array = np.ones(8 << 20); before = peak(); store["k"] = array
elif what == "set table":
    table = pa.table({"x": np.ones(8 << 20)}); before = peak(); store["k"] = table
elif what == "set file":
    before = peak(); store.set_stream("k", File())
elif what == "get file":
    before = peak()
    with store.open("k") as file:
        while file.read(1 << 16): pass
elif what == "get array":
    before = peak() + (64 << 20); value = store["k"]
print(peak() - before)
"""


@pytest.mark.parametrize(
    "steps", [["set array", "get array"], ["set table"], ["set file", "get file"]], ids=" and ".join
)
def test_little_memory_is_taken_beside_the_value(steps: list[str], tmp_path: Path) -> None:
    """At most 16 MiB beside 64 MiB, for arrays, tables and files."""
    new_store("folder", tmp_path).close()
    for what in steps:
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(tmp_path / "peak"), what],
            capture_output=True, text=True, check=False, env={"PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) <= 16 << 20, what
