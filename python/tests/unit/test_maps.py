"""Maps stay maps: out of Avro and into it by its schema, as objects in JSON and its kin."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.capabilities import need_codec, need_module

import tare
from tare.converting.changes import columns_changes
from tare.errors import EncodeError, Unsupported

PAIRS = [[("a", 1)], None, [("b", 2), ("c", None)], []]
OBJECTS = [{"a": 1}, None, {"b": 2, "c": None}, {}]
TEXT_KEYS = pa.map_(pa.string(), pa.int64())


def avro(fields: list[dict[str, Any]], rows: list[dict[str, Any]]) -> bytes:
    """A file of Avro that fastavro wrote."""
    fastavro = need_module("fastavro")
    file = io.BytesIO()
    fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, rows)
    return file.getvalue()


def read_avro(path: Path) -> tuple[Any, list[Any]]:
    """The schema and the rows that fastavro gives."""
    fastavro = need_module("fastavro")
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        return reader.writer_schema, list(reader)


def test_a_map_of_avro_has_the_names_of_each_row_alone(tmp_path: Path) -> None:
    field = {"name": "m", "type": {"type": "map", "values": "int"}}
    rows = [{"m": {"a": 1}}, {"m": {"b": 2}}, {"m": {}}]
    (tmp_path / "x.avro").write_bytes(avro([field], rows))
    table = tare.read(tmp_path / "x.avro")
    assert table.schema.field("m").type == pa.map_(pa.string(), pa.int32())
    assert table["m"].to_pylist() == [[("a", 1)], [("b", 2)], []]
    tare.convert(tmp_path / "x.avro", tmp_path / "x.ndjson")
    assert list(map(json.loads, (tmp_path / "x.ndjson").read_text().splitlines())) == rows
    tare.convert(tmp_path / "x.avro", tmp_path / "x.parquet")
    assert parquet.read_table(tmp_path / "x.parquet")["m"].to_pylist() == table["m"].to_pylist()
    tare.convert(tmp_path / "x.avro", tmp_path / "y.avro")
    assert read_avro(tmp_path / "y.avro")[1] == rows


def test_maps_at_any_depth_of_avro(tmp_path: Path) -> None:
    """Within unions with null, arrays, records and maps."""
    inner = {"type": "map", "values": ["null", "string"]}
    fields = [
        {"name": "u", "type": ["null", {"type": "map", "values": inner}]},
        {"name": "l", "type": {"type": "array", "items": inner}},
        {"name": "r", "type": {"type": "record", "name": "q", "fields": [{"name": "m", "type": inner}]}},
    ]
    rows = [
        {"u": {"x": {"k": None}}, "l": [{"a": "1"}, {}], "r": {"m": {"z": "2"}}},
        {"u": None, "l": [], "r": {"m": {}}},
    ]
    (tmp_path / "x.avro").write_bytes(avro(fields, rows))
    tare.convert(tmp_path / "x.avro", tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == rows


UNIONS_WITH_MAPS: dict[str, tuple[Any, list[Any]]] = {
    "map of a union": (["null", {"type": "map", "values": ["null", "string", "long"]}], [{"a": "x", "b": 2}, None, {"c": None}]),
    "union with a map": (["string", {"type": "map", "values": "int"}], [{"a": 1}, {"b": 1}, "x"]),
    "list of maps": ({"type": "array", "items": {"type": "map", "values": ["int", "boolean"]}}, [[{"a": 1}, {"b": True}], []]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNIONS_WITH_MAPS)
def test_a_union_with_maps_is_read_as_documents(name: str, tmp_path: Path) -> None:
    """No type of Arrow holds it, and each map has the names of its row alone."""
    union, values = UNIONS_WITH_MAPS[name]
    rows = [{"m": value} for value in values]
    (tmp_path / "x.avro").write_bytes(avro([{"name": "m", "type": union}], rows))
    assert tare.read(tmp_path / "x.avro") == rows
    done = tare.convert(tmp_path / "x.avro", tmp_path / "x.ndjson")
    assert list(map(json.loads, (tmp_path / "x.ndjson").read_text().splitlines())) == rows
    assert done.changes == []
    assert any("'m'" in note and "list of objects" in note for note in done.notes)


def test_types_of_avro_are_those_of_its_schema(tmp_path: Path) -> None:
    """Of columns without a value too, and of integers whose width Python does not tell."""
    fields = [
        {"name": "i", "type": "int"},
        {"name": "f", "type": ["null", "float"]},
        {"name": "n", "type": ["int", "double"]},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"]}},
        {"name": "x", "type": {"type": "fixed", "name": "F", "size": 2}},
        {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "ns", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}},
    ]
    moment = dt.datetime(2024, 1, 5, 1, 2, 3, 4000, dt.UTC)
    row = {"i": 1, "f": None, "n": 2, "e": "Y", "x": b"ab", "ms": moment, "ns": 5, "d": Decimal("1.10")}
    (tmp_path / "x.avro").write_bytes(avro(fields, [row]))
    table = tare.read(tmp_path / "x.avro")
    assert table.schema.types == [
        pa.int32(), pa.float32(), pa.float64(), pa.string(), pa.binary(2), pa.timestamp("ms", "UTC"),
        pa.timestamp("ns", "UTC"), pa.decimal128(5, 2),
    ]  # fmt: skip
    assert table["ns"].cast(pa.int64()).to_pylist() == [5]
    assert table["ms"].to_pylist() == [moment]
    for part in (table, table.slice(0, 0)):
        assert tare.decode(tare.encode(part, "avro"), "avro").schema.names == table.schema.names


COLUMNS = {
    "lists": pa.array([[1], None, []], pa.list_(pa.int64())),
    "large lists": pa.array([["a", None], [], None], pa.large_list(pa.string())),
    "structs": pa.array([{"x": 1, "y": [{"z": b"q"}]}, None, {"x": None, "y": None}]),
    "maps": pa.array(PAIRS[:3], TEXT_KEYS),
    "maps of lists": pa.array([[("a", [1.5])], [], None], pa.map_(pa.string(), pa.list_(pa.float64()))),
    "coded": pa.array(["x", None, "x"]).dictionary_encode(),
    "no values": pa.nulls(3),
    "small": pa.array([1, None, -1], pa.int16()),
    "moments": pa.array([1, None, -1], pa.timestamp("us")),
    "days": pa.array([1, None, -1], pa.date32()),
    "times": pa.array([dt.time(1, 2, 3), None, dt.time()], pa.time64("us")),
    "decimals": pa.array([Decimal("1.10"), None, Decimal("-0.01")], pa.decimal128(9, 2)),
    "bytes": pa.array([b"\0", None, b""], pa.large_binary()),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_become_what_avro_has(name: str, tmp_path: Path) -> None:
    """As fastavro reads them, which knows nothing of Arrow."""
    need_codec("avro")
    table = pa.table({"c": COLUMNS[name]})
    done = tare.convert(table, tmp_path / "x.avro")
    assert done.verified
    wanted = COLUMNS[name].to_pylist(maps_as_pydicts="strict" if "maps" in name else None)
    assert [row["c"] for row in read_avro(tmp_path / "x.avro")[1]] == wanted
    assert tare.read(tmp_path / "x.avro").num_rows == 3


def test_what_avro_has_no_map_for_is_told(tmp_path: Path) -> None:
    """Keys that are no texts: pairs, from which the map can be had back."""
    need_codec("avro")
    table = pa.table({"m": pa.array([[(1, "x")], None], pa.map_(pa.int32(), pa.string()))})
    done = tare.convert(table, tmp_path / "x.avro")
    assert read_avro(tmp_path / "x.avro")[1] == [{"m": [{"key": 1, "value": "x"}]}, {"m": None}]
    assert [(change["path"], change["verdict"]) for change in done.changes] == [("m", "type")]


@pytest.mark.parametrize("moment", [1, 1001, 1000])
def test_nanoseconds_and_large_integers_are_kept_in_avro(tmp_path: Path, moment: int) -> None:
    need_codec("avro")
    table = pa.table({"t": pa.array([moment], pa.timestamp("ns")), "u": pa.array([2**64 - 1], pa.uint64())})
    done = tare.convert(table, tmp_path / "x.avro")
    assert {change["verdict"] for change in done.changes} <= {"type"}
    back = tare.read(tmp_path / "x.avro")
    assert back["t"].cast(pa.timestamp("ns")).cast(pa.int64()).to_pylist() == [moment]
    assert back["u"].to_pylist() == [Decimal(2**64 - 1)]


BIG = 2**64 - 1
WITHIN: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "lists": (pa.array([[BIG, 1], None], pa.list_(pa.uint64())), [[BIG, 1], None], []),
    "structs": (pa.array([{"a": [BIG], "b": 5}, None], pa.struct([("a", pa.list_(pa.uint64())), ("b", pa.uint64())])), [{"a": [BIG], "b": 5}, None], []),
    "maps": (pa.array([[("k", BIG)], []], pa.map_(pa.string(), pa.uint64())), [{"k": BIG}, {}], []),
    "levels": (pa.array([BIG, 0, None], pa.uint64()).dictionary_encode(), [BIG, 0, None], []),
    "lists of moments": (pa.array([[0, 1001], None], pa.list_(pa.timestamp("ns", "Europe/Paris"))), [], [[0, 1001], None]),
    "pairs with moments": (pa.array([[(BIG, -(2**63) + 1)]], pa.map_(pa.uint64(), pa.timestamp("ns"))), [], [[(BIG, -(2**63) + 1)]]),
    "levels of moments": (pa.array([1001, 0, None], pa.timestamp("ns")).dictionary_encode(), [], [1001, 0, None]),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHIN)
def test_they_are_kept_within_others_too(name: str, tmp_path: Path) -> None:
    """A long has 63 bits and a sign: decimals hold all 64; and nanoseconds have a type of their own."""
    need_codec("avro")
    array, numbers, moments = WITHIN[name]
    done = tare.convert(pa.table({"c": array}), tmp_path / "x.avro")
    assert done.verified
    assert {change["verdict"] for change in done.changes} <= {"type"}
    if numbers:
        assert [row["c"] for row in read_avro(tmp_path / "x.avro")[1]] == numbers
    else:
        kind = array.type.value_type if name.startswith("levels") else array.type
        back = tare.read(tmp_path / "x.avro")["c"]
        if pa.types.is_map(kind):
            pairs = pa.chunked_array([chunk.flatten() for chunk in back.chunks])
            assert pairs.chunk(0).field(1).cast(pa.int64()).to_pylist() == [moments[0][0][1]]
        else:
            inner = pa.list_(pa.int64()) if pa.types.is_list(kind) else pa.int64()
            assert back.cast(inner).to_pylist() == moments


@pytest.mark.parametrize(
    "codec", ["json", "ndjson", "json:msgspec", "yaml", "msgpack", "cbor", "bson", "blit"]
)
@pytest.mark.parametrize("verify", [True, False])
def test_maps_are_objects_in_json_and_its_kin(codec: str, verify: bool, tmp_path: Path) -> None:
    need_codec(codec)
    table = pa.table({"m": pa.array(PAIRS, TEXT_KEYS)})
    done = tare.convert(table, tmp_path / "out", codec=codec, verify=verify)
    assert tare.read(tmp_path / "out", format=codec.partition(":")[0]) == [{"m": one} for one in OBJECTS]
    assert [(change["path"], change["verdict"]) for change in done.changes] == [("m", "type")]


def test_a_map_that_changes_is_refused(tmp_path: Path) -> None:
    """NaN becomes null in this library's JSON: the comparison looks into maps."""
    table = pa.table({"m": pa.array([[("a", float("nan"))]], pa.map_(pa.string(), pa.float64()))})
    with pytest.raises(EncodeError, match="'m' would change"):
        tare.convert(table, tmp_path / "x.ndjson")


def test_a_key_that_stands_twice_is_refused_and_named(tmp_path: Path) -> None:
    table = pa.table({"m": pa.array([[], [("a", 1), ("a", 2)]], TEXT_KEYS)})
    with pytest.raises(Unsupported, match="column 'm', row 2: a map has the key 'a' twice"):
        tare.convert(table, tmp_path / "x.ndjson")
    assert not list(tmp_path.iterdir())


DEEP = pa.map_(pa.string(), pa.map_(pa.string(), pa.map_(pa.string(), pa.int64())))
OF_R = [[("a", [("x", [("t", 5)])])], [("b", [])], [("c", [("y", [])])], [], None]


@pytest.mark.parametrize("to", ["rds", "qs2", "qdata", "dput"])
def test_maps_of_maps_are_nested_in_r_where_some_are_empty(to: str, tmp_path: Path) -> None:
    """A map without entries tells no type: the others tell it, or the column came back as bytes."""
    done = tare.convert(pa.table({"m": pa.array(OF_R, DEEP)}), tmp_path / f"x.{to}", verify=True)
    assert [one["verdict"] for one in done.changes] == ["type"]
    tare.convert(tmp_path / f"x.{to}", tmp_path / "x.json")
    cells = [row["m"] for row in json.loads((tmp_path / "x.json").read_text())]
    inner = [{"key": "x", "value": [{"key": "t", "value": 5}]}]
    assert cells[:2] == [[{"key": "a", "value": inner}], [{"key": "b", "value": []}]]
    assert cells[2:] == [[{"key": "c", "value": [{"key": "y", "value": []}]}], [], None]


@pytest.mark.parametrize("codec", ["json", "ndjson"])
def test_bytes_within_are_base64_as_those_of_a_column(codec: str, tmp_path: Path) -> None:
    cells = [{"b": b"\0\xff", "l": [b"q"], "m": [("k", b"\1")]}, None]
    kind = pa.struct(
        [("b", pa.binary()), ("l", pa.list_(pa.binary())), ("m", pa.map_(pa.string(), pa.binary()))]
    )
    done = tare.convert(pa.table({"s": pa.array(cells, kind)}), tmp_path / "x", codec=codec)
    first = tare.read(tmp_path / "x", format=codec)[0]
    assert first == {"s": {"b": "AP8=", "l": ["cQ=="], "m": {"k": "AQ=="}}}
    assert {change["verdict"] for change in done.changes} == {"type"}


def test_a_value_beyond_the_years_of_python_is_named_by_column_and_row(tmp_path: Path) -> None:
    table = pa.table({"d": pa.array([0, 2**31 - 1], pa.date32())})
    with pytest.raises(Unsupported, match=r"column 'd', row 2: .*\(2147483647\).* years 1 to 9999"):
        tare.convert(table, tmp_path / "x.ndjson")


OTHER_KEYS: dict[str, tuple[Any, list[Any]]] = {
    "texts by numbers": (pa.array([[(1, "x")], None, [(2, None), (3, "y")], []], pa.map_(pa.int64(), pa.string())), [[[1, "x"]], None, [[2, None], [3, "y"]], []]),
    "texts by days": (pa.array([[(dt.date(2020, 1, 2), "x")]], pa.map_(pa.date32(), pa.string())), [[["2020-01-02", "x"]]]),
    "numbers by numbers": (pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64())), [[[1, 2]]]),
    "structs by numbers": (pa.array([[(1, {"b": [1.5]})], None], pa.map_(pa.int64(), pa.struct([("b", pa.list_(pa.float64()))]))), [[[1, {"b": [1.5]}]], None]),
    "within lists and structs": (pa.array([[{"a": [(1, "x")]}, {"a": None}]], pa.list_(pa.struct([("a", pa.map_(pa.int64(), pa.string()))]))), [[{"a": [[1, "x"]]}, {"a": None}]]),
    "within maps": (pa.array([[("k", [(1, "x")])]], pa.map_(pa.string(), pa.map_(pa.int64(), pa.string()))), [[["k", [[1, "x"]]]]]),
}  # fmt: skip


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", OTHER_KEYS)
@pytest.mark.parametrize("target", ["json", "ndjson", "cbor", "bson", "yaml", "msgpack", "blit"])
def test_maps_with_other_keys_are_lists_of_pairs(
    target: str, name: str, verify: bool, tmp_path: Path
) -> None:
    """Which hold keys and values of two types: that is a change of the type."""
    need_codec(target)
    array, pairs = OTHER_KEYS[name]
    done = tare.convert(pa.table({"m": array}), tmp_path / f"x.{target}", verify=verify)
    assert [one["verdict"] for one in done.changes if one["path"] == "m"] == ["type"]
    if target in ("json", "ndjson"):
        text = (tmp_path / f"x.{target}").read_text()
        rows = json.loads(text) if target == "json" else [json.loads(line) for line in text.splitlines()]
        assert rows == [{"m": one} for one in pairs]


@pytest.mark.parametrize(
    "other", [[[1, "z"]], [[2, "x"]], [[1, 2]], [[1, "x"], [2, "y"]], [[1]], [], None, "x"]
)
def test_pairs_that_came_back_otherwise_are_lossy(other: Any) -> None:
    before = pa.table({"m": pa.array([[(1, "x")]], pa.map_(pa.int64(), pa.string()))})
    assert {one["verdict"] for one in columns_changes(before, {"m": [other]})} == {"lossy"}
    assert {one["verdict"] for one in columns_changes(before, {"m": [[[1, "x"]]]})} == {"type"}
