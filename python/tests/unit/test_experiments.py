"""The five studies: what they published is in the plans, pages come from records alone, reduced runs work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from conftest import ROOT

from tare.measure.plan import Plan
from tare.measure.record import new_record, write_record

BENCH = ROOT / "bench"
NAMES = ("transports", "files", "load", "compress", "documents")
FIGURES = {
    "heading": "", "operation": "encode", "unit": "x", "base": "json:stdlib", "rows": [],
}  # fmt: skip


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(str(BENCH))
    import experiment_figures
    import experiment_page
    import experiments

    return {"run": experiments, "figures": experiment_figures, "page": experiment_page}


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


def result_of(*cases: tuple[str, float, str], floor: float = 0.01, **more: Any) -> SimpleNamespace:
    """What a page is made of, from such cases."""
    record = record_of(*cases)
    machine = {"cpu_model": "x", "cores": 2, "kernel": "k", "filesystem": "f"}
    record |= {"machine": machine, "elapsed_s": 1.0, "created": "2026-11-23T00:00:00Z", "tare": "0"}
    record |= {"plan": {"statistics": {"launches": 1, "rounds": 1}}, "codecs": {}, **more}
    derived = record.pop("derived") | {"noise": {"floor": floor, "quiet": floor < 0.05}}
    return SimpleNamespace(record=record, cases=record["cases"], derived=derived)


def test_a_stand_in_is_no_further_published_figure(bench):
    """A figure counts once; where only another library could be measured, the page says so."""
    rows = [
        {"codec": "json:stdlib", "published": 1},
        {"codec": "arrow:r-arrow", "published": 0.5},
        {"codec": "arrow:pyarrow", "as": "arrow:r-arrow", "published": 0.5},
        {"codec": "rds:r", "published": 2.0},
        {"codec": "rds:tare", "as": "rds:r", "published": 2.0},
    ]
    result = result_of(
        ("json:stdlib", 100, "ok"), ("arrow:r-arrow", 1, "n/a"), ("arrow:pyarrow", 50, "ok"),
        ("rds:r", 100, "ok"), ("rds:tare", 200, "ok"),
    )  # fmt: skip
    said = bench["page"]._answer({"figures": [{**FIGURES, "rows": rows}]}, {"": result})
    assert said == (
        "Of 2 published figures: 1 otherwise, 1 could not be measured here. "
        "For 1 of the last a stand-in was, another library of the same format: 1 as published."
    )


def test_a_study_of_which_nothing_runs_here(bench):
    """Its figures are counted by what stands in for it; the base is no figure."""
    rows = [
        {"codec": "json:stdlib", "as": "none", "published": 1},
        {"codec": "rds:tare", "as": "gzip", "published": 2.0},
        {"codec": "arrow:pyarrow", "as": "lz4", "published": 9.0},
    ]
    result = result_of(("json:stdlib", 100, "ok"), ("arrow:pyarrow", 50, "ok"), ("rds:tare", 200, "ok"))
    said = bench["page"]._answer({"figures": [{**FIGURES, "rows": rows}]}, {"": result})
    assert said == (
        "Nothing of the study's own runs here. Of 2 published figures, by what stands in for it: "
        "1 as published, 1 otherwise."
    )


def test_the_noise_of_many_groups(bench):
    """The worst of many says little of the rest."""
    result = result_of(("json:stdlib", 100, "ok"))
    result.derived["noise"]["aa"] = [
        {"op": "total", "lo": 1 / (1 + width), "hi": 1.0} for width in (0.01, 0.02, 0.5)
    ] + [{"op": "encode", "lo": 0.1, "hi": 9.0}]
    assert "Noise floor 2.0 % in the median of 3 groups, 50.0 % in the worst." in " ".join(
        bench["page"]._facts(result, "l")
    )


def test_a_noisy_run_is_said_in_the_answer(bench):
    figures = {"figures": [{**FIGURES, "rows": [{"codec": "json:stdlib", "published": 1}]}]}
    said = [
        bench["page"]._answer(figures, {"": result_of(("json:stdlib", 100, "ok"), floor=floor)})
        for floor in (0.28, 0.09)
    ]
    assert "measured twice, differed from itself: 28.0 %." in said[0]
    assert "uncertain" not in said[1]


def test_the_cases_are_those_that_are_shown(bench):
    """Copying and the twins of the base are in the record, and no rows of a table."""
    result = result_of(
        ("json:stdlib", 1, "ok"), ("json:stdlib", 1, "ok"), ("copy", 1, "ok"), ("a:b", 1, "lossy")
    )
    result.cases[1]["labels"]["twin"] = "1"
    said = " ".join(bench["page"]._facts(result, "link"))
    assert (
        "Cases: 2 (1 lossy, 1 ok). The record has 1 of copying the bytes and 1 of the base once more" in said
    )


def test_a_run_that_did_not_end_is_said(bench):
    cases = ("json:stdlib", 1, "ok"), ("a:b", 1, "pending")
    said = [
        " ".join(bench["page"]._facts(result_of(*cases, **more), "l")) for more in ({}, {"interrupted": True})
    ]
    assert "cut short by its time limit**: 1 cases were not reached" in said[0]
    assert "**The run was interrupted**: 1 cases were not reached" in said[1]
    whole = " ".join(bench["page"]._facts(result_of(cases[0]), "l"))
    assert "interrupted" not in whole
    assert "cut short" not in whole


def test_a_view_that_was_counted_as_one_is_no_lost_data(bench):
    result = result_of(("parquet:pyarrow", 1, "unproven"))
    result.cases[0]["labels"]["materialise"] = "touch"
    result.cases[0]["reason"] = "1 of 1000000 items came back in round 9"
    assert "no data was lost" in " ".join(bench["page"]._facts(result, "l"))
    result.cases[0]["reason"] = "0 of 1000000 items came back in round 9"
    assert "no data was lost" not in " ".join(bench["page"]._facts(result, "l"))


def test_the_newest_record_is_shown(bench, tmp_path, monkeypatch):
    """By when it was made, whatever its folder is called."""
    made = {"2-cores-a": "2026-11-23T10:00:00Z", "2-cores-b": "2026-11-20T10:00:00Z"}
    for name, created in made.items():
        folder = tmp_path / name / "experiments"
        folder.mkdir(parents=True)
        record = new_record(command="", plan={"name": "load"}) | {"created": created}
        write_record(record, folder / "load.tare.json")
    monkeypatch.setattr(bench["run"], "RECORDS", tmp_path)
    (path,) = bench["run"].found_records({"plan": "load", "run": [{"name": ""}]}).values()
    assert path.parent.parent.name == "2-cores-a"


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
    records = [json.loads(path.read_text()) for path in page.parent.glob("*.tare.json")]
    measured = {case["labels"]["codec"] for one in records for case in one["cases"] if case.get("launches")}
    assert len(measured - {"copy"}) >= 2, f"only {measured} was measured"
