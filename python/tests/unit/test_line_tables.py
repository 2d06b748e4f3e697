"""Files of JSON into tables without a value of Python's: what is told of them, and what is compared."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import tare
from tare.converting import line_tables
from tare.datasets import documents
from tare.datasets.source import Source, find
from tare.errors import DecodeError

ROWS: list[dict[str, Any]] = [
    {"n": k, **({"late": [{"x": k / 2}]} if k > 700 else {}), "v": k if k % 3 else k + 0.5}
    for k in range(1000)
]


@pytest.fixture(params=["ndjson", "json"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of the rows."""
    place: Path = tmp_path / f"x.{request.param}"
    lines = [json.dumps(row) for row in ROWS]
    place.write_text("\n".join(lines) if request.param == "ndjson" else f"[{', '.join(lines)}]")
    return place


@pytest.mark.parametrize("to", ["parquet", "arrow"])
@pytest.mark.usefixtures("no_values")
def test_no_value_becomes_one_of_pythons(path: Path, to: str) -> None:
    done = tare.convert(path, path.with_suffix(f".{to}"))
    assert done.verified
    assert done.rows == 1000
    told = [(one["path"], one["verdict"], one["count"]) for one in done.changes]
    assert told == [("late", "null", 701), ("v", "type", 666)]
    assert done.second["source"] == {
        "reader": "msgspec", "why": "", "rows": 1000, "total": 1000, "difference": None,
    }  # fmt: skip
    table = tare.read(path.with_suffix(f".{to}"))
    assert table.schema.types == [pa.int64(), pa.float64(), pa.list_(pa.struct([("x", pa.float64())]))]
    assert table["n"].to_pylist() == list(range(1000))


@pytest.mark.parametrize("to", ["csv", "orc", "avro"])
@pytest.mark.usefixtures("no_values")
def test_formats_of_other_types_take_columns_too(tmp_path: Path, to: str) -> None:
    """What is told is what a table of Arrow's would tell."""
    rows = [{"n": k, "s": f"v{k}", **({"late": k / 4} if k > 700 else {})} for k in range(1000)]
    (tmp_path / "x.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = tare.convert(tmp_path / "x.ndjson", tmp_path / f"x.{to}")
    assert done.verified
    told = [(one["path"], one["verdict"], one["count"]) for one in done.changes]
    assert ("late", "null", 701) in told
    table = tare.kinds.convert(tare.read(tmp_path / f"x.{to}"), "arrow")
    assert table.to_pylist() == [{"n": row["n"], "s": row["s"], "late": row.get("late")} for row in rows]


def test_a_value_that_changes_is_refused_however_large_documents_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns are few bytes, which are compared; the documents that are read then would not be."""
    (tmp_path / "x.ndjson").write_text('{"t": "2013-01-01T05:00:00-05:00"}\n' * 1000)
    monkeypatch.setattr("tare.io.VERIFY_BYTES", 60_000)
    with pytest.raises(tare.errors.EncodeError, match=r"'\[\*\]\.t' would change"):
        tare.convert(tmp_path / "x.ndjson", tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize("to", ["ndjson", "json"])
@pytest.mark.usefixtures("no_values")
def test_text_of_a_table_is_read_back_as_columns(tmp_path: Path, to: str) -> None:
    table = pa.table(
        {"n": [1, None], "s": ["a", "b"], "l": [[{"x": 1.5}], None], "d": pa.array([0, 1], pa.date32())}
    )
    parquet.write_table(table, tmp_path / "x.parquet")
    done = tare.convert(tmp_path / "x.parquet", tmp_path / f"x.{to}")
    assert done.verified
    assert [(one["path"], one["verdict"], one["to"]) for one in done.changes] == [("d", "type", "string")]
    assert done.second["result"]["reader"] == "msgspec"
    assert done.second["result"]["rows"] == 2


def test_a_text_that_is_not_the_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared is what was written, and by another library than the one that read the table."""
    from tare import table_text

    parts = table_text.json_parts
    monkeypatch.setattr(
        table_text,
        "json_parts",
        lambda *given, **more: [b"".join(parts(*given, **more) or ()).replace(b"17", b"71")],
    )
    parquet.write_table(pa.table({"n": [16, 17, 18]}), tmp_path / "x.parquet")
    with pytest.raises(
        tare.errors.EncodeError, match=r"'n' would change: 17 comes back as 71 \(first in row 2\)"
    ):
        tare.convert(tmp_path / "x.parquet", tmp_path / "x.ndjson")
    assert not (tmp_path / "x.ndjson").exists()


def test_maps_are_read_back_as_objects(tmp_path: Path) -> None:
    table = pa.table({"m": pa.array([[("a", 1)], [("b", 2), ("c", None)]], pa.map_(pa.string(), pa.int64()))})
    parquet.write_table(table, tmp_path / "x.parquet")
    done = tare.convert(tmp_path / "x.parquet", tmp_path / "x.ndjson")
    assert [(one["path"], one["verdict"], one["to"]) for one in done.changes] == [("m", "type", "objects")]


@pytest.mark.parametrize("ending", ["ndjson", "json"])
def test_a_name_with_nul_is_left_to_others(tmp_path: Path, ending: str) -> None:
    """The interface of C ends a name there."""
    row = {"a\0b": 1}
    (tmp_path / f"x.{ending}").write_text(json.dumps([row] if ending == "json" else row))
    tare.convert(tmp_path / f"x.{ending}", tmp_path / "x.parquet")
    assert parquet.read_table(tmp_path / "x.parquet").to_pylist() == [row]
    tare.convert(tmp_path / "x.parquet", tmp_path / f"y.{ending}")
    assert tare.read(tmp_path / f"y.{ending}") == [row]


def test_maps_of_which_none_has_a_value_are_compared(tmp_path: Path) -> None:
    """Of what stands in them there is no cell that tells a type."""
    inner: Any = pa.map_(pa.string(), pa.struct([("x", pa.map_(pa.string(), pa.int8()))]))
    table = pa.table(
        {"m": pa.array([[("a", None)], None], inner), "l": pa.array([None, []], pa.list_(inner))}
    )
    parquet.write_table(table, tmp_path / "x.parquet")
    assert tare.convert(tmp_path / "x.parquet", tmp_path / "x.ndjson").verified


@pytest.mark.parametrize("later", ["", '{"n": 0.5}\n', '{"more": [1]}\n'])
def test_large_lines_are_read_once_unless_they_contradict_themselves(
    tmp_path: Path, later: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    steps = Source.steps

    def counted(self: Source, size: int = 50) -> Any:
        for step in steps(self, 50):
            read.append(len(step))
            yield step

    monkeypatch.setattr(Source, "steps", counted)
    monkeypatch.setattr("tare.io.STREAM_BYTES", 1)
    text = "".join(json.dumps({"n": k, "s": "x" * (k % 7)}) + "\n" for k in range(300)) + later
    (tmp_path / "x.ndjson").write_text(text)
    done = tare.convert(tmp_path / "x.ndjson", tmp_path / "x.parquet")
    assert done.streamed
    assert (sum(read) == len(text)) == (not later)
    table = parquet.read_table(tmp_path / "x.parquet")
    rows = [json.loads(line) for line in text.splitlines()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    assert table.column_names == names
    assert table.to_pylist() == [{name: row.get(name) for name in names} for row in rows]
    whole = tare.convert(tmp_path / "x.ndjson", io.BytesIO(), codec="parquet")
    assert whole.changes == done.changes


@pytest.mark.usefixtures("no_values")
def test_columns_that_are_not_asked_for_are_left_out(path: Path) -> None:
    done = tare.convert(path, path.with_suffix(".parquet"), columns=["v", "n"])
    assert [one["path"] for one in done.changes] == ["v"]
    assert parquet.read_schema(path.with_suffix(".parquet")).names == ["v", "n"]


def test_another_reader_finds_a_value_that_was_read_wrong(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then documents are read, whose reader says what they are."""
    read = line_tables.table_of

    def wrong(*args: Any, **options: Any) -> Any:
        table, counted = read(*args, **options)  # type: ignore[misc]
        cells = [*table["n"].to_pylist()[:-1], -1]
        return table.set_column(0, "n", pa.array(cells)), counted

    monkeypatch.setattr(line_tables, "table_of", wrong)
    tare.convert(path, path.with_suffix(".parquet"))
    assert parquet.read_table(path.with_suffix(".parquet"))["n"].to_pylist() == list(range(1000))
    monkeypatch.setattr(documents, "parse_lines", lambda *_: [{"n": 1}])
    monkeypatch.setattr(documents, "parse_whole", lambda *_: [{"n": 1}])
    with pytest.raises(DecodeError, match="number of items"):
        tare.convert(path, path.with_suffix(".parquet"))


def test_a_column_that_there_is_not_is_told_as_ever(path: Path) -> None:
    with pytest.raises(tare.errors.UsageError, match="other"):
        tare.convert(path, path.with_suffix(".parquet"), columns=["other"])


def test_values_are_python_s_where_they_are_all_compared(path: Path) -> None:
    done = tare.convert(path, path.with_suffix(".parquet"), verify=True)
    assert ("[*].v", "type") in [(one["path"], one["verdict"]) for one in done.changes]


def test_formats_that_hold_documents_get_them(path: Path) -> None:
    tare.convert(path, path.with_suffix(".msgpack"))
    assert tare.read(path.with_suffix(".msgpack")) == ROWS


def test_a_text_in_another_encoding_is_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "x.ndjson").write_text('{"a": 1}\n', encoding="utf-16")
    assert line_tables.table_of(find(tmp_path / "x.ndjson", format="ndjson")) is None
    tare.convert(tmp_path / "x.ndjson", tmp_path / "x.parquet", format="ndjson")
    assert parquet.read_table(tmp_path / "x.parquet").to_pylist() == [{"a": 1}]
