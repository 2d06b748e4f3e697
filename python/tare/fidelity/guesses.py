"""Changes of type that are no news: of what was a guess before, or is of the memory alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["is_guessed"]

# Formats of text, of which the types are guessed when they are read, and the unit of a type of time.
_OF_TEXT = ("csv", "tsv", "json", "ndjson")
_LAYOUT = re.compile(r"large_|_view\b")
_UNIT = re.compile(r"\[(s|ms|us|ns)(?=[,\]])")


def is_guessed(change: Mapping[str, Any], source_format: str) -> bool:
    """Whether a change of type is no news: of the unit of a time that was read from text, which is a guess, or of how values lie in memory.

    >>> is_guessed({"in": "timestamp[s]", "out": "timestamp[ms]"}, "csv"), is_guessed({"in": "timestamp[s]", "out": "string"}, "csv")
    (True, False)
    >>> is_guessed({"in": "list<item: large_string>", "out": "large_list<item: string>"}, "")
    True
    """
    was, became = str(change.get("in")), str(change.get("out"))
    if was != became and _LAYOUT.sub("", was) == _LAYOUT.sub("", became):
        return True
    return source_format in _OF_TEXT and _UNIT.sub("[", was) == _UNIT.sub("[", became) != was
