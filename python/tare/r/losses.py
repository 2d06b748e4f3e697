"""What a conversion did not keep: one entry for each kind of thing at each place."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from tare.errors import LossError

__all__ = ["INFORMATION", "Loss", "LossWarning", "Losses", "losses_of", "settle"]

# Kinds that change no value: told, but no reason to warn or to refuse.
INFORMATION = frozenset({"address_dropped", "altrep_expanded", "type_changed"})
_SHOWN = 3


class LossWarning(UserWarning):
    """A conversion did not keep everything; ``loss=`` takes the list instead."""


@dataclass(frozen=True)
class Loss:
    """One thing that a conversion did not keep.

    Args:
        path: Where, as R would write it: ``$df$time_hour@tzone``; empty for the object itself.
        kind: What kind of thing, such as ``attribute_dropped``; docs/guides/r-fidelity.md lists all.
        r: What R has.
        kept: What the result has; empty for nothing.
        count: How many values it concerns.

    >>> print(Loss("$x@units", "units_changed", "mins", "s", 3))
    $x@units: units_changed: mins, kept s (3 values)
    """

    path: str
    kind: str
    r: str
    kept: str = ""
    count: int = 1

    @property
    def is_information(self) -> bool:
        """Whether every value is still there."""
        return self.kind in INFORMATION

    def as_dict(self) -> dict[str, str | int]:
        """Plain data, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        kept = f", kept {self.kept}" if self.kept else ""
        count = f" ({self.count:,} values)" if self.count != 1 else ""
        return f"{self.path or '.'}: {self.kind}: {self.r}{kept}{count}"


class Losses(list[Loss]):
    """What a table or document has not of R's, and beside it what is lost too where its schema or zones are not kept."""

    def __init__(self) -> None:
        super().__init__()
        self.of_schema: list[Loss] = []
        self.of_zones: list[Loss] = []


def losses_of(found: Iterable[tuple[str, str, str, str, int]], at: str = "") -> list[Loss]:
    """Losses as the core gives them.

    Args:
        found: Path, kind, what R has, what was kept, count.
        at: Where the converted object is, before each path.
    """
    return [Loss(at + path, kind, r, kept, count) for path, kind, r, kept, count in found]


def settle(
    found: Sequence[Loss], into: list[Loss] | None, *, strict: bool, what: str, level: int = 3
) -> None:
    """Tell a caller of losses in the one way that was asked for: a list, an error, else one warning.

    Args:
        found: All of one call.
        into: The list to fill; no warning then.
        strict: Whether the first that changes a value is an error.
        what: What was converted, to begin the text with.
        level: How far the caller is up the stack, for the warning.

    Raises:
        LossError: There is one, and ``strict``.
    """
    real = [loss for loss in found if not loss.is_information]
    if into is not None:
        into.extend(found)
    if strict and real:
        raise LossError(f"{what}: {real[0]}. Without strict it is told and done.", path=real[0].path)
    if into is None and real:
        shown = "; ".join(map(str, real[:_SHOWN]))
        more = f"; and {len(real) - _SHOWN:,} more" if len(real) > _SHOWN else ""
        text = f"{what}: {len(real):,} thing{'s' * (len(real) > 1)} not kept ({shown}{more}); loss=[] takes the list"
        warnings.warn(text, LossWarning, stacklevel=level)
