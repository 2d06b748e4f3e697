"""NaN and the infinities, which JSON does not have (RFC 8259) and some of its libraries write all the same.

Such a library reads its own text back, so that nothing seems lost; other readers refuse the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tare.fidelity.comparison import RANK, Change, Comparison, worst
from tare.fidelity.values import compare_values

__all__ = ["JSON_FORMATS", "NOT_JSON", "WORDS", "add_non_finite", "non_finite_changes"]

NOT_JSON = "text that is not JSON"
"""Such a number after it was written, in the words of a change."""
JSON_FORMATS = ("json", "ndjson")
"""Formats of JSON text, by id."""
WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""The words that some libraries write for such numbers."""
_ROW = re.compile(r"\[(\d+)\]")
_MOST = 1_000


class _Word:
    """Stands for a number that JSON does not have."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __repr__(self) -> str:
        """Returns what the number becomes."""
        return NOT_JSON


def non_finite_changes(format_id: str, back: Any, *, kind: str) -> list[Change]:
    """Returns the losses of a text of JSON whose reader gave NaN or infinities: no JSON holds them.

    Args:
        format_id: Format of the text; none but JSON and NDJSON lose anything here.
        back: What the codec itself read back: a document, or a table as records or as lists by column name.
        kind: ``document`` or ``table``.

    >>> [(one.path, one.in_, one.count) for one in non_finite_changes("json", {"x": [1.0, float("nan")]}, kind="document")]
    [('x[*]', 'NaN', 1)]
    >>> non_finite_changes("json", [{"d": 0.5}, {"d": float("inf")}], kind="table")[0].at
    'row 1'
    >>> non_finite_changes("msgpack", {"x": float("nan")}, kind="document")
    []
    """
    if format_id not in JSON_FORMATS or not isinstance(back, list | dict | float) or _is_finite(back):
        return []
    if kind == "document":
        return [_named(change) for change in _marked_changes(back)]
    return [change for name, cells in _columns(back) for change in _of_column(name, cells)]


def add_non_finite(found: Comparison, format_id: str, back: Any, *, kind: str, limit: int = 20) -> Comparison:
    """Adds the losses of `non_finite_changes` to what a comparison found; a path that is lossy already stays as it is.

    Args:
        found: What was found.
        format_id: As of `non_finite_changes`.
        back: As of `non_finite_changes`.
        kind: As of `non_finite_changes`.
        limit: Most changes in the answer.
    """
    known = {change.path for change in found.changes if change.verdict == "lossy"}
    more = [one for one in non_finite_changes(format_id, back, kind=kind) if one.path not in known]
    if not more:
        return found
    changes = sorted(
        [*found.changes, *more],
        key=lambda change: (-RANK[change.verdict], change.side != "rows", -change.count),
    )
    return replace(
        found,
        verdict=worst([found.verdict, "lossy"]),
        changes=tuple(changes[:limit]),
        more=found.more + max(0, len(changes) - limit),
    )


def _is_finite(value: Any) -> bool:
    """Returns whether JSON has all numbers of a value, at the speed of C; true for one that is too deep to tell.

    >>> _is_finite([1.5]), _is_finite({"a": float("inf")})
    (True, False)
    """
    try:
        json.dumps(value, allow_nan=False, default=str, skipkeys=True)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def _marked_changes(value: Any) -> list[Change]:
    """Returns where a value has numbers that JSON does not have."""
    marked = json.loads(json.dumps(value, default=str), parse_constant=_Word)
    found = compare_values(value, marked, limit=_MOST).changes
    return [change for change in found if change.out == NOT_JSON]


def _named(change: Change) -> Change:
    return replace(change, in_=WORDS.get(change.in_, "NaN"))


def _columns(back: Any) -> Iterable[tuple[str, list[Any]]]:
    """Yields the columns of a table of records, or of lists by name."""
    if isinstance(back, dict):
        yield from ((name, cells) for name, cells in back.items() if isinstance(cells, list))
    elif isinstance(back, list):
        rows = [row if isinstance(row, dict) else {} for row in back]
        for name in dict.fromkeys(name for row in rows for name in row):
            yield name, [row.get(name) for row in rows]


def _of_column(name: str, cells: list[Any]) -> list[Change]:
    """Returns the one change of a column; none where JSON has all its numbers."""
    found = [] if _is_finite(cells) else _marked_changes(cells)
    if not found:
        return []
    first = _named(found[0])
    row = _ROW.match(first.at)
    at = f"row {row[1]}" if row else ""
    return [replace(first, path=name, count=sum(one.count for one in found), at=at)]
