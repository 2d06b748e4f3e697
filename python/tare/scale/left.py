"""What a plan leaves out: what is no data, and what was asked for and is left undone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tare.datasets.source import printable
from tare.errors import PlanError, TareError

__all__ = ["AllUndone", "Undone", "any_undone", "check_some"]


class Undone(tuple[str, str]):
    """``(name, why)`` of what was asked for and is not done: it may hold data. Of what is no data it is a plain tuple.

    >>> Undone(("a.csv", "permission denied")) == ("a.csv", "permission denied")
    True
    """

    __slots__ = ()


class AllUndone(TareError):
    """Nothing is left to do, but not because all is well: what was asked for cannot be done."""


def any_undone(left: Iterable[tuple[str, str]]) -> bool:
    """Whether something that was asked for is among what was passed over.

    >>> any_undone([("_SUCCESS", "an empty file")]), any_undone([Undone(("a.csv", "permission denied"))])
    (False, True)
    """
    return any(isinstance(one, Undone) for one in left)


def check_some(wanted: Sequence[Any], left: Sequence[tuple[str, str]]) -> None:
    """Whether anything is left to do.

    Args:
        wanted: What is to be done.
        left: What was passed over.

    Raises:
        AllUndone: Nothing, and something that was asked for was passed over.
        PlanError: Nothing, and it was no data.
    """
    if wanted:
        return
    if not left:
        raise PlanError("there is nothing to do: no file was found")
    name, why = next((one for one in left if isinstance(one, Undone)), left[0])
    told = "1 file was" if len(left) == 1 else f"{len(left):,} files were"
    error = AllUndone if any_undone(left) else PlanError
    raise error(f"there is nothing to do: {told} passed over, such as {printable(name)}: {why}")
