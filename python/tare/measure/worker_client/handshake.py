"""What a worker must say of itself: the form of ``hello``, in words where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["PROTOCOL", "hello_fault", "listed_codecs"]

PROTOCOL = 2
"""Version of the worker protocol. Version 1 held the results of a batch until the clocks were read."""

_TEXTS = ("worker", "runtime", "version", "cpu_source")
_LISTS = ("codecs", "clocks", "gc")
_OF_CODEC: Mapping[str, type] = {
    "id": str, "library": str, "version": str, "kinds": list, "media": list, "delivery": list, "threads": list,
    "executes_code": bool,
}  # fmt: skip
_MAY_BE: Mapping[str, type] = {"options": dict, "choices": dict, "subset": list}
_ID = re.compile(r"[a-z0-9][a-z0-9_.-]*:[A-Za-z0-9][A-Za-z0-9_.-]*")
_CALLED = {str: "text", list: "list", bool: "true or false", dict: "object"}


def hello_fault(hello: Mapping[str, Any]) -> str:
    """The first thing that is wrong with a ``hello``; empty if nothing is.

    >>> hello_fault({"worker": "w", "runtime": "r", "version": "1", "cpu_source": "c", "codecs": None})
    'hello lacks clocks, gc'
    """
    if missing := [name for name in (*_TEXTS, *_LISTS) if name not in hello]:
        return f"hello lacks {', '.join(sorted(missing))}"
    for names, kind in ((_TEXTS, str), (_LISTS, list)):
        for name in names:
            if not isinstance(hello[name], kind):
                return f"{name} = {hello[name]!r:.40} is no {_CALLED[kind]}"
    if "wall_ns" not in hello["clocks"]:
        return "clocks lacks wall_ns"
    return next(filter(None, map(_codec_fault, hello["codecs"])), "")


def _codec_fault(about: Any) -> str:
    if not isinstance(about, dict):
        return f"a codec that is no object: {about!r:.40}"
    called = f"codec {about.get('id', '')!r:.60}"
    if isinstance(about.get("id"), str) and not _ID.fullmatch(about["id"]):
        return f"{called} is no id: format:library"
    if missing := sorted(_OF_CODEC.keys() - about.keys()):
        return f"{called} lacks {', '.join(missing)}"
    for name, kind in {**_OF_CODEC, **_MAY_BE}.items():
        if name in about and not isinstance(about[name], kind):
            return f"{called}: {name} = {about[name]!r:.40} is no {_CALLED[kind]}"
    return ""


def listed_codecs(hello: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The codecs that can be asked for, though others, or other words of a ``hello``, are wrong."""
    codecs = hello.get("codecs")
    return [one for one in codecs if not _codec_fault(one)] if isinstance(codecs, list) else []
