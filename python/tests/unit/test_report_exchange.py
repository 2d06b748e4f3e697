"""The matrix of writers and readers: what can be rebuilt has a mark of its own, apart from what is lost."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from support.synthetic_records import synthetic_record

from tare.cli.exchanging import table_lines
from tare.measure.exchange.documents import OWN
from tare.measure.exchange.tables import OWN_NAMES
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


LOST_3 = {"outcome": "changed", "verdict": "lossy", "in": "1.5", "out": "1", "at": "$[0]", "count": 3}
FAILED = {"outcome": "error", "in": "", "error": "none"}


@pytest.mark.parametrize(
    ("found", "own", "probes", "worst"),
    [
        (pair(), "same", "same", "same"),
        (pair(a=LOST, b=REFUSED), "same", "1c 1r", "same"),
        (pair(**{OWN: LOST_3}), "changed 3", "same", "changed"),
        (pair(a=TYPED, **{OWN: TYPED}), "type", "1t", "type"),
        (pair(**{OWN: REFUSED}), "refused", "same", "refused"),
        (pair(**{OWN: FAILED}), "error", "same", "error"),
        (pair(**{OWN: {"outcome": "n/a", "in": ""}}), "n/a", "same", "n/a"),
        (pair(**{f"{OWN} a": LOST_3, f"{OWN} b": LOST_3, f"{OWN} c": TYPED}), "changed 2", "same", "changed"),
        (pair(b=LOST, **{f"{OWN} a": LOST_3, f"{OWN} t": FAILED}), "error 1, changed 1", "1c", "error"),
        (pair(**{OWN_NAMES: TYPED, f"{OWN} c": TYPED}), "type", "same", "type"),
        ({"counts": {}, "values": {}, "reason": "not tried"}, "-", "-", "not tried"),
    ],
)
def test_own_data_have_a_mark_of_their_own(found: dict[str, Any], own: str, probes: str, worst: str) -> None:
    """What became of probes is not in it, nor is it in theirs."""
    assert (exchanging.own_mark(found), exchanging.own_verdict(found)) == (own, worst)
    assert exchanging.mark(found) == probes


def test_own_data_come_first_in_every_report() -> None:
    """A matrix of its own with its differences, then that of the probes with theirs; of old records too."""
    record = synthetic_record("document")
    names = ["json:stdlib", "json:node"]
    block: dict[str, Any] = {
        "set": "values/1",
        "codecs": names,
        "own_share": 1.0,
        "pairs": {
            names[0]: {names[0]: pair(z=TYPED), names[1]: pair(z=TYPED, **{OWN: LOST_3})},
            names[1]: {names[0]: pair(z=LOST), names[1]: pair()},
        },
    }
    record["fidelity"]["exchange"] = {"json": block}
    for made in (markdown.render(record), terminal.render(record), unescape(render(record))):
        plain = (
            " ".join(made.replace("\\", "").split())
            .replace("Your own", "your own")
            .replace("Probes: ", "probes: ")
        )
        order = ["your own data: same", "changed 3", f"json:stdlib writes {OWN} 1.5, json:node reads 1",
                 "probes: same", "1t", "json:node writes z 4.75, json:stdlib reads 4.7"]  # fmt: skip
        at = 0
        for word in order:
            at = plain.find(word, at) + len(word)
            assert at >= len(word), word
    own, probes = exchanging.parts(block)
    assert exchanging.rows(block, own)[1:] == [
        ["1 json:stdlib", "same", "changed 3"],
        ["2 json:node", "same", "same"],
    ]
    assert exchanging.rows(block, probes) == exchanging.rows(block)
    del block["own_share"]  # what is told of own data shows that it was there
    assert len(exchanging.parts(block)) == 2
    block["pairs"][names[0]][names[1]] = pair()
    assert [part.own for part in exchanging.parts(block)] == [False]


def test_lines_that_are_left_out_are_counted_by_part() -> None:
    """Differences of own data are not crowded out by those of probes."""
    names = [f"json:{n}" for n in range(6)]
    found = pair(a=LOST, b=LOST, **{OWN: LOST_3})
    block = {"codecs": names, "pairs": {one: dict.fromkeys(names, found) for one in names}, "own_share": 1.0}
    own, probes = exchanging.parts(block)
    assert len(exchanging.said(block, own)) == 36
    assert exchanging.said(block, own, 12)[-1] == "and 24 more lines of own data: --json has all"
    assert exchanging.said(block, probes, 12)[-1] == "and 60 more lines of probes: --json has all"
