"""Changes and notes of a conversion that excuse a difference: of the same column, and of that kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from differences import Difference

from tare.datasets.source import printable

__all__ = ["excused", "left"]

_TYPES = frozenset({"type", "time", "boolean", "bytes", "nested"})
_VALUES = _TYPES | {"null", "number", "text"}
_ALL = _VALUES | {"rows", "columns"}


@dataclass(frozen=True)
class _Note:
    """One kind of note.

    Attributes:
        text: Its pattern; the group ``names`` has the columns that it names, if it does.
        kinds: The kinds of difference that it tells.
    """

    text: re.Pattern[str]
    kinds: frozenset[str]


def _note(text: str, *kinds: str) -> _Note:
    return _Note(re.compile(text, re.DOTALL), frozenset(kinds))


_NAMES = r": (?P<names>.+)$"
# Of a table of text. Those about quotes and the header are about where rows and columns begin, and so about any value.
_NOTES = (
    _note(r"^times with offsets are read as UTC" + _NAMES, "time"),
    _note(r"^numbers with a decimal comma are read as text" + _NAMES, "text", "type"),
    _note(r"^integers with a plus are read as doubles" + _NAMES, "number", "type"),
    _note(r"^texts such as 1\.10 are read as numbers" + _NAMES, "number", "type", "text"),
    _note(r"^bare words are read as missing values" + _NAMES, "null"),
    _note(r"^numbers with leading zeros, .* are kept as text" + _NAMES, "text", "type", "number"),
    _note(r"^values that no one type holds in all parts of the text are kept as text" + _NAMES, "text", "type", "number"),
    _note(r"^(?P<names>.+): \S.* is written as \S.*$", *_TYPES),
    _note(r"^its first line\b.* was read as (the name of its one column|column names)", "rows", "columns"),
    _note(r"^skipped [\d,]+ lines? that begins? with '#'", "rows", "columns"),
    _note(r"^its first line says what separates fields", *_ALL),
    _note(r"^quotes are read as part of the text", *_ALL),
    _note(r"^a backslash before a quote is read as in JSON", *_ALL),
    _note(r"^text follows a closing quote in line", *_ALL),
    _note(r"^a quoted value\b.* holds the ends of", *_ALL),
    _note(r"^the quote in line [\d,]+, the last, is never closed", "rows", "text"),
    _note(r"^several columns are named (?P<names>.+): many readers", "columns"),
    _note(r"^[\d,]+ (JSON|MessagePack) values on end, read as a list", "rows", "columns", "nested"),
    _note(r"^written as text: values of the type", *_TYPES),
)  # fmt: skip
_SECOND = re.compile(r": (?:csv|yaml): (?P<place>.+?): Tare reads .*, \S+ .*$", re.DOTALL)
_YAML = re.compile(
    r"^read by YAML 1\.1: (?P<words>.+?)(?P<more> and [\d,]+ more)?; quote what is meant as text"
)
_WORD = re.compile(r"(?P<word>\S.*?) is \S.*? \(line [\d,]+\)(?:, |$)")


def excused(found: Difference, done: Iterable[Any]) -> bool:
    """Return whether one of some conversions told a difference.

    Args:
        found: The difference.
        done: The conversions that the value went through.
    """
    return any(
        any(_is_change(found, change) for change in one.changes)
        or any(_is_of_path(found.column, str(loss["path"])) and found.kind in _VALUES for loss in one.losses)
        or any(_is_noted(found, note) for note in one.notes)
        or _is_second(found, (one.second.get("source") or {}).get("difference"))
        for one in done
    )


def left(found: Iterable[Difference], done: Iterable[Any]) -> list[Difference]:
    """Return the differences that no conversion told."""
    conversions = list(done)
    return [one for one in found if not excused(one, conversions)]


def _is_change(found: Difference, change: dict[str, Any]) -> bool:
    """Return whether a change is of the column, and such a one."""
    if not _is_of_path(found.column, str(change["path"])):
        return False
    kinds = {"type": _TYPES, "null": {"null", "nested", "columns"}}.get(change["verdict"], _VALUES)
    return found.kind in kinds


def _is_of_path(column: str, path: str) -> bool:
    """Return whether a path of what a conversion told is that of a column, or of something in it.

    >>> [_is_of_path("a", path) for path in ("a", "a.x", "a[]", "a (type)", "ab", "x.a", "")]
    [True, True, True, True, False, False, False]
    >>> [_is_of_path("/a/0/b", path) for path in ("a[].b", "a", "a[].c", "[].a[].b.x")]
    [True, True, False, True]
    """
    if column.startswith("/"):
        wanted, told = _steps(column), _steps(path.removesuffix(" (type)"))
        return bool(told) and all(one == other for one, other in zip(wanted, told, strict=False))
    if not column or not path.startswith(column):
        return False
    return not path[len(column) :] or path[len(column)] in ".[ /"


def _steps(path: str) -> list[str]:
    """Return the names of a path, without the places in lists."""
    return [step for step in re.split(r"[./\[\]*]+", path) if step and not step.isdigit()]


def _is_noted(found: Difference, note: str) -> bool:
    if read := _YAML.match(note):
        # Words of a document; of many the note names the first ones.
        words = {one["word"] for one in _WORD.finditer(read["words"])}
        return found.kind in (_TYPES | {"number", "null", "columns"}) and (
            found.word in words or bool(read["more"])
        )
    if other := _SECOND.search(note):
        return _is_second(found, {"place": other["place"]})
    for known in _NOTES:
        told = known.text.match(note)
        if told and found.kind in known.kinds:
            names = told.groupdict().get("names")
            if names is None or found.kind in ("rows", "columns") or _is_named(found.column, names):
                return True
    return False


def _is_named(column: str, names: str) -> bool:
    """Return whether a column is among the names of a note, which names the first ones of many."""
    short = column if len(column) <= 30 else column[:20]
    return names.endswith(", ...") or re.search(rf"(?:^|, |in |['\"]){re.escape(short)}", names) is not None


def _is_second(found: Difference, difference: dict[str, Any] | None) -> bool:
    """Return whether Tare's own second reading found the same."""
    if not difference:
        return False
    place = str(difference["place"])
    if place == "the number of rows":
        return found.kind == "rows"
    named = re.escape(repr(printable(found.column)))
    return bool(found.column) and re.match(rf"column {named}(, row |$)", place) is not None
