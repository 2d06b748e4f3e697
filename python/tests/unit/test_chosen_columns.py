"""Columns that are asked for: the same answer of a file that is read whole and of one that goes batch by batch."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import tare
from tare import kinds, scale
from tare.codec import Codec
from tare.datasets.source import Source
from tare.errors import UsageError

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}).replace_schema_metadata({"geo": "somewhere"})
SOURCES = ["parquet", "arrow", "arrows", "ndjson", "csv"]


@pytest.fixture(params=[0, 1 << 40], ids=["streamed", "whole"])
def streamed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr("tare.io.STREAM_BYTES", request.param)
    return bool(request.param == 0)


@pytest.mark.parametrize("source", SOURCES)
def test_a_column_that_is_not_there_is_named(tmp_path: Path, streamed: bool, source: str) -> None:
    path = tmp_path / f"in.{source}"
    tare.write(TABLE, path)
    with pytest.raises(UsageError, match=r"it has no column 'nope'. It has a, b\."):
        tare.convert(path, tmp_path / "out.arrow", columns=["a", "nope"], verify=False)
    assert not (tmp_path / "out.arrow").exists()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("columns", [["b", "a"], ["b"]])
def test_columns_come_in_the_order_that_was_asked_for(
    tmp_path: Path, streamed: bool, source: str, columns: list[str]
) -> None:
    path = tmp_path / f"in.{source}"
    tare.write(TABLE, path)
    done = tare.convert(path, tmp_path / "out.arrow", columns=columns, verify=False)
    back = tare.read(tmp_path / "out.arrow")
    assert (done.streamed, back.to_pylist()) == (streamed, TABLE.select(columns).to_pylist())
    kept = source in ("parquet", "arrow", "arrows")
    assert (back.schema.metadata or {}).get(b"geo") == (b"somewhere" if kept else None)


@pytest.mark.parametrize("source", ["parquet", "ndjson"])
def test_a_column_that_is_asked_for_twice_comes_once(tmp_path: Path, streamed: bool, source: str) -> None:
    tare.write(TABLE, tmp_path / f"in.{source}")
    done = tare.convert(tmp_path / f"in.{source}", tmp_path / "out.arrow", columns=["a", "a"], verify=False)
    assert done.streamed == streamed
    assert tare.read(tmp_path / "out.arrow").column_names == ["a"]


@pytest.mark.parametrize("source", ["parquet", "arrow", "arrows"])
def test_all_columns_of_a_name_come(tmp_path: Path, streamed: bool, source: str) -> None:
    path = tmp_path / f"in.{source}"
    twice(path)
    done = tare.convert(path, tmp_path / "out.arrow", columns=["a"], verify=False)
    back = tare.read(tmp_path / "out.arrow")
    assert (done.streamed, back.column_names) == (streamed, ["a", "a"])
    assert [column.to_pylist() for column in back.columns] == [[1] * 4, [3] * 4]


@pytest.mark.parametrize("source", ["parquet", "arrow"])
def test_all_columns_of_a_name_come_of_parts(tmp_path: Path, source: str) -> None:
    twice(tmp_path / f"in.{source}")
    how: dict[str, Any] = {"split": 1, "options": {"columns": "a"}, "executor": "inline"}
    report = scale.convert(str(tmp_path / f"in.{source}"), str(tmp_path / "out"), to="arrow", **how)
    parts = sorted((tmp_path / "out").rglob("*.arrow"))
    assert (report.ok, len(parts) > 1) == (True, True)
    assert {tuple(tare.read(path).column_names) for path in parts} == {("a", "a")}


def twice(path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([n] * 4) for n in (1, 2, 3)], names=["a", "b", "a"])
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=1)
        return
    with (ipc.new_stream if path.suffix == ".arrows" else ipc.new_file)(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)


@pytest.mark.parametrize("name", ["rows.json", "rows.ndjson", "rows.msgpack"])
def test_a_name_that_no_object_has_is_no_column(tmp_path: Path, name: str) -> None:
    tare.write([{"a": 1}, {"a": 2, "b": 3}], tmp_path / name)
    assert tare.read(tmp_path / name, columns=["b"]) == [{}, {"b": 3}]
    with pytest.raises(UsageError, match=r"it has no column 'c'. It has a, b\."):
        tare.read(tmp_path / name, columns=["b", "c"])


def test_objects_beyond_a_part_may_have_it(tmp_path: Path) -> None:
    """A part of a file does not tell what all of it has."""
    (tmp_path / "a.ndjson").write_text('{"a": 1}\n' * 1000 + '{"b": 2}\n')
    data = tare.open_dataset(tmp_path / "a.ndjson", columns=["b"], max_bytes=2000)
    assert data.items < 1000
    assert tare.read(tmp_path / "a.ndjson", columns=["b"])[-1] == {"b": 2}


@pytest.mark.parametrize("format", ["yaml", "msgpack"])
@pytest.mark.parametrize("asked", ["zz", "1"])
def test_keys_that_are_no_text_are_told_as_what_they_are(tmp_path: Path, format: str, asked: str) -> None:
    tare.write([{1: "a", "b\x1b": 2}], tmp_path / f"in.{format}")
    with pytest.raises(UsageError, match=rf"it has no column '{asked}'\. It has 1 \(int\), b\\x1b\."):
        tare.convert(tmp_path / f"in.{format}", tmp_path / "out.json", columns=[asked], verify=False)


@pytest.mark.parametrize("source", ["parquet", "ndjson", "csv"])
def test_a_column_that_is_not_there_is_named_by_parts_too(tmp_path: Path, source: str) -> None:
    tare.write(TABLE, tmp_path / f"in.{source}")
    how: dict[str, Any] = {"options": {"columns": "a,nope"}, "executor": "inline", "split": 1}
    report = scale.convert(str(tmp_path / f"in.{source}"), str(tmp_path / "out"), to="arrow", **how)
    assert not report.ok
    assert "it has no column 'nope'. It has a, b." in str(report)


CODECS = ["arrow:pyarrow", "parquet:polars,compression=lz4", "csv:pandas+zstd", "orc:pyarrow", "json:orjson"]


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("codec", CODECS)
def test_a_named_codec_reads_the_columns_that_are_asked_for(tmp_path: Path, codec: str, trust: bool) -> None:
    path = tmp_path / "file"
    tare.write(TABLE, path, codec=codec)
    back = tare.read(path, codec=codec, columns=["b", "b"], trust=trust)
    assert kinds.convert(back, "arrow").to_pydict() == {"b": ["x", "y", "z"]}
    assert type(back) is type(tare.read(path, codec=codec, trust=trust))
    with pytest.raises(UsageError, match=r"it has no column 'nope'. It has a, b\."):
        tare.read(path, codec=codec, columns=["a", "nope"], trust=trust)


def test_a_named_codec_does_not_decode_the_other_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tare.write(TABLE, tmp_path / "in.parquet")
    monkeypatch.setattr(Codec, "decode", lambda *_, **__: pytest.fail("all columns were decoded"))
    assert tare.read(tmp_path / "in.parquet", codec="parquet:pyarrow", columns=["b"]).column_names == ["b"]


@pytest.mark.parametrize(
    "codec",
    [
        "arrow:pyarrow",
        "arrow:pyarrow,layout=stream",
        "arrow:pyarrow,compression=lz4",
        "parquet:pyarrow",
        "parquet:polars",
    ],
)
def test_some_columns_of_a_file_are_read_from_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    path = tmp_path / "[a]*.file"  # no pattern
    tare.write(TABLE, path, codec=codec)
    whole = tare.read(path, codec=codec, columns=["b", "a"])
    stored = Source.open_stored
    monkeypatch.setattr(Source, "open_stored", lambda self: _Unread(stored(self)))
    monkeypatch.setattr("tare.datasets.by_codec.decode_file", lambda *_, **__: pytest.fail("read whole"))
    assert tare.read(path, codec=codec, columns=["b", "a"], trust=True).equals(whole)


class _Unread(io.BufferedReader):
    def read(self, *_: Any) -> bytes:
        pytest.fail("the whole file was read")


@pytest.mark.parametrize("codec", [None, "json:orjson"])
def test_a_document_without_rows_has_no_columns(tmp_path: Path, codec: str | None) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    with pytest.raises(UsageError, match=r"a.json: json: it has no columns. .*: leave out columns\."):
        tare.read(tmp_path / "a.json", codec=codec, columns=["a"])
