"""Python literals: ``repr`` to write, ``ast.literal_eval`` to read (https://docs.python.org/3/library/ast.html).

The Python twin of R's dput: people can read it, and nothing in it is run.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from tare.formats.base import Buffer, Format, Library
from tare.formats.scalars import DEFAULT, DOCUMENTS_ONLY, NATIVE, ORIENT, texted

__all__ = ["FORMAT"]

_NODE = re.compile(r"^malformed node or string( on line [0-9]+)?: <ast\.(\w+) object")
_NODES = {"Call": "a call", "Name": "a name", "Attribute": "an attribute", "BinOp": "an operation"}
_KNOWN = (bool, int, float, complex, str, bytes)


def _encode(obj: Any, *, default: str, orient: str) -> bytes:
    return repr(texted(obj, _KNOWN, default)).encode()


def _decode(data: Buffer, *, default: str, orient: str) -> Any:
    try:
        return ast.literal_eval(str(data, "utf-8"))
    except ValueError as error:  # which names a place in memory
        found = _NODE.search(str(error))
        if found is None:
            raise
        got = _NODES.get(found[2], f"another expression ({found[2]})")
        raise ValueError(f"expected a literal, got {got}{found[1] or ''}") from None


FORMAT = Format(
    id="repr",
    title="Python literals",
    extensions=(".pyrepr",),
    kinds=frozenset({"document", "table"}),
    spec="https://docs.python.org/3/reference/lexical_analysis.html#literals",
    languages=("python",),
    native_to="python",
    text=True,
    libraries=(
        Library(
            name="stdlib",
            native=NATIVE,
            encode=_encode,
            decode=_decode,
            options={"default": DEFAULT, "orient": ORIENT},
            variants=DOCUMENTS_ONLY,
            slow=True,
            notes=("What is no literal (dates, NaN) is written and cannot be read.",),
        ),
    ),
)
