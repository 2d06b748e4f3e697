"""A whole run survives whatever a codec does: each fault costs its own case, with its own words."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_end

PLANTED = Path(__file__).parent / "planted_formats"
TARE = [sys.executable, "-c", "from tare.cli import main; main()"]
# As the command does it, but that it waits 8 s for a codec that hangs, and not 30.
RUN = """
import json, sys
from tare import measure
from tare.measure.plan.plan import Plan
measure.run(sys.argv[1], plan=Plan.from_dict(json.loads(sys.argv[2])), out=sys.argv[3], deadline_s=8)
"""
# Each with the status that its case must end in, and a word of the reason that must be given.
FAULTS = {
    "nothing": ("unproven", "no data came back"),
    "lazy": ("unproven", "generator"),
    "changed": ("lossy", "changed silently"),
    "hang": ("timeout", "no answer within"),
    "leave": ("error", "exited with code 3"),
    "segfault": ("killed", "SIGSEGV"),
    "kill": ("killed", "SIGKILL (memory?)"),
    "leak": ("error", "emory"),
    "refuse": ("refused", "takes no such value"),
    "noisy": ("ok", ""),
    "slow": ("ok", ""),
}


def _environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PLANTED), os.environ.get("PYTHONPATH")))),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "TMPDIR": str(tmp_path),
    }


one_run = pytest.mark.xdist_group("one run with faults")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run over every planted fault, and what it left in its temporary folder."""
    folder = tmp_path_factory.mktemp("faulty")
    data = folder / "data.json"
    data.write_text(json.dumps([{"n": i, "t": "x" * (i % 7)} for i in range(500)]))
    block = {"dataset": ["d"], "codec": ["json:orjson", *(f"planted:{name}" for name in FAULTS)]}
    few = {"launches": 1, "rounds": 1, "deadline_s": 8}
    plan = {"plan": 1, "name": "faults", "statistics": few, "block": [block | {"medium": ["memory"]}]}
    scratch = folder / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(data), json.dumps(plan), str(folder / "r.tare.json")],
        env=_environment(scratch),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    record = json.loads((folder / "r.tare.json").read_text())
    cases = {
        case["labels"]["codec"].removeprefix("planted:"): case
        for case in record["cases"]
        if "twin" not in case["labels"] and case["stage"] in ("screen", "weigh")
    }
    return {
        "done": done,
        "record": record,
        "cases": cases,
        "left": sorted(p.name for p in scratch.glob("tare-*")),
    }


@one_run
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_costs_its_own_case(faulty: dict[str, Any], fault: str) -> None:
    """Every planted fault ends as its own status with its own words, and the run goes on."""
    status, words = FAULTS[fault]
    case = faulty["cases"][fault]
    assert status == case["status"], case["reason"]
    assert words in case["reason"]


@one_run
def test_no_two_faults_are_told_alike(faulty: dict[str, Any]) -> None:
    """Status and reason together tell which fault it was."""
    told = [
        (faulty["cases"][fault]["status"], faulty["cases"][fault]["reason"])
        for fault, (status, _) in FAULTS.items()
        if status != "ok"
    ]
    assert len(set(told)) == len(told), told


@one_run
def test_sleeping_is_told_from_working(faulty: dict[str, Any]) -> None:
    """A decode that waits has a time that is mostly not its CPU's; an honest one has not."""
    figures = faulty["record"]["derived"]["cases"]
    slow = figures[faulty["cases"]["slow"]["key"]]["ops"]["decode"]
    # Where others use the CPU all of the time nobody can tell whether a thread was waited for, or a CPU.
    assert slow["blocked_ns"] > slow["t_ns"] / 2 or slow["contended"]
    honest = figures[faulty["cases"]["json:orjson"]["key"]]["ops"]["decode"]
    assert honest["blocked_ns"] < honest["t_ns"] / 2


@one_run
def test_the_run_itself_is_well(faulty: dict[str, Any]) -> None:
    """Failed codecs are results: no exception, a verdict, nothing left behind."""
    assert faulty["done"].returncode == 0, faulty["done"].stderr
    assert "Traceback" not in faulty["done"].stderr
    assert faulty["record"]["derived"]["headline"]["codec"] is not None
    assert faulty["left"] == []


def _start(tmp_path: Path, *words: str) -> tuple[subprocess.Popen[str], Path]:
    data = tmp_path / "data.json"
    data.write_text(json.dumps([{"n": i, "t": "x" * (i % 7)} for i in range(5000)]))
    out = tmp_path / "r.tare.json"
    process = subprocess.Popen(
        [*TARE, "measure", str(data), "--out", str(out), "--progress", "json", *words],
        env=_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return process, out


def _until(process: subprocess.Popen[str], stage: str, done: int = 0) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("{"):
            event = json.loads(line)
            if event["stage"] == stage and event["done"] >= done:
                return
    raise AssertionError(f"the run ended before {stage}")


def _silent(begun: Path) -> str:
    """A worker that tells its process and nothing else, for longer than anything waits that is interrupted."""
    return f"perl=sh -c 'echo $$ > {begun}; exec sleep 600'"


def _until_written(path: Path) -> None:
    until = time.monotonic() + 60
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < until, f"no {path.name}"
        time.sleep(0.02)


def _interrupted(process: subprocess.Popen[str], out: Path) -> tuple[str, str, dict[str, Any]]:
    """Ctrl-C ends it soon, with 130, a record and the command that goes on: what it printed, what it said, the record."""
    process.send_signal(signal.SIGINT)
    # The design allows 2 s; a machine with other work gets more, a run that goes on has ten minutes left.
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    record = json.loads(out.read_text())
    assert record["interrupted"] is True
    assert "--resume" in errors
    return shown, errors, record


def test_interrupt_saves_what_is_known_and_says_how_to_resume(tmp_path: Path) -> None:
    """Ctrl-C ends soon with 130, a record with the finished cases, and the command that goes on."""
    words = ("--codec", "json:orjson", "--base", "planted:uneven", "--time", "600s", "--exchange")
    process, out = _start(tmp_path, *words)
    _until(process, "rounds", 1)
    _, errors, record = _interrupted(process, out)
    assert any(case["launches"] for case in record["cases"])
    assert "exchange not begun: interrupted" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("words", [("--codec", "json:p*"), ("--not", "json:perl-x")])
def test_interrupt_is_heeded_while_a_language_is_asked(tmp_path: Path, words: tuple[str, str]) -> None:
    """It may build its worker first: nobody waits for it, and it does not live on."""
    begun = tmp_path / "begun"
    process, out = _start(tmp_path, "--worker", _silent(begun), *words, "--time", "600s")
    _until_written(begun)
    _, errors, record = _interrupted(process, out)
    assert record["cases"] == []
    assert "Traceback" not in errors
    assert not Path(f"/proc/{begun.read_text().strip()}").exists()


def test_interrupt_is_heeded_while_a_dry_run_asks_a_language(tmp_path: Path) -> None:
    """It has no record; the worker does not live on either."""
    begun = tmp_path / "begun"
    process, out = _start(tmp_path, "--worker", _silent(begun), "--codec", "json:p*", "--dry-run")
    _until_written(begun)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, out.exists()) == (130, False)
    assert "Traceback" not in errors
    assert not Path(f"/proc/{begun.read_text().strip()}").exists()


def test_interrupt_ends_an_exchange_with_its_record_and_verdict(tmp_path: Path) -> None:
    """Ctrl-C while a codec writes: the figures are all there, and so is what was not tried."""
    need_end("json", language="r")
    process, out = _start(tmp_path, "--codec", "json:orjson", "--time", "2s", "--exchange")
    _until(process, "exchange", 1)
    shown, _, record = _interrupted(process, out)
    pairs = record["fidelity"]["exchange"]["json"]["pairs"].values()
    assert any(pair.get("reason") for readers in pairs for pair in readers.values())
    assert not Path(f"{out}l").exists()
    assert "exchange of json" in shown
    assert "not tried: interrupted" in shown


def _run(tmp_path: Path, *words: str) -> str:
    """Return what a command prints that ends well."""
    done = subprocess.run(
        [*TARE, *words], env=_environment(tmp_path), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_killed_run_leaves_a_journal_that_can_be_shown_and_resumed(tmp_path: Path) -> None:
    """After kill -9 the journal holds every finished launch; --resume uses them, after a second kill too.

    One of the codecs ends its process, which is a result and no error of the command.
    """
    codecs = ("--codec", "json:orjson", "--codec", "planted:leave", "--base", "planted:uneven")
    process, out = _start(tmp_path, *codecs, "--time", "60s")
    _until(process, "rounds", 6)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert list(tmp_path.glob("tare-run-*")), "copies of the user's data"
    journal = Path(f"{out}l")
    assert b'"launch"' in journal.read_bytes()
    assert "JSON (orjson)" in _run(tmp_path, "report", str(journal))

    # The journal that is resumed goes only when the new one of its name holds what was taken over.
    again, _ = _start(tmp_path, *codecs, "--time", "60s", "--resume", str(journal))
    _until(again, "pass")
    os.killpg(again.pid, signal.SIGKILL)
    again.communicate(timeout=60)
    weighed = [
        line for line in journal.read_bytes().splitlines() if b'"launch"' in line and b"size=1|" in line
    ]
    assert len(weighed) >= 4, "both codecs, the twin and the copying of bytes"

    more = ("--resume", str(journal), "--out", str(out), "--time", "4s", "--quiet")
    _run(tmp_path, "measure", str(tmp_path / "data.json"), *codecs, *more)
    record = json.loads(out.read_text())
    assert record["resumed"]["used"] >= 1
    assert record["derived"]["headline"]["codec"] is not None
    assert [path for path in tmp_path.iterdir() if path.name.startswith(("tare-", ".tare-"))] == []


def test_terminate_is_an_interrupt(tmp_path: Path) -> None:
    """SIGTERM, as service managers send it, saves the record like Ctrl-C does."""
    process, out = _start(tmp_path, "--codec", "json:orjson", "--base", "planted:uneven", "--time", "60s")
    _until(process, "rounds", 1)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert json.loads(out.read_text())["interrupted"] is True
