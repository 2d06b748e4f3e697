"""The stages of a default run, in order: screen, weigh, memory, probe, growth.

Each is one function that takes the Session and the contenders, fills the record,
and stops at its share of the time limit.
"""

from __future__ import annotations

__all__ = ["SHARES"]

SHARES = {"screen": 8.5 / 60, "weigh": 38 / 60, "memory": 45 / 60, "probe": 50 / 60, "growth": 56 / 60}
"""The share of the time limit that is used when each stage ends."""
