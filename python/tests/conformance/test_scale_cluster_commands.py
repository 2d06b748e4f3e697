"""A Dask cluster named on the command line that dies and is started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.clusters import parquet_hashes
from support.soak import scaled

from tare.scale.executors.dask import Cluster

FILES = 24


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    for n in range(FILES):
        rows = ({"id": k, "text": f"t{k * n % 977}", "v": k / 7} for k in range(3000))
        (folder / f"f{n:02}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    made = Cluster(workers)
    try:
        yield made
    finally:
        made.close()


def line(sources: Path, out: Path, executor: str) -> list[str]:
    return [
        *(sys.executable, "-m", "tare", "convert", str(sources), str(out)),
        *("--to", "parquet", "--executor", executor, "--worker-timeout", "5"),
    ]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("workers", scaled([2], [1, 2, 3]))
def test_the_same_command_goes_on_after_its_scheduler_was_killed(
    sources: Path, tmp_path: Path, workers: int
) -> None:
    """No unit is blamed, nothing is lost and nothing there twice: one result and one receipt of each, as the manifest says."""
    out, where = tmp_path / "out", tmp_path / "scheduler.json"
    command = line(sources, out, f"dask+file:{where}")
    with cluster(workers) as made:
        where.symlink_to(made.file)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
            until = time.monotonic() + 120
            while sum(1 for _ in out.glob(".tare/done/*/*.json")) < 4 and time.monotonic() < until:
                time.sleep(0.01)
            os.killpg(made.scheduler.pid, signal.SIGKILL)
            _, said = running.communicate(timeout=120)
    before = parquet_hashes(out)
    assert running.returncode == 3, said
    assert "what is done is kept" in said
    assert not [word for word in ("Traceback", "distributed", " failed") if word in said], said
    assert not [*out.glob(".tare/failed/**/*.json")]
    assert 4 <= len(before) < FILES
    where.unlink()
    with cluster(workers) as made:
        where.symlink_to(made.file)
        done = run(command)
    assert done.returncode == 0, done.stderr
    after = parquet_hashes(out)
    assert len(after) == FILES
    assert {name: after[name] for name in before} == before
    assert len([*out.glob(".tare/done/*/*.json")]) == FILES
    manifest = json.loads((out / ".tare" / "manifest.json").read_text())
    assert sorted(one["name"] for one in manifest["outputs"]) == sorted(after)
    assert not list((out / ".tare" / "writing").iterdir())
