"""A worker of another language whose replies are not what `run` promises: it costs its own case, and says what is missing."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tare import measure
from tare.measure.kit import check_worker

_WORKER = """
import json, sys
from tare.measure import ops
how = sys.argv[1]
run = ops.Ops.op_run
def op_run(self, request):
    reply = run(self, request | {"codec": "json:stdlib"})
    if request["what"] == "null":
        return reply
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
    elif how == "wall alone":
        reply["samples"] = [[row[wall]] for row in reply["samples"]]
        reply["cols"] = ["wall_ns"]
    return reply
ops.Ops.op_run = op_run
for name in ("op_prepare", "codec"):
    was = getattr(ops.Ops, name)
    setattr(ops.Ops, name, lambda self, request, was=was: was(self, request | {"codec": "json:stdlib"}))
hello = ops.Ops.op_hello
about = {"id": "json:node", "library": "node", "version": "1", "options": {}, "kinds": ["document"],
         "media": ["memory", "tcp"], "delivery": ["whole", "buffered"], "threads": [1], "executes_code": False, "subset": []}
ops.Ops.op_hello = lambda self, request: hello(self, request) | {"codecs": [about]}
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
}


def command(folder: Path, how: str) -> list[str]:
    path = folder / "worker.py"
    path.write_text(_WORKER)
    return [sys.executable, str(path), how]


@pytest.mark.parametrize("medium", ["memory", "tcp"])
@pytest.mark.parametrize("how", [*SAID, "wall alone"])
def test_a_reply_that_is_none_costs_its_case(tmp_path: Path, how: str, medium: str) -> None:
    record = measure.run(
        [{"a": n} for n in range(200)],
        codecs=("json:node", "json:stdlib"),
        media=(medium,),
        time_s=6,
        quick=True,
        workers={"node": shlex.join(command(tmp_path, how))},
    ).record
    cases = {
        one["labels"]["codec"]: one
        for one in record["cases"]
        if one["labels"]["medium"] == medium and "twin" not in one["labels"]
    }
    case, other = cases["json:node"], cases["json:stdlib"]
    assert other["status"] == "ok", other["reason"]
    if how == "wall alone" and medium == "memory":
        assert (case["status"], bool(case["launches"])) == ("ok", True), case["reason"]
    elif how == "wall alone":
        assert "gave no start_ns" in case["reason"] or "gave no first_value_ns" in case["reason"]
    else:
        assert case["status"] == "error"
        assert SAID[how] in case["reason"]


@pytest.mark.parametrize("how", ["no samples", "empty", "no wall"])
def test_the_kit_tells_it_and_goes_on(tmp_path: Path, how: str) -> None:
    found = list(check_worker(command(tmp_path, how)))
    failed = [one for one in found if one.status == "failed"]
    assert failed
    assert found[-1].status in ("ok", "failed", "not offered")
    assert json.dumps([one.why for one in failed])
