"""Units that wait for a process when the run is interrupted."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_RUN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background has it ignored
from tare.cli import main
if __name__ == "__main__":
    main(sys.argv[1:])
"""


class Sleeper:
    """What takes a second to load."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return time.sleep, (1,)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_waits_for_a_process_is_not_begun_any_more(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C, or a batch system that ends all of a job, waits for what runs, not for what the pool holds beside it."""
    (tmp_path / "in").mkdir()
    for n in range(12):
        (tmp_path / "in" / f"{n:02}.pickle").write_bytes(pickle.dumps(Sleeper()))
    script = tmp_path / "run.py"
    script.write_text(_RUN)
    command = [
        sys.executable,
        str(script),
        "convert",
        str(tmp_path / "in"),
        str(tmp_path / "out"),
        "--to",
        "parquet",
    ]
    command += ["--jobs", "2", "--allow-pickle"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    failed = tmp_path / "out" / ".tare" / "failed"  # what has slept is no table
    until = time.monotonic() + 60
    while time.monotonic() < until and not (failed.is_dir() and len(os.listdir(failed)) >= 2):
        time.sleep(0.01)
    os.killpg(process.pid, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert 2 <= len(os.listdir(failed)) <= 5  # two had failed, two ran, and one may have begun in between
    assert " not begun" in said
    assert "workers died" not in said
