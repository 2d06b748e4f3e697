"""The stages of a run: each is one function that takes the Session, fills the record, and stops at its share of the time."""

from __future__ import annotations

__all__ = ["END_S", "END_SHARE", "FEWEST", "GRACE", "GRACE_S", "LEAST", "SHARES"]

SHARES = {
    "pass": 0.6,
    # While it has not reached half of its codecs: those are worth more than further calls of the others.
    "slow pass": 0.8,
    # What is measured is chosen so that the pass ends here: rounds and variants decide as much as the pass does.
    "fitted pass": 0.4,
    "streams": 0.5,
    "memory": 0.95,
    # Of what is left after the stage before.
    "first rounds": 0.6,
    "variants": 0.4,
    "others": 0.5,
}
"""The share of the time limit that is used when each stage ends; of some, the share of what the stage before left."""
END_S, END_SHARE = 0.9, 0.03
"""What is left for the figures, the record and the report when rounds end: seconds, and a share of the limit; more where the
first figures took long."""
FEWEST, GRACE_S = 3, 1.0
"""Codecs that an answer should rest on: they are tried though the share of a pass is used, and for so many seconds beyond the limit."""
LEAST, GRACE = 2, 0.5
"""Codecs without which there is no answer: they are tried for so much of the limit beyond it."""
