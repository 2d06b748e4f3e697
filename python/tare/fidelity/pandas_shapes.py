"""Compares what data frames of pandas have beside their values: row index, labels of columns, dtypes."""

from __future__ import annotations

from typing import Any

from tare.fidelity.comparison import Tally, show
from tare.pandas_metadata import Shape, shape_of_table

__all__ = ["compare_shapes"]


def compare_shapes(original: Any, back: Any, paths: list[str], tally: Tally) -> None:
    """Counts what changed of the frames that two tables of Arrow were; nothing of it is a value.

    Args:
        original: Table of the frame that was encoded.
        back: Table of the frame that came back.
        paths: Name of each column of the original in changes.
        tally: Where changes are counted.

    >>> import pandas as pd
    >>> from tare.kinds import convert
    >>> tally = Tally()
    >>> frame = pd.DataFrame({"v": [1.5]}, index=pd.Index(["a"], name="k"))
    >>> compare_shapes(convert(frame, "arrow"), convert(frame.reset_index(), "arrow"), ["v", "k"], tally)
    >>> tally.found
    {('', 'index', 'type'): [1, "'k'", 'none', '']}
    """
    before, after = shape_of_table(original), shape_of_table(back)
    if _index(before, before) != _index(after, before):
        tally.add("", "type", _shown_index(before), _shown_index(after), "", side="index")
    labelled = before.labels is not None or after.labels is not None
    if labelled and (was := _labels(original, before)) != (now := _labels(back, after)):
        was_shown, now_shown = (show(one[0] if was[0] != now[0] else one) for one in (was, now))
        tally.add("", "type", was_shown, now_shown, "", side="column labels")
    changed = {path for path, _, _ in tally.found}
    found = dict(after.dtypes)
    for at, (name, dtype) in enumerate(before.dtypes):
        became = found.get(name) or _dtype_by_type(back, name)
        if became and became != dtype and paths[at] not in changed:
            tally.add(paths[at], "type", dtype, became, "", count=max(1, original.num_rows), side="dtype")


def _index(shape: Shape, known: Shape) -> list[tuple[Any, ...]]:
    """The levels of an index, with their dtypes where those of another are known: a file of others may not say them."""
    told = all(level.dtype for level in known.index)
    return [(level.name, level.dtype, level.freq) if told else (level.name,) for level in shape.index]


def _shown_index(shape: Shape) -> str:
    """The names of the levels as text."""
    shown = ", ".join("without a name" if level.name is None else f"'{level.name}'" for level in shape.index)
    return show(shown)[1:-1] if shown else "none"


def _labels(table: Any, shape: Shape) -> tuple[Any, ...]:
    if shape.labels is not None:
        return shape.labels, shape.label_names
    fields = [level.field for level in shape.index]
    return tuple(name for name in table.column_names if name not in fields), (None,)


def _dtype_by_type(table: Any, name: str) -> str:
    """The dtype of a column of a frame that had none but plain ones, by its type; empty for one of several names."""
    import pyarrow as pa

    if table.column_names.count(name) != 1:
        return ""
    kind = table.schema.field(name).type
    if pa.types.is_string(kind):
        return "str"
    if pa.types.is_boolean(kind):
        return "bool"
    if pa.types.is_timestamp(kind):
        return f"datetime64[{kind.unit}{f', {kind.tz}' if kind.tz else ''}]"
    if pa.types.is_duration(kind):
        return f"timedelta64[{kind.unit}]"
    return {"float": "float32", "double": "float64"}.get(str(kind), str(kind))
