"""What a plan's file may read and write: it may come from anywhere, so whoever runs it names what is not at hand.

At hand is what lies below the current folder or that of the plan, links resolved, and not in a hidden folder or file.
"""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare.datasets.source import printable
from tare.errors import UsageError
from tare.scale.place import local_path, shown

if TYPE_CHECKING:
    from tare.scale.plan import Plan

__all__ = ["Allowed", "check_places", "places_beyond"]

_SHOWN = 4
_OPTIONS = ("--allow-source", "--allow-destination", "--allow-store")
_VERBS = ("reads", "writes to", "sets keys in")


@dataclass(frozen=True)
class Allowed:
    """What whoever runs a plan allows it beside what is at hand.

    Args:
        sources: Folders, files or prefixes of an object store that it may read.
        destinations: Folders or prefixes that its results may go to.
        stores: Stores that it may set keys in.
    """

    sources: Sequence[str] = ()
    destinations: Sequence[str] = ()
    stores: Sequence[str] = ()


def check_places(plan: Plan, allowed: Allowed) -> None:
    """Refuse a plan that reads or writes what is neither at hand nor allowed; every unit is checked.

    Args:
        plan: As its file says.
        allowed: What is allowed beside.

    Raises:
        UsageError: It does; the options are named that allow it.
        PlanError: A unit is not one.
    """
    beyond = _beyond(plan, allowed)
    if not beyond:
        return
    told = ", ".join(one.told for one in beyond[:_SHOWN])
    more = f", and {len(beyond) - _SHOWN} more" if len(beyond) > _SHOWN else ""
    why = ": beyond the current folder and that of the plan" if any(not one.hidden for one in beyond) else ""
    line = shlex.join(_words(beyond))
    raise UsageError(
        f"{printable(plan.path)}: {told}{more}{why}. A plan may come from anywhere: if this is meant, add {line}"
    )


def places_beyond(plan: Plan) -> list[str]:
    """Return the words that allow all that a plan's units read and write, to be added to `tare run`.

    Args:
        plan: A plan.
    """
    return _words(_beyond(plan, Allowed()))


@dataclass(frozen=True)
class _Beyond:
    """Something that a plan does beyond what is at hand and allowed.

    Args:
        verb: What it does.
        option: What allows it.
        place: Where.
        hidden: The path of a hidden file, or in a hidden folder, that is at hand but for that; empty where it is not.
    """

    verb: str
    option: str
    place: str
    hidden: str

    @property
    def told(self) -> str:
        """The words of a message."""
        why = f" ({printable(self.hidden, 1000)} is hidden)" if self.hidden else ""
        return f"{self.verb} {self.place}{why}"


def _words(beyond: Sequence[_Beyond]) -> list[str]:
    return [word for one in beyond for word in (one.option, one.place)]


def _beyond(plan: Plan, allowed: Allowed) -> list[_Beyond]:
    """List what a plan does beyond what is at hand and allowed."""
    near = (os.getcwd(), os.path.dirname(os.path.abspath(plan.path)))
    may_read, may_write = _Roots(near, allowed.sources), _Roots(near, allowed.destinations)
    may_set = _Roots(near, allowed.stores)
    sources: dict[str, str] = {}
    destinations: dict[str, str] = {}
    stores: dict[str, str] = {}
    for unit in plan.units():  # which checks each
        for given in unit["input"]:
            if not may_read.hold_file(given["uri"]):
                sources.setdefault(_folder(given["uri"]), may_read.hidden(given["uri"]))
        if store := str(unit["options"].get("store", "")):
            if not may_set.hold_store(store):
                stores.setdefault(store, may_set.hidden(store))
            continue
        base = unit["output"]["base"]
        for name in unit["output"].get("names", ()):
            if not may_write.hold_result(base, name):
                destinations.setdefault(shown(base), may_write.hidden(base, name))
    found = zip(_VERBS, _OPTIONS, (sources, destinations, stores), strict=True)
    return [
        _Beyond(verb, option, place, places.get(place, ""))
        for verb, option, places in found
        for place in _fewest(places)
    ]


class _Roots:
    """Folders and prefixes under which something may be.

    Args:
        near: Folders that are at hand.
        allowed: What was allowed beside, as it was typed.
    """

    def __init__(self, near: Sequence[str], allowed: Sequence[str]) -> None:
        self._near = {os.path.realpath(folder) for folder in near}
        self._folders: set[str] = set()
        self._urls: set[str] = set()
        for place in allowed:
            if path := _path_of_store(place):
                self._folders.add(os.path.realpath(path))
            else:
                self._urls.add(place.rstrip("/"))
        self._holds_folder = functools.lru_cache(4096)(self._under)

    def hold_file(self, uri: str) -> bool:
        """Whether a source may be read."""
        if not uri.startswith("file:"):
            return self._hold_url(uri)
        return self._hold_path(local_path(uri))

    def hold_result(self, base: str, name: str) -> bool:
        """Whether a result may be written: not through a link out of its folder either."""
        if not base.startswith("file:"):
            return self._hold_url(base)
        folder = local_path(base)
        return self._holds_folder(folder) and self._hold_path(os.path.join(folder, name))

    def hold_store(self, url: str) -> bool:
        """Whether keys may be set in a store."""
        path = _path_of_store(url)
        return self._under(path) if path else self._hold_url(url)

    def hidden(self, place: str, name: str = "") -> str:
        """The path of what may not be read or written for being hidden alone; empty if it is not at hand at all."""
        path = _path_of_store(place)
        path = os.path.join(path, name) if path else ""
        real = os.path.realpath(path)
        return path if path and any(_is_below(real, root) for root in self._near) else ""

    def _hold_path(self, path: str) -> bool:
        folder, name = os.path.split(path)
        if not name or name.startswith(".") or os.path.islink(path):
            return self._under(path)
        # Millions of files lie in few folders.
        return self._holds_folder(folder) or (len(self._folders) > 0 and self._under(path))

    def _under(self, path: str) -> bool:
        real = os.path.realpath(path)
        if any(_is_below(real, root) for root in self._folders):
            return True
        below = (real[len(root) :].split("/") for root in self._near if _is_below(real, root))
        return any(not any(part.startswith(".") for part in parts) for parts in below)

    def _hold_url(self, url: str) -> bool:
        return any(url == root or url.startswith((f"{root}/", f"{root}?")) for root in self._urls)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root.rstrip('/')}/")


def _path_of_store(url: str) -> str:
    """Return the path of a store, a folder or a file of this machine; empty of what is elsewhere."""
    scheme, colon, rest = url.partition(":")
    if not colon or not (scheme.isalnum() and len(scheme) > 1):
        return url
    if scheme == "file":
        return local_path(url)
    return rest if scheme in ("storr", "folder") else ""


def _folder(uri: str) -> str:
    return os.path.dirname(local_path(uri)) if uri.startswith("file:") else uri.rpartition("/")[0]


def _fewest(places: Iterable[str]) -> list[str]:
    """Leave out what lies below another; of many, the folder that all lie in."""
    kept: list[str] = []
    for place in sorted(places):
        if not any(place.startswith(f"{one}/") for one in kept):
            kept.append(place)
    paths = [place for place in kept if place.startswith("/")]
    if len(paths) > _SHOWN and (common := os.path.commonpath(paths)) != "/":
        kept = [common, *(place for place in kept if not place.startswith("/"))]
    return kept
