"""The plan reader: any bytes are a plan or a plan error that names file and key."""

from __future__ import annotations

from tare.errors import PlanError
from tare.measure.plan import Plan


def fuzz(data: bytes) -> None:
    """Read any bytes as a plan, and what it prints again."""
    try:
        plan = Plan.parse(data, "fuzz.toml")
    except PlanError as error:
        assert str(error).startswith("fuzz.toml")
        return
    assert Plan.from_dict(plan.as_dict(), source="fuzz.toml").as_dict() == plan.as_dict()
