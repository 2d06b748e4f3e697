"""SQLite's JSONB, as defined in https://sqlite.org/jsonb.html."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tare.formats.base import Buffer, Format, Library
from tare.formats.scalars import DEFAULT, hook

if TYPE_CHECKING:
    import apsw

__all__ = ["FORMAT"]


@lru_cache(maxsize=1)
def _connection() -> apsw.Connection:
    """The process's own SQLite, in memory."""
    import apsw

    return apsw.Connection(":memory:")


def _one(statement: str, values: tuple[Any, ...]) -> Any:
    return _connection().execute(statement, values).get


def _encode(obj: Any, *, default: str) -> bytes:
    import orjson

    text = orjson.dumps(obj, default=hook(default)).decode()
    return bytes(_one("SELECT jsonb(?)", (text,)))


def _decode(data: Buffer, *, default: str) -> Any:
    import orjson

    # json() looks at what it must; json_valid(X, 8) checks the bytes first.
    if not _one("SELECT json_valid(?, 8)", (data,)):
        raise ValueError("malformed JSONB, or truncated")
    return orjson.loads(_one("SELECT json(?)", (data,)))


def _path(data: Buffer, steps: list[str], *, default: str) -> Any:
    import orjson

    found = _one("SELECT ? -> ?", (data, _written(steps)))
    if found is not None:
        return orjson.loads(found)
    value = _decode(data, default=default)  # a name that is a number, or nothing there
    for step in steps:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def _written(steps: list[str]) -> str:
    """SQLite's path of a JSON Pointer's steps; a number is a position, as in most documents.

    >>> _written(["a b", "0"])
    '$."a b"[0]'
    """
    return "$" + "".join(f"[{step}]" if step.isdecimal() else f".{json.dumps(step)}" for step in steps)


FORMAT = Format(
    id="sqlitejsonb",
    title="SQLite JSONB",
    extensions=(),
    kinds=frozenset({"document"}),
    spec="https://sqlite.org/jsonb.html",
    languages=("c",),
    subset=("path",),
    home="sqlite",
    libraries=(
        Library(
            name="sqlite",
            native={"document": "python"},
            encode=_encode,
            decode=_decode,
            modules=("apsw", "orjson"),
            distribution="apsw",
            extra="documents",
            options={"default": DEFAULT},
            path=_path,
            max_depth=900,  # SQLite refuses more than 1,000 itself; orjson, which writes the text, counts no tuples
            notes=(
                "Numbers are kept as text; NaN and Infinity become null silently, in orjson that writes the text.",
                "What is read is JSON text made by SQLite from its bytes, parsed by orjson.",
            ),
        ),
    ),
)
