"""The stages of a default run, in order: screen, probe, weigh, memory, growth.

Each is one function that takes the Session and the contenders, fills the record,
and stops at its share of the time limit.
"""

from __future__ import annotations

__all__ = ["SHARES"]

SHARES = {
    "screen": 8.5 / 60,
    "screened": 12 / 60,
    "weigh": 47 / 60,
    "memory": 51 / 60,
    "probe": 53 / 60,
    "growth": 56 / 60,
}
"""The share of the time limit that is used when each stage ends; ``screened``: the probes of screening's workers."""
