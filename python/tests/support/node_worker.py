"""Node's worker with every package of ``workers/node``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from asking import ask
from conftest import ROOT, need

import tare
from tare.measure.driver import Worker

__all__ = ["PACKAGES", "SCRIPT", "load_table", "need_packages", "node_worker"]

SCRIPT = Path(tare.__file__).parent / "workers" / "node" / "tare-worker-node.sh"
PACKAGES = ROOT / "workers" / "node" / "node_modules"


def need_packages() -> None:
    """Skip the test, or fail it, without Node and its packages."""
    need(shutil.which("node") is not None, "Node is not installed")
    need(PACKAGES.is_dir(), "npm ci --prefix workers/node was not run")


@contextmanager
def node_worker() -> Iterator[Worker]:
    """One worker with every package."""
    need_packages()
    with Worker("node", ("sh", str(SCRIPT), str(PACKAGES))) as worker:
        yield worker


def load_table(worker: Worker, path: Path, table: pa.Table) -> dict[str, Any]:
    """Have the worker load a table, from an Arrow file that is written for it."""
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return ask(worker, "load", path=str(path), kind="table", **{"as": "arrow"})
