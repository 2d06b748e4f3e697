"""Entries of a record's block ``codecs``."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.codec import Codec

__all__ = ["describe"]


def describe(codec: Codec, threads: int | str, workers: Collection[str] = ()) -> dict[str, Any]:
    """Returns the entry of a codec, with every option resolved.

    Args:
        codec: The codec.
        threads: 1 or ``all``.
        workers: Languages whose worker was given by ``--worker``.
    """
    from tare.measure.worker_client.languages import Foreign

    stand_in: object = codec
    if isinstance(stand_in, Foreign):
        own = {"given": True} if stand_in.language in workers else {}
        return {**stand_in.describe(threads), **own}
    return {
        "format": codec.format.id,
        "library": codec.library.name,
        "compressor": codec.compressor,
        "level": codec.level,
        "compressor_options": codec.compressor_options(),
        "options": dict(codec.options),
        "version": codec.library.version,
        "versions": codec.versions(),
        "threads": threads,
        "flags": codec.flags(),
    }
