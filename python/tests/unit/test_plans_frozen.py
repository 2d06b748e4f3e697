"""The case lists of the five named plans are frozen: a study repeated later asks the same."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from tare.measure.cases import ALWAYS, FACTORS, Case
from tare.measure.plan.availability import canonical, supports
from tare.measure.plan.plan import PLANS, Plan


def frozen_lines(cases: Iterable[Case]) -> list[str]:
    """One line a curve: labels that are not the default, sizes, operations, sizes that are not run."""
    curves: dict[str, list[Case]] = {}
    for case in cases:
        curves.setdefault(case.curve, []).append(case)
    lines = []
    for several in curves.values():
        labels = several[0].labels
        told = [
            f"{name}={labels[name]}"
            for name in sorted(labels)
            if name != "size" and not (name in ALWAYS and labels[name] == FACTORS[name].default)
        ]
        sizes = [case.labels["size"] for case in several if case.status == "pending"]
        skipped = len(several) - len(sizes)
        span = sizes[0] if len(sizes) == 1 else f"{sizes[0]}..{sizes[-1]} in {len(sizes)}"
        more = f"; {skipped} not run: {several[-1].note}" if skipped else ""
        lines.append(f"{' | '.join(told)} : {','.join(several[0].operations)} : {span}{more}")
    return lines


@pytest.mark.parametrize("name", PLANS)
def test_case_list_is_the_frozen_one(name: str, root: Path) -> None:
    """A named plan expands to the very cases that vectors/plans has for it."""
    expected = (root / "vectors" / "plans" / f"{name}.txt").read_text("utf-8").splitlines()
    assert expected == frozen_lines(Plan.named(name).cases())


@pytest.mark.parametrize("name", PLANS)
def test_plan_survives_its_own_dict(name: str) -> None:
    """What the record keeps of a plan is the plan again."""
    plan = Plan.named(name)
    assert plan.cases() == Plan.from_dict(plan.as_dict()).cases()


@pytest.mark.parametrize("name", PLANS)
def test_ids_are_printed_as_the_registry_prints_them(name: str) -> None:
    """A codec that the registry knows is named in a plan as it is named in a record."""
    levels = {level for block in Plan.named(name).blocks for level in block.levels["codec"]}
    assert sorted(levels) == sorted(canonical(level) for level in levels)


def test_transports_has_the_53_published_pairs() -> None:
    """Nine R codecs over six media, and no CSV in memory."""
    published = {"memory", "conn", "file", "fifo", "tcp", "remote"}
    pairs = {
        (case.labels["codec"], case.labels["medium"])
        for case in Plan.named("transports").cases()
        if case.labels["medium"] in published
        and case.labels["codec"].partition(":")[2].startswith("r")
        and not case.labels["codec"].startswith("json:rapidjson")
    }
    assert 53 == len(pairs)
    assert ("csv:r", "memory") not in pairs


@pytest.mark.parametrize("name", PLANS)
def test_every_case_is_measured_or_says_why_not(name: str) -> None:
    """No hole: what cannot be measured is a row with a reason, and something can be measured."""
    cases = Plan.named(name).cases(supports=supports)
    assert "pending" in {case.status for case in cases} <= {"pending", "n/a"}
    assert [] == [case.key for case in cases if (case.status == "n/a") != bool(case.reason)]


def test_foreign_codecs_name_their_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of a language that is not installed says what installs it; a command that does not run is the reason."""
    labels = {"codec": "json:mono-newtonsoft", "medium": "memory", "dataset": "twitter"}
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("PATH", "/nonexistent")
        assert supports(labels) == (
            "needs Mono, which is not installed: apt-get install mono-mcs libnewtonsoft-json5.0-cil"
        )

    class Given:
        remote = None
        link = None
        workers: ClassVar = {"mono": "false"}

    assert "the Mono worker does not run: exited with code 1" in str(supports(labels, Given()))
