"""Which commit measured an experiment: in its record, also of a run that was killed, and on its page."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.capabilities import ROOT, need_command
from support.experiment_records import modules, result_of

from tare.measure.records.record import new_record, read_record, write_record

STUDY = {"plan": "load"}
RUN = {"name": ""}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    return modules(monkeypatch)


class Runs:
    """What `tare measure` leaves, without measuring: a record, or, killed, only a journal."""

    def __init__(self, bench: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self.bench, self.path, self.commit, self.leaves = bench, path, "", {}
        monkeypatch.setattr(bench["commits"], "commit_of", lambda _: self.commit)
        monkeypatch.setattr(bench["run"].subprocess, "run", self._run)

    def __call__(self, commit: str, **leaves: Any) -> Any:
        """Measure at a commit; gives the commits of the record that is there then."""
        self.commit, self.leaves = commit, leaves
        try:
            self.bench["run"].measure(STUDY, RUN, self.path)
        except subprocess.CalledProcessError:
            assert leaves.get("killed") or leaves.get("interrupted")
        return read_record(self.path).get("commits") if self.path.exists() else None

    def _run(self, command: list[str], **_: Any) -> None:
        journal = Path(f"{self.path}l")
        if self.leaves.get("killed"):
            journal.write_text("{}\n", encoding="utf-8")
        else:
            journal.unlink(missing_ok=True)
            resumed = {"resumed": {"used": self.leaves.get("used", 3)}} if "--resume" in command else {}
            interrupted = bool(self.leaves.get("interrupted"))
            write_record(new_record() | resumed | {"interrupted": interrupted}, self.path)
        if self.leaves.get("killed") or self.leaves.get("interrupted"):
            raise subprocess.CalledProcessError(130, command)


@pytest.fixture
def runs(bench: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    return Runs(bench, monkeypatch, tmp_path / "load.tare.json")


def test_a_run_has_its_commit_and_leaves_nothing_beside_its_record(runs):
    assert runs("abc") == ["abc"]
    assert [path.name for path in runs.path.parent.iterdir()] == ["load.tare.json"]
    assert runs("def") == ["def"], "what was finished is measured anew, not gone on with"


def test_a_run_in_parts_has_the_commit_of_each(runs):
    assert runs("abc", interrupted=True) == ["abc"]
    assert runs("def", interrupted=True) == ["abc", "def"]
    assert runs("def") == ["abc", "def", "def"]


def test_a_part_of_which_nothing_was_used_is_no_part(runs):
    runs("abc", interrupted=True)
    assert runs("def", used=0) == ["def"]


def test_a_part_that_recorded_no_commit_stays_unknown(runs):
    write_record(new_record() | {"interrupted": True}, runs.path)
    assert runs("def") == [None, "def"]


def test_a_killed_run_has_its_commit_too(runs):
    """It leaves no record: what it was measured by is beside its journal."""
    assert runs("abc", killed=True) is None
    assert not runs.bench["run"].found_records({"plan": "load", "run": [RUN]}, runs.path.parent)
    assert runs("def") == ["abc", "def"]
    Path(f"{runs.path}l").write_text("{}\n", encoding="utf-8")
    assert runs("123") == [None, "123"], "a journal with nothing beside it"


def test_a_run_that_wrote_nothing_marks_no_older_record(runs):
    write_record(new_record(), runs.path)
    assert runs("abc", killed=True) is None
    assert runs.path.exists()


def test_the_commit_is_that_of_the_sources_that_run(bench, tmp_path, monkeypatch):
    """With a mark where they were changed; results that runs write are no change."""
    import tare
    from tare._tare import __commit__

    need_command("git")
    commit_of = bench["commits"].commit_of
    core = None if __commit__ == "unknown" else __commit__
    assert commit_of(tmp_path / "elsewhere") == core, "a wheel that is installed knows its own"

    def git(*words: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *who, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    package = tmp_path / "python" / "tare"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(tare, "__file__", str(package / "__init__.py"))
    assert commit_of(tmp_path) == core, "no repository of its own"
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    head = git("rev-parse", "--short", "HEAD")
    built = f", core {core}" if core else ""
    assert commit_of(tmp_path) == f"{head}{built}"
    for written in ("bench/records/load.json", "docs/experiments/load.md"):
        (tmp_path / written).parent.mkdir(parents=True)
        (tmp_path / written).write_text("x", encoding="utf-8")
    assert commit_of(tmp_path) == f"{head}{built}"
    (package / "__init__.py").write_text("# changed\n", encoding="utf-8")
    assert commit_of(tmp_path) == f"{head}+changes{built}"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"commits": ["abc"]}, "(commit abc)"),
        ({"commits": ["abc", "abc"]}, "(commit abc)"),
        ({"commits": ["abc", "def"]}, "(parts of it at different commits: abc, def)"),
        ({"commits": [None, "def"]}, "(parts of it at different commits: not recorded, def)"),
        ({"commits": [None]}, "(commit not recorded)"),
        ({}, "(commit not recorded)"),
        ({"resumed": {"before_s": 9.0}}, "(commits of its parts not recorded)"),
    ],
)
def test_a_page_says_by_which_tare(bench, more, said):
    study = {"run": [{"name": ""}], "figures": []}
    result = result_of(("json:stdlib", 100, "ok"), **more)
    facts = next(bench["method"].method(study, {"": result}, {"": Path("l")}, Path()))
    assert facts.startswith(f"[Record](l), measured 2026-11-23 by Tare 0 {said}; it took ")


def test_a_page_says_what_is_of_its_records_day():
    """*kept* and the statuses are not derived again."""
    for page in (ROOT / "docs" / "experiments").glob("*.md"):
        assert "*kept* and the statuses are" in page.read_text(encoding="utf-8"), page.name
