"""The driver's reading of replies: any line is a reply to a request, or ends the worker."""

from __future__ import annotations

from typing import Any

from tare.errors import WorkerError
from tare.measure.worker_client.client import Worker


class _Line(Worker):
    """A worker without a process: only its reading of replies."""

    def __init__(self) -> None:
        self.name = "fuzz"
        self._asked: dict[int, dict[str, Any]] = {1: {}, 2: {}}
        self._replies: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def _lose(self, type: str, message: str) -> WorkerError:
        assert type == "protocol"
        assert len(message) < 1000, "a line from outside is cut in messages"
        return WorkerError(message, worker=self.name, type=type)


def fuzz(data: bytes) -> None:
    """Read any line as a reply."""
    worker = _Line()
    for line in data.split(b"\n"):
        try:
            worker._take(line)
        except WorkerError:
            continue
    assert set(worker._asked) | set(worker._replies) == {1, 2}
