"""What a second reading is asked for, and what it says."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.datasets.source import Source

__all__ = ["Difference", "Request", "SecondReading", "may_load", "sampled", "windows"]

# A library that takes longer to import than a small file to convert is not loaded for one.
_HEAVY = ("polars", "pandas")
_HEAVY_FROM = 1 << 20
# Libraries whose threads a fork leaves behind: in the child, where the parent had loaded one, a call of it waits for ever.
_THREADED = ("polars", "duckdb")
_forked: set[str] = set()
_MOST_ROWS = 1 << 14
_MOST_CELLS = 1 << 16
_LEAST_ROWS = 8
_WINDOWS = 8


def _note_fork() -> None:
    _forked.update(name for name in _THREADED if name in sys.modules)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


@dataclass(frozen=True)
class Difference:
    """The first value that two readers read differently.

    Args:
        place: Where it is, e.g. ``column a, row 3``.
        first: What `tare.read` makes of it, as text.
        second: What the other reader does.
    """

    place: str
    first: str
    second: str


@dataclass(frozen=True)
class SecondReading:
    """What another library read of a file, beside what the first one did.

    Args:
        reader: The other library; empty if there is none.
        why: Why there is none.
        rows: Rows or items that were compared.
        total: Rows or items that there are; their number is compared too, unless only the beginning was read.
        difference: The first difference; None without one.
    """

    reader: str = ""
    why: str = ""
    rows: int = 0
    total: int = 0
    difference: Difference | None = None

    def as_dict(self) -> dict[str, Any]:
        """Returns plain data, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Request:
    """A file to be read a second time.

    Args:
        source: The file.
        value: What the first reader read of it: a table, or a document.
        columns: Names of the columns that the value has, if these are some of the file's only.
        encoding: Encoding of a text that is not UTF-8.
        thorough: Whether a library may be loaded that takes long to load, however small the file is.
    """

    source: Source
    value: Any
    columns: list[str] | None = None
    encoding: str | None = None
    thorough: bool = False


def may_load(request: Request, *names: str) -> tuple[list[str], str]:
    """Returns the libraries that may read, and why none of them may.

    Args:
        request: What is to be read.
        names: Names of libraries, the best first.
    """
    usable = [name for name in names if name not in _forked]
    installed = [name for name in usable if importlib.util.find_spec(name.partition(".")[0]) is not None]
    heavy = request.thorough or request.source.size >= _HEAVY_FROM
    found = [name for name in installed if heavy or name not in _HEAVY or name in sys.modules]
    if found:
        return found, ""
    if not usable:
        return [], f"{' or '.join(names)} would wait for ever in a process that was forked"
    if not installed:
        return [], f"{' or '.join(usable)} would read it too: pip install {usable[0]}"
    return [], f"with --verify {installed[0]} reads it too"


def windows(total: int, most: int) -> list[tuple[int, int]]:
    """Returns where contiguous blocks begin and end: the first rows, the last ones, and some between.

    Args:
        total: Number of rows.
        most: How many of them the blocks have together, at most.

    >>> windows(10, 10), windows(1000, 16)[:2], windows(1000, 16)[-1]
    ([(0, 10)], [(0, 2), (142, 144)], (998, 1000))
    """
    if total <= max(most, _WINDOWS):
        return [(0, total)] if total else []
    length = most // _WINDOWS
    starts = [k * (total - length) // (_WINDOWS - 1) for k in range(_WINDOWS)]
    return [(start, start + length) for start in starts]


def sampled(rows: int, columns: int) -> list[tuple[int, int]]:
    """Returns the blocks of a table's rows that are compared: all of a small one."""
    return windows(rows, min(_MOST_ROWS, max(_MOST_CELLS // max(columns, 1), _LEAST_ROWS)))


def numbered(chosen: list[tuple[int, int]]) -> Iterator[int]:
    """Yields the number of each row of some blocks."""
    for start, end in chosen:
        yield from range(start, end)
