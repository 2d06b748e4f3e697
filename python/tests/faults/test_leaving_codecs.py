"""Codecs that leave something behind: files that stay open, and processes that left the group of their worker."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_linux

PLANTED = Path(__file__).parent / "planted_formats"
TARE = [sys.executable, "-c", "from tare.cli import main; main()"]


def measured(folder: Path, *codecs: str, seconds: int = 8, descriptors: int = 256) -> dict[str, Any]:
    """Measure codecs that are of one library, and so share a worker; the case of each."""
    data, out = folder / "data.json", folder / "r.tare.json"
    data.write_text(json.dumps([{"n": i, "t": "x" * (i % 7)} for i in range(2000)]))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PLANTED), *sys.path))),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder),
    }
    words = [word for name in codecs for word in ("--codec", f"planted:{name}")]
    done = subprocess.run(
        [*TARE, "measure", str(data), *words, "--codec", "json:orjson", "--out", str(out), "--time", f"{seconds}s", "--quiet"],
        env=environment, capture_output=True, text=True, timeout=240, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    record = json.loads(out.read_text())
    return {
        case["labels"]["codec"].removeprefix("planted:"): case
        for case in record["cases"]
        if "twin" not in case["labels"] and case["stage"] in ("screen", "weigh")
    }


@pytest.mark.parametrize(("guilty", "descriptors"), [("files", 256), ("drip", 100)])
def test_open_files_cost_the_codec_that_left_them(guilty: str, descriptors: int, tmp_path: Path) -> None:
    """Whatever comes before or after it is measured, although all are of one library."""
    need_linux("/proc/self/fd")
    cases = measured(tmp_path, "file", guilty, "good", "slow", descriptors=descriptors)
    for name in ("file", "good", "slow", "json:orjson"):
        assert (cases[name]["status"], cases[name]["reason"]) == ("ok", ""), name
        assert cases[name]["launches"][0]["samples"], name
    assert guilty in cases


def test_no_process_outlives_its_worker(tmp_path: Path) -> None:
    """By its environment, or as a descendant of the worker."""
    need_linux("/proc/self/environ")
    cases = measured(tmp_path, "daemon", "bare", seconds=4)
    assert cases["daemon"]["status"] == "ok"
    pids = [int(line) for line in (tmp_path / "daemons").read_text().split()]
    assert len(pids) > 4
    end = time.monotonic() + 60
    while left := [pid for pid in pids if runs(pid)]:
        assert time.monotonic() < end, f"{len(left)} of {len(pids)} are left"
        time.sleep(0.05)


def runs(pid: int) -> bool:
    """Whether a process sleeps on: one that was killed may wait for its parent."""
    try:
        return b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
