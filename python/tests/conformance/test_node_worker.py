"""Node's worker beyond the protocol: what each codec keeps, what its comparison sees, and who it talks to."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math
import os
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.capabilities import need_language
from support.node_worker import COMMAND, load_table, node_worker
from support.worker_requests import DEADLINE_S, ask, changes, load_document, worker_command

import tare
from tare.cli.codecs import command as codecs
from tare.codec import Codec
from tare.errors import WorkerError
from tare.measure.worker.transfer import Receiver, Sender
from tare.measure.worker_client import languages
from tare.measure.worker_client.client import Worker
from tare.media import medium
from tare.tagged import dump_text

ORDER = {"(whole) (key order)": "lossy"}  # JavaScript puts "10" before "b", whatever the library
LONE = {"surrogate": "lossy"}
ZERO = {"minus": "lossy"}
BIG = {"big": "lossy"}

# What does not come back the same of HARD, with its verdict. The libraries decide, not we.
KEPT: dict[str, dict[str, str]] = {
    "json:node": {**ORDER, **BIG, **ZERO},
    "v8:node": ORDER,
    "msgpack:node-msgpackr": {**ORDER, **ZERO, **LONE},
    "msgpack:node-msgpackr,records=yes": {**ORDER, **ZERO, **LONE},
    "cbor:node-cborx": {**ORDER, **ZERO, **LONE},
    "msgpack:node-msgpack": {**ORDER, **BIG, **ZERO},
    "msgpack:node-msgpack,bigint=yes": {**ORDER, **ZERO},
    "bson:node-bson": {**ORDER, **LONE, "big": "type"},
    "avro:node-avsc": {**ORDER, **BIG, **LONE, "list[*].a": "lossy"},
    "yaml:node-jsyaml": {**ORDER, **BIG},
}
HARD = (
    '{"b": 1, "10": "x", "big": 9007199254740993, "minus": -0.0, "half": 0.5, "surrogate": "\\ud800", '
    '"list": [{"a": null}, {}], "empty": {}, "text": "001", "word": "no", "day": "2020-02-29"}'
)
PROTO = '{"__proto__": {"x": 1}, "a": 2}'
SCRIPT = Path(worker_command("node")[1])
TABLE = pa.table({
    "int": pa.array([1, None, -7], pa.int32()),
    "big": pa.array([2**60, None, -1], pa.int64()),
    "num": pa.array([0.1 + 0.2, None, -0.0]),
    "text": ["001", None, 'a,"b"\n\u00e9'],
    "flag": [True, None, False],
    "at": pa.array([dt.datetime(2013, 7, 1, 1, 2, 3), None, dt.datetime(1969, 1, 1)], pa.timestamp("us", "UTC")),
    "day": pa.array([dt.date(2020, 2, 29), None, dt.date(1900, 1, 1)]),
})  # fmt: skip
INT64, MINUS, MOMENTS = {"[*].big": "type"}, {"[*].num": "lossy"}, {"[*].at": "type", "[*].day": "type"}
# What rows of JavaScript hold as another type, whatever the library: numbers are doubles, moments Dates.
TYPES = {"int (type)": "type", "at (type)": "type", "day (type)": "type"}
KEPT_OF_TABLE: dict[str, dict[str, str]] = {
    "json:node": {**TYPES, **INT64, **MINUS, **MOMENTS},
    "v8:node": TYPES,
    "msgpack:node-msgpackr": {**TYPES, **MINUS},
    "msgpack:node-msgpack": {**TYPES, **INT64, **MINUS},
    "msgpack:node-msgpack,bigint=yes": {**TYPES, **MINUS},
    "cbor:node-cborx": {**TYPES, **MINUS},
    "avro:node-avsc": {**TYPES, **INT64, "[*].at": "lossy", "[*].day": "lossy"},
    "arrow:node-arrow": {},
    "arrow:node-arrow,form=stream": {},
    "csv:node-papaparse": {**TYPES, **INT64, **MINUS, "[*].text": "lossy"},
    "csv:node-papaparse,types=text": {
        **TYPES, **INT64, **MOMENTS, "[*].int": "type", "[*].num": "type", "[*].text": "lossy", "[*].flag": "type",
    },
    "parquet:node-hyparquet": TYPES,
    "parquet:node-hyparquet,compression=uncompressed": TYPES,
}  # fmt: skip


@pytest.fixture(scope="module")
def node() -> Iterator[Worker]:
    with node_worker() as worker:
        yield worker


def load(worker: Worker, path: Path, text: str) -> dict[str, Any]:
    path.write_text(text)
    return load_document(worker, path)


@pytest.mark.parametrize("codec", KEPT)
def test_what_comes_back_of_a_document(node: Worker, tmp_path: Path, codec: str) -> None:
    """From memory and from a file alike."""
    load(node, tmp_path / "hard.json", HARD)
    ask(node, "prepare", codec=codec)
    assert changes(node, codec) == KEPT[codec]
    path = tmp_path / "file"
    assert ask(node, "run", what="write", path=str(path), batch=3)["bytes"] == path.stat().st_size
    ask(node, "run", what="read", path=str(path), batch=2)
    assert changes(node, codec) == KEPT[codec]


@pytest.mark.parametrize("codec", KEPT_OF_TABLE)
def test_what_comes_back_of_a_table(node: Worker, tmp_path: Path, codec: str) -> None:
    """All rows, and every value of them."""
    assert load_table(node, tmp_path / "t.arrow", TABLE)["rows"] == 3
    assert ask(node, "prepare", codec=codec)["items"] == 3
    assert changes(node, codec) == KEPT_OF_TABLE[codec]
    assert ask(node, "run", what="decode", batch=2)["items"] == 3


@pytest.mark.parametrize("values", [[1.5, None, 2.5, None], [None, 1.5], [None, None]])
def test_one_column_of_csv_keeps_its_blank_lines(
    node: Worker, tmp_path: Path, values: list[float | None]
) -> None:
    """What Papa Parse writes, the last line with its end, and what another wrote."""
    table, codec = pa.table({"v": pa.array(values, pa.float64())}), "csv:node-papaparse"
    load_table(node, tmp_path / "table.arrow", table)
    ask(node, "prepare", codec=codec)
    assert changes(node, codec) == {}
    ask(node, "run", what="write", codec=codec, path=str(tmp_path / "file.csv"), batch=1)
    assert tare.read(tmp_path / "file.csv")["v"].to_pylist() == values
    (tmp_path / "one.csv").write_bytes(Codec.parse("csv:pyarrow").encode(table))
    ask(node, "prepare", codec=codec, encoded=str(tmp_path / "one.csv"))
    assert changes(node, codec) == {}


PARQUET = pa.table({
    "x": [1.0, 2.0, -0.0, 1e300], "late": [1.0, 2.0, 3.0, 0.5], "single": pa.array([1, 2, 3, 4], pa.float32()),
    "none": pa.array([None] * 4, pa.int64()), "int": pa.array([1, 2, 3, None], pa.int16()), "flag": [True, None, False, True],
    "text": pa.array(["a", "b", None, "a"]).dictionary_encode(), "big": [2**60, 1, 2, 3],
    "at": pa.array([0, None, 1, 2], pa.timestamp("ms", "UTC")), "price": pa.array([Decimal("1.10")] * 4),
})  # fmt: skip


@pytest.mark.parametrize("rows", [4, 4000])
def test_parquet_has_the_types_of_the_columns(node: Worker, tmp_path: Path, rows: int) -> None:
    """The writer's guess, by the first thousand values, refuses doubles that begin as whole numbers and loses -0."""
    first = pa.concat_tables([PARQUET.slice(0, 1)] * (rows // 4 * 3)) if rows > 4 else PARQUET.slice(0, 0)
    table = pa.concat_tables([first, PARQUET]).combine_chunks()
    load_table(node, tmp_path / "t.arrow", table)
    ask(node, "prepare", codec="parquet:node-hyparquet")
    found = changes(node, "parquet:node-hyparquet")
    assert {path for path, verdict in found.items() if verdict != "type"} == set()
    ask(node, "encode_to", codec="parquet:node-hyparquet", path=str(tmp_path / "t.parquet"))
    back = pq.read_table(tmp_path / "t.parquet")
    kinds = {"single": "float", "none": "int64", "int": "int32", "text": "string", "price": "string"}
    assert {name: str(kind) for name, kind in zip(back.column_names, back.schema.types, strict=True)} == {
        **{field.name: str(field.type) for field in table.schema}, **kinds,
    }  # fmt: skip
    assert back.field("x").nullable is False
    assert back.column("late").to_pylist() == table.column("late").to_pylist()
    assert math.copysign(1, back.column("x")[-2].as_py()) == -1


UNSIGNED = pa.table({
    "four": pa.array([4_000_000_000, 1, None, 2**32 - 1], pa.uint32()), "toString": pa.array([0, 1, 2, 2**31], pa.uint32()),
    "eight": pa.array([2**64 - 1, 1, None, 0], pa.uint64()), "coded": pa.array([2**32 - 1, 7, 7, None], pa.uint32()).dictionary_encode(),
    "one": pa.array([255, 0, 1, None], pa.uint8()), "__proto__": pa.array([2**63, 1, 2, 3], pa.uint64()), "valueOf": ["a"] * 4,
})  # fmt: skip


def test_parquet_keeps_numbers_without_a_sign(node: Worker, tmp_path: Path) -> None:
    """Those of the upper half, which a signed column of the same width has no place for."""
    load_table(node, tmp_path / "t.arrow", UNSIGNED)
    ask(node, "prepare", codec="parquet:node-hyparquet")
    found = changes(node, "parquet:node-hyparquet")
    cells = {path for path, verdict in found.items() if verdict != "type" or path.startswith("[*]")}
    assert cells <= {"[*].__proto__"}  # written, but the library's reader makes rows without it
    ask(node, "encode_to", codec="parquet:node-hyparquet", path=str(tmp_path / "t.parquet"))
    back = pq.read_table(tmp_path / "t.parquet")
    assert back.to_pydict() == UNSIGNED.to_pydict()
    assert {str(back.schema.field(name).type) for name in ("four", "toString", "coded")} == {"uint32"}
    assert {str(back.schema.field(name).type) for name in ("eight", "__proto__")} == {"uint64"}
    assert back.schema.field("toString").nullable is False


def test_one_column_has_no_delimiter(node: Worker, tmp_path: Path) -> None:
    """Papa Parse lists that it found none among its errors, and gives the rows."""
    load_table(node, tmp_path / "t.arrow", pa.table({"x": [1.5, 2.0, -3.25]}))
    ask(node, "prepare", codec="csv:node-papaparse")
    assert changes(node, "csv:node-papaparse") == {}


DECIMALS = ["1.23", "-4.50", "0.05", "-0.50", "0.00", "-12345678901234567890.12", None]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (pa.decimal128(38, 2), DECIMALS),
        (pa.decimal256(76, 2), [*DECIMALS, "-" + "7" * 70 + ".01"]),
        (pa.decimal128(5, 0), ["12", "-5", "0"]),
        (pa.decimal128(5, 5), ["0.00001", "-0.12345"]),
    ],
)
def test_a_decimal_has_its_point(node: Worker, tmp_path: Path, kind: pa.DataType, texts: list[str]) -> None:
    """Exactly, whatever its sign and size, also within lists, structs and dictionaries."""
    column = pa.array([text and Decimal(text) for text in texts], kind)
    places = pa.array(range(len(texts)), pa.int8())
    table = pa.table({
        "d": column, "list": pa.ListArray.from_arrays(list(range(len(texts) + 1)), column),
        "struct": pa.StructArray.from_arrays([column], names=["d"]),
        "level": pa.DictionaryArray.from_arrays(places, column),
    })  # fmt: skip
    load_table(node, tmp_path / "t.arrow", table)
    ask(node, "prepare", codec="json:node")
    ask(node, "encode_to", path=str(tmp_path / "t.json"))
    rows = json.loads((tmp_path / "t.json").read_text())
    assert rows == [{"d": one, "list": [one], "struct": {"d": one}, "level": one} for one in texts]


NS = pa.timestamp("ns", "UTC")


@pytest.mark.parametrize(
    "column", [pa.array([1_600_000_000_123_456_000, None, -1], NS), pa.array([[1], None], pa.list_(NS))]
)
def test_nanoseconds_are_refused_when_they_are_loaded(node: Worker, tmp_path: Path, column: pa.Array) -> None:
    """By the name of the column: a number of milliseconds would round them before any codec sees them."""
    with pytest.raises(WorkerError, match='column "at" holds nanoseconds') as caught:
        load_table(node, tmp_path / "t.arrow", pa.table({"x": [1] * len(column), "at": column}))
    assert (caught.value.type, caught.value.phase) == ("refused", "load")


def test_whole_microseconds_are_loaded(node: Worker, tmp_path: Path) -> None:
    """Whatever the unit of the column, and whatever lies where it is null. Arrow's own table holds them."""
    raw = pa.array([1_600_000_000_123_456_000, 7, -1_000], pa.int64())
    column = pa.Array.from_buffers(NS, 3, [pa.py_buffer(b"\x05"), raw.buffers()[1]])
    load_table(node, tmp_path / "t.arrow", pa.table({"at": column}))
    ask(node, "prepare", codec="arrow:node-arrow")
    assert changes(node, "arrow:node-arrow") == {}


ROWS_OF = [codec for codec in KEPT_OF_TABLE if not codec.startswith("arrow:")]
US = pa.timestamp("us", "UTC")
MAP = pa.map_(pa.string(), pa.int64())
DATE = 'column "at" holds moments that a Date does not'
UNHELD = {
    "two names": (pa.Table.from_arrays([pa.array([n]) for n in (1.5, 2.0, 0.25)], ["p", "k", "p"]), 'two columns are named "p"'),
    "microseconds": (pa.table({"at": pa.array([0, None, 1], US)}), DATE),
    "in a list": (pa.table({"at": pa.array([[0], [1_001]], pa.list_(US))}), DATE),
    "far away": (pa.table({"at": pa.array([8_640_000_000_001], pa.timestamp("s"))}), DATE),
    "far day": (pa.table({"at": pa.array([100_000_001], pa.int32()).cast(pa.date32())}), DATE),
    "a key twice": (pa.table({"m": pa.array([[("a", 1), ("a", 2)]], MAP)}), 'column "m" holds a map with one key twice'),
}  # fmt: skip


@pytest.mark.parametrize("name", UNHELD)
def test_what_rows_do_not_hold_is_refused(node: Worker, tmp_path: Path, name: str) -> None:
    """By every codec of rows and columns, with the reason; the table of Arrow keeps all of it."""
    table, reason = UNHELD[name]
    load_table(node, tmp_path / "t.arrow", table)
    for codec in ROWS_OF:
        with pytest.raises(WorkerError, match=reason) as caught:
            ask(node, "prepare", codec=codec)
        assert (caught.value.type, caught.value.phase) == ("refused", "load")
    ask(node, "prepare", codec="arrow:node-arrow")
    assert changes(node, "arrow:node-arrow") == {}


def test_rows_that_were_read_are_not_held_against_what_no_row_holds(node: Worker, tmp_path: Path) -> None:
    """A codec that encoded nothing here is not called lossless either."""
    load_table(node, tmp_path / "t.arrow", UNHELD["two names"][0])
    encoded = tmp_path / "encoded"
    encoded.write_text('[{"k": 2.0, "p": 0.25}]')
    ask(node, "prepare", codec="json:node", encoded=str(encoded))
    with pytest.raises(WorkerError, match='two columns are named "p"'):
        ask(node, "verify", codec="json:node", full=True)


def test_fields_of_one_name_are_refused_when_they_are_loaded(node: Worker, tmp_path: Path) -> None:
    """Arrow gives structs as objects, so that nothing would see what is gone."""
    column = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(WorkerError, match='column "s" holds two fields named "a"') as caught:
        load_table(node, tmp_path / "t.arrow", pa.table({"s": column}))
    assert (caught.value.type, caught.value.phase) == ("refused", "load")


@pytest.mark.parametrize("name", ["kind", "cell", "column"])
def test_a_planted_difference_between_tables_is_found(node: Worker, tmp_path: Path, name: str) -> None:
    """By place: also in the first of two columns of one name."""
    table = UNHELD["two names"][0]
    other, found = {
        "kind": (table.set_column(1, "k", pa.array([2.0], pa.float32())), {"k (type)": "type"}),
        "cell": (table.set_column(0, "p", pa.array([-1.5])), {"[*].p": "lossy"}),
        "column": (table.select([0, 1]), {"(column names)": "lossy"}),
    }[name]
    encoded = tmp_path / "encoded"
    load_table(node, encoded, other)
    load_table(node, tmp_path / "t.arrow", table)
    ask(node, "prepare", codec="arrow:node-arrow", encoded=str(encoded))
    assert changes(node, "arrow:node-arrow") == found
    said = {
        "kind": ("Float64", "Float32"),
        "cell": ("1.5", "-1.5"),
        "column": ('["p","k","p"]', '["p","k"]'),
    }
    told = ask(node, "verify", codec="arrow:node-arrow", full=True)["changes"]
    assert [(one["in"], one["out"]) for one in told] == [said[name]]


@pytest.mark.parametrize("codec", ["json:node", "v8:node", "parquet:node-hyparquet"])
def test_rows_are_told_what_they_do_not_hold(node: Worker, tmp_path: Path, codec: str) -> None:
    """Columns without a row, and the order of names that are whole numbers."""
    load_table(
        node, tmp_path / "t.arrow", pa.table({"n": pa.array([], pa.int64()), "t": pa.array([], pa.string())})
    )
    ask(node, "prepare", codec=codec)
    assert changes(node, codec) == {"(columns)": "lossy"}
    load_table(node, tmp_path / "t.arrow", pa.table({"country": ["a"], "2021": [0.5], "2020": [1.5]}))
    ask(node, "prepare", codec=codec)
    assert changes(node, codec) == {"(column order)": "type"}


def test_maps_and_structs_that_become_objects(node: Worker, tmp_path: Path) -> None:
    """With the values of a map as those of a column, and the order of their names."""
    moment = dt.datetime(2013, 7, 1, tzinfo=dt.UTC)
    column = pa.array([{"10": 0.5, "2": 1.5}], pa.struct([("10", pa.float64()), ("2", pa.float64())]))
    maps = pa.array([[("b", moment), ("1", None)]], pa.map_(pa.string(), pa.timestamp("ms", "UTC")))
    load_table(node, tmp_path / "t.arrow", pa.table({"m": maps, "s": column, "x": ["a"]}))
    ask(node, "prepare", codec="v8:node")
    assert changes(node, "v8:node") == {
        "m (key order)": "lossy", "m (type)": "type", "s (field order)": "type",
    }  # fmt: skip
    ask(node, "prepare", codec="json:node")
    ask(node, "encode_to", path=str(tmp_path / "t.json"))
    assert json.loads((tmp_path / "t.json").read_text()) == [
        {"m": {"1": None, "b": "2013-07-01T00:00:00.000Z"}, "s": {"2": 1.5, "10": 0.5}, "x": "a"}
    ]


@pytest.mark.parametrize("codec", ["json:node", "parquet:node-hyparquet"])
@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (pa.date32(), dt.date(2020, 1, 1)), (pa.date64(), dt.date(1969, 1, 1)), (pa.timestamp("us"), dt.datetime(2020, 1, 1)),
        (pa.timestamp("ms", "UTC"), dt.datetime(2020, 1, 1, 12)), (pa.int32(), 7), (pa.decimal128(9, 2), Decimal("1.50")),
    ],
)  # fmt: skip
def test_keys_of_a_map_that_are_no_texts_keep_their_order(
    node: Worker, tmp_path: Path, kind: pa.DataType, key: Any, codec: str
) -> None:
    """It is that of their names in the object."""
    table = pa.table({"m": pa.array([[(key, 0.5)]], pa.map_(kind, pa.float64()))})
    load_table(node, tmp_path / "t.arrow", table)
    ask(node, "prepare", codec=codec)
    assert changes(node, codec) == {"m (type)": "type"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.int8(), "number"), (pa.uint64(), "BigInt"), (pa.float32(), "number"), (pa.timestamp("ms"), "Date"),
        (pa.timestamp("ms", "Europe/Paris"), "Date"), (pa.date32(), "Date"), (pa.time64("us"), "BigInt"),
        (pa.time32("s"), "number"), (pa.duration("s"), "BigInt"), (pa.decimal128(5, 2), "string"),
        (pa.dictionary(pa.int8(), pa.string()), "string"), (pa.large_string(), "string"), (pa.binary(3), "Uint8Array"),
        (pa.list_(pa.int8()), "Array of number"), (pa.large_list(pa.string()), "Array of string"),
        (pa.struct([("a", pa.int8())]), "object"), (MAP, "object"),
        (pa.float64(), ""), (pa.int64(), ""), (pa.string(), ""), (pa.bool_(), ""), (pa.binary(), ""),
        (pa.timestamp("ms", "UTC"), ""), (pa.list_(pa.string()), ""), (pa.struct([("a", pa.string())]), ""), (pa.null(), ""),
    ],
)  # fmt: skip
def test_a_column_of_another_type_is_told(node: Worker, tmp_path: Path, kind: pa.DataType, name: str) -> None:
    """Where the type is not one of JavaScript's, though every value is there."""
    load_table(node, tmp_path / "t.arrow", pa.table({"c": pa.array([None], kind)}))
    ask(node, "prepare", codec="v8:node")
    found = ask(node, "verify", codec="v8:node", full=True)
    assert [(one["path"], one["verdict"], one["out"]) for one in found["changes"]] == (
        [("c (type)", "type", name)] if name else []
    )


def test_no_number_is_no_other_type(node: Worker, tmp_path: Path) -> None:
    """NaN is not equal to itself, and comes back."""
    load_table(node, tmp_path / "t.arrow", pa.table({"x": [float("nan"), 1.5]}))
    ask(node, "prepare", codec="v8:node")
    assert changes(node, "v8:node") == {}


def test_a_column_that_names_a_prototype(node: Worker, tmp_path: Path) -> None:
    """It is in the rows; what a library makes of it is in sight."""
    load_table(node, tmp_path / "t.arrow", pa.table({"__proto__": ["a"], "x": [0.5]}))
    for codec, wanted in {
        "json:node": {},
        "v8:node": {},
        "arrow:node-arrow": {},
        "csv:node-papaparse": {"[*].__proto__": "lossy"},
        "msgpack:node-msgpackr": {"[*].__proto__": "lossy", "[*].__proto_": "lossy"},
    }.items():
        ask(node, "prepare", codec=codec)
        assert changes(node, codec) == wanted, codec
    ask(node, "encode_to", codec="json:node", path=str(tmp_path / "t.json"))
    assert json.loads((tmp_path / "t.json").read_text()) == [{"__proto__": "a", "x": 0.5}]


def test_a_key_that_names_a_prototype(node: Worker, tmp_path: Path) -> None:
    """It is kept, renamed, refused or lost, each in sight; no object gets another prototype."""
    load(node, tmp_path / "p.json", PROTO)
    for codec, wanted in {
        "json:node": {},
        "v8:node": {},
        "msgpack:node-msgpackr": {"__proto__": "lossy", "__proto_": "lossy"},
    }.items():
        ask(node, "prepare", codec=codec)
        assert changes(node, codec) == wanted
    with pytest.raises(WorkerError, match="__proto__ is not allowed"):
        ask(node, "prepare", codec="msgpack:node-msgpack")


PLANTED = {
    "list": HARD.replace("null", "0"), "half": HARD.replace("0.5", "0.25"), "text": HARD.replace("001", "1"),
    "big": HARD.replace("0993", "0995"), "empty": HARD.replace('"empty": {}', '"empty": []'),
    "minus": HARD.replace("-0.0", "0"), "surrogate": HARD.replace("ud800", "ud801"),
}  # fmt: skip


@pytest.mark.parametrize("key", PLANTED)
def test_a_planted_difference_is_found(node: Worker, tmp_path: Path, key: str) -> None:
    """Where it is, and nowhere else."""
    encoded = tmp_path / "encoded"
    load(node, tmp_path / "other.json", PLANTED[key])
    ask(node, "prepare", codec="v8:node")
    ask(node, "encode_to", path=str(encoded))
    load(node, tmp_path / "hard.json", HARD)
    ask(node, "prepare", codec="v8:node", encoded=str(encoded))
    found = changes(node, "v8:node")
    assert [path.split("[")[0] for path in found if path not in ORDER] == [key]
    assert set(found.values()) == {"lossy"}


@pytest.mark.parametrize("name", ["fifo", "unix", "tcp"])
@pytest.mark.parametrize("delivery", ["whole", "framed", "wrapped"])
def test_messages_go_both_ways_between_node_and_python(
    node: Worker, tmp_path: Path, name: str, delivery: str
) -> None:
    """A frame, a bin of msgpack and a message that ends with the connection are the same bytes to both."""
    value = [{"id": n, "text": "\u00e9" * n} for n in range(400)]
    load(node, tmp_path / "v.json", json.dumps(value))
    ask(node, "prepare", codec="msgpack:node-msgpackr")
    codec, token = Codec.parse("msgpack:msgspec"), os.urandom(16)
    module, told = medium(name).stream(), {"kind": name, "token": token.hex()}

    listener = module.listen("", token=token)
    there = ask(node, "open", medium={**told, "role": "writer", "address": listener.address})
    sending = node.send("run", what="send", handle=there["handle"], delivery=delivery)
    end = listener.accept(timeout_s=10)
    assert Receiver(end, delivery, codec.decoder("document")).receive() == value
    assert node.wait(sending, DEADLINE_S)["bytes"] > 0
    end.close()
    listener.close()
    ask(node, "close", handle=there["handle"])

    there = ask(node, "open", medium={**told, "role": "reader"})
    end = module.connect(there["address"], token=token, timeout_s=10)
    receiving = node.send("run", what="receive", handle=there["handle"], delivery=delivery, timeout_s=10)
    Sender(end, delivery, codec.encoder("document")).send(value)
    assert node.wait(receiving, DEADLINE_S)["items"] == 400
    assert changes(node, "msgpack:node-msgpackr") == {}
    end.close()
    ask(node, "close", handle=there["handle"])


@pytest.mark.parametrize("codec", ["json:node", "msgpack:node-msgpackr", "cbor:node-cborx"])
def test_entries_arrive_one_after_another(node: Worker, tmp_path: Path, codec: str) -> None:
    """Streaming: several pieces, values cut anywhere between them, and the list is whole again."""
    token, path = os.urandom(16).hex(), tmp_path / "v.json"
    with Worker("writer", COMMAND) as writer:
        for one in (node, writer):
            load(one, path, json.dumps([{"id": n, "text": "\u00e9" * (n % 700)} for n in range(3000)]))
            ask(one, "prepare", codec=codec)
        there = ask(node, "open", medium={"kind": "unix", "role": "reader", "token": token})
        told = {"kind": "unix", "role": "writer", "token": token, "address": there["address"]}
        here = ask(writer, "open", medium=told)
        receiving = node.send("run", what="receive", handle=there["handle"], delivery="streaming")
        sent = ask(writer, "run", what="send", handle=here["handle"], delivery="streaming")
        got = node.wait(receiving, DEADLINE_S)
        assert (got["items"], got["bytes"]) == (3000, sent["bytes"])
        stamps = dict(zip(got["cols"], got["samples"][0], strict=True))
        assert stamps["first_value_ns"] < stamps["last_byte_ns"] <= stamps["last_value_ns"]
        assert changes(node, codec) == {}
        ask(node, "close", handle=there["handle"])


def test_node_alone_is_enough(tmp_path: Path) -> None:
    """Without a single package it speaks, and says what installs the others; tables then need Arrow."""
    need_language("node")
    with Worker("node", (*worker_command("node"), str(tmp_path / "node_modules"))) as worker:
        assert {"json:node", "v8:node", "none:node"} == {one["id"] for one in worker.hello["codecs"]}
        missing = {one["id"]: one["install"] for one in worker.hello["missing"]}
        assert missing["cbor:node-cborx"] == f"npm install --prefix '{tmp_path}' cbor-x"
        with pytest.raises(WorkerError, match="Node has no package cbor-x: npm install --prefix"):
            ask(worker, "prepare", codec="cbor:node-cborx")
        with pytest.raises(WorkerError, match="reading tables needs the package apache-arrow: npm install"):
            load_table(worker, tmp_path / "t.arrow", TABLE)


def test_the_loop_and_the_clocks_cost_next_to_nothing(node: Worker, tmp_path: Path) -> None:
    """What a sample of nothing takes is at most 1 % of one of 2 ms."""
    load(node, tmp_path / "v.json", HARD)
    ask(node, "prepare", codec="json:node")
    rows = [ask(node, "run", what="null", batch=1)["samples"][0][0] for _ in range(15)]
    assert min(rows) <= 20_000


def test_where_packages_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable alone; else the repository's own, then the user's data; a folder that came with data is not run."""
    need_language("node")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    ran = tmp_path / "ran"
    package = tmp_path / "node_modules" / "msgpackr"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "msgpackr", "version": "9.9.9", "main": "index.js"}')
    (package / "index.js").write_text(f"require('fs').writeFileSync({str(ran)!r}, '')")
    monkeypatch.delenv("TARE_NODE_MODULES", raising=False)
    monkeypatch.setattr(languages, "_REPOSITORY_PACKAGES", tmp_path / "none")
    data = str(tmp_path / "data" / "tare" / "node" / "node_modules")
    assert languages.node_folders() == (data,)
    assert "msgpack:node-msgpackr" not in languages.inventory("node", {}).codecs
    assert not ran.exists()
    monkeypatch.setattr(languages, "_REPOSITORY_PACKAGES", package.parent)
    assert languages.node_folders() == (str(package.parent), data)
    monkeypatch.setenv("TARE_NODE_MODULES", str(tmp_path / "mine"))
    assert languages.node_folders() == (str(tmp_path / "mine"),)
    # Named, it is used: what the test plants is seen, and run when it is prepared.
    monkeypatch.setenv("TARE_NODE_MODULES", str(package.parent))
    assert languages.inventory("node", {}).codecs["msgpack:node-msgpackr"]["version"] == "9.9.9"
    with Worker("node", languages.command_of("node", {})) as worker, contextlib.suppress(WorkerError):
        worker.request("prepare", deadline_s=DEADLINE_S, codec="msgpack:node-msgpackr", encoded=str(SCRIPT))
    assert ran.exists()


def test_a_copy_of_the_worker_finds_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In what the variable names, from wherever that is said, or where the install lines put them."""
    need_language("node")
    package = tmp_path / "data" / "tare" / "node" / "node_modules" / "msgpackr"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "msgpackr", "version": "9.9.9", "main": "index.js"}')
    (package / "index.js").write_text("")
    monkeypatch.chdir(tmp_path / "data" / "tare")
    for variable, value in (
        ("XDG_DATA_HOME", str(tmp_path / "data")),
        ("TARE_NODE_MODULES", "node/node_modules"),
    ):
        copy = shutil.copytree(SCRIPT.parent, tmp_path / variable)  # one is asked once
        with monkeypatch.context() as patch:
            patch.delenv("TARE_NODE_MODULES", raising=False)
            patch.setenv("XDG_DATA_HOME", str(tmp_path / "nothing"))
            patch.setenv(variable, value)
            found = languages.inventory("node", {"node": f"sh '{copy / SCRIPT.name}'"})
        assert found.codecs["msgpack:node-msgpackr"]["version"] == "9.9.9", variable


def test_the_folders_of_packages_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the codecs, on standard error: what is loaded from there is run."""
    need_language("node")
    monkeypatch.setenv("TARE_NODE_MODULES", str(tmp_path / "mine"))
    told = CliRunner().invoke(codecs, ["--language", "node"], standalone_mode=False)
    assert f"packages from {tmp_path / 'mine'}\n" in told.stderr


def test_what_is_no_number_is_no_change_where_it_comes_back(node: Worker, tmp_path: Path) -> None:
    path = tmp_path / "d.values"
    path.write_bytes(dump_text([{"v": math.nan}, {"v": -0.0}, {"v": 1.5}]))
    load_document(node, path, "values")
    ask(node, "prepare", codec="v8:node")
    assert ask(node, "verify")["verdict"] == "same"
