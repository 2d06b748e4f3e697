"""A plan that was cut short goes on: what was finished is what it was, byte for byte, and the rest is measured."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tare.measure.plan.plan import Plan
from tare.measure.result import Result
from tare.measure.run import run
from tare.measure.session import Control, Event

STATISTICS = {"launches": 2, "rounds": 1, "slow_s": 1, "slow_launches": 1, "slow_rounds": 1}


def plan_of(
    grow: dict[str, Any] | None = None, datasets: tuple[str, ...] = ("synthpop:200", "synthpop:300")
) -> Plan:
    raw: dict[str, Any] = {
        "plan": 1, "name": "two", "question": "Which?", "statistics": STATISTICS,
        "block": [{"dataset": list(datasets), "codec": ["csv:pyarrow", "arrow:pyarrow"], "medium": ["memory"]}],
    }  # fmt: skip
    return Plan.from_dict(raw | ({"grow": grow} if grow else {}))


def cut_short(plan: Plan, out: Path, journal: Path, when: Any) -> Result:
    """Run it, keep its journal as a kill would leave it at that event, and stop there."""
    control = Control()

    def stop(event: Event) -> None:
        if not control.stopped and when(event):
            shutil.copyfile(f"{out}l", journal)
            control.stop()

    return run(None, plan=plan, out=out, on_progress=stop, control=control)


def launches(record: dict[str, Any]) -> dict[str, Any]:
    return {case["key"]: case["launches"] for case in record["cases"] if case.get("launches")}


def in_the_second(event: Event) -> bool:
    return len(event.record.get("data_hashes") or {}) == 2 and event.stage == "weigh" and event.done > 0


cut_once = pytest.mark.xdist_group("a plan that was cut short")


@pytest.fixture(scope="module")
def cut_plan(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path, Path]:
    """A plan that was stopped in its second data set: the result, its record, and the journal a kill leaves."""
    folder = tmp_path_factory.mktemp("cut")
    out, journal = folder / "one.tare.json", folder / "killed.tare.jsonl"
    return cut_short(plan_of(), out, journal, in_the_second), out, journal


@cut_once
def test_whole_data_sets_are_used_again(cut_plan: tuple[Result, Path, Path], tmp_path: Path) -> None:
    first, left, _ = cut_plan
    assert first.record["interrupted"]
    out = tmp_path / "one.tare.json"
    shutil.copyfile(left, out)
    done = run(None, plan=plan_of(), out=out, resume=out)
    assert "interrupted" not in done.record or not done.record["interrupted"]
    before, after = launches(first.record), launches(done.record)
    kept = {key for key in before if "synthpop:200" in key}
    assert len(kept) == 4, "two codecs, the twin, and copying"
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    assert sum("synthpop:300" in key for key in after) == 4
    assert all(len(some) == 2 for some in after.values())
    told = done.record["resumed"]
    assert told["used"] == 4
    assert told["lines"][0] == "4 cases are used again"
    assert any("synthpop:300: is measured again" in line for line in told["lines"])
    assert told["before_s"] >= 0
    assert not Path(f"{out}l").exists()
    assert Result.load(out).record["derived"]["headline"]


@cut_once
def test_a_second_kill_loses_nothing(cut_plan: tuple[Result, Path, Path], tmp_path: Path) -> None:
    """The new journal begins with all that the old one had."""
    first, _, killed = cut_plan
    out, again = tmp_path / "one.tare.json", tmp_path / "b.tare.jsonl"
    control = Control()

    def stop(event: Event) -> None:
        if not control.stopped and Path(f"{out}l").exists():
            shutil.copyfile(f"{out}l", again)
            control.stop()

    run(None, plan=plan_of(), out=out, resume=killed, on_progress=stop, control=control)
    done = run(None, plan=plan_of(), out=out, resume=again)
    before, after = launches(first.record), launches(done.record)
    kept = [key for key in before if "synthpop:200" in key]
    assert kept
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    assert len(after) == 8
    assert done.record["resumed"]["used"] == 4


def test_sizes_of_a_curve_are_used_again(tmp_path: Path) -> None:
    plan = plan_of({"start": 0.04, "factor": 4.0, "stop_s": 30}, ("synthpop:500",))
    out, journal = tmp_path / "one.tare.json", tmp_path / "killed.tare.jsonl"
    first = cut_short(plan, out, journal, lambda event: event.stage == "growth" and "0.16" in event.text)
    done = run(None, plan=plan, out=out, resume=journal)
    before, after = launches(first.record), launches(done.record)
    assert 0 < len(before) < len(after)
    assert {key: after[key] for key in before} == before
    assert done.record["resumed"]["used"] == len(before)


@cut_once
def test_another_machine_or_plan_is_told(
    cut_plan: tuple[Result, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, left, _ = cut_plan
    other = run(None, plan=plan_of(datasets=("synthpop:500",)), out=tmp_path / "other.tare.json", resume=left)
    assert other.record["resumed"]["used"] == 0
    assert len(launches(other.record)) == 4
    monkeypatch.setattr("tare.measure.records.resume.same_machine", lambda old, new: ["another processor"])
    told = run(None, plan=plan_of(datasets=("synthpop:200",)), out=tmp_path / "m.tare.json", resume=left)
    assert told.record["resumed"]["used"] == 0
    assert (
        "synthpop:200: is measured again: another machine: another processor"
        in told.record["resumed"]["lines"]
    )
