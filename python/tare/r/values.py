"""R objects as values of Python: arrays, tables, lists and dicts, without recursion over their depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.errors import Unsupported
from tare.r import frames, vectors
from tare.r.losses import Loss, losses_of

if TYPE_CHECKING:
    from tare._tare import RObject as Core

__all__ = ["Settings", "converted", "element", "is_table"]

_LISTS = frozenset({"list", "pairlist"})
# Lists that are one value of their own in Arrow.
_WHOLE = frozenset({"POSIXlt"})
_ONLY = {"arrow": "Arrow", "pandas": "pandas", "polars": "polars", "numpy": "NumPy"}


@dataclass(frozen=True)
class Settings:
    """How R objects become values.

    Args:
        to: ``python``, or ``plain`` for values that JSON could have; ``arrow``, ``pandas``, ``polars``,
            ``numpy``.
        scalars: Whether vectors of one value are that value.
        na: ``null``, or ``nan`` to make missing doubles NaN.
        nested: Whether lists become lists and dicts; otherwise they are refused.
        data_only: Whether what is no data becomes None in ``plain`` values, instead of an error.
    """

    to: str
    scalars: bool = False
    na: str = "null"
    nested: bool = False
    data_only: bool = False


def is_table(core: Core) -> bool:
    """Whether it is a data frame."""
    return core.type == "list" and "data.frame" in core.r_class


def converted(core: Core, settings: Settings, found: list[Loss], path: str = "") -> Any:
    """The value of an R object.

    A node that stands in several places is converted once, so that shared ones cost what they cost in R.

    Args:
        core: The object.
        settings: What it becomes.
        found: The list that losses are added to.
        path: Where it is, for losses and errors.

    Raises:
        Unsupported: It has no such value.
        Limit: Expanding a deferred vector takes too much memory.
    """
    if settings.to in ("python", "plain") and core.type == "list" and not is_table(core):
        # The core goes through lists itself, and comes back for what is neither list nor text.
        def leaf(one: Core, inside: str) -> Any:
            return _walked(one, settings, path + inside, found)

        value, lost = core.to_python(settings.scalars, leaf, {})
        found.extend(losses_of(lost, path))
        return value
    return _walked(core, settings, path, found)


def _walked(core: Core, settings: Settings, path: str, found: list[Loss]) -> Any:
    """The value of an object, lists with a class or with odd names among its parts."""
    lists = settings.to in ("python", "plain") or settings.nested
    made: dict[tuple[int, int], Any] = {}
    top: list[Any] = [None]
    # Each task: where its value goes, under which key, the object, and its path.
    tasks: list[tuple[Any, Any, Core, str]] = [(top, 0, core, path)]
    while tasks:
        into, key, one, path = tasks.pop()
        place = one.place
        if place in made:
            into[key] = made[place]
            continue
        value, children = _begun(one, settings, path, found, lists=lists)
        into[key] = value
        if children is not None:
            made[place] = value
            tasks.extend(reversed(children))
    return top[0]


def element(core: Core, place: int) -> Any:
    """One value of a vector, None if it is missing."""
    return vectors.scalar(core, place)


_Task = tuple[Any, Any, "Core", str]


def _begun(
    core: Core, settings: Settings, path: str, found: list[Loss], *, lists: bool
) -> tuple[Any, list[_Task] | None]:
    """The value of one node, and what is still to be put into it; None if it is complete."""
    kind = core.type
    if kind == "NULL" and settings.to in ("python", "plain"):
        return None, None
    if kind in vectors.TYPES:
        return vectors.value(core, settings, path, found), None
    if kind == "list":
        classes = core.r_class
        if "data.frame" in classes:
            return frames.value(core, settings, path, found), None
        if _WHOLE.intersection(classes):
            return vectors.value(core, settings, path, found), None
    if kind in _LISTS and lists:
        return _container(core, settings, path, found)
    if settings.to == "plain" and settings.data_only:
        found.append(Loss(path, "value_dropped", kind, "null"))
        return None, None
    slots = ""
    if kind == "S4":
        slots = f" (class {', '.join(core.r_class)[:60]}; its parts are in .slots of what tare.r.read gives)"
    if settings.to == "plain":
        raise Unsupported(
            f"{path or 'it'} is of R's type {kind}{slots}, which only formats of R hold: convert the file to .rds or .qs2, "
            "or to another format with --data-only (data_only=True), which leaves such values out",
            format="rds",
            path=path,
        )
    if lists:
        from tare.r.robject import RObject

        return RObject(core), None
    raise Unsupported(
        f"a value of R's type {kind}{slots} has no form in {_ONLY[settings.to]}: only data frames and vectors have; "
        "as_='python' or to_python() gives lists",
        format="rds",
        path=path,
    )


def _container(
    core: Core, settings: Settings, path: str, found: list[Loss]
) -> tuple[Any, list[_Task] | None]:
    """A dict of a list whose names are all there and different, a list of one without names."""
    names = core.names
    size = len(core)
    _attributes(core, path, found)
    if names is None:
        values: list[Any] = [None] * size
        return values, [(values, place, core.child(place), f"{path}[[{place + 1}]]") for place in range(size)]
    if len(set(names)) == size and not {None, ""}.intersection(names):
        named: dict[str | None, Any] = dict.fromkeys(names)
        return named, [(named, name, core.child(place), f"{path}${name}") for place, name in enumerate(names)]
    if settings.to == "plain":
        values = [None] * size
        found.append(
            Loss(f"{path}@names", "duplicate_names", "names that are missing or not unique", "", size)
        )
        return values, [(values, place, core.child(place), f"{path}[[{place + 1}]]") for place in range(size)]
    from tare.r.robject import RObject

    return RObject(core), None


def _attributes(core: Core, path: str, found: list[Loss]) -> None:
    """Attributes of a list that neither a list nor a dict has."""
    for name, value in core.attributes:
        if name == "names":
            continue
        kind = "class_dropped" if name == "class" else "attribute_dropped"
        found.append(Loss(f"{path}@{name}", kind, vectors.shown(value)))
