"""Every executor gives what one process gives, through failures, deaths and restarts; Dask with real processes."""

from __future__ import annotations

import contextlib
import gc
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_namespaces
from support.clusters import (
    FILES,
    act_after,
    assert_whole,
    cluster,
    command_of,
    descends_from,
    is_running,
    one_process,
    parquet_hashes,
    process_ids,
    write_sources,
)
from support.commands import invoke
from support.soak import scaled

from tare import scale
from tare.errors import TareError, UsageError
from tare.scale.executors import engine_of
from tare.scale.executors.base import Engine, facts
from tare.scale.executors.dask import Cluster
from tare.scale.executors.local import LocalEngine
from tare.scale.loop import in_shard
from tare.scale.preflight import EngineError, check_workers

WORKERS = 2
ON_DASK = pytest.mark.xdist_group("executors on a Dask cluster")  # which they share


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def expected(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return one_process(sources, tmp_path_factory.mktemp("expected"))


@pytest.fixture(scope="module")
def dask() -> Iterator[Cluster]:
    with cluster(WORKERS) as made:
        yield made


@pytest.fixture(params=["inline", "local:2", "threads", pytest.param("dask", marks=ON_DASK)])
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield pool
    elif request.param == "dask":
        file = Path(request.getfixturevalue("dask").file)  # others name it; here it is the address
        yield json.loads(file.read_text())["address"].replace("tcp://", "dask://")
    else:
        yield request.param


def test_what_one_process_gives(sources, expected, executor, tmp_path) -> None:
    plan = scale.plan_convert(str(sources), str(tmp_path), to="parquet")
    events: list[dict[str, Any]] = []
    report = scale.run(plan, executor=executor, on_event=events.append)
    assert (report.done, report.failed, report.missing, report.deaths) == (FILES, 0, 0, 0), report.failures
    assert parquet_hashes(tmp_path) == expected
    assert (tmp_path / ".tare" / "manifest.json").exists()
    assert not list((tmp_path / ".tare" / "writing").iterdir())
    assert (events[0]["event"], events[-1]["event"], events[-1]["ok"]) == ("planned", "finished", True)
    again = scale.run(plan, executor="inline")
    assert (again.done, again.skipped) == (0, FILES)


def bad(folder: Path, sources: Path, count: int = 8) -> Path:
    """Some of the files, and one that no reader takes."""
    folder.mkdir()
    for path in sorted(sources.iterdir())[:count]:
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "f03.ndjson").write_bytes(b'{"a": 1}\n{"a": 2')
    return folder


def test_a_bad_file_costs_itself(sources, executor, tmp_path) -> None:
    plan = scale.plan_convert(str(bad(tmp_path / "in", sources)), str(tmp_path / "out"), to="parquet")
    report = scale.run(plan, executor=executor)
    assert (report.done, report.failed, report.exit_code) == (7, 1, 1)
    error = report.failures[0]["error"]
    assert (error["class"], error["kind"]) == ("input", "Truncated")
    assert "f03.ndjson" in error["message"]
    found = scale.status(plan)
    assert (found["done"], found["failed"], found["missing"]) == (7, 1, 0)
    assert found["failures"][0]["examples"] == [error["message"]]


def test_the_first_failure_may_stop_it(sources, tmp_path) -> None:
    plan = scale.plan_convert(str(bad(tmp_path / "in", sources)), str(tmp_path / "out"), to="parquet")
    report = scale.run(plan, executor="inline", on_failure="stop")
    assert report.stopped == "failure"
    assert report.done + report.failed + report.missing == 8


class Killer:
    """What ends the process that loads it."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.kill, (0, 0) if os.environ.get("SPARED") else (_own_pid(), signal.SIGKILL)


class _own_pid(int):  # noqa: N801 - stands for a number
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.getpid, ()


def with_killer(folder: Path, sources: Path, count: int) -> Path:
    folder.mkdir()
    for path in sorted(sources.iterdir())[:count]:
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "killer.pickle").write_bytes(pickle.dumps(Killer()))
    return folder


@pytest.mark.parametrize("engine", ["local:2", "dask"])
def test_a_unit_that_kills_its_worker_is_told_from_the_innocent(sources, engine, tmp_path) -> None:
    folder = with_killer(tmp_path / "in", sources, 6)
    plan = scale.plan_convert(str(folder), str(tmp_path / "out"), to="parquet")
    report = scale.run(plan, executor=engine, jobs=2, allow_pickle=True)
    assert (report.done + report.duplicate, report.failed, report.missing) == (6, 1, 0), report.failures
    error = report.failures[0]["error"]
    assert error["class"] == "killed"
    assert "killer.pickle: its worker died" in error["message"]
    assert report.deaths >= 3


def test_a_pool_that_was_given_and_broke(sources, tmp_path) -> None:
    """It is the caller's: the run ends and says so, and a second start goes on."""
    folder = with_killer(tmp_path / "in", sources, 6)
    plan = scale.plan_convert(str(folder), str(tmp_path / "out"), to="parquet")
    spawned = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(2, mp_context=spawned) as pool,
        pytest.raises(EngineError, match="lost a process"),
    ):
        scale.run(plan, executor=pool, allow_pickle=True)
    (folder / "killer.pickle").unlink()
    report = scale.run(plan, executor="inline", allow_pickle=True)
    assert (report.done + report.skipped + report.duplicate, report.failed) == (6, 1)


@pytest.mark.parametrize(
    "before", scaled(["results that were deleted"], ["nothing", "results that were deleted"])
)
def test_a_pool_that_loses_a_process(sources, expected, tmp_path, monkeypatch, before) -> None:
    """A receipt of results that went since is no proof that a unit in flight is done."""
    from tare.scale.executors.local import LocalEngine

    plan = scale.plan_convert(str(sources), str(tmp_path), to="parquet")
    if before != "nothing":
        assert scale.run(plan, executor="inline").ok
        for name in expected:
            (tmp_path / name).unlink()
    pools: list[LocalEngine] = []
    real = LocalEngine.__init__

    def noted(self: LocalEngine, workers: int) -> None:
        real(self, workers)
        pools.append(self)

    monkeypatch.setattr(LocalEngine, "__init__", noted)

    def kill() -> None:
        os.kill(next(iter(pools[0]._pool._processes)), signal.SIGKILL)

    thread = act_after(plan, 4, kill, of=tmp_path)
    report = scale.run(plan, executor="local:2")
    thread.join()
    assert (report.done, report.failed, report.deaths) == (FILES, 0, 1), report.failures
    assert_whole(plan, tmp_path, expected)


@contextlib.contextmanager
def joined(
    made: Cluster, folder: Path, environment: dict[str, str], prefix: tuple[str, ...] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """One more worker of a cluster, which has gone from it at the end."""
    from distributed import Client

    command = [sys.executable, "-m", "dask", "worker", "--scheduler-file", made.file, "--host", "127.0.0.1"]
    command += ["--nworkers", "1", "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    worker = subprocess.Popen(
        [*prefix, *command, "--local-directory", str(folder)],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with Client(scheduler_file=made.file, set_as_default=False) as client:
        try:
            client.wait_for_workers(WORKERS + 1, timeout=60)
            yield worker
        finally:
            worker.kill()
            worker.wait()
            until = time.monotonic() + 60
            while len(client.scheduler_info(n_workers=-1)["workers"]) > WORKERS:
                assert time.monotonic() < until, "the worker is dead, and its scheduler keeps it"
                time.sleep(0.01)


def refused(made: Cluster, plan: scale.Plan) -> str:
    """Return the error with which a cluster refuses a plan."""
    with pytest.raises(EngineError) as said:
        scale.run(plan, executor=f"dask+file:{made.file}")
    return str(said.value)


def other_version(folder: Path) -> dict[str, str]:
    """The environment of a Tare that says it is another."""
    import tare

    other = folder / "other" / "tare"
    other.mkdir(parents=True)
    for path in Path(tare.__file__).parent.iterdir():
        if path.name not in ("_version.py", "__pycache__"):
            (other / path.name).symlink_to(path)
    (other / "_version.py").write_text('__version__ = "0.0.7"\n')
    return {"PYTHONPATH": str(other.parent)}


@ON_DASK
def test_a_dask_worker_that_joins_late_is_looked_at(sources, dask, tmp_path, monkeypatch) -> None:
    """Its units would not be those of the others: the run ends with its name, and what is done is kept."""
    monkeypatch.setattr("tare.scale.loop._NEWCOMERS_S", 0.0)
    plan = scale.plan_convert(str(sources), str(tmp_path / "out"), to="parquet")
    late: list[subprocess.Popen[bytes]] = []
    with contextlib.ExitStack() as joins:

        def join(event: dict[str, Any]) -> None:
            if event["event"] == "unit_done" and not late:
                late.append(joins.enter_context(joined(dask, tmp_path / "local", other_version(tmp_path))))

        with pytest.raises(EngineError, match=r"^worker .* has Tare 0\.0\.7, here it is"):
            scale.run(plan, executor=f"dask+file:{dask.file}", on_event=join)
    assert scale.status(plan)["done"] >= 1


@ON_DASK
def test_a_dask_worker_of_another_version(sources, dask, tmp_path) -> None:
    """It is named before the first unit, and nothing was written."""
    plan = scale.plan_convert(str(sources), str(tmp_path / "out"), to="parquet")
    with joined(dask, tmp_path / "local", other_version(tmp_path)) as worker:
        said = refused(dask, plan)
    assert "0.0.7" in said
    assert said.startswith(f"worker {os.uname().nodename} (process {worker.pid})")
    assert not parquet_hashes(tmp_path / "out")


@ON_DASK
def test_a_dask_worker_that_does_not_see_the_destination(sources, dask, tmp_path) -> None:
    """As on a host where a folder is not mounted: its view of it is an empty disk that is read-only."""
    out = tmp_path / "out"
    out.mkdir()
    hide = f"hostname another && mount -t tmpfs -o ro tmpfs {out}"
    unshared = ("unshare", "--mount", "--uts", "sh", "-c", f'{hide} && exec "$@"', "sh")
    need_namespaces("mount", "uts", inside=hide)
    plan = scale.plan_convert(str(sources), str(out), to="parquet")
    with joined(dask, tmp_path / "local", {}, unshared):
        said = refused(dask, plan)
    assert said.startswith("worker another (process ")
    assert f"cannot reach {out}" in said
    assert not parquet_hashes(out)


def test_a_unit_that_hangs_is_ended(sources, tmp_path, monkeypatch) -> None:
    """Twice, then it has failed; the others' work is done again, and done."""
    folder = tmp_path / "in"
    folder.mkdir()
    for path in sorted(sources.iterdir())[:6]:
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "slow.pickle").write_bytes(pickle.dumps(Sleeper()))
    plan = scale.plan_convert(str(folder), str(tmp_path / "out"), to="parquet")
    report = scale.run(plan, executor="local:2", unit_timeout=5, allow_pickle=True)
    assert (report.done, report.failed) == (6, 1), report.failures
    assert report.failures[0]["error"]["class"] == "timeout"
    assert "slow.pickle: took longer than 5 s, twice" in report.failures[0]["error"]["message"]


class Sleeper:
    """What takes an hour to load."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return time.sleep, (3600,)


_RUN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background has it ignored
from tare.cli import main
if __name__ == "__main__":
    main(sys.argv[1:])
"""


def test_a_signal_while_a_pool_is_ended_leaves_no_process(monkeypatch) -> None:
    """A process that was left waited for ever for a lock of one that was killed, and the interpreter for it."""
    engine = LocalEngine(2)
    engine.restart()
    left = list(engine._pool._processes.values())
    real, killed = multiprocessing.process.BaseProcess.kill, []

    def kill(process: Any) -> None:
        real(process)
        killed.append(process)
        if len(killed) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "kill", kill)
    with pytest.raises(KeyboardInterrupt):
        engine.close()
    assert len(killed) == 1
    del engine
    gc.collect()
    for process in left:
        process.join(60)
    assert [process.exitcode for process in left] == [-signal.SIGKILL] * 2


@pytest.mark.parametrize("times", [1, 2])
def test_interrupted(sources, expected, tmp_path, times) -> None:
    """Once: what runs is finished. Twice: it is given up. The same line goes on."""
    script = tmp_path / "run.py"
    script.write_text(_RUN)
    command = [sys.executable, str(script), "convert", str(sources), str(tmp_path / "out"), "--to", "parquet"]
    command += ["--jobs", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    done = tmp_path / "out" / ".tare" / "done"
    until = time.monotonic() + 60
    while time.monotonic() < until and len(list(done.glob("*/*.json"))) < 4:
        time.sleep(0.01)
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
    _, said = process.communicate(timeout=60)
    # The second may come when all is over and the interpreter ends.
    assert process.returncode in ((130,) if times == 1 else (130, -signal.SIGINT)), said
    if times == 1:
        assert "interrupted; what is done is kept" in said
    count = len(list(done.glob("*/*.json")))
    assert 4 <= count < FILES
    again = invoke(*command[2:-1], "1", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert f"{count:,} done before" in again.stderr or f"{count + 1:,} done before" in again.stderr
    assert parquet_hashes(tmp_path / "out") == expected


def test_shards_are_the_plan(sources, expected, tmp_path) -> None:
    """Three processes without an engine; one is killed and repeated, two do the same share."""
    path = tmp_path / "plan.jsonl"
    plan = scale.plan_convert(str(sources), str(tmp_path / "out"), to="parquet", path=path)
    command = ("run", str(path), "--allow-source", str(sources), "--executor", "inline", "--shard")
    start = (sys.executable, "-c", "from tare.cli import main; main()", *command)
    shares = [subprocess.Popen([*start, f"{i}/2"], stderr=subprocess.DEVNULL) for i in (1, 2, 2)]
    act_after(plan, 2, shares[0].kill).join()
    codes = [share.wait(120) for share in shares]
    assert codes[1:] == [0, 0]
    assert invoke(*command, "1/2", cwd=tmp_path).returncode == 0
    assert parquet_hashes(tmp_path / "out") == expected
    assert scale.run(plan, executor="inline").skipped == FILES


@pytest.mark.parametrize("shares", [1, 2, 3, 7, 64])
def test_each_unit_is_in_one_shard(shares: int) -> None:
    for number in range(200):
        assert sum(in_shard(number, (share, shares)) for share in range(1, shares + 1)) == 1


class Odd(Engine):
    """An engine of one worker that says what it is told to."""

    name = "odd"

    def __init__(self, **said: Any) -> None:
        self.said = said

    def submit(self, unit: Any, settings: Any) -> Any:
        raise AssertionError

    def close(self) -> None:
        pass

    def probe(self, settings: Any, uri: str) -> list[dict[str, Any]]:
        return [{**facts(), "cannot": "", **self.said}] if self.said.get("there", True) else []


def test_workers_are_looked_at_first() -> None:
    check_workers(Odd(), {}, "")
    with pytest.raises(EngineError, match=r"worker far \(process 7\) has Tare 9\.9"):
        check_workers(Odd(host="far", pid=7, tare="9.9"), {}, "")
    with pytest.raises(EngineError, match=r"has pyarrow 1\.0.*--allow-mixed"):
        check_workers(Odd(libraries={"pyarrow": "1.0"}), {}, "")
    check_workers(Odd(libraries={"pyarrow": "1.0"}), {}, "", allow_mixed=True)
    with pytest.raises(EngineError, match=r"worker far .* cannot reach /out: no such"):
        check_workers(Odd(host="far", cannot="/out: no such folder"), {}, "")
    with pytest.raises(EngineError, match="there is no worker"):
        check_workers(Odd(there=False), {}, "")


def test_what_is_no_engine() -> None:
    for text in ("slurm", "local:x", "dask:host", "ray:x"):
        with pytest.raises((UsageError, TareError)):
            engine_of(text)
    with pytest.raises(UsageError, match="submit"):
        engine_of(object())
    with pytest.raises(EngineError, match="no scheduler has written"):
        engine_of("dask+file:/nowhere/s.json")


@pytest.mark.parametrize(
    ("engine", "number"),
    [
        ("local", signal.SIGTERM),
        ("local", signal.SIGKILL),
        ("dask", signal.SIGKILL),
        *scaled([], [("dask", signal.SIGTERM)]),
    ],
)
def test_a_client_that_is_ended_leaves_no_process(sources, tmp_path, engine, number) -> None:
    """Workers, schedulers and trackers go with it, and the same line goes on."""
    command = [
        sys.executable,
        "-c",
        "from tare.cli import main; main()",
        "convert",
        str(sources),
        str(tmp_path),
    ]
    command += ["--to", "parquet", "--executor", engine, "--jobs", "2"]
    plan = scale.plan_convert(str(sources), str(tmp_path), to="parquet")
    known = process_ids()
    client = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    act_after(plan, 2, lambda: None).join()
    started = {pid for pid in process_ids() - known if descends_from(pid, client.pid)}
    assert len(started) >= 3, "nothing was started"
    client.send_signal(number)
    assert client.wait(60) == (130 if number == signal.SIGTERM else -signal.SIGKILL)
    until = time.monotonic() + 60
    while (left := {pid for pid in started if is_running(pid)}) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left, [command_of(pid) for pid in left]
    assert scale.run(plan, executor="inline").ok
