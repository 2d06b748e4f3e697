"""What a codec keeps of the data and what it changes, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tare.fidelity.comparison import column_of
from tare.fidelity.guesses import is_guessed
from tare.measure.verdict.units import listed

__all__ = ["came_back", "names_types", "quoted", "quoted_path"]

# A value that is shown has at most so many characters.
SHORT = 24
# The type behind a value of a change.
_OF_TYPE = re.compile(r" \([a-z0-9_ ,<>\[\]]+\)$")
# How words begin that go on to name columns of another type, and as many of these are named.
_KEPT, _NAMED, _ANOTHER, _ALONE = (
    "keeps every value, ",
    3,
    "as another type",
    " (reported by its worker, not checked)",
)
# A path, and the side of it that changed.
_ENDED = re.compile(
    r"([^(].*) (\((?:class|column labels|column order|dtype|index|key order|keys|levels|metadata|names|row names|rows|type)\))",
    re.DOTALL,
)
# A type of Arrow, and what a dictionary is of.
_IS_TYPE = re.compile(r"[a-z]+(?:_[a-z]+)*[0-9]*(?:_view)?(?:[\[(<].*)?$")
_VALUES = re.compile(r"dictionary<values=([a-z_0-9]+),")
# Sides of a data frame that are of no column.
_OF_FRAME = ("index", "column labels")


def came_back(case: Mapping[str, Any], source_format: str = "", *, index: int = 0) -> str:
    """What a codec keeps of the data, or changes, in words.

    Args:
        case: The case, with what the comparison found.
        source_format: Format that the data came in: of text, types that were guessed are nothing to keep.
        index: How many of the columns are the index of a data frame.

    >>> came_back({"verify": {"verdict": "same", "columns": 11}})
    'keeps all 11 columns'
    >>> came_back({"verify": {"verdict": "same", "columns": 10}}, index=1)
    'keeps all 9 columns and the index'
    >>> zeros = {"path": "zip", "verdict": "lossy", "in": "'00501'", "out": "501"}
    >>> came_back({"verify": {"verdict": "lossy", "columns": 2, "changes": [zeros]}})
    "changes 'zip': leading zeros lost"
    >>> unit = {"path": "ts", "verdict": "type", "in": "timestamp[s]", "out": "timestamp[ms]"}
    >>> came_back({"verify": {"verdict": "type", "columns": 2, "changes": [unit]}}, "csv")
    'keeps both columns'
    >>> came_back({"verify": {"verdict": "same", "columns": 8, "r_lost": ["$bp@label", "$arm@levels"]}})
    "keeps all 8 columns, but not R's $bp@label and $arm@levels"
    """
    verify = case.get("verify") or {}
    kept = _came_back(verify, source_format, index)
    lost = _lost_of_r(verify) if kept.startswith("keeps") else []
    joined = " and" if ", but not " in kept else ", but not"
    return f"{kept}{joined} R's {listed(lost)}" if lost else kept


def _lost_of_r(verify: Mapping[str, Any]) -> list[str]:
    """Paths of what is not kept of an object of R, but for what follows from the other type of a column.

    >>> arm = {"path": "arm", "verdict": "type", "in": "dictionary", "out": "string"}
    >>> _lost_of_r({"changes": [arm], "r_lost": ["$bp@label", "$arm@levels"]})
    ['$bp@label']
    """
    columns = {column_of(change) for change in verify.get("changes") or ()} - {""}
    follow = tuple(f"${column}@{side}" for column in columns for side in ("levels", "tzone"))
    return [path for path in verify.get("r_lost") or () if not path.endswith(follow)]


def _came_back(verify: Mapping[str, Any], source_format: str, index: int) -> str:
    columns, changes = verify.get("columns"), verify.get("changes") or ()
    lost = [change for change in changes if change.get("verdict") == "lossy"]
    typed = [one for one in changes if one.get("verdict") == "type" and not is_guessed(one, source_format)]
    said = _ALONE if verify.get("unchecked") else ""
    if lost or verify.get("verdict") == "lossy":
        return _lost(lost)
    if typed and not columns and verify.get("types"):
        return f"{_of_types(verify['types'])}{said}"
    if typed:
        return f"{_typed(typed, columns, more=int(verify.get('more') or 0))}{said}"
    if verify.get("verdict") not in ("same", "type"):
        return "what came back was not compared"
    if columns:
        return f"keeps {_all_of(columns - index, index)}{said}"
    return f"keeps every value{said}"


def _all_of(columns: int, index: int) -> str:
    """All the columns of a table, and its index if it has one.

    >>> _all_of(2, 0), _all_of(1, 1), _all_of(0, 1)
    ('both columns', 'its one column and the index', 'the index')
    """
    of = {0: "", 1: "its one column", 2: "both columns"}.get(columns, f"all {columns:,} columns")
    return " and ".join(filter(None, (of, "the index" if index else "")))


def quoted(path: str, side: str | None = None) -> str:
    """A column or path within a sentence, in quotes; of what is beside the columns, such as ``(metadata)``, as it is.

    Args:
        path: As a change has it, or a column's name.
        side: Which side of it changed, which ends the path; empty for the value itself. Where a record tells none,
            the ends that paths have must do.

    >>> quoted("zip"), quoted("(metadata)", "metadata"), quoted("tags (key order)", "key order"), quoted("price (EUR)", "")
    ("'zip'", '(metadata)', "'tags' (key order)", "'price (EUR)'")
    """
    if side is None and (ended := _ENDED.fullmatch(path)):
        return f"'{ended[1]}' {ended[2]}"
    end = f" ({side})" if side else ""
    if path == end.strip() or (side is None and path.startswith("(")):
        return path
    return f"'{path.removesuffix(end)}'{end}" if end and path.endswith(end) else f"'{path}'"


def quoted_path(change: Mapping[str, Any], limit: int = 60) -> str:
    """The column or path of a change in quotes; ``the value`` where it is of the whole.

    >>> quoted_path({"path": "zip"}), quoted_path({})
    ("'zip'", 'the value')
    """
    path = str(change.get("path") or "")
    cut = path if len(path) <= limit else f"{path[: limit - 1]}\u2026"
    return quoted(cut, change.get("side")) if path else "the value"


_ZEROS = "leading zeros lost"
_EMPTIED = "missing values become empty text"
_MADE_MISSING = "empty texts become missing"


def _lost(changes: Sequence[Mapping[str, Any]]) -> str:
    """Returns the columns that lose values; the first change that can be described in a few words leads, with its description.

    >>> _lost([{"path": "note", "in": "None", "out": "''"}, {"path": "zip", "in": "'08595' (string)", "out": "8595.0 (double)"}])
    "changes 'zip' (leading zeros lost) and 'note'"
    >>> _lost([{"path": "note", "in": "null", "out": "''"}, {"path": "city", "in": "null", "out": "''"}])
    "changes 'note' and 'city': missing values become empty text"
    """
    if not changes:
        return "changes data silently"
    hows = [_how(_value(change.get("in")), _value(change.get("out"))) for change in changes]
    if not any(hows):
        hows = [_missing_or_empty(str(change.get("in")), str(change.get("out"))) for change in changes]
    first = next((place for place, how in enumerate(hows) if how), 0)
    names = [quoted_path(change) for change in changes]
    if len(names) == 1:
        return f"changes {names[0]}{f': {hows[0]}' if hows[0] else ''}"
    if hows[0] in (_ZEROS, _EMPTIED, _MADE_MISSING) and len(set(hows)) == 1:
        return f"changes {listed(names, width=80)}: {hows[0]}"
    names.insert(0, names.pop(first) + (f" ({hows[first]})" if hows[first] else ""))
    return f"changes {listed(names, width=80 + len(hows[first]))}"


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


def _of_types(types: Sequence[Sequence[Any]]) -> str:
    """Which types of a document's values came back as which.

    >>> _of_types([["bytes", "str", 60], ["tuple", "list", 2]])
    'keeps every value, bytes as str, tuple as list'
    >>> _of_types([[name, "str", 1] for name in ("bytes", "datetime", "Decimal", "UUID")])
    'keeps every value, bytes, datetime, Decimal and 1 more as str'
    """
    into: dict[str, list[str]] = {}
    for was, became, _ in types:
        into.setdefault(str(became)[:30], []).append(str(was)[:30])
    return _KEPT + ", ".join(f"{listed(several)} as {became}" for became, several in into.items())


def _typed(changes: Sequence[Mapping[str, Any]], columns: int | None, *, more: int = 0) -> str:
    """What came back as another type: columns, paths, or what lies beside the columns (``(metadata)``).

    >>> index = {"path": "cat", "in": "dictionary<values=string, indices=int8, ordered=0>", "out": "dictionary<values=string, indices=int32, ordered=0>"}
    >>> _typed([index, {"path": "lst", "in": "list<item: int32>", "out": "large_list<item: int32>"}], 7)
    "keeps every value, 'cat' with another dictionary index type, 'lst' as large_list"
    >>> _typed([{"path": "cat (levels)", "side": "levels", "in": "['b', 'a']", "out": "['a', 'b']"}], 7)
    "keeps every value, column 'cat' with its categories in another order"
    >>> _typed([{"path": "(index)", "side": "index", "in": "'t'", "out": "none"}], 2)
    "keeps every value, but not the index 't'"
    """
    if not columns:
        least = f"at least {len(changes)}" if more else str(len(changes))  # of a record that tells no types
        return f"{_KEPT}{least} path{'s' * (len(changes) > 1)} as another type"
    if beside := [one for one in changes if one.get("side") in _OF_FRAME]:
        others = [one for one in changes if one not in beside]
        said = _typed(others, columns) if others else _KEPT[:-2]
        joined = " and" if ", but not " in said else ", but not"
        return f"{said}{joined} {' and '.join(map(_of_frame, beside))}"
    of: dict[str, list[Mapping[str, Any]]] = {}
    for change in changes:
        if column := column_of(change):
            of.setdefault(column, []).append(change)
    if not of:
        return f"keeps all columns, but not {listed([_beside(one) for one in changes], width=80)}"
    became = {column: _became(several) for column, several in of.items()}
    told = [f"{quoted(column[:30], '')} {how}" for column, how in became.items()]
    if len(told) == 1:
        return f"{_KEPT}{'column ' * (columns > 1 and not told[0].startswith('('))}{told[0]}"
    more = min(len(told), columns) - _NAMED
    if set(became.values()) == {_ANOTHER}:
        names = ", ".join(quoted(column[:30], "") for column in list(of)[:_NAMED])
        return f"{_KEPT}{names}{f' and {more:,} more' if more > 0 else ''} {_ANOTHER}"
    return f"{_KEPT}{', '.join(told[:_NAMED])}{f' and {more:,} more' if more > 0 else ''}"


def _of_frame(change: Mapping[str, Any]) -> str:
    """What a data frame has beside its columns, in words."""
    was = str(change.get("in"))
    if change.get("side") != "index":
        return "the labels of the columns, which become text"
    if was == "none":
        return "that it had no index but the count of its rows"
    if was == change.get("out"):
        return f"the type of the index {was}"
    return f"the index {was}"


def _beside(change: Mapping[str, Any]) -> str:
    """What lies beside the columns, in words.

    >>> _beside({"path": "(column order)", "side": "column order"}), _beside({"path": "(metadata)", "side": "metadata"})
    ('their order', 'the metadata')
    """
    path = quoted_path(change)
    if path == "(column order)":
        return "their order"
    return f"the {path[1:-1]}" if path.startswith("(") and path.endswith(")") else path


def _became(changes: Sequence[Mapping[str, Any]]) -> str:
    """What a column became, in a few words: of its type first, then of its categories."""
    of_type = next((one for one in changes if one.get("side") in (None, "", "dtype", "type")), None)
    if of_type is not None and of_type.get("side") == "dtype":
        return f"as {of_type.get('out')}"
    levels = next((one for one in changes if str(one.get("side")) == "levels"), None)
    if of_type is None and levels is None:
        return _ANOTHER
    if levels is None:
        return _as_type(str(of_type.get("in")), str(of_type.get("out"))) if of_type else _ANOTHER
    order = sorted(_shown_levels(levels.get("in"))) == sorted(_shown_levels(levels.get("out")))
    if of_type is None:
        return f"with its categories in another order{' or more of them' * (not order)}"
    said = _as_type(str(of_type.get("in")), str(of_type.get("out")))
    return f"{said} (categories in another order)" if order else said


def _shown_levels(shown: Any) -> list[str]:
    """The categories as they are shown, apart; where they were cut, what is there.

    >>> _shown_levels("['b', 'a']")
    ["'b'", "'a'"]
    """
    return str(shown or "").strip("[]").split(", ")


def _as_type(was: str, became: str) -> str:
    """What a type became, in a few words.

    >>> _as_type("timestamp[ns]", "timestamp[us]"), _as_type("struct<a: int32>", "struct<a: int64>"), _as_type("str", "None")
    ('as timestamp[us]', 'as another struct', 'as another type')
    >>> _as_type("dictionary<values=int64, indices=int8, ordered=0>", "dictionary<values=int64, indices=int32, ordered=0>")
    'with another dictionary index type'
    """
    if became.startswith("its "):
        return f"as {became}"
    if not _IS_TYPE.match(was) or not _IS_TYPE.match(became):
        return _ANOTHER
    values, its = (_VALUES.match(side) for side in (was, became))
    if its:
        kind = {"string": "text", "large_string": "text"}.get(its[1], its[1])
        same = values and values[1] == its[1]
        return "with another dictionary index type" if same else f"as categories of {kind}"
    name = became.partition("<")[0]
    return f"as another {name}" if name == was.partition("<")[0] else f"as {name}"


def names_types(said: str) -> bool:
    """Returns whether words of `came_back` name what came back as another type.

    >>> names_types("keeps every value, column a as string"), names_types("keeps every value")
    (True, False)
    """
    return said.startswith(_KEPT)
