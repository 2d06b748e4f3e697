"""The structure of an R object in lines, as R's `str()` tells it; nothing in it is made or run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare._tare import RObject as Core

__all__ = ["Line", "lines"]

_INSIDE = frozenset({"list", "pairlist", "expression", "S4", "environment"})
_VECTORS = frozenset({"logical", "integer", "double", "complex", "character", "raw"})
# Attributes that the line of their owner tells already.
_TOLD = frozenset({"names", "class", "levels", "dim", "row.names", "tzone", "units"})


@dataclass(frozen=True)
class Line:
    """One value of a structure.

    Args:
        depth: How many values it is inside of.
        name: Its name there: ``$a``, ``[[1]]``, ``@slot``; empty for the object itself.
        what: Type, class and length.
    """

    depth: int
    name: str
    what: str


def lines(core: Core, name: str = "", *, most: int = 1000) -> Iterator[Line]:
    """The values of an object from the outside in, each environment once.

    Args:
        core: The object.
        name: What to call it.
        most: Most lines; what follows is one more line that says so.
    """
    seen: set[tuple[int, int]] = set()
    stack: list[tuple[int, str, Core]] = [(0, name, core)]
    given = 0
    while stack:
        depth, label, one = stack.pop()
        if given == most:
            yield Line(depth, "...", f"more than {most:,} values; --all lists them")
            return
        given += 1
        kind = one.type
        known = kind == "environment" and one.place in seen
        yield Line(depth, label, f"{_what(one)}{', as above' if known else ''}")
        if kind == "environment":
            if known:
                continue
            seen.add(one.place)
        room = most - given + 1
        stack.extend(reversed([*_inner(one, kind, depth + 1, room), *_attributes(one, depth + 1)]))


def _inner(one: Core, kind: str, depth: int, room: int) -> list[tuple[int, str, Core]]:
    """What is inside; no more than there is room for."""
    if kind not in _INSIDE:
        return []
    if kind in ("environment", "S4"):
        sign = "$" if kind == "environment" else "@"
        return [(depth, f"{sign}{name}", value) for name, value in one.items()[:room]]
    names = one.names or []
    return [
        (
            depth,
            f"${names[place]}" if place < len(names) and names[place] else f"[[{place + 1}]]",
            one.child(place),
        )
        for place in range(min(len(one), room))
    ]


def _attributes(one: Core, depth: int) -> list[tuple[int, str, Core]]:
    if one.type == "S4":
        return []  # its slots
    return [(depth, f"attr {name}", value) for name, value in one.attributes if name not in _TOLD]


def _what(one: Core) -> str:
    kind, classes = one.type, one.r_class
    if kind == "NULL":
        return "NULL"
    explicit = one.attribute("class") is not None
    label = "/".join(classes) if explicit else kind
    if one.rows is not None:
        columns = len(one)
        return f"{label}: {one.rows:,} row{'s' * (one.rows != 1)} x {columns:,} column{'s' * (columns != 1)}"
    if kind in _VECTORS or kind in ("list", "pairlist", "expression"):
        dim = one.dim
        size = " x ".join(f"{n:,}" for n in dim) if dim else f"{len(one):,}"
        stored = f" ({kind})" if explicit else ""
        return f"{label} [{size}]{stored}{_more(one)}"
    if kind == "symbol":
        return f"symbol {first(one)}"
    return label if label == kind or not explicit else f"{label} ({kind})"


def _more(one: Core) -> str:
    """Levels, time zone, units."""
    levels = one.attribute("levels")
    if levels is not None:
        return f", {len(levels):,} level{'s' * (len(levels) != 1)}"
    zone = one.attribute("tzone")
    if zone is not None and zone.type == "character" and len(zone):
        return f", {first(zone)}" if first(zone) else ""
    units = one.attribute("units")
    return f", {first(units)}" if units is not None and units.type == "character" and len(units) else ""


def first(core: Core) -> str:
    """The first string of a vector, or the name of a symbol."""
    return str(core.strings()[0])
