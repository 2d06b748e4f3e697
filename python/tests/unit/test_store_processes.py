"""Stores in threads, in processes that were forked or spawned, and awaited."""

from __future__ import annotations

import asyncio
import multiprocessing as mp
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.stores import new_store

from tare import open_store
from tare.errors import Conflict
from tare.store import Store


def value_of(store: Store, n: int) -> Any:
    """A value for a number, of a kind that the store holds."""
    return n if store.info()["codec"] is None else [float(n)]


def same(store: Store, key: str, n: int) -> bool:
    """Whether a key has the value of a number."""
    found = store.get(key)
    return bool(found == n if store.info()["codec"] is None else found.to_python()[0] == n)


def work(store: Store, first: int) -> int:
    """What a process does: sets, gets, deletes."""
    for n in range(first, first + 20):
        store.set(f"k{n}", value_of(store, n))
        store.set("shared", value_of(store, n))
        assert same(store, f"k{n}", n)
        store.get("shared")
        if n % 5 == 0:
            store.del_(f"k{n}")
    return os.getpid()


@pytest.mark.parametrize("driver", ["folder", "storr"])
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes_share_a_store(driver: str, start: str, tmp_path: Path) -> None:
    """A store that is given to a pool opens by its URL, or goes with the fork."""
    store = new_store(driver, tmp_path)
    store["before"] = value_of(store, 1)
    with ProcessPoolExecutor(3, mp_context=mp.get_context(start)) as pool:
        pids = set(pool.map(work, [store] * 4, [100, 200, 300, 400]))
    assert os.getpid() not in pids
    assert len(store.list()) == 4 * 16 + 2
    assert all(same(store, f"k{n}", n) for n in range(401, 420) if n % 5)
    assert store.check("full").is_clean


@pytest.mark.parametrize("driver", ["memory", "folder", "storr"])
def test_a_forked_child_uses_the_open_store(driver: str, tmp_path: Path) -> None:
    """Opened before the fork and used in both: nothing hangs, nothing is damaged."""
    store = new_store(driver, tmp_path)
    store.mset([f"a{n}" for n in range(50)], [value_of(store, n) for n in range(50)])
    children = []
    for child in range(3):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for n in range(20):
                    store.set(f"child{child}-{n}", value_of(store, n))
                    assert same(store, f"a{n}", n)
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    for n in range(20):
        store.set(f"parent-{n}", value_of(store, n))
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
    expected = 70 if driver == "memory" else 70 + 60  # what is in memory is of one process
    assert len(store) == expected
    assert store.check("full").is_clean


@pytest.mark.parametrize("use", ["the same", "opened again", "another"])
def test_a_fork_beside_threads_at_work(use: str, tmp_path: Path) -> None:
    """No lock of a thread that is not there any more is waited for, and the store can be used."""
    code = f"""
import os, signal, threading, tare
path, stop = {str(tmp_path / "store")!r}, threading.Event()
store = tare.open_store(path)
def work(n):
    i = 0
    while not stop.is_set():
        i += 1; store.set(f"{{n}}-{{i % 50}}", i); store.get(f"{{n}}-{{i % 50}}")
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
[thread.start() for thread in threads]
said = []
for child in range(8):
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        again = path if {use!r} == "opened again" else path + str(child)
        mine = store if {use!r} == "the same" else tare.open_store(again)
        mine[f"child {{child}}"] = child
        os._exit(0 if mine[f"child {{child}}"] == child else 1)
    said.append(os.waitpid(pid, 0)[1])
stop.set()
[thread.join() for thread in threads]
assert said == [0] * 8, said
assert store.check("full").is_clean
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("driver", ["memory", "folder", "storr"])
def test_threads_share_a_store(driver: str, tmp_path: Path) -> None:
    """Sets, gets, deletes and listings at once; each key has its last value."""
    store = new_store(driver, tmp_path)

    def run(thread: int) -> None:
        for n in range(40):
            store.set(f"{thread}-{n % 10}", value_of(store, n))
            store.get(f"{thread}-{n % 10}")
            store.set("all", value_of(store, n))
            assert store.exists("all")
            store.list(prefix=f"{thread}-")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(6)))
    assert len(store) == 61
    assert all(same(store, f"{thread}-{n}", 30 + n) for thread in range(6) for n in range(10))
    assert store.check("full").is_clean


@pytest.mark.parametrize("driver", ["memory", "folder"])
def test_exactly_one_thread_wins_an_absent_key(driver: str, tmp_path: Path) -> None:
    """if_absent is decided by the store."""
    store = new_store(driver, tmp_path)
    won = []

    def race(n: int) -> None:
        for key in range(20):
            try:
                store.set(f"k{key}", n, if_absent=True)
                won.append((key, n))
            except Conflict:
                pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(race, range(8)))
    assert sorted(key for key, _ in won) == list(range(20))
    assert all(store[f"k{key}"] == n for key, n in won)


def test_a_batch_is_of_its_thread(tmp_path: Path) -> None:
    """What another thread sets meanwhile is set at once."""
    store = open_store("memory:")
    with store.batch():
        store["mine"] = 1
        thread = threading.Thread(target=lambda: store.set("theirs", 2))
        thread.start()
        thread.join()
        assert store.list() == ["theirs"]
    assert store.list() == ["mine", "theirs"]
    with store.batch(), pytest.raises(Exception, match="open batch"):
        store._begin(None)


def test_a_store_is_pickled_by_its_url(tmp_path: Path) -> None:
    """With namespace and options; one of a process alone is refused."""
    with new_store("storr", tmp_path, mangle_key=True) as store:
        store.namespace("n")["a/b"] = 1
        again = pickle.loads(pickle.dumps(store.namespace("n")))
        assert again["a/b"].to_python() == 1
        assert again.default_namespace == "n"
    named = open_store("memory:pickled")
    named["x"] = 1
    assert pickle.loads(pickle.dumps(named))["x"] == 1
    with pytest.raises(TypeError, match="without a name"):
        pickle.dumps(open_store("memory:"))


def test_a_store_stays_where_it_is_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path is made absolute when it is opened."""
    monkeypatch.chdir(tmp_path)
    with open_store("storr:here") as store:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        store["a"] = 1
        assert pickle.loads(pickle.dumps(store))["a"].to_python() == 1
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "here"]


def test_verbs_are_awaited(tmp_path: Path) -> None:
    """Each in a thread, many at once; errors as they are."""
    store = open_store("memory:")

    async def main() -> None:
        aio = store.aio
        await asyncio.gather(*(aio.set(f"k{n}", n) for n in range(50)))
        assert sum(await asyncio.gather(*(aio.get(f"k{n}") for n in range(50)))) == sum(range(50))
        assert await aio.namespace("n").exists("k1") is False
        assert len(await aio.list()) == 50
        with pytest.raises(KeyError):
            await aio.get("nothing")
        with pytest.raises(AttributeError, match="not awaited"):
            _ = aio.batch

    asyncio.run(main())


def test_a_hook_is_asked_once_by_many_threads() -> None:
    """Others wait for the one that is at work."""
    calls = []
    ready = threading.Event()

    def make(key: str, namespace: str) -> str:
        calls.append(key)
        ready.wait(0.1)
        return key * 2

    store = open_store("memory:", missing=make)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: store["ab"], range(8)))
    assert (calls, found) == (["ab"], ["abab"] * 8)


def test_closing_lets_go_of_all_faces() -> None:
    """Later calls say that it is closed; closing twice is no error."""
    store = open_store("memory:")
    face = store.namespace("n")
    with store:
        face["a"] = 1
    store.close()
    assert store.closed
    assert "closed" in repr(store)
    for call in (lambda: face["a"], lambda: store.set("a", 1), store.list, store.flush, lambda: len(store)):
        with pytest.raises(ValueError, match="closed"):
            call()
