"""RData: named R objects, as `save` writes them ("R Internals", "Serialization Formats")."""

from __future__ import annotations

from tare.formats.base import Format
from tare.formats.robjects import ENCODING, LANGUAGES, TARE_ALONE, VERSION, library

__all__ = ["FORMAT"]

FORMAT = Format(
    id="rdata",
    title="RData",
    extensions=(".rdata", ".rda"),
    extension_compressors={".rdata": "gzip:6", ".rda": "gzip:6"},
    magic=(b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n", b"RDB2\n", b"RDB3\n"),
    kinds=frozenset({"document", "table"}),
    spec="https://cran.r-project.org/doc/manuals/r-release/R-ints.html#Serialization-Formats",
    languages=LANGUAGES,
    native_to="r",
    read_by_tare=TARE_ALONE,
    libraries=(
        library(
            "rdata",
            options={"encoding": ENCODING, "version": VERSION},
            variants={"table": ()},
            notes=(
                "A mapping is a variable for each name; a table, or any other value, is the variable `data`.",
                "A file of one data frame is a table, any other a mapping.",
            ),
        ),
    ),
)
