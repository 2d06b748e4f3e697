"""Values inside values: what a document of blit does not hold by itself, wrapped into one that does.

A function that is cached often gives a tuple of a table and a dict, or a dict with dates and arrays.
Such a value is a document in which each part that blit has no kind for is an object of one name:

| Wrapped | For |
|---|---|
| ``{"$tuple": [...]}``, ``{"$set": [...]}``, ``{"$frozenset": [...]}`` | tuples and sets; sets in the order of their items' bytes |
| ``{"$map": [[key, value], ...]}`` | dicts with other names than text, or with a first name that begins with ``$`` |
| ``{"$date": ...}``, ``{"$ts": ...}``, ``{"$dec": ...}`` and other scalars | as `tare.tagged` writes them |
| ``{"$value": [codec, bytes]}`` | arrays, tables and R objects, by the codec that they have alone |

Numbers, text, bytes, None, lists and dicts with names of text stay as they are. An object of a subclass
is written as its base, so named tuples come back as tuples. The codec of such a value is ``blit:values``.

>>> wrapped({"sizes": (1, 2), "seen": {3}}, lambda value: ("raw", bytes(value)))
{'sizes': {'$tuple': [1, 2]}, 'seen': {'$set': [3]}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from tare.errors import Limit, Malformed, TareError, Unsupported
from tare.store import values
from tare.tagged.scalars import READERS, scalar_to_tag

__all__ = ["MAX_DEPTH", "unwrapped", "wrapped"]

MAX_DEPTH = 200
"""Values inside each other: below the levels of a document, and of Python's own stack."""

_PLAIN = frozenset({type(None), bool, int, float, str, bytes})
_SETS: dict[type, str] = {set: "$set", frozenset: "$frozenset"}
_BASES = (bool, int, float, str, bytes, Decimal, dict, list, tuple, set, frozenset)
_ALONE = frozenset({"$tuple", "$set", "$frozenset", "$map", "$value"})

Encode = Callable[[Any], tuple[str, bytes]]
Decode = Callable[[str, bytes], Any]


def wrapped(value: Any, encode: Encode) -> Any:
    """A tree of what blit holds.

    Args:
        value: Any value.
        encode: Gives the codec and the bytes of a value that has a codec of its own.

    Raises:
        Unsupported: A part that no codec holds; ``path`` says where.
        Limit: More than `MAX_DEPTH` values inside each other, as of a list that holds itself.
    """
    try:
        return _Writer(encode).write(value, "$", 0)
    except RecursionError:
        raise _too_deep("$") from None


def unwrapped(tree: Any, decode: Decode) -> Any:
    """The value of a tree that `wrapped` gave.

    Args:
        tree: What blit gave.
        decode: Gives the value of a codec and bytes.

    Raises:
        Malformed: A wrapping that `wrapped` does not write.
        Limit: More than `MAX_DEPTH` values inside each other.
    """
    try:
        return _Reader(decode).read(tree, 0)
    except RecursionError:
        raise _too_deep(None) from None


class _Writer:
    def __init__(self, encode: Encode) -> None:
        self.encode = encode

    def write(self, value: Any, path: str, depth: int) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if depth > MAX_DEPTH:
            raise _too_deep(path)
        if kind is list:
            return self.items(value, path, depth)
        if kind is dict:
            return self.mapping(value, path, depth)
        if kind is tuple:
            return {"$tuple": self.items(value, path, depth)}
        name = _SETS.get(kind)
        if name is not None:
            return {name: self.members(value, path, depth)}
        return self.other(value, path, depth)

    def items(self, value: Iterable[Any], path: str, depth: int) -> list[Any]:
        return [self.write(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]

    def mapping(self, value: dict[Any, Any], path: str, depth: int) -> dict[str, Any]:
        if all(type(key) is str for key in value) and not next(iter(value), "").startswith("$"):
            return {key: self.write(item, f"{path}.{key}", depth + 1) for key, item in value.items()}
        pairs = [
            [
                self.write(key, f"{path}, a key", depth + 2),
                self.write(item, f"{path}[{key!r:.40}]", depth + 2),
            ]
            for key, item in value.items()
        ]
        return {"$map": pairs}

    def members(self, value: Iterable[Any], path: str, depth: int) -> list[Any]:
        """The items of a set in an order that does not depend on this process's hashes."""
        from tare import blit

        made = [self.write(item, f"{path}, an item", depth + 1) for item in value]
        return sorted(made, key=lambda item: blit.encode(item, surrogates="keep"))

    def other(self, value: Any, path: str, depth: int) -> Any:
        try:
            tag = scalar_to_tag(value)
        except Unsupported as error:
            raise values.refused(value, Unsupported(str(error), path=path)) from None
        if tag is not NotImplemented:
            return tag
        codec = values.codec_of(value)
        if codec is not None and codec != "blit":
            if callable(getattr(value, "read", None)):
                raise Unsupported(
                    f"a file inside a value, at {path}: set it under a key of its own", path=path
                )
            try:
                id, data = self.encode(value)
            except TareError as error:
                error.path = error.path or path
                raise
            return {"$value": [id, data]}
        base = next((base for base in _BASES if isinstance(value, base)), None)
        if base is None:
            told = values.refused(value)
            raise Unsupported(f"{told}, at {path}", format="blit:values", path=path)
        return self.write(base(value), path, depth)


class _Reader:
    def __init__(self, decode: Decode) -> None:
        self.decode = decode

    def read(self, tree: Any, depth: int) -> Any:
        kind = type(tree)
        if kind is not list and kind is not dict:
            return tree
        if depth > MAX_DEPTH + 2:
            raise _too_deep(None)
        if kind is list:
            return self.items(tree, depth)
        name = next(iter(tree), "")
        if not name.startswith("$"):
            return {key: self.read(item, depth + 1) for key, item in tree.items()}
        return self.unwrap(name, tree, depth)

    def items(self, trees: Any, depth: int) -> list[Any]:
        if type(trees) is not list:
            raise _malformed("a list was expected")
        return [self.read(item, depth + 1) for item in trees]

    def unwrap(self, name: str, tree: dict[str, Any], depth: int) -> Any:
        held = tree[name]
        if name in _ALONE and len(tree) > 1:
            raise _malformed(f"{name} stands beside {list(tree)[1][:40]!r}")
        if name == "$value":
            return self.value(held)
        try:
            if name == "$tuple":
                return tuple(self.items(held, depth))
            if name in ("$set", "$frozenset"):
                return (set if name == "$set" else frozenset)(self.items(held, depth))
            if name == "$map":
                return dict(self.items(held, depth))
        except (TypeError, ValueError) as error:
            raise _malformed(f"{name}: {error}") from None
        reader, fields = READERS.get(name, (None, frozenset[str]()))
        if reader is None or not fields.issuperset(list(tree)[1:]):
            raise _malformed(f"{name[:40]!r} is no wrapping")
        return reader(tree)

    def value(self, held: Any) -> Any:
        if type(held) is not list or list(map(type, held)) != [str, bytes]:
            raise _malformed("$value holds the name of a codec and bytes")
        return self.decode(*held)


def _malformed(text: str) -> Malformed:
    return Malformed(f"blit:values: {text}", format="blit:values")


def _too_deep(path: str | None) -> Limit:
    return Limit(f"more than {MAX_DEPTH} values inside each other", format="blit:values", path=path)
