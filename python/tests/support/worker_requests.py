"""What tests ask a worker, in whatever language it is written."""

from __future__ import annotations

from typing import Any

from tare.measure.driver import Worker

__all__ = ["DEADLINE_S", "ask", "changes"]

DEADLINE_S = 60.0


def ask(worker: Worker, op: str, **fields: Any) -> dict[str, Any]:
    """The reply of one request; a busy machine has a minute for it."""
    return worker.request(op, deadline_s=DEADLINE_S, **fields)


def changes(worker: Worker, codec: str) -> dict[str, str]:
    """Verdicts of a whole verification, by path."""
    found = ask(worker, "verify", codec=codec, full=True, limit=50)
    return {one["path"]: one["verdict"] for one in found["changes"]}
