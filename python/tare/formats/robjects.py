"""What the formats of R share: how values become R objects and come back. Not a format.

A table is a data frame. A document is made of lists: a mapping is a named list, a scalar a vector of
one value, None is NULL, so that what is written comes back as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from tare.formats.base import Buffer, Library, Option

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ENCODING", "LANGUAGES", "LEVEL", "TARE_ALONE", "VERSION", "library"]

LANGUAGES = ("python", "r", "rust")
TARE_ALONE = ("python", "rust")
"""Languages in which only Tare reads the formats of R."""
VERSION = Option(3, (3, 2), "Version of R's serialization: 2 is what R before 3.5 reads.")
ENCODING = Option(
    "xdr",
    ("xdr", "native", "ascii", "asciihex"),
    "How numbers are written: xdr = big-endian, as R does; native = little-endian; ascii, asciihex = text.",
)
LEVEL = Option(3, tuple(range(1, 23)), "Level of zstd, whose frames the format is made of.")
_NATIVE: Mapping[str, str] = {"document": "python", "table": "arrow"}
_DEEPEST = 1000
_THREADED = frozenset({"qs2", "qdata", "fst"})
# How many threads the core takes; None for all. It belongs to the process, as those of other libraries do.
_KNOB: dict[str, int | None] = {"threads": None}


def library(
    format: str,
    *,
    options: Mapping[str, Option] | None = None,
    variants: Mapping[str, tuple[Mapping[str, object], ...]] | None = None,
    compressor: Callable[[dict[str, Any]], str] | None = None,
    kinds: tuple[str, ...] = ("document", "table"),
    writes: bool = True,
    notes: tuple[str, ...] = (),
) -> Library:
    """Tare's own library of a format of R.

    Args:
        format: Its id.
        options: Options of the library.
        variants: What ``tare measure`` tries by default; tables alone, unless they say else.
        compressor: What makes the id of the compressor inside the format of the options.
        kinds: Kinds of data it holds.
        writes: Whether it is written.
        notes: What users should know.
    """
    return Library(
        name="tare",
        native={kind: _NATIVE[kind] for kind in kinds},
        encode=partial(_encode, format, compressor),
        decode=partial(_decode, format),
        write=partial(_write, format, compressor) if writes else None,
        modules=("tare._tare",),
        distribution="tare",
        options=options or {},
        variants={"document": (), **(variants or {})} if "document" in kinds else variants or {},
        threads=(1, "all") if format in _THREADED else (1,),
        set_threads=_set_threads,
        subset=partial(_subset, format),
        rows=partial(_rows, format),
        max_depth=_DEEPEST if "document" in kinds else None,
        writes=writes,
        notes=notes,
    )


def _encode(
    format: str, compressor: Callable[[dict[str, Any]], str] | None, obj: Any, **options: Any
) -> bytes:
    from tare.r.writing import encoded

    return encoded(obj, format, **_given(compressor, options))


def _write(
    format: str,
    compressor: Callable[[dict[str, Any]], str] | None,
    obj: Any,
    file: BinaryIO,
    **options: Any,
) -> None:
    from tare.r.writing import encoded

    encoded(obj, format, file, **_given(compressor, options))


def _decode(format: str, data: Buffer, **options: Any) -> Any:
    from tare.r.writing import decoded

    return decoded(data, format, _KNOB["threads"])


def _set_threads(threads: int | None) -> int | None:
    before, _KNOB["threads"] = _KNOB["threads"], threads
    return before


def _subset(format: str, data: Buffer, columns: list[str], **options: Any) -> pa.Table:
    from tare import r

    return _only(r.read(data, format=format, as_="arrow", columns=columns, loss=[]))


def _rows(format: str, data: Buffer, start: int, count: int, **options: Any) -> pa.Table:
    from tare import r

    return _only(r.read(data, format=format, as_="arrow", rows=(start, start + count), loss=[]))


def _only(held: Any) -> pa.Table:
    """The table, of RData the one variable that it is."""
    table: pa.Table = next(iter(held.values())) if isinstance(held, dict) else held
    return table


def _given(compressor: Callable[[dict[str, Any]], str] | None, options: dict[str, Any]) -> dict[str, Any]:
    """Options of a codec as those of the core: without a compressor around, which the codec adds itself."""
    given = {name: value for name, value in options.items() if name in ("version", "encoding", "compress")}
    given["threads"] = _KNOB["threads"]
    return given | {"compressor": compressor(options) if compressor is not None else "none"}
