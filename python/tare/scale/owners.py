"""Whose a file is that has the name of a result: ours, another source's, or of somebody we do not know.

Ours is what a plan that was begun here makes of the same source. What was there already when that plan was begun, and
was not ours then, is kept in ``.tare/begun``, so that the plan itself is no proof of it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tare.errors import TareError
from tare.scale.place import Entry, LocalPlace, Place, shown
from tare.scale.unit import unit_key

if TYPE_CHECKING:
    from tare.scale.plan import Plan
    from tare.scale.state import State

__all__ = ["LEFT", "Claims", "Guard", "Owners", "not_ours", "seen"]

LEFT = "a file of that name exists already"
_UNSEEN = frozenset({errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG})

_Told = dict[str, list[tuple[set[str], dict[str, Any]]]]
_KNOWN: dict[str, _Told] = {}
"""Of one destination, each result by name: the sources of every receipt that tells of it, and what the receipt says."""


def seen(place: Place, name: str) -> Entry | None:
    """A file that is there. None also if it cannot be looked at: then nothing can be written there, which says why."""
    try:
        return place.stat(name)
    except OSError as error:
        if not isinstance(place, LocalPlace) or error.errno not in _UNSEEN:
            raise
        return None


def not_ours(uri: str = "") -> str:
    """Why a result is not written: by the source of what stands in its place, if that is known.

    >>> not_ours("file:///a.csv"), not_ours()
    ('a file of that name exists already, made of /a.csv; --overwrite replaces it', 'a file of that name exists already, and not from here; --overwrite replaces it')
    """
    return f"{LEFT}, {f'made of {shown(uri)}' if uri else 'and not from here'}; --overwrite replaces it"


class Claims:
    """What the plans that were begun in a destination say of some names.

    Args:
        state: Of the destination.
        same: Of a name and a source, whether it is this source's result that is asked for; None if nothing is asked
            of the name.
        without: The id of a plan that is not read.
        listed: Every file of the place by name, where asking for each would be slow.
    """

    def __init__(
        self,
        state: State,
        same: Callable[[str, str], bool | None],
        *,
        without: str = "",
        listed: Mapping[str, Entry] | None = None,
    ) -> None:
        self._state, self._listed = state, listed
        self.ours: set[str] = set()
        self._rivals: dict[str, list[tuple[str, str]]] = {}
        for plan in state.plans():
            others = None if plan.id == without else state.others(plan.id)
            if others is None:  # never begun: it has made nothing
                continue
            for unit, name, uri in _results(plan):
                is_same = same(name, uri)
                if is_same is None or (name in others and state.receipt(unit_key(unit)) is None):
                    continue
                if is_same:
                    self.ours.add(name)
                else:
                    self._rivals.setdefault(name, []).append((unit_key(unit), uri))

    def rival(self, name: str) -> str:
        """The other source whose result a file is, as its receipt says; empty if there is none."""
        for key, uri in self._rivals.get(name, ()):
            made = (self._state.receipt(key) or {}).get("output", [])
            if any(one.get("name") == name and self._state.stands(one, self._listed) for one in made):
                return uri
        return ""

    def surely(self, name: str) -> bool:
        """Whether a file is ours, and no other source has ever had the name."""
        return name in self.ours and name not in self._rivals

    def owner(self, name: str) -> str | None:
        """The source whose result a file is; empty if nobody knows it, None if it is ours."""
        if uri := self.rival(name):
            return uri
        if name in self.ours:
            return None
        return self._rivals[name][0][1] if name in self._rivals else ""


def _results(plan: Plan) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Each unit with the name of each of its results, and the source; of partitions values alone tell the names."""
    for unit in plan.units():
        if "partition" in unit["options"]:
            continue
        for one, name in zip(unit["input"], unit.get("output", {}).get("names", []), strict=False):
            yield unit, str(name), str(one["uri"])


class Owners:
    """Whose the files are that have names which values alone tell.

    Args:
        state: Of the destination.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def of(self, name: str) -> set[str] | None:
        """The sources that a file is of; None if nothing tells of it.

        By the receipt that it is as it says; by what an attempt that died said it would rename; else by any receipt.
        All receipts are read, once, when the last reading had none that fits.
        """
        for known in (_KNOWN.get(self._state.uri, {}), None):
            for sources, made in (self._receipts if known is None else known).get(name, ()):
                if self._state.stands(made):
                    return sources
        for sources, made in self._intents.get(name, ()):
            if self._state.stands(made, read=True):
                return sources
        found = self._receipts.get(name)
        return set().union(*(sources for sources, _ in found)) if found else None

    @functools.cached_property
    def _receipts(self) -> _Told:
        _KNOWN.clear()  # of one destination at a time
        found = _KNOWN[self._state.uri] = _by_name(self._state.receipts())
        return found

    @functools.cached_property
    def _intents(self) -> _Told:
        found = (self._state.intent(key) for key in sorted(self._state.intents()))
        return _by_name(one for one in found if one is not None)


def _by_name(told: Iterable[Mapping[str, Any]]) -> _Told:
    """Each output with the sources of what tells of it."""
    found: _Told = {}
    for one in told:
        sources = {str(uri) for uri in one.get("input", [])}
        for made in one["output"]:
            if "name" in made:
                found.setdefault(str(made["name"]), []).append((sources, made))
    return found


class Guard:
    """What may not be replaced by a run of a plan.

    Args:
        state: Of the plan's destination.
        plan: The plan.
        overwrite: Whether everything may be replaced.
    """

    def __init__(self, state: State, plan: Plan, *, overwrite: bool) -> None:
        self._state, self._plan = state, plan
        self._has_names = bool(plan.base) and state.inner
        self._on = self._has_names and not overwrite
        self._others: dict[str, str] = {}
        self._made: set[str] = set()  # of these, in this run
        self._seen: set[str] | None = None  # what was there when this run began the plan as the first

    def begin(self) -> None:
        """Look what is there before a plan is begun for the first time, and keep it for later runs and for other shards."""
        if not self._has_names:
            return
        found = self._state.others(self._plan.id)
        if found is None:
            mine = self._first_look()
            found = self._state.others(self._plan.id)
            if found is None:
                self._others = mine
                self._state.write_begun(self._plan.id, mine)
                return
            self._seen = None  # another shard was faster: what was there may be its result
        self._others = self._still(found)
        if self._others != found:  # moved away, or made by another plan since: it is ours
            self._state.write_begun(self._plan.id, self._others)

    def made(self, receipt: Mapping[str, Any]) -> None:
        """Note what a unit put in its place, in a unit that failed too: it is nobody else's any more."""
        names = {str(one["name"]) for one in receipt.get("output", []) if "name" in one}
        self._made.update(self._others.keys() & names.union(receipt.get("committed", [])))

    def end(self) -> None:
        """Keep what this run made in the place of what was somebody else's; receipts tell of it only until others do."""
        if not self._made:
            return
        with contextlib.suppress(OSError, TareError):  # a run ends as it ends
            found = self._state.others(self._plan.id) or {}
            left = {name: uri for name, uri in found.items() if name not in self._made}
            if left != found:
                self._state.write_begun(self._plan.id, left)

    def there(self, unit: Mapping[str, Any], *, made: bool, again: bool) -> dict[str, str] | None:
        """Of the names of a unit's results those that are there: why each stays; empty if it may be replaced.

        Args:
            unit: The unit, about to begin.
            made: Whether it has made them before.
            again: Whether this run may have made them, in an attempt that ended too soon to say so.

        Returns:
            None if nothing is to be looked at.
        """
        if not self._on or "partition" in unit["options"]:
            return None
        found = {}
        for name in unit.get("output", {}).get("names", []):
            # The listing of an object store is of before this run, and does not tell what it has made.
            if not self._is_there(name) and not (again and self.listed is not None):
                continue
            if name in self._others and not made:
                found[name] = not_ours(self._others[name])
            elif self._seen is None or made or again:
                uri = self._rivals.rival(name)
                found[name] = not_ours(uri) if uri else ""
            elif name in self._seen:
                found[name] = ""
        return found

    @functools.cached_property
    def listed(self) -> dict[str, Entry] | None:
        """Every file of an object store as the run began, by name; None of a folder of this machine."""
        return self._state.listed()

    def _is_there(self, name: str) -> bool:
        return seen(self._state.place, name) is not None if self.listed is None else name in self.listed

    def _first_look(self) -> dict[str, str]:
        """The names of results under which something is there that is not ours, with its source if that is known."""
        asked: dict[str, str] = {}
        if self._has_files():
            done = self._state.done(None if self.listed is None else self.listed.values())
            asked = {
                name: uri
                for unit, name, uri in _results(self._plan)
                if self._is_there(name) and unit_key(unit) not in done
            }
        self._seen = set(asked)
        return self._foreign(asked)

    def _still(self, found: Mapping[str, str]) -> dict[str, str]:
        """Of what was somebody else's when the plan was begun, what is so still."""
        there = {name for name in found if self._is_there(name)}
        if not there:
            return {}
        owners = self._foreign({name: uri for _, name, uri in _results(self._plan) if name in there})
        return {name: owner or found[name] for name, owner in owners.items()}

    def _foreign(self, asked: Mapping[str, str]) -> dict[str, str]:
        """Of results with their sources those that are not ours, as the other plans say; whose they are, if that is known."""
        if not asked:
            return {}
        claims = Claims(
            self._state,
            lambda name, uri: asked[name] == uri if name in asked else None,
            without=self._plan.id,
            listed=self.listed,
        )
        owners = ((name, claims.owner(name)) for name in asked)
        return {name: owner for name, owner in owners if owner is not None}

    def _has_files(self) -> bool:
        """Whether anything but what we keep is there: into a new folder nothing need be looked at."""
        if self.listed is not None:
            return any(not name.startswith(".tare/") for name in self.listed)
        place = self._state.place
        try:
            return isinstance(place, LocalPlace) and any(one != ".tare" for one in os.listdir(place.path("")))
        except FileNotFoundError:
            return False

    @functools.cached_property
    def _rivals(self) -> Claims:
        """What other plans make of other sources under names of this one. Hashes of names and sources take little room."""
        names: set[int] = set()
        pairs: set[int] = set()
        if not set(self._state.plan_ids()) <= {self._plan.id}:
            for _, name, uri in _results(self._plan):
                names.add(hash(name))
                pairs.add(hash((name, uri)))

        def same(name: str, uri: str) -> bool | None:
            return None if hash(name) not in names or hash((name, uri)) in pairs else False

        return Claims(self._state, same, without=self._plan.id, listed=self.listed)
