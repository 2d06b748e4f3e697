"""Tagged values as JSON text, for files and for lines of the worker protocol.

Shallow trees go through orjson; deeper ones, which JSON parsers refuse, through
a small writer and a small reader here that keep their own stack.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from tare.errors import Limit, Malformed, Truncated
from tare.tagged.reader import MAX_DEPTH, from_tagged
from tare.tagged.writer import MAX_NODES, to_tagged

__all__ = ["dump_text", "load_text"]

MAX_BYTES = 4 * 2**30


def dump_text(value: Any, *, share: bool = True) -> bytes:
    """``value`` as one line of JSON in the dialect ``values/1``, at any depth.

    Args:
        value: Any value that ``to_tagged`` takes.
        share: As in ``to_tagged``.

    Raises:
        Unsupported: A type outside the dialect.

    >>> dump_text([1.0, "a"])
    b'[{"$f64":"3ff0000000000000"},"a"]'
    """
    import orjson

    tree = to_tagged(value, share=share)
    try:
        return orjson.dumps(tree)
    except (TypeError, RecursionError):
        return _write_deep(tree)


def load_text(
    data: bytes | bytearray | memoryview,
    *,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
    max_nodes: int = MAX_NODES,
) -> Any:
    """The value that ``dump_text`` wrote.

    Raises:
        Truncated: The text ends too early.
        Malformed: No JSON, or no tagged value; ``offset`` or ``path`` says where.
        Limit: Larger or deeper than allowed.

    >>> load_text(b'[{"$f64":"3ff0000000000000"},"a"]')
    [1.0, 'a']
    """
    if len(data) > max_bytes:
        raise Limit(f"values/1: {len(data)} bytes are more than max_bytes={max_bytes}", format="values/1")
    return from_tagged(_parse(data, max_depth), max_depth=max_depth, max_nodes=max_nodes)


def _parse(data: bytes | bytearray | memoryview, max_depth: int) -> Any:
    import orjson

    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        fault = str(error)
    try:
        text = bytes(data).decode()
    except UnicodeDecodeError as error:
        raise Malformed(
            f"values/1: no UTF-8 at byte {error.start}", format="values/1", offset=error.start
        ) from error
    return _Parser(text, 6 * max_depth + 64).parse(fault)


# --- deep trees -----------------------------------------------------------------------------


def _write_deep(tree: Any) -> bytes:
    out: list[str] = []
    work: list[Any] = [tree]
    quote = json.encoder.encode_basestring
    while work:
        item = work.pop()
        kind = type(item)
        if kind is _Raw:
            out.append(item.text)
        elif kind is list:
            out.append("[")
            work.append(_Raw("]"))
            for at in range(len(item) - 1, -1, -1):
                work.append(item[at])
                if at:
                    work.append(_Raw(","))
        elif kind is dict:
            out.append("{")
            work.append(_Raw("}"))
            for at, key in reversed(list(enumerate(item))):
                work.append(item[key])
                work.append(_Raw(("," if at else "") + quote(key) + ":"))
        else:
            out.append(quote(item) if kind is str else json.dumps(item))
    return "".join(out).encode()


class _Raw:
    """Text that ``_write_deep`` writes as it is."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_SPACE = re.compile(r"[ \t\n\r]*")
_INT = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?![0-9.eE])")
_WORDS = {"null": None, "true": True, "false": False}


class _Parser:
    """JSON of tagged trees (no floats), with a stack of its own."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.max_depth = max_depth

    def parse(self, fault: str) -> Any:
        root: list[Any] = []
        stack: list[tuple[Any, str | None]] = [(root, None)]
        at = self._skip(0)
        if at == len(self.text):
            raise Truncated("values/1: the text is empty", format="values/1", offset=0)
        while True:
            container, key = stack[-1]
            value, at, opened = self._value(at, fault)
            if key is None:
                container.append(value)
            else:
                container[key] = value
            if opened:
                if len(stack) > self.max_depth:
                    raise Limit(f"values/1: deeper than max_depth at character {at}", format="values/1")
                at = self._skip(at)
                close = "]" if type(value) is list else "}"
                if self.text[at : at + 1] != close:
                    name, at = (None, at) if close == "]" else self._key(at, value)
                    stack.append((value, name))
                    continue
                at += 1
            at = self._close(stack, at)
            if len(stack) == 1:
                break
        if self._skip(at) != len(self.text):
            raise Malformed(f"values/1: text after the value, at character {at}", format="values/1")
        return root[0]

    def _close(self, stack: list[tuple[Any, str | None]], at: int) -> int:
        """Passes commas and closing brackets until the next value is due."""
        while len(stack) > 1:
            at = self._skip(at)
            mark = self.text[at : at + 1]
            container, key = stack[-1]
            if mark == ",":
                if key is None:
                    return self._skip(at + 1)
                name, at = self._key(self._skip(at + 1), container)
                stack[-1] = (container, name)
                return at
            if mark != ("]" if key is None else "}"):
                self._fail(at)
            stack.pop()
            at += 1
        return at

    def _key(self, at: int, into: dict[str, Any]) -> tuple[str, int]:
        if self.text[at : at + 1] != '"':
            self._fail(at)
        name, at = self._string(at)
        if name in into:
            raise Malformed(f"values/1: key {name[:40]!r} twice in one object", format="values/1")
        at = self._skip(at)
        if self.text[at : at + 1] != ":":
            self._fail(at)
        return name, self._skip(at + 1)

    def _value(self, at: int, fault: str) -> tuple[Any, int, bool]:
        mark = self.text[at : at + 1]
        if mark == "[":
            return [], at + 1, True
        if mark == "{":
            return {}, at + 1, True
        if mark == '"':
            value, end = self._string(at)
            return value, end, False
        number = _INT.match(self.text, at)
        if number:
            return int(number[0]), number.end(), False
        for word, constant in _WORDS.items():
            if self.text.startswith(word, at):
                return constant, at + len(word), False
        if at >= len(self.text):
            self._fail(at)
        raise Malformed(f"values/1: {fault}, at character {at}"[:300], format="values/1", offset=at)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self.text, at + 1, True)
        except json.JSONDecodeError as error:
            raise Malformed(f"values/1: {error}", format="values/1", offset=error.pos) from error
        return text, end

    def _skip(self, at: int) -> int:
        return _SPACE.match(self.text, at).end()  # type: ignore[union-attr]

    def _fail(self, at: int) -> None:
        if at >= len(self.text):
            raise Truncated(f"values/1: the text ends at character {at}", format="values/1", offset=at)
        raise Malformed(
            f"values/1: unexpected {self.text[at]!r} at character {at}", format="values/1", offset=at
        )
