"""Run the long tests: `python bench/soak.py [--list] [--due] [--seconds N] [NAME...]`.

`make soak` runs the same kills, races and mutations as `make test`, but whole, and searches with each fuzz target. The
cases are data (``bench/soak/soak.toml``). Without a name those run that are due: never run, failed, changed in their
sources since, or last run too long ago. A name may be a pattern and runs its cases in any case; with ``--due`` only
those that are due. ``--list`` shows the schedule and runs nothing.

Each case is recorded under ``bench/records/soak/MACHINE/NAME.json`` when it ends, so that a run that was interrupted
goes on with the case that it was at. What a case prints is in ``build/soak/NAME.log``.

Exits with 0 if all is well, 1 if a case failed or could not run, 2 for a wrong command line, 130 if interrupted.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from soak_cases import ROOT, Case, fingerprint, read_cases, why_due
from soak_records import RECORDS, commit_of, keep, read_runs

LOGS = ROOT / "build" / "soak"
TAIL = 40  # lines of the output of a failed case that its record keeps
MISSING = 3  # the status where a tool or public files are missing
WIDTH = 80
_PASSED = re.compile(r"^test result: ok\. (\d+) passed|^(\d+) passed", re.MULTILINE)
_COUNTED = re.compile(r"soak: (\w+)=(\d+)$", re.MULTILINE)
_SEARCHED = re.compile(r"^Done (\d+) runs in|(\d+) new inputs tried$", re.MULTILINE)


@dataclass
class Outcome:
    """The outcome of a case.

    Attributes:
        verdict: ``ok``, ``FAILED`` or ``NOT RUN``, which is not recorded.
        seconds: How long it took, with the build.
        counts: How often it did what it does, e.g. kills.
        problem: Why it failed or did not run, in a line.
        tail: The last lines of its output, if it failed.
    """

    verdict: str
    seconds: float
    counts: dict[str, int] = field(default_factory=dict)
    problem: str = ""
    tail: list[str] = field(default_factory=list)


def main(argv: list[str]) -> int:
    """Run or list the cases that are due, or those named; 1 if one failed or could not run."""
    parser = argparse.ArgumentParser(prog="bench/soak.py", description="Run the long tests that are due.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a case or a pattern, e.g. 'kills-*'")
    parser.add_argument("--list", action="store_true", help="show the schedule and run nothing")
    parser.add_argument("--due", action="store_true", help="run only those of the named cases that are due")
    parser.add_argument("--seconds", type=int, help="how long each fuzz target searches")
    arguments = parser.parse_args(argv)
    if arguments.seconds is not None and arguments.seconds < 1:
        parser.error(f"invalid --seconds {arguments.seconds}: expected at least 1")
    # A case is due by the length that the definitions ask for, whatever this run has.
    full = {case.name: case for case in read_cases()}
    cases = read_cases(seconds=arguments.seconds)
    for name in arguments.names:
        if not any(fnmatchcase(case.name, name) for case in cases):
            print(
                f"invalid case {name!r}: expected a name or a pattern of what --list shows", file=sys.stderr
            )
            return 2
    names = arguments.names or ["*"]
    cases = [case for case in cases if any(fnmatchcase(case.name, name) for name in names)]
    reasons = {case.name: reason(full[case.name]) for case in cases}
    if arguments.list:
        print("\n".join(schedule(cases, reasons)))
        return 0
    if arguments.due or not arguments.names:
        cases = [case for case in cases if reasons[case.name]]
    if not cases:
        print("nothing is due", file=sys.stderr)
        return 0
    return run_all(cases, reasons)


def reason(case: Case, records: Path = RECORDS) -> str | None:
    """Return why a case is due by its records; None if it is not."""
    return why_due(case, read_runs(case.name, records), fingerprint(case), dt.datetime.now(dt.UTC))


def schedule(cases: Sequence[Case], reasons: dict[str, str | None], records: Path = RECORDS) -> list[str]:
    """Return the lines of a table: each case, its last run and why it is due."""
    rows = [("name", "last run", "verdict", "why it is due")]
    for case in cases:
        last = (read_runs(case.name, records) or [{"at": "-", "verdict": "-"}])[-1]
        rows.append((case.name, last["at"][:10], last["verdict"], reasons[case.name] or "-"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ("  ".join([*map(str.ljust, row[:3], widths), row[3]]) for row in rows)
    return [line if len(line) <= WIDTH else line[: WIDTH - 3] + "..." for line in lines]


def run_all(cases: Sequence[Case], reasons: dict[str, str | None], records: Path = RECORDS) -> int:
    """Run cases one after the other and record each; 1 if one failed or could not run."""
    good = True
    print("name | seconds | what it did | ok/FAILED", flush=True)
    for number, case in enumerate(cases, 1):
        log = LOGS / f"{case.name}.log"
        why = reasons[case.name] or "named"
        print(
            f"{number}/{len(cases)} {case.name} ({why}), output in {os.path.relpath(log, ROOT)}",
            file=sys.stderr,
            flush=True,
        )
        sources, commit = fingerprint(case), commit_of(ROOT)
        at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        try:
            outcome = run_case(case, log)
        except KeyboardInterrupt:
            print(f"interrupted: {case.name} is not recorded and stays due", file=sys.stderr)
            return 130
        if outcome.verdict != "NOT RUN":
            run = {
                "at": at,
                "commit": commit,
                "sources": sources,
                "seconds": round(outcome.seconds, 1),
                "asked_s": case.seconds,
                "verdict": outcome.verdict,
                "counts": outcome.counts,
                "problem": outcome.problem,
                "tail": outcome.tail,
            }
            keep(case.name, {key: value for key, value in run.items() if value not in ("", [])}, records)
        print(f"{case.name} | {outcome.seconds:.0f} | {summary(outcome)} | {outcome.verdict}", flush=True)
        good = good and outcome.verdict == "ok"
    return 0 if good else 1


def summary(outcome: Outcome) -> str:
    """Return what a case did, in a line.

    >>> summary(Outcome("ok", 1.0, {"kills": 1500, "tests": 1}))
    '1,500 kills'
    """
    counts = dict(outcome.counts)
    if len(counts) > 1:
        counts.pop("tests", None)
    return outcome.problem or ", ".join(f"{count:,} {what}" for what, count in counts.items()) or "-"


def run_case(case: Case, log: Path) -> Outcome:
    """Run a case to its end; its output goes into a file.

    Raises:
        KeyboardInterrupt: It was interrupted, and all that it started has ended.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    # What needs data or tools fails without them: a skipped test would be recorded as a good one.
    environment = {**os.environ, "TARE_SOAK": "1", "TARE_REQUIRE_ALL": "1"}
    began = time.monotonic()
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                case.command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            return Outcome("NOT RUN", 0.0, problem=f"{case.command[0]} is missing")
        try:
            status = process.wait(case.limit_s)
        except subprocess.TimeoutExpired:
            stop(process)
            status = None
        except BaseException:
            stop(process)
            raise
    return judge(case, status, log.read_text(encoding="utf-8", errors="replace"), time.monotonic() - began)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and all of its group: first asked, after ten seconds killed."""
    for number, patience_s in ((signal.SIGTERM, 10.0), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)


def judge(case: Case, status: int | None, output: str, seconds: float) -> Outcome:
    """Return the outcome of a case by its exit status, None if it was stopped at its limit, and its output."""
    # A record names no folder of one machine.
    lines = output.replace(str(ROOT), ".").replace(str(Path.home()), "~").splitlines()
    if case.kind in {"fuzz", "wild"} and status == MISSING:
        return Outcome("NOT RUN", seconds, problem=" ".join(line.strip() for line in lines[-2:]))
    counts: dict[str, int] = {}
    for what, count in _COUNTED.findall(output):
        counts[what] = counts.get(what, 0) + int(count)
    if inputs := add_numbers(_SEARCHED.findall(output)):
        counts["inputs"] = inputs
    passed = add_numbers(_PASSED.findall(output))
    if passed:
        counts["tests"] = passed
    if status is None:
        problem = f"stopped after {case.limit_s:.0f} s"
    elif status:
        problem = f"exit status {status}"
    elif passed < case.tests:
        problem = f"{passed} tests passed of {case.tests}"
    elif case.kind == "fuzz" and not inputs:
        problem = "no input was tried"
    else:
        return Outcome("ok", seconds, counts)
    return Outcome("FAILED", seconds, counts, problem, lines[-TAIL:])


def add_numbers(found: Iterable[tuple[str, ...]]) -> int:
    """Return the sum of numbers, each of which one of several groups matched.

    >>> add_numbers([("2", ""), ("", "3")])
    5
    """
    return sum(int(text) for groups in found for text in groups if text)


if __name__ == "__main__":
    # Here, and not in main(): a program that calls it keeps its own handlers.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    if "--list" in sys.argv:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it in silence
    sys.exit(main(sys.argv[1:]))
