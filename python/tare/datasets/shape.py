"""The shape of a document: how deep, how many of what; from a sample when it is large."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Shape", "measure"]

# Containers that one pass may visit: about a tenth of a second.
_BUDGET = 30_000
# Lists longer than this are sampled, more of them in each further pass.
_CAPS = (None, 2000, 200, 20, 4)
_NAMES = {
    str: "text", int: "int", float: "num", bool: "bool", type(None): "null", bytes: "binary", dict: "map", list: "list",
}  # fmt: skip


@dataclass
class Shape:
    """Counts over a document; estimates if it was sampled.

    Args:
        depth: Levels of maps and lists; 0 for a single value.
        maps, lists, leaves: How many of each.
        keys: Number of map members.
        types: Number of leaves by type.
        distinct_keys: Number of different keys seen.
        sampled: Whether long lists were sampled.
    """

    depth: int = 0
    maps: float = 0
    lists: float = 0
    leaves: float = 0
    keys: float = 0
    types: dict[str, float] = field(default_factory=dict)
    distinct_keys: int = 0
    sampled: bool = False


def measure(value: Any, *, seed: int = 0) -> Shape:
    """Walk the document without recursion and in bounded time.

    >>> found = measure({"a": [1, 2.5, None], "b": {"c": "x"}})
    >>> found.depth, found.maps, found.lists, found.leaves, found.types["int"]
    (2, 2, 1, 4, 1)
    """
    for cap in _CAPS:
        found = _walk(value, cap, seed)
        if found is not None:
            return found
    return _walk(value, _CAPS[-1], seed, must=True) or Shape()


def _walk(value: Any, cap: int | None, seed: int, *, must: bool = False) -> Shape | None:
    import random

    draw = random.Random(seed)  # noqa: S311 - a sample, no secret
    shape = Shape()
    types: dict[str, float] = defaultdict(float)
    keys: set[Any] = set()
    stack: list[tuple[Any, int, float]] = [(value, 1, 1.0)]
    visited = 0
    while stack:
        node, depth, weight = stack.pop()
        if isinstance(node, dict):
            shape.maps += weight
            shape.keys += len(node) * weight
            if len(keys) < 100_000:
                keys.update(node)
            children: Any = node.values()
        elif isinstance(node, list | tuple | set | frozenset):
            shape.lists += weight
            children = node
        else:
            types[_name(type(node))] += weight
            shape.leaves += weight
            continue
        visited += 1
        if visited > _BUDGET:
            if must:
                shape.sampled = True
                break
            return None
        shape.depth = max(shape.depth, depth)
        inner, leaves = _children(children, types, weight)
        if cap is None and len(inner) > _BUDGET - visited:
            return None
        shape.leaves += leaves * weight
        if cap is not None and len(inner) > cap:
            shape.sampled = True
            weight *= len(inner) / cap
            inner = draw.sample(inner, cap)
        stack.extend((child, depth + 1, weight) for child in inner)
    shape.types = {name: round(count) for name, count in sorted(types.items(), key=lambda item: -item[1])}
    shape.distinct_keys = len(keys)
    shape.maps, shape.lists, shape.keys = round(shape.maps), round(shape.lists), round(shape.keys)
    shape.leaves = round(shape.leaves)
    return shape


def _children(children: Any, types: dict[str, float], weight: float) -> tuple[list[Any], int]:
    """Containers among them, and how many leaves there are; leaves are counted by type at once."""
    counts = Counter(map(type, children))
    leaves = 0
    for kind, n in counts.items():
        if not issubclass(kind, dict | list | tuple | set | frozenset):
            types[_name(kind)] += n * weight
            leaves += n
    if leaves == len(children):
        return [], leaves
    if leaves == 0:
        return list(children), 0
    return [child for child in children if isinstance(child, dict | list | tuple | set | frozenset)], leaves


def _name(kind: type) -> str:
    return _NAMES.get(kind, kind.__name__)
