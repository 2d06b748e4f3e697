"""`tare send` and `tare receive` as processes, for their tests."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tare import cli

__all__ = ["Done", "Running", "run", "run_in_process", "started", "wait_until"]

# A shell that runs the tests in the background may have had SIGINT ignored.
_TARE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from tare.cli import main; main()"
_SECONDS = 60.0


@dataclass
class Done:
    """What a process left."""

    code: int
    out: bytes
    err: str


class Running:
    """A process that goes on."""

    def __init__(self, args: tuple[str, ...], cwd: Path, **options: Any) -> None:
        settings: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE} | options
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TARE, *args], cwd=cwd, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, **settings,
        )  # fmt: skip

    def url(self) -> str:
        """Where it says that it listens."""
        assert self.process.stderr is not None
        line = self.process.stderr.readline().decode()
        assert line.startswith("listening at "), line
        return line.removeprefix("listening at ").strip()

    def done(self) -> Done:
        """What it leaves at its end, which comes."""
        out, err = self.process.communicate(timeout=_SECONDS)
        said = err.decode()
        assert "Traceback" not in said, said
        return Done(self.process.returncode, out or b"", said)


@contextlib.contextmanager
def started(*args: str, cwd: Path, **options: Any) -> Iterator[Running]:
    """A process that is over when the block is."""
    running = Running(args, cwd, **options)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
        running.process.communicate()


def run(*args: str, cwd: Path, stdin: bytes = b"", code: int = 0, **options: Any) -> Done:
    """A process to its end, which has this code."""
    settings: dict[str, Any] = {"stdin": subprocess.PIPE} | options
    running = Running(args, cwd, **settings)
    try:
        out, err = running.process.communicate(stdin, timeout=_SECONDS)
    except BaseException:
        running.process.kill()
        raise
    done = Done(running.process.returncode, out or b"", err.decode())
    assert done.code == code, done
    assert "Traceback" not in done.err, done.err
    return done


def run_in_process(*args: str, cwd: Path, code: int = 0) -> Done:
    """The command within this process, where no standard input is needed; it has this exit code."""
    with contextlib.chdir(cwd):
        found = CliRunner().invoke(cli.tare, args)
    done = Done(found.exit_code, found.stdout_bytes, found.stderr)
    assert done.code == code, (done, found.exception)
    return done


def wait_until(condition: Any) -> None:
    """Wait for something that comes soon."""
    end = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
