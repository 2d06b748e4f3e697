"""The records of `make soak`: one file a case and machine, with all its runs, written whole or not at all."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["RECORDS", "commit_of", "keep", "read_runs"]

RECORDS = Path(__file__).resolve().parent / "records" / "soak"
# What runs write themselves changes nothing that they test.
_WRITTEN = ":!bench/records"
_DESCRIBED = ("cpu_model", "cores", "quota", "memory_bytes", "kernel", "virtualised", "host")


def read_runs(name: str, records: Path = RECORDS) -> list[dict[str, Any]]:
    """Return the runs of a case on all machines, the latest last."""
    runs: list[dict[str, Any]] = []
    for path in sorted(records.glob(f"*/{name}.json")):
        runs += json.loads(path.read_text(encoding="utf-8"))["runs"]
    return sorted(runs, key=lambda run: str(run["at"]))


def keep(name: str, run: Mapping[str, Any], records: Path = RECORDS) -> Path:
    """Add a run to the record of its case on this machine.

    Args:
        name: The case.
        run: What it did.
        records: The folder of the records.

    Returns:
        The record.
    """
    from run import machine_folder

    from tare.atomic import write_atomic
    from tare.measure.environment.machine import describe_machine

    machine = describe_machine(None)
    folder = records / machine_folder(machine)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    before = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    described = {key: machine[key] for key in _DESCRIBED if key in machine}
    record = {"case": name, "machine": described, "runs": [*before, run]}
    write_atomic(path, (json.dumps(record, indent=1) + "\n").encode())
    return path


def commit_of(root: Path) -> str | None:
    """Return the commit of a working tree, with ``+changes`` if it has some; None without git."""
    head = _git(root, "rev-parse", "--short", "HEAD")
    if not head:
        return None
    return f"{head}+changes" if _git(root, "status", "--porcelain", "--", ".", _WRITTEN) else head


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
