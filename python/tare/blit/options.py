"""How a document is written: the options of all that write one, spelled once."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["Writing"]


class Writing(TypedDict, total=False):
    """How a document is written.

    Attributes:
        canonical: The same value always gives the same bytes.
        layout: ``columns``, or ``rows``: every value by itself, so that it can be patched.
        numbers: ``value``, or ``text``: kept as text wherever it is not the shortest.
        duplicates: Names that an object has twice: the ``last`` stands, an ``error``, or ``keep`` all.
        surrogates: Halves of surrogate pairs are an ``error``, or ``keep``. Two that are one character are an
            error either way: JSON would give that character back.
        checksum: Whether there is one; None from 1,024 bytes on.
        aligned: Long lists of numbers lie at multiples of their width.
        pool: Strings that mixed lists have again and again are kept once; encoding takes longer.
        compress_strings: Strings of so many bytes, 512 or more, are compressed by themselves where that
            saves an eighth of them.

    >>> from tare import blit
    >>> small: blit.Writing = {"layout": "rows", "checksum": False}
    >>> len(blit.encode([{"a": 1}, {"a": 2}], **small))
    31
    """

    canonical: bool
    layout: str | None
    numbers: str | None
    duplicates: str | None
    surrogates: str | None
    checksum: bool | None
    aligned: bool
    pool: bool
    compress_strings: int | None
