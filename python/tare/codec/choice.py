"""Which codecs ``tare measure`` tries by default."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tare import formats
from tare.codec.codec import Codec
from tare.codec.shortlist import beside, shortlist, variants

__all__ = ["candidates"]


def candidates(
    kind: str,
    *,
    extras: bool = True,
    sequence: bool = False,
    source_format: str | None = None,
    languages: Collection[str] | None = (),
) -> list[Codec]:
    """Returns what ``tare measure`` tries: what people use, then the other installed libraries in their default variants.

    Args:
        kind: ``document`` or ``table``.
        extras: Whether libraries of Tare's optional extras count too.
        sequence: Whether the document is a list of documents, which formats such as NDJSON can hold.
        source_format: Format of the user's file, as in `shortlist`. Formats of its language are tried too.
        languages: Languages whose own formats (`Format.native_to`) are tried too; None for all.

    Returns:
        The shortlist and its variants, in their order; then formats made for the kind before those that can also
        hold it, compressed forms next, libraries in pure Python last.
    """
    if languages is not None:
        of_file = (source_format or "").partition("+")[0]
        languages = {*languages, *(one.native_to for one in formats.FORMATS if one.id == of_file)}
    ids = [
        *shortlist(kind, sequence=sequence, source_format=source_format),
        *beside(kind, sequence=sequence, source_format=source_format),
    ]
    common = [Codec.parse(id) for id in ids]
    found = [codec for codec in common if codec.installed and (extras or not codec.library.extra)]
    found += _registered(kind, extras=extras, sequence=sequence, languages=languages)
    return list(dict.fromkeys(found))


def _registered(kind: str, *, extras: bool, sequence: bool, languages: Collection[str] | None) -> list[Codec]:
    ranked: list[tuple[bool, bool, Codec]] = []
    for format in formats.FORMATS:
        if format.sequence and kind == "document" and not sequence:
            continue
        if format.native_to and languages is not None and format.native_to not in languages:
            continue
        for library in format.libraries:
            if kind not in library.native or not library.installed or (library.extra and not extras):
                continue
            ranked += [
                (library.slow, len(format.kinds) > 1, codec) for codec in variants(format.id, library, kind)
            ]
    ranked.sort(key=lambda entry: entry[:2])  # stable: the registry's order within a rank
    quick = [codec for slow, _, codec in ranked if not slow]
    pressed = [Codec.parse(id) for id in _COMPRESSED[kind]]
    pressed = [codec for codec in pressed if codec.installed and (extras or not codec.library.extra)]
    return quick + pressed + [codec for slow, _, codec in ranked if slow]


# Compressed forms worth a row of their own, beside those that people use most.
_COMPRESSED: Mapping[str, tuple[str, ...]] = {
    "document": ("json:orjson+gzip:6",),
    "table": ("csv:pyarrow+gzip:6",),
}
