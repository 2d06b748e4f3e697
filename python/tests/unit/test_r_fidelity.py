"""The probe set ``robjects/1``: nothing is lost in silence, and the table in the docs is what a run gives."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest

from tare.measure.fidelity import probe_robjects
from tare.measure.fidelity.probe_robjects import OBJECTS, ROUTES

_MADE = re.compile(r"(<!-- made by .*? -->\n).*?(<!-- /made -->)", re.DOTALL)


@cache
def matrix():
    return probe_robjects.matrix()


@pytest.mark.parametrize("route", ROUTES)
def test_nothing_is_lost_in_silence(route: str) -> None:
    """What is not identical afterwards was told, or refused."""
    silent = {name: cells[route] for name, cells in matrix().items() if cells[route].verdict == "silent"}
    assert {} == silent


@pytest.mark.parametrize("route", ["rds", "rdata", "qs2"])
def test_formats_of_objects_keep_everything(route: str) -> None:
    """Every probe comes back the same."""
    assert {"same"} == {cells[route].verdict for cells in matrix().values()}


@pytest.mark.parametrize(
    "name",
    ["na_logical", "na_integer", "na_real", "nan", "na_character", "factor", "factor_ordered", "date", "posixct_zone",
     "integer64", "tibble"],
)  # fmt: skip
@pytest.mark.parametrize("route", ["arrow", "parquet"])
def test_what_a_table_promises(route: str, name: str) -> None:
    """The types that both languages have come back the same through Arrow and Parquet."""
    assert "same" == matrix()[name][route].text


def test_every_probe_says_what_it_is() -> None:
    """Names are there once, and each builds."""
    assert len(OBJECTS) == len({probe.name for probe in OBJECTS})
    for probe in OBJECTS:
        assert probe.help
        assert probe.build().identical(probe.build())


def test_the_table_in_the_docs_is_current(root: Path) -> None:
    """docs/guides/r-fidelity.md has what a run gives; TARE_WRITE_DOCS=1 writes it."""
    path = root / "docs/guides/r-fidelity.md"
    text = path.read_text(encoding="utf-8")
    table = probe_robjects.table_text(matrix())
    made = _MADE.sub(lambda found: f"{found[1]}\n{table}\n{found[2]}", text)
    if os.environ.get("TARE_WRITE_DOCS") == "1":
        path.write_text(made, encoding="utf-8")
    else:
        assert made == text
