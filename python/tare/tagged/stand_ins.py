"""Stand-ins for values of the dialect ``values/1`` that Python has no type for.

R knows four kinds of NA, factors and attributes; a map may repeat a key; an
argument may be missing. A decoder written in another language can give these,
so the dialect carries them and Python holds them in the small classes here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MISSING", "NA", "Attr", "Factor", "Missing", "Other", "Pairs"]

NA_KINDS = ("int", "real", "char", "lgl")


@dataclass(frozen=True)
class NA:
    """R's NA of one type: ``int``, ``real``, ``char`` or ``lgl``."""

    kind: str


@dataclass(frozen=True)
class Factor:
    """R's factor.

    Args:
        codes: One-based level numbers, None for NA.
        levels: Texts in their order, unused ones included.
        ordered: Whether the levels have an order.
    """

    codes: tuple[int | None, ...]
    levels: tuple[str, ...]
    ordered: bool = False


@dataclass
class Attr:
    """A value with named attributes, in their order."""

    attributes: dict[str, Any]
    of: Any


class Missing:
    """R's missing argument; all its instances are equal."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is Missing

    def __hash__(self) -> int:
        return hash(Missing)

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


class Pairs(list[tuple[Any, Any]]):
    """A map that a ``dict`` cannot hold: repeated keys, or keys without a hash.

    >>> Pairs([("a", 1), ("a", 2)])
    Pairs([('a', 1), ('a', 2)])
    """

    def __init__(self, pairs: Iterable[tuple[Any, Any]] = ()) -> None:
        super().__init__((key, value) for key, value in pairs)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """The pairs in their order, as ``dict.items`` gives them."""
        return iter(self)

    def __repr__(self) -> str:
        return f"Pairs({list.__repr__(self)})"


@dataclass(frozen=True)
class Other:
    """A value of a type outside the dialect, as a decoder gave it.

    Args:
        name: Module and name of the type.
        of: The nearest value inside the dialect, if there is one.
        text: What it prints as, cut to 200 characters.
    """

    name: str
    of: Any = None
    text: str = field(default="", compare=False)
