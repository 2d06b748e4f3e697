"""Python's marshal (https://docs.python.org/3/library/marshal.html): the layout of .pyc files.

It promises nothing from one Python version to the next, and hostile bytes may
crash the interpreter: data of one's own, for a moment.
"""

from __future__ import annotations

import marshal as stdlib_marshal
from typing import Any

from tare.formats.base import Buffer, Format, Library, Option
from tare.formats.scalars import DEFAULT, NATIVE, ORIENT, texted

__all__ = ["FORMAT"]

_VERSION = Option(
    4, (0, 1, 2, 3, 4), "Version of the layout: 3 and up keep references, 2 writes each value out."
)
_KNOWN = (bool, int, float, complex, str, bytes)


def _encode(obj: Any, *, default: str, orient: str, version: int) -> bytes:
    value: Any = texted(obj, _KNOWN, default)
    return stdlib_marshal.dumps(value, version)


def _decode(data: Buffer, *, default: str, orient: str, version: int) -> Any:
    return stdlib_marshal.loads(data)  # noqa: S302 - measured; read only where the user allowed it


FORMAT = Format(
    id="marshal",
    title="marshal",
    extensions=(".marshal",),
    kinds=frozenset({"document", "table"}),
    languages=("python",),
    native_to="python",
    executes_code=True,
    home="stdlib",
    libraries=(
        Library(
            name="stdlib",
            native=NATIVE,
            encode=_encode,
            decode=_decode,
            options={"default": DEFAULT, "orient": ORIENT, "version": _VERSION},
            variants={"document": ({},), "table": ({"default": "text", "orient": "columns"},)},
            executes_code=True,
            notes=("Readable by the same Python version only; hostile bytes may crash the interpreter.",),
        ),
    ),
)
