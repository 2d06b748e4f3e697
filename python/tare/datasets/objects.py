"""Which Python objects are data: what nothing can hold is refused before anything is measured."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from tare.errors import UsageError

__all__ = ["check"]

# Containers that are looked into: about a tenth of a second. A mistake shows in the first ones.
_BUDGET = 100_000
_CONTAINERS = (dict, list, tuple, set, frozenset)
_CODE = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    type,
)
# (library, class) of arrays that are neither a table nor a document -> what to pass instead.
_ARRAYS = {
    ("numpy", "ndarray"): "pass .tolist(), or a table such as pyarrow.table({'x': array})",
    ("pandas", "Series"): "pass .to_frame()",
    ("pandas", "Index"): "pass .to_frame(index=False)",
    ("polars", "Series"): "pass .to_frame()",
    ("pyarrow", "Array"): "pass pyarrow.table({'x': array})",
    ("pyarrow", "ChunkedArray"): "pass pyarrow.table({'x': array})",
}


def check(value: Any) -> None:
    """Refuse what is no data, such as a function, a generator, or a list that contains itself.

    Of a large document the first 100,000 containers are looked into.

    Raises:
        UsageError: What it is, and what to pass instead.

    >>> check({"a": [1, None]})
    >>> check(n for n in range(3))
    Traceback (most recent call last):
    ...
    tare.errors.UsageError: a generator gives its values once only: pass list(...) of it
    """
    for cls in type(value).__mro__:
        advice = _ARRAYS.get((cls.__module__.partition(".")[0], cls.__name__))
        if advice is not None:
            raise UsageError(f"a {cls.__module__.partition('.')[0]} {cls.__name__} is no table: {advice}")
    _check_leaf(type(value), "")
    if isinstance(value, _CONTAINERS):
        _check_inside(value)


def _check_leaf(kind: type, where: str) -> None:
    article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
    if issubclass(kind, Iterator):
        raise UsageError(f"{article} {kind.__name__}{where} gives its values once only: pass list(...) of it")
    if kind is object or issubclass(kind, _CODE):
        raise UsageError(f"{article} {kind.__name__}{where} is no data that a format could hold: pass values")


def _check_inside(value: Any) -> None:
    """Go down first, with the way down remembered: who is met again on it contains itself."""
    way, met = {id(value)}, {id(value)}
    stack = [(value, _inner(value))]
    while stack and len(met) < _BUDGET:
        node, inner = stack[-1]
        child = next(inner, None)
        if child is None:
            stack.pop()
            way.discard(id(node))
        elif id(child) in way:
            raise UsageError(f"a {type(child).__name__} contains itself: no format can hold it")
        elif id(child) not in met:
            way.add(id(child))
            met.add(id(child))
            stack.append((child, _inner(child)))


def _inner(node: Any) -> Iterator[Any]:
    """The containers in a container; its other members are checked by their types."""
    children = node.values() if isinstance(node, dict) else node
    for kind in set(map(type, children)):
        _check_leaf(kind, f" in a {type(node).__name__}")
    return (child for child in children if isinstance(child, _CONTAINERS))
