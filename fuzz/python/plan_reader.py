"""Fuzz target: plan files from anywhere. Either a plan that prints and reads itself, or a PlanError."""

from __future__ import annotations

from tare.errors import PlanError
from tare.measure.plan.plan import Plan

__all__ = ["fuzz"]

_MANY = 2000


def fuzz(data: bytes) -> None:
    """Read the bytes as TOML and as a plan."""
    try:
        plan = Plan.parse(data, "fuzz.toml")
    except PlanError:
        return
    assert plan.as_dict() == Plan.from_dict(plan.as_dict()).as_dict()
    if plan.count() <= _MANY:
        cases = plan.cases()
        assert len(cases) == len({case.key for case in cases})
