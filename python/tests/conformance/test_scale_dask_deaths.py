"""Dask's processes killed in the middle of a run: nothing is lost, nothing is there twice, and the rest goes on."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.clusters import (
    FILES,
    act_after,
    assert_whole,
    cluster,
    descends_from,
    is_running,
    one_process,
    write_sources,
)
from support.soak import scaled

from tare import scale
from tare.scale.preflight import EngineError
from tare.scale.state import State


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def expected(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return one_process(sources, tmp_path_factory.mktemp("expected"))


@contextmanager
def starts(folder: Path) -> Iterator[list[str]]:
    """The keys of the units begun meanwhile, one for each beginning: each makes a folder of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    watching = libc.inotify_init1(os.O_CLOEXEC)
    assert watching >= 0
    assert libc.inotify_add_watch(watching, os.fsencode(folder), 0x100) >= 0  # IN_CREATE
    found: list[str] = []
    try:
        yield found
        os.set_blocking(watching, False)
        while True:
            try:
                said = os.read(watching, 1 << 20)
            except BlockingIOError:
                break
            at = 0
            while at < len(said):
                _, mask, _, length = struct.unpack_from("iIII", said, at)
                assert not mask & 0x4000, "more happened than the queue holds"  # IN_Q_OVERFLOW
                name = said[at + 16 : at + 16 + length].rstrip(b"\0").decode()
                if not name.startswith("put."):  # a receipt on its way
                    found.append(name.partition(".")[0])
                at += 16 + length
    finally:
        os.close(watching)


def stopped_at_a_unit(pid: int, plan: scale.Plan, folder: Path) -> str:
    """Stop a worker that has receipts and is at a unit; the unit's key."""
    writing, state = folder / ".tare" / "writing", State.of(plan)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if any(one["pid"] == pid for one in state.receipts()):
            os.kill(pid, signal.SIGSTOP)
            for name in os.listdir(writing):
                key = name.partition(".")[0]
                if f".{pid}-" in name and key != "put" and key not in state.done():
                    return key
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.003)
    raise AssertionError(f"process {pid} was at no unit")


@pytest.mark.parametrize("victim", ["worker without", "nanny", *scaled([], ["worker with a nanny"])])
def test_dask_loses_a_worker(sources, expected, tmp_path, victim) -> None:
    from distributed import Client

    plan = scale.plan_convert(str(sources), str(tmp_path), to="parquet")
    (tmp_path / ".tare" / "writing").mkdir(parents=True, exist_ok=True)
    with cluster(nanny=victim != "worker without") as made:
        with Client(scheduler_file=made.file, set_as_default=False) as client:
            workers = set(client.run(os.getpid).values())
        process = made.workers[0].pid
        worker = next(pid for pid in workers if descends_from(pid, process))
        assert (worker == process) == (victim == "worker without")
        met: dict[str, object] = {}

        def kill() -> None:
            met["key"] = stopped_at_a_unit(worker, plan, tmp_path)
            met["left"] = FILES - len(State.of(plan).done())
            os.kill(process if victim == "nanny" else worker, signal.SIGKILL)
            if victim == "nanny":
                os.kill(worker, signal.SIGCONT)  # it sees for itself that its nanny has gone

        with starts(tmp_path / ".tare" / "writing") as begun:
            thread = threading.Thread(target=kill)
            thread.start()
            report = scale.run(plan, executor=f"dask+file:{made.file}")
            thread.join()
        until = time.monotonic() + 60
        while is_running(worker) and time.monotonic() < until:
            time.sleep(0.05)
        assert not is_running(worker)
    assert met.get("left", 0) >= 2, met  # there was work for others
    assert (report.done + report.duplicate, report.failed) == (FILES, 0), report
    did = {one["pid"] for one in State.of(plan).receipts()}
    if victim == "nanny":
        assert report.deaths <= 1, report  # the worker may have ended what it was at
    else:
        assert report.deaths == 1, report
        assert begun.count(met["key"]) == 2, "the unit that it was at is begun once more"
    assert len(begun) <= FILES + 1, "one was at work on that worker: no other begins twice"
    assert set(begun) == State.of(plan).done()
    assert worker in did
    assert len(did) >= 2
    assert_whole(plan, tmp_path, expected)


def test_all_workers_gone(sources, tmp_path) -> None:
    plan = scale.plan_convert(str(sources), str(tmp_path), to="parquet")
    with cluster(nanny=False) as made:

        def kill() -> None:
            for worker in made.workers:
                os.killpg(worker.pid, signal.SIGKILL)

        thread = act_after(plan, 4, kill)
        with pytest.raises(EngineError, match="no worker for 2 s"):
            scale.run(plan, executor=f"dask+file:{made.file}", worker_timeout=2)
        thread.join()
