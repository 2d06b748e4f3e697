"""The matrix of writers and readers: what can be rebuilt has a mark of its own, apart from what is lost."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from simulate import synthetic_record

from tare.cli.exchanging import table_lines
from tare.measure.exchange_tables import OWN_NAMES
from tare.report import exchanging, markdown, terminal
from tare.report.html import render

TYPED = {"outcome": "changed", "verdict": "type", "in": "1.0", "out": "1"}
LOST = {"outcome": "changed", "verdict": "lossy", "in": "4.75", "out": "4.7"}


def pair(same: int = 40, **values: dict[str, Any]) -> dict[str, Any]:
    outcomes = [one["outcome"] for one in values.values()]
    counts = {name: outcomes.count(name) for name in set(outcomes)}
    return {"counts": {"same": same, **counts}, "values": values}


REFUSED = {"outcome": "refused", "in": "nan", "error": "no"}


@pytest.mark.parametrize(
    ("found", "mark", "verdict"),
    [
        (pair(), "same", "same"),
        (pair(a=TYPED), "1t", "type"),
        (pair(a=TYPED, b=TYPED, c=LOST), "1c 2t", "changed"),
        (pair(a=LOST), "1c", "changed"),
        (pair(a=TYPED, b=REFUSED), "1r 1t", "refused"),
    ],
)
def test_a_type_alone_has_its_own_mark(found: dict[str, Any], mark: str, verdict: str) -> None:
    assert (exchanging.mark(found), exchanging.verdict(found)) == (mark, verdict)


def test_every_report_tells_them_apart() -> None:
    """The page in the colours of the probes; Markdown, the terminal and `tare codecs` in the same letters."""
    record = synthetic_record("document")
    names = ["json:stdlib", "json:node"]
    block = {
        "set": "values/1",
        "codecs": names,
        "pairs": {
            names[0]: {names[0]: pair(), names[1]: pair(a=TYPED)},
            names[1]: {names[0]: pair(a=LOST), names[1]: pair(a=TYPED, b=TYPED)},
        },
    }
    record["fidelity"]["exchange"] = {"json": block}
    page = render(record)
    matrix = page[page.index("What one language writes") :]
    matrix = matrix[: matrix.index("</table>")]
    for cell in ("type>1t<", "lossy>1c<", "type>2t<"):
        assert cell in matrix.replace('"', "")
    made = "\n".join(table_lines(exchanging.rows(block)))
    for report in (markdown.render(record), terminal.render(record), made):
        assert all(f"{said}" in report for said in ("1t", "2t", "1c"))
    for report in (markdown.render(record), terminal.render(record), page):
        assert "t of another type" in " ".join(report.split())


def test_every_report_tells_names_that_changed() -> None:
    """A column that a reader adds, in the words of the other changes."""
    record = synthetic_record("table")
    cell = {"outcome": "changed", "verdict": "lossy", "in": "['a']", "out": "['a', 'index']"}
    found = pair(**{OWN_NAMES: cell})
    record["fidelity"]["exchange"] = {
        "csv": {"set": "columns/1", "codecs": ["csv:r"], "pairs": {"csv:r": {"csv:r": found}}}
    }
    said = "csv:r writes own data's columns ['a'], csv:r reads ['a', 'index']"
    for report in (markdown.render(record), terminal.render(record), unescape(render(record))):
        assert said in " ".join(report.replace("\\", "").split())
