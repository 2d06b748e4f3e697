"""The data block of the page: specs and datasets, with what they repeat kept once."""

from __future__ import annotations

import json
from typing import Any

from tare.report import text
from tare.report.charts import bases, basis_of, link_of, spec, themes, verdict_of
from tare.report.digest import PROFILES, Digest, Grid, number
from tare.report.html.fidelity import cell_details

__all__ = ["messages_of", "payload"]

_DECIMALS = 4


def payload(found: Digest, data: dict[str, list[dict[str, Any]]], charts: list[str]) -> dict[str, Any]:
    """Returns what the scripts read: specs, weights of the uses, datasets, details of the probes.

    Args:
        found: The record.
        data: What `chart_data` made of it.
        charts: Names of the charts that are drawn.
    """
    weights = {
        name: {
            **link_of(found, name),
            "basis": basis_of(found, name),
            "codec": verdict_of(found, name).get("codec"),
            "messages": messages_of(bases(found).get(basis_of(found, name))),
            "why": text.one_line(verdict_of(found, name).get("preferred") or "", 200),
        }
        for name in PROFILES
    }
    specs, shared = _deduplicated({chart: _lean(spec(chart)) for chart in charts})
    words: dict[str, int] = {}
    return {
        "charts": specs,
        "shared": shared,
        "themes": themes(),
        "weights": weights,
        "grids": [{"title": text.visible(grid.title, 60), "ops": grid.ops} for grid in found.grids],
        "data": {name: _packed(rows, words) for name, rows in data.items()},
        "words": list(words),
        "cells": cell_details(found),
    }


def messages_of(grid: Grid | None) -> int:
    """Returns how many messages the figures of a group are of together, where each is encoded on its own; else 0."""
    rows = grid.rows if grid is not None and grid.labels.get("grain") == "each" else ()
    return max((int(number(row.case.get("items")) or 0) for row in rows if row.timed), default=0)


def _lean(loaded: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in loaded.items() if key != "$schema"}


def _deduplicated(specs: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Parts that the specs repeat, once: each place keeps ``{"$": n}``, an index into the list."""
    seen: dict[str, int] = {}  # body of a part -> how often it occurs

    def tally(node: Any) -> None:
        if isinstance(node, (dict, str)):
            body = json.dumps(node, sort_keys=True)
            if len(body) > 24:
                seen[body] = seen.get(body, 0) + 1
                if seen[body] > 1:
                    return
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            tally(child)

    tally(specs)
    shared: list[Any] = []
    place: dict[str, int] = {}

    def replaced(node: Any) -> Any:
        body = json.dumps(node, sort_keys=True) if isinstance(node, (dict, str)) else ""
        if seen.get(body, 0) > 1:
            if body not in place:
                place[body] = len(shared)
                shared.append(node)
            return {"$": place[body]}
        if isinstance(node, dict):
            return {key: replaced(child) for key, child in node.items()}
        return [replaced(child) for child in node] if isinstance(node, list) else node

    return replaced(specs), shared


def _packed(rows: list[dict[str, Any]], words: dict[str, int]) -> dict[str, Any]:
    """Returns rows as columns, a fifth of the bytes.

    Args:
        rows: Objects with the same keys.
        words: Text -> its place in the list that all datasets share; texts are added.

    Returns:
        ``n`` rows and ``c`` columns. A column is a list of values, or ``i``, its values, or
        ``r`` and ``t``, the values of runs and their lengths; with ``w`` the values are
        places of texts, with ``d`` whole numbers to be divided by it.

    >>> words = {}
    >>> _packed([{"a": "x", "b": 0.5}, {"a": "y", "b": -0.0125}], words)["c"], words
    ({'a': {'w': 1, 'i': [0, 1]}, 'b': {'d': 10000, 'i': [5000, -125]}}, {'x': 0, 'y': 1})
    """
    return {
        "n": len(rows),
        "c": {name: _column([row.get(name) for row in rows], words) for name in (rows or [{}])[0]},
    }


def _column(values: list[Any], words: dict[str, int]) -> Any:
    column: dict[str, Any] = {}
    if values and all(isinstance(value, str) for value in values):
        column["w"] = 1
        values = [words.setdefault(value, len(words)) for value in values]
    elif scaled := _scaled(values):
        column["d"], values = 10**_DECIMALS, scaled
    runs: list[list[Any]] = []
    for value in values:
        if runs and runs[-1][0] == value and type(runs[-1][0]) is type(value):
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    if len(runs) * 3 < len(values):
        return column | {"r": [value for value, _ in runs], "t": [times for _, times in runs]}
    return column | {"i": values} if column else values


def _scaled(values: list[Any]) -> list[int] | None:
    """Returns small fractions as whole numbers, where none loses a digit by it."""
    if not all(type(value) in (int, float) and abs(value) < 10 for value in values):
        return None
    whole = [round(value * 10**_DECIMALS) for value in values]
    exact = all(one / 10**_DECIMALS == value for one, value in zip(whole, values, strict=True))
    return whole if exact and len(json.dumps(whole)) < len(json.dumps(values)) else None
