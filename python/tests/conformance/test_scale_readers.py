"""Tare's formats inside Dask: values equal to reading each file, columns that are not used are not made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import need

import tare
from tare import scale
from tare.errors import DecodeError, UsageError
from tare.scale import readers

TABLE = pa.table(
    {"id": list(range(1000)), "text": [f"t{n % 7}" for n in range(1000)], "v": [n / 3 for n in range(1000)]}
)


@pytest.fixture(autouse=True)
def dask() -> Any:
    try:
        import dask
        import dask.dataframe
    except ImportError as error:
        need(False, f"{error.name} is not installed")
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
    with pytest.raises(UsageError, match=r"part-00001\.parquet: is there already"):
        scale.write_parts(frame, tmp_path / "other", to="parquet")
    assert (tmp_path / "other" / "part-00001.parquet").read_bytes() == b"mine"
    scale.write_parts(frame, tmp_path / "other", to="parquet", overwrite=True)
