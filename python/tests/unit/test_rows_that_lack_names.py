"""Objects that lack names others have: null in a table, and told, whatever the size; the first value without a type is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import tare
from tare.errors import EncodeError


@pytest.fixture(params=["whole", "whole unverified", "streamed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How a file is converted, which its size decides."""
    if request.param == "streamed":
        monkeypatch.setattr("tare.io.STREAM_BYTES", 1)
    if request.param == "whole unverified":
        monkeypatch.setattr("tare.io.VERIFY_BYTES", 0)
    return str(request.param)


def write(path: Path, rows: list[Any], blank: int = 0) -> Path:
    """Writes rows as NDJSON, some blank lines behind the first."""
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join([lines[0], *[""] * blank, *lines[1:]]) + "\n")
    return path


def test_they_are_null_and_told(way: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.ndjson", [{"a": 1}, {"b": {"x": 1}}, {"b": {"y": [{"z": 1}, {}]}, "a": 2}])
    done = tare.convert(path, tmp_path / "x.parquet")
    assert (done.streamed, done.verified) == (way == "streamed", way == "whole")
    assert parquet.read_table(tmp_path / "x.parquet").to_pylist() == [
        {"a": 1, "b": None},
        {"a": None, "b": {"x": 1, "y": None}},
        {"a": 2, "b": {"x": None, "y": [{"z": 1}, {"z": None}]}},
    ]
    nulls = {change["path"]: change["count"] for change in done.changes if change["verdict"] == "null"}
    assert nulls == {"a": 1, "b": 1, "b.x": 1, "b.y": 1, "b.y[].z": 1}
    assert {change["verdict"] for change in done.changes} == {"null"}


def test_nothing_is_told_where_no_name_is_missing(way: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.ndjson", [{"a": 1, "b": [{"c": 1}]}, {"b": [], "a": None}])
    done = tare.convert(path, tmp_path / "x.parquet")
    assert done.changes == []
    assert parquet.read_table(tmp_path / "x.parquet").num_rows == 2


def test_another_loss_is_refused_as_ever(tmp_path: Path) -> None:
    """Twenty missing names hide no value that changed."""
    rows = [{f"n{k}": 1 for k in range(30)}, {"x": 2**53 + 1}, {"x": 0.5}]
    with pytest.raises(EncodeError, match="x"):
        tare.convert(write(tmp_path / "x.ndjson", rows), tmp_path / "x.parquet")


@pytest.mark.parametrize("blank", [0, 2])
def test_the_line_of_the_first_conflict_is_named(way: str, blank: int, tmp_path: Path) -> None:
    rows = [{"a": 1}, {"a": 2}, {"b": 1}, {"a": "x"}, {"a": {"b": True}}]
    path = write(tmp_path / "x.ndjson", rows, blank)
    with pytest.raises(EncodeError, match=f"line {4 + blank}\\b"):
        tare.convert(path, tmp_path / "x.parquet")


def test_the_item_is_named_where_there_are_no_lines(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('[{"a": [1]}, {"a": [2]}, {"a": "x"}]')
    with pytest.raises(EncodeError, match=r"column 'a': no one type holds its values, from item 3 on"):
        tare.convert(tmp_path / "x.json", tmp_path / "x.parquet")
