"""How many units fit into the memory of this machine: by what a plan says they need, and by what the first ones took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tare.scale.unit import input_bytes

__all__ = ["Room"]

_SHARE = 0.8
_TELLS_BYTES = 16 << 20  # below that a process is larger than its work


class Room:
    """The memory that units may take together.

    What a unit needs is learned upward only: a process that took more than the plan says tells how much a byte of
    input takes, and those after it, which are smaller, are counted so.

    Args:
        free_bytes: What is free at the beginning; None if it is not ours to count.

    >>> room = Room(1000)
    >>> unit = {"input": [{"size": 5}], "needs": {"memory": 500}}
    >>> room.has_for(unit, []), room.has_for(unit, [unit])
    (True, False)
    """

    def __init__(self, free_bytes: int | None) -> None:
        self._free = free_bytes
        self._factor = 0.0

    def has_for(self, unit: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> bool:
        """Whether a unit fits beside those that run."""
        if self._free is None:
            return True
        return self.need_of(unit) + sum(map(self.need_of, others)) <= _SHARE * self._free

    def need_of(self, unit: Mapping[str, Any]) -> int:
        """Bytes that a unit is counted with."""
        said = int(unit.get("needs", {}).get("memory", 0))
        return max(said, int(self._factor * input_bytes(unit)))

    def learn(self, unit: Mapping[str, Any], receipt: Mapping[str, Any]) -> None:
        """Take from a receipt what the process of a unit took at most."""
        size = input_bytes(unit)
        if size >= _TELLS_BYTES:
            self._factor = max(self._factor, int(receipt.get("peak_memory", 0)) / size)
