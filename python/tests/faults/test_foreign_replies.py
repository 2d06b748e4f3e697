"""A worker of another language whose replies are not what `run` promises: it costs its own case, and says what is missing."""

from __future__ import annotations

import itertools
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tare import measure
from tare.errors import WorkerError
from tare.measure.derive import derive
from tare.measure.driver import Worker
from tare.measure.kit import check_worker
from tare.measure.seat import TARGET_NS

_WORKER = """
import json, sys
from tare.measure import ops
how, told = sys.argv[1], 0
run = ops.Ops.op_run
def op_run(self, request):
    global told
    reply = run(self, request | {"codec": "json:stdlib"})
    told += 1
    word, _, names = how.partition(" ")
    if word == "lacks" or word == "seldom" and told % 3 == 0 or word == "rows":
        gone = [name in names.split() for name in reply["cols"]]
        reply["samples"] = [
            [None if no and (word != "rows" or place % 2) else cell for no, cell in zip(gone, row)]
            for place, row in enumerate(reply["samples"])
        ]
    if request["what"] == "null":
        return reply
    if how == "slow first":
        reply["cols"], reply["samples"] = ["wall_ns"], [[5_000 * reply["batch"]]]
    wall = reply["cols"].index("wall_ns")
    if how == "no samples":
        del reply["samples"]
    elif how == "empty":
        reply["samples"] = []
    elif how == "no wall":
        reply["cols"] = ["x" + name for name in reply["cols"]]
    elif how == "short rows":
        reply["samples"] = [row[:-1] for row in reply["samples"]]
    elif how == "batch":
        reply["batch"] = 0
    elif how == "bytes":
        reply["bytes"] = "many"
    elif how == "items":
        reply["items"] = [1]
    elif how == "huge":
        reply["samples"] = [[1e300] * len(row) for row in reply["samples"]]
    elif how == "twice":
        reply["cols"] = ["wall_ns"] * len(reply["cols"])
    elif how == "no names":
        reply["cols"] = [{}] + reply["cols"][1:]
    elif how == "ours":
        reply["cols"] = ["round" if name == "gc_n" else name for name in reply["cols"]]
    elif how == "wall alone":
        reply["samples"] = [[row[wall]] for row in reply["samples"]]
        reply["cols"] = ["wall_ns"]
    return reply
ops.Ops.op_run = op_run
for name in ("op_prepare", "codec"):
    was = getattr(ops.Ops, name)
    setattr(ops.Ops, name, lambda self, request, was=was: was(self, request | {"codec": "json:stdlib"}))
if how == "slow first":
    prepare = ops.Ops.op_prepare
    cold = {"cold_encode_ns": 100_000_000, "cold_decode_ns": 100_000_000}
    ops.Ops.op_prepare = lambda self, request: prepare(self, request) | cold
hello = ops.Ops.op_hello
about = {"id": "json:node", "library": "node", "version": "1", "options": {}, "kinds": ["document"],
         "media": ["memory", "file", "tcp"], "delivery": ["whole", "buffered"], "threads": [1], "executes_code": False, "subset": []}
ops.Ops.op_hello = lambda self, request: hello(self, request) | {"codecs": [about]}
if how.startswith("{"):
    fault = json.loads(how)
    name = "op_" + fault["op"]
    sound = getattr(ops.Ops, name)
    def lie(self, request):
        reply = sound(self, request) | fault["with"]
        return {key: value for key, value in reply.items() if value != "left out"}
    setattr(ops.Ops, name, lie)
from tare.measure.worker import main
main()
"""
SAID = {
    "no samples": "gave no sample",
    "empty": "gave no sample",
    "no wall": "gave samples without wall_ns",
    "short rows": "no row of",
    "batch": "gave samples of 0 calls",
    "bytes": "bytes = 'many' is no count",
    "items": "items = [1] is no count",
    "huge": "is no number of a clock",
    "twice": "columns that are no names, or twice the same",
    "no names": "columns that are no names",
    "ours": "a column 'round'",
}

_LOST = {"path": "a", "verdict": "lossy", "count": 1, "in": "1", "out": "2"}
# Operation, what of its reply is wrong, and what is said of that.
FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("load", {"kind": 7}, "kind = 7 is none of document, table"),
    ("load", {"items": "left out"}, "lacks items"),
    ("prepare", {"bytes": "left out"}, "lacks bytes"),
    ("prepare", {"items": None}, "lacks items"),
    ("prepare", {"sha256": [1]}, "sha256 = [1] is no text"),
    ("verify", {"verdict": "left out"}, "lacks verdict"),
    ("verify", {"verdict": 5}, "verdict = 5 is none of same, type, lossy"),
    ("verify", {"verdict": ["lossy"]}, "verdict = ['lossy'] is none of"),
    ("verify", {"items_out": "left out"}, "lacks items_out"),
    ("verify", {"changes": "left out"}, "changes = None is no list"),
    ("verify", {"changes": 7}, "changes = 7 is no list"),
    ("verify", {"changes": [7]}, "a change that is no object: 7"),
    ("verify", {"changes": [{"path": "a"}]}, "lacks verdict"),
    ("verify", {"changes": [{**_LOST, "path": 3}]}, "path = 3 is no text"),
    ("verify", {"changes": [{**_LOST, "count": "many"}]}, "count = 'many' is no count"),
    ("verify", {"changes": [_LOST]}, "says same, and lists a change that is lossy"),
    ("verify", {"verdict": "type", "changes": [_LOST]}, "says type, and lists a change that is lossy"),
    ("mem", {"peak_bytes": "left out"}, "lacks peak_bytes"),
    ("mem", {"before_bytes": "b"}, "before_bytes = 'b' is no count"),
    ("mem", {"method": 5}, "method = 5 is no text"),
    ("probe", {"cells": "left out"}, "cells = None is no list of cells"),
    ("probe", {"cells": [7]}, "cells = [7] is no list of cells"),
    ("probe", {"cells": [{"status": "decoded"}]}, "lacks probe"),
    ("probe", {"cells": [{"probe": "int", "status": "great"}]}, "status = 'great' is none of"),
    ("encode_to", {"bytes": "left out"}, "lacks bytes"),
    ("decode_from", {"items": None}, "lacks items"),
    ("open", {"handle": "left out"}, "lacks handle"),
    ("open", {"handle": [1]}, "handle = [1] is no handle"),
    ("open", {"address": "left out"}, "lacks address"),
]


@pytest.mark.parametrize(("op", "wrong", "said"), FAULTS)
def test_a_reply_without_form_is_none(tmp_path: Path, op: str, wrong: dict[str, Any], said: str) -> None:
    data, encoded = tmp_path / "d.json", str(tmp_path / "encoded")
    data.write_text("[1, 2]")
    requests: dict[str, dict[str, Any]] = {
        "load": {"path": str(data), "as": "json", "kind": "document"},
        "prepare": {"codec": "json:node"},
        "verify": {},
        "mem": {"what": "encode"},
        "encode_to": {"path": encoded},
        "decode_from": {"path": encoded},
        "open": {"medium": {"kind": "tcp", "role": "reader", "token": "00" * 16}},
        "probe": {"codec": "json:stdlib", "set": "values/1", "only": ["null"]},
    }
    how = json.dumps({"op": op, "with": wrong})

    def ask_all(worker: Worker) -> None:
        for name, fields in requests.items():
            worker.request(name, deadline_s=30, **fields)

    with Worker("node", command(tmp_path, how)) as worker, pytest.raises(WorkerError) as caught:
        ask_all(worker)
    assert (caught.value.type, caught.value.phase) == ("protocol", "protocol")
    assert f"a reply to {op} that is none: {said}" in str(caught.value)


COSTLY = [one for one in FAULTS if one[0] in ("load", "prepare", "verify")]


@pytest.mark.parametrize(
    ("op", "wrong", "said"), [COSTLY[0], COSTLY[2], COSTLY[5], *COSTLY[10:12], COSTLY[15]]
)
def test_a_reply_without_form_costs_its_case(
    tmp_path: Path, op: str, wrong: dict[str, Any], said: str
) -> None:
    cases = measured(tmp_path, json.dumps({"op": op, "with": wrong}))
    assert cases["json:stdlib"]["status"] == "ok", cases["json:stdlib"]["reason"]
    assert cases["json:node"]["status"] == "error", cases["json:node"]
    assert said in cases["json:node"]["reason"]


def test_an_end_without_form_costs_its_case(tmp_path: Path) -> None:
    how = json.dumps({"op": "open", "with": {"handle": "left out"}})
    case = measured(tmp_path, how, medium="tcp")["json:node"]
    assert case["status"] == "error"
    assert "lacks handle" in case["reason"]


@pytest.mark.parametrize(
    "fault", [{"op": "probe", "with": {"cells": [7]}}, {"op": "mem", "with": {"method": 5}}]
)
def test_neither_peak_nor_probes_cost_the_case(tmp_path: Path, fault: dict[str, Any]) -> None:
    case = measured(tmp_path, json.dumps(fault))["json:node"]
    assert (case["status"], bool(case["launches"])) == ("ok", True), case["reason"]
    assert all(
        "a reply to mem that is none" in one["error"]
        for one in case["memory"].values()
        if fault["op"] == "mem"
    )


def measured(folder: Path, how: str, medium: str = "memory", **options: Any) -> dict[str, dict[str, Any]]:
    """A short run of the worker beside a codec of Python: its cases by codec."""
    return cases_of(run(folder, how, medium, **options), medium)


def run(folder: Path, how: str, medium: str, **options: Any) -> dict[str, Any]:
    """The record of a short run."""
    return measure.run(
        [{"a": n} for n in range(200)],
        codecs=("json:node", "json:stdlib"),
        media=(medium,),
        time_s=0
        if medium == "tcp"
        else 3,  # two processes a case: a slow machine reaches none in three seconds
        quick=True,
        workers={"node": shlex.join(command(folder, how))},
        **options,
    ).record


def cases_of(record: dict[str, Any], medium: str) -> dict[str, dict[str, Any]]:
    """Its cases by codec."""
    return {
        one["labels"]["codec"]: one
        for one in record["cases"]
        if one["labels"]["medium"] == medium and "twin" not in one["labels"]
    }


def command(folder: Path, how: str) -> list[str]:
    path = folder / "worker.py"
    path.write_text(_WORKER)
    return [sys.executable, str(path), how]


@pytest.mark.parametrize("medium", ["memory", "tcp"])
@pytest.mark.parametrize("how", [*SAID, "wall alone"])
def test_a_reply_that_is_none_costs_its_case(tmp_path: Path, how: str, medium: str) -> None:
    cases = measured(tmp_path, how, medium)
    case, other = cases["json:node"], cases["json:stdlib"]
    assert other["status"] == "ok", other["reason"]
    if how == "wall alone" and medium == "memory":
        assert (case["status"], bool(case["launches"])) == ("ok", True), case["reason"]
    elif how == "wall alone":
        assert "gave no start_ns" in case["reason"] or "gave no first_value_ns" in case["reason"]
    else:
        assert case["status"] == "error"
        assert SAID[how] in case["reason"]


CPU = "user_ns sys_ns nivcsw nvcsw"
EVERY = f"{CPU} minflt majflt gc_ns gc_n drop_ns first_byte_ns last_byte_ns"


@pytest.mark.parametrize(
    ("names", "medium"),
    [
        (CPU, "memory"),
        (CPU, "file"),
        (CPU, "tcp"),
        (EVERY, "memory"),
        (EVERY, "tcp"),
        ("sys_ns", "memory"),
        ("sys_ns", "tcp"),
        ("user_ns", "memory"),
    ],
)
def test_a_clock_without_a_number_is_one_that_is_absent(tmp_path: Path, names: str, medium: str) -> None:
    """The case has its figures, of the wall clock where CPU time is not told, and the record no column of it."""
    record = run(tmp_path, f"lacks {names}", medium)
    case = cases_of(record, medium)["json:node"]
    assert (case["status"], bool(case["launches"])) == ("ok", True), case["reason"]
    known = "user_ns" not in names
    for launch in case["launches"]:
        for operation, columns in launch["samples"].items():
            assert columns.keys().isdisjoint(names.split()), operation
            assert len({len(column) for column in columns.values()}) == 1
            assert ("user_ns" in columns) == known
    for operation, told in derive(record)["cases"][case["key"]]["ops"].items():
        assert told["t_ns"] > 0, operation
        assert (told["cpu_ns"] is not None) == known, operation


@pytest.mark.parametrize("medium", ["memory", "tcp"])
@pytest.mark.parametrize(("how", "names"), [("seldom", CPU), ("seldom", "sys_ns"), ("rows", "drop_ns")])
def test_a_clock_without_a_number_now_and_then_costs_its_case(
    tmp_path: Path, how: str, names: str, medium: str
) -> None:
    """Some samples would have CPU time, and others none, or a part of it."""
    cases = measured(tmp_path, f"{how} {names}", medium)
    assert cases["json:stdlib"]["status"] == "ok", cases["json:stdlib"]["reason"]
    case = cases["json:node"]
    assert case["status"] == "error", case["launches"]
    assert any(f"{name} in some samples only" in case["reason"] for name in names.split()), case["reason"]


@pytest.mark.parametrize("medium", ["memory", "file", "tcp"])
def test_wall_time_without_a_number_costs_its_case(tmp_path: Path, medium: str) -> None:
    cases = measured(tmp_path, "lacks wall_ns", medium)
    assert cases["json:stdlib"]["status"] == "ok", cases["json:stdlib"]["reason"]
    assert cases["json:node"]["status"] == "error"
    assert "gave samples without wall_ns" in cases["json:node"]["reason"]


@pytest.mark.parametrize("name", ["start_ns", "first_value_ns", "last_value_ns"])
def test_a_stamp_without_a_number_costs_its_case(tmp_path: Path, name: str) -> None:
    """The span is of these: without them there is nothing to rank."""
    cases = measured(tmp_path, f"lacks {name}", "tcp")
    assert cases["json:stdlib"]["status"] == "ok", cases["json:stdlib"]["reason"]
    assert cases["json:node"]["status"] == "error"
    assert f"gave no {name}" in cases["json:node"]["reason"]


def test_a_text_that_no_record_holds_costs_nothing_else(tmp_path: Path) -> None:
    """A worker may quote what it was given, half a pair of surrogates too: it is told, and the record is written."""
    lost = {**_LOST, "path": "v", "in": "a\ud800b"}
    how = json.dumps({"op": "verify", "with": {"verdict": "lossy", "changes": [lost]}})
    out = tmp_path / "out.tare.json"
    cases = measured(tmp_path, how, out=out)
    assert cases["json:stdlib"]["status"] == "ok", cases["json:stdlib"]["reason"]
    (change,) = cases["json:node"]["verify"]["changes"]
    assert change["in"] == "a\\ud800b"
    assert out.exists()


def test_a_slow_first_call_does_not_make_samples_of_one_call(tmp_path: Path) -> None:
    """A first call of 100 ms that loaded classes, later ones of 5 us: a sample is as long as the target all the same.

    How much longer is the machine's: the worker finds its batch by how long a call takes, and tells 5 us of each.
    """
    record = measure.run(
        [1, 2, 3],
        codecs=("json:node", "json:stdlib"),
        media=("memory",),
        time_s=6,
        quick=True,
        workers={"node": shlex.join(command(tmp_path, "slow first"))},
    ).record
    case = next(one for one in record["cases"] if one["labels"]["codec"] == "json:node")
    assert case["launches"], case["reason"]
    walls = [
        wall
        for launch in case["launches"]
        for columns in launch["samples"].values()
        for wall in columns["wall_ns"]
    ]
    assert min(walls) >= TARGET_NS / 2, sorted(walls)


@pytest.mark.parametrize("how", ["no samples", "empty", "no wall"])
def test_the_kit_tells_it_and_goes_on(tmp_path: Path, how: str) -> None:
    found = list(check_worker(command(tmp_path, how)))
    failed = [one for one in found if one.status == "failed"]
    assert failed
    assert found[-1].status in ("ok", "failed", "not offered")
    assert json.dumps([one.why for one in failed])


_SOUND = {"id": "json:x", "library": "x", "version": "1", "kinds": ["document"], "media": ["memory"],
          "delivery": ["whole"], "threads": [1], "executes_code": False}  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"codecs": None}, "codecs = None is no list"),
        ({"codecs": [7]}, "a codec that is no object: 7"),
        ({}, ""),
        ({"codecs": [{"library": "x", "kinds": ["document"]}]}, "codec '' lacks delivery, executes_code, id"),
        ({"codecs": [{**_SOUND, "kinds": 7}]}, "codec 'json:x': kinds = 7 is no list"),
        ({"codecs": [{**_SOUND, "id": [1]}]}, "id = [1] is no text"),
        ({"clocks": 7}, "clocks = 7 is no list"),
        ({"gc": "left out"}, "hello lacks gc"),
        ({"version": {}}, "version = {} is no text"),
    ],
)
def test_a_wrong_hello_is_a_failed_check(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    how = json.dumps({"op": "hello", "with": wrong})
    first = next(check_worker(command(tmp_path, how)))
    assert (first.name, first.status) == (("hello", "failed") if said else ("hello", "ok"))
    assert said in first.why


def test_a_sound_codec_beside_a_wrong_one_is_checked(tmp_path: Path) -> None:
    """The list is wrong, and the other checks go on with what is right in it."""
    how = json.dumps({"op": "hello", "with": {"codecs": [None, {**_SOUND, "id": "json:node"}]}})
    found = itertools.islice(check_worker(command(tmp_path, how)), 2)
    assert [(one.name, one.status) for one in found] == [("hello", "failed"), ("errors are replies", "ok")]
