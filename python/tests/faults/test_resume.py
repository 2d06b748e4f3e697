"""A run killed at any point and resumed ends where an uninterrupted one ends.

Two points are tried by default, fifty by ``make soak``, as measure's method asks before a release.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.soak import count, scaled

PLANTED = Path(__file__).parent / "planted_formats"
TARE = [sys.executable, "-c", "from tare.cli import main; main()"]
CODECS = (
    "json:orjson",
    "json:stdlib",
    "planted:nothing",
    "planted:changed",
    "planted:leave",
    "planted:refuse",
)
KILLS = scaled(2, 50)
TIME_S = 6
LATEST_S = TIME_S + 2.0  # a kill may come when the run has ended, which must do no harm either


def _run(folder: Path, *words: str, kill_after_s: float | None = None) -> None:
    """``tare measure`` in a folder of its own, to its end or until it is killed with all that it started."""
    command = [*TARE, "measure", "data.json", "--time", f"{TIME_S}s", "--out", "r.tare.json", "--quiet"]
    command += [word for codec in CODECS for word in ("--codec", codec)]
    environment = {"PYTHONPATH": str(PLANTED), "XDG_STATE_HOME": str(folder / "state"), "TMPDIR": str(folder)}
    process = subprocess.Popen(
        [*command, *words],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(timeout=kill_after_s or 120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        assert kill_after_s is not None, "the run does not end"
    else:
        assert process.returncode == 0, errors


def _ended(folder: Path) -> tuple[dict[str, str], int]:
    """The cases of the record that was saved with how each ended, and how much of another run was used.

    The sizes of growth follow the time there was, so they do not count.
    """
    record: dict[str, Any] = json.loads((folder / "r.tare.json").read_text())
    assert record["interrupted"] is False
    cases = {
        case["key"]: case["status"]
        for case in record["cases"]
        if case["stage"] in ("screen", "weigh", "memory")
    }
    return cases, (record.get("resumed") or {}).get("used", 0)


def _folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    (folder / "data.json").write_text(json.dumps([{"n": i, "t": "x" * (i % 7)} for i in range(3000)]))
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Cases and statuses of a run that nobody disturbed."""
    folder = _folder(tmp_path_factory.mktemp("resume"), "whole")
    _run(folder)
    cases, _ = _ended(folder)
    assert {"ok", "unproven", "lossy", "error", "refused"} <= set(cases.values())
    return cases


@pytest.mark.parametrize("point", range(KILLS))
def test_a_run_killed_at_a_random_point_resumes_to_the_whole(
    whole: dict[str, str], tmp_path: Path, point: int
) -> None:
    """Kill -9, then --resume: the same cases, each with the same status, and nothing left behind."""
    folder = _folder(tmp_path, "killed")
    # Equal strata, so that few points too lie early, in the middle and late.
    after_s = LATEST_S * (point + random.Random(point).random()) / KILLS
    _run(folder, kill_after_s=after_s)
    count("kills", 1)
    journal = folder / "r.tare.jsonl"
    lines = journal.read_bytes().splitlines() if journal.exists() else []
    kept = sum(b'"launch"' in line and b"codec=copy|" in line for line in lines)  # the last of each launch
    _run(folder, *(("--resume", journal.name) if journal.exists() else ()))
    cases, used = _ended(folder)
    assert whole == cases, f"killed after {after_s:.2f} s"
    assert used > 0 or not kept, f"killed after {after_s:.2f} s, nothing of {kept} whole launches was used"
    assert not journal.exists()
    assert [path.name for path in folder.glob("tare-*")] == []
