"""Several plans of one destination: what one has not done protects what there is, and two starts at once are both known."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support.scale_folders import convert, count_rows, visible_names, write_lines

from tare import scale
from tare.cli.status import command as status_command
from tare.scale.place import place_of
from tare.scale.planning import convert as planning
from tare.scale.started import Starts
from tare.scale.state import State


@pytest.mark.parametrize("count", [1, 25])
def test_another_source_takes_nothing_of_one_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """What there is of a source whose new state is damaged stays, whatever is converted into the folder next."""
    monkeypatch.setattr(planning, "_GROUPED_FROM", 20)
    damaged, other, out = tmp_path / "in" / "0500.ndjson", tmp_path / "other", tmp_path / "out"
    for n in range(500, 500 + count):
        write_lines(tmp_path / "in" / f"{n:04}.ndjson", 1)
    write_lines(other / "b.ndjson", 1)
    assert convert(tmp_path / "in", out).ok
    damaged.write_text('{"a":1}\n{"a":')
    report = convert(tmp_path / "in", out)
    assert (report.failed, report.files_failed) == (1, 1)
    assert scale.status(str(out))["rows"] == count - 1
    report = convert(other, out)
    assert (report.ok, report.superseded, len(visible_names(out))) == (True, 0, count + 1)
    write_lines(damaged, 2)
    assert convert(tmp_path / "in", out).ok
    assert count_rows(out) == count + 2


def test_another_source_takes_nothing_of_one_whose_run_was_killed(tmp_path: Path) -> None:
    source, out = tmp_path / "in" / "a.ndjson", tmp_path / "out"
    write_lines(source, 1)
    assert convert(tmp_path / "in", out).ok
    write_lines(source, 2)
    plan = scale.plan_convert(str(tmp_path / "in"), str(out), to="parquet")
    State.of(plan).begin(plan)
    write_lines(tmp_path / "other" / "b.ndjson", 1)
    assert convert(tmp_path / "other", out).superseded == 0
    assert visible_names(out) == ["a.parquet", "b.parquet"]


def test_two_plans_that_are_started_at_once_are_both_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reads what was started before either is noted: neither result is taken for an older one."""
    for name in ("s1", "s2"):
        write_lines(tmp_path / name / f"{name}.ndjson", 1)
    out = tmp_path / "out"
    assert convert(tmp_path / "s1", out).ok
    write_lines(tmp_path / "s1" / "s1.ndjson", 2)
    plans = [scale.plan_convert(str(tmp_path / name), str(out), to="parquet") for name in ("s1", "s2")]
    (before,) = Starts(place_of(out.as_uri()), ".tare/started/")._found()
    with monkeypatch.context() as patched:
        patched.setattr(Starts, "_found", lambda _: [before])
        for plan in plans:
            State.of(plan).begin(plan)
    order = State(out.as_uri()).order()
    assert order[0] == before[1]
    assert set(order[1:]) == {plan.id for plan in plans}
    assert all(scale.run(plan, executor="inline").ok for plan in plans)
    assert visible_names(out) == ["s1.parquet", "s2.parquet"]
    assert count_rows(out) == 3


def test_a_neighbour_that_is_converted_alone_takes_nothing_of_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group that failed for one of its files: what there is of the others stays, whichever is meant next."""
    monkeypatch.setattr(planning, "_GROUPED_FROM", 1)
    source, out = tmp_path / "in", tmp_path / "out"
    for n in range(4):
        write_lines(source / f"{n}.ndjson", 1)
    assert convert(source, out).ok
    (source / "2.ndjson").write_text('{"a":1}\n{"a":')
    assert convert(source, out).files_failed == 1
    write_lines(source / "0.ndjson", 2)
    report = convert(source / "0.ndjson", out)
    assert (report.done, report.superseded) == (1, 0)
    assert visible_names(out) == [f"{n}.parquet" for n in range(4)]
    write_lines(source / "2.ndjson", 3)
    assert convert(source, out).ok
    assert count_rows(out) == 2 + 1 + 3 + 1


def test_a_start_is_forgotten_by_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that another process starts while old ones are removed stays known."""
    write_lines(tmp_path / "in" / "a.ndjson", 1)
    out = tmp_path / "out"
    assert convert(tmp_path / "in", out).ok
    state = State(out.as_uri())
    starts = Starts(state.place, ".tare/started/")
    real = State.order

    def order(self: State) -> list[str]:
        found = real(self)
        starts.add("b" * 64)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(State, "order", order)
        state.drop_plans([], overruled=[])
    assert "b" * 64 in state.order()


@pytest.mark.parametrize("grouped_from", [2, 1000])
def test_results_of_sources_that_went_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grouped_from: int
) -> None:
    """They stay, for the folder may be emptied by whoever takes files in; but nobody should read them unawares."""
    monkeypatch.setattr("tare.scale.planning.convert._GROUPED_FROM", grouped_from)
    source, out = tmp_path / "in", tmp_path / "out"
    for name in "abcdef":
        write_lines(source / f"{name}.ndjson", 1)
    assert convert(source, out).ok
    status = scale.status(str(out))
    assert (status["results_besides"], status["besides"]) == (0, [])
    for name in "bcd":
        (source / f"{name}.ndjson").unlink()
    (source / "a.ndjson").rename(source / "z.ndjson")
    write_lines(source / "e.ndjson", 2)
    write_lines(tmp_path / "other" / "y.ndjson", 1)
    assert convert(tmp_path / "other", out).stale == 0  # of a folder that was not named nothing is known
    assert convert(source / "e.ndjson", out).stale == 0
    assert convert(source / "e*.ndjson", out, to="csv").stale == 0
    report = convert(source, out)
    assert (report.ok, report.stale, len(visible_names(out))) == (True, 4, 9)
    assert convert(source, out).stale == 0  # nothing was done, and nothing is looked at
    status = scale.status(str(out), every=True)
    names = [*(f"{x}.parquet" for x in "abcd"), "e.csv", "y.parquet"]
    assert (status["results_besides"], sorted(status["besides"])) == (6, names)
    assert len(scale.status(str(out))["besides"]) == 3
    (out / "b.parquet").unlink()
    assert scale.status(str(out))["results_besides"] == 5
    told = CliRunner().invoke(status_command, [str(out)]).output
    assert "5 results that the last plan does not make, as of sources that went since: " in told
