"""Documents as Node's worker reads them, as tagged values too, and what its comparison tells of them."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_language, need_worker_codec
from support.node_worker import load_table, node_worker
from support.plans import one_round_plan
from support.planted_levels import LEVELS, of_arrow
from support.worker_requests import ask, changes, load_document

from tare import measure
from tare.measure.exchange.documents import OWN, ends_of, exchange
from tare.measure.worker_client.client import Worker
from tare.measure.worker_client.languages import inventory
from tare.tagged import dump_text, from_tagged

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"name": {"type": "string", "x": 0.25}},
    "properties": {"name": {"$ref": "#/$defs/name"}},
}
WITH_ID = [{"$id": n, "name": f"n{n}", "x": math.nan if n == 0 else n / 4} for n in range(200)]
MOMENT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def node() -> Iterator[Worker]:
    with node_worker() as worker:
        yield worker


def load(worker: Worker, folder: Path, value: Any) -> None:
    path = folder / "d.values"
    path.write_bytes(dump_text(value))
    load_document(worker, path, "values")


def read(worker: Worker, folder: Path, codec: str, value: Any, data: str) -> dict[str, str]:
    """What the comparison says of a value and of what somebody wrote for it."""
    load(worker, folder, value)
    encoded = folder / "encoded"
    encoded.write_text(data)
    ask(worker, "prepare", codec=codec, encoded=str(encoded))
    return changes(worker, codec)


def handed_back(worker: Worker, folder: Path, codec: str) -> Any:
    """What was loaded, as it is after the codec wrote and read it."""
    encoded, out = folder / "encoded", folder / "out"
    ask(worker, "encode_to", codec=codec, path=str(encoded))
    ask(worker, "decode_from", codec=codec, path=str(encoded), out=str(out))
    return from_tagged(json.loads(out.read_bytes()))


@pytest.mark.parametrize("key", ["$id", "$", "\ud800"])
def test_an_object_whose_name_needs_a_tag_is_an_object(node: Worker, tmp_path: Path, key: str) -> None:
    """JSON's text of it is the one that a program would write, and nothing is told but what the codec does."""
    load(node, tmp_path, [{key: 1, "x": math.inf}])
    ask(node, "prepare", codec="json:node")
    ask(node, "encode_to", codec="json:node", path=str(tmp_path / "out"))
    assert json.loads((tmp_path / "out").read_text()) == [{key: 1, "x": None}]
    assert changes(node, "json:node") == {"[*].x": "lossy"}
    ask(node, "prepare", codec="v8:node")
    assert changes(node, "v8:node") == {}


def test_keys_that_are_no_texts_make_a_map(node: Worker, tmp_path: Path) -> None:
    """Libraries that hold one keep it; what becomes of it in others is told."""
    load(node, tmp_path, {"m": {1: "a", "1": "b"}})
    ask(node, "prepare", codec="v8:node")
    assert changes(node, "v8:node") == {}
    for codec in ("json:node", "msgpack:node-msgpackr"):
        ask(node, "prepare", codec=codec)
        assert changes(node, codec) == {"m": "lossy"}


def test_the_order_of_names_is_told_of_tagged_values_too(node: Worker, tmp_path: Path) -> None:
    """JavaScript puts whole numbers first, whether a name needs a tag or not."""
    load(node, tmp_path, [{"a": {"b": 1, "10": math.nan}}, {"a": {"$b": 1, "10": 2}}])
    ask(node, "prepare", codec="v8:node")
    assert changes(node, "v8:node") == {"[*].a (key order)": "lossy"}
    found = ask(node, "verify", codec="v8:node")["changes"]
    assert [(one["count"], one["in"], one["out"]) for one in found] == [(2, "b, 10", "10, b")]


def test_a_document_of_names_with_a_dollar_is_measured_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NaN makes it travel as tagged values: sizes are those of all of it, and msgpack lost nothing."""
    need_worker_codec("msgpack:node-msgpackr", language="node")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    codecs = ("json:stdlib", "json:node", "msgpack:node-msgpackr")
    record = measure.run(WITH_ID, plan=one_round_plan(*codecs), time_s=0).record
    of_node = {
        case["labels"]["codec"]: case
        for case in record["cases"]
        if ":node" in case["labels"]["codec"] and case["labels"]["size"] == "1"
    }
    assert of_node["json:node"]["bytes"] > 15 * len(WITH_ID)
    assert [
        (one["path"], one["verdict"], one["count"]) for one in of_node["json:node"]["verify"]["changes"]
    ] == [("[*].x", "lossy", 1)]
    assert of_node["msgpack:node-msgpackr"]["verify"]["verdict"] == "same"


def test_a_schema_crosses_between_all_languages() -> None:
    """Own data reach every worker as tagged values, whatever their names."""
    need_language("node")
    theirs = [
        found[0]
        for language in ("node", "r", "java", "mono", "rust")
        if not inventory(language, {}).reason and (found := ends_of("json", languages=[language])[0])
    ]
    assert "json:node" in theirs
    block = exchange("json", ["json:stdlib", *theirs], only=["text_empty"], own=SCHEMA, has_own=True)
    for writer, readers in block["pairs"].items():
        for reader, pair in readers.items():
            assert pair["values"].get(OWN, {"outcome": "same"})["outcome"] == "same", (writer, reader, pair)


@pytest.mark.parametrize("data", ["null", "false", "[]", '""', '"0"', '{"a": 0}'])
def test_what_is_no_moment_does_not_stand_for_one(node: Worker, tmp_path: Path, data: str) -> None:
    """Though JavaScript makes 0 of it, which is the first moment of 1970."""
    assert read(node, tmp_path, "json:node", MOMENT, data) == {"(whole)": "lossy"}


@pytest.mark.parametrize("data", ["0", '"1970-01-01T00:00:00.000Z"'])
def test_a_moment_can_be_rebuilt(node: Worker, tmp_path: Path, data: str) -> None:
    assert read(node, tmp_path, "json:node", MOMENT, data) == {"(whole)": "type"}


@pytest.mark.parametrize(
    ("value", "text", "verdict"),
    [
        (0, " ", "lossy"), (0, "\n", "lossy"), (0, "", "lossy"), (10, "0xa", "lossy"), (2, "0b10", "lossy"),
        (10, " 10", "lossy"), (10, "10", "type"), (1000, "1e3", "type"), (0.5, "0.50", "type"),
        (-1.5e300, "-1.5e300", "type"), (-0.0, "-0", "type"), (math.nan, "NaN", "type"), (math.nan, "x", "lossy"),
        (-math.inf, "-Infinity", "type"),
    ],
)  # fmt: skip
def test_a_number_is_rebuilt_from_its_decimal_text_alone(
    node: Worker, tmp_path: Path, value: float, text: str, verdict: str
) -> None:
    assert read(node, tmp_path, "json:node", value, json.dumps(text)) == {"(whole)": verdict}


@pytest.mark.parametrize(
    "value",
    [{"columns": ["a", "b"], "data": [[1, 2]]}, {"columns": [], "x": 1}, {"columns": 1, "rows": 7}, {"rows": 7, "numRows": 8}],
)  # fmt: skip
def test_a_document_of_columns_is_no_table(node: Worker, tmp_path: Path, value: Any) -> None:
    """As pandas writes one in its orientation `split`: handed back whole, and counted as one document."""
    load(node, tmp_path, value)
    assert ask(node, "prepare", codec="json:node")["items"] == 1
    assert ask(node, "verify", codec="json:node", full=True)["items_out"] == 1
    encoded, out = tmp_path / "encoded", tmp_path / "out"
    ask(node, "encode_to", codec="json:node", path=str(encoded))
    assert ask(node, "decode_from", codec="json:node", path=str(encoded), out=str(out))["items"] == 1
    assert from_tagged(json.loads(out.read_bytes())) == value


@pytest.mark.parametrize("way", ["json", "values"])
@pytest.mark.parametrize("unit", ["a", "\n", '\\"'])
def test_a_long_text_is_loaded_beside_a_name_of_digits(
    node: Worker, tmp_path: Path, unit: str, way: str
) -> None:
    """Such a name, or sixteen digits, has the end of every text looked for; a pattern does not reach it."""
    text = unit * ((9 << 20) // len(unit))
    value = {"2020": 1, "big": 2**60, "s": text, '"': "\\", "\\": ['"', "", "\\\\"]}
    path = tmp_path / "d"
    path.write_bytes(dump_text(value) if way == "values" else json.dumps(value).encode())
    load_document(node, path, way)
    ask(node, "prepare", codec="v8:node")
    assert changes(node, "v8:node") == {}
    same = handed_back(node, tmp_path, "v8:node") == value
    assert same  # without pytest's account of nine million characters


@pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_a_document_is_loaded_as_deep_as_without_a_name_of_digits(
    node: Worker, tmp_path: Path, left: str, right: str
) -> None:
    """Lists and objects; which codec goes as deep is the codec's."""
    path = tmp_path / "d.json"
    for inner in ("1", '{"2020": 1, "x": 1234567890123456789}'):
        path.write_text(left * 6000 + inner + right * 6000)
        assert load_document(node, path)["items"] == 1


def test_the_place_of_another_order_and_of_whole_numbers(node: Worker, tmp_path: Path) -> None:
    """Whatever stands around them; of a name that is there twice, the last value counts in the place of the first."""
    text = """ [ {"b" : [ ] , "\\u0031" : { } , "x":[[{"z":-0,"7":1E2}], -12345678901234567890 ,true,null], "b":false } ] """
    path = tmp_path / "d.json"
    path.write_text(text)
    load_document(node, path)
    ask(node, "prepare", codec="v8:node")
    found = ask(node, "verify", codec="v8:node", full=True)["changes"]
    assert {one["path"]: (one["in"], one["out"]) for one in found} == {
        "[*] (key order)": ("b, 1, x", "1, b, x"), "[*].x[*][*] (key order)": ("z, 7", "7, z"),
    }  # fmt: skip
    back = handed_back(node, tmp_path, "v8:node")
    assert back == [{"b": False, "1": {}, "x": [[{"z": 0, "7": 100}], -12345678901234567890, True, None]}]
    assert math.copysign(1, back[0]["x"][0][0]["z"]) == -1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"size": 10, "x": 1}, "Object of 2"), ({"length": 7}, "Object of 1"), ({"length": {"toString": None}}, "Object of 1"),
        ({"size": {"toString": None}, "x": 1}, "Object of 2"), ({"constructor": {"name": "Z"}}, "Object of 1"),
        ({"constructor": {"name": {"toString": None}}}, "Object of 1"), ([1, 2, 3], "Array of 3"),
        (b"abcd", "Buffer of 4"), ({1, 2}, "Set of 2"), ({1: 2}, "Map of 1"),
    ],
)  # fmt: skip
def test_a_document_is_shown_by_its_own_size(node: Worker, tmp_path: Path, value: Any, shown: str) -> None:
    """Whatever its names are called."""
    assert read(node, tmp_path, "json:node", value, "null") == {"(whole)": "lossy"}
    assert ask(node, "verify", codec="json:node")["changes"][0]["in"] == shown


@pytest.mark.parametrize("name", ["Long", "Binary"])
def test_a_document_that_says_a_type_of_bson_is_a_document(node: Worker, tmp_path: Path, name: str) -> None:
    """Objects of old dumps do; only the library's own are numbers and bytes."""
    load(node, tmp_path, {"_bsontype": name, "low": 1})
    ask(node, "prepare", codec="json:node")
    assert changes(node, "json:node") == {}
    assert handed_back(node, tmp_path, "json:node") == {"_bsontype": name, "low": 1}


# Of a table without rows apache-arrow reads no levels.
@pytest.mark.parametrize("name", [name for name, (one, *_) in LEVELS.items() if one[0]])
def test_levels_are_judged_as_python_judges_them(node: Worker, tmp_path: Path, name: str) -> None:
    """Of a table that came back as one, and of rows, which hold the cells alone."""
    one, other, verdict = LEVELS[name]
    encoded = tmp_path / "encoded"
    load_table(node, encoded, of_arrow(other))
    load_table(node, tmp_path / "t.arrow", of_arrow(one))
    ask(node, "prepare", codec="arrow:node-arrow", encoded=str(encoded))
    assert ask(node, "verify", codec="arrow:node-arrow", full=True)["verdict"] == verdict
    if one[1] is not None and other == (one[0], None, False):
        ask(node, "prepare", codec="json:node")
        found = ask(node, "verify", codec="json:node", full=True)
        assert found["verdict"] == verdict, found["changes"]
