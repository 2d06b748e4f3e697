"""A plan is data from outside: whatever its bytes are, it is read or refused in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tare.errors import PlanError
from tare.scale.plan import make_plan, read_plan
from tare.scale.running import run_unit
from tare.scale.unit import check_unit, input_bytes, unit_key

UNIT: dict[str, Any] = {
    "tare_unit": 1, "task": "convert", "read": "", "write": "parquet",
    "input": [{"uri": "file:///data/a.ndjson", "size": 9, "mtime_ns": 1, "range": {"kind": "bytes", "start": 0, "end": 9}}],
    "output": {"base": "file:///out", "names": ["a/part-1.parquet"]},
    "options": {"tare": "0", "schema": "x"}, "needs": {"memory": 1, "threads": 1},
}  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
PATHS = [
    ("tare_unit",), ("task",), ("read",), ("write",), ("input",), ("output",), ("options",), ("needs",), ("input", 0),
    ("input", 0, "uri"), ("input", 0, "size"), ("input", 0, "range"), ("input", 0, "range", "kind"),
    ("input", 0, "range", "start"), ("output", "base"), ("output", "names"), ("output", "names", 0),
    ("options", "schema"), ("options", "columns"), ("options", "partition"), ("needs", "memory"), ("more",),
]  # fmt: skip


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("plans") / "plan.jsonl"
    units = [{**UNIT, "output": {"base": "file:///out", "names": [f"{n}.parquet"]}} for n in range(3)]
    return Path(make_plan(units, path, task="convert", base="file:///out").path).read_bytes()


def read_or_refused(data: bytes, folder: Path) -> None:
    path = folder / "p.jsonl"
    path.write_bytes(data)
    try:
        for unit in read_plan(path).units():
            assert len(unit_key(unit)) == 64
            assert input_bytes(unit) >= 0
    except PlanError as error:
        assert str(error)  # noqa: PT017 - any of them, or none


def test_a_plan_that_is_cut_anywhere(plan: bytes, tmp_path: Path) -> None:
    """It is never taken for a whole one."""
    for end in range(len(plan) - 1):
        (tmp_path / "p.jsonl").write_bytes(plan[:end])
        with pytest.raises(PlanError):
            list(read_plan(tmp_path / "p.jsonl").units())


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_bytes_that_are_changed(plan: bytes, tmp_path: Path, data: st.DataObject) -> None:
    changed = bytearray(plan)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        end = at + data.draw(st.integers(0, 3))
        changed[at:end] = data.draw(st.binary(max_size=3))
    read_or_refused(bytes(changed), tmp_path)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PATHS), value=JSON)
def test_fields_that_are_something_else(path: tuple[str | int, ...], value: Any, tmp_path: Path) -> None:
    """Refused with the field, or a unit that `run_unit` gives a receipt for."""
    unit: Any = json.loads(json.dumps(UNIT))
    inner = unit
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    try:
        checked = check_unit(unit)
    except PlanError:
        return
    receipt = run_unit(checked, {"state": tmp_path.as_uri()})
    assert receipt["status"] == "failed"
