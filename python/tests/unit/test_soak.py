"""`make soak`: its definitions name what exists, cases are due when they should be, and records are whole."""

from __future__ import annotations

import datetime as dt
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.capabilities import ROOT, need_command

NOW = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
BENCH = ROOT / "bench"


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    module = importlib.import_module("soak")
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    return module


@pytest.fixture
def cases(soak: ModuleType) -> ModuleType:
    return importlib.import_module("soak_cases")


@pytest.fixture
def records(soak: ModuleType) -> ModuleType:
    return importlib.import_module("soak_records")


def case_of(cases: ModuleType, code: str = "", **more: Any) -> Any:
    """A case that runs Python code."""
    values = {
        "name": "kills-x", "kind": "kills", "command": (sys.executable, "-c", code), "guards": ("a.rs",),
        "every": 30, "limit_s": 60.0, "tests": 0,
    }  # fmt: skip
    return cases.Case(**values | more)


def run_of(**more: Any) -> dict[str, Any]:
    """A good run of two days ago."""
    run = {
        "at": "2026-11-29T00:00:00+00:00",
        "commit": "abc",
        "sources": "1",
        "asked_s": None,
        "verdict": "ok",
    }
    return run | more


def rust_file(program: str, test: str) -> Path:
    """The source file of a Rust test by its program and path."""
    *modules, _ = test.split("::")
    path = ROOT / "tests" / program / "/".join(modules)
    return path / "mod.rs" if path.is_dir() else path.with_suffix(".rs")


def test_every_case_names_tests_that_exist(cases: ModuleType) -> None:
    found = cases.read_cases()
    kinds = {"kills", "races", "mutations", "properties", "sizes", "wild", "fuzz"}
    assert {case.kind for case in found} == kinds
    for case in found:
        assert case.name.startswith(f"{case.kind}-") or case.name == case.kind == "wild"
        if case.command[0] == "cargo":
            program = case.command[case.command.index("--test") + 1]
            tests = case.command[case.command.index("--show-output") + 1 :]
            assert len(tests) == case.tests > 0
            for test in tests:
                text = rust_file(program, test).read_text(encoding="utf-8")
                name = test.split("::")[-1]
                assert re.search(rf"#\[test\]\s+(#\[.*\]\s+)*fn {name}\(", text), test
                assert "soak::" in text, f"{test} has one size"
        elif "pytest" in case.command:
            for place in case.command[case.command.index("-rP") + 1 :]:
                # Of a folder, the number of examples of a property, which is set for all of them.
                path = ROOT / place if place.endswith(".py") else ROOT / "python" / "tests" / "conftest.py"
                assert re.search(r"scaled\(|some_steps\(", path.read_text(encoding="utf-8")), place
        elif case.kind == "wild":
            assert (ROOT / case.command[-1]).is_file()


def test_every_child_is_started_by_its_name() -> None:
    """A test that runs itself again by name finds itself: the name of a renamed one would match no test."""
    for path in (ROOT / "tests").glob("*/*.rs"):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(rf'"{path.stem}::(\w+)"', text):
            assert f"fn {name}()" in text, f"{path.name}: {name}"


def test_every_fuzz_target_is_a_case(cases: ModuleType) -> None:
    fuzz = sorted(case.name.removeprefix("fuzz-") for case in cases.read_cases() if case.kind == "fuzz")
    assert cases.fuzz_targets() == fuzz


def test_every_crate_of_the_fuzz_targets_is_a_dependency() -> None:
    """No other build has the fuzz targets of Rust, which would not be built at all without one of them."""
    manifest = tomllib.loads((ROOT / "fuzz" / "Cargo.toml").read_text(encoding="utf-8"))
    known = {name.replace("-", "_") for name in manifest["dependencies"]} | {"std"}
    for path in [*(ROOT / "fuzz").glob("*.rs"), *(ROOT / "fuzz" / "fuzz_targets").glob("*.rs")]:
        used = set(re.findall(r"^\s*use (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
        assert used <= known, path.name


CARGO = """#!/bin/sh
echo "$RUSTC_BOOTSTRAP|$*" >> calls
[ "$1" != +nightly ] || exit 1
[ "$*" != "fuzz --version" ] || exit "$STATUS"
"""


@pytest.mark.parametrize(("status", "expected"), [(0, 0), (1, 3)])
def test_targets_are_fuzzed_without_a_nightly_compiler(tmp_path: Path, status: int, expected: int) -> None:
    """The usual compiler then takes the same options; without cargo-fuzz nothing is fuzzed, which is no success."""
    for tool in ("bash", "mkdir"):
        need_command(tool)
    cargo = tmp_path / "bin" / "cargo"
    cargo.parent.mkdir()
    cargo.write_text(CARGO, encoding="utf-8")
    cargo.chmod(0o755)
    environment = {**os.environ, "PATH": f"{cargo.parent}:{os.environ['PATH']}", "STATUS": str(status)}
    environment.pop("RUSTC_BOOTSTRAP", None)
    command = [str(ROOT / ".ci" / "run-fuzz"), sys.executable, "7", "dput"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == expected
    assert "No nightly compiler" in done.stderr
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert calls[:2] == ["|+nightly --version", "1|fuzz --version"]
    ran = [call for call in calls if call.startswith("1|fuzz run dput ") and "-max_total_time=7" in call]
    assert len(ran) == (status == 0)


def test_every_guard_is_there(cases: ModuleType) -> None:
    for case in cases.read_cases():
        assert case.guards, case.name
        for guard in case.guards:
            assert any(cases.guarded_files(guard)), f"{case.name}: {guard}"


def test_seconds_are_those_of_the_fuzz_targets(cases: ModuleType) -> None:
    short = cases.read_cases(seconds=7)
    assert {case.seconds for case in short} == {7, None}
    assert {case.seconds for case in cases.read_cases()} == {900, None}
    assert all("7" in case.command for case in short if case.kind == "fuzz")


@pytest.mark.parametrize(
    ("runs", "sources", "expected"),
    [
        ([], "1", "never run"),
        ([run_of()], "1", None),
        ([run_of()], "2", "sources changed since abc"),
        ([run_of(commit=None)], "2", "sources changed since 2026-11-29"),
        ([run_of(at="2026-10-01T00:00:00+00:00")], "1", "last run 61 days ago"),
        ([run_of(at="2026-11-02T00:00:00+00:00")], "1", None),
        ([run_of(), run_of(verdict="FAILED")], "1", "failed on 2026-11-29"),
        ([run_of(verdict="FAILED"), run_of()], "1", None),
        (
            [run_of(asked_s=900), run_of(verdict="FAILED", asked_s=900), run_of(asked_s=1)],
            "1",
            "failed on 2026-11-29",
        ),
        ([run_of(verdict="FAILED", asked_s=30), run_of(asked_s=900)], "1", None),
    ],
)
def test_a_case_is_due(
    cases: ModuleType, runs: list[dict[str, Any]], sources: str, expected: str | None
) -> None:
    """Never run, failed, changed or old: due; else not."""
    assert expected == cases.why_due(case_of(cases), runs, sources, NOW)


def test_a_short_search_leaves_a_target_due(cases: ModuleType) -> None:
    case = case_of(cases, kind="fuzz", seconds=900)
    assert cases.why_due(case, [run_of(asked_s=30)], "1", NOW) == "ran 30 s of 900 s"
    assert cases.why_due(case, [run_of(asked_s=900), run_of(asked_s=30)], "1", NOW) is None


def test_a_change_of_any_guarded_file_is_seen(cases: ModuleType, tmp_path: Path) -> None:
    """Of its bytes or its name, also when it is not committed; files of builds do not count."""
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for name in ("src/a.rs", "src/deep/b.rs", "c.rs"):
        (tmp_path / name).write_text("fn f() {}", encoding="utf-8")
    case = case_of(cases, guards=("src", "c*"))
    seen = [cases.fingerprint(case, tmp_path)]
    (tmp_path / "src" / "x.pyc").write_text("built", encoding="utf-8")
    assert seen == [cases.fingerprint(case, tmp_path)]
    (tmp_path / "src" / "deep" / "b.rs").write_text("fn g() {}", encoding="utf-8")
    seen.append(cases.fingerprint(case, tmp_path))
    (tmp_path / "c.rs").rename(tmp_path / "c2.rs")
    seen.append(cases.fingerprint(case, tmp_path))
    assert len(set(seen)) == 3


@pytest.fixture
def run(soak: ModuleType, cases: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs cases; gives the status, and the records by case."""
    monkeypatch.setattr(soak, "fingerprint", lambda _: "1")

    def run_all(*these: Any) -> tuple[int, dict[str, list[dict[str, Any]]]]:
        folder = tmp_path / "records"
        status = soak.run_all(these, dict.fromkeys((case.name for case in these), "never run"), folder)
        kept = {path.stem: json.loads(path.read_text())["runs"] for path in folder.glob("*/*.json")}
        return status, kept

    return run_all


def test_each_case_is_recorded_when_it_ends(run: Any, cases: ModuleType, capsys: Any) -> None:
    """Data on standard output, a line a case; progress on standard error."""
    good = "print('soak: kills=200'); print('soak: kills=300'); print('test result: ok. 2 passed; 0 failed')"
    bad = "import sys; print('panicked at 7'); sys.exit(3)"
    status, kept = run(case_of(cases, good, name="good", tests=2), case_of(cases, bad, name="bad"))
    assert status == 1
    assert kept["good"][0]["counts"] == {"kills": 500, "tests": 2}
    assert kept["good"][0]["verdict"] == "ok"
    assert "tail" not in kept["good"][0]
    assert kept["bad"][0]["verdict"] == "FAILED"
    assert kept["bad"][0]["problem"] == "exit status 3"
    assert kept["bad"][0]["tail"] == ["panicked at 7"]
    out, err = capsys.readouterr()
    assert [line.split(" | ")[::3] for line in out.splitlines()[1:]] == [["good", "ok"], ["bad", "FAILED"]]
    assert "1/2 good (never run)" in err


def test_runs_are_added_to_the_record(run: Any, cases: ModuleType, soak: ModuleType, tmp_path: Path) -> None:
    case = case_of(cases)
    assert run(case)[0] == 0
    _, kept = run(case)
    assert len(kept["kills-x"]) == 2
    lines = soak.schedule([case], {"kills-x": None}, tmp_path / "records")
    assert re.fullmatch(r"kills-x  \d{4}-\d\d-\d\d  ok       -", lines[1])


def test_a_record_that_cannot_be_written_leaves_the_last_one(
    run: Any, cases: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(case_of(cases))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        run(case_of(cases))
    (path,) = (tmp_path / "records").glob("*/*")
    assert len(json.loads(path.read_text())["runs"]) == 1


@pytest.mark.parametrize(
    ("output", "status", "more", "problem"),
    [
        ("test result: ok. 1 passed; 0 failed", 0, {"tests": 2}, "1 tests passed of 2"),
        ("", None, {}, "stopped after 60 s"),
        ("", 0, {"kind": "fuzz"}, "no input was tried"),
        ("error", 101, {}, "exit status 101"),
    ],
)
def test_what_tests_nothing_has_failed(
    soak: ModuleType, cases: ModuleType, output: str, status: int | None, more: dict[str, Any], problem: str
) -> None:
    outcome = soak.judge(case_of(cases, **more), status, output, 1.0)
    assert (outcome.verdict, outcome.problem) == ("FAILED", problem)


@pytest.mark.parametrize(
    "line", ["Done 1234 runs in 31 second(s)", "qs: 3 of the corpus replayed, 1234 new inputs tried"]
)
def test_inputs_are_counted(soak: ModuleType, cases: ModuleType, line: str) -> None:
    outcome = soak.judge(case_of(cases, kind="fuzz"), 0, f"#1 NEW\n{line}\n", 1.0)
    assert (outcome.verdict, soak.summary(outcome)) == ("ok", "1,234 inputs")


def test_a_missing_tool_is_named_and_not_recorded(run: Any, cases: ModuleType, capsys: Any) -> None:
    """As is a program that is not there; both are no success."""
    code = "import sys; print('needs cargo-fuzz;'); print('install with: cargo install'); sys.exit(3)"
    absent = case_of(cases, name="absent", command=("no-such-program",))
    assert run(case_of(cases, code, kind="fuzz"), absent) == (1, {})
    out = capsys.readouterr().out
    assert "needs cargo-fuzz; install with: cargo install | NOT RUN" in out
    assert "no-such-program is missing | NOT RUN" in out


def test_a_case_without_an_end_is_stopped_and_has_failed(run: Any, cases: ModuleType) -> None:
    status, kept = run(case_of(cases, "import time; time.sleep(600)", limit_s=0.5))
    assert status == 1
    assert kept["kills-x"][0]["problem"] == "stopped after 0 s"


def test_an_interrupted_case_is_not_recorded_and_its_processes_end(tmp_path: Path) -> None:
    """Ctrl-C ends what the case started, leaves no part of a file, and the cases before are recorded."""
    pid, records = tmp_path / "pid", tmp_path / "records"
    waits = (
        f"import os, pathlib, time; pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(600)"
    )
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(BENCH)!r})
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import soak, soak_cases
soak.LOGS = Path({str(tmp_path / "logs")!r})
def case(name, code):
    command = (sys.executable, "-c", code)
    return soak_cases.Case(name, "kills", command, ("bench/soak.py",), every=30, limit_s=600.0)
cases = [case("first", ""), case("second", {waits!r}), case("third", "")]
sys.exit(soak.run_all(cases, dict.fromkeys(["first", "second", "third"]), Path({str(records)!r})))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 60
    while not (pid.exists() and pid.read_text()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "the case did not start"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "second is not recorded" in err
    assert "second |" not in out
    assert [path.name for path in records.glob("*/*")] == ["first.json"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_names_are_cases_or_patterns(soak: ModuleType, capsys: Any) -> None:
    assert soak.main(["--list", "kills-*"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 3
    assert all(line.startswith("kills-") for line in lines[1:])
    assert max(map(len, lines)) <= 80
    assert soak.main(["no-such"]) == 2
    assert "invalid case 'no-such'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        soak.main(["--seconds", "0"])


def test_the_whole_schedule_fits_eighty_columns(soak: ModuleType, capsys: Any) -> None:
    assert soak.main(["--list"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
