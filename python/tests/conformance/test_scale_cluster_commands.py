"""A Dask cluster named on the command line: by the address of its scheduler, and one that dies and is started again."""

from __future__ import annotations

import hashlib
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

from tare.scale.executors.dask import Cluster

FILES = 24


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    for n in range(FILES):
        rows = ({"id": k, "text": f"t{k * n % 977}", "v": k / 7} for k in range(6000))
        (folder / f"f{n:02}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@contextmanager
def cluster() -> Iterator[Cluster]:
    made = Cluster(2)
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


def tree(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.parquet"))
    }


def test_a_scheduler_is_reached_by_its_address(sources: Path, tmp_path: Path) -> None:
    with cluster() as made:
        address = json.loads(Path(made.file).read_text())["address"].replace("tcp://", "dask://")
        command = line(sources, tmp_path / "out", address)
        first, again = run(command), run(command)
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert f"{FILES} done before" in again.stderr
    assert len(tree(tmp_path / "out")) == FILES


def test_the_same_command_goes_on_after_its_scheduler_was_killed(sources: Path, tmp_path: Path) -> None:
    """Nothing is lost and nothing there twice: one result and one receipt of each, as the manifest says."""
    out, where = tmp_path / "out", tmp_path / "scheduler.json"
    command = line(sources, out, f"dask+file:{where}")
    with cluster() as made:
        where.symlink_to(made.file)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
            until = time.monotonic() + 120
            while sum(1 for _ in out.glob(".tare/done/*/*.json")) < 4 and time.monotonic() < until:
                time.sleep(0.01)
            os.killpg(made.scheduler.pid, signal.SIGKILL)
            _, said = running.communicate(timeout=120)
    before = tree(out)
    assert running.returncode == 3, said
    assert 4 <= len(before) < FILES
    where.unlink()
    with cluster() as made:
        where.symlink_to(made.file)
        done = run(command)
    assert done.returncode == 0, done.stderr
    after = tree(out)
    assert len(after) == FILES
    assert {name: after[name] for name in before} == before
    assert len([*out.glob(".tare/done/*/*.json")]) == FILES
    manifest = json.loads((out / ".tare" / "manifest.json").read_text())
    assert sorted(one["name"] for one in manifest["outputs"]) == sorted(after)
    assert not list((out / ".tare" / "writing").iterdir())
