"""Tare's formats inside Dask: values equal to reading each file, columns that are not used are not made."""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.capabilities import need_codec, need_module

import tare
from tare import kinds, scale
from tare.errors import DecodeError, PlanError, TareError, UsageError
from tare.scale import readers
from tare.scale.running import Writing
from tare.scale.state import State

TABLE = pa.table(
    {"id": list(range(1000)), "text": [f"t{n % 7}" for n in range(1000)], "v": [n / 3 for n in range(1000)]}
)
BIG = 1152921504606846977
MANY = {
    "int": pa.array([1, None, BIG]),
    "uint": pa.array([1, None, 2**64 - 1], pa.uint64()),
    "bool": pa.array([True, None, False]),
    "float": pa.array([1.5, None, 2.5]),
    "half": pa.array([1.5, None, 2.5], pa.float16()),
    "decimal": pa.array([Decimal("1.10"), None, Decimal("3.30")]),
    "date": pa.array([dt.date(2020, 1, 1), None, dt.date(9999, 12, 31)]),
    "fine": pa.array([1, None, 3], pa.timestamp("ns")),
    "far": pa.array([1, None, 250000000000000], pa.timestamp("ms")),
    "zone": pa.array([1, None, 3], pa.timestamp("us", "Europe/Berlin")),
    "span": pa.array([1, None, 3], pa.duration("ms")),
    "time": pa.array([1, None, 3], pa.time64("ns")),
    "text": pa.array(["a", None, "c"]),
    "bytes": pa.array([b"a", None, b"\xff"]),
    "list": pa.array([[1, None], None, [BIG]]),
    "struct": pa.array([{"a": BIG}, None, {"a": None}]),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "factor": pa.array(["x", None, "y"]).dictionary_encode(),
    "nothing": pa.nulls(3),
}


@pytest.fixture(autouse=True)
def dask() -> Any:
    dask = need_module("dask")
    need_module("dask.dataframe")
    with dask.config.set(scheduler="synchronous"):
        yield dask


@pytest.mark.parametrize("ending", ["rds", "fst", "arrow", "qs2", "parquet", "ndjson"])
def test_values_are_those_of_the_files(tmp_path: Path, ending: str) -> None:
    for n in range(3):
        tare.write(TABLE.slice(n * 300, 300), tmp_path / f"f{n}.{ending}")
    frame = scale.dask_dataframe(str(tmp_path))
    assert frame.npartitions == 3
    expected = pa.concat_tables(
        [readers.read_unit(tmp_path / f"f{n}.{ending}") for n in range(3)]
    ).to_pandas()
    assert frame.compute().to_dict("list") == expected.to_dict("list")
    assert frame["v"].sum().compute() == pytest.approx(expected["v"].sum())


def test_columns_that_are_not_used_are_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tare.write(TABLE, tmp_path / "a.parquet")
    asked: list[Any] = []
    real = readers._Part.__call__

    def noted(self: Any, unit: Any, columns: Any = None) -> Any:
        asked.append(columns)
        return real(self, unit, columns)

    monkeypatch.setattr(readers._Part, "__call__", noted)
    assert scale.dask_dataframe(str(tmp_path), columns=["v"]).columns.tolist() == ["v"]
    assert scale.dask_dataframe(str(tmp_path))["id"].sum().compute() == sum(range(1000))
    assert asked[-1] == ["id"]


def test_large_files_are_several_partitions(tmp_path: Path) -> None:
    tare.write(TABLE, tmp_path / "a.ndjson")
    frame = scale.dask_dataframe(str(tmp_path / "a.ndjson"), split="10KB")
    assert frame.npartitions > 2
    assert frame.compute()["id"].tolist() == list(range(1000))


def test_a_part_with_other_columns_is_named(tmp_path: Path) -> None:
    tare.write(TABLE, tmp_path / "a.parquet")
    tare.write(TABLE.rename_columns(["id", "text", "w"]), tmp_path / "b.parquet")
    with pytest.raises(
        DecodeError, match=r"b\.parquet: its columns are .*w double.* those of the first .*v double"
    ):
        scale.dask_dataframe(str(tmp_path)).compute()


def test_documents_are_a_bag(tmp_path: Path) -> None:
    tare.write([{"a": 1}, {"a": [2]}], tmp_path / "a.ndjson")
    tare.write({"a": 3}, tmp_path / "b.json")
    assert scale.dask_bag(str(tmp_path)).compute() == [{"a": 1}, {"a": [2]}, {"a": 3}]


def test_partitions_are_written(tmp_path: Path) -> None:
    tare.write(TABLE, tmp_path / "a.ndjson")
    frame = scale.dask_dataframe(str(tmp_path / "a.ndjson"), split="10KB")
    names = scale.write_parts(frame, str(tmp_path / "out"), to="rds")
    assert len(names) == frame.npartitions
    assert pa.concat_tables([tare.read(name) for name in names]).num_rows == 1000


@pytest.mark.parametrize(
    ("text", "items"), [('"abc"', ["abc"]), ("5", [5]), ("null", [None]), ('{"a": 1}', [{"a": 1}]), ("[1, [2]]", [1, [2]])]
)  # fmt: skip
def test_a_document_that_is_no_list_is_one_element(tmp_path: Path, text: str, items: list[Any]) -> None:
    (tmp_path / "a.json").write_text(text)
    assert scale.dask_bag(tmp_path / "a.json").compute() == items


def test_a_column_that_comes_late_is_in_the_frame(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"a": 1}\n{"a": 2, "b": "late"}\n')
    frame = scale.dask_dataframe(tmp_path / "a.ndjson").compute()
    assert frame.columns.tolist() == ["a", "b"]
    assert frame["b"].tolist()[1] == "late"


def test_parts_have_receipts_and_replace_nothing_of_others(tmp_path: Path) -> None:
    tare.write(TABLE, tmp_path / "a.ndjson")
    frame = scale.dask_dataframe(tmp_path / "a.ndjson", split="10KB")
    for _ in range(2):  # the second time its own receipts know the files
        names = scale.write_parts(frame, tmp_path / "out", to="parquet")
    receipts = list((tmp_path / "out" / ".tare" / "done").glob("*/*.json"))
    assert len(receipts) == len(names) == frame.npartitions
    assert not list((tmp_path / "out" / ".tare" / "writing").iterdir())
    smaller = scale.write_parts(frame.partitions[:2], tmp_path / "out", to="parquet")
    assert sorted(map(str, (tmp_path / "out").glob("*.parquet"))) == smaller  # no rows of the larger one
    assert len(list((tmp_path / "out" / ".tare" / "done").glob("*/*.json"))) == 2
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "part-00001.parquet").write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"part-00001\.parquet exists already"):
        scale.write_parts(frame, tmp_path / "other", to="parquet")
    assert (tmp_path / "other" / "part-00001.parquet").read_bytes() == b"mine"
    scale.write_parts(frame, tmp_path / "other", to="parquet", overwrite=True)


def test_every_type_is_as_in_the_file_and_has_one_dtype_in_all_parts(tmp_path: Path) -> None:
    """A part may have no nulls, nothing else, or no rows: dtypes are those that Dask was promised."""
    from dask.dataframe import utils

    table = pa.table(MANY)
    parts = [table, table.slice(0, 1), table.slice(1, 1), table.slice(2, 1), table.slice(0, 0)]
    for n, part in enumerate(parts):
        tare.write(part, tmp_path / f"f{n}.arrow")
    frame = scale.dask_dataframe(tmp_path)
    wanted = utils.make_meta(frame).dtypes.astype(str).to_dict()
    for n, part in enumerate(parts):
        made = frame.partitions[n].compute()
        assert made.dtypes.astype(str).to_dict() == wanted
        assert rows(kinds.convert(made, "arrow")) == rows(part)
    made = frame.compute()
    assert made.dtypes.astype(str).to_dict() == wanted
    assert rows(kinds.convert(made.reset_index(drop=True), "arrow")) == rows(pa.concat_tables(parts))
    assert frame["int"].max().compute() == BIG
    assert len(frame) == 6


def rows(table: pa.Table) -> dict[str, Any]:
    """Values by column, to be compared whatever the width of a category's number."""
    factor = table.column("factor").cast(pa.string())
    return table.set_column(table.column_names.index("factor"), "factor", factor).to_pydict()


def test_whole_numbers_are_described_and_categories_are_not_known_to_be_none(tmp_path: Path) -> None:
    for n in range(2):
        tare.write(
            pa.table({"k": [n, n + 2], "c": pa.array(["x", f"y{n}"]).dictionary_encode()}),
            tmp_path / f"f{n}.arrow",
        )
    frame = scale.dask_dataframe(tmp_path)
    assert frame["k"].describe().compute()["max"] == 3
    assert not frame["c"].cat.known
    assert set(frame["c"].cat.as_known().cat.categories) == {"x", "y0", "y1"}


def test_what_was_an_index_is_a_column(tmp_path: Path) -> None:
    pd = need_module("pandas")
    frame = pd.DataFrame({"id": [7, 8], "n": pd.array([None, BIG], dtype="Int64")}).set_index("id")
    tare.write(frame, tmp_path / "a.parquet")
    assert scale.dask_dataframe(tmp_path)["id"].compute().tolist() == [7, 8]
    ray = readers._tables(pd.DataFrame({"unit": readers.units_of(tmp_path)}), None)
    assert ray.column("id").to_pylist() == [7, 8]
    assert ray.to_pandas()["id"].tolist() == [7, 8]  # as Ray makes it: the index it would drop
    assert ray.to_pandas()["n"].tolist()[1] == BIG


def test_a_bag_loses_no_column_of_two_with_one_name(tmp_path: Path) -> None:
    tare.write(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.arrow")
    with pytest.raises(TareError, match="two columns are named 'a'"):
        scale.dask_bag(tmp_path).compute()


@pytest.mark.parametrize("ending", ["parquet", "rds"])
def test_an_index_is_written_if_it_is_data(tmp_path: Path, ending: str) -> None:
    import dask.dataframe as dd

    pd = need_module("pandas")
    data = pd.DataFrame({"id": range(9), "text": list("aabbccdde"), "v": [n / 3 for n in range(9)]})
    frame = dd.from_pandas(data, npartitions=3)

    def written(frame: Any, name: str) -> list[pa.Table]:
        return [tare.read(path) for path in scale.write_parts(frame, tmp_path / name, to=ending)]

    for n, counted in enumerate([frame, frame[frame["v"] > 1], frame.set_index("text").reset_index()]):
        parts = written(counted, f"counted{n}")
        assert {*parts[0].column_names} == {"id", "text", "v"}
        assert len({str(part.schema.remove_metadata()) for part in parts}) == 1
    parts = written(frame.set_index("id"), "named")
    assert [part.column_names for part in parts] == [["text", "v", "id"]] * len(parts)
    assert [n for part in parts for n in part.column("id").to_pylist()] == list(range(9))
    parts = written(frame.map_partitions(lambda part: part.set_index(["id", "text"])), "two")
    assert [part.column_names for part in parts] == [["v", "id", "text"]] * 3
    assert [text for part in parts for text in part.column("text").to_pylist()] == list("aabbccdde")
    dates = data.set_index(pd.date_range("2020", periods=9))[["v"]]
    parts = written(dd.from_pandas(dates, npartitions=2), "unnamed")
    assert [part.column_names for part in parts] == [["v", "__index_level_0__"]] * 2
    # the first part counts from 0, the second does not: both have the column
    years = pd.DataFrame({"v": [0.5] * 4}, index=pd.Index([0, 1, 2001, 2005]))
    parts = written(dd.from_pandas(years, npartitions=2), "years")
    assert [part.column("__index_level_0__").to_pylist() for part in parts] == [[0, 1], [2001, 2005]]
    with pytest.raises(UsageError, match=r"index and a column are both named 'id'.*reset_index"):
        written(frame.set_index("id", drop=False), "both")


def test_changed_values_take_the_place_of_the_older(tmp_path: Path) -> None:
    """The receipts of an earlier frame are ours, also if another codec of the same ending wrote it."""
    need_codec("parquet:polars")
    tare.write(TABLE, tmp_path / "a.ndjson")
    frame = scale.dask_dataframe(tmp_path / "a.ndjson", split="10KB")
    out = tmp_path / "out"
    scale.write_parts(frame, out, to="parquet")
    for add, to in ((1, "parquet"), (2, "parquet:polars"), (3, "parquet")):
        names = scale.write_parts(frame.assign(v=frame["v"] + add).partitions[: 5 - add], out, to=to)
        assert sorted(map(str, out.glob("*.parquet"))) == names
        expected = [n / 3 + add for n in range(1000)]
        found = [v for name in names for v in tare.read(name).column("v").to_pylist()]
        assert found == expected[: len(found)]
        assert len(list((out / ".tare" / "done").glob("*/*.json"))) == len(names) == 5 - add


def test_parts_and_results_of_files_do_not_replace_each_other(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    tare.write(TABLE, tmp_path / "in" / "part-00001.ndjson")
    frame = scale.dask_dataframe(tmp_path / "in")
    report = scale.convert(tmp_path / "in", tmp_path / "out", to="parquet", executor="inline")
    assert report.ok
    with pytest.raises(UsageError, match=r"exists already, made of .*part-00001\.ndjson"):
        scale.write_parts(frame.partitions[:1].assign(v=0), tmp_path / "out", to="parquet")
    (name,) = scale.write_parts(frame, tmp_path / "frame", to="parquet")
    state = State(f"file://{tmp_path}/frame")
    writing = Writing(state.place, "0" * 64, state.settings(), {"file:///x.csv"})
    writing.guarded = True
    with writing.output("part-00001.parquet") as path:
        Path(path).write_text("other")
    with pytest.raises(UsageError, match="exists already, made of a data frame"):
        writing.commit()
    writing.discard()
    assert tare.read(name).num_rows == 1000


def test_what_is_no_data_is_passed_over(tmp_path: Path) -> None:
    """As `convert` passes it over; what may be data, or is asked for, is not left out without a word."""
    (tmp_path / "in").mkdir()
    for n in range(3):
        tare.write(TABLE.slice(n * 300, 300), tmp_path / "in" / f"part-{n}.parquet")
    (tmp_path / "in" / "_SUCCESS").touch()
    (tmp_path / "in" / "README").write_text("hello\n")
    frame = scale.dask_dataframe(tmp_path / "in").compute()
    assert frame["id"].tolist() == list(range(900))
    assert scale.dask_bag(tmp_path / "in").count().compute() == 900
    assert len(readers.units_of(tmp_path / "in")) == 3  # as of Ray
    assert len(readers.units_of(tmp_path / "in", "ndjson")) == 5
    with pytest.raises(TareError, match="_SUCCESS"):
        scale.dask_dataframe([tmp_path / "in" / "_SUCCESS", tmp_path / "in" / "part-0.parquet"]).compute()
    with pytest.raises(UsageError, match=r"in is 3 files, and one is read here: name it"):
        scale.read_unit(tmp_path / "in")
    half = (tmp_path / "in" / "part-0.parquet").read_bytes()[:200]
    (tmp_path / "in" / "part-3.gz").write_bytes(b"\x1f\x8b\x08" + half[:5])
    with pytest.raises(TareError, match=r"part-3\.gz"):
        scale.dask_dataframe(tmp_path / "in").compute()


def test_where_there_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(
        PlanError, match="nothing to do: 1 file was passed over, such as _SUCCESS: an empty file"
    ):
        scale.dask_dataframe(tmp_path)
    os.mkfifo(tmp_path / "x.parquet")
    with pytest.raises(TareError, match=r"x\.parquet: a pipe"):
        scale.dask_dataframe([tmp_path / "x.parquet", tmp_path / "_SUCCESS"])
