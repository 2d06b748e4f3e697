"""Requests to a worker that several tests send, whatever its language."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tare.measure.worker_client.client import Worker
from tare.measure.worker_client.languages import _PROGRAMS

__all__ = ["DEADLINE_S", "ask", "changes", "load_document", "worker_command"]

DEADLINE_S = 60.0


def worker_command(language: str) -> tuple[str, ...]:
    """Give the program and arguments of a language's worker, Python's own too, installed or not."""
    if language == "python":
        return (sys.executable, "-c", "from tare.measure.worker.main import main; main()")
    return _PROGRAMS[language][1]


def ask(worker: Worker, op: str, **fields: Any) -> dict[str, Any]:
    """Give the reply of one request; a busy machine has a minute for it."""
    return worker.request(op, deadline_s=DEADLINE_S, **fields)


def load_document(worker: Worker, path: Path, form: str = "json") -> dict[str, Any]:
    """Have the worker load a document, from a file of JSON or of tagged ``values``."""
    return ask(worker, "load", path=str(path), kind="document", **{"as": form})


def changes(worker: Worker, codec: str) -> dict[str, str]:
    """Give the verdicts of a whole verification, by path."""
    found = ask(worker, "verify", codec=codec, full=True, limit=50)
    return {one["path"]: one["verdict"] for one in found["changes"]}
