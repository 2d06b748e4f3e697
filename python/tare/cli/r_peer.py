"""What a sender in R, with its package msgpack, did to values: `tare receive --fidelity`."""

from __future__ import annotations

from typing import Any

__all__ = ["PeerNotes"]

_EXACT = 1 << 53

# What is counted -> what it may have been in R, or is there when it is sent back.
_NOTES = {
    "whole": ("whole numbers", "may have been doubles in R, which sends 1.0 as 1; factors, dates and times are"
              " sent as their numbers"),
    "wide": ("integers beyond 2^53", "are doubles in R, and lose digits there"),
    "nothing": ("nils", "were NULL or an NA of any type, also of text"),
    "scalar": ("scalars", "were vectors of length 1, unless the sender wrapped its values with as_is"),
    "frame": ("maps of arrays of one length", "were data frames or lists: R makes data frames of them; row names"
              " are gone"),
    "matrix": ("arrays", "have no dim and no class: a matrix comes as one row of numbers"),
    "empty": ("empty arrays", "were an empty list or a vector of length 0, of any type"),
    "bytes": ("byte strings", "were raw vectors"),
    "ext": ("extension types", "are raw vectors with a class in R"),
    "keys": ("keys that are no text", "are text in R"),
}  # fmt: skip


class PeerNotes:
    """Counts what R's msgpack has one form for where R has several.

    >>> notes = PeerNotes()
    >>> notes.see([{"a": [1, 2], "b": [None, 0.5]}])
    >>> [line.split(":")[0] for line in notes.lines()]
    ["R's msgpack", '  2 whole numbers', '  1 nils', '  1 maps of arrays of one length', '  2 arrays']
    """

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_NOTES, 0)

    def see(self, values: list[Any]) -> None:
        """Look at values, however deep; what is inside arrays is no scalar."""
        counts = self._counts
        stack = [(value, False) for value in values]
        while stack:
            value, inside = stack.pop()
            if isinstance(value, dict):
                items = list(value.values())
                lengths = {len(item) if isinstance(item, list) else -1 for item in items}
                counts["frame"] += len(lengths) == 1 and lengths != {-1}
                counts["keys"] += sum(not isinstance(key, str) for key in value)
                stack += [(item, False) for item in items]
            elif isinstance(value, list):
                counts["matrix" if value else "empty"] += 1
                stack += [(item, True) for item in value]
            elif value is None:
                counts["nothing"] += 1
            elif isinstance(value, bytes):
                counts["bytes"] += 1
            elif isinstance(value, bool | str | int | float):
                counts["scalar"] += not inside
                if isinstance(value, int) and not isinstance(value, bool):
                    counts["whole"] += 1
                    counts["wide"] += abs(value) > _EXACT
            else:
                counts["ext"] += 1

    def lines(self) -> list[str]:
        """What to say."""
        said = [
            f"  {self._counts[name]:,} {what}: {text}"
            for name, (what, text) in _NOTES.items()
            if self._counts[name]
        ]
        head = "R's msgpack: in what was received, if it came from there,"
        return [head, *said] if said else ["R's msgpack: nothing was received that R has another form of"]
