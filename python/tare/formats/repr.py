"""Python literals: ``repr`` to write, ``ast.literal_eval`` to read (https://docs.python.org/3/library/ast.html).

The Python twin of R's dput: people can read it, and nothing in it is run.
"""

from __future__ import annotations

import ast
from typing import Any

from tare.formats.base import Buffer, Format, Library
from tare.formats.scalars import DEFAULT, DOCUMENTS_ONLY, NATIVE, ORIENT, texted

__all__ = ["FORMAT"]

_KNOWN = (bool, int, float, complex, str, bytes)


def _encode(obj: Any, *, default: str, orient: str) -> bytes:
    return repr(texted(obj, _KNOWN, default)).encode()


def _decode(data: Buffer, *, default: str, orient: str) -> Any:
    return ast.literal_eval(str(data, "utf-8"))


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
