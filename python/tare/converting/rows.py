"""Lists of objects as the rows of a table: which documents are some, and what a table makes of their names."""

from __future__ import annotations

from typing import Any

__all__ = ["filled", "is_rows"]


def is_rows(value: Any) -> bool:
    """Returns true if a document is a list of objects, the rows of a table.

    >>> is_rows([{"a": 1}, {}]), is_rows([1])
    (True, False)
    """
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def filled(value: Any, back: Any) -> Any:
    """Returns a value with the names that only what came back has, where they are null there, in the order there.

    Args:
        value: What went into a table.
        back: What came back of it.

    >>> filled([{"b": {"x": 1}}], [{"a": None, "b": {"y": None, "x": 1}}])
    [{'a': None, 'b': {'y': None, 'x': 1}}]
    """
    if type(value) is dict and type(back) is dict:
        known = {
            name: filled(value[name], other) if name in value else None
            for name, other in back.items()
            if name in value or other is None
        }
        return {**known, **{name: one for name, one in value.items() if name not in back}}
    if type(value) is list and type(back) is list and len(value) == len(back):
        return [filled(one, other) for one, other in zip(value, back, strict=True)]
    return value
