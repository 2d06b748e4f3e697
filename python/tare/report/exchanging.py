"""The exchange between languages as every report shows it: writer by reader, and what changes in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tare.measure.exchange import summary

__all__ = ["LEGEND", "blocks", "mark", "rows", "said", "verdict"]

LEGEND = (
    "same, or how many values: c changed, e error in the reader, r refused by the writer, "
    "t of another type, from which the value can be rebuilt; n/a: nothing that the writer could send"
)
"""What the marks of a cell mean."""

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


def _counts(pair: Mapping[str, Any]) -> dict[str, int]:
    """Values by outcome; those of which only the type changed apart, which a record counts among the changed."""
    counts = dict(pair.get("counts") or {})
    typed = sum(
        1
        for cell in (pair.get("values") or {}).values()
        if cell.get("outcome") == "changed" and cell.get("verdict") == "type"
    )
    return counts | {"changed": max(0, counts.get("changed", 0) - typed), "type": typed}


def verdict(pair: Mapping[str, Any]) -> str:
    """The worst outcome of a pair: ``error``, ``changed``, ``refused``, ``type`` or ``same``.

    ``n/a`` if nothing was sent, and ``not tried`` if nobody came to it.

    >>> verdict({"counts": {"same": 40, "changed": 3, "refused": 9}})
    'changed'
    >>> verdict({"counts": {"same": 40, "changed": 1}, "values": {"v": {"outcome": "changed", "verdict": "type"}}})
    'type'
    """
    if pair.get("reason"):
        return "not tried"
    counts = _counts(pair)
    order = ("error", "changed", "refused", "type", "same")
    return next((name for name in order if counts.get(name)), "n/a")


def mark(pair: Mapping[str, Any]) -> str:
    """A pair in one cell.

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


def rows(block: Mapping[str, Any]) -> list[list[str]]:
    """The matrix as text: a head, then one row for each writer; readers have the numbers of their rows."""
    codecs = list(map(str, block["codecs"]))
    table = [["writes \\ reads", *(str(n) for n in range(1, len(codecs) + 1))]]
    for n, writer in enumerate(codecs, 1):
        readers = block["pairs"].get(writer) or {}
        table.append([f"{n} {writer}", *(mark(readers.get(reader) or {}) for reader in codecs)])
    return table


def said(block: Mapping[str, Any], most: int = 40) -> list[str]:
    """Why something was not exchanged, and how many pairs (``-``) were not tried; what one codec writes and another reads, in words; the rest is counted.

    Args:
        block: The exchange of a format.
        most: Lines at most.
    """
    reason = block.get("reason")
    lines = [*([str(reason)] if reason else []), *_untried(block), *summary(block)]
    return (
        lines
        if len(lines) <= most
        else [*lines[:most], f"and {len(lines) - most} more lines: --json has all"]
    )


def _untried(block: Mapping[str, Any]) -> list[str]:
    """How many pairs were not tried, by the reason; nothing if all were.

    >>> _untried({"codecs": ["a:b"], "pairs": {"a:b": {"a:b": {"counts": {}, "reason": "not tried: interrupted"}}}})
    ['1 of 1 pairs (-) not tried: interrupted']
    """
    pairs = [pair for readers in block["pairs"].values() for pair in readers.values()]
    reasons = Counter(str(pair["reason"]) for pair in pairs if pair.get("reason"))
    return [f"{count} of {len(pairs)} pairs (-) {reason}" for reason, count in reasons.items()]
