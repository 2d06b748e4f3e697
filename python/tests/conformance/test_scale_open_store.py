"""The store that units of `put` keep open for each other: opened once, made again if it has gone, closed when the run ends."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tare
from tare import scale
from tare.errors import UsageError
from tare.scale import stores
from tare.scale.plan import Plan
from tare.scale.planning import others
from tare.scale.planning.grouping import Limits


@pytest.fixture(autouse=True)
def _nothing_open() -> Iterator[None]:
    yield
    stores.let_go_all()


def planned(folder: Path, monkeypatch: pytest.MonkeyPatch, store: str | None = None) -> Plan:
    """Six units of a file each."""
    (folder / "in").mkdir()
    for n in range(6):
        (folder / "in" / f"{n}").write_bytes(b"%d" % n)
    monkeypatch.setattr(others, "_GROUPS", Limits(1, 1))
    return scale.plan_put(str(folder / "in"), store or str(folder / "store"), folder / "put.jsonl")


def held(store: Path) -> dict[str, Any]:
    with tare.open_store(store, mode="r") as opened:
        return {key: bytes(opened.get(key)) for key in opened}


def opens(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each opening for writing by a unit from now on."""
    found: list[str] = []
    was = stores.open_store

    def open_store(url: str, **options: Any) -> Any:
        if options.get("mode") != "r" and options.get("create", True):
            found.append(url)
        return was(url, **options)

    monkeypatch.setattr(stores, "open_store", open_store)
    return found


def test_units_of_a_process_share_an_open_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, opened = planned(tmp_path, monkeypatch), opens(monkeypatch)
    assert scale.run(plan, executor="inline").done == 6
    assert len(opened) == 2  # which driver it has, and how it is wanted
    assert not stores._idle
    assert held(tmp_path / "store") == {f"{n}": b"%d" % n for n in range(6)}


@pytest.mark.parametrize("executor", ["inline", "local:2"])
def test_a_run_leaves_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str) -> None:
    """A pool's processes are ended without closing what they have open."""
    assert scale.run(planned(tmp_path, monkeypatch), executor=executor).done == 6
    assert sorted(os.listdir(tmp_path / "store")) == ["index.sqlite", "objects", "staging", "tare-store.json"]
    assert len(held(tmp_path / "store")) == 6


@pytest.mark.parametrize("scheme", ["file://", "folder:", "folder://"])
def test_so_they_do_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    plan, opened = planned(tmp_path, monkeypatch, f"{scheme}{tmp_path}/store"), opens(monkeypatch)
    assert scale.run(plan, executor="inline").done == 6
    assert len(opened) == 2
    assert "index.sqlite-wal" not in os.listdir(tmp_path / "store")
    assert len(held(tmp_path / "store")) == 6


def test_a_folder_that_was_put_back_from_a_copy_takes_what_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the id of the one before, and other files."""
    with tare.open_store(tmp_path / "store") as store:
        store.set("old", b"0")
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    done = 0
    for receipt in scale.iter_run(planned(tmp_path, monkeypatch), executor="inline"):
        done += receipt["status"] == "done"
        if done == 1:
            shutil.rmtree(tmp_path / "store")
            shutil.copytree(tmp_path / "copy", tmp_path / "store")
    assert done == 6
    assert len(held(tmp_path / "store")) == 1 + 5


def test_a_process_that_lives_on_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine of somebody else's: its processes end when they do."""
    plan = planned(tmp_path, monkeypatch)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert scale.run(plan, executor=pool).done == 6
        assert "index.sqlite-wal" not in os.listdir(tmp_path / "store")
        with tare.open_store(tmp_path / "store", exclusive=True) as store:
            assert len(store) == 6


@pytest.mark.parametrize("how", ["removed", "another"])
def test_a_folder_that_has_gone_between_units_is_made_again(tmp_path: Path, how: str) -> None:
    url = str(tmp_path / "store")
    with stores.opened(url, stays=True) as store:
        store.mset(["a"], [b"1"])
    shutil.rmtree(url)
    if how == "another":
        with tare.open_store(url) as store:
            store.set("c", b"3")
    with stores.opened(url, stays=True) as store:
        store.mset(["b"], [b"2"])
    stores.let_go_all()
    assert sorted(held(tmp_path / "store")) == (["b"] if how == "removed" else ["b", "c"])


def test_what_others_do_meanwhile_stays(tmp_path: Path) -> None:
    """A store that is open here is written, collected and read by others."""
    url = str(tmp_path / "store")
    with stores.opened(url, stays=True) as store:
        store.mset(["a"], [b"1"])
    with tare.open_store(url) as other:
        assert bytes(other.get("a")) == b"1"
        other.set("c", b"3")
        other.del_("a")
        other.gc()
    with stores.opened(url, stays=True) as store:
        store.mset(["a", "b"], [b"1", b"2"])
    stores.let_go_all()
    assert held(tmp_path / "store") == {"a": b"1", "b": b"2", "c": b"3"}


def test_one_that_failed_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(UsageError), stores.opened(str(tmp_path / "store"), stays=True):
        raise UsageError("as a unit fails")
    assert not stores._idle


def test_threads_have_one_each_and_leave_one(tmp_path: Path) -> None:
    url, met = str(tmp_path / "store"), threading.Barrier(2, timeout=60)
    seen: list[Any] = []

    def unit(key: str) -> None:
        with stores.opened(url, stays=True) as store:
            seen.append(store)
            met.wait()
            store.mset([key], [key.encode()])

    threads = [threading.Thread(target=unit, args=(key,)) for key in "ab"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert seen[0] is not seen[1]
    assert sorted(one.closed for one in seen) == [False, True]
    stores.let_go_all()
    assert all(one.closed for one in seen)
    assert held(tmp_path / "store") == {"a": b"a", "b": b"b"}


def test_a_store_in_no_folder_is_closed_behind_each_unit(tmp_path: Path) -> None:
    with stores.opened("memory:", stays=True) as store:
        store.set("a", b"1")
    assert store.closed
    assert not stores._idle


def test_a_run_that_fails_lets_go_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(tmp_path, monkeypatch)
    (tmp_path / "in" / "3").unlink()
    assert scale.run(plan, executor="inline", on_failure="stop").failed == 1
    assert not stores._idle
    assert "index.sqlite-wal" not in os.listdir(tmp_path / "store")
