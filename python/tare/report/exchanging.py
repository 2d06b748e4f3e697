"""The exchange between languages as every report shows it: the user's own data, then the probes, each writer by reader.

What changes follows in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tare.measure.exchange.documents import OWN, summary

__all__ = ["LEGEND", "OWN_LEGEND", "Part", "blocks", "mark", "own_mark", "parts", "rows", "said", "verdict"]

OWN_LEGEND = (
    "your own data: same; type: of another type, from which it can be rebuilt; changed and in how many values, "
    "of a table columns; refused by the writer; error in the reader, of a table in how many columns if not in "
    "all; n/a: nothing that the writer could send"
)
"""What the words in a cell of own data mean."""

LEGEND = (
    "probes: same, or how many values: c changed, e error in the reader, r refused by the writer, "
    "t of another type, from which the value can be rebuilt; n/a: nothing that the writer could send"
)
"""What the marks of a cell mean."""

_ORDER = ("error", "changed", "refused", "type", "same")
_MARKS = {"changed": "c", "error": "e", "refused": "r", "type": "t"}


def blocks(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The exchange of each format that a record holds; none of a record without."""
    fidelity = record.get("fidelity")
    found = fidelity.get("exchange") if isinstance(fidelity, dict) else None
    return {
        str(name): block
        for name, block in (found if isinstance(found, dict) else {}).items()
        if isinstance(block, dict) and isinstance(block.get("pairs"), dict) and block.get("codecs")
    }


@dataclass(frozen=True)
class Part:
    """One matrix of a format: of the user's own data, or of the probes.

    Args:
        own: Whether it is of own data.
        legend: What its cells mean.
        mark: A pair in one cell.
        verdict: Its worst outcome.
    """

    own: bool
    legend: str
    mark: Callable[[Mapping[str, Any]], str]
    verdict: Callable[[Mapping[str, Any]], str]


def parts(block: Mapping[str, Any]) -> list[Part]:
    """The matrices of a format: of own data, if there were any in it, and of the probes."""
    probes = Part(False, LEGEND, mark, verdict)
    return [Part(True, OWN_LEGEND, own_mark, own_verdict), probes] if _has_own(block) else [probes]


def _has_own(block: Mapping[str, Any]) -> bool:
    """Whether the user's data were exchanged: a record says which share; and what is told of them shows it."""
    if isinstance(block.get("own_share"), int | float):
        return True
    return any(_own(pair) for readers in block["pairs"].values() for pair in readers.values())


def _own(pair: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What is told of the user's own data: what did not come back the same."""
    return {name: cell for name, cell in (pair.get("values") or {}).items() if name.startswith(OWN)}


def _outcome(cell: Mapping[str, Any]) -> str:
    """The outcome of a value; ``type`` if only that changed, which a record counts among the changed."""
    typed = cell.get("outcome") == "changed" and cell.get("verdict") == "type"
    return "type" if typed else str(cell.get("outcome"))


def own_verdict(pair: Mapping[str, Any]) -> str:
    """The worst that became of own data: as `verdict`.

    >>> own_verdict({"counts": {"same": 9, "refused": 1}, "values": {"nan": {"outcome": "refused"}}})
    'same'
    """
    if pair.get("reason") or not pair.get("counts"):
        return "not tried"
    found = {_outcome(cell) for cell in _own(pair).values()}
    return next((name for name in _ORDER if name in found), "n/a" if "n/a" in found else "same")


def own_mark(pair: Mapping[str, Any]) -> str:
    """Own data of a pair in one cell.

    >>> lost = {"outcome": "changed", "verdict": "lossy", "count": 7}
    >>> own_mark({"counts": {"same": 40}}), own_mark({"counts": {"changed": 1}, "values": {"own data": lost}})
    ('same', 'changed 7')
    >>> own_mark({"counts": {"changed": 1, "error": 1}, "values": {"own data x": lost, "own data t": {"outcome": "error"}}})
    'error 1, changed 1'
    """
    worst = own_verdict(pair)
    if worst == "not tried":
        return "-"
    cells = _own(pair)
    whole = cells.get(OWN)  # a document, or a table of which no column was told
    if whole is not None:
        return f"changed {whole.get('count') or 1}" if worst == "changed" else worst
    counts = Counter(_outcome(cell) for cell in cells.values())
    told = [f"{name} {counts[name]}" for name in ("error", "changed") if counts[name]]
    return ", ".join(told) or worst


def _counts(pair: Mapping[str, Any]) -> dict[str, int]:
    """Probes by outcome; those of which only the type changed apart."""
    values = pair.get("values") or {}
    counts = Counter(pair.get("counts") or {})
    for name, cell in values.items():
        if name.startswith(OWN):
            counts[str(cell.get("outcome"))] -= 1
        elif _outcome(cell) == "type":
            counts.update({"changed": -1, "type": 1})
    return {name: count for name, count in counts.items() if count > 0}


def verdict(pair: Mapping[str, Any]) -> str:
    """The worst outcome of a pair's probes: ``error``, ``changed``, ``refused``, ``type`` or ``same``.

    ``n/a`` if nothing was sent, and ``not tried`` if nobody came to it.

    >>> verdict({"counts": {"same": 40, "changed": 3, "refused": 9}})
    'changed'
    >>> verdict({"counts": {"same": 40, "changed": 1}, "values": {"v": {"outcome": "changed", "verdict": "type"}}})
    'type'
    """
    if pair.get("reason"):
        return "not tried"
    counts = _counts(pair)
    return next((name for name in _ORDER if counts.get(name)), "n/a")


def mark(pair: Mapping[str, Any]) -> str:
    """The probes of a pair in one cell.

    >>> mark({"counts": {"same": 40, "changed": 3, "refused": 9}})
    '3c 9r'
    >>> mark({"counts": {"same": 40, "changed": 1}, "values": {"v": {"outcome": "changed", "verdict": "type"}}})
    '1t'
    >>> mark({"counts": {"same": 40}})
    'same'
    >>> mark({"counts": {}, "reason": "not tried: interrupted"})
    '-'
    """
    if pair.get("reason"):
        return "-"
    counts = _counts(pair)
    bad = [f"{counts[name]}{letter}" for name, letter in _MARKS.items() if counts.get(name)]
    return " ".join(bad) or ("same" if counts.get("same") else "n/a")


def rows(block: Mapping[str, Any], part: Part | None = None) -> list[list[str]]:
    """A matrix as text, that of the probes if none is named: a head, then one row for each writer; readers have the numbers of their rows."""
    shown = mark if part is None else part.mark
    codecs = list(map(str, block["codecs"]))
    table = [["writes \\ reads", *(str(n) for n in range(1, len(codecs) + 1))]]
    for n, writer in enumerate(codecs, 1):
        readers = block["pairs"].get(writer) or {}
        table.append([f"{n} {writer}", *(shown(readers.get(reader) or {}) for reader in codecs)])
    return table


def said(block: Mapping[str, Any], part: Part, most: int = 40) -> list[str]:
    """What one codec writes and another reads, in words; the rest is counted.

    The first part also says why something was not exchanged, and how many pairs (``-``) were not tried.

    Args:
        block: The exchange of a format.
        part: Which of its matrices.
        most: Lines at most.
    """
    reason = block.get("reason")
    first = part.own or not _has_own(block)
    lines = [*([str(reason)] if reason else []), *_untried(block)] if first else []
    lines += summary(_only(block, own=part.own))
    if len(lines) <= most:
        return lines
    what = "own data" if part.own else "probes"
    return [*lines[:most], f"and {len(lines) - most} more lines of {what}: --json has all"]


def _only(block: Mapping[str, Any], *, own: bool) -> dict[str, Any]:
    """The block with what is told of own data alone, or of the probes."""
    return {
        "pairs": {
            writer: {
                reader: {
                    "values": {
                        name: cell for name, cell in pair["values"].items() if name.startswith(OWN) == own
                    }
                }
                for reader, pair in readers.items()
            }
            for writer, readers in block["pairs"].items()
        }
    }


def _untried(block: Mapping[str, Any]) -> list[str]:
    """How many pairs were not tried, by the reason; nothing if all were.

    >>> _untried({"codecs": ["a:b"], "pairs": {"a:b": {"a:b": {"counts": {}, "reason": "not tried: interrupted"}}}})
    ['1 of 1 pairs (-) not tried: interrupted']
    """
    pairs = [pair for readers in block["pairs"].values() for pair in readers.values()]
    reasons = Counter(str(pair["reason"]) for pair in pairs if pair.get("reason"))
    return [f"{count} of {len(pairs)} pairs (-) {reason}" for reason, count in reasons.items()]
