"""Plans of `put` at one path, one after another: what a later one has set is no work of the earlier one any more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import tare
from tare import scale
from tare.scale import turns
from tare.scale.plan import Plan
from tare.scale.planning import others
from tare.scale.planning.grouping import Limits
from tare.scale.report import Report


@pytest.fixture(autouse=True)
def _a_unit_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(others, "_GROUPS", Limits(1, 1))


def fill(folder: Path, **files: str) -> None:
    """Files whose time is that of their content: one that is as it was is what it was to a plan."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
        second = 1_700_000_000 + sum(text.encode())
        os.utime(folder / name, (second, second))


def planned(tmp_path: Path, source: str = "in", *, store: str = "store", namespace: str = "") -> Plan:
    return scale.plan_put(
        str(tmp_path / source), str(tmp_path / store), tmp_path / "put.jsonl", namespace=namespace
    )


def put(tmp_path: Path, source: str = "in", **where: str) -> Report:
    return scale.run(planned(tmp_path, source, **where), executor="inline")


def held(tmp_path: Path) -> dict[str, str]:
    with tare.open_store(tmp_path / "store", mode="r") as store:
        return {key: bytes(store.get(key)).decode() for key in store}


def test_a_file_that_is_again_as_it_was_is_set_again(tmp_path: Path) -> None:
    fill(tmp_path / "in", a="first", b="same")
    assert put(tmp_path).done == 2
    fill(tmp_path / "in", a="other")
    report = put(tmp_path)
    assert (report.done, report.skipped, held(tmp_path)["a"]) == (1, 1, "other")
    fill(tmp_path / "in", a="first")
    report = put(tmp_path)
    assert (report.done, report.skipped) == (1, 1)
    assert held(tmp_path) == {"a": "first", "b": "same"}
    assert put(tmp_path).skipped == 2


def test_so_it_is_after_a_group_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it had set by then counts as set."""
    monkeypatch.setattr(others, "_GROUPS", Limits(9, 9))
    fill(tmp_path / "in", a="first", b="same")
    assert put(tmp_path).done == 1
    fill(tmp_path / "in", a="other")
    plan = planned(tmp_path)
    (tmp_path / "in" / "b").unlink()
    assert scale.run(plan, executor="inline", retries=0).failed == 1
    assert held(tmp_path) == {"a": "other", "b": "same"}
    fill(tmp_path / "in", a="first", b="same")
    assert put(tmp_path).done == 1
    assert held(tmp_path) == {"a": "first", "b": "same"}
    fill(tmp_path / "in", a="other")
    assert put(tmp_path).done == 1
    assert held(tmp_path) == {"a": "other", "b": "same"}


def test_what_somebody_set_since_stays_as_long_as_no_other_plan_is_started(tmp_path: Path) -> None:
    fill(tmp_path / "in", a="first")
    assert put(tmp_path).done == 1
    with tare.open_store(tmp_path / "store") as store:
        store.set("a", b"theirs")
    assert put(tmp_path).skipped == 1
    assert held(tmp_path) == {"a": "theirs"}


def test_plans_of_other_keys_take_turns_and_set_nothing_twice(tmp_path: Path) -> None:
    fill(tmp_path / "in", a="first", b="second")
    fill(tmp_path / "more", c="third")
    assert put(tmp_path).done == 2
    assert put(tmp_path, "more").done == 1
    assert put(tmp_path).skipped == 2
    assert put(tmp_path, "more").skipped == 1
    assert held(tmp_path) == {"a": "first", "b": "second", "c": "third"}


@pytest.mark.parametrize("where", [{"store": "another"}, {"namespace": "another"}])
def test_another_store_or_namespace_has_other_keys(tmp_path: Path, where: dict[str, str]) -> None:
    fill(tmp_path / "in", a="first")
    assert put(tmp_path).done == 1
    with tare.open_store(tmp_path / "store") as store:
        store.set("a", b"theirs")
    assert put(tmp_path, **where).done == 1
    assert put(tmp_path).skipped == 1
    assert held(tmp_path) == {"a": "theirs"}
    assert put(tmp_path, **where).skipped == 1


def test_of_very_many_units_of_earlier_plans_the_oldest_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "_MOST_OTHERS", 2)
    for day in range(5):
        fill(tmp_path / f"in{day}", **{f"d{day}": f"day {day}"})
        assert put(tmp_path, f"in{day}").done == 1
    assert len(list((tmp_path / "put.jsonl.state" / "done").rglob("*.json"))) == 3
    assert put(tmp_path, "in3").skipped == 1
    assert put(tmp_path, "in0").done == 1
    assert held(tmp_path) == {f"d{day}": f"day {day}" for day in range(5)}


def test_shards_share_a_turn(tmp_path: Path) -> None:
    """What the second shard finds of the first is no other plan's; what keys name is kept once."""
    fill(tmp_path / "in", a="first", b="second")
    fill(tmp_path / "more", a="third")
    assert put(tmp_path, "more").done == 1
    plan = planned(tmp_path)
    for first in (1, 2):
        assert scale.run(plan, executor="inline", shard=(first, 2)).done == 1
    assert held(tmp_path) == {"a": "first", "b": "second"}
    begun = (tmp_path / "put.jsonl.state" / "begun").iterdir()
    assert {path.name[:9] + plan.id for path in begun} == {f"00000002-{plan.id}"}


def test_what_keys_named_is_kept_of_one_turn(tmp_path: Path) -> None:
    """A folder that is put each day does not have the files of each day."""
    for day in range(4):
        fill(tmp_path / "in", a=f"day {day}", b=f"day {day}")
        assert put(tmp_path).done == 2
    state = tmp_path / "put.jsonl.state"
    assert len(list((state / "started").iterdir())) == 1
    assert len(list((state / "begun").iterdir())) == 3  # the turn, and its two units
    assert len(list((state / "done").rglob("*.json"))) == 2


def test_what_tare_did_not_write_stays(tmp_path: Path) -> None:
    """A turn that ends takes what was kept of it, and nothing else in the folder."""
    fill(tmp_path / "in", a="first")
    fill(tmp_path / "more", a="third")
    state = tmp_path / "put.jsonl.state"
    others = [
        "begun/notes.txt", "begun/20240101-notes.txt", "begun/00000001-notes/x.json", "begun/12-a.json",
        "started/20240101-notes.txt", "started/20240101-notes", "started/more/00000001-a",
    ]  # fmt: skip
    for name in others:
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_text("of the user" if "more" not in name else "")
    for source in ("in", "more", "in"):
        assert put(tmp_path, source).done == 1
    assert [name for name in others if not (state / name).exists()] == []
    assert held(tmp_path) == {"a": "first"}
    assert len(list(state.glob("begun/0*.json"))) == 2
