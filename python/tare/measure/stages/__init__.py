"""The stages of a default run, in order: screen, probe, weigh, memory, growth, probe again.

Each is one function that takes the Session and the contenders, fills the record,
and stops at its share of the time limit.
"""

from __future__ import annotations

__all__ = ["SHARES"]

SHARES = {
    "weigh": 49 / 60,
    "memory": 51 / 60,
    "growth": 55 / 60,
    "probe": 56 / 60,
}
"""The share of the time limit that is used when each stage after screening ends."""
