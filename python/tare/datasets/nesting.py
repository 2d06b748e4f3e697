"""How deep a document is nested, and how much its shared parts stand for: looked at without recursion."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from typing import Any

from tare import collector
from tare.datasets.source import Source
from tare.errors import Limit

__all__ = ["FLATTEN", "MAX_DEPTH", "check_tree"]

MAX_DEPTH = 1000
# The JSON and MessagePack libraries installed stop between 1,000 and 1,024 levels, all of them.
FLATTEN = (
    "The libraries stop near there (1,024 levels), so it is neither measured nor converted: flatten it. "
    "`tare inspect` says how deep it is."
)
# What sharing may stand for; a file of that many values of its own is far larger.
_MAX_SHARED = 10_000_000
_TEXT_BYTES = 256  # of a shared text or bytes that count as one value more
_PLAIN = (dict, list, tuple)


def check_tree(source: Source, value: Any, *, shares: bool, size: int = 0) -> None:
    """Refuses a value nested deeper, or shared more often, than anything here can carry.

    Args:
        source: Where it is from, for messages.
        value: The document.
        shares: Whether parts of it may be one object in several places.
        size: Bytes that it was read from. What nothing shares stands for fewer values.

    Raises:
        Limit: It is.
    """
    kinds = _kinds() if shares else _PLAIN
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        with collector.paused():
            inner = _containers_in(level, kinds)
        # What is shared is looked at once a level, or aliases of aliases would never end.
        level = list({id(node): node for node in inner}.values()) if shares else inner
        if not level:
            break
    else:
        text = f"nested deeper than {MAX_DEPTH:,} levels{' (or it contains itself)' * shares}"
        raise source.error(Limit, text, advice=FLATTEN)
    if shares and _expanded(value, kinds) > max(_MAX_SHARED, size):
        raise source.error(
            Limit,
            f"its shared parts stand for more than {_MAX_SHARED:,} values, or texts as long",
            advice="Expand it elsewhere.",
        )


def _kinds() -> tuple[type, ...]:
    """Returns the classes of what holds other values: beside Python's own the tags of CBOR, if its reader was loaded."""
    cbor = sys.modules.get("cbor2")
    return (*_PLAIN, set, frozenset) if cbor is None else (*_PLAIN, set, frozenset, cbor.CBORTag)


def _containers_in(level: Iterable[Any], kinds: tuple[type, ...]) -> list[Any]:
    """Returns the containers that stand in some values, one below."""
    inner: list[Any] = []
    for node in level:
        if isinstance(node, kinds):
            inner += [child for child in _children(node) if isinstance(child, kinds)]
    return inner


def _children(node: Any) -> Collection[Any]:
    if isinstance(node, dict):
        keys = [key for key in node if type(key) is not str]
        return [*node.values(), *keys] if keys else node.values()
    return (node.value,) if hasattr(node, "tag") else node


def _expanded(value: Any, kinds: tuple[type, ...]) -> int:
    """Returns the number of values when everything shared is written out; each container is counted once. No cycles."""
    sizes: dict[int, int] = {}
    stack: list[tuple[Any, bool]] = [(value, False)]
    while stack:
        node, done = stack.pop()
        if not isinstance(node, kinds) or (not done and id(node) in sizes):
            continue
        children = _children(node)
        if done:
            sizes[id(node)] = 1 + sum(sizes.get(id(child)) or _weight(child) for child in children)
        else:
            sizes[id(node)] = 1  # replaced when its children are done
            stack.append((node, True))
            stack.extend((child, False) for child in children)
    return sizes.get(id(value), 1)


def _weight(leaf: Any) -> int:
    return 1 + len(leaf) // _TEXT_BYTES if isinstance(leaf, str | bytes) else 1
