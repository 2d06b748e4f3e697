"""The stages of a run: each is one function that takes the Session, fills the record, and stops at its share of the time."""

from __future__ import annotations

__all__ = ["SHARES"]

SHARES = {
    "pass": 0.5,
    "others": 0.4,  # of what is left after the first answer
    "streams": 0.5,
    "rounds": 0.88,
    "probe": 0.92,
    "memory": 0.95,
}
"""The share of the time limit that is used when each stage ends."""
