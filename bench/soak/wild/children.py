"""A child process that tries files: ended where it takes too long, started anew where it died."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["Child"]

_PROGRAM = Path(__file__).with_name("child.py")
_LIMIT_S = 900.0  # enough on a busy machine, so that only a hang exceeds it


class Child:
    """A process of `child.py`, started when it is asked.

    Args:
        log: The file for what libraries print.
        program: What runs.
        limit_s: Seconds after which a file takes too long.
    """

    def __init__(self, log: Path, program: Path = _PROGRAM, limit_s: float = _LIMIT_S) -> None:
        self.log = log
        self.program = program
        self.limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the answer; of a child that died or took too long, that it did."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], self.limit_s)
            line = process.stdout.readline() if ready else None
        except BrokenPipeError:
            line = b""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        why = f"no answer within {self.limit_s:.0f} s" if line is None else ""
        if line is None:
            process.kill()
        status = self._end(process)
        what = ["hang", why] if why else ["crash", f"the process ended with {status}"]
        return {
            "refused": [],
            "told": [],
            "wrong": [what],
            "judges": [],
            "reader": "",
            "seconds": 0.0,
            "peak": 0,
        }

    def close(self) -> None:
        """End the process; the next question starts another."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self._end(self._process)

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a process that ended or was killed."""
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        self._process = None
        return process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, str(self.program)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env={
                        **os.environ,
                        "POLARS_MAX_THREADS": "1",
                        "OMP_NUM_THREADS": "1",
                        "OPENBLAS_NUM_THREADS": "1",
                    },
                )
        return self._process
