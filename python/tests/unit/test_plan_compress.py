"""The plan `compress`: sizes, peaks and peers beside ours, in parts that are chosen, within what memory there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.capabilities import need_codec

from tare import measure
from tare.cli.measure import command
from tare.errors import PlanError, UsageError
from tare.measure import plan_pipeline
from tare.measure.plan.plan import Plan
from tare.measure.settings import Settings
from tare.report import markdown, terminal

FEW = (
    "arrow:pyarrow",
    "arrow:pyarrow+zstd:3",
    "arrow:pyarrow+zstd:3,library=zstandard",
    "arrow:pyarrow+blosc2:5",
    "rds:tare+zstd:3",
)


@pytest.fixture(autouse=True)
def _state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def dry(*args: str) -> str:
    """What ``tare measure --plan compress --dry-run`` says of a part of the plan."""
    done = CliRunner().invoke(
        command, ["--plan", "compress", "--dry-run", *args], catch_exceptions=False, standalone_mode=False
    )
    return done.stdout


def cases_of(record: dict[str, Any], **labels: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Cases with these labels by codec and medium, without the twin and the floor row."""
    return {
        (case["labels"]["codec"], case["labels"]["medium"]): case
        for case in record["cases"]
        if "twin" not in case["labels"]
        and case["labels"]["codec"] != "copy"
        and all(case["labels"].get(name) == level for name, level in labels.items())
    }


def test_a_part_of_the_plan_is_measured_with_sizes_peaks_and_peers() -> None:
    """Ours and theirs, in memory, in a file and through the store, proven."""
    for id in FEW:
        need_codec(id)
    plan = Plan.named("compress").narrow(
        codecs=FEW, where={"dataset": ["runif:3"], "content": ["rounded"], "threads": ["1"]}
    )
    small = Plan.from_dict(plan.as_dict() | {"statistics": {"launches": 1, "rounds": 1}, "override": []})
    result = measure.run(None, plan=small, time_s=0)
    plain = 8000
    found = cases_of(result.record, dataset="runif:3")
    for id in FEW[:-1]:
        for medium, operations in (("memory", {"encode", "decode"}), ("file", {"write", "read"})):
            case = found[id, medium]
            assert ("ok", "same") == (case["status"], case["verify"]["verdict"]), (id, case["reason"])
            assert 0 < case["bytes"] < 3 * plain + 1000
            assert operations <= set(case["launches"][0]["samples"])
            if "+" in id or medium == "memory":
                assert operations == set(case["memory"]), (id, medium)
                assert all(one["peak_bytes"] >= 0 for one in case["memory"].values())
    assert found[FEW[1], "memory"]["bytes"] < found[FEW[0], "memory"]["bytes"]
    store = found["rds:tare+zstd:3", "store"]
    assert ("ok", "same") == (store["status"], store["verify"]["verdict"]), store["reason"]
    assert {"write", "read"} <= set(store["launches"][0]["samples"])
    assert {"write", "read"} == set(store["memory"])
    assert 0 < store["bytes"] < 3 * plain + 1000
    codecs = result.record["codecs"]
    assert {"library": "tare"} == codecs[FEW[1]]["compressor_options"]
    assert {"library": "zstandard"} == codecs[FEW[2]]["compressor_options"]
    assert {"library": "blosc2", "codec": "zstd"} == codecs[FEW[3]]["compressor_options"]
    assert codecs[FEW[2]]["versions"]["zstandard"]
    for text in (markdown.render(result), terminal.render(result)):
        assert "+zstd:3,library=zstandard" in text
        assert "peak" in text


def test_the_plan_is_narrowed_by_any_factor() -> None:
    """--where keeps the levels it names, of one factor any of them, of several factors all."""
    where = {
        "dataset": ["runif:6", "runif:7"],
        "content": ["rounded"],
        "threads": ["all"],
        "medium": ["file"],
    }
    labels = [case.labels for case in Plan.named("compress").narrow(where=where).cases()]
    assert {("runif:6", "rounded", "all"), ("runif:7", "rounded", "all")} == {
        (one["dataset"], one["content"], one["threads"]) for one in labels
    }
    assert "arrow:pyarrow+gzip:1,library=isal" in {one["codec"] for one in labels}
    with pytest.raises(PlanError, match="no case with runif:9"):
        Plan.named("compress").narrow(where={"dataset": ["runif:9"]})
    with pytest.raises(PlanError, match="there is no factor 'data'"):
        Plan.named("compress").narrow(where={"data": ["runif:9"]})


def test_the_command_takes_a_part() -> None:
    """--where FACTOR=LEVEL, as often as wanted, of a plan only."""
    need_codec("arrow:pyarrow+zstd:3,library=zstandard")
    said = dry("--where", "dataset=runif:5", "--where", "content=sorted", "--codec", "arrow:pyarrow+zstd*")
    assert {"content=sorted"} == {line.split()[-1] for line in said.splitlines() if "dataset=" in line}
    assert "+zstd:3,library=zstandard medium=file" in said
    for args in (["--plan", "compress", "--where", "dataset"], ["data.csv", "--where", "medium=file"]):
        done = CliRunner().invoke(command, [*args, "--dry-run"])
        assert done.exit_code == 2
        assert "--where" in done.output


def test_data_that_memory_has_no_room_for_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """10^8 doubles are not made where a few processes could not hold them; smaller ones are measured."""
    monkeypatch.setattr(plan_pipeline, "available_bytes", lambda: 5 << 30)
    plan = Plan.named("compress").narrow(
        codecs=["arrow:pyarrow"],
        media=["memory"],
        where={"dataset": ["runif:1", "runif:8"], "content": ["uniform"], "threads": ["1"]},
    )
    result = measure.run(None, plan=plan, time_s=20)
    large = cases_of(result.record, dataset="runif:8")["arrow:pyarrow", "memory"]
    assert "n/a" == large["status"]
    assert "needs about 8.8 GB of free memory" in large["reason"]
    assert "5.4 GB are free" in large["reason"]
    assert "ok" == cases_of(result.record, dataset="runif:1")["arrow:pyarrow", "memory"]["status"]
    with pytest.raises(UsageError, match=r"8\.8 GB"):
        measure.run(None, plan=plan.narrow(datasets=["runif:8"]), time_s=20)


def test_slow_calls_get_the_time_the_plan_allows() -> None:
    """A call of minutes is ended after the plan's own deadline, and no later than the time that is left."""
    plan = Plan.named("compress")
    assert 600 == plan.statistics.deadline_s
    settings = Settings(time_s=0)
    assert 600 == plan_pipeline._deadline_s(plan, settings, 0.0)
    assert 120 == plan_pipeline._deadline_s(plan, settings, 120.0)
    assert 30 == plan_pipeline._deadline_s(Plan.named("load"), settings, 0.0)
    with pytest.raises(PlanError, match="deadline_s"):
        Plan.from_dict(plan.as_dict() | {"statistics": {"deadline_s": 0}})
