"""What a document does not say of R's objects: kinds of missing values, and which lists were vectors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tare.r import odd_names
from tare.r.losses import Loss
from tare.r.vectors import TYPES

if TYPE_CHECKING:
    from tare._tare import RObject as Core

__all__ = ["tell"]

_SCALARS = frozenset({str, int, float, bool})
_LISTS = frozenset({"list", "pairlist"})
_MISSING = {
    "logical": "NA",
    "integer": "NA_integer_",
    "double": "NA_real_",
    "character": "NA_character_",
    "complex": "NA_complex_",
}
# Losses by place: beyond as many, further places are counted together.
_MOST = 1_000
_PLACE = re.compile(r"\[\[\d+\]\]")


def tell(core: Core, value: Any, path: str, found: list[Loss]) -> None:
    """Tells what comes back as something else when R has a document again.

    A null has no type, so that a missing value on its own is one of any; lists of like scalars are vectors, and no others.

    Args:
        core: The object.
        value: Its lists, dicts and scalars, which are not looked at twice.
        path: Where it is, for losses.
        found: The list that losses are added to: one for all elements of a list that lose the same.
    """
    told = _Told()
    seen: set[int] = set()
    tasks: list[tuple[Core, Any, str]] = [(core, value, path)]
    while tasks:
        one, made, path = tasks.pop()
        kind = one.type
        if made is None:
            if kind in TYPES:
                told.add(path, "na_to_null", _missing(one), "null")
        elif not isinstance(made, list | dict) or id(made) in seen:
            continue
        elif kind in _LISTS and "data.frame" not in one.r_class and "POSIXlt" not in one.r_class:
            seen.add(id(made))
            _of_list(one, made, path, told)
            tasks += _inside(one, made, path)
        elif "data.frame" in one.r_class:
            seen.add(id(made))
            _of_frame(one, made, path, told)
        elif isinstance(made, list):
            _of_vector(one, made, path, told)
    found.extend(told.losses())


class _Told:
    """Losses by place, those of the elements of one list together."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, str], tuple[str, int]] = {}

    def add(self, path: str, kind: str, r: str, kept: str, count: int = 1) -> None:
        """Counts one."""
        key = (_PLACE.sub("[[]]", path), kind, r, kept)
        if key not in self._found and len(self._found) >= _MOST:
            key, path = ("", kind, r, kept), ""
        first, known = self._found.get(key, (path, 0))
        self._found[key] = (first if first == path else key[0]), known + count

    def losses(self) -> list[Loss]:
        """Returns them."""
        return [Loss(path, kind, r, kept, count) for (_, kind, r, kept), (path, count) in self._found.items()]


def _inside(core: Core, made: list[Any] | dict[str, Any], path: str) -> list[tuple[Core, Any, str]]:
    """Values of a list that a document may say less of."""
    if isinstance(made, dict):
        return [
            (core.child(place), one, f"{path}${name}")
            for place, (name, one) in enumerate(made.items())
            if type(one) not in _SCALARS
        ][::-1]
    return [
        (core.child(place), one, f"{path}[[{place + 1}]]")
        for place, one in enumerate(made)
        if type(one) not in _SCALARS
    ][::-1]


def _of_list(core: Core, made: list[Any] | dict[str, Any], path: str, told: _Told) -> None:
    if core.type == "pairlist":
        told.add(path, "type_changed", "pairlist", "a list")
    if isinstance(made, dict) and any("\\x" in name for name in made):
        odd: list[Loss] = []
        odd_names.tell(core.attribute("names"), f"{path}@names", odd)
        for loss in odd:
            told.add(loss.path, loss.kind, loss.r, loss.kept, loss.count)
    if isinstance(made, list) and _is_vector(made):
        told.add(path, "type_changed", "a list of single values", "what is a vector in R")


def _of_frame(core: Core, made: list[Any] | dict[str, Any], path: str, told: _Told) -> None:
    told.add(path, "type_changed", "data.frame", "lists of its columns")
    if core.type != "list":  # which R takes for one, too
        return
    for place, column in enumerate(made.values() if isinstance(made, dict) else made):
        inner = core.child(place)
        if inner.type in TYPES and column and column.count(None) == len(column):
            name = (core.names or [])[place] or ""
            told.add(f"{path}${name}", "na_to_null", _missing(inner), "null", len(column))


def _of_vector(core: Core, made: list[Any], path: str, told: _Told) -> None:
    what = _what(core)
    if core.dim is not None:
        told.add(path, "type_changed", f"array of {' x '.join(map(str, core.dim))}", "lists of its values")
    elif not made:
        told.add(path, "type_changed", f"{what} of no values", "an empty list")
    elif made.count(None) == len(made):
        told.add(path, "na_to_null", _missing(core), "null", len(made))
    elif not _is_vector(made):
        told.add(path, "type_changed", f"vector of {what}", "a list of its values")


def _is_vector(made: list[Any]) -> bool:
    """Whether a list is a vector once R has it, as `tare.r.made` decides it of what is read."""
    if len(made) < 2:
        return False
    kinds = set(map(type, made)) - {type(None)}
    return len(kinds) == 1 and kinds <= _SCALARS


def _what(core: Core) -> str:
    return core.r_class[0] if core.attribute("class") is not None and core.r_class else core.type


def _missing(core: Core) -> str:
    what = _what(core)
    return _MISSING.get(what) or f"NA of {what}"
