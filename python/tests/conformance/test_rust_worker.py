"""Rust's worker beyond the protocol: what each library keeps of each probe, and what it does not measure."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_codec, need_language
from support.shared_workers import shared_worker

from tare.errors import WorkerError
from tare.measure.exchange.documents import exchange
from tare.measure.fidelity import probe_values, run_probes
from tare.tagged import dump_text

LOSES_FLOATS = dict.fromkeys(("float_nan", "float_nan_payload", "float_inf", "float_minus_inf"), "lossy")
JSON = LOSES_FLOATS | {"float32": "type", "bytes": "type", "key_int": "type", "key_mixed": "lossy"}
NO_KEYS = {"key_int": "refused", "key_mixed": "refused"}

# What comes back of the probes that Doc holds: those that are not the same. The libraries decide, not we.
KEPT: dict[str, dict[str, str]] = {
    "json:rust-serdejson": JSON | {"depth_200": "refused", "depth_2000": "refused"},
    "json:rust-simdjson": JSON,
    "json:rust-sonic": JSON | {"float_minus_zero": "lossy", "depth_2000": "refused"},
    "msgpack:rust-rmp": {"depth_2000": "refused"},
    "cbor:rust-ciborium": {"float32": "type", "depth_2000": "refused"},
    "bson:rust-bson": NO_KEYS | {"uint64_max": "refused", "float32": "type"},
    "flexbuffers:rust-flexbuffers": NO_KEYS
    | dict.fromkeys(("float_one", "float_minus_zero", "float_inf", "float_minus_inf"), "type")
    | {"key_order": "lossy", "key_duplicate": "refused"},
    "postcard:rust-postcard": {},
    "bitcode:rust-bitcode": {},
    "rkyv:rust-rkyv": {},
}
NOT_HELD = {
    "int_2_200",
    "decimal_1_10",
    "decimal_40",
    "text_surrogate",
    "date",
    "tuple",
    "set",
    "uuid",
    "duration",
}


@pytest.fixture(scope="module")
def hello() -> dict[str, Any]:
    need_language("rust")
    with shared_worker("rust") as worker:
        return worker.hello


def test_a_shorter_float_of_the_same_value_is_another_type(hello: dict[str, Any], tmp_path: Path) -> None:
    """Flexbuffers holds 0.5 in four bytes, and whoever reads it as a double has it."""
    del hello
    path = tmp_path / "d.json"
    path.write_text('{"a": [1.5, 0.1], "b": {"x": 0.5}}')
    with shared_worker("rust") as worker:
        worker.request("load", deadline_s=60, path=str(path), kind="document", **{"as": "json"})
        worker.request("prepare", deadline_s=60, codec="flexbuffers:rust-flexbuffers")
        found = worker.request(
            "verify", deadline_s=60, codec="flexbuffers:rust-flexbuffers", full=True, limit=9
        )
    assert {one["verdict"] for one in found["changes"]} == {"type"}, found


def test_a_loss_behind_many_changes_of_type_is_told(hello: dict[str, Any], tmp_path: Path) -> None:
    del hello
    path = tmp_path / "d.values"
    path.write_bytes(dump_text({**{f"b{n}": b"x" for n in range(1100)}, "z": math.nan}))
    with shared_worker("rust") as worker:
        worker.request("load", deadline_s=60, path=str(path), kind="document", **{"as": "values"})
        worker.request("prepare", deadline_s=60, codec="json:rust-serdejson")
        found = worker.request("verify", deadline_s=60, codec="json:rust-serdejson", full=True, limit=2000)
    assert found["verdict"] == "lossy"
    assert [one["path"] for one in found["changes"] if one["verdict"] == "lossy"] == ["z"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({1: "x"}, "(whole) (keys)"),
        ({"m": {1: "x"}}, "m (keys)"),
        ({"m": {"o": [{1: "x"}]}}, "m.o[*] (keys)"),
        (math.nan, "(whole)"),
        ({".n": math.nan}, ".n"),
    ],
)
def test_a_change_names_its_place(hello: dict[str, Any], tmp_path: Path, value: Any, told: str) -> None:
    """As other workers do: no dot before the first name, and the whole is called so."""
    del hello
    path = tmp_path / "d.values"
    path.write_bytes(dump_text(value))
    with shared_worker("rust") as worker:
        worker.request("load", deadline_s=60, path=str(path), kind="document", **{"as": "values"})
        worker.request("prepare", deadline_s=60, codec="json:rust-serdejson")
        found = worker.request("verify", deadline_s=60, codec="json:rust-serdejson", full=True, limit=9)
    assert [one["path"] for one in found["changes"]] == [told]


@pytest.fixture(scope="module", params=KEPT)
def judged(request: pytest.FixtureRequest, hello: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The verdicts on all probes of one codec; one that ends the process costs itself only."""
    assert hello["worker"] == "rust"

    def ask(names: list[str]) -> list[dict[str, Any]]:
        with shared_worker("rust") as worker:
            return worker.request("probe", deadline_s=60, codec=request.param, set="values/1", only=names)[
                "cells"
            ]

    cells = run_probes.gather(ask, probe_values.names("values/1"))
    return request.param, {cell["probe"]: run_probes.judge(cell["probe"], cell) for cell in cells}


def test_what_comes_back_of_each_probe(judged: tuple[str, dict[str, str]]) -> None:
    """As the table says; and what a document of Rust does not hold is called so, not lost."""
    codec, verdicts = judged
    assert {name: said for name, said in verdicts.items() if said not in ("same", "n/a")} == KEPT[codec]
    assert {verdicts[name] for name in NOT_HELD} == {"n/a"}
    assert verdicts["float_sum"] == verdicts["text_emoji"] == verdicts["int_2_53_plus_1"] == "same"


def test_every_codec_is_in_the_table_with_the_version_it_was_built_with(
    hello: dict[str, Any], root: Path
) -> None:
    """Versions are those of the lock file."""
    assert [one["id"] for one in hello["codecs"]] == [*KEPT, "none:rust"]
    lock = (root / "workers" / "rust" / "Cargo.lock").read_text()
    locked = dict(re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"', lock))
    assert {one["library"]: one["version"] for one in hello["codecs"]} == {
        one["library"]: locked[one["library"]] for one in hello["codecs"]
    }


def test_the_probes_it_was_built_with_are_those_of_the_package(judged: tuple[str, dict[str, str]]) -> None:
    """None left out."""
    assert set(judged[1]) == set(probe_values.names("values/1"))


@pytest.mark.parametrize(
    ("op", "fields"),
    [
        ("load", {"path": "x", "as": "json", "kind": "table"}),
        ("load", {"path": "data.json", "as": "arrow"}),
        ("prepare", {"codec": "json:rust-sonic", "grain": "each"}),
        ("prepare", {"codec": "json:rust-sonic", "order": "lexical"}),
        ("run", {"what": "subset"}),
        ("run", {"what": "decode", "materialise": "touch"}),
        ("run", {"what": "send", "handle": 1, "delivery": "streaming"}),
    ],
)
def test_what_it_does_not_measure_is_said(
    hello: dict[str, Any], tmp_path: Path, op: str, fields: dict[str, Any]
) -> None:
    """Never measured as something else, and the worker lives on."""
    path = tmp_path / "data.json"
    path.write_text(json.dumps([{"a": 1}]))
    with shared_worker("rust") as worker:
        worker.request("load", path=str(path), deadline_s=60, **{"as": "json"})
        worker.request("prepare", codec="json:rust-serdejson", deadline_s=60)
        with pytest.raises(WorkerError) as caught:
            worker.request(
                op, deadline_s=60, **({**fields, "path": str(path)} if "path" in fields else fields)
            )
        assert caught.value.type == "Unsupported"
        assert worker.request("run", what="null", batch=1, deadline_s=60)["samples"]


@pytest.mark.parametrize(
    ("format", "codecs"),
    [
        ("json", ["json:stdlib", "json:rust-serdejson", "json:rust-simdjson", "json:rust-sonic"]),
        ("msgpack", ["msgpack:msgspec", "msgpack:rust-rmp"]),
        ("cbor", ["cbor:cbor2", "cbor:rust-ciborium"]),
    ],
)
def test_python_and_rust_read_each_other(hello: dict[str, Any], format: str, codecs: list[str]) -> None:
    """Plain values, and a document, in every direction."""
    need_codec(codecs[0])
    names = [
        "int_2_53_plus_1",
        "uint64_max",
        "float_sum",
        "text_nul",
        "text_emoji",
        "key_order",
        "list_or_null",
    ]
    document = [{"id": n, "x": n / 7, "t": "\u00e9", "none": None} for n in range(50)]
    block = exchange(format, codecs, only=names, own=document, has_own=True)
    for writer in codecs:
        for reader in codecs:
            assert block["pairs"][writer][reader]["counts"] == {"same": len(names) + 1}, (writer, reader)
