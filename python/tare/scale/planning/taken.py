"""Results whose names are taken: by files that are not from here, or by another source's results."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Sequence

from tare.scale.left import Undone
from tare.scale.owners import LEFT, Claims, not_ours, seen
from tare.scale.place import LocalPlace
from tare.scale.planning.sources import Found
from tare.scale.state import State

__all__ = ["Taken", "part_name"]

_PART = re.compile(r"/part-[^/]*$")
_LISTED_FROM = 32  # so many names of an object store are looked up in one listing


def part_name(name: str, number: int, count: int, ending: str) -> str:
    """The name of a part of a result.

    >>> part_name("a.b.parquet", 1, 7, ".parquet")
    'a.b/part-00001.parquet'
    """
    width = max(5, len(str(count)))
    return f"{name.removesuffix(ending)}/part-{number:0{width}}{ending}"


class Taken:
    """What stands where the results of some sources would.

    Args:
        state: Of the destination.
        targets: The sources, with the names of their results.
        ending: Of the results.
        cut: Which of the names may become folders of parts.
        overwrite: Whether what is not ours may be replaced.
    """

    def __init__(
        self,
        state: State,
        targets: Sequence[tuple[Found, str]],
        ending: str,
        *,
        cut: Iterable[str],
        overwrite: bool,
    ) -> None:
        self._place, self._ending, self._overwrite = state.place, ending, overwrite
        self.cut = set(cut)
        sources = {name: one.uri for one, name in targets}
        folders = {name.removesuffix(ending): name for name in self.cut}

        def same(made: str, uri: str) -> bool | None:
            whole = made if made in sources else folders.get(_PART.sub("", made), "")
            return sources[whole] == uri if whole else None

        self._claims = Claims(state, same) if self.cut or not overwrite else None
        # What is ours, and never was another's, need not be asked for.
        asked = [] if overwrite else [name for _, name in targets if not self._surely_ours(name)]
        self._many = len(asked) + len(self.cut) >= _LISTED_FROM
        if asked and self._listed is not None:
            self._there = self._listed.intersection(asked)
        else:
            self._there = {name for name in asked if seen(self._place, name) is not None}

    def without(
        self, targets: Sequence[tuple[Found, str]], left: list[tuple[str, str]]
    ) -> list[tuple[Found, str]]:
        """The targets but for those whose names are taken; those that may be cut stay, for `why` to ask."""
        kept = []
        for one, name in targets:
            why = "" if name in self.cut else self.why(name)
            if why:
                left.append(Undone((one.name, why)))
            else:
                kept.append((one, name))
        return kept

    def why(self, name: str, parts: Sequence[str] = ()) -> str:
        """Why a source is passed over; empty if its result, or its parts, may be written."""
        if self._claims is None:
            return ""
        if not parts:
            owner = self._claims.owner(name) if name in self._there else None
            return "" if owner is None else not_ours(owner)
        unknown = [one for one in self._parts_in(name) if self._claims.owner(one) is not None]
        if self._overwrite:
            unknown = sorted(set(unknown).difference(parts))
            more = f", and {len(unknown) - 1:,} more," if len(unknown) > 1 else ""
            return (
                f"{LEFT} and would stay beside the new parts: move {unknown[0]}{more} away" if unknown else ""
            )
        return not_ours(self._claims.owner(unknown[0]) or "") if unknown else ""

    def _surely_ours(self, name: str) -> bool:
        return self._claims is not None and self._claims.surely(name)

    def _parts_in(self, name: str) -> list[str]:
        """Every part of a result that is there, whoever made it: who reads the folder reads them all."""
        folder = name.removesuffix(self._ending)
        found: Iterable[str] = self._listed or ()
        if self._listed is None:
            with contextlib.suppress(NotADirectoryError):
                found = [entry.name for entry in self._place.entries(folder)]
        return sorted(
            one
            for one in found
            if one.endswith(self._ending) and _PART.search(one) and _PART.sub("", one) == folder
        )

    @functools.cached_property
    def _listed(self) -> set[str] | None:
        """All names of an object store, where a request for each would take longer than the work."""
        if isinstance(self._place, LocalPlace) or not self._many:
            return None
        return {entry.name for entry in self._place.entries()}
