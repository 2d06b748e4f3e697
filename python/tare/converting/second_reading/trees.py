"""JSON, NDJSON, MessagePack and YAML by another library: of large ones some items, the others are only counted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tare import kinds
from tare.converting.rows import filled
from tare.converting.second_reading.agreement import first_difference
from tare.converting.second_reading.outcome import (
    Difference,
    Request,
    SecondReading,
    may_load,
    numbered,
    sampled,
    windows,
)
from tare.datasets import encodings
from tare.datasets.source import printable
from tare.fidelity.comparison import show

__all__ = ["read_json", "read_msgpack", "read_ndjson", "read_yaml"]

# What is decoded again of a large document; smaller ones are compared whole.
_SAMPLE_BYTES = 1 << 20
_YAML_BYTES = 32 << 10
_PART_BYTES = 64 << 10
_LEAST_ITEMS = 8
_MOST_ITEMS = 1 << 13
_LEAST_MERGES = 6  # of which few can stand for many names
_MOST_MERGED = 100_000
_ITEM = re.compile(r"\[(\d+)\]")


def read_json(request: Request) -> SecondReading:
    """Reads JSON by msgspec; by the standard library where msgspec does not, e.g. NaN."""
    names, why = may_load(request, "msgspec")
    data = _text(request)
    if names:
        import msgspec

        try:
            if kinds.kind_of(request.value) == "table":
                items = msgspec.json.decode(data, type=list[msgspec.Raw])
                return _by_rows(items.__getitem__, len(items), len(data), request)
            return _sampled(_Msgspec(msgspec.json.decode, str), data, request)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            why = "msgspec does not read it"
    if not request.source.plain:
        return SecondReading(why=why)  # the standard library read it the first time
    try:
        return _whole("Python's json", json.loads(data), request)
    except (ValueError, RecursionError):
        return SecondReading(why=why)


def read_ndjson(request: Request) -> SecondReading:
    """Reads lines of JSON by msgspec: some of them, and the number of all."""
    import numpy as np

    names, why = may_load(request, "msgspec")
    if not names:
        return SecondReading(why=why)
    import msgspec

    data = _text(request)
    text = np.frombuffer(data, np.uint8)
    ends = np.append(np.flatnonzero(text == ord("\n")), len(text))
    starts = np.append(0, ends[:-1] + 1)
    lines = np.flatnonzero(ends > starts)
    spaced = lines[text[starts[lines]] <= ord(" ")]
    blank = [at for at in spaced.tolist() if not data[starts[at] : ends[at]].strip()]
    if blank:
        lines = lines[~np.isin(lines, blank)]
    try:
        return _by_rows(
            lambda row: data[starts[lines[row]] : ends[lines[row]]], len(lines), len(data), request
        )
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return SecondReading(why="msgspec does not read it")


def _by_rows(text_of: Callable[[int], Any], total: int, size: int, request: Request) -> SecondReading:
    """Some of the rows of a text of so many bytes, each of which has a text of its own, and the number of all."""
    import msgspec

    rows = _Rows(request.value)
    most = sum(end - start for start, end in sampled(total, rows.width))  # of wide rows few
    chosen = windows(total, min(_most(total, size), most))
    compared = sum(end - start for start, end in chosen)
    if total != len(rows):
        return SecondReading("msgspec", "", compared, len(rows), _counts(len(rows), total))
    decode = msgspec.json.Decoder().decode
    for start, end in chosen:
        read = [_part(decode(text_of(row)), request) for row in range(start, end)]
        first = rows.block(start, end)
        found = first_difference(first, read)
        if found is not None and rows.fill:  # lines may lack names that a table has in every row
            read = [filled(one, row) for one, row in zip(read, first, strict=True)]
            found = first_difference(first, read)
        if found is not None:
            return SecondReading("msgspec", "", compared, total, _told("", found, start))
    return SecondReading("msgspec", "", compared, total)


def read_msgpack(request: Request) -> SecondReading:
    """Reads MessagePack by msgspec."""
    names, why = may_load(request, "msgspec")
    if not names:
        return SecondReading(why=why)
    import msgspec

    try:
        return _sampled(_Msgspec(msgspec.msgpack.decode, Any), request.source.read()[0], request)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return SecondReading(why="msgspec does not read it")


def read_yaml(request: Request) -> SecondReading:
    """Reads a short YAML text by ruamel.yaml, by YAML 1.2: a hundred times slower than the loader in C."""
    names, why = may_load(request, "ruamel.yaml")
    if not names:
        return SecondReading(why=why)
    data = _text(request)
    if len(data) > _YAML_BYTES:
        return SecondReading(why="the other reader is slow, and the text is longer than 32 KiB")
    if _merges_many(data):
        return SecondReading(why=f"its merges stand for more than {_MOST_MERGED:,} names")
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        values = list(YAML(typ="safe", pure=True).load_all(data))
    except (YAMLError, ValueError, TypeError, AttributeError, LookupError, AssertionError, RecursionError):
        return SecondReading(why="ruamel.yaml does not read it")
    value = values[0] if len(values) == 1 else values
    return _whole("ruamel.yaml (YAML 1.2)", value, request)


def _merges_many(data: bytes) -> bool:
    """Returns whether merges of merges stand for more names than can be made: ruamel.yaml makes each as often as it is named."""
    if data.count(b"<<") < _LEAST_MERGES:
        return False
    import yaml

    sizes: dict[int, int] = {}
    roots = list(yaml.compose_all(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    stack: list[tuple[Any, bool]] = [(root, False) for root in roots if root is not None]
    while stack:
        node, done = stack.pop()
        if isinstance(node, yaml.ScalarNode) or (not done and id(node) in sizes):
            continue
        pairs = [pair if isinstance(pair, tuple) else (None, pair) for pair in node.value]
        if not done:
            sizes[id(node)] = 1  # until what is in it is known
            stack += [
                (node, True),
                *((inner, False) for pair in pairs for inner in pair if inner is not None),
            ]
            continue
        merged = [value for key, value in pairs if key is None or key.tag.endswith(":merge")]
        sizes[id(node)] = len(pairs) + sum(sizes.get(id(value), 1) for value in merged)
        if sizes[id(node)] > _MOST_MERGED:
            return True
    return False


class _Msgspec:
    """Decodes a value, or its items without decoding them.

    Args:
        decode: The library's function.
        key: The type of keys.
    """

    def __init__(self, decode: Callable[..., Any], key: Any) -> None:
        import msgspec

        self.decode = decode
        self._list, self._dict = list[msgspec.Raw], dict[key, msgspec.Raw]

    def items(self, data: Any, kind: type) -> Any:
        """Returns the items of a list or mapping as they are encoded."""
        return self.decode(data, type=self._list if kind is list else self._dict)


class _Rows:
    """The items of a list, or the rows of columns.

    Args:
        value: A list, lists by the name of a column, or a table.
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        self._columns = isinstance(value, dict)
        #: Whether all rows have all names, null where lines lack them.
        self.fill = kinds.kind_of(value) == "table"
        #: How many names a row has at least.
        self.width = value.num_columns if self.fill else len(value) if self._columns else 1

    def __len__(self) -> int:
        if self.fill:
            return int(self._value.num_rows)
        return len(next(iter(self._value.values()), ())) if self._columns else len(self._value)

    def block(self, start: int, end: int) -> list[Any]:
        """Returns the rows from one to another."""
        if self.fill:
            rows: list[Any] = self._value.slice(start, end - start).to_pylist()
            return rows
        if not self._columns:
            return list(self._value[start:end])
        parts = [cells[start:end] for cells in self._value.values()]
        return [dict(zip(self._value, row, strict=True)) for row in zip(*parts, strict=True)]


def _most(items: int, size: int) -> int:
    """Returns how many items of a text or document of so many bytes are compared."""
    return min(max(int(items * min(_SAMPLE_BYTES / max(size, 1), 1)), _LEAST_ITEMS), _MOST_ITEMS)


def _text(request: Request) -> bytes:
    source = replace(request.source, notes=[])
    return encodings.to_utf8(source, source.read()[0], request.encoding)


def _part(item: Any, request: Request) -> Any:
    """An item with the names that were asked for."""
    if request.columns is None or not isinstance(item, dict):
        return item
    return {name: item[name] for name in request.columns if name in item}


def _whole(name: str, second: Any, request: Request) -> SecondReading:
    first, items = request.value, 1
    if isinstance(first, list) and isinstance(second, list):
        items = len(first)
        if items != len(second):
            return SecondReading(name, "", items, items, _counts(items, len(second)))
        second = [_part(item, request) for item in second] if request.columns is not None else second
    found = first_difference(first, second)
    return SecondReading(name, "", items, items, None if found is None else _told("", found))


def _sampled(reader: _Msgspec, data: bytes, request: Request) -> SecondReading:
    """All of a small document; of a larger one the long lists by some of their items."""
    if len(data) <= _SAMPLE_BYTES:
        return _whole("msgspec", reader.decode(data), request)
    value = request.value
    items = compared = len(value) if isinstance(value, list) else 1
    stack: list[tuple[str, Any, Any]] = [("", data, value)]
    while stack:
        path, part, first = stack.pop()
        if len(part) <= _PART_BYTES or type(first) not in {list, dict}:
            found = first_difference(
                first, _part(reader.decode(part), request) if isinstance(value, list) else reader.decode(part)
            )
            if found is not None:
                return SecondReading("msgspec", "", compared, items, _told(path, found))
            continue
        second = reader.items(part, type(first))
        if type(first) is dict:
            second = _part(second, request) if isinstance(value, list) else second
            if first.keys() != second.keys():
                return SecondReading(
                    "msgspec", "", compared, items, _told(path, ("", list(first), list(second)))
                )
            stack += [(f"{path}.{key}" if path else str(key), second[key], first[key]) for key in first]
            continue
        if len(second) != len(first):
            return SecondReading("msgspec", "", compared, items, _counts(len(first), len(second), path))
        chosen = windows(len(first), _most(len(first), len(data)))
        if not path:
            compared = sum(end - start for start, end in chosen)
        stack += [(f"{path}[{at}]", second[at], first[at]) for at in numbered(chosen)]
    return SecondReading("msgspec", "", compared, items)


def _counts(first: int, second: int, path: str = "") -> Difference:
    where = f" at {printable(path)!r}" if path else ""
    return Difference(f"the number of items{where}", f"{first:,}", f"{second:,}")


def _told(path: str, found: tuple[str, Any, Any], start: int = 0) -> Difference:
    """The difference at a path below another, or below an item of a list whose beginning was left out."""
    inner, first, second = found
    joined = f"{path}.{inner}" if path and inner and not inner.startswith("[") else path + inner
    if item := _ITEM.match(joined):
        rest = joined[item.end() :].lstrip(".")
        place = f"item {int(item[1]) + start + 1:,}" + (f", {printable(rest)!r}" if rest else "")
    else:
        place = repr(printable(joined)) if joined else "the value"
    return Difference(place, show(first), show(second))
