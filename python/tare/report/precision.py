"""How often a time was taken, where that is too seldom for an interval."""

from __future__ import annotations

from typing import Any

from tare.report.digest import Digest, Row, mapping, number

__all__ = ["is_first_call", "is_least", "seldom"]

# Rounds of one process whose range holds the median at 95 %, and launches from which on there is an interval.
_ROUNDS, _LAUNCHES = 6, 3


def seldom(row: Row, operation: str) -> str:
    """Returns how often an operation was timed, e.g. ``2 samples``; empty where its interval can be shown.

    Args:
        row: The codec's row.
        operation: Its operation, e.g. ``encode``.
    """
    figures = mapping(mapping(row.derived.get("ops")).get(operation))
    rounds, launches = number(figures.get("samples")), number(figures.get("launches"))
    if rounds is None or launches is None or launches >= _LAUNCHES or rounds >= _ROUNDS:
        return ""
    taken = sum(len(column.get("wall_ns") or []) for column in _columns(row, operation)) or int(rounds)
    first = (", first call" if taken == 1 else ", first calls") if is_first_call(row, operation) else ""
    return f"{taken} sample{'s' * (taken != 1)}{first}"


def is_first_call(row: Row, operation: str) -> bool:
    """Whether an operation was timed in the trial's round only, in which libraries are not warm."""
    rounds = [number for column in _columns(row, operation) for number in column.get("round") or []]
    return bool(rounds) and len(row.case.get("launches") or []) < _LAUNCHES and not any(rounds)


def is_least(found: Digest) -> bool:
    """Whether times are the least of the rounds of one process, with the way to their median, and no 95 % interval."""
    rows = (row for grid in found.grids for row in grid.rows if row.timed)
    return any(
        mapping(figures).get("method") == "least"
        for row in rows
        for figures in mapping(row.derived.get("ops")).values()
    )


def _columns(row: Row, operation: str) -> list[dict[str, Any]]:
    launches = [mapping(launch) for launch in row.case.get("launches") or []]
    return [mapping(mapping(launch.get("samples")).get(operation)) for launch in launches]
