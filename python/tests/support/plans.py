"""Plans for tests that need a run, but not its statistics."""

from __future__ import annotations

from tare.measure.plan.plan import Plan

__all__ = ["one_round_plan"]


def one_round_plan(*codecs: str) -> Plan:
    """Return a plan that measures each codec in memory, in one launch of one round."""
    return Plan.from_dict(
        {
            "plan": 1,
            "name": "one_round_plan",
            "question": "Does a run take this data?",
            "statistics": {"launches": 1, "rounds": 1},
            "block": [{"dataset": ["d"], "codec": list(codecs), "medium": ["memory"]}],
        }
    )
