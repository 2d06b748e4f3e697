"""In which order the plans of a destination were started: a file of each start, so that no two starts write one file.

A list in one file, which each start reads, adds to and writes, would lose one of two starts at once; the plan that was
lost would stand as the oldest, and another would speak over what it had just made.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare.scale.place import Place

__all__ = ["Starts"]

_NAME = re.compile(r"(?P<number>[0-9]{8,})-(?P<plan>[^\W_]+)")


class Starts:
    """The starts that are kept in a folder of a place: ``NUMBER-PLAN`` of each, without content.

    Two at once may take one number: then both are there, and the plan's id decides, for everybody alike.

    Args:
        place: The destination.
        folder: The folder, with a slash at its end.

    >>> import pathlib, tempfile
    >>> from tare.scale.place import place_of
    >>> starts = Starts(place_of(pathlib.Path(tempfile.mkdtemp()).as_uri()), ".tare/started/")
    >>> for plan in ("b", "a", "b"):
    ...     starts.add(plan)
    >>> starts.ids()
    ['a', 'b']
    """

    def __init__(self, place: Place, folder: str) -> None:
        self._place = place
        self._folder = folder

    def add(self, id: str) -> None:
        """Note that a plan is started now."""
        found = self._found()
        name = f"{max((number for number, _ in found), default=0) + 1:08}-{id}"
        self._place.put(self._folder + name, b"")
        for number, plan in found:
            if plan == id:
                self._remove(number, plan)

    def turn(self, id: str) -> tuple[str, bool]:
        """What the start of a plan is called whose turn goes on until another plan is started, and whether it has begun.

        Two that begin it at once call it alike.

        >>> import pathlib, tempfile
        >>> from tare.scale.place import place_of
        >>> starts = Starts(place_of(pathlib.Path(tempfile.mkdtemp()).as_uri()), "started/")
        >>> for plan in ("b", "b", "a", "b"):
        ...     name, has_begun = starts.turn(plan)
        ...     starts.note(name)
        ...     print(name, has_begun)
        00000001-b False
        00000001-b True
        00000002-a False
        00000003-b False
        """
        number, last = max(self._found(), default=(0, ""))
        return f"{number + (last != id):08}-{id}", last == id

    def note(self, name: str) -> None:
        """Note a turn; those before it go."""
        self._place.put(self._folder + name, b"")
        for number, plan in self._found():
            if f"{number:08}-{plan}" < name:
                self._remove(number, plan)

    def ids(self) -> list[str]:
        """The ids of the plans, by their last start; the last one last."""
        last = {plan: number for number, plan in self._found()}
        return sorted(last, key=lambda plan: (last[plan], plan))

    def drop(self, ids: Collection[str]) -> None:
        """Forget the starts of some plans."""
        for number, plan in self._found() if ids else ():
            if plan in ids:
                self._remove(number, plan)

    def _remove(self, number: int, plan: str) -> None:
        self._place.remove(f"{self._folder}{number:08}-{plan}")

    def _found(self) -> list[tuple[int, str]]:
        """Every start, the first first; what another hand put there is none."""
        listed = self._place.entries(self._folder.rstrip("/"))
        names = (_NAME.fullmatch(one.name.removeprefix(self._folder)) for one in listed if not one.size)
        return sorted((int(found["number"]), found["plan"]) for found in names if found is not None)
