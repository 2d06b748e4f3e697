"""`blit`, Tare's own format: a document that is read by field, without being parsed (docs/specs/blit.md)."""

from __future__ import annotations

from typing import Any

from tare.formats.base import Buffer, Format, Library, Option
from tare.formats.scalars import DEFAULT, NATIVE, ROWS_AS_TEXT, hook

__all__ = ["FORMAT"]

_LAYOUT = Option(
    "columns",
    ("columns", "rows"),
    "columns = like values of a list lie together, which is smallest; rows = each value by itself, to be patched.",
)
_CANONICAL = Option(False, (False, True), "Write the same bytes for the same value, whoever writes them.")


def _encode(obj: Any, *, canonical: bool, default: str, layout: str) -> bytes:
    from tare import blit

    return blit.encode(obj, default=hook(default), canonical=canonical, layout=layout)


def _decode(data: Buffer, **options: Any) -> Any:
    from tare import blit

    return blit.view(data).to_python()


def _open(data: Buffer, **options: Any) -> Any:
    """The root as a view: each value is read when it is asked for."""
    from tare import blit

    return blit.view(data)


def _path(data: Buffer, steps: list[str], **options: Any) -> Any:
    """The value there, found without reading any other."""
    from tare import blit

    found: Any = blit.view(data)
    for step in steps:
        found = found[int(step)] if isinstance(found, blit.ListView) else found[step]
    return found.to_python() if isinstance(found, blit.View) else found


FORMAT = Format(
    id="blit",
    title="blit",
    extensions=(".blit",),
    magic=(b"BLT1",),
    kinds=frozenset({"document", "table"}),
    spec="docs/specs/blit.md",
    languages=("python", "rust"),
    subset=("path",),
    libraries=(
        Library(
            name="tare",
            native=NATIVE,
            encode=_encode,
            decode=_decode,
            modules=("tare._tare",),
            distribution="tare",
            options={"canonical": _CANONICAL, "default": DEFAULT, "layout": _LAYOUT},
            variants=ROWS_AS_TEXT,
            open=_open,
            path=_path,
            max_depth=1000,
            notes=("Decimals come back as floats, whole ones as integers; names are text.",),
        ),
    ),
)
