"""Forty small files to convert, clusters of real processes to do it, and what tests do to those."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tare import scale
from tare.scale.executors.dask import Cluster
from tare.scale.state import State

__all__ = [
    "FILES",
    "act_after",
    "assert_whole",
    "children",
    "cluster",
    "command_of",
    "descends_from",
    "is_running",
    "one_process",
    "parquet_hashes",
    "process_ids",
    "write_sources",
]

FILES = 40


def write_sources(folder: Path) -> Path:
    """Forty files that take a tenth of a second each, so that a kill meets work."""
    chance = random.Random(7)
    for n in range(FILES):
        rows = ({"id": k, "text": f"t{chance.random()}", "v": chance.random()} for k in range(1500))
        (folder / f"f{n:02}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def parquet_hashes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.parquet"))
    }


def one_process(sources: Path, folder: Path) -> dict[str, str]:
    """What one process makes of them."""
    report = scale.run(scale.plan_convert(str(sources), str(folder), to="parquet"), executor="inline")
    assert (report.done, report.ok) == (FILES, True)
    return parquet_hashes(folder)


@contextlib.contextmanager
def cluster(workers: int = 2, **options: Any) -> Iterator[Cluster]:
    """A cluster whose workers have all come: what is tested is not how fast this machine starts them."""
    made = Cluster(workers, **options)
    try:
        from distributed import Client

        with Client(scheduler_file=made.file, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=120)
        yield made
    finally:
        made.close()


def act_after(
    plan: scale.Plan, count: int, act: Callable[[], Any], of: Path | None = None
) -> threading.Thread:
    """Act once so many units are done, or so many results are there; a test in which that never is fails."""

    def watch() -> None:
        state = State.of(plan)
        until = time.monotonic() + 60
        while (len(parquet_hashes(of)) if of else len(state.done())) < count:
            assert time.monotonic() < until, f"not {count} of {plan.count} after a minute"
            time.sleep(0.01)
        act()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def children(pid: int) -> list[int]:
    found = []
    for name in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = name.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid:
                found.append(int(name.parent.name))
    return found


def assert_whole(plan: scale.Plan, folder: Path, expected: dict[str, str]) -> None:
    state = State.of(plan)
    assert parquet_hashes(folder) == expected
    assert len(state.done()) == FILES
    assert not list((folder / ".tare" / "writing").iterdir())
    manifest = json.loads((folder / ".tare" / "manifest.json").read_text())
    assert sorted(one["name"] for one in manifest["outputs"]) == sorted(expected)


def command_of(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def process_ids() -> set[int]:
    return {int(path.name) for path in Path("/proc").glob("[0-9]*")}


def descends_from(pid: int, wanted: int) -> bool:
    while pid > 1:
        if pid == wanted:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False


def is_running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False
