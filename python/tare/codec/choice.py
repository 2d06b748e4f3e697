"""Which codecs ``tare measure`` tries by default."""

from __future__ import annotations

from collections.abc import Mapping

from tare import formats
from tare.codec.codec import Codec

__all__ = ["candidates"]


def candidates(kind: str, *, extras: bool = True, sequence: bool = False) -> list[Codec]:
    """What ``tare measure`` tries by default: installed libraries in their default variants.

    Args:
        kind: ``document`` or ``table``.
        extras: Whether libraries of Tare's optional extras count too.
        sequence: Whether the document is a list of documents, which formats such as NDJSON can hold.

    Returns:
        Most useful first: formats made for the kind before those that can also
        hold it, compressed forms next, libraries in pure Python last.
    """
    ranked: list[tuple[bool, bool, Codec]] = []
    for format in formats.FORMATS:
        if format.sequence and kind == "document" and not sequence:
            continue
        for library in format.libraries:
            if kind not in library.native or not library.installed or (library.extra and not extras):
                continue
            for variant in library.variants.get(kind, ({},)):
                settings = tuple(
                    sorted((k, v) for k, v in variant.items() if library.options[k].default != v)
                )
                ranked.append((library.slow, len(format.kinds) > 1, Codec(format.id, library.name, settings)))
    ranked.sort(key=lambda entry: entry[:2])  # stable: the registry's order within a rank
    quick = [codec for slow, _, codec in ranked if not slow]
    pressed = [Codec.parse(id) for id in _COMPRESSED[kind]]
    pressed = [codec for codec in pressed if codec.installed and (extras or not codec.library.extra)]
    return quick + pressed + [codec for slow, _, codec in ranked if slow]


# Compressed forms worth a row of their own: the usual text and the usual binary format.
_COMPRESSED: Mapping[str, tuple[str, ...]] = {
    "document": ("json:orjson+zstd:3", "json:orjson+gzip:6", "msgpack:msgspec+zstd:3", "msgpack:msgspec+lz4"),
    "table": ("csv:pyarrow+zstd:3", "csv:pyarrow+gzip:6"),
}
