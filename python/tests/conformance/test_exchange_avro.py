"""Avro's container files across Java, Node and Python: what each writes the others read, or it is told what became of it."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_codec, need_end, need_module, need_worker_codec
from support.worker_requests import ask, load_document, worker_command

from tare.errors import WorkerError
from tare.measure.exchange.documents import OWN, exchange
from tare.measure.exchange.tables import exchange_tables
from tare.measure.worker_client.client import Worker
from tare.measure.worker_client.languages import command_of
from tare.tagged import from_tagged

JAVA, NODE = "avro:java-avro", "avro:node-avsc"
DOCUMENT = {
    "rows": [{"id": n, "x": n / 4 + 0.1, "name": f"n{n}", "none": None} for n in range(20)],
    "mixed": [1, 0.5, None, True, "\u00e9\U0001f600", [1], ["a", [2.5]], [], {"b": {"c": [{}]}}],
    "class": {"string": 1, "long": "x"},
    "names": {"no name of Avro": {"x": 1}, "": {"x": 0.5}},
}
ABSENT = [{"a": None, "b": 1}, {"b": [2.5, 3]}, {"b": {"c": "x"}, "a": {}}, "text"]

# What becomes of a probe by writer and reader; those that are not named come back the same.
ALIKE = {"text_surrogate": "changed", "cycle": "refused"}
JAVA_WRITES = {
    **ALIKE, "depth_2000": "refused", "uint64_max": "refused", "int_2_200": "refused", "date": "refused", "set": "refused",
    "key_int": "refused", "tuple": "n/a",
}  # fmt: skip
NODE_WRITES = {
    **ALIKE, "depth_2000": "error", "int_2_53_plus_1": "changed", "int64_min": "changed", "float_minus_zero": "changed",
    "float_one": "changed", "uint64_max": "changed", "int_2_200": "changed", "missing_key": "changed", "date": "n/a",
    "set": "changed", "key_int": "changed", "tuple": "n/a",
}  # fmt: skip
BECOMES = {
    (JAVA, JAVA): JAVA_WRITES,
    (JAVA, NODE): {**JAVA_WRITES, "int_2_53_plus_1": "error", "int64_min": "error", "float_one": "changed"},
    (NODE, NODE): NODE_WRITES,
    (NODE, JAVA): {
        **NODE_WRITES,
        "int_2_31": "changed",
        OWN: "changed",
    },  # numbers beside a fraction are double
}
SAME = ("int_2_31", "text_emoji", "text_nul", "bytes", "float_nan", "key_order", "list_empty", "depth_200")


@pytest.fixture
def both() -> None:
    need_end("avro", [JAVA], language="java")
    need_end("avro", [NODE], language="node")


@pytest.fixture
def java() -> Iterator[Worker]:
    need_end("avro", [JAVA], language="java")
    with Worker("java", worker_command("java"), lists=False) as worker:
        yield worker


def written(java: Worker, value: Any, folder: Path) -> bytes:
    (folder / "v.json").write_text(json.dumps(value))
    load_document(java, folder / "v.json")
    ask(java, "prepare", codec=JAVA, cold=False)
    ask(java, "encode_to", codec=JAVA, path=str(folder / "v.avro"))
    return (folder / "v.avro").read_bytes()


def outcomes(block: dict[str, Any], writer: str, reader: str) -> dict[str, str]:
    """Of what did not come back the same."""
    return {name: cell["outcome"] for name, cell in block["pairs"][writer][reader]["values"].items()}


def test_java_and_node_read_each_other(both: None) -> None:
    """Every pair of writer and reader: what is refused, changed or beyond the reader is known, and all else is the same."""
    block = exchange("avro", [JAVA, NODE], only=[*NODE_WRITES, *SAME], own=DOCUMENT, has_own=True)
    for (writer, reader), wanted in BECOMES.items():
        found = outcomes(block, writer, reader)
        told = {name: outcome for name, outcome in wanted.items() if outcome != "n/a"}
        assert found == told, f"{writer} to {reader}"


def test_a_name_that_is_absent_is_no_null(both: None) -> None:
    """Java's objects that differ in their names are maps; avsc makes a record with a field that may be null, which is told."""
    block = exchange("avro", [JAVA, NODE], only=["text_emoji"], own=ABSENT, has_own=True)
    assert [pair["counts"] for pair in block["pairs"][JAVA].values()] == [{"same": 2}, {"same": 2}]
    assert block["pairs"][NODE][JAVA]["counts"] == {"same": 1, "changed": 1}


def test_tables_of_node_and_python() -> None:
    """Records have names, as fastavro wants them; what JavaScript has no type for has changed."""
    need_codec("avro:fastavro")
    need_end("avro", [NODE], language="node", kind="table")
    need_worker_codec("arrow:node-arrow", language="node")
    block = exchange_tables(
        "avro", ["avro:fastavro", NODE], only=["text_lines", "bool_null", "no_rows", "date"]
    )
    assert outcomes(block, "avro:fastavro", NODE) == {"date": "changed"}
    told = {"date": "changed", "no_rows": "changed"}  # without a row there are no names of columns
    assert outcomes(block, NODE, "avro:fastavro") == told


def test_python_reads_what_java_writes(java: Worker, tmp_path: Path) -> None:
    """A list is the items of the file; records where the names are those of Avro and alike, maps elsewhere; always the same bytes."""
    fastavro = need_module("fastavro")
    rows = DOCUMENT["rows"]
    data = written(java, rows, tmp_path)
    assert data == written(java, rows, tmp_path)
    reader = fastavro.reader(io.BytesIO(data))
    assert list(reader) == rows
    schema = reader.writer_schema
    assert [(field["name"], field["type"]) for field in schema["fields"]] == [
        ("id", "long"), ("x", "double"), ("name", "string"), ("none", "null"),
    ]  # fmt: skip
    for value in (DOCUMENT, "text", None, {}):
        reader = fastavro.reader(io.BytesIO(written(java, value, tmp_path)))
        assert (list(reader), reader.metadata["tare.whole"]) == ([value], "1")
    for value in (ABSENT, []):
        reader = fastavro.reader(io.BytesIO(written(java, value, tmp_path)))
        assert (list(reader), "tare.whole" in reader.metadata) == (value, False)


TYPES: dict[str, tuple[Any, Any]] = {
    "int": ("int", 7),
    "float": ("float", from_tagged({"$f32": "3f000000"})),
    "enum": ({"type": "enum", "name": "E", "symbols": ["X", "Y"]}, "Y"),
    "fixed": ({"type": "fixed", "name": "F", "size": 2}, b"ab"),
    "date": ({"type": "int", "logicalType": "date"}, dt.date(1960, 2, 29)),
    "time": ({"type": "long", "logicalType": "time-micros"}, dt.time(1, 2, 3, 4)),
    "moment": (
        {"type": "long", "logicalType": "timestamp-micros"},
        dt.datetime(1960, 1, 1, 0, 0, 0, 5, dt.UTC),
    ),
    "local": ({"type": "long", "logicalType": "local-timestamp-micros"}, dt.datetime(2020, 1, 1, 0, 0, 0, 5)),
    "decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        decimal.Decimal("-1.10"),
    ),
    "uuid": ({"type": "string", "logicalType": "uuid"}, uuid.UUID(int=5)),
    "duration": ({"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}, b"123456789012"),
    "days": ({"type": "array", "items": {"type": "int", "logicalType": "date"}}, [dt.date(2020, 2, 29)]),
    "union": (["null", "E", {"type": "map", "values": ["F", "double"]}], {"z": b"ab", "a": 0.5}),
    "recursive": (["null", "row"], None),
}


@pytest.mark.parametrize("compression", ["null", "deflate"])
def test_java_reads_every_type_that_python_writes(java: Worker, tmp_path: Path, compression: str) -> None:
    """Dates, moments, decimals and UUIDs as Java has them; logical types that it has not as what they are made of."""
    fastavro = need_module("fastavro")
    fields = [{"name": name, "type": type} for name, (type, _) in TYPES.items()]
    schema = fastavro.parse_schema({"type": "record", "name": "row", "fields": fields})
    row = {name: value for name, (_, value) in TYPES.items()}
    row["recursive"] = dict(row)
    path, out = tmp_path / "all.avro", tmp_path / "out"
    with path.open("wb") as file:
        fastavro.writer(file, schema, [row, row], codec=compression)
    ask(java, "prepare", codec=JAVA, encoded=str(path), cold=False)
    assert ask(java, "decode_from", codec=JAVA, path=str(path), out=str(out))["items"] == 2
    back = json.loads(out.read_text())
    assert from_tagged(back) == [row, row]
    assert list(back[0]) == list(TYPES)


@pytest.mark.parametrize("codec", [JAVA, NODE])
def test_a_file_that_is_cut_is_refused(both: None, java: Worker, codec: str, tmp_path: Path) -> None:
    """Wherever it is cut before its last mark, by both."""
    data = written(java, DOCUMENT, tmp_path)
    path = tmp_path / "cut"
    with Worker("reader", command_of("java" if codec == JAVA else "node", {})) as reader:
        for end in (3, 20, len(data) // 2, len(data) - 17):
            path.write_bytes(data[:end])
            ask(reader, "prepare", codec=codec, encoded=str(path), cold=False)
            with pytest.raises(WorkerError):
                ask(reader, "decode_from", codec=codec, path=str(path), out=str(tmp_path / "out"))
