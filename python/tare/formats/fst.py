"""fst: data frames of R whose columns and rows are read alone, as the package fst 0.9 lays them out."""

from __future__ import annotations

from tare.formats.base import Format, Option
from tare.formats.robjects import LANGUAGES, TARE_ALONE, library

__all__ = ["FORMAT"]

_COMPRESS = Option(
    50, tuple(range(101)), "0 = fastest, 100 = smallest, as in R: LZ4 from 1 on, zstd from 51 on."
)


def _sniff(head: bytes) -> bool:
    """The first eight bytes are the hash of the forty that follow."""
    from tare.r.sources import sniffed

    return sniffed(head[:64]) == "fst"


FORMAT = Format(
    id="fst",
    title="fst",
    extensions=(".fst",),
    kinds=frozenset({"table"}),
    spec="https://github.com/fstpackage/fst",
    languages=LANGUAGES,
    native_to="r",
    read_by_tare=TARE_ALONE,
    subset=("columns", "rows"),
    sniff=_sniff,
    libraries=(
        library(
            "fst",
            options={"compress": _COMPRESS},
            kinds=("table",),
            notes=(
                "Column data have no checksum: a byte that changed on the disk comes back as another value.",
                "Attributes of the table are not kept, nor lists and matrices as columns.",
            ),
        ),
    ),
)
