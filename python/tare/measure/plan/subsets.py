"""Reading a part: one column, some rows, one property, the first value.

A part is read by the library's own means where it has them. Where it has none, a property is
read by decoding the whole: that is what its users do, and the case says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.errors import Unsupported, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare.codec import Codec

__all__ = ["Subset", "refusal", "remark", "row_range", "steps_of", "subset_of"]


@dataclass(frozen=True)
class Subset:
    """How a part is read, and what it is a part of.

    Args:
        read: Gives the part of encoded bytes.
        of: Gives the same part of the value in memory: what must come back.
    """

    read: Callable[[Any], Any]
    of: Callable[[Any], Any]


def row_range(share: str, rows: int) -> tuple[int, int]:
    """First row and number of rows of ``rows:1%``: a run in the middle, where neither end is near.

    Raises:
        UsageError: It is no share.

    >>> row_range("1%", 1000)
    (495, 10)
    """
    try:
        part = float(share.removesuffix("%")) / 100 if share.endswith("%") else -1.0
    except ValueError:
        part = -1.0
    if not 0 < part <= 1:
        raise UsageError(f"rows:{share[:40]} is not a part of the rows: write rows:1%, at most rows:100%")
    count = min(rows, max(1, round(rows * part)))
    return (rows - count) // 2, count


def steps_of(pointer: str) -> list[str]:
    """The steps of a JSON Pointer (RFC 6901).

    Raises:
        UsageError: It does not begin with a slash.

    >>> steps_of("/a~1b/0")
    ['a/b', '0']
    """
    if pointer and not pointer.startswith("/"):
        raise UsageError(f"path:{pointer[:80]} is not a JSON Pointer: write path:/name/0/name")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def refusal(codec: Codec, subset: str, *, grain: str = "whole") -> str | None:
    """Why this codec cannot read that part; None if it can."""
    what = subset.partition(":")[0]
    if what == "path":
        return None
    if what == "first":
        return None if grain == "each" else "has no first value: first is of many documents, grain=each"
    if codec.compressor not in (None, "none"):
        return "cannot be read in part: a compressor is around it"
    if what == "column" and codec.library.subset is None:
        return "cannot read some columns only"
    if what == "rows" and codec.library.rows is None:
        return "cannot read some rows only"
    return None if what in ("column", "rows") else "reads no such part"


def remark(codec: Codec, subset: str) -> str:
    """What must be known of how the part is read; empty if the library reads it by its own means."""
    what = subset.partition(":")[0]
    own = {"path": codec.library.path, "first": codec.library.open}
    whole = what in own and (own[what] is None or codec.compressor not in (None, "none"))
    return "decodes the whole, then takes the part" if whole else ""


def subset_of(codec: Codec, subset: str, decode: Callable[[Any], Any], *, grain: str, items: int) -> Subset:
    """How a codec reads a part.

    Args:
        codec: The codec.
        subset: ``column:NAME``, ``rows:1%``, ``path:POINTER``; ``first`` for the first value of
            every document.
        decode: Decodes the whole of one encoded value.
        grain: ``whole``, or ``each`` for documents encoded one by one.
        items: Rows of the table, for ``rows``.

    Raises:
        Unsupported: The library has no means to read that part.
        UsageError: The part is not written as one.
    """
    why = refusal(codec, subset, grain=grain)
    if why is not None:
        raise Unsupported(f"{codec} {why}")
    library, options, by_decoding = codec.library, codec.options, bool(remark(codec, subset))
    what, _, rest = subset.partition(":")
    if what == "column":
        columns: Any = library.subset
        return Subset(lambda data: columns(data, [rest], **options), lambda value: value.select([rest]))
    if what == "rows":
        rows: Any = library.rows
        start, count = row_range(rest, items)
        return Subset(
            lambda data: rows(data, start, count, **options), lambda value: value.slice(start, count)
        )
    if what == "path":
        steps, path = steps_of(rest), library.path
        if path is None or by_decoding:
            return Subset(lambda data: _walk(decode(data), steps), lambda value: _walk(value, steps))
        return Subset(lambda data: path(data, steps, **options), lambda value: _walk(value, steps))
    view: Any = decode if by_decoding else library.open
    more = {} if by_decoding else options
    return Subset(
        lambda parts: [_first(view(part, **more)) for part in parts],
        lambda value: [_first(document) for document in value],
    )


def _walk(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def _first(document: Any) -> Any:
    """The first value of a mapping or a list, also of a lazy one; any other value itself."""
    if isinstance(document, (str, bytes)) or not hasattr(document, "__getitem__"):
        return document
    if not len(document):
        return None
    value = document[next(iter(document)) if hasattr(document, "keys") else 0]
    for plain in ("as_dict", "as_list", "to_python"):  # what views of simdjson and blit call them
        if hasattr(value, plain):
            return getattr(value, plain)()
    return value
