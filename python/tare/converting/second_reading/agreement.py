"""Python's values by two readers: where they first differ. What one of them has no type for is not compared."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from tare.fidelity.values import equal_bytes

__all__ = ["first_difference"]

_NUMBERS = (int, float, Decimal)
_SCALARS = (*_NUMBERS, str, bytes, bool, type(None), dt.date, dt.time, dt.timedelta)
_LISTS = (list, tuple)


def first_difference(first: Any, second: Any) -> tuple[str, Any, Any] | None:
    """Returns the path of the first difference and both values; None if there is none.

    A number is the same as another of its value, whatever their types; a mapping the same as its pairs.

    >>> first_difference({"a": [1, 2.0, None]}, {"a": [1, 2, 0]})
    ('a[2]', None, 0)
    >>> first_difference({"m": {"a": 1, "b": None}}, {"m": {"a": 1}})
    ('m', {'a': 1, 'b': None}, {'a': 1})
    """
    if equal_bytes(first, second):
        return None
    stack: list[tuple[str, Any, Any]] = [("", first, second)]
    while stack:
        path, a, b = stack.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return path, a, b
            inner = [(_named(path, key), a[key], b[key]) for key in a]
        elif isinstance(a, _LISTS) and isinstance(b, _LISTS):
            if len(a) != len(b):
                return path, a, b
            inner = [(f"{path}[{at}]", one, other) for at, (one, other) in enumerate(zip(a, b, strict=True))]
        elif isinstance(a, _LISTS) and isinstance(b, dict) and _are_pairs(a, b):
            inner = [(_named(path, key), item, b[key]) for key, item in a]
        elif _agree(a, b):
            continue
        else:
            return path, a, b
        stack += reversed(inner)
    return None


def _named(path: str, key: Any) -> str:
    name = key if isinstance(key, str) else f"[{key!r}]"
    return f"{path}.{name}" if path and isinstance(key, str) else f"{path}{name}"


def _are_pairs(pairs: Any, mapping: dict[Any, Any]) -> bool:
    """Returns whether a list has one pair for each key of a mapping, in its order."""
    return [pair[0] for pair in pairs if isinstance(pair, tuple) and len(pair) == 2] == list(mapping)


def _agree(a: Any, b: Any) -> bool:
    """Returns whether two scalars are the same, or cannot be compared."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b or not (_is_known(a) and _is_known(b))
    if isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
        return _same_number(a, b)
    if isinstance(a, dt.datetime) and isinstance(b, dt.datetime) and (a.tzinfo is None) != (b.tzinfo is None):
        return True  # one of them knows no zones
    if _is_known(a) and _is_known(b):
        return type(a) is type(b) and bool(a == b)
    containers = isinstance(a, (dict, *_LISTS)) + isinstance(b, (dict, *_LISTS))
    return containers == 0 or not (containers == 2 or _is_known(a) or _is_known(b))


def _is_known(value: Any) -> bool:
    return type(value) in _SCALARS or type(value) is dt.datetime


def _same_number(a: Any, b: Any) -> bool:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    if isinstance(a, float) is isinstance(b, float):
        return False
    try:  # a reader that knows no long integers makes the nearest double of one
        return float(a) == float(b) and abs(float(a)) >= 2**53
    except OverflowError:
        return math.isinf(a if isinstance(a, float) else b)
