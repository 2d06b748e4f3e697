"""Reads a tagged tree back into the value it holds, strictly and without recursion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tare.errors import Limit, Malformed, Unsupported
from tare.tagged.scalars import PLAIN_INT, READERS, plain_text
from tare.tagged.stand_ins import Attr, Other, Pairs
from tare.tagged.writer import MAX_NODES, path_text

__all__ = ["MAX_DEPTH", "from_tagged"]

MAX_DEPTH = 100_000

_CONTAINERS = {
    "$tuple": frozenset[str](),
    "$set": frozenset({"as"}),
    "$map": frozenset[str](),
    "$attr": frozenset({"of"}),
    "$def": frozenset({"of"}),
    "$ref": frozenset[str](),
    "$nest": frozenset({"of"}),
    "$other": frozenset({"of", "text"}),
}


def from_tagged(tree: Any, *, max_depth: int = MAX_DEPTH, max_nodes: int = MAX_NODES) -> Any:
    """The value that a tagged tree holds; the inverse of ``to_tagged``.

    Args:
        tree: What a JSON parser gave.
        max_depth: Most containers around a value.
        max_nodes: Most values read.

    Raises:
        Malformed: An unknown tag or field, or a wrong value in one; ``path`` says where.
        Unsupported: Well formed, but this machine lacks the type or time zone.
        Limit: Deeper or larger than allowed.

    >>> from_tagged({"$dec": "1.10"})
    Decimal('1.10')
    """
    return _Reader(max_depth=max_depth, max_nodes=max_nodes).read(tree)


class _Reader:
    """Builds the value from a work list; ``finish`` entries close immutable containers."""

    def __init__(self, *, max_depth: int, max_nodes: int) -> None:
        self.max_depth = max_depth
        self.left = max_nodes
        self.defined: dict[int, Any] = {}
        self.work: list[tuple[Any, ...]] = []

    def read(self, tree: Any) -> Any:
        root: list[Any] = [None]
        self.work.append((tree, root, 0, None, 0))
        while self.work:
            entry = self.work.pop()
            if len(entry) == 2:
                entry[0](*entry[1])
                continue
            node, out, key, path, depth = entry
            self.left -= 1
            if self.left < 0:
                raise Limit("tagged values: more than max_nodes values", path=path_text(path))
            if depth > self.max_depth:
                raise Limit(f"tagged values: deeper than max_depth={self.max_depth}", path=path_text(path))
            try:
                self._open(node, out, key, path, depth)
            except (Malformed, Unsupported) as error:
                if error.path is None:
                    raise type(error)(
                        f"{error}, at {path_text(path)}", format="values/1", path=path_text(path)
                    ) from error
                raise
        return root[0]

    def _open(self, node: Any, out: Any, key: Any, path: Any, depth: int) -> None:
        kind = type(node)
        if kind is str:
            if not plain_text(node):
                raise Malformed("text with a surrogate needs $text16")
            out[key] = node
        elif node is None or kind is bool:
            out[key] = node
        elif kind is int:
            if not -PLAIN_INT <= node <= PLAIN_INT:
                raise Malformed("an integer beyond 2**53 needs $int")
            out[key] = node
        elif kind is list:
            value: list[Any] = [None] * len(node)
            out[key] = value
            self._push(node, value, path, depth)
        elif kind is dict:
            self._object(node, out, key, path, depth)
        elif kind is float:
            raise Malformed("a float needs $f64")
        else:
            raise Malformed(f"{kind.__name__} is nothing JSON gives")

    def _push(self, nodes: list[Any], value: list[Any], path: Any, depth: int) -> None:
        for at in range(len(nodes) - 1, -1, -1):
            self.work.append((nodes[at], value, at, (path, at), depth + 1))

    def _object(self, node: dict[str, Any], out: Any, key: Any, path: Any, depth: int) -> None:
        tag = next((name for name in node if name[:1] == "$"), None)
        if tag is None:
            value: dict[str, Any] = dict.fromkeys(node)
            out[key] = value
            for name in reversed(node):
                if not plain_text(name):
                    raise Malformed("a key with a surrogate needs $map")
                self.work.append((node[name], value, name, (path, name), depth + 1))
            return
        reader, fields = READERS.get(tag, (None, _CONTAINERS.get(tag)))
        if fields is None:
            raise Malformed(f"unknown tag {tag[:40]!r}")
        extra = next((name for name in node if name != tag and name not in fields), None)
        if extra is not None:
            raise Malformed(f"{tag} has no field {extra[:40]!r}")
        if reader is not None:
            out[key] = reader(node)
        else:
            getattr(self, f"_read_{tag[1:]}")(node, out, key, path, depth)

    def _read_tuple(self, node: Any, out: Any, key: Any, path: Any, depth: int) -> None:
        def finish(items: list[Any]) -> None:
            out[key] = tuple(items)

        self._items(node, "$tuple", finish, path, depth)

    def _read_set(self, node: Any, out: Any, key: Any, path: Any, depth: int) -> None:
        host = node.get("as")
        if host not in (None, "frozenset"):
            raise Malformed("$set as can only be frozenset")

        def finish(items: list[Any]) -> None:
            try:
                made = frozenset(items) if host else set(items)
            except (TypeError, ValueError) as error:
                raise Unsupported("a set of values that Python cannot hash", path=path_text(path)) from error
            if len(made) != len(items):
                raise Malformed("$set repeats a member", path=path_text(path))
            out[key] = made

        self._items(node, "$set", finish, path, depth)

    def _items(self, node: Any, tag: str, finish: Callable[[list[Any]], None], path: Any, depth: int) -> None:
        nodes = node[tag]
        if type(nodes) is not list:
            raise Malformed(f"{tag} needs a list")
        items: list[Any] = [None] * len(nodes)
        self.work.append((finish, (items,)))
        self._push(nodes, items, path, depth)

    def _read_map(self, node: Any, out: Any, key: Any, path: Any, depth: int) -> None:
        pairs = node["$map"]
        if type(pairs) is not list or any(type(pair) is not list or len(pair) != 2 for pair in pairs):
            raise Malformed("$map needs a list of [key, value]")
        keys: list[Any] = [None] * len(pairs)
        made: dict[Any, Any] | Pairs = {}
        out[key] = made

        def finish() -> None:
            nonlocal made
            if _unique(keys):
                slots = dict.fromkeys(keys)
                made.update(slots)  # type: ignore[union-attr]
                self._values(pairs, keys, made, path, depth)
            else:
                out[key] = made = Pairs((name, None) for name in keys)
                self._values(pairs, None, made, path, depth)

        self.work.append((finish, ()))
        self._push([pair[0] for pair in pairs], keys, path, depth)

    def _values(self, pairs: list[Any], keys: list[Any] | None, made: Any, path: Any, depth: int) -> None:
        if keys is not None:
            for at in range(len(pairs) - 1, -1, -1):
                self.work.append((pairs[at][1], made, keys[at], (path, at), depth + 1))
            return
        values: list[Any] = [None] * len(pairs)

        def finish() -> None:
            made[:] = [(name, value) for (name, _), value in zip(made, values, strict=True)]

        self.work.append((finish, ()))
        self._push([pair[1] for pair in pairs], values, path, depth)

    def _read_attr(self, node: Any, out: Any, key: Any, path: Any, depth: int) -> None:
        if "of" not in node:
            raise Malformed("$attr needs of")
        value = out[key] = Attr({}, None)
        fields = value.__dict__

        def finish() -> None:
            if type(value.attributes) is not dict:
                raise Malformed("$attr needs an object", path=path_text(path))

        self.work.append((finish, ()))
        self.work.append((node["of"], fields, "of", (path, "of"), depth + 1))
        self.work.append((node["$attr"], fields, "attributes", (path, "attributes"), depth + 1))

    def _read_def(self, node: Any, out: Any, key: Any, path: Any, depth: int) -> None:
        number = node["$def"]
        if type(number) is not int or number in self.defined or "of" not in node:
            raise Malformed("$def needs a new number and of")
        inner = node["of"]
        plain = type(inner) is list or (type(inner) is dict and not any(name[:1] == "$" for name in inner))
        if not plain and not (type(inner) is dict and ("$map" in inner or "$nest" in inner)):
            # Immutable values are complete only at the end: refer to them from later places.
            slot: list[Any] = [None]

            def finish() -> None:
                out[key] = self.defined[number] = slot[0]

            self.work.append((finish, ()))
            self.work.append((inner, slot, 0, path, depth + 1))
            return
        self._open(inner, out, key, path, depth + 1)
        self.defined[number] = out[key]

    def _read_ref(self, node: Any, out: Any, key: Any, path: Any, depth: int) -> None:
        number = node["$ref"]
        if type(number) is not int or number not in self.defined:
            raise Malformed("$ref to a number that no finished $def has")
        out[key] = self.defined[number]

    def _read_nest(self, node: Any, out: Any, key: Any, path: Any, depth: int) -> None:
        count = node["$nest"]
        if type(count) is not int or count < 1 or "of" not in node:
            raise Malformed("$nest needs a count of at least 1 and of")
        if depth + count > self.max_depth or count > self.left:
            raise Limit(f"tagged values: deeper than max_depth={self.max_depth}", path=path_text(path))
        self.left -= count
        outer: list[Any] = [None]
        out[key] = inner = outer
        for _ in range(count - 1):
            inner[0] = [None]
            inner = inner[0]
        self.work.append((node["of"], inner, 0, path, depth + count))

    def _read_other(self, node: Any, out: Any, key: Any, path: Any, depth: int) -> None:
        slot: list[Any] = [None, None]

        def finish() -> None:
            out[key] = Other(str(node["$other"]), slot[0], str(slot[1] or ""))

        self.work.append((finish, ()))
        self.work.append((node.get("of"), slot, 0, path, depth + 1))
        self.work.append((node.get("text"), slot, 1, path, depth + 1))


def _unique(keys: list[Any]) -> bool:
    try:
        return len(set(keys)) == len(keys)
    except (TypeError, ValueError):  # NumPy's durations without a unit have no hash
        return False
