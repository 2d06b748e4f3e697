"""Whatever a program under test prints or leaves behind, a check of its bare pipes ends, and its processes with it."""

from __future__ import annotations

import os
import sys
import time

import pytest

from tare.measure.conformance import checks, raw_process
from tare.measure.conformance.context import Bench
from tare.measure.conformance.raw_process import Raw

_ENDLESS = "import sys, time\nwhile True: sys.stdout.write('x'); sys.stdout.flush(); time.sleep(0.02)"
_LONG = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
# Ends after it has started a process of its own, which holds its standard output and tells its pid there.
_LEAVES = """
import os, subprocess, sys
sys.stdin.readline()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
"""


def _bench(program, folder):
    return Bench((sys.executable, "-c", program), "json:any", folder)


@pytest.mark.parametrize("program", [_ENDLESS, "import time; time.sleep(600)"])
def test_a_line_has_one_deadline(program, tmp_path):
    with (
        Raw(_bench(program, tmp_path), deadline_s=1.0) as raw,
        pytest.raises(AssertionError, match="within 1 s"),
    ):
        raw.line()


def test_a_line_has_the_length_that_a_driver_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_process, "LINE_BYTES", 1 << 18)
    with Raw(_bench(_LONG, tmp_path)) as raw:
        with pytest.raises(AssertionError, match="without the end of a line"):
            raw.line()
        with pytest.raises(AssertionError, match="after the end of its input"):
            raw.end()


def _gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"  # ended; who took it over has not looked yet


def test_processes_that_a_program_leaves_behind_end_with_the_check(tmp_path):
    with Raw(_bench(_LEAVES, tmp_path), deadline_s=2.0) as raw:
        pid = raw.ask(b"\n")
        assert not _gone(pid)
        with pytest.raises(AssertionError, match="within 2 s"):
            raw.end()  # the pipe is held open by what was left behind
    until = time.monotonic() + 60
    while not _gone(pid):
        assert time.monotonic() < until, f"process {pid} lives on"
        time.sleep(0.01)


def test_a_check_tells_an_endless_answer_as_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_process, "LINE_BYTES", 1 << 18)
    (rubbish,) = (one for one in checks.CHECKS if one.__name__ == "_rubbish_is_an_error")
    found = checks._outcome(rubbish, _bench(_LONG, tmp_path))
    assert (found.status, "without the end of a line" in found.why) == ("failed", True)
