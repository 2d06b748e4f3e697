"""Compares a document with what came back, value by value and type by type.

Plain documents are compared by their ``marshal`` bytes, which tell 1 from 1.0
and True, -0.0 from 0.0, key order, tuple from list and bytes from text, at the
speed of C. Only parts with other bytes are walked. The walk keeps its own
stack, so depth is no limit, and counts each change under its path pattern.
"""

from __future__ import annotations

import datetime as dt
import marshal
import re
from collections.abc import Iterable
from itertools import count, repeat
from typing import Any

from tare.fidelity.comparison import Comparison, Tally, show
from tare.fidelity.rebuild import is_same_number, rebuilt, verdict_of
from tare.tagged.scalars import f64_bits
from tare.tagged.stand_ins import Attr, Other, Pairs

__all__ = ["compare_values", "equal_bytes"]

ROOT = "(whole)"
SLICE = 2_000
REMEMBER_FROM = 1_000
_ITEM = object()  # the step from a list to its items
PATTERN_CHARACTERS = 200
_MOST_PAIRED = 1_000  # members of a set, each of which is compared with all others
_DIRECT = frozenset({str, int, bool, type(None), bytes})
_CONTAINERS = frozenset({dict, list, tuple, set, frozenset})
_TOLD_APART = _CONTAINERS | {str, int, float, complex, bool, type(None), bytes, type(...)}
_SEQUENCES = (list, tuple)
_SIMPLE_KEY = re.compile(r"[^\W\d][\w-]{0,60}\Z", re.ASCII)


def compare_values(
    original: Any,
    back: Any,
    *,
    limit: int = 20,
    by_offset: bool = False,
    by_number: bool = False,
    in_utc: bool = False,
) -> Comparison:
    """What ``back`` kept of ``original``.

    Equal means: types equal; floats by their bits; maps by order and keys;
    times by instant, offset and zone; decimals by digits. Shared references
    equal copies. A NaN with another payload is a change of its own.

    Args:
        original: What was encoded.
        back: What decoding gave.
        limit: Most changes in the answer, 20 by default; the worst come first.
        by_offset: Whether the name of a time's zone belongs to its type, as that of a column does: an equal clock
            at an equal offset is a change of the type then.
        by_number: Whether the digits behind the last one that counts belong to the type of a decimal, as in a column,
            which has one scale: 1.1 is a change of the type of 1.10 then.
        in_utc: Whether times without a zone are in UTC, as those of BSON: the same moment is a change of the type then.

    >>> compare_values({"a": [1, 2.5]}, {"a": [1, None]}).changes[0].path
    'a[*]'
    """
    tally = Tally()
    if not equal_bytes(original, back):
        _Walk(tally, by_offset=by_offset, by_number=by_number, in_utc=in_utc).run(original, back)
    # A decoder that swallows its error gives None: nothing came back, not one value.
    items_out = 0 if back is None and original is not None else _items(back)
    return tally.comparison(_items(original), items_out, limit)


def equal_bytes(a: Any, b: Any) -> bool:
    """Whether both give the same ``marshal`` bytes; False also when they give none.

    Long lists are compared in slices, so the bytes held are those of a slice.
    """
    if type(a) is not type(b):
        return False
    if type(a) is dict and len(a) == len(b):
        big = [key for key, value in a.items() if type(value) is list and len(value) > SLICE]
        if 0 < len(big) <= 16:
            return _equal_around(a, b, big)
    if type(a) is not list or len(a) <= SLICE:
        return _equal(a, b)
    if len(a) != len(b):
        return False
    return all(_equal(a[at : at + SLICE], b[at : at + SLICE]) for at in range(0, len(a), SLICE))


def _equal_around(a: dict[Any, Any], b: dict[Any, Any], big: list[Any]) -> bool:
    """Equal maps: the long lists by slices, everything else at once."""
    if any(type(b.get(key)) is not list or not equal_bytes(a[key], b[key]) for key in big):
        return False
    hidden = dict.fromkeys(big)
    return _equal({**a, **hidden}, {**b, **hidden})


def _equal(a: Any, b: Any) -> bool:
    try:
        if marshal.dumps(a, 2) != marshal.dumps(b, 2):
            return False
    except (ValueError, MemoryError):  # too deep, or a type that marshal does not know; in a set the latter
        return False
    return _holds_no_bytes(a) or (_types(a) | _types(b)) <= _TOLD_APART


def _holds_no_bytes(value: Any) -> bool:
    """Whether ``value`` surely holds no bytes, found at the speed of C.

    Marshal writes everything that has a buffer as bytes: a bytearray, a NumPy
    scalar. Where the original holds none of them, equal bytes mean equal values;
    orjson refuses them all.
    """
    import orjson

    try:
        orjson.dumps(value)
    except (TypeError, RecursionError):
        return False
    return True


def _types(value: Any) -> set[type]:
    """The types in a value that marshal has written, so without cycles."""
    found: set[type] = set()
    layer: list[Any] = [value]
    while layer:
        kinds = set(map(type, layer))
        found |= kinds
        inner: list[Any] = []
        if not kinds.isdisjoint(_CONTAINERS):
            for item in layer:
                kind = type(item)
                if kind in _CONTAINERS:
                    inner.extend(item)
                    if kind is dict:
                        inner.extend(item.values())
        layer = inner
    return found


def _items(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple) else 1


class _Walk:
    """Walks pairs of containers from a stack; scalars are judged where they are met."""

    def __init__(self, tally: Tally, *, by_offset: bool, by_number: bool, in_utc: bool) -> None:
        self.tally = tally
        self.by_offset = by_offset
        self.by_number = by_number
        self.in_utc = in_utc
        self.stack: list[tuple[Any, Any, str, Any, int, int]] = []
        self.shapes: dict[tuple[str, tuple[Any, ...]], tuple[str, ...]] = {}
        self.patterns: dict[tuple[str, Any], str] = {}
        self.seen: dict[tuple[int, int], tuple[Any, Any]] = {}

    def run(self, a: Any, b: Any) -> None:
        stack = self.stack
        self._pair(a, b, ROOT, None, 0)
        while stack:
            a, b, pattern, where, start, depth = stack.pop()
            mark = len(stack)
            if start:
                self._slices(a, b, start, pattern, where, depth)
            elif depth > REMEMBER_FROM and self._seen(a, b):
                continue
            elif isinstance(a, dict | Pairs):
                self._maps(a, b, pattern, where, depth)
            else:
                self._lists(a, b, pattern, where, depth)
            if len(stack) > mark + 1:
                # The last pushed is the next popped: reversed, the walk goes in the document's order,
                # and the first difference it notes is the first there is.
                stack[mark:] = stack[mark:][::-1]

    def _seen(self, a: Any, b: Any) -> bool:
        """Whether a deep pair was walked before: a cycle gets ever deeper.

        The pair is kept, so that no other takes its identities.
        """
        key = id(a), id(b)
        known = key in self.seen
        self.seen[key] = (a, b)
        return known

    # -- one pair ----------------------------------------------------------------------------

    def _pair(self, a: Any, b: Any, pattern: str, where: Any, depth: int) -> None:
        """Judges two scalars, or puts two containers on the stack."""
        kind, other = type(a), type(b)
        if kind is other and kind in (dict, list, tuple, Pairs):
            self.stack.append((a, b, pattern, where, 0, depth + 1))
        elif isinstance(a, dict | Pairs):
            self._map_against(a, b, pattern, where, depth)
        elif isinstance(a, _SEQUENCES):
            self._list_against(a, b, pattern, where, depth)
        elif isinstance(a, set | frozenset):
            self._set_against(a, b, pattern, where)
        elif kind is Attr:
            self._attr_against(a, b, pattern, where, depth)
        else:
            verdict = verdict_of(a, b)
            if verdict == "lossy" and self.by_offset and isinstance(a, dt.datetime):
                verdict = "type" if self.in_utc and _is_same_moment(a, b) else _at_offset(a, b)
            elif verdict == "lossy" and self.by_number and is_same_number(a, b):
                verdict = "type"
            if verdict == "nan":
                self._nan(a, b, pattern, where)
            elif verdict != "same":
                self._note(pattern, verdict, a, b, where)

    def _map_against(self, a: Any, b: Any, pattern: str, where: Any, depth: int) -> None:
        b = b.of if isinstance(b, Other) else b
        if isinstance(b, dict | Pairs):
            self._note(pattern, "type", _kind(a), _kind(b), where, names=True, side="type")
            self.stack.append((a, b, pattern, where, 0, depth + 1))
        elif isinstance(b, list) and b and all(isinstance(p, _SEQUENCES) and len(p) == 2 for p in b):
            self._note(pattern, "type", "map", "list of pairs", where, names=True, side="type")
            self.stack.append((a, Pairs(tuple(p) for p in b), pattern, where, 0, depth + 1))
        else:
            self._note(pattern, "lossy", a, b, where)

    def _list_against(self, a: Any, b: Any, pattern: str, where: Any, depth: int) -> None:
        b = b.of if isinstance(b, Other) else b
        if type(b).__name__ == "ndarray" and type(b).__module__ == "numpy":
            b = b.tolist()
        if isinstance(b, _SEQUENCES):
            self._note(pattern, "type", _kind(a), _kind(b), where, names=True, side="type")
            self.stack.append((a, b, pattern, where, 0, depth + 1))
        else:
            self._note(pattern, verdict_of(a, b), a, b, where)

    def _set_against(self, a: Any, b: Any, pattern: str, where: Any) -> None:
        b = b.of if isinstance(b, Other) else b
        alike = isinstance(b, set | frozenset | list | tuple)
        alike = alike and (_members(a) == _members(b) or _are_rebuilt(a, b))
        if not alike:
            self._note(pattern, "lossy", a, b, where)
        elif type(a) is not type(b):
            self._note(pattern, "type", _kind(a), _kind(b), where, names=True, side="type")

    def _attr_against(self, a: Attr, b: Any, pattern: str, where: Any, depth: int) -> None:
        if type(b) is not Attr:
            self._note(pattern, "lossy", a.attributes, "none", where, side="attributes")
            self._pair(a.of, b, pattern, where, depth + 1)
            return
        self._pair(a.attributes, b.attributes, f"{pattern} (attributes)", where, depth + 1)
        self._pair(a.of, b.of, pattern, where, depth + 1)

    # -- containers --------------------------------------------------------------------------

    def _lists(self, a: Any, b: Any, pattern: str, where: Any, depth: int) -> None:
        if len(a) != len(b):
            self._note(pattern, "lossy", len(a), len(b), where, side="length")
        self._slices(a, b, 0, self._child(pattern, _ITEM), where, depth)

    def _slices(self, a: Any, b: Any, start: int, inner: str, where: Any, depth: int) -> None:  # noqa: PLR0917 - an entry of the stack
        """Walks the next slice that differs; the rest of the list waits on the stack."""
        end = min(len(a), len(b))
        if end <= SLICE or type(a) is not list or type(b) is not list:
            self._children(zip(a, b, repeat(inner), count(), strict=False), where, depth)
            return
        while start < end:
            left, right = a[start : start + SLICE], b[start : start + SLICE]
            if not _equal(left, right):
                self._children(zip(left, right, repeat(inner), count(start), strict=False), where, depth)
                if start + SLICE < end:
                    self.stack.append((a, b, inner, where, start + SLICE, depth))
                return
            start += SLICE

    def _maps(self, a: Any, b: Any, pattern: str, where: Any, depth: int) -> None:
        keys = tuple(a)
        if type(a) is type(b) is dict and keys == tuple(b):
            names = self.shapes.get((pattern, keys))
            if names is None and all(type(key) is str for key in keys):
                names = tuple(self._child(pattern, key) for key in keys)
                if len(self.shapes) < 10_000:
                    self.shapes[pattern, keys] = names
            if names is not None:
                self._children(zip(a.values(), b.values(), names, keys, strict=True), where, depth)
                return
        matched = self._matched(a, b, pattern, where)
        self._children(
            ((left, right, self._child(pattern, key), key) for (key, left), right in matched), where, depth
        )

    def _children(self, pairs: Iterable[tuple[Any, Any, str, Any]], where: Any, depth: int) -> None:
        """The values of two containers, pair by pair: the loop that all time goes into."""
        push = self.stack.append
        for left, right, name, step in pairs:
            kind = type(left)
            if kind is type(right):
                if kind in _DIRECT:
                    if left == right:
                        continue
                elif kind is float:
                    if left == right and left:
                        continue
                elif kind is dict or kind is list:
                    push((left, right, name, (where, step), 0, depth + 1))
                    continue
            self._pair(left, right, name, (where, step), depth)

    def _matched(self, a: Any, b: Any, pattern: str, where: Any) -> list[tuple[tuple[Any, Any], Any]]:
        """Pairs the values of two maps whose keys differ, and notes how they differ."""
        left, right = list(a.items()), list(b.items())
        ids_left, ids_right = _key_ids(left), _key_ids(right)
        if ids_left == ids_right:
            return [(item, other[1]) for item, other in zip(left, right, strict=True)]
        renamed = self._renamed(left, right)
        if renamed is not None:
            ordered, pairs = renamed
            self._note(pattern, "type", left[0][0], pairs[0][1][0], where, side="keys")
            if not ordered:
                self._reordered(left, right, pattern, where)
            return [(item, other[1]) for item, other in pairs]
        unused: dict[Any, list[Any]] = {}
        for name, (_, value) in zip(ids_right, right, strict=True):
            unused.setdefault(name, []).append(value)
        out, kept = [], []
        for name, item in zip(ids_left, left, strict=True):
            if unused.get(name):
                out.append((item, unused[name].pop(0)))
                kept.append(name)
            else:
                self._missing(item, pattern, where)
        for name, (key, value) in zip(ids_right, right, strict=True):
            if unused.get(name):
                unused[name].pop()
                child = self._child(pattern, key)
                place = _where((where, key))
                self.tally.add(child, "lossy", "(missing)", show(value), place, side="added")
        wanted = set(kept)
        if kept != [name for name in ids_right if name in wanted]:
            self._reordered(left, right, pattern, where)
        return out

    def _missing(self, item: tuple[Any, Any], pattern: str, where: Any) -> None:
        child = self._child(pattern, item[0])
        self.tally.add(child, "lossy", show({item[0]: item[1]}), "(missing)", _where((where, item[0])))

    def _renamed(self, left: list[Any], right: list[Any]) -> tuple[bool, list[Any]] | None:
        """Pairs keys of one type with the keys they became, if each can be rebuilt.

        Keys of several types that all become text are not rebuilt: nothing says
        any more which of them had been text.
        """
        kinds = {type(key) for key, _ in left}
        if len(kinds) != 1 or len(left) != len(right) or {type(key) for key, _ in right} == kinds:
            return None
        if all(_key_rebuilt(key, other) for (key, _), (other, _) in zip(left, right, strict=True)):
            return True, list(zip(left, right, strict=True))
        by_text = {str(key): (key, value) for key, value in right}
        pairs = []
        for key, value in left:
            other = by_text.get(str(key)) or by_text.get(str(key).lower())
            if other is None or not _key_rebuilt(key, other[0]):
                return None
            pairs.append(((key, value), other))
        return False, pairs

    # -- notes -------------------------------------------------------------------------------

    def _note(
        self, path: str, verdict: str, a: Any, b: Any, where: Any, *, names: bool = False, side: str = ""
    ) -> None:
        if verdict == "type":
            self.tally.types[_type_change(a, b, side, names=names)] += 1
        if self.tally.known(path, verdict, side=side) is None:
            texts = (a, b) if names else (show(a), show(b))
            if verdict == "type" and texts[0] == texts[1] and type(a) is not type(b):
                texts = (type(a).__name__, type(b).__name__)  # e.g. of an integer and one of BSON's 64 bits
            self.tally.add(path, verdict, texts[0], texts[1], _where(where), side=side)

    def _reordered(self, left: list[Any], right: list[Any], pattern: str, where: Any) -> None:
        before, after = ([key for key, _ in pairs] for pairs in (left, right))
        self._note(pattern, "lossy", before, after, where, side="key order")

    def _nan(self, a: float, b: float, pattern: str, where: Any) -> None:
        """Another payload is a loss (R's NA is one); another sign alone means nothing."""
        verdict = "type" if f64_bits(a)[1:] == f64_bits(b)[1:] else "lossy"
        self._note(pattern, verdict, a, b, where, side="NaN payload")

    def _child(self, pattern: str, key: Any) -> str:
        if len(pattern) > PATTERN_CHARACTERS:
            # One name for all that lies deeper; else a document 100,000 deep has as many long names.
            return pattern if pattern.endswith("...") else f"{pattern}..."
        named = key is _ITEM or type(key) is str
        name = self.patterns.get((pattern, key)) if named else None
        if name is None:
            name = _join("" if pattern == ROOT else pattern, key)
            if named and len(self.patterns) < 100_000:
                self.patterns[pattern, key] = name
        return name


def _is_same_moment(a: dt.datetime, b: Any) -> bool:
    """Whether of two times one is in a zone, and the other the same in UTC without saying so."""
    if not isinstance(b, dt.datetime) or (a.tzinfo is None) == (b.tzinfo is None):
        return False
    plain = [one if one.tzinfo is None else one.astimezone(dt.UTC).replace(tzinfo=None) for one in (a, b)]
    return plain[0] == plain[1]


def _at_offset(a: dt.datetime, b: Any) -> str:
    """The verdict on a time that is known by its offset alone: ``type`` where only the name of the zone is gone."""
    offset = a.utcoffset()
    if offset is None:
        return "lossy"
    return "lossy" if verdict_of(a.replace(tzinfo=dt.timezone(offset)), b) == "lossy" else "type"


def _key_rebuilt(a: Any, b: Any) -> bool:
    """As ``rebuilt``; the key None has one value, so its text tells it."""
    return rebuilt(a, b) or (a is None and b in ("null", "None", "~"))


def _key_ids(items: list[tuple[Any, Any]]) -> list[Any]:
    """Keys as values that are equal only if the keys are the same strictly."""
    from tare.tagged.text import dump_text

    out: list[Any] = []
    for key, _ in items:
        if type(key) is str:
            out.append(key)
            continue
        try:
            out.append(dump_text(key))
        except Exception:  # a foreign type: equal by its own rules
            out.append((type(key), show(key, 200)))
    return out


def _members(values: Any) -> list[str]:
    from tare.tagged.text import dump_text

    try:
        return sorted(dump_text(item, share=False).decode() for item in values)
    except Exception:  # foreign types: by what they print as
        return sorted(f"{type(item).__name__} {show(item, 200)}" for item in values)


def _are_rebuilt(a: Any, b: Any) -> bool:
    """Whether the members of a set are each rebuilt of one of some others."""
    left = list(b)
    if len(left) != len(a) or len(left) > _MOST_PAIRED:
        return False
    for one in a:
        place = next((at for at, other in enumerate(left) if rebuilt(one, other)), None)
        if place is None:
            return False
        left.pop(place)
    return True


def _kind(value: Any) -> str:
    return type(value).__name__


def _type_change(a: Any, b: Any, side: str, *, names: bool) -> tuple[str, str]:
    """What came back as what: the names of the types, of keys those of the keys."""
    was, became = (
        one if names else one.name.rpartition(".")[2] if isinstance(one, Other) else _kind(one)
        for one in (a, b)
    )
    return (f"{was} keys", f"{became} keys") if side == "keys" else (str(was), str(became))


def _join(pattern: str, key: Any) -> str:
    """``items`` + ``price`` = ``items.price``; odd keys in brackets and quotes."""
    if key is _ITEM:
        return f"{pattern}[*]"
    if type(key) is str and _SIMPLE_KEY.match(key):
        return f"{pattern}.{key}" if pattern else key
    return f"{pattern}[{show(key, 60)}]"


def _where(where: Any) -> str:
    """The linked path of one value as text; long ones lose their middle."""
    steps: list[Any] = []
    while where is not None:
        where, key = where
        steps.append(key)
    steps.reverse()
    if len(steps) > 24:
        steps = [*steps[:12], ..., *steps[-12:]]
    text = ""
    for step in steps:
        if step is ...:
            text += "[...]"
        elif type(step) is int:
            text += f"[{step}]"
        else:
            text = _join(text, step)
    return text or ROOT
