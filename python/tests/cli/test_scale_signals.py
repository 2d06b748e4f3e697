"""Ctrl-C and SIGTERM before the first unit: while files are looked at, and while processes start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.capabilities import need_linux

_RUN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background has it ignored
from tare.cli import main
if __name__ == "__main__":
    main()
"""


def has_children(pid: int) -> bool:
    """Whether a process has started others."""
    return bool(Path(f"/proc/{pid}/task/{pid}/children").read_text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
@pytest.mark.parametrize("after_s", [0.05, 0.15, 0.3])
def test_while_it_is_planned(tmp_path: Path, number: signal.Signals, after_s: float) -> None:
    """To all of a terminal's, or a job's, processes: one line, the code of an interruption, and nothing left."""
    need_linux(f"/proc/self/task/{os.getpid()}/children")
    (tmp_path / "in").mkdir()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "run.py").write_text(_RUN)
    for n in range(3000):
        (tmp_path / "in" / f"{n}.ndjson").write_text(f'{{"a": {n}}}\n')
    line = [sys.executable, "run.py", "convert", "in", "out", "--to", "parquet", "--jobs", "2"]
    process = subprocess.Popen(
        [*line, "--identify", "content"],
        cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not has_children(process.pid):
        assert time.monotonic() < until
        time.sleep(0.005)
    time.sleep(after_s)
    os.killpg(process.pid, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "interrupted" in said
    assert not [word for word in ("Traceback", "Fatal", "leaked", "Error") if word in said], said
    assert not list((tmp_path / "tmp").glob("tare-*"))
