"""`store`: any value under a key, equal values kept once, verified, on many drivers.

>>> from tare import open_store
>>> store = open_store("memory:")
>>> hash = store.set("flights", {"carrier": ["UA", "B6"], "delay": [2, 33]})
>>> store["flights"]["carrier"], len(hash)
(['UA', 'B6'], 64)
"""

from __future__ import annotations

from tare.store.hashing import canonical_hash
from tare.store.memo import Memoize
from tare.store.opening import open_store
from tare.store.reports import Action, CheckReport, Finding, GcReport, RepairReport, Stat, TransferReport
from tare.store.store import Store

__all__ = [
    "Action",
    "CheckReport",
    "Finding",
    "GcReport",
    "Memoize",
    "RepairReport",
    "Stat",
    "Store",
    "TransferReport",
    "canonical_hash",
    "open_store",
]
