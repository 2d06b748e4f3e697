"""Columns with levels (Arrow's dictionaries, R's factors), what came back of them, and the one verdict of every language."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["LEVELS", "LevelsColumn", "of_arrow"]

# Cells, their levels (None for plain text), and whether these have an order.
_LO = ["lo", "mid", "hi"]
_CELLS = ["mid", "lo", "hi", None, "lo"]
LevelsColumn = tuple[list[str | None], list[str] | None, bool]
LEVELS: dict[str, tuple[LevelsColumn, LevelsColumn, str]] = {
    "ordered as it was": ((_CELLS, _LO, True), (_CELLS, _LO, True), "same"),
    "ordered as text": ((_CELLS, _LO, True), (_CELLS, None, False), "lossy"),
    "ordered as text in its order": ((_LO, _LO, True), (_LO, None, False), "lossy"),
    "ordered without its order": ((_CELLS, _LO, True), (_CELLS, _LO, False), "lossy"),
    "ordered the other way": ((_CELLS, _LO, True), (_CELLS, _LO[::-1], True), "lossy"),
    "ordered with one more": ((_CELLS, _LO, True), (_CELLS, [*_LO, "top"], True), "lossy"),
    "ordered without one that no cell has": ((_CELLS, [*_LO, "top"], True), (_CELLS, _LO, True), "lossy"),
    "as text": ((_CELLS, _LO, False), (_CELLS, None, False), "type"),
    "as text in its order": ((_LO, _LO, False), (_LO, None, False), "type"),
    "as text, with one that no cell has": ((_CELLS, [*_LO, "top"], False), (_CELLS, None, False), "lossy"),
    "with an order": ((_CELLS, _LO, False), (_CELLS, _LO, True), "type"),
    "the other way": ((_CELLS, _LO, False), (_CELLS, _LO[::-1], False), "type"),
    "the other way with an order": ((_CELLS, _LO, False), (_CELLS, _LO[::-1], True), "type"),
    "with one more": ((_CELLS, _LO, False), (_CELLS, [*_LO, "top"], False), "type"),
    "without one that no cell has": ((_CELLS, [*_LO, "top"], False), (_CELLS, _LO, False), "lossy"),
    "other cells": ((_CELLS, _LO, False), (["mid", "lo", "hi", None, "hi"], _LO, False), "lossy"),
    "no cells, as text": (([], _LO, False), ([], None, False), "lossy"),
    "no cells and no levels, as text": (([], [], False), ([], None, False), "type"),
    "no cells and no levels, ordered, as text": (([], [], True), ([], None, False), "lossy"),
    "missing ones alone": (([None, None], ["a"], False), ([None, None], None, False), "lossy"),
    "text with levels": ((_CELLS, None, False), (_CELLS, _LO, False), "type"),
    "text with levels and an order": ((_CELLS, None, False), (_CELLS, _LO, True), "type"),
}


def of_arrow(column: LevelsColumn) -> pa.Table:
    """The column as an Arrow table."""
    cells, levels, ordered = column
    if levels is None:
        return pa.table({"l": pa.array(cells, pa.string())})
    codes = pa.array([None if cell is None else levels.index(cell) for cell in cells], pa.int8())
    known = pa.array(levels, pa.string())
    return pa.table({"l": pa.DictionaryArray.from_arrays(codes, known, ordered=ordered)})
