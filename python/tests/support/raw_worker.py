"""A worker without a driver."""

from __future__ import annotations

import json
import os
import select
import subprocess
from typing import Any

from support.worker_requests import DEADLINE_S

__all__ = ["Raw"]


class Raw:
    """A worker process whose lines are written and read as they are."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        self.pending = b""

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) :]

    def reply(self) -> dict[str, Any]:
        while b"\n" not in self.pending:
            assert select.select([self.process.stdout], [], [], DEADLINE_S)[0], "no reply"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, "the worker ended instead of replying"
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return json.loads(line)

    def end(self) -> int:
        self.process.stdin.close()
        code = self.process.wait(DEADLINE_S)
        assert self.pending + self.process.stdout.read() == b""
        self.process.stdout.close()
        return code

    def stop(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
