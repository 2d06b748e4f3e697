"""qdata: R's vectors, lists and data frames in blocks of zstd with a checksum, as the package qs2 writes them."""

from __future__ import annotations

from tare.formats.base import Format
from tare.formats.robjects import LANGUAGES, LEVEL, TARE_ALONE, library

__all__ = ["FORMAT"]

FORMAT = Format(
    id="qdata",
    title="qdata",
    extensions=(".qdata", ".qd"),
    magic=(b"\x0b\x0e\x0a\xcd",),
    kinds=frozenset({"document", "table"}),
    spec="https://github.com/qsbase/qdata-cpp",
    languages=LANGUAGES,
    native_to="r",
    read_by_tare=TARE_ALONE,
    libraries=(
        library(
            "qdata",
            options={"level": LEVEL},
            compressor=lambda options: f"zstd:{options['level']}",
            notes=("Functions, environments and S4 objects become NULL.",),
        ),
    ),
)
