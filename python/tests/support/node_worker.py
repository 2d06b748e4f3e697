"""Node's worker with every package of ``workers/node``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from support.capabilities import NODE_MODULES, need_node_modules
from support.worker_requests import ask, worker_command
from tare.measure.worker_client.client import Worker

__all__ = ["COMMAND", "load_table", "node_worker"]

COMMAND = (*worker_command("node"), str(NODE_MODULES))


@contextmanager
def node_worker() -> Iterator[Worker]:
    """Start one worker with every package."""
    need_node_modules()
    with Worker("node", COMMAND) as worker:
        yield worker


def load_table(worker: Worker, path: Path, table: pa.Table) -> dict[str, Any]:
    """Have the worker load a table, from an Arrow file that is written for it."""
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return ask(worker, "load", path=str(path), kind="table", **{"as": "arrow"})
