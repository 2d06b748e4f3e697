"""What a reader of R's files allows before it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tare.errors import UsageError
from tare.r.arguments import checked_number

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Limits of reading; what goes beyond one is refused before it is made.

    Args:
        max_depth: Most values inside each other; R itself stops at some thousands.
        memory_budget: Most bytes of memory for what is read, deferred vectors among them; None for no limit.
        max_ratio: Most plain bytes for each stored one, against files that decompress endlessly; None for
            no limit.

    >>> Limits(max_depth=50).max_depth
    50
    """

    max_depth: int = 10_000
    memory_budget: int | None = None
    max_ratio: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no number of at least 0.

        Raises:
            UsageError: One is none.
        """
        for field in fields(self):
            checked_number(field.name, getattr(self, field.name))

    @classmethod
    def of(cls, limits: Limits | Mapping[str, int | None] | None) -> Limits:
        """Limits as a caller gives them: an object of this class, names and values, or None.

        Raises:
            UsageError: There is no limit of that name, or it is no number.

        >>> Limits.of({"max_depth": 3}) == Limits(max_depth=3)
        True
        """
        if limits is None:
            return cls()
        if isinstance(limits, Limits):
            return limits
        if not isinstance(limits, Mapping):
            raise UsageError(
                f"limits= are names with numbers, such as {{'max_depth': 50}}, not {limits!r:.40}"
            )
        known = [field.name for field in fields(cls)]
        wrong = next((name for name in limits if name not in known), None)
        if wrong is not None:
            raise UsageError(f"there is no limit {wrong[:40]!r}; there are {', '.join(known)}")
        given: dict[str, Any] = dict(limits)
        return cls(**given)

    def options(self) -> dict[str, Any]:
        """They as options of the core."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
