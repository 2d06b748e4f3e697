"""Fuzz target: plans of units from anywhere. Units that are read again as they are, or a PlanError."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tare.errors import PlanError
from tare.scale.plan import read_plan
from tare.scale.unit import canonical, check_unit, input_bytes, unit_key

__all__ = ["fuzz"]


def fuzz(data: bytes) -> None:
    """Read the bytes as a plan's file; what is taken stays in its folder, and has one key."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(data)
        file.flush()
        try:
            plan = read_plan(file.name)
            units = list(plan.units())
        except PlanError:
            return
    assert len(units) == plan.count
    for unit in units:
        output = unit.get("output", {})
        assert output.get("base", plan.base) == plan.base or not plan.base
        for name in output.get("names", []):
            assert Path("/out", name).resolve().is_relative_to("/out"), name
        assert input_bytes(unit) >= 0
        again = check_unit(json.loads(canonical(unit)))
        assert again == unit
        assert unit_key(again) == unit_key(unit)
        assert unit_key({**unit, "needs": {"memory": 1}}) == unit_key(unit)
