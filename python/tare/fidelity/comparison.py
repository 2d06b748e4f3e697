"""What a comparison of the original with what came back says."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["RANK", "Change", "Comparison", "Tally", "column_of", "show", "worst"]

RANK = {"same": 0, "type": 1, "lossy": 2}
LIMIT_CHARACTERS = 80
_ENDS = re.compile(
    r"(.*?) ?\((?:class|column labels|column names|column order|columns|dtype|index|levels|metadata|names|NaN payload|NaN sign|row names|rows|type)\)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Change:
    """One kind of change at one column or path pattern.

    Args:
        path: Column name or pattern, ``items[*].price``; a suffix in brackets
            says which side of it changed: ``(type)``, ``(keys)``, ``(levels)``. That
            of the whole table, ``(rows)``, stands alone.
        verdict: ``type`` or ``lossy``.
        count: Cells or values changed.
        in_: The first one as it went in, at most 80 characters, escaped.
        out: The same as it came back.
        at: Where the first one is: ``row 17`` or ``items[12].price``.
        side: The suffix without its brackets; empty for the values themselves. A name
            may end in the same brackets, so that the path does not tell.
    """

    path: str
    verdict: str
    count: int
    in_: str
    out: str
    at: str = ""
    side: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The change as the worker protocol writes it."""
        return {
            "path": self.path,
            "verdict": self.verdict,
            "count": self.count,
            "in": self.in_,
            "out": self.out,
            "at": self.at,
            "side": self.side,
        }


@dataclass(frozen=True)
class Comparison:
    """The outcome for a whole document or table.

    Args:
        verdict: The worst of the changes; ``same`` without any.
        items_in: Rows, or items of a list, that went in.
        items_out: Rows or items that came back.
        changes: Worst and most frequent first, at most the asked-for limit.
        columns: Columns of a table; None for a document.
        more: Changes that the limit left out.
        types: (type, what it became, values) of a document's values that came back as another type, the most first.
    """

    verdict: str
    items_in: int
    items_out: int
    changes: tuple[Change, ...] = field(default=())
    columns: int | None = None
    more: int = 0
    types: tuple[tuple[str, str, int], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The outcome as the worker protocol and the record write it."""
        out: dict[str, Any] = {
            "verdict": self.verdict,
            "items_in": self.items_in,
            "items_out": self.items_out,
            "changes": [change.as_dict() for change in self.changes],
            "columns": self.columns,
        }
        if self.more:
            out["more"] = self.more
        if self.types:
            out["types"] = [list(one) for one in self.types]
        return out


def _suffixed(path: str, side: str) -> str:
    if not side:
        return path
    return f"{path} ({side})" if path else f"({side})"


def column_of(change: Mapping[str, Any]) -> str:
    """The column of a table that a change is of; empty for one of the whole table.

    Args:
        change: As the record has it. Where none tells its side (older records, other languages), the ends that
            tables have must do.

    >>> column_of({"path": "Sea (levels)", "side": "levels"}), column_of({"path": "Sea (levels)", "side": ""})
    ('Sea', 'Sea (levels)')
    """
    path, side = str(change.get("path") or ""), change.get("side")
    if side is None:
        ended = _ENDS.fullmatch(path)
        return ended[1] if ended else path
    return "" if side and path == f"({side})" else path.removesuffix(f" ({side})")


def worst(verdicts: Any) -> str:
    """The worst of some verdicts; ``same`` for none.

    >>> worst(["same", "lossy", "type"])
    'lossy'
    """
    return max(verdicts, key=lambda verdict: RANK[verdict], default="same")


class Tally:
    """Collects changes by path and kind, keeping the first of each.

    Args:
        most: Paths told apart; further ones are counted under one name, because
            a map used as a table has as many paths as rows.
    """

    REST = "(other paths)"

    def __init__(self, most: int = 10_000) -> None:
        self.most = most
        self.found: dict[tuple[str, str, str], list[Any]] = {}
        self.types: Counter[tuple[str, str]] = Counter()
        """How many values of a document came back as which type, whatever their paths."""

    def add(
        self, path: str, verdict: str, in_: str, out: str, at: str, *, count: int = 1, side: str = ""
    ) -> None:
        """Counts one change; the texts are kept only for the first of its kind.

        An empty path with a side is that of the whole table.
        """
        entry = self.known(path, verdict, count, side)
        if entry is None:
            if len(self.found) >= self.most:
                path = self.REST
                if self.known(path, verdict, count, side) is not None:
                    return
            self.found[path, side, verdict] = [count, in_, out, at]

    def known(self, path: str, verdict: str, count: int = 1, side: str = "") -> list[Any] | None:
        """Counts a change of a kind already met, or gives None."""
        entry = self.found.get((path, side, verdict))
        if entry is not None:
            entry[0] += count
        return entry

    def comparison(self, items_in: int, items_out: int, limit: int, columns: int | None = None) -> Comparison:
        """The outcome, with at most ``limit`` changes."""
        changes = [
            Change(_suffixed(path, side), verdict, count, in_, out, at, side)
            for (path, side, verdict), (count, in_, out, at) in self.found.items()
        ]
        # A row that is missing shifts all others: it is told before what it makes of the columns.
        changes.sort(key=lambda change: (-RANK[change.verdict], change.side != "rows", -change.count))
        return Comparison(
            verdict=worst(change.verdict for change in changes),
            items_in=items_in,
            items_out=items_out,
            changes=tuple(changes[:limit]),
            columns=columns,
            more=max(0, len(changes) - limit),
            types=tuple((was, became, n) for (was, became), n in self.types.most_common()),
        )


def show(value: Any, limit: int = LIMIT_CHARACTERS) -> str:
    r"""A value as text: escaped, never longer than ``limit``, whatever its size or depth.

    >>> show({"a": ["x\x1b[31m", 1.0]})
    "{'a': ['x\\x1b[31m', 1.0]}"
    >>> show("a" * 200, 12)
    "'aaaaaaaa..."
    """
    parts: list[str] = []
    _print(value, parts, limit)
    text = "".join(parts)
    return text if len(text) <= limit else text[: limit - 3] + "..."


_BRACKETS: dict[type, str] = {list: "[]", tuple: "()", set: "{}", dict: "{}"}


def _print(value: Any, parts: list[str], limit: int) -> None:
    """Appends the text of ``value``; stops adding once ``limit`` is passed."""
    work: list[Any] = [("value", value)]
    room = limit + 1
    while work and room > 0:
        what, item = work.pop()
        if what == "value" and type(item) in _BRACKETS and item:
            text, close = _BRACKETS[type(item)][0], _BRACKETS[type(item)][1]
            work.append(("text", ",)" if type(item) is tuple and len(item) == 1 else close))
            work.extend(reversed(_children(item, room)))
        elif what == "value":
            text = _scalar(item, room)
        else:
            text = item
        parts.append(text)
        room -= len(text)


def _children(item: Any, room: int) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    source = item.items() if type(item) is dict else item
    for at, child in enumerate(source):
        if at > room:
            break
        if at:
            out.append(("text", ", "))
        if type(item) is dict:
            out += [("value", child[0]), ("text", ": "), ("value", child[1])]
        else:
            out.append(("value", child))
    return out


def _scalar(value: Any, room: int) -> str:
    kind = type(value)
    if kind in (str, bytes, bytearray) and len(value) > room:
        return repr(value[: room + 1])[:-1]
    if kind is int and value.bit_length() > 4 * room + 64:
        return f"{value:#x}"[: room + 1]
    if kind is float and math.isnan(value):
        from tare.tagged.scalars import f64_bits

        bits = f64_bits(value)
        return "nan" if bits == "7ff8000000000000" else f"nan(0x{bits})"
    try:
        text = (
            f"{value.text or repr(value.of)} ({value.name})"
            if type(value).__name__ == "Other"
            else repr(value)
        )
    except Exception as error:  # a foreign type may fail in any way when printed
        text = f"<{kind.__name__}: {type(error).__name__}>"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
