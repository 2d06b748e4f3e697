"""`measure` on an engine: one benchmark on one host at a time, with real workers on hosts of their own names."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_namespaces, need_worker_codec

from tare import scale
from tare.errors import UsageError
from tare.scale.executors.dask import Cluster
from tare.scale.plan import make_plan
from tare.scale.preflight import EngineError

DATASETS = 4
ON_SCHEDULER = pytest.mark.xdist_group("measure on a Dask cluster")  # which they share


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for n in range(DATASETS):
        (folder / f"d{n}.ndjson").write_text(
            "".join(json.dumps({"id": k, "n": n}) + "\n" for k in range(300))
        )
    return folder


def planned(
    data: Path | list[Path], out: Path, codecs: Sequence[str] = ("json:orjson",), seconds: int = 2
) -> scale.Plan:
    """A benchmark of each dataset that runs on a busy machine too: it is the order that counts here."""
    sources = [str(one) for one in data] if isinstance(data, list) else str(data)
    first = scale.plan_measure(sources, str(out), codecs=codecs, seconds=seconds)
    units = [{**unit, "options": {**unit["options"], "busy": 1}} for unit in first.units()]
    return make_plan(units, out / "busy.jsonl", task="measure", base=first.base)


@pytest.fixture(scope="module")
def scheduler() -> Iterator[Cluster]:
    """A cluster that each test gives its workers."""
    made = Cluster(0)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def bench_workers(made: Cluster, folder: Path, hosts: tuple[str, ...], *options: str) -> Iterator[str]:
    """Workers with two threads each, which have gone from their cluster at the end; a host is a name of its own."""
    from distributed import Client

    workers = []
    with Client(scheduler_file=made.file, set_as_default=False) as client:
        try:
            for n, host in enumerate(hosts):
                workers.append(start_worker(made, folder / f"worker-{n}", *options, host=host))
            client.wait_for_workers(len(hosts), timeout=60)
            yield f"dask+file:{made.file}"
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
            until = time.monotonic() + 60
            while client.scheduler_info(n_workers=-1)["workers"]:
                assert time.monotonic() < until, "the workers are dead, and their scheduler keeps them"
                time.sleep(0.01)


def start_worker(made: Cluster, folder: Path, *options: str, host: str = "") -> subprocess.Popen[bytes]:
    """A worker with two threads, on a host of that name."""
    command = [sys.executable, "-m", "dask", "worker", "--scheduler-file", made.file, "--host", "127.0.0.1"]
    command += ["--nworkers", "1", "--nthreads", "2", "--no-dashboard", "--no-nanny", *options]
    command += ["--local-directory", str(folder)]
    if host:
        command = ["unshare", "--uts", "sh", "-c", f'hostname {host} && exec "$@"', "sh", *command]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def times(out: Path) -> dict[str, list[tuple[float, float]]]:
    """When units began and ended, by host: from their receipts, which are written at their end."""
    found: dict[str, list[tuple[float, float]]] = {}
    for path in (out / ".tare" / "done").rglob("*.json"):
        receipt, end = json.loads(path.read_text()), path.stat().st_mtime
        begin = end - receipt["seconds"] + receipt["waited_seconds"]
        found.setdefault(receipt["host"], []).append((begin, end))
    return {host: sorted(some) for host, some in found.items()}


def overlap(some: list[tuple[float, float]]) -> float:
    """The longest time that one began before another's end; the clock of files is coarse."""
    return max((end - begin for (_, end), (begin, _) in itertools.pairwise(some)), default=0.0)


@ON_SCHEDULER
def test_never_two_units_on_one_host(data: Path, tmp_path: Path, scheduler: Cluster) -> None:
    """Each worker has two threads; what keeps units apart is the one bench that its host offers."""
    need_namespaces("uts", inside="hostname one")
    plan = planned(data, tmp_path / "out")
    with bench_workers(scheduler, tmp_path, ("one", "two"), "--resources", "bench=1") as executor:
        report = scale.run(plan, executor=executor)
    assert (report.done, report.failed) == (DATASETS, 0), report.failures[0]["error"]
    found = times(tmp_path / "out")
    assert sorted(found) == ["one", "two"]
    assert all(overlap(some) < 0.02 for some in found.values()), found
    assert overlap(sorted([*found["one"], *found["two"]])) > 0.2, f"the hosts did not work at once: {found}"


@pytest.mark.parametrize("executor", ["dask", "local:2"])
def test_engines_of_our_own_measure_one_at_a_time(data: Path, tmp_path: Path, executor: str) -> None:
    """However many processes were asked for: all of them are on this host."""
    report = scale.run(planned([data / "d0.ndjson", data / "d1.ndjson"], tmp_path), executor=executor, jobs=2)
    assert (report.done, report.failed) == (2, 0), report.failures[0]["error"]
    found = times(tmp_path)
    assert list(found) == [os.uname().nodename]
    assert all(overlap(some) < 0.02 for some in found.values()), found


@ON_SCHEDULER
@pytest.mark.parametrize(
    ("workers", "options", "said"),
    [
        (2, ("--resources", "bench=1"), rf"^{os.uname().nodename} offers bench=2 \(processes \d+, \d+\)"),
        (1, ("--resources", "bench=2"), r"offers bench=2 \(process \d+\).*one worker with bench=1"),
        # Its scheduler would keep the units for ever.
        (1, (), r"no worker offers bench=1.*--resources bench=1"),
    ],
)
def test_a_host_offers_one_bench(
    data: Path, tmp_path: Path, scheduler: Cluster, workers: int, options: tuple[str, ...], said: str
) -> None:
    plan = planned(data, tmp_path / "out")
    with (
        bench_workers(scheduler, tmp_path, ("",) * workers, *options) as executor,
        pytest.raises(EngineError, match=said),
    ):
        scale.run(plan, executor=executor)
    assert not list((tmp_path / "out").glob("*.tare.json"))


@pytest.mark.alone  # what is timed here is late on a machine that does something else
def test_a_worker_that_joins_late(data: Path, tmp_path: Path, scheduler: Cluster) -> None:
    """It was not asked what it offers; units wait for each other on their host all the same."""
    from distributed import Client

    count = 3
    first = planned([data / f"d{n}.ndjson" for n in range(count)], tmp_path / "out")
    # More than are in flight: those that are asked for when it has come go to it too.
    units = [*first.units()]
    units += [
        {**unit, "output": {**unit["output"], "names": [f"again-{name}" for name in unit["output"]["names"]]}}
        for unit in first.units()
    ]
    plan = make_plan(units, tmp_path / "out" / "twice.jsonl", task="measure", base=first.base)
    late = tmp_path / "late"
    late.mkdir()
    with bench_workers(scheduler, tmp_path, ("",), "--resources", "bench=1") as executor:
        others: list[Any] = []

        def join(event: dict[str, Any]) -> None:
            if event["event"] == "unit_done" and not others:
                others.append(start_worker(scheduler, late, "--resources", "bench=2"))
                with Client(scheduler_file=scheduler.file, set_as_default=False) as client:
                    client.wait_for_workers(2, timeout=60)

        try:
            report = scale.run(plan, executor=executor, on_event=join)
        finally:
            for worker in others:
                worker.kill()
                worker.wait()
    assert (report.done, report.failed) == (2 * count, 0), report.failures[0]["error"]
    receipts = [
        json.loads(path.read_text()) for path in (tmp_path / "out" / ".tare" / "done").rglob("*.json")
    ]
    assert len({one["pid"] for one in receipts}) == 2, "the late one did nothing"
    (found,) = times(tmp_path / "out").values()
    # Each takes two seconds; its result is put in its place after its turn.
    assert overlap(found) < 0.5, found


def test_a_record_names_its_engine(data: Path, tmp_path: Path) -> None:
    scale.run(planned(data / "d0.ndjson", tmp_path), executor="inline")
    record = json.loads((tmp_path / "d0.tare.json").read_text())
    assert record["engine"]["name"] == "inline"


def test_codecs_of_other_languages_are_measured(data: Path, tmp_path: Path) -> None:
    """Also beside those of Python that begin alike."""
    need_worker_codec("json:node", language="node")
    plan = planned(data / "d0.ndjson", tmp_path, ["json:node", "json:std*"], seconds=8)
    report = scale.run(plan, executor="inline")
    assert report.ok, report.failures
    record = json.loads((tmp_path / "d0.tare.json").read_text())
    assert set(record["codecs"]) == {"json:node", "json:stdlib"}
    weighed = {case["labels"]["codec"] for case in record["cases"] if case["status"] == "ok"}
    assert weighed >= {"json:node", "json:stdlib"}


def test_a_host_without_a_language_says_so(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it lacks is named with the host and how it is installed; the others are not measured without it."""
    plan = planned(data / "d0.ndjson", tmp_path, ["json:orjson", "json:node"])
    monkeypatch.setenv("PATH", str(tmp_path))
    report = scale.run(plan, executor="inline")
    assert (report.done, report.failed, report.exit_code) == (0, 1, 1)
    said = report.failures[0]["error"]["message"]
    host, install = os.uname().nodename, "needs Node, which is not installed: apt-get install nodejs npm"
    assert said == f"{host}: json:node: {install}"
    assert not list(tmp_path.glob("*.tare.json"))


def test_sources_of_one_stem_keep_their_endings(tmp_path: Path) -> None:
    """As when they are converted: `a.csv` and `a.json` have a record each."""
    for name, text in (("a.csv", "x\n1\n"), ("a.json", "[1]"), ("b.json", "[2]")):
        (tmp_path / name).write_text(text)
    plan = scale.plan_measure(str(tmp_path), str(tmp_path / "out"), seconds=2)
    names = sorted(unit["output"]["names"][0] for unit in plan.units())
    assert names == ["a.csv.tare.json", "a.json.tare.json", "b.tare.json"]


def test_what_cannot_be_measured_is_not_planned(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least 2 seconds"):
        scale.plan_measure(str(data), str(tmp_path), seconds=1)
    for codec in ("jsn:orjson", "json:nodee", "json:nodee*"):
        with pytest.raises(UsageError, match=r"jsn|nodee"):
            scale.plan_measure(str(data), str(tmp_path), codecs=[codec])
    assert not list(tmp_path.rglob("*.jsonl"))


def test_an_executor_that_places_nothing(data: Path, tmp_path: Path) -> None:
    plan = planned([data / "d0.ndjson", data / "d1.ndjson"], tmp_path)
    with ThreadPoolExecutor(2) as pool, pytest.raises(UsageError, match="one worker"):
        scale.run(plan, executor=pool)
    with ThreadPoolExecutor(1) as pool:
        report = scale.run(plan, executor=pool)
    assert (report.done, report.failed) == (2, 0), report.failures[0]["error"]
    assert all(overlap(some) < 0.02 for some in times(tmp_path).values())
