"""qs, version 1: one R object, as the package qs wrote it before it left CRAN. It is read, and not written."""

from __future__ import annotations

from tare.formats.base import Format
from tare.formats.robjects import LANGUAGES, TARE_ALONE, library

__all__ = ["FORMAT"]

FORMAT = Format(
    id="qs",
    title="qs",
    extensions=(".qs",),
    magic=(b"\x0b\x0e\x0a\x0c",),
    kinds=frozenset({"document", "table"}),
    spec="https://github.com/qsbase/qs",
    languages=LANGUAGES,
    native_to="r",
    read_by_tare=TARE_ALONE,
    libraries=(
        library(
            "qs",
            variants={"table": ()},
            writes=False,
            notes=("It is read only: R has no reader of it any more. Write qs2 instead.",),
        ),
    ),
)
