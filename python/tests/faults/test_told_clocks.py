"""A worker whose clock is right when it is first looked at, and loses time afterwards, or in some operations only."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tare import measure
from tare.measure.conformance.checks import check_worker
from tare.measure.plan.plan import Plan

# Tare's own worker under another name. The argument says which operations lose time, from which process on, and how much.
_WORKER = """
import os, sys
from tare.measure.worker import operations
what, first, telling, counter = sys.argv[1].split(","), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
with open(counter, "ab") as file:
    file.write(b".")
number = os.path.getsize(counter)
run = operations.Ops.op_run
def op_run(self, request):
    reply = run(self, request | {"codec": "json:stdlib"})
    if number >= first and request["what"] in what:
        shorter = [i for i, name in enumerate(reply["cols"]) if name in ("wall_ns", "user_ns", "sys_ns")]
        reply["samples"] = [
            [max(1, int(cell * telling)) if i in shorter else cell for i, cell in enumerate(row)] for row in reply["samples"]
        ]
    return reply
operations.Ops.op_run = op_run
for name in ("op_prepare", "codec"):
    was = getattr(operations.Ops, name)
    setattr(operations.Ops, name, lambda self, request, was=was: was(self, request | {"codec": "json:stdlib"}))
hello = operations.Ops.op_hello
about = {"id": "json:node", "library": "node", "version": "1", "options": {}, "kinds": ["document"],
         "media": ["memory", "file"], "delivery": ["whole"], "threads": [1], "executes_code": False, "subset": []}
operations.Ops.op_hello = lambda self, request: hello(self, request) | {"codecs": [about]}
from tare.measure.worker.main import main
main()
"""


def command_of(folder: Path, what: str, first: int, telling: float) -> list[str]:
    path = folder / "worker.py"
    path.write_text(_WORKER)
    return [sys.executable, str(path), what, str(first), str(telling), str(folder / "count")]


def measured(folder: Path, what: str, first: int, telling: float, medium: str) -> dict[str, Any]:
    """The worker's case of a short run beside Python's own codec."""
    command = command_of(folder, what, first, telling)
    few = {"launches": 3, "rounds": 2}
    block = {"dataset": ["d"], "codec": ["json:node", "json:stdlib"], "medium": [medium]}
    plan = Plan.from_dict({"plan": 1, "name": "mine", "statistics": few, "block": [block]})
    document = [{"a": n, "text": f"number {n}"} for n in range(2000)]
    record = measure.run(document, plan=plan, time_s=0, workers={"node": shlex.join(command)}).record
    cases = {
        one["labels"]["codec"]: one
        for one in record["cases"]
        if one["labels"]["medium"] == medium and "twin" not in one["labels"]
    }
    assert cases["json:stdlib"]["status"] == "ok", cases["json:stdlib"]["reason"]
    return cases["json:node"]


# A machine that does something else moves the wait: half of the time told may then pass (`tare.measure.worker_client.clock_check`), so these
# tell less than half. What half a clock says on a quiet machine is simulated in test_told.
@pytest.mark.alone
@pytest.mark.parametrize(
    ("what", "first", "telling", "medium"),
    [
        ("encode,decode", 0, 0.4, "memory"),  # about what is seen before the first figure, of a long sample
        ("write,read", 0, 0.02, "file"),  # never in memory
        ("encode,decode", 3, 0.05, "memory"),  # the first processes are those that are looked at
    ],
)
def test_a_clock_that_loses_time_costs_its_case(
    tmp_path: Path, what: str, first: int, telling: float, medium: str
) -> None:
    case = measured(tmp_path, what, first, telling, medium)
    assert case["status"] == "error", case["launches"] and case["launches"][-1]["samples"]
    assert "the worker's clock is wrong: of " in case["reason"]
    assert " were told for " in case["reason"]


@pytest.mark.parametrize("medium", ["memory", "file"])
def test_a_clock_that_is_right_is_measured(tmp_path: Path, medium: str) -> None:
    case = measured(tmp_path, "encode,decode,read,write", 0, 1.0, medium)
    assert (case["status"], bool(case["launches"])) == ("ok", True), case["reason"]


@pytest.mark.parametrize("what", ["read", "nothing"])
def test_the_kit_times_each_operation(tmp_path: Path, what: str) -> None:
    (found,) = check_worker(command_of(tmp_path, what, 0, 0.2), only=("the wall clock",))
    assert found.status == ("ok" if what == "nothing" else "failed"), found.why
    assert found.why.startswith("" if what == "nothing" else f"{what}: ")
