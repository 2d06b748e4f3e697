"""Ray, with its own processes: too large and too slow for every run; `.ci/run-ray` installs it and runs these."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.capabilities import need_module
from support.clusters import parquet_hashes

import tare
from tare import scale
from tare.scale.plan import make_plan
from tare.scale.preflight import EngineError
from tare.scale.state import State

FILES = 24
ray = need_module("ray", ".ci/run-ray")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    for n in range(FILES):
        rows = ({"id": k, "text": f"t{k * n % 977}", "v": k / 7} for k in range(6000))
        (folder / f"f{n:02}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def expected(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("expected")
    assert scale.run(scale.plan_convert(str(sources), str(folder), to="parquet"), executor="inline").ok
    return parquet_hashes(folder)


def test_what_one_process_gives(sources: Path, expected: dict[str, str], tmp_path: Path) -> None:
    plan = scale.plan_convert(str(sources), str(tmp_path), to="parquet")
    report = scale.run(plan, executor="ray", jobs=2)
    assert (report.done, report.failed, report.deaths) == (FILES, 0, 0), report.failures
    assert parquet_hashes(tmp_path) == expected
    assert scale.run(plan, executor="ray", jobs=2).skipped == FILES


def test_a_worker_is_killed(sources: Path, expected: dict[str, str], tmp_path: Path) -> None:
    plan = scale.plan_convert(str(sources), str(tmp_path), to="parquet")

    def kill() -> None:
        state = State.of(plan)
        until = time.monotonic() + 60
        while len(state.done()) < 4 and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(next(state.receipts())["pid"], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    report = scale.run(plan, executor="ray", jobs=2)
    thread.join()
    assert (report.done + report.duplicate, report.failed) == (FILES, 0), report.failures
    assert parquet_hashes(tmp_path) == expected
    assert not list((tmp_path / ".tare" / "writing").iterdir())


class Killer:
    """What ends the process that loads it."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.kill, (_Own(), signal.SIGKILL)


class _Own(int):
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.getpid, ()


def test_a_unit_that_kills_its_worker(sources: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for path in sorted(sources.iterdir())[:8]:
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "killer.pickle").write_bytes(pickle.dumps(Killer()))
    plan = scale.plan_convert(str(folder), str(tmp_path / "out"), to="parquet")
    report = scale.run(plan, executor="ray", jobs=2, allow_pickle=True)
    assert (report.done + report.duplicate, report.failed) == (8, 1), report.failures
    assert report.failures[0]["error"]["class"] == "killed"


@pytest.mark.filterwarnings("default")  # Ray's own settings warn of themselves
def test_a_dataset_of_rds(tmp_path: Path) -> None:
    for n in range(3):
        tare.write(pa.table({"id": list(range(n * 10, n * 10 + 10))}), tmp_path / f"f{n}.rds")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        rows = scale.ray_dataset(str(tmp_path)).take_all()
    finally:
        ray.shutdown()
    assert sorted(row["id"] for row in rows) == list(range(30))


def test_a_ray_of_our_own_measures_one_at_a_time(tmp_path: Path) -> None:
    """It offers one bench, so that units neither wait for ever nor run side by side."""
    for n in range(3):
        (tmp_path / f"d{n}.ndjson").write_text(
            "".join(json.dumps({"id": k, "n": n}) + "\n" for k in range(300))
        )
    out = tmp_path / "out"
    first = scale.plan_measure(str(tmp_path / "d*.ndjson"), str(out), codecs=["json:orjson"], seconds=2)
    units = [{**unit, "options": {**unit["options"], "busy": 1}} for unit in first.units()]
    plan = make_plan(units, tmp_path / "plan.jsonl", task="measure", base=first.base)
    report = scale.run(plan, executor="ray", jobs=2)
    assert (report.done, report.failed) == (3, 0), report.failures
    receipts = [
        (path.stat().st_mtime, json.loads(path.read_text())) for path in out.rglob(".tare/done/*/*.json")
    ]
    spans = sorted((end - receipt["seconds"], end) for end, receipt in receipts)
    assert len(spans) == 3
    assert all(begin > end - 0.02 for (_, end), (begin, _) in itertools.pairwise(spans)), spans


def test_a_ray_without_a_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would keep the units for ever."""
    from ray.cluster_utils import Cluster

    (tmp_path / "d.ndjson").write_text('{"id": 1}\n')
    plan = scale.plan_measure(str(tmp_path / "d.ndjson"), str(tmp_path / "out"), seconds=2)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        with pytest.raises(EngineError, match=r"no worker offers bench=1.*ray start --resources"):
            scale.run(plan, executor="ray:auto")
    finally:
        cluster.shutdown()


def test_a_head_without_cores(
    sources: Path, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leads alone: nothing runs there, and nothing is asked of it."""
    from ray.cluster_utils import Cluster

    plan = scale.plan_convert(str(sources), str(tmp_path), to="parquet")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        with pytest.raises(EngineError, match="ray: there is no worker"):
            scale.run(plan, executor="ray:auto")
        cluster.add_node(num_cpus=2)
        cluster.wait_for_nodes()
        report = scale.run(plan, executor="ray:auto")
    finally:
        cluster.shutdown()
    assert (report.done, report.failed) == (FILES, 0), report.failures
    assert parquet_hashes(tmp_path) == expected


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Ray's own code
def test_a_dataset_keeps_whole_numbers_and_what_was_an_index(tmp_path: Path) -> None:
    import pandas as pd

    big = 1152921504606846977
    for n in range(2):
        frame = pd.DataFrame({"id": [n, n + 10], "n": pd.array([None, big], dtype="Int64")}).set_index("id")
        tare.write(frame, tmp_path / f"f{n}.parquet")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        found = scale.ray_dataset(str(tmp_path)).to_pandas()
    finally:
        ray.shutdown()
    assert sorted(found["id"]) == [0, 1, 10, 11]
    assert [value for value in found["n"] if not pd.isna(value)] == [big, big]


def test_a_cluster_is_reached_by_its_address(sources: Path, expected: dict[str, str], tmp_path: Path) -> None:
    """``ray://host:port``, as the guide names a cluster: its head is another process, and the command its client."""
    port, client = (_free_port() for _ in range(2))
    env = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    start = [Path(sys.executable).with_name("ray"), "start", "--head", "--block", "--num-cpus=2"]
    start += ["--include-dashboard=false", f"--port={port}", f"--ray-client-server-port={client}"]
    command = [sys.executable, "-m", "tare", "convert", str(sources), str(tmp_path / "out")]
    command += ["--to", "parquet", "--executor", f"ray://127.0.0.1:{client}"]
    with (
        tempfile.TemporaryDirectory(prefix="tare-ray-", ignore_cleanup_errors=True) as folder,
        subprocess.Popen([*start, f"--temp-dir={folder}"], env=env, stdout=subprocess.DEVNULL) as head,
    ):
        try:
            _await_port(client, head)
            first, again = (
                subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
                for _ in range(2)
            )
        finally:
            head.terminate()  # with --block its processes end with it; `ray stop` would end those of others too
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert f"{FILES} done before" in again.stderr
    assert parquet_hashes(tmp_path / "out") == expected


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _await_port(port: int, head: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 90
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert head.poll() is None, f"ray start ended with {head.returncode}"
            assert time.monotonic() < until, "the head does not answer"
            time.sleep(0.2)
