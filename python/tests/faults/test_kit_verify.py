"""A worker whose `verify` takes for equal what is not is told so by the conformance kit, whatever it overlooks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tare.measure.conformance.checks import check_worker

# Tare's own worker, whose comparison sees both values through glasses that make some alike.
_WORKER = """
import sys
from tare.measure.fidelity import run_probes
how = sys.argv[1]
true = run_probes.compare
def seen(value):
    if isinstance(value, dict):
        pairs = [(name, seen(one)) for name, one in value.items()]
        return dict(sorted(pairs) if how == "order" else pairs)
    if isinstance(value, list):
        return [seen(one) for one in value]
    if how == "true" and isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        if how == "15 digits":
            return float(f"{value:.15g}")
        if how == "whole" and value == int(value) and str(value) != "-0.0":
            return int(value)
    if how == "doubles" and type(value) is int and abs(value) > 2**53:
        return int(float(value))
    return value
def compare(a, b, **more):
    if how == "equal":
        return true(a, a if a == b else b, **more)
    return true(seen(a), seen(b), **more)
run_probes.compare = compare
from tare.errors import Unsupported
from tare.measure.worker import operations
load = operations.Ops.op_load
def op_load(self, request):
    with open(request["path"]) as file:
        large = str(2**53 + 1) in file.read()
    if large and how == "refuses":
        raise Unsupported("no such numbers")
    if large and how == "dies":
        import os
        os._exit(3)
    return load(self, request)
operations.Ops.op_load = op_load
from tare.measure.worker.main import main
main()
"""


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("nothing", ""),
        ("15 digits", "the last bit: 0.30000000000000004 was loaded, 0.3 came back: verdict same"),
        ("true", "true: True was loaded, 1 came back: verdict same"),
        ("order", "the order of names: "),
        ("whole", "a whole number: 1 was loaded, 1.0 came back: verdict same"),
        ("doubles", "above 2^53: 9007199254740993 was loaded, 9007199254740992 came back: verdict same"),
        ("equal", "a zero's sign: "),
        ("refuses", ""),  # a language without such numbers may say so: there is nothing to hold apart
        ("dies", "WorkerError: exited with code 3"),
    ],
)
def test_a_comparison_that_overlooks_something_is_told_so(tmp_path: Path, how: str, said: str) -> None:
    path = tmp_path / "worker.py"
    path.write_text(_WORKER)
    others = ("verify tells the same", "verify finds a difference") if not said else ()
    checks = (*others, "verify is exact")
    found = {
        one.name: one for one in check_worker([sys.executable, str(path), how], "json:stdlib", only=checks)
    }
    assert {found[name].status for name in others} <= {"ok"}
    exact = found["verify is exact"]
    assert (exact.status, exact.why.startswith(said)) == ("failed" if said else "ok", True), exact.why
