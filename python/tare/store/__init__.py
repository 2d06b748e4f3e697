"""`store`: any value under a key, equal values kept once, on many drivers."""

from __future__ import annotations

from tare.store.hashing import canonical_hash

__all__ = ["canonical_hash"]
