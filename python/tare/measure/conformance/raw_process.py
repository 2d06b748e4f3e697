"""A worker's program without a driver, for the checks of what really goes over its pipes.

Whatever the program does, a check of it ends: an answer has one deadline and the length that a driver
takes, and the processes of its group end with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tare.measure.conformance.context import DEADLINE_S, Bench, need
from tare.measure.worker_client.client import LINE_BYTES

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Raw"]

_READ_BYTES = 1 << 16


class Raw:
    """The program of a bench with bare pipes; a context manager, after which its process group is gone.

    Args:
        bench: Whose command is started.
        deadline_s: How long an answer, or the program's end, may take.

    >>> from pathlib import Path
    >>> with Raw(Bench(("echo", "[7]"), "json:any", Path())) as program:
    ...     program.line()
    [7]
    """

    def __init__(self, bench: Bench, deadline_s: float = DEADLINE_S) -> None:
        self.command = bench.command
        self.deadline_s = deadline_s
        self._read = bytearray()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            bufsize=0, start_new_session=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def say(self, data: bytes) -> None:
        """Write to its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    def line(self) -> Any:
        """The next line that it prints, as JSON.

        Raises:
            AssertionError: It ends first, prints more than a line may hold, or is not done by the deadline.
        """
        until = time.monotonic() + self.deadline_s
        while b"\n" not in self._read:
            need(len(self._read) <= LINE_BYTES, f"more than {LINE_BYTES} bytes without the end of a line")
            need(self._pump(until), "it ended instead of replying")
        line, _, rest = self._read.partition(b"\n")
        self._read = rest
        return json.loads(line)

    def ask(self, data: bytes) -> Any:
        """Write to it, and take the next line."""
        self.say(data)
        return self.line()

    def end(self) -> tuple[int, bytes]:
        """Close its input and wait: its exit code, and what it printed since the last line taken."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        until = time.monotonic() + self.deadline_s
        while self._pump(until):
            need(len(self._read) <= LINE_BYTES, f"more than {LINE_BYTES} bytes after the end of its input")
        return self._process.wait(max(0, until - time.monotonic())), bytes(self._read)

    def _pump(self, until: float) -> bool:
        """Read once; whether there was more."""
        assert self._process.stdout is not None
        left_s = until - time.monotonic()
        ready = left_s > 0 and select.select([self._process.stdout], [], [], left_s)[0]
        need(ready, f"no reply within {self.deadline_s:g} s")
        part = self._process.stdout.read(_READ_BYTES)
        self._read += part or b""
        return bool(part)
