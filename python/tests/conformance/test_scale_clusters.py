"""What a user of a Dask cluster is told when it is not as it should be: a line, and never a traceback."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import pytest
from support.commands import invoke
from support.soak import scaled

from tare import scale
from tare.scale.executors.dask import Cluster, _hand_over
from tare.scale.preflight import EngineError

TARE = (sys.executable, "-c", "from tare.cli import main; main()")


FILES = 40


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("in")
    for n in range(FILES):
        rows = "".join(json.dumps({"id": k, "text": f"t{k * 7919}"}) + "\n" for k in range(2000))
        (folder / f"f{n:02}.ndjson").write_text(rows)
    return folder


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    made = Cluster(workers)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def without_tare(made: Cluster, folder: Path) -> Iterator[str]:
    """A worker whose Python has no Tare; its address."""
    from distributed import Client

    (folder / "lib").mkdir()
    (folder / "lib" / "tare.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'tare'\", name='tare')\n"
    )
    command = [sys.executable, "-m", "dask", "worker", "--scheduler-file", made.file, "--host", "127.0.0.1"]
    command += [
        "--nthreads",
        "1",
        "--no-dashboard",
        "--no-nanny",
        "--name",
        "bare",
        "--local-directory",
        str(folder / "local"),
    ]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with Client(scheduler_file=made.file, set_as_default=False) as client:
        worker = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(folder / "lib")}, **quiet)
        try:
            until = time.monotonic() + 60
            while not (address := _address_of("bare", client)):
                assert time.monotonic() < until, "the worker never came"
                time.sleep(0.05)
            yield address
        finally:
            worker.kill()
            worker.wait()


def _address_of(name: str, client: Any) -> str:
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return next((address for address, one in workers.items() if str(one["name"]) == name), "")


def begun(sources: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    command = [*TARE, "convert", str(sources), str(out), "--to", "parquet", *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_a_worker_without_tare_is_named(sources: Path, tmp_path: Path) -> None:
    with cluster(1) as made, without_tare(made, tmp_path) as address:
        command = begun(sources, tmp_path / "out", "--executor", f"dask+file:{made.file}")
        said = command.communicate(timeout=120)[1]
    assert command.returncode == 3, said
    assert f"worker {address}: no module 'tare': install Tare" in said
    assert "Traceback" not in said
    assert len(said.splitlines()) == 3, said  # that, how far it came, and how to go on
    assert f"0 done, {FILES} not begun into" in said
    assert not list((tmp_path / "out").glob("*.parquet"))


def test_a_scheduler_without_tare_is_named(sources: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """It loads what it passes on: every unit would fail with a text of Dask's."""
    (tmp_path / "lib").mkdir()
    absent = "raise ModuleNotFoundError(\"No module named 'tare'\", name='tare')\n"
    (tmp_path / "lib" / "tare.py").write_text(absent)
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path / "lib"))
        made = Cluster(1)
    try:
        words = ("convert", str(sources), "out", "--to", "parquet", "--executor", f"dask+file:{made.file}")
        done = invoke(*words, cwd=tmp_path)
    finally:
        made.close()
    said = done.stderr
    assert done.returncode == 3, said
    assert "the scheduler: no module 'tare': install Tare" in said
    assert "Traceback" not in said


def assert_none_failed(sources: Path, out: Path) -> None:
    """No unit is blamed, and the next start does the rest."""
    assert not [*(out / ".tare" / "failed").rglob("*.json")]
    report = scale.convert(sources, out, to="parquet", executor="inline")
    assert (report.ok, report.done + report.skipped) == (True, FILES), report.failures
    assert report.skipped > 0


@pytest.mark.parametrize("number", scaled([7], [1, 2, 7, 30]))
def test_a_scheduler_that_goes_when_a_result_is_fetched(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Between the word that a unit is done and its receipt: the unit has no part in that."""
    import distributed

    real, fetched = distributed.Future.result, itertools.count(1)
    events: list[dict[str, Any]] = []
    with cluster(2) as made:

        def result(self: Any, timeout: float | None = None) -> Any:
            if next(fetched) == number:
                os.killpg(made.scheduler.pid, signal.SIGKILL)
            return real(self, timeout)

        monkeypatch.setattr(distributed.Future, "result", result)
        given: dict[str, Any] = {"to": "parquet", "executor": f"dask+file:{made.file}"}
        with pytest.raises(EngineError, match="the scheduler has gone; what is done is kept"):
            scale.convert(sources, tmp_path / "out", **given, on_event=events.append)
    assert not [event for event in events if event["event"] == "unit_failed"]
    assert_none_failed(sources, tmp_path / "out")


class Held:
    """A future of Dask's that is done, until its result is fetched: then it is in another state, and that raises."""

    client = types.SimpleNamespace(status="running")
    status = "finished"

    def __init__(self, error: Exception, then: str) -> None:
        self.error, self.then = error, then

    def result(self) -> Any:
        self.status = self.then
        raise self.error

    def release(self) -> None:
        pass


@pytest.mark.parametrize(
    ("error", "then", "kind"),
    [
        (ConnectionError("its own"), "error", ConnectionError),
        (ValueError("cannot be read"), "finished", ValueError),
        (ConnectionError("of the scheduler"), "finished", EngineError),
        (CancelledError(), "cancelled", EngineError),
    ],
)
def test_whose_an_error_is(error: Exception, then: str, kind: type[Exception]) -> None:
    ours: Future[dict[str, Any]] = Future()
    _hand_over(Held(error, then), ours)
    assert type(ours.exception()) is kind


def test_no_worker_is_waited_for_as_long_as_was_said(sources: Path, tmp_path: Path) -> None:
    with cluster(0) as made:
        began = time.monotonic()
        words = ("--to", "parquet", "--executor", f"dask+file:{made.file}", "--worker-timeout", "1")
        done = invoke("convert", str(sources), "out", *words, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "had no worker for 1 s" in done.stderr
    assert time.monotonic() - began >= 1
