"""Apache Fory, as defined in https://fory.apache.org/docs/specification/fory_xlang_serialization_spec/.

Strict mode only: a class that nobody registered is refused, so no code runs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tare.formats.base import Buffer, Format, Library, Option
from tare.formats.scalars import DEFAULT, DOCUMENTS_ONLY, NATIVE, ORIENT, texted

__all__ = ["FORMAT"]

_XLANG = Option(
    True,
    (True, False),
    "The layout for all languages, Fory's own default; false = its layout for Python alone.",
)
_KNOWN = (bool, int, float, str, bytes)
_GRAPH_BYTES = 128 << 20  # Fory's own bound of what one input may grow to
_GRAPH_FACTOR = 64  # a value in memory is no larger than this many times its bytes


def _encode(obj: Any, *, default: str, orient: str, xlang: bool) -> bytes:
    return bytes(_fory(xlang, _GRAPH_BYTES).serialize(texted(obj, _KNOWN, default)))


def _decode(data: Buffer, *, default: str, orient: str, xlang: bool) -> Any:
    room = max(_GRAPH_BYTES, 1 << (len(data) * _GRAPH_FACTOR).bit_length())
    return _fory(xlang, room).deserialize(bytes(data))


@lru_cache(maxsize=4)
def _fory(xlang: bool, graph_bytes: int) -> Any:
    """One instance per setting: Fory is made to be kept."""
    import pyfory

    return pyfory.Fory(xlang=xlang, strict=True, max_graph_memory_bytes=graph_bytes)


FORMAT = Format(
    id="fory",
    title="Apache Fory",
    extensions=(".fory",),
    kinds=frozenset({"document", "table"}),
    spec="https://fory.apache.org/docs/specification/fory_xlang_serialization_spec/",
    languages=("c++", "go", "java", "javascript", "python", "rust"),
    libraries=(
        Library(
            name="pyfory",
            native=NATIVE,
            encode=_encode,
            decode=_decode,
            modules=("pyfory",),
            distribution="pyfory",
            extra="documents",
            options={"default": DEFAULT, "orient": ORIENT, "xlang": _XLANG},
            variants=DOCUMENTS_ONLY,
            own_bytes={"xlang": False},
            max_depth=3_000,  # writing 50,000 deep overflows its stack; reading refuses more than 50 itself
            notes=("Integers above 64 bits are refused, and so is nesting deeper than 50.",),
        ),
    ),
)
