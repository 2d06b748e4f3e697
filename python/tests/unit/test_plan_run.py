"""Running a plan: what a case's labels say is what was done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tare import measure
from tare.errors import PlanError
from tare.measure.analysis.ranked_cases import main_cases
from tare.measure.estimate import plan_seconds
from tare.measure.plan.plan import Plan
from tare.measure.stages.memory import missing_peak
from tare.measure.worker_client import client
from tare.report import markdown

TABLE = pa.table({"a": range(2000), "b": [f"x{n % 9}" for n in range(2000)]})


@pytest.fixture(autouse=True)
def _state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def plan_of(*blocks: dict[str, Any]) -> Plan:
    """A plan that measures little."""
    few = {"launches": 1, "rounds": 1}
    return Plan.from_dict({"plan": 1, "name": "mine", "statistics": few, "block": list(blocks)})


def labelled(result: Any, **labels: str) -> list[dict[str, Any]]:
    """The cases with these labels, without the twin and the floor row."""
    return [
        case
        for case in result.record["cases"]
        if "twin" not in case["labels"]
        and case["labels"]["codec"] != "copy"
        and all(case["labels"].get(name) == level for name, level in labels.items())
    ]


def test_all_threads_of_a_plan_are_all_threads(monkeypatch):
    """A case of threads=all has workers that are neither pinned nor told to use one thread."""
    seen: list[tuple[Any, Any]] = []

    class Watched(client.Worker):
        def __init__(self, *args: Any, **options: Any) -> None:
            self.asked = options["threads"], options["cpu"]
            super().__init__(*args, **options)

        def send(self, op: str, **fields: Any) -> int:
            if op == "prepare":
                seen.append((self.asked, fields["threads"]))
            return super().send(op, **fields)

    monkeypatch.setattr(client, "Worker", Watched)
    block = {"dataset": ["d"], "codec": ["parquet:pyarrow", "arrow:pyarrow"], "threads": [1, "all"]}
    result = measure.run(TABLE, plan=plan_of(block), time_s=0)
    assert ["ok"] * 4 == [case["status"] for case in labelled(result)]
    assert {1, "all"} == {threads for _, threads in seen}
    for (threads, cpu), prepared in seen:
        assert prepared == threads
        assert cpu is None or threads == 1
    everybody = [case for case in labelled(result, threads="all") for case in case["launches"]]
    assert [None] * len(everybody) == [launch["cpu"] for launch in everybody]


def test_only_the_cases_of_all_threads():
    """``threads="all"`` narrows a plan; a plan without such cases says so."""
    block = {"dataset": ["d"], "codec": ["arrow:pyarrow"], "threads": [1, "all"]}
    result = measure.run(TABLE, plan=plan_of(block), time_s=0, threads="all")
    assert ["all"] == [case["labels"]["threads"] for case in labelled(result)]
    with pytest.raises(PlanError, match="no case with all"):
        measure.run(TABLE, plan=plan_of({"dataset": ["d"], "codec": ["parquet:pyarrow"]}), threads="all")


one_run = pytest.mark.xdist_group("one run of a plan of several blocks")


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One run of media, another sync, and parts of the data."""
    block = {"dataset": ["d"], "codec": ["parquet:pyarrow", "arrow:pyarrow"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        return measure.run(
            TABLE,
            plan=plan_of(
                block | {"medium": ["memory", "file"]},
                block | {"medium": ["file"], "sync": ["fsync"]},
                block | {"subset": ["column:a", "rows:1%"]},
            ),
            time_s=0,
        )


@one_run
def test_each_comparison_has_its_own_base_and_twin(several):
    """Cases that differ in more than the codec are not weighed against each other; each set has its noise floor."""
    twins = [case["labels"] for case in several.record["cases"] if "twin" in case["labels"]]
    assert {("parquet:pyarrow", "none"), ("parquet:pyarrow", "fsync")} == {
        (labels["codec"], labels["sync"]) for labels in twins if labels["medium"] == "file"
    }


@one_run
def test_a_plan_measures_memory(several):
    """Each codec's peak, once, on the first medium with one end; cold and partial cases have none."""
    peaks = {
        (case["labels"]["codec"], case["labels"]["medium"], case["labels"].get("subset", "all")): set(
            case["memory"]
        )
        for case in labelled(several)
        if case["memory"]
    }
    assert {
        ("parquet:pyarrow", "memory", "all"): {"encode", "decode"},
        ("arrow:pyarrow", "memory", "all"): {"encode", "decode"},
    } == peaks


@one_run
def test_the_time_of_a_part_is_shown(several):
    """Reading one column has a column of times of its own, and what came back was compared."""
    assert {"ok"} == {case["status"] for case in labelled(several)}
    assert {1, 2} >= {case["verify"]["items_out"] // 1000 for case in labelled(several, subset="column:a")}
    assert {20} == {case["verify"]["items_out"] for case in labelled(several, subset="rows:1%")}
    assert "| open | subset |" in markdown.render(several)


def test_the_verdict_is_of_the_largest_data_set(tmp_path):
    """Of several data sets the largest stands at the head, and the verdict takes no case of another."""
    small, large = tmp_path / "a.csv", tmp_path / "b.csv"
    small.write_text("x\n1\n")
    large.write_text("x\n" + "1\n" * 5000)
    block = {"dataset": [str(small), str(large), str(small) + "x"], "codec": ["csv:pyarrow", "csv:stdlib"]}
    result = measure.run(None, plan=plan_of(block), time_s=30)
    assert str(large) == result.record["dataset"]["name"]
    began = min(launch["started"] for case in labelled(result) for launch in case["launches"])
    ended = max(launch["started"] for case in labelled(result) for launch in case["launches"])
    assert result.record["elapsed_s"] > ended - began, "the time of all data sets"
    noise = result.record["noise"]
    assert noise["overrun_s"] == round(max(0.0, result.record["elapsed_s"] - 30), 3)
    assert {"psi_some", "steal", "load", "sample_share", "parent_share"} < set(noise)
    assert 0 < noise["sample_share"] < 1
    chosen = main_cases(result.record)
    assert {str(large)} == {case["labels"]["dataset"] for case in chosen.values()}


def test_the_estimate_of_a_plan_is_a_range_that_holds_what_was_measured():
    """`load` took 2 min 6 s with its twenty codecs on a busy machine of two cores."""
    plan = Plan.named("load")
    cases = plan.cases(supports=lambda labels: None)[:20]
    least, most = plan_seconds(plan, cases)
    assert least < 126 < most < 10 * least


def test_large_data_and_curves_are_expected_to_take_longer():
    """Ten times the doubles take longer, both at least and at most; a curve's last size has its limit."""
    plan = Plan.named("compress")
    of = {
        name: plan_seconds(plan, [case for case in plan.cases() if case.labels["dataset"] == name][:4])
        for name in ("runif:5", "runif:7", "runif:8")
    }
    assert of["runif:5"][1] < of["runif:8"][1]
    assert of["runif:5"][0] < of["runif:7"][0]
    assert all(least <= most for least, most in of.values())
    grown = Plan.named("transports")
    some = grown.cases()[:40]
    least, most = plan_seconds(grown, some)
    assert least < most
    assert most > len({case.curve for case in some}) * grown.grow.stop_s


def test_a_plan_says_how_often():
    """Launches and rounds are the plan's, or those of the override that names the case; not the defaults."""
    plan = Plan.from_dict({
        "plan": 1,
        "name": "mine",
        "statistics": {"launches": 2, "rounds": 5},
        "block": [{"dataset": ["d"], "codec": ["arrow:pyarrow", "parquet:pyarrow", "csv:pyarrow"]}],
        "override": [
            {"where": {"codec": "arrow:pyarrow"}, "launches": 1, "rounds": 3},
            {"where": {"codec": "csv:pyarrow"}, "launches": 3},
        ],
    })  # fmt: skip
    result = measure.run(TABLE, plan=plan, time_s=0)
    found = {
        case["labels"]["codec"]: [
            max(next(iter(launch["samples"].values()))["round"]) for launch in case["launches"]
        ]
        for case in labelled(result)
    }
    assert {"parquet:pyarrow": [5, 5], "arrow:pyarrow": [3], "csv:pyarrow": [5, 5, 5]} == found


def test_a_plan_says_how_often_on_streams():
    """The same over media with two ends."""
    plan = Plan.from_dict({
        "plan": 1,
        "name": "mine",
        "statistics": {"launches": 1, "rounds": 4},
        "block": [{"dataset": ["d"], "codec": ["arrow:pyarrow", "csv:pyarrow"], "medium": ["fifo"]}],
        "override": [{"where": {"codec": "csv:pyarrow"}, "launches": 2, "rounds": 2}],
    })  # fmt: skip
    result = measure.run(TABLE, plan=plan, time_s=0)
    found = {
        case["labels"]["codec"]: [len(launch["samples"]["span"]["round"]) for launch in case["launches"]]
        for case in labelled(result)
    }
    assert {"arrow:pyarrow": [4], "csv:pyarrow": [2, 2]} == found


def test_peaks_come_with_the_launches():
    """Further launches measure peaks before they sample, so that a short run has them too."""
    block = {"dataset": ["d"], "codec": ["parquet:pyarrow", "arrow:pyarrow+zstd:3"], "medium": ["file"]}
    plan = Plan.from_dict({
        "plan": 1, "name": "mine", "statistics": {"launches": 3, "rounds": 1}, "block": [block],
    })  # fmt: skip
    seen: list[str] = []
    result = measure.run(TABLE, plan=plan, time_s=0, on_progress=lambda event: seen.append(event.stage))
    assert [{"write", "read"}] * 2 == [set(case["memory"]) for case in labelled(result)]
    assert ["", ""] == [missing_peak(case) for case in labelled(result)]
    assert "memory" not in seen, "no process was started for peaks alone"
