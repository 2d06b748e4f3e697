"""A worker of another language whose replies are not what `run` promises: it costs its own case, and says what is missing."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tare import measure
from tare.errors import WorkerError
from tare.measure.conformance.checks import check_worker
from tare.measure.derive import derive
from tare.measure.plan.plan import Plan
from tare.measure.sampling.case_runner import TARGET_NS
from tare.measure.worker_client.client import Worker
from tare.measure.worker_client.replies import hold_form
from tare.measure.worker_client.samples import believable, readings

_WORKER = """
import json, sys
from tare.measure.worker import operations
ways, now, told = json.loads(sys.argv[1]), "", 0
run = operations.Ops.op_run
def op_run(self, request):
    global told
    reply = run(self, request | {"codec": "json:stdlib"})
    told += 1
    how = now if isinstance(now, str) else ""
    word, _, names = how.partition(" ")
    if word == "lacks" or word == "seldom" and told % 3 == 0 or word == "rows":
        gone = [name in names.split() for name in reply["cols"]]
        reply["samples"] = [
            [None if no and (word != "rows" or place % 2) else cell for no, cell in zip(gone, row)]
            for place, row in enumerate(reply["samples"])
        ]
    if request["what"] == "null":
        return reply
    wall = reply["cols"].index("wall_ns")
    if how == "slow first":
        reply["cols"], reply["samples"] = ["wall_ns"], [[5_000 * reply["batch"]]]
    elif how == "no samples":
        del reply["samples"]
    elif how == "short rows":
        reply["samples"] = [row[:-1] for row in reply["samples"]]
    elif how == "wall alone":
        reply["samples"] = [[row[wall]] for row in reply["samples"]]
        reply["cols"] = ["wall_ns"]
    return reply
operations.Ops.op_run = op_run
def lying(name, sound):
    def lie(self, request):
        global now
        now = ways.get(request.get("codec"), now)
        if name in ("prepare", "codec"):
            request = request | {"codec": "json:stdlib"}
        reply = sound(self, request)
        fault = now if isinstance(now, dict) else ways.get("*", {})
        if fault.get("op") == name:
            reply = {key: value for key, value in (reply | fault["with"]).items() if value != "left out"}
        if name == "prepare" and now == "slow first":
            reply |= {"cold_encode_ns": 100_000_000, "cold_decode_ns": 100_000_000}
        return reply
    return lie
hello = operations.Ops.op_hello
about = {"library": "node", "version": "1", "options": {}, "kinds": ["document"],
         "media": ["memory", "file", "tcp"], "delivery": ["whole", "buffered"], "threads": [1], "executes_code": False, "subset": []}
def op_hello(self, request):
    return hello(self, request) | {"codecs": [about | {"id": name} for name in ways if name != "*"]}
operations.Ops.op_hello = op_hello
for name in ("hello", "load", "prepare", "codec", "verify", "mem", "probe", "encode_to", "decode_from", "open"):
    attribute = name if name == "codec" else "op_" + name
    setattr(operations.Ops, attribute, lying(name, getattr(operations.Ops, attribute)))
from tare.measure.worker.main import main
main()
"""
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


def requests_on(folder: Path) -> dict[str, dict[str, Any]]:
    """Requests of each operation that has a form, in an order in which a worker can do them."""
    data, encoded = folder / "d.json", str(folder / "encoded")
    data.write_text("[1, 2]")
    return {
        "load": {"path": str(data), "as": "json", "kind": "document"},
        "prepare": {"codec": "json:stdlib"},
        "verify": {},
        "mem": {"what": "encode"},
        "encode_to": {"path": encoded},
        "decode_from": {"path": encoded},
        "open": {"medium": {"kind": "tcp", "role": "reader", "token": "00" * 16}},
        "probe": {"codec": "json:stdlib", "set": "values/1", "only": ["null"]},
    }


def test_a_reply_without_form_is_none(tmp_path: Path) -> None:
    """Each reply of a sound worker, with one thing wrong."""
    requests = requests_on(tmp_path)
    with Worker() as worker:
        sound = {op: worker.request(op, deadline_s=60, **fields) for op, fields in requests.items()}
    for op, wrong, said in FAULTS:
        reply = {key: value for key, value in (sound[op] | wrong).items() if value != "left out"}
        with pytest.raises(ValueError, match=re.escape(said)):
            hold_form({"op": op, **requests[op]}, readings(reply))


def test_a_worker_whose_reply_has_no_form_is_given_up(tmp_path: Path) -> None:
    fields = requests_on(tmp_path)["load"]
    ways = {"*": {"op": "load", "with": {"kind": 7}}, "json:node": ""}
    with Worker("node", command(tmp_path, ways)) as worker, pytest.raises(WorkerError) as caught:
        worker.request("load", deadline_s=60, **fields)
    assert (caught.value.type, caught.value.phase) == ("protocol", "protocol")
    assert "a reply to load that is none: kind = 7 is none of document, table" in str(caught.value)
    assert not worker.alive


# Replies of `run` that are wrong in one thing, and what is said of it.
_RUN: dict[str, Any] = {
    "cols": ["wall_ns", "gc_n"],
    "samples": [[9, 0], [8, 1]],
    "batch": 1,
    "bytes": 3,
    "items": 2,
}
RUNS: list[tuple[dict[str, Any], str]] = [
    ({"samples": None}, "gave no sample"),
    ({"samples": []}, "gave no sample"),
    ({"cols": ["xwall_ns", "gc_n"]}, "gave samples without wall_ns"),
    ({"samples": [[None, 0], [None, 1]]}, "gave samples without wall_ns"),
    ({"samples": [[9], [8]]}, "no row of"),
    ({"batch": 0}, "gave samples of 0 calls"),
    ({"bytes": "many"}, "bytes = 'many' is no count"),
    ({"items": [1]}, "items = [1] is no count"),
    ({"samples": [[1e300, 0], [8, 1]]}, "is no number of a clock"),
    ({"cols": ["wall_ns", "wall_ns"]}, "columns that are no names, or twice the same"),
    ({"cols": [{}, "gc_n"]}, "columns that are no names"),
    ({"cols": ["wall_ns", "round"]}, "a column 'round'"),
    ({"samples": [[9, 0], [8, None]]}, "gc_n in some samples only"),
]


@pytest.mark.parametrize(("wrong", "said"), RUNS)
def test_samples_without_form_are_none(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, WorkerError), match=re.escape(said)):
        believable(readings(_RUN | wrong), "node")
    believable(readings(_RUN), "node")


CPU = "user_ns sys_ns nivcsw nvcsw"
EVERY = f"{CPU} minflt majflt gc_ns gc_n drop_ns first_byte_ns last_byte_ns"
LACKS = {
    "json:node-no-cpu": f"lacks {CPU}",
    "json:node-no-clock": f"lacks {EVERY}",
    "json:node-no-sys": "lacks sys_ns",
}
QUOTED = {**_LOST, "path": "v", "in": "a\ud800b"}
# Codecs of one worker: what is wrong with the replies of each, and what is said of it.
WRONG: dict[str, tuple[Any, str]] = {
    "json:node-prepare": ({"op": "prepare", "with": {"bytes": "left out"}}, "lacks bytes"),
    "json:node-verify": ({"op": "verify", "with": {"verdict": "left out"}}, "lacks verdict"),
    "json:node-no-samples": ("no samples", "gave no sample"),
    "json:node-short": ("short rows", "no row of"),
    "json:node-seldom": ("seldom sys_ns", "sys_ns in some samples only"),
}
WAYS = {
    **{codec: how for codec, (how, _) in WRONG.items()},
    **LACKS,
    "json:node-wall": "wall alone",
    "json:node-mem": {"op": "mem", "with": {"method": 5}},
    "json:node-probe": {"op": "probe", "with": {"cells": [7]}},
    "json:node-quotes": {"op": "verify", "with": {"verdict": "lossy", "changes": [QUOTED]}},
}
STREAMS = {
    "json:node-short": ("short rows", "no row of"),
    "json:node-wall": ("wall alone", "gave no "),
    "json:node-start": ("lacks start_ns", "gave no start_ns"),
    "json:node-last": ("lacks last_value_ns", "gave no last_value_ns"),
    "json:node-open": ({"op": "open", "with": {"handle": "left out"}}, "lacks handle"),
}
DOCUMENT = [{"a": n} for n in range(200)]
one_run = pytest.mark.xdist_group("one run of wrong replies")


def measured(
    folder: Path, ways: dict[str, Any], medium: str, document: Any = DOCUMENT, **options: Any
) -> dict[str, Any]:
    """The record of a short run of the worker beside a codec of Python."""
    few = {"launches": 1, "rounds": 3}
    block = {"dataset": ["d"], "codec": ["json:stdlib", *ways], "medium": [medium]}
    plan = Plan.from_dict({"plan": 1, "name": "mine", "statistics": few, "block": [block]})
    workers = {"node": shlex.join(command(folder, ways))}
    return measure.run(document, plan=plan, time_s=0, workers=workers, **options).record


def cases_of(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Its cases by codec."""
    return {one["labels"]["codec"]: one for one in record["cases"] if "twin" not in one["labels"]}


def command(folder: Path, ways: dict[str, Any]) -> list[str]:
    path = folder / "worker.py"
    path.write_text(_WORKER)
    return [sys.executable, str(path), json.dumps(ways)]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run in memory of all codecs whose replies are wrong, saved and loaded."""
    folder = tmp_path_factory.mktemp("wrong")
    measured(folder, WAYS, "memory", out=folder / "out.tare.json")
    return json.loads((folder / "out.tare.json").read_text())


@one_run
def test_a_reply_without_form_costs_its_case(record: dict[str, Any]) -> None:
    """And nothing else: the codec of Python is measured."""
    cases = cases_of(record)
    assert cases["json:stdlib"]["status"] == "ok", cases["json:stdlib"]["reason"]
    for codec, (_, said) in WRONG.items():
        assert cases[codec]["status"] == "error", (codec, cases[codec]["launches"])
        assert said in cases[codec]["reason"], codec


@one_run
@pytest.mark.parametrize("codec", LACKS)
def test_a_clock_without_a_number_is_one_that_is_absent(record: dict[str, Any], codec: str) -> None:
    """The case has its figures, of the wall clock where CPU time is not told, and the record no column of it."""
    case = cases_of(record)[codec]
    assert (case["status"], bool(case["launches"])) == ("ok", True), case["reason"]
    names = LACKS[codec].split()[1:]
    known = "user_ns" not in names
    for launch in case["launches"]:
        for operation, columns in launch["samples"].items():
            assert columns.keys().isdisjoint(names), operation
            assert len({len(column) for column in columns.values()}) == 1
            assert ("user_ns" in columns) == known
    for operation, told in derive(record)["cases"][case["key"]]["ops"].items():
        assert told["t_ns"] > 0, operation
        assert (told["cpu_ns"] is not None) == known, operation


@one_run
def test_what_is_no_figure_costs_no_case(record: dict[str, Any]) -> None:
    """The wall clock alone is enough; peaks and probes that are wrong are missing; a quoted lone surrogate is text."""
    cases = cases_of(record)
    for codec in ("json:node-wall", "json:node-mem", "json:node-probe"):
        assert (cases[codec]["status"], bool(cases[codec]["launches"])) == ("ok", True), cases[codec][
            "reason"
        ]
    assert all(
        "a reply to mem that is none" in one["error"] for one in cases["json:node-mem"]["memory"].values()
    )
    (change,) = cases["json:node-quotes"]["verify"]["changes"]
    assert change["in"] == "a\\ud800b"


def test_a_slow_first_call_does_not_make_samples_of_one_call(tmp_path: Path) -> None:
    """A first call of 100 ms that loaded classes, later ones of 5 us: a sample is as long as the target all the same.

    How much longer is the machine's: the worker finds its batch by how long a call takes, and tells 5 us of each.
    """
    record = measured(tmp_path, {"json:node-slow": "slow first"}, "memory", [1, 2, 3])
    case = cases_of(record)["json:node-slow"]
    assert case["launches"], case["reason"]
    walls = [
        wall
        for launch in case["launches"]
        for columns in launch["samples"].values()
        for wall in columns["wall_ns"]
    ]
    assert min(walls) >= TARGET_NS / 2, sorted(walls)


def test_a_transfer_without_form_costs_its_case(tmp_path: Path) -> None:
    """The span is of the stamps of both ends: without them there is nothing to rank; clocks may be lacking."""
    ways = {codec: how for codec, (how, _) in STREAMS.items()} | {"json:node-no-clock": f"lacks {EVERY}"}
    cases = cases_of(measured(tmp_path, ways, "tcp"))
    for codec in ("json:stdlib", "json:node-no-clock"):
        assert (cases[codec]["status"], bool(cases[codec]["launches"])) == ("ok", True), cases[codec][
            "reason"
        ]
    for codec, (_, said) in STREAMS.items():
        assert cases[codec]["status"] == "error", codec
        assert said in cases[codec]["reason"], codec


def test_the_kit_tells_it_and_goes_on(tmp_path: Path) -> None:
    found = check_worker(command(tmp_path, {"json:node": "no samples"}))
    failed = next(one for one in found if one.status == "failed")
    assert json.dumps(failed.why)
    assert next(found).status in ("ok", "failed", "not offered")


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
    ways = {"*": {"op": "hello", "with": wrong}, "json:node": ""}
    first = next(check_worker(command(tmp_path, ways)))
    assert (first.name, first.status) == (("hello", "failed") if said else ("hello", "ok"))
    assert said in first.why


def test_a_sound_codec_beside_a_wrong_one_is_checked(tmp_path: Path) -> None:
    """The list is wrong, and the other checks go on with what is right in it."""
    fault = {"op": "hello", "with": {"codecs": [None, {**_SOUND, "id": "json:node"}]}}
    found = itertools.islice(check_worker(command(tmp_path, {"*": fault, "json:node": ""})), 2)
    assert [(one.name, one.status) for one in found] == [("hello", "failed"), ("errors are replies", "ok")]
