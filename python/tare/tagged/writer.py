"""Writes any value as a tagged tree, without recursion."""

from __future__ import annotations

import json
from typing import Any

from tare.errors import Limit, Unsupported
from tare.tagged.scalars import plain_text, scalar_to_tag
from tare.tagged.stand_ins import Attr, Other, Pairs

__all__ = ["MAX_NODES", "path_text", "to_tagged"]

MAX_NODES = 50_000_000
NEST_FROM = 64
_SHARED_KINDS = (list, dict)


def to_tagged(value: Any, *, share: bool = True, other: bool = False, max_nodes: int = MAX_NODES) -> Any:
    """A JSON-able tree that holds ``value`` exactly.

    Args:
        value: Any value of the types the dialect names, nested to any depth.
        share: Whether lists and maps met more than once become ``$def`` and
            ``$ref``. Without it they are written as copies, and a cycle is an error.
        other: Whether values of foreign types become ``$other`` instead of an error.
        max_nodes: Most values written; reached by cycles with ``share=False``.

    Raises:
        Unsupported: A type outside the dialect; ``path`` says where.
        Limit: More than ``max_nodes`` values.

    >>> to_tagged([1, 2**60, None])
    [1, {'$int': '1152921504606846976'}, None]
    """
    return _Writer(share=share, other=other, max_nodes=max_nodes).write(value)


class _Writer:
    """Fills a tree top down from a work list, so depth is no matter of the call stack."""

    def __init__(self, *, share: bool, other: bool, max_nodes: int) -> None:
        self.share = share
        self.other = other
        self.left = max_nodes
        self.shared: set[int] = set()
        self.numbers: dict[int, int] = {}
        self.work: list[tuple[Any, Any, Any, Any]] = []

    def write(self, value: Any) -> Any:
        if self.share:
            self.shared = _met_twice(value)
        root: list[Any] = [None]
        self.work.append((value, root, 0, None))
        while self.work:
            item, out, key, path = self.work.pop()
            self.left -= 1
            if self.left < 0:
                raise Limit(
                    "more values than max_nodes allows; a cycle needs share=True", path=path_text(path)
                )
            out[key] = self._open(item, path)
        return root[0]

    def _open(self, value: Any, path: Any) -> Any:
        tag = scalar_to_tag(value)
        if tag is not NotImplemented:
            return tag
        if id(value) in self.shared:
            number = self.numbers.get(id(value))
            if number is not None:
                return {"$ref": number}
            number = self.numbers[id(value)] = len(self.numbers) + 1
            return {"$def": number, "of": self._container(value, path)}
        return self._container(value, path)

    def _container(self, value: Any, path: Any) -> Any:
        kind = type(value)
        if kind is list:
            return self._list(value, path)
        if kind is dict:
            return self._map(value, path)
        if kind is tuple:
            return {"$tuple": self._items(value, path)}
        if kind is set:
            return {"$set": self._members(value)}
        if kind is frozenset:
            return {"$set": self._members(value), "as": "frozenset"}
        if kind is Pairs:
            return {"$map": self._pairs(value, path)}
        if kind is Attr:
            return self._attr(value, path)
        if kind is Other:
            return self._other(value.name, value.of, value.text, path)
        return self._foreign(value, path)

    def _list(self, value: list[Any], path: Any) -> Any:
        depth, inner = 1, value
        while len(inner) == 1 and type(inner[0]) is list and id(inner[0]) not in self.shared:
            inner = inner[0]
            depth += 1
            if depth > self.left:
                raise Limit(
                    "more values than max_nodes allows; a cycle needs share=True", path=path_text(path)
                )
        if depth <= NEST_FROM:
            return self._items(value, path)
        self.left -= depth - 1
        return {"$nest": depth - 1, "of": self._items(inner, path)}

    def _items(self, value: Any, path: Any) -> list[Any]:
        out: list[Any] = [None] * len(value)
        at = len(out)
        for item in reversed(value):
            at -= 1
            self.work.append((item, out, at, (path, at)))
        return out

    def _map(self, value: dict[Any, Any], path: Any) -> Any:
        for key in value:
            if type(key) is not str or key[:1] == "$" or not plain_text(key):
                return {"$map": self._pairs(value, path)}
        out: dict[str, Any] = dict.fromkeys(value)
        for key in reversed(value):
            self.work.append((value[key], out, key, (path, key)))
        return out

    def _pairs(self, value: Any, path: Any) -> list[Any]:
        out = []
        pending = []
        for at, (key, item) in enumerate(value.items()):
            pair = [None, None]
            out.append(pair)
            pending.append((item, pair, 1, (path, at)))
            pending.append((key, pair, 0, (path, at)))
        self.work.extend(reversed(pending[::2]))
        # Keys are opened before any value, so their references come first too.
        self.work.extend(reversed(pending[1::2]))
        return out

    def _members(self, value: Any) -> list[Any]:
        """The members in the order of their JSON text: a set has none of its own."""
        tags = [to_tagged(item, share=False, other=self.other, max_nodes=self.left) for item in value]
        return sorted(tags, key=lambda tag: json.dumps(tag, sort_keys=True))

    def _attr(self, value: Attr, path: Any) -> Any:
        out: dict[str, Any] = {"$attr": None, "of": None}
        self.work.append((value.of, out, "of", (path, "of")))
        self.work.append((value.attributes, out, "$attr", (path, "attributes")))
        return out

    def _foreign(self, value: Any, path: Any) -> Any:
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if not self.other:
            raise Unsupported(
                f"an object of type {name.removeprefix('builtins.')} cannot be handed to another process, at "
                f"{path_text(path)}: give None, bool, numbers, text, bytes, dates, lists and dicts, or a table",
                path=path_text(path),
            )
        return self._other(name, _nearest(value), _text_of(value), path)

    def _other(self, name: str, of: Any, text: str, path: Any) -> Any:
        out: dict[str, Any] = {"$other": name}
        if text:
            out["text"] = scalar_to_tag(text)
        if of is not None:
            out["of"] = None
            self.work.append((of, out, "of", path))
        return out


def _met_twice(value: Any) -> set[int]:
    """Identities of the lists and maps that are reachable in more than one way."""
    seen: set[int] = set()
    twice: set[int] = set()
    work = [value]
    while work:
        item = work.pop()
        kind = type(item)
        if kind in _SHARED_KINDS:
            if id(item) in seen:
                twice.add(id(item))
                continue
            seen.add(id(item))
        if kind is list or kind is tuple:
            work.extend(item)
        elif kind is dict:
            work.extend(item.values())
        elif kind is Pairs:
            work.extend(part for pair in item for part in pair)
        elif kind is Attr:
            work.extend((item.attributes, item.of))
    return twice


def _nearest(value: Any) -> Any:
    """The value of a subclass as its base type, else None."""
    bases: tuple[Any, ...] = (int, float, str, bytes, dict, list, tuple, frozenset, set)
    for base in bases:
        if isinstance(value, base):
            plain = base.__new__(base, value)
            if base in (dict, list, set):
                plain.__init__(value)
            return plain
    return None


def _text_of(value: Any) -> str:
    try:
        return repr(value)[:200]
    except Exception:  # a foreign type may fail in any way when printed
        return ""


def path_text(path: Any) -> str:
    """A linked path as text, ``$.items[3].price``, cut to 40 steps."""
    parts: list[str] = []
    while path is not None:
        path, key = path
        parts.append(f"[{key}]" if isinstance(key, int) else f".{key}"[:80])
    return "$" + "".join(reversed(parts[:40]))
