"""RDS: one R object as R serializes it, version 2 or 3 ("R Internals", "Serialization Formats")."""

from __future__ import annotations

import re

from tare.formats.base import Format
from tare.formats.robjects import ENCODING, LANGUAGES, TARE_ALONE, VERSION, library

__all__ = ["FORMAT"]

_TEXT = re.compile(rb"\n?A\r?\n[23]\r?\n\d{5,}\r?\n\d{5,}\r?\n")


def _sniff(head: bytes) -> bool:
    """R's text form: a letter and three numbers on lines of their own. A column named A looks otherwise."""
    return _TEXT.match(head) is not None


FORMAT = Format(
    id="rds",
    title="RDS",
    extensions=(".rds",),
    extension_compressors={".rds": "gzip:6"},
    magic=(
        b"X\n\x00\x00\x00\x02",
        b"X\n\x00\x00\x00\x03",
        b"B\n\x02\x00\x00\x00",
        b"B\n\x03\x00\x00\x00",
        b"B\n\x00\x00\x00\x02",
        b"B\n\x00\x00\x00\x03",
    ),
    kinds=frozenset({"document", "table"}),
    spec="https://cran.r-project.org/doc/manuals/r-release/R-ints.html#Serialization-Formats",
    languages=LANGUAGES,
    native_to="r",
    read_by_tare=TARE_ALONE,
    sniff=_sniff,
    libraries=(
        library(
            "rds",
            options={"encoding": ENCODING, "version": VERSION},
            notes=(
                "Integers beyond 32 bits become integer64, unsigned ones and decimals doubles: R has no others.",
            ),
        ),
    ),
)
