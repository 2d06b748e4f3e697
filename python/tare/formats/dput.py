"""dput: the R code that makes a value, read by a grammar of data and never run (`dput` of R, control "exact")."""

from __future__ import annotations

from tare.formats.base import Format
from tare.formats.robjects import LANGUAGES, TARE_ALONE, library

__all__ = ["FORMAT"]

FORMAT = Format(
    id="dput",
    title="dput",
    extensions=(".dput", ".r"),
    kinds=frozenset({"document", "table"}),
    spec="https://rdrr.io/r/base/dput.html",
    languages=LANGUAGES,
    native_to="r",
    read_by_tare=TARE_ALONE,
    text=True,
    libraries=(
        library(
            "dput",
            variants={"table": ()},
            notes=("Functions, environments and S4 objects have no form in it.",),
        ),
    ),
)
