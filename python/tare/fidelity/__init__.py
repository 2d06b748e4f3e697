"""Fidelity: what came back of data, by one rule for whoever asks, ``tare measure`` and ``tare convert`` alike.

The rule in words is docs/guides/fidelity.md. ``tables`` compares Arrow tables and ``values`` documents; ``column_masks`` says
which rows differ, ``column_casts`` brings a column back to its type, ``rebuild`` says whether a value can be rebuilt from
another, and ``comparison`` is the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.fidelity.comparison import Comparison

__all__ = ["compare"]


def compare(original: Any, back: Any, *, kind: str, limit: int = 20, as_frame: bool = False) -> Comparison:
    """What ``back`` kept of ``original``, on the whole data.

    Args:
        original: The document or table that was encoded.
        back: What decoding gave, in whatever kind the library gives.
        kind: ``document`` or ``table``; tables are brought to Arrow first.
        limit: Most changes in the answer; the worst come first.
        as_frame: Whether both are data frames of pandas, of which the index, the labels and the dtypes count too.

    >>> compare([1.0], [1], kind="document").verdict
    'type'
    """
    from tare.errors import TareError

    if kind == "table":
        from tare.fidelity.comparison import show
        from tare.fidelity.tables import compare_tables
        from tare.kinds import convert

        before = convert(original, "arrow")
        try:
            after = convert(back, "arrow")
        except TareError as error:
            return _no_table(before, f"{show(back, 40)}: {error}"[:80])
        return compare_tables(before, after, limit=limit, as_frame=as_frame)
    from tare.fidelity.values import compare_values

    return compare_values(original, back, limit=limit)


def _no_table(before: Any, what: str) -> Comparison:
    """What came back is no table at all: a decoder that swallowed its error, or gave something else."""
    from tare.fidelity.comparison import Change, Comparison

    rows, columns = before.num_rows, before.num_columns
    change = Change("(whole)", "lossy", max(1, rows), f"table of {rows} x {columns}", what, side="whole")
    return Comparison("lossy", rows, 0, (change,), columns)
