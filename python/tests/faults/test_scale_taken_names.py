"""Names of results that are taken: nothing of anybody else's is replaced, whoever plans, runs, restarts or shares."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.scale_folders import visible_names

import tare
from tare import scale
from tare.scale import running
from tare.scale.left import AllUndone, any_undone
from tare.scale.planning import convert as planning
from tare.scale.state import State

NOT_OURS = "a file of that name exists already, and not from here; --overwrite replaces it"
HOW: dict[str, Any] = {"executor": "inline"}


def lines(path: Path, count: int, start: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(start, start + count)))
    return path


def numbers(path: Path) -> list[int]:
    found: list[int] = tare.read(path)["n"].to_pylist()
    return found


def plan(source: Path, out: Path, **options: Any) -> scale.Plan:
    """A plan of one's own, that nothing but a run makes known to the destination."""
    file = out.parent / f"{source.parent.name}-{source.stem}.jsonl"
    return scale.plan_convert(str(source), str(out), to="parquet", path=file, **options)


def said(report: scale.Report) -> list[str]:
    assert {one["error"]["class"] for one in report.failures} <= {"input"}
    return sorted(error["message"] for one in report.failures for error in [one["error"]])


# Parts


@pytest.mark.parametrize("mine", ["part-00001.parquet", "part-00077.parquet", "part-x.parquet"])
def test_parts_of_others_are_left(tmp_path: Path, mine: str) -> None:
    """Whatever their number: who reads the folder reads them all."""
    out = tmp_path / "out"
    lines(tmp_path / "in" / "big.ndjson", 2000)
    lines(tmp_path / "in" / "small.ndjson", 5)
    (out / "big").mkdir(parents=True)
    (out / "big" / mine).write_bytes(b"mine")
    (out / "big" / "notes.txt").write_bytes(b"mine")
    left: list[tuple[str, str]] = []
    given: dict[str, Any] = {"to": "parquet", "split": 8000, "skipped": left, **HOW}
    assert scale.convert(str(tmp_path / "in"), str(out), **given).files == 1
    assert left == [("big.ndjson", NOT_OURS)]
    assert visible_names(out) == [*sorted([f"big/{mine}", "big/notes.txt"]), "small.parquet"]
    assert (out / "big" / mine).read_bytes() == b"mine"


def test_parts_that_nobody_knows_any_more(tmp_path: Path) -> None:
    """`.tare` may be deleted: the parts are somebody's then. Those that no new one replaces are not left beside them."""
    source, out = tmp_path / "big.ndjson", tmp_path / "out"
    lines(source, 5000)
    given: dict[str, Any] = {"to": "parquet", "split": 10_000, **HOW}
    assert scale.convert(str(source), str(out), **given).ok
    before = visible_names(out)
    shutil.rmtree(out / ".tare")
    with pytest.raises(AllUndone, match=f"big.ndjson: {NOT_OURS}"):
        scale.convert(str(source), str(out), **given)
    lines(source, 2000)
    left: list[tuple[str, str]] = []
    with pytest.raises(AllUndone, match="nothing to do"):
        scale.convert(str(source), str(out), overwrite=True, skipped=left, **given)
    assert visible_names(out) == before
    (why,) = {why for _, why in left}
    assert (
        why
        == f"a file of that name exists already and would stay beside the new parts: move {before[3]}, and {len(before) - 4} more, away"
    )
    assert any_undone(left)
    for name in before[3:]:
        (out / name).unlink()
    assert scale.convert(str(source), str(out), overwrite=True, **given).ok
    assert [n for name in visible_names(out) for n in numbers(out / name)] == [*range(2000)]
    lines(source, 1200)  # they are known again
    assert scale.convert(str(source), str(out), **given).superseded == 1


def test_parts_of_another_source_do_not_stay_beside_new_ones(tmp_path: Path) -> None:
    out = tmp_path / "out"
    given: dict[str, Any] = {"to": "parquet", "split": 8000, **HOW}
    assert scale.convert(str(lines(tmp_path / "a" / "big.ndjson", 5000)), str(out), **given).ok
    before = visible_names(out)
    other = str(lines(tmp_path / "b" / "big.ndjson", 2000))
    with pytest.raises(
        AllUndone, match=f"a file of that name exists already, made of {tmp_path}/a/big.ndjson"
    ):
        scale.convert(other, str(out), **given)
    with pytest.raises(AllUndone, match="would stay beside the new parts"):
        scale.convert(other, str(out), overwrite=True, **given)
    assert visible_names(out) == before


def test_parts_of_collections_of_others_are_left(tmp_path: Path) -> None:
    out, source = tmp_path / "out", lines(tmp_path / "big.ndjson", 2000)
    (out / "big").mkdir(parents=True)
    (out / "big" / "part-00001.blits").write_bytes(b"mine")
    with pytest.raises(AllUndone, match=NOT_OURS):
        scale.plan_encode(str(source), str(out), split=8000)
    assert scale.plan_encode(str(source), str(out), split=8000, overwrite=True).count > 1


def test_a_whole_file_beside_its_parts_is_not_in_their_way(tmp_path: Path) -> None:
    """Nor are sources that are named as parts are."""
    out, source = tmp_path / "out", lines(tmp_path / "in" / "x" / "part-00001.ndjson", 5)
    lines(tmp_path / "in" / "y.ndjson", 2000)
    out.mkdir()
    (out / "y.parquet").write_bytes(b"mine")
    for _ in range(2):
        assert scale.convert(str(tmp_path / "in"), str(out), to="parquet", split=8000, **HOW).ok
    assert (out / "y.parquet").read_bytes() == b"mine"
    lines(source, 6)
    assert scale.convert(str(tmp_path / "in"), str(out), to="parquet", split=8000, **HOW).done == 1


# Plans that are run later


def test_two_plans_of_one_name(tmp_path: Path) -> None:
    """The second is refused there, and does the rest; the first is done, and stays so."""
    out = tmp_path / "out"
    a = plan(lines(tmp_path / "a" / "x.ndjson", 3).parent, out)
    lines(tmp_path / "b" / "x.ndjson", 4)
    b = plan(lines(tmp_path / "b" / "y.ndjson", 5).parent, out)
    assert scale.run(a, **HOW).ok
    for done in (1, 0):
        report = scale.run(b, **HOW)
        assert (report.done, report.failed, report.exit_code) == (done, 1, 1)
        assert said(report) == [
            f"{tmp_path}/b/x.ndjson: x.parquet: a file of that name exists already, made of {tmp_path}/a/x.ndjson; --overwrite replaces it"
        ]
        assert numbers(out / "x.parquet") == [0, 1, 2]
    assert scale.status(str(out))["failed"] == 1
    assert scale.run(a, **HOW).skipped == 1
    assert scale.run(b, overwrite=True, **HOW).ok
    assert numbers(out / "x.parquet") == [0, 1, 2, 3]
    report = scale.run(a, **HOW)  # it is b's now
    assert (report.done, report.failed, report.skipped) == (0, 1, 0)
    assert f"of {tmp_path}/b/x.ndjson" in said(report)[0]
    assert numbers(out / "x.parquet") == [0, 1, 2, 3]
    with pytest.raises(AllUndone, match=f"a file of that name exists already, made of {tmp_path}/b/x.ndjson"):
        scale.plan_convert(str(tmp_path / "a"), str(out), to="parquet")


@pytest.mark.parametrize("own", [True, False])
def test_what_appears_between_plan_and_run_is_left(tmp_path: Path, own: bool) -> None:
    """Also by the next start, whether the plan stands elsewhere or beside the results."""
    out = tmp_path / "out"
    for name in ("x", "y"):
        lines(tmp_path / "in" / f"{name}.ndjson", 3)
    if own:
        made = plan(tmp_path / "in", out)
    else:
        made = scale.plan_convert(str(tmp_path / "in"), str(out), to="parquet")
    out.mkdir(exist_ok=True)
    (out / "x.parquet").write_bytes(b"mine")
    for done in (1, 0):
        report = scale.run(made, **HOW)
        assert (report.done, report.failed, report.exit_code) == (done, 1, 1)
        assert said(report) == [f"{tmp_path}/in/x.ndjson: x.parquet: {NOT_OURS}"]
    with pytest.raises(AllUndone, match="nothing to do"):  # nor is it ours by being planned
        scale.plan_convert(str(tmp_path / "in" / "x.ndjson"), str(out), to="parquet")
    assert (out / "x.parquet").read_bytes() == b"mine"
    (out / "x.parquet").unlink()
    assert scale.run(made, **HOW).done == 1
    lines(tmp_path / "in" / "x.ndjson", 7)
    assert scale.convert(str(tmp_path / "in"), str(out), to="parquet", **HOW).done == 1
    assert len(numbers(out / "x.parquet")) == 7


def test_what_was_allowed_when_it_was_planned_is_allowed(tmp_path: Path) -> None:
    """To this plan, partitions too; its file, which may come from anywhere, says nothing of it."""
    out = tmp_path / "out"
    held = lines(tmp_path / "in" / "x.ndjson", 3)
    held.write_text(held.read_text().replace("}", ', "v": 1}'))
    (out / "n=1").mkdir(parents=True)
    for name in ("x.parquet", "n=1/x.parquet"):
        (out / name).write_bytes(b"mine")
    made = plan(tmp_path / "in", out, overwrite=True)
    assert NOT_OURS in said(scale.run(made.path, **HOW))[0]
    assert scale.run(made, **HOW).ok
    assert numbers(out / "x.parquet") == [0, 1, 2]
    assert not scale.run(plan(tmp_path / "in", out, partition="n"), **HOW).ok
    assert scale.run(plan(tmp_path / "in", out, partition="n", overwrite=True), **HOW).ok


def test_what_is_there_of_another_shard_s_share(tmp_path: Path) -> None:
    """It was there before the plan was begun: no shard, and no later one, replaces it."""
    out = tmp_path / "out"
    for n in range(4):
        lines(tmp_path / "in" / f"{n}.ndjson", 3)
    made = plan(tmp_path / "in", out)
    out.mkdir()
    for n in range(4):
        (out / f"{n}.parquet").write_bytes(b"mine")
    for shard in ((1, 2), (2, 2), (1, 1)):
        report = scale.run(made, shard=shard, **HOW)
        assert (report.done, report.failed) == (0, 4 // shard[1])
    assert {(out / name).read_bytes() for name in visible_names(out)} == {b"mine"}


def test_what_appears_while_it_runs_is_left(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for n in range(2):
        lines(tmp_path / "in" / f"{n}.ndjson", 3)
    running_ = scale.iter_run(plan(tmp_path / "in", out), **HOW)
    first = next(running_)["output"][0]["name"]
    other = out / f"{1 - int(first[0])}.parquet"
    if other.exists():  # it was begun already
        other.unlink()
    other.write_bytes(b"mine")
    assert {one["status"] for one in running_} <= {"failed", "done"}
    assert (out / first).read_bytes() != b"mine"
    assert other.read_bytes() == b"mine"


def test_each_file_of_a_group_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_GROUPED_FROM", 5)
    out = tmp_path / "out"
    for n in range(20):
        lines(tmp_path / "in" / f"{n:02}.ndjson", 3)
    made = plan(tmp_path / "in", out)
    assert made.count < 5
    out.mkdir()
    for name in ("03", "04"):
        (out / f"{name}.parquet").write_bytes(b"mine")
    for _ in range(2):
        report = scale.run(made, **HOW)
        assert report.files_failed == 2
        assert NOT_OURS in said(report)[0]
        assert len(visible_names(out)) == 20
        assert {(out / f"{name}.parquet").read_bytes() for name in ("03", "04")} == {b"mine"}
    assert scale.run(made, overwrite=True, **HOW).ok
    assert numbers(out / "03.parquet") == [0, 1, 2]


def test_a_name_that_no_file_can_have_costs_its_source_alone(tmp_path: Path) -> None:
    """Nor is it looked for in vain, in a folder that is there."""
    out = tmp_path / "out"
    (tmp_path / "in").mkdir()
    for name in ("a" * 250, "b"):
        (tmp_path / "in" / f"{name}.csv").write_text("n\n" + "1\n" * 2000)
    for done, split in ((1, None), (0, None), (4, 3000)):
        given: dict[str, Any] = {"to": "parquet", "split": split, "split_lines": True, **HOW}
        report = scale.convert(str(tmp_path / "in"), str(out), **given)
        assert (report.done, report.failed) == (done, 0 if split else 1), report.failures


# What is ours


@pytest.mark.parametrize("changed", [False, True])
def test_a_result_without_its_receipt_is_ours(tmp_path: Path, changed: bool) -> None:
    """A death between the two; the same plan, or one of the source as it is now."""
    out = tmp_path / "out"
    made = plan(lines(tmp_path / "in" / "x.ndjson", 3), out)
    assert scale.run(made, **HOW).ok
    for path in (out / ".tare" / "done").glob("*/*"):
        path.unlink()
    if changed:
        made = plan(lines(tmp_path / "in" / "x.ndjson", 4), out)
    else:
        (out / "x.parquet").write_bytes(b"as from a writer that never gives the same bytes")
    assert scale.run(made, **HOW).done == 1
    assert numbers(out / "x.parquet") == [0, 1, 2, 3][: 3 + changed]


def test_a_worker_that_dies_behind_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The receipt is lost, and the unit done again by the same run: the result is no other's."""
    out = tmp_path / "out"
    real, tries = State.write_receipt, []

    def loses(self: State, receipt: Any, **how: Any) -> None:
        tries.append(1)
        if len(tries) == 1:
            (out / "x.parquet").write_bytes(b"other bytes of the same rows")
            raise OSError(5, "a bad moment")
        real(self, receipt, **how)

    monkeypatch.setattr(State, "write_receipt", loses)
    made = plan(lines(tmp_path / "in" / "x.ndjson", 3), out)
    assert not scale.run(made, retries=0, **HOW).ok
    assert scale.run(made, **HOW).ok
    assert numbers(out / "x.parquet") == [0, 1, 2]


def test_who_runs_units_alone_and_then_all(tmp_path: Path) -> None:
    """What a unit of the plan made before anybody began the plan has its bytes, and is taken as it is."""
    out = tmp_path / "out"
    made = plan(lines(tmp_path / "in" / "x.ndjson", 3), out)
    assert running.run_unit(next(made.units()), State.of(made).settings())["status"] == "done"
    shutil.rmtree(out / ".tare")
    assert scale.run(made, **HOW).done == 1


def test_other_options_and_other_states_replace_our_own(tmp_path: Path) -> None:
    out = tmp_path / "out"
    source = lines(tmp_path / "in" / "x.ndjson", 3)
    for to, count in (("parquet", 3), ("parquet:pyarrow,compression=gzip", 3), ("parquet", 4)):
        lines(source, count)
        made = scale.plan_convert(str(source), str(out), to=to, path=tmp_path / "p.jsonl")
        assert scale.run(made, **HOW).done == 1
        assert len(numbers(out / "x.parquet")) == count


def test_a_plan_that_is_dropped_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for day in range(20):
        lines(tmp_path / "in" / "x.ndjson", 3 + day)
        assert scale.convert(str(tmp_path / "in"), str(out), to="parquet", **HOW).done == 1
    kept = {name.partition(".")[0] for name in os.listdir(out / ".tare" / "plans")}
    assert {name.partition(".")[0] for name in os.listdir(out / ".tare" / "begun")} == kept
    assert json.loads((out / ".tare" / "begun" / f"{kept.pop()}.json").read_text()) == {}


# What was not ours, and is


OTHERWISE = "parquet:pyarrow,compression=gzip"


@pytest.mark.parametrize("later", ["option", "source"])
def test_what_was_replaced_once_is_ours_whatever_was_asked_for_since(tmp_path: Path, later: str) -> None:
    """Another option, or another state of the source; then the first again, and nobody need say it twice."""
    source, out, kept = lines(tmp_path / "in" / "x.ndjson", 3), tmp_path / "out", tmp_path / "kept"
    out.mkdir()
    (out / "x.parquet").write_bytes(b"mine")
    shutil.copy2(source, kept)
    given: dict[str, Any] = {"to": "parquet", **HOW}
    assert scale.convert(str(source), str(out), overwrite=True, **given).done == 1
    assert begun(out) == [{}]
    if later == "option":
        assert scale.convert(str(source), str(out), **{**given, "to": OTHERWISE}, overwrite=True).done == 1
    else:
        lines(source, 4)
        assert scale.convert(str(source), str(out), **given).done == 1
        shutil.copy2(kept, source)
    report = scale.convert(str(source), str(out), **given)
    assert (report.done, report.failed) == (1, 0), report.failures
    assert numbers(out / "x.parquet") == [0, 1, 2]


def test_what_another_plan_made_in_the_place_of_what_was_refused(tmp_path: Path) -> None:
    """The file of somebody else is gone, and nothing was ever overwritten."""
    source, out = lines(tmp_path / "in" / "x.ndjson", 3), tmp_path / "out"
    made = plan(source, out)
    out.mkdir()
    (out / "x.parquet").write_bytes(b"mine")
    assert NOT_OURS in said(scale.run(made, **HOW))[0]
    (out / "x.parquet").unlink()
    assert scale.convert(str(source), str(out), to=OTHERWISE, **HOW).done == 1
    assert scale.run(made, **HOW).done == 1


@pytest.mark.parametrize("at", ["there", "copied"])
def test_what_no_plan_made_stays_somebody_else_s(tmp_path: Path, at: str) -> None:
    """Beside results that were replaced; in a copy of the destination too, whatever times its files have."""
    out = tmp_path / "out"
    lines(tmp_path / "in" / "x.ndjson", 3)
    lines(tmp_path / "in" / "y.ndjson", 3)
    made = plan(tmp_path / "in", out)
    out.mkdir()
    for name in ("x", "y"):
        (out / f"{name}.parquet").write_bytes(b"mine")
    assert scale.run(made, **HOW).failed == 2
    assert scale.convert(str(tmp_path / "in" / "x.ndjson"), str(out), to="parquet", overwrite=True, **HOW).ok
    if at == "copied":
        shutil.copytree(out, tmp_path / "copy", copy_function=shutil.copyfile)
        out = tmp_path / "copy"
        made = scale.plan_convert(str(tmp_path / "in"), str(out), to="parquet", overwrite=True)
    for to in ("parquet", OTHERWISE):
        left: list[tuple[str, str]] = []
        report = scale.convert(str(tmp_path / "in"), str(out), to=to, skipped=left, **HOW)
        assert (report.failed, left) == (0, [("y.ndjson", NOT_OURS)])
        assert (out / "y.parquet").read_bytes() == b"mine"
    if at == "there":
        report = scale.run(made, **HOW)
        assert (report.done, report.failed) == (1, 1)
        assert (out / "y.parquet").read_bytes() == b"mine"


def test_what_a_group_replaced_is_ours_though_one_of_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "_GROUPED_FROM", 5)
    out = tmp_path / "out"
    out.mkdir()
    for n in range(20):
        lines(tmp_path / "in" / f"{n:02}.ndjson", 3)
        (out / f"{n:02}.parquet").write_bytes(b"mine")
    (tmp_path / "in" / "07.ndjson").write_text('{"n": ]}\n')
    given: dict[str, Any] = {"to": "parquet", **HOW}
    report = scale.convert(str(tmp_path / "in"), str(out), overwrite=True, **given)
    assert (report.files, report.files_failed) == (19, 1)
    assert begun(out) == [{"07.parquet": ""}]
    (out / "07.parquet").unlink()
    lines(tmp_path / "in" / "07.ndjson", 4)
    report = scale.convert(str(tmp_path / "in"), str(out), **given)
    assert (report.files_failed, len(numbers(out / "07.parquet"))) == (0, 4)
    assert report.files + report.files_before == 20


def begun(out: Path) -> list[dict[str, str]]:
    return [json.loads(path.read_text()) for path in (out / ".tare" / "begun").iterdir()]
