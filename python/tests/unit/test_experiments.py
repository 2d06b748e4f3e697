"""The five studies: what they published is in the plans, pages come from records alone, reduced runs work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT

from tare.measure.plan import Plan

BENCH = ROOT / "bench"
NAMES = ("transports", "files", "load", "compress", "documents")
FIGURES = {
    "heading": "", "operation": "encode", "unit": "x", "base": "json:stdlib", "rows": [],
}  # fmt: skip


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(str(BENCH))
    import experiment_figures
    import experiments

    return {"run": experiments, "figures": experiment_figures}


def record_of(*cases: tuple[str, float, str]) -> dict[str, Any]:
    """A record of encodes in memory: codec, nanoseconds, status."""
    listed, derived = [], {}
    for codec, t_ns, status in cases:
        labels = {"codec": codec, "dataset": "d", "medium": "memory", "size": "1"}
        listed.append({"key": codec, "labels": labels, "status": status, "reason": "why not"})
        derived[codec] = {"ops": {"encode": {"t_ns": t_ns}}, "bytes": 1e6, "kept": "all"}
    return {"cases": listed, "derived": {"cases": derived, "growth": []}}


def agreement(bench: dict[str, ModuleType], published: Any, ours_ns: float, status: str = "ok") -> str:
    figures = {**FIGURES, "rows": [{"codec": "msgpack:msgpack", "published": published}]}
    record = record_of(("json:stdlib", 100, "ok"), ("msgpack:msgpack", ours_ns, status))
    (row,) = bench["figures"].compared(figures, record)
    return str(row["agrees"])


@pytest.mark.parametrize(
    ("published", "ours_ns", "agrees"),
    [
        (0.5, 50, "yes"), (0.5, 74, "yes"), (0.5, 76, "direction"), (0.5, 30, "direction"),
        (0.5, 99, "no"), (0.14, 100, "no"), (0.5, 200, "no"), (10, 160, "direction"), (10, 90, "no"),
        ([0.4, 0.75], 60, "yes"), ([0.4, 0.75], 20, "direction"), ([0.4, 0.75], 120, "no"),
    ],
)  # fmt: skip
def test_a_published_multiple_beside_ours(bench, published, ours_ns, agrees):
    assert agreement(bench, published, ours_ns) == agrees


def test_what_was_not_measured_agrees_with_nothing(bench):
    figures = {**FIGURES, "rows": [{"codec": "msgpack:msgpack", "published": 0.5}]}
    record = record_of(("json:stdlib", 100, "ok"), ("msgpack:msgpack", 50, "unproven"))
    (row,) = bench["figures"].compared(figures, record)
    assert (row["agrees"], row["ours"], row["reason"]) == ("", None, "why not")
    assert "| `msgpack:msgpack` | 0.5 |  |  | why not |" in bench["figures"].table(figures, [row])


def test_seconds_of_another_machine_are_compared_as_multiples(bench):
    rows = [{"codec": "json:stdlib", "published": 2.0}, {"codec": "msgpack:msgpack", "published": 1.0}]
    figures = {**FIGURES, "unit": "s", "rows": rows}
    record = record_of(("json:stdlib", 100, "ok"), ("msgpack:msgpack", 60, "ok"))
    base, other = bench["figures"].compared(figures, record)
    assert (base["agrees"], other["multiple"], other["ours"], other["agrees"]) == (
        "base",
        [0.5, 0.5],
        0.6,
        "yes",
    )


def test_sizes_are_compared_as_closely_as_the_study_allows(bench):
    rows = [{"codec": "json:stdlib", "published": 1.04}, {"codec": "msgpack:msgpack", "published": 1.06}]
    figures = {"heading": "", "operation": "bytes", "unit": "MB", "within": 0.05, "rows": rows}
    found = bench["figures"].compared(
        figures, record_of(("json:stdlib", 1, "ok"), ("msgpack:msgpack", 1, "ok"))
    )
    assert [row["agrees"] for row in found] == ["yes", "no"]


@pytest.mark.parametrize("name", NAMES)
def test_every_published_figure_is_a_case_of_the_plan(bench, name):
    """A codec that the plan does not measure would be told as not measured for ever."""
    study = bench["run"].read_study(name)
    cases = [case.labels for case in Plan.named(study["plan"]).cases()]
    wanted = [
        (row["codec"], {**figures.get("where", {}), **row.get("where", {})})
        for figures in study["figures"]
        for row in figures["rows"]
    ]
    for codec, where in wanted:
        labels = {"codec": codec, **{key: value for key, value in where.items() if key != "size"}}
        assert any(bench["figures"].has(case, labels) for case in cases), labels


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_what_the_records_say(bench, name):
    study = bench["run"].read_study(name)
    page = ROOT / "docs" / "experiments" / f"{name}.md"
    if not bench["run"].found_records(study):
        assert not page.exists(), "a page without a record"
        return
    made = bench["run"].text_of(study, page.parent)
    assert page.read_text(encoding="utf-8") == made
    for chart in {part.split(")")[0] for part in made.split("](")[1:] if part.split(")")[0].endswith(".svg")}:
        assert (page.parent / chart).exists(), chart


@pytest.mark.parametrize("name", NAMES)
def test_a_reduced_experiment_gives_its_page(name, shared):
    shared("data")
    done = subprocess.run(
        [sys.executable, str(BENCH / "run.py"), "experiments", "--quick", name],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    page = Path(done.stdout.strip().splitlines()[-1])
    text = page.read_text(encoding="utf-8")
    assert f"# {name}: " in text
    assert "### " in text
    assert "could not be measured" in text or "as published" in text
