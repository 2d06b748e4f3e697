"""The form of a worker's replies: what the protocol says that each holds, before anybody relies on it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tare.fidelity.comparison import RANK, worst
from tare.measure.records.encoding import escaped

__all__ = ["hold_form", "parse_reply"]

_KINDS = ("document", "table")
_CELLS = ("decoded", "refused", "error", "n/a")
# Escaped, also where two make one character, or as bytes that are no UTF-8 and that Python reads all the same.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")


def parse_reply(line: bytes) -> Any:
    r"""The value of a line; lone surrogates in its texts, which no record can hold, are escaped as text.

    Args:
        line: JSON, as a worker wrote it.

    Raises:
        ValueError: Not JSON.
        RecursionError: Nested too deep.

    >>> parse_reply(b'{"id": 1, "error": {"message": "a\\ud800b \\ud83d\\ude00"}}')["error"]["message"]
    'a\\ud800b \U0001f600'
    """
    reply = json.loads(line)
    return escaped(reply) if _SURROGATE.search(line) else reply


def hold_form(request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    """Refuse a reply that lacks what its operation promises; counts have been looked at before.

    Args:
        request: What was asked.
        reply: Its ``ok``.

    Raises:
        ValueError: What is wrong, in words.

    >>> hold_form({"op": "encode_to"}, {"bytes": 3})
    >>> hold_form({"op": "encode_to"}, {})
    Traceback (most recent call last):
    ValueError: lacks bytes
    """
    held = _FORMS.get(str(request.get("op")))
    if held is not None:
        held(request, reply)


def _load(_: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    _one_of(reply, "kind", _KINDS)
    _present(reply, "items")


def _prepare(request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    # Without the first calls there may be no bytes yet.
    if request.get("cold") is not False:
        _present(reply, "bytes", "items")
    _text(reply, "sha256")


def _verify(_: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    _one_of(reply, "verdict", RANK)
    _present(reply, "items_in", "items_out")
    changes = reply.get("changes")
    if not isinstance(changes, list):
        raise ValueError(f"changes = {changes!r:.40} is no list")  # noqa: TRY004 - no argument is wrong
    for change in changes:
        _change(change)
    # That nothing came back is told as such.
    if reply["verdict"] == "same" and 0 < reply["items_out"] != reply["items_in"]:
        raise ValueError(f"says same of {reply['items_in']} items, of which {reply['items_out']} came back")
    gravest = worst(change["verdict"] for change in changes)
    if RANK[reply["verdict"]] < RANK[gravest]:
        raise ValueError(f"says {reply['verdict']}, and lists a change that is {gravest}")


def _change(change: Any) -> None:
    if not isinstance(change, dict):
        raise ValueError(f"a change that is no object: {change!r:.40}")  # noqa: TRY004
    _one_of(change, "verdict", RANK)
    _present(change, "path")
    for name in ("path", "at"):  # `in` and `out` may be the plain values
        _text(change, name)
    if type(count := change.get("count", 1)) is not int or count < 0:
        raise ValueError(f"count = {count!r:.40} is no count")


def _mem(_: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    _present(reply, "peak_bytes", "method")
    _text(reply, "method")


def _probe(_: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    cells = reply.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ValueError(f"cells = {cells!r:.40} is no list of cells")
    for cell in cells:
        _present(cell, "probe")
        _one_of(cell, "status", _CELLS)
        for name in ("probe", "bytes_hex", "hook", "error"):
            _text(cell, name)


def _encode_to(_: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    _present(reply, "bytes")


def _decode_from(_: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    _present(reply, "items")


def _open(request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    _present(reply, "handle")
    if type(reply["handle"]) not in (int, str):
        raise ValueError(f"handle = {reply['handle']!r:.40} is no handle")
    medium = request.get("medium")
    if isinstance(medium, Mapping) and medium.get("role") == "reader":
        _present(reply, "address")
    _text(reply, "address")


_FORMS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], None]] = {
    "load": _load,
    "prepare": _prepare,
    "verify": _verify,
    "mem": _mem,
    "probe": _probe,
    "encode_to": _encode_to,
    "decode_from": _decode_from,
    "open": _open,
}


def _present(reply: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if reply.get(name) is None:
            raise ValueError(f"lacks {name}")


def _text(reply: Mapping[str, Any], name: str) -> None:
    if not isinstance(reply.get(name), str | None):
        raise ValueError(f"{name} = {reply[name]!r:.40} is no text")  # noqa: TRY004


def _one_of(reply: Mapping[str, Any], name: str, known: Collection[str]) -> None:
    _present(reply, name)
    if not isinstance(reply[name], str) or reply[name] not in known:
        raise ValueError(f"{name} = {reply[name]!r:.40} is none of {', '.join(known)}")
