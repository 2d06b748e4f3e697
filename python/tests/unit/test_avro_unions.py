"""Avro's unions of several types: documents hold their values, a column does not, and says in which row."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.capabilities import need_module

import tare
from tare.errors import EncodeError

UNIONS: dict[str, tuple[list[Any], list[Any]]] = {
    "number or text": (["int", "string"], [1, "x"]),
    "truth or text": (["null", "boolean", "string"], [None, True, "x"]),
    "text or list": (["null", "string", {"type": "array", "items": "string"}], ["x", ["y"], None]),
    "text or bytes": (["string", "bytes"], ["x", b"y"]),
}


def written(path: Path, union: Any, values: list[Any]) -> Path:
    fastavro = need_module("fastavro")
    schema = {
        "type": "record",
        "name": "row",
        "fields": [{"name": "n", "type": "int"}, {"name": "u", "type": union}],
    }
    file = BytesIO()
    fastavro.writer(
        file, fastavro.parse_schema(schema), [{"n": at, "u": value} for at, value in enumerate(values)]
    )
    path.write_bytes(file.getvalue())
    return path


@pytest.mark.parametrize("name", UNIONS)
def test_a_document_has_the_values_as_they_are(name: str, tmp_path: Path) -> None:
    union, values = UNIONS[name]
    source = written(tmp_path / "x.avro", union, values)
    rows = [{"n": at, "u": value} for at, value in enumerate(values)]
    assert tare.read(source) == rows
    texts = [{**row, "u": "eQ=="} if row["u"] == b"y" else row for row in rows]
    done = tare.convert(source, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == texts
    assert any("'u'" in note and "list of objects" in note for note in done.notes)
    tare.convert(source, tmp_path / "x.ndjson")
    assert [json.loads(line) for line in (tmp_path / "x.ndjson").read_text().splitlines()] == texts
    assert tare.read(source, columns=["n"]) == [{"n": row["n"]} for row in rows]


@pytest.mark.parametrize("name", UNIONS)
@pytest.mark.parametrize("to", ["parquet", "csv"])
def test_a_table_says_where_it_cannot(name: str, to: str, tmp_path: Path) -> None:
    """And not that it is nested too deeply."""
    source = written(tmp_path / "x.avro", *UNIONS[name])
    with pytest.raises(
        EncodeError, match=r"column 'u': no one type holds its values, from item \d on"
    ) as told:
        tare.convert(source, tmp_path / f"x.{to}")
    assert "nested" not in str(told.value)


def test_unions_that_are_of_one_type_are_columns_still(tmp_path: Path) -> None:
    source = written(tmp_path / "x.avro", ["string", "bytes"], ["x", "y"])
    assert isinstance(tare.read(source), pa.Table)


def test_what_is_nested_too_deeply_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "x.msgpack").write_bytes(b"\x91" * 1_100 + b"\x01")
    with pytest.raises(tare.TareError, match="nested deeper"):
        tare.read(tmp_path / "x.msgpack")


def test_records_of_several_types_keep_their_own_fields(tmp_path: Path) -> None:
    """A struct would have the fields of all."""
    records = [
        {"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}]},
        {"type": "record", "name": "B", "fields": [{"name": "y", "type": "string"}]},
    ]
    values: list[Any] = [{"x": 1}, {"y": "s"}]
    source = written(tmp_path / "x.avro", records, values)
    rows = [{"n": at, "u": value} for at, value in enumerate(values)]
    assert tare.read(source) == rows
    done = tare.convert(source, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == rows
    assert any("'u'" in note and "list of objects" in note for note in done.notes)
    done = tare.convert(source, tmp_path / "x.parquet")
    assert {(one["path"], one["verdict"]) for one in done.changes} == {("u.x", "null"), ("u.y", "null")}


@pytest.mark.parametrize(
    ("schema", "values"),
    [("long", [1, 2]), ({"type": "array", "items": "int"}, [[1], []]), ({"type": "map", "values": "int"}, [{"a": 1}, {"b": 2}])],
)  # fmt: skip
def test_values_that_are_no_records_are_a_list(schema: Any, values: list[Any], tmp_path: Path) -> None:
    """And a map no row: its keys are no columns."""
    fastavro = need_module("fastavro")
    file = BytesIO()
    fastavro.writer(file, fastavro.parse_schema(schema), values)
    (tmp_path / "x.avro").write_bytes(file.getvalue())
    done = tare.convert(tmp_path / "x.avro", tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == values
    assert "its values are not records: read as a list" in done.notes


def test_numbers_that_no_one_type_holds_are_read_as_objects(tmp_path):
    """A long beyond 2^53 beside doubles."""
    fastavro = need_module("fastavro")
    schema = {"type": "record", "name": "r", "fields": [{"name": "v", "type": ["null", "long", "double"]}]}
    with open(tmp_path / "a.avro", "wb") as file:
        fastavro.writer(file, schema, [{"v": 2**53 + 1}, {"v": None}, {"v": 0.5}])
    done = tare.convert(tmp_path / "a.avro", tmp_path / "a.ndjson")
    assert (tmp_path / "a.ndjson").read_text() == '{"v":9007199254740993}\n{"v":null}\n{"v":0.5}\n'
    assert any("a union of several types" in note for note in done.notes)


def test_what_its_schema_says_beside_values_is_told(tmp_path: Path) -> None:
    """Documentation, aliases and own properties; and symbols of enums, of which some stand in no row."""
    fastavro = need_module("fastavro")
    kind = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    schema = {
        "type": "record", "name": "row", "doc": "d", "x-own": 1,
        "fields": [{"name": "a", "type": ["null", kind], "aliases": ["b"], "default": None}],
    }  # fmt: skip
    with open(tmp_path / "x.avro", "wb") as file:
        fastavro.writer(file, schema, [{"a": "A"}])
    notes = tare.convert(tmp_path / "x.avro", tmp_path / "x.parquet").notes
    assert "of its schema is not read: aliases, doc, x-own" in notes
    assert "enums are read as text, without their symbols: E" in notes


def test_metadata_of_its_header_is_told(tmp_path: Path) -> None:
    """It was dropped without a word."""
    fastavro = need_module("fastavro")
    schema = {"type": "record", "name": "row", "fields": [{"name": "n", "type": "int"}]}
    for name, metadata in {"plain": {}, "noted": {"owner": "me", "unit": "m"}}.items():
        with open(tmp_path / f"{name}.avro", "wb") as file:
            fastavro.writer(file, schema, [{"n": 1}], metadata=metadata)
    told = "metadata of its header is not read: owner, unit"
    assert told in tare.convert(tmp_path / "noted.avro", tmp_path / "noted.parquet").notes
    assert not tare.convert(tmp_path / "plain.avro", tmp_path / "plain.parquet").notes
