"""How files are converted: the options of `tare.convert` that every file of a folder shares."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["Converting"]


class Converting(TypedDict, total=False):
    """How a file is converted; see `tare.convert`.

    Attributes:
        columns: Names of the columns to convert; all by default.
        encoding: Encoding of a source text that is not UTF-8.
        verify: Read the result back and compare.
        allow_pickle: Read sources that can run code.
        allow_loss: Keep a result in which values changed.
        data_only: Leave out what R has beside data.
        strict: Write nothing if an R object would lose something.
    """

    columns: list[str] | None
    encoding: str | None
    verify: bool | None
    allow_pickle: bool
    allow_loss: bool
    data_only: bool
    strict: bool
