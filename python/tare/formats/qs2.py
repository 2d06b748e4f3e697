"""qs2: one R object, R's own serialization in blocks of zstd with a checksum, as the package qs2 writes it."""

from __future__ import annotations

from tare.formats.base import Format
from tare.formats.robjects import LANGUAGES, LEVEL, TARE_ALONE, library

__all__ = ["FORMAT"]

FORMAT = Format(
    id="qs2",
    title="qs2",
    extensions=(".qs2",),
    magic=(b"\x0b\x0e\x0a\xc1",),
    kinds=frozenset({"document", "table"}),
    spec="https://github.com/qsbase/qs2",
    languages=LANGUAGES,
    native_to="r",
    read_by_tare=TARE_ALONE,
    libraries=(
        library("qs2", options={"level": LEVEL}, compressor=lambda options: f"zstd:{options['level']}"),
    ),
)
