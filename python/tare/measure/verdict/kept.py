"""What a codec keeps of the data and what it changes, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tare.fidelity.comparison import column_of
from tare.measure.verdict.units import listed

__all__ = ["came_back", "is_guessed"]

# A value that is shown has at most so many characters.
SHORT = 24
# The type behind a value of a change.
_OF_TYPE = re.compile(r" \([a-z0-9_ ,<>\[\]]+\)$")
# Formats of text, of which the types are guessed when they are read, and the unit of a type of time.
_OF_TEXT = ("csv", "tsv", "json", "ndjson")
_UNIT = re.compile(r"\[(s|ms|us|ns)(?=[,\]])")


def is_guessed(change: Mapping[str, Any], source_format: str) -> bool:
    """Whether a change of type is of the unit of a time that was read from text, which is a guess.

    >>> is_guessed({"in": "timestamp[s]", "out": "timestamp[ms]"}, "csv"), is_guessed({"in": "timestamp[s]", "out": "string"}, "csv")
    (True, False)
    """
    was, became = str(change.get("in")), str(change.get("out"))
    return source_format in _OF_TEXT and _UNIT.sub("[", was) == _UNIT.sub("[", became) != was


def came_back(case: Mapping[str, Any], source_format: str = "") -> str:
    """What a codec keeps of the data, or changes, in words.

    Args:
        case: The case, with what the comparison found.
        source_format: Format that the data came in: of text, types that were guessed are nothing to keep.

    >>> came_back({"verify": {"verdict": "same", "columns": 11}})
    'keeps all 11 columns'
    >>> zeros = {"path": "zip", "verdict": "lossy", "in": "'00501'", "out": "501"}
    >>> came_back({"verify": {"verdict": "lossy", "columns": 2, "changes": [zeros]}})
    'changes zip: leading zeros lost'
    >>> unit = {"path": "ts", "verdict": "type", "in": "timestamp[s]", "out": "timestamp[ms]"}
    >>> came_back({"verify": {"verdict": "type", "columns": 2, "changes": [unit]}}, "csv")
    'keeps both columns'
    """
    verify = case.get("verify") or {}
    columns, changes = verify.get("columns"), verify.get("changes") or ()
    lost = [change for change in changes if change.get("verdict") == "lossy"]
    typed = [one for one in changes if one.get("verdict") == "type" and not is_guessed(one, source_format)]
    said = ", says its own worker alone" if verify.get("unchecked") else ""
    if lost or verify.get("verdict") == "lossy":
        return _lost(lost)
    if typed:
        return f"{_typed(typed, columns)}{said}"
    if verify.get("verdict") not in ("same", "type"):
        return "what came back was not compared"
    if columns:
        of = {1: "its one column", 2: "both columns"}.get(columns, f"all {columns:,} columns")
        return f"keeps {of}{said}"
    return f"keeps every value{said}"


_ZEROS = "leading zeros lost"
_EMPTIED = "missing values become empty text"
_MADE_MISSING = "empty texts become missing"


def _lost(changes: Sequence[Mapping[str, Any]]) -> str:
    """Returns the columns that lose values; the first change that can be described in a few words leads, with its description.

    >>> _lost([{"path": "note", "in": "None", "out": "''"}, {"path": "zip", "in": "'08595' (string)", "out": "8595.0 (double)"}])
    'changes zip (leading zeros lost), note'
    >>> _lost([{"path": "note", "in": "null", "out": "''"}, {"path": "city", "in": "null", "out": "''"}])
    'changes note, city: missing values become empty text'
    """
    if not changes:
        return "changes data silently"
    hows = [_how(_value(change.get("in")), _value(change.get("out"))) for change in changes]
    if not any(hows):
        hows = [_missing_or_empty(str(change.get("in")), str(change.get("out"))) for change in changes]
    first = next((place for place, how in enumerate(hows) if how), 0)
    names = [str(change.get("path") or "the value") for change in changes]
    if len(names) == 1:
        return f"changes {names[0][:60]}{f': {hows[0]}' if hows[0] else ''}"
    if hows[0] in (_ZEROS, _EMPTIED, _MADE_MISSING) and len(set(hows)) == 1:
        return f"changes {listed(names, width=60)}: {hows[0]}"
    names.insert(0, names.pop(first)[:60] + (f" ({hows[first]})" if hows[first] else ""))
    return f"changes {listed(names, width=60 + len(hows[first]) + 3)}"


def _value(shown: Any) -> str:
    """Returns a value of a change without its quotes and its type.

    >>> _value("'08595' (string)"), _value("8595.0 (double)"), _value("'a'")
    ('08595', '8595.0', 'a')
    """
    said = _OF_TYPE.sub("", str(shown or ""))
    return said[1:-1] if len(said) > 1 and said[0] == said[-1] and said[0] in "'\"" else said


def _missing_or_empty(was: str, became: str) -> str:
    """Says that missing values and empty texts are one, as in a CSV that a library writes."""
    missing, empty = ("null", "None"), ("''", '""')
    if was in missing and became in empty:
        return _EMPTIED
    return _MADE_MISSING if was in empty and became in missing else ""


def _how(was: str, became: str) -> str:
    """How a value changed, where a few words can say it."""
    if was.isdigit() and was.startswith("0") and was.lstrip("0") == became.removesuffix(".0"):
        return _ZEROS
    short = 0 < len(was) <= SHORT and 0 < len(became) <= SHORT
    return f"{was} becomes {became}" if short and was != became else ""


def _typed(changes: Sequence[Mapping[str, Any]], columns: int | None) -> str:
    """What came back as another type: columns, paths, or what lies beside the columns (``(metadata)``)."""
    if not columns:
        return f"keeps every value, {len(changes)} path{'s' * (len(changes) > 1)} as another type"
    changed = {column for change in changes if (column := column_of(change))}
    if not changed:
        return f"keeps all columns, but not {listed([one['path'] for one in changes])}"
    if len(changed) == 1 and columns > 1:
        name = next(iter(changed))[:30]
        return f"keeps every value, {'column ' * (not name.startswith('('))}{name} as another type"
    return f"keeps every value, {min(len(changed), columns):,} of {columns:,} columns as another type"
