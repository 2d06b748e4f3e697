"""What data frames of pandas have beside their values: index, labels, dtypes; kept where a format can, told where not."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.capabilities import need_module
from support.worker_requests import ask

import tare
from tare import kinds
from tare.codec import Codec
from tare.errors import EncodeError
from tare.fidelity import compare
from tare.measure.verdict.kept import came_back
from tare.measure.verdict.text import nothing
from tare.measure.worker_client.client import Worker

pd = need_module("pandas")


def frames() -> dict[str, Any]:
    """Frames that Arrow's columns alone do not give back."""
    times = pd.date_range("2020", periods=3, freq="min")
    values = [0.5, 1.5, 2.5]
    return {
        "index": pd.DataFrame({"t": times, "v": values}).set_index("t"),
        "index without a name, of a frequency": pd.DataFrame({"v": values}, index=times),
        "index named as a column": pd.DataFrame({"v": values}, index=pd.Index(list("abc"), name="v")),
        "index of rows that were chosen": pd.DataFrame({"v": values})[1:],
        "index of several levels": pd.DataFrame(
            {"v": range(4)}, index=pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["x", None])
        ),
        "index alone": pd.DataFrame(index=pd.Index(["a", "b"], name="k")),
        "labels of several levels": pd.DataFrame(
            [[1, 2.5]] * 3, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)], names=["p", "q"])
        ),
        "labels that are numbers": pd.DataFrame([[1, 2.5]] * 3),
        "labels that are moments": pd.DataFrame([values], columns=pd.DatetimeIndex(list(times))),
        "labels with a name": pd.DataFrame({"a": values}).rename_axis(columns="c"),
        "labels twice": pd.DataFrame([[1, "x"]] * 2, columns=["a", "a"]),
        "periods": pd.DataFrame({"p": pd.period_range("2020", periods=3, freq="D")}),
        "intervals": pd.DataFrame({"i": pd.arrays.IntervalArray.from_breaks([0, 1, 2])}),
        "bins": pd.DataFrame({"c": pd.cut(pd.Series([1, None, 3]), 2)}),
        "nullable": pd.DataFrame(
            {
                "i": pd.array([1, 2], "Int64"),
                "f": pd.array([1, None], "Float64"),
                "s": pd.array(["a", None], "string"),
                "a": pd.array([1, None], "int64[pyarrow]"),
                "t": pd.array(["a", None], "string[pyarrow]"),
            }
        ),
        "objects": pd.DataFrame({"s": pd.Series(["a", None], dtype=object), "d": [dt.date(2020, 1, 1)] * 2}),
        "categories": pd.DataFrame({"c": pd.Categorical(["x", "y"], ["y", "x", "z"], ordered=True)}),
        "no column": pd.DataFrame(),
    }


def through_a_file(table: pa.Table) -> pa.Table:
    """A table as another process reads it, which has not loaded pandas."""
    data = Codec.parse("arrow:pyarrow").encode(table)
    back: pa.Table = Codec.parse("arrow:pyarrow").decode(data)
    return back


@pytest.mark.parametrize("name", frames())
def test_a_frame_comes_back_through_a_file_of_arrow(name: str) -> None:
    """Index with its names and frequency, labels, and dtypes."""
    frame = frames()[name]
    back = kinds.convert(through_a_file(kinds.convert(frame, "arrow")), "pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pd.testing.assert_frame_equal(frame, back)


@pytest.mark.parametrize(
    "name", ["index", "index of several levels", "index named as a column", "labels of several levels",
             "labels that are numbers", "labels with a name", "periods"],
)  # fmt: skip
def test_readers_of_pandas_find_the_index_and_the_labels(name: str) -> None:
    """As in what ``to_parquet`` writes."""
    frame = frames()[name]
    data = Codec.parse("parquet:pyarrow").encode(frame)
    pd.testing.assert_frame_equal(frame, pd.read_parquet(BytesIO(data)))


@pytest.mark.parametrize(
    ("name", "made", "said"),
    [
        ("index", lambda frame: frame.reset_index()[["v", "t"]], "keeps every value, but not the index 't'"),
        (
            "index of several levels",
            lambda frame: frame.reset_index(names=["x", "__index_level_1__"])[
                ["v", "x", "__index_level_1__"]
            ],
            "keeps every value, but not the index 'x', without a name",
        ),
        (
            "labels that are numbers",
            lambda frame: frame.rename(columns=str),
            "keeps every value, but not the labels of the columns, which become text",
        ),
        (
            "nullable",
            lambda frame: frame.astype({"i": "int64"}),
            "keeps every value, column 'i' as int64",
        ),
    ],
)
def test_what_does_not_come_back_is_told(name: str, made: Any, said: str) -> None:
    """It is a change of type, as each value is still there."""
    frame = frames()[name]
    before = kinds.convert(frame, "arrow")
    found = compare(before, made(frame), kind="table", as_frame=True)
    assert found.verdict == "type"
    assert said == came_back({"verify": found.as_dict()})
    assert compare(before, frame, kind="table", as_frame=True).verdict == "same"


@pytest.mark.parametrize(
    ("name", "names"),
    [("index", ["v", "t"]), ("index of several levels", ["v", "x", "__index_level_1__"])],
)
def test_formats_that_pandas_writes_have_the_index_too(name: str, names: list[str]) -> None:
    """CSV as columns, which say where it came from; Parquet of fastparquet as an index."""
    frame = frames()[name]
    back = kinds.convert(Codec.parse("csv:pandas").decode(Codec.parse("csv:pandas").encode(frame)), "arrow")
    assert back.column_names == names
    need_module("fastparquet")
    codec = Codec.parse("parquet:fastparquet")
    again = codec.decode(codec.encode(frame.rename_axis(["x", "y"][: frame.index.nlevels])), trust=True)
    pd.testing.assert_index_equal(frame.index, again.index, check_names=False)


@pytest.mark.parametrize(("name", "codec"), [("bins", "parquet:pyarrow"), ("periods", "orc:pyarrow")])
def test_a_column_that_a_format_cannot_hold_is_named(name: str, codec: str) -> None:
    frame = frames()[name]
    with pytest.raises(Exception, match=rf"column '{frame.columns[0]}' .*Make it text with \.astype\(str\)"):
        Codec.parse(codec).encode(frame)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as started:
        yield started


@pytest.mark.parametrize(
    ("name", "codec", "changed"),
    [
        ("index", "arrow:pyarrow", []),
        ("index", "parquet:pyarrow", []),
        ("index", "orc:pyarrow", ["t", "(index)"]),
        ("periods", "arrow:pyarrow", []),
        ("bins", "arrow:pyarrow", []),
        ("bins", "pickle:pandas", []),
        ("labels of several levels", "orc:pyarrow", ["(column labels)"]),
    ],
)
def test_a_worker_sees_what_a_frame_loses(
    worker: Worker, tmp_path: Path, name: str, codec: str, changed: list[str]
) -> None:
    """It gets the frame as a file of Arrow, and compares it with what the codec gave."""
    path = tmp_path / "frame.arrow"
    table = kinds.convert(frames()[name], "arrow")
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    ask(worker, "load", path=str(path), kind="table", **{"as": "arrow"})
    ask(worker, "prepare", codec=codec, kind="pandas")
    for what in ("encode", "decode"):
        ask(worker, "run", what=what, batch=1)
    found = ask(worker, "verify")
    assert sorted(changed) == sorted(one["path"] for one in found["changes"])


def test_a_sparse_column_is_taken_as_its_values() -> None:
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1])})
    table = kinds.convert(frame, "arrow")
    assert table.column("a").to_pylist() == [0, 0, 1]
    found = compare(table, frame.sparse.to_dense(), kind="table", as_frame=True)
    assert came_back({"verify": found.as_dict()}) == "keeps every value, 'a' as int64"


def test_a_column_of_several_kinds_is_named_with_them() -> None:
    with pytest.raises(EncodeError, match=r"'obj'.*: text and numbers; make it text with \.astype\(str\)"):
        kinds.convert(pd.DataFrame({"obj": ["a", 1, None, 2.5]}), "arrow")


def test_codecs_that_failed_are_told_where_others_were_not_reached() -> None:
    excluded = [
        ("parquet:pyarrow", ("error",), "failed: load: no"),
        ("orc:pyarrow", ("measured",), "not reached"),
    ]
    said, relax = nothing("keep", excluded, timed=False)
    assert "the time was over before a codec was measured" not in said
    assert (
        said
        == "No answer yet: 1 failed: Parquet (snappy) failed: load: no; another was not tried in the time given."
    )
    assert relax == ["--time gives more"]


def test_numbers_of_rows_that_are_in_no_column_are_told(tmp_path):
    """A slice keeps the numbers of its rows in the metadata alone: what has none loses them."""
    pd = need_module("pandas")
    pd.DataFrame({"v": range(6)}).iloc[3:6].to_parquet(tmp_path / "a.parquet")
    found = tare.convert(tmp_path / "a.parquet", tmp_path / "a.ndjson").changes
    assert [(one["verdict"], one["from"], one["to"]) for one in found] == [("lost", "from 3 to 5", "none")]
    assert tare.convert(tmp_path / "a.parquet", tmp_path / "a.arrow").changes == []
    pd.DataFrame({"v": range(6)}).to_parquet(tmp_path / "b.parquet")
    assert tare.convert(tmp_path / "b.parquet", tmp_path / "c.ndjson").changes == []
