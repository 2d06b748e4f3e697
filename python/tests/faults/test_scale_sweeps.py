"""What killed processes leave: found by its name and removed, and nothing that lives, or that somebody else put there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crashes import end_at_step

from tare import scale
from tare.scale import preflight, temporary
from tare.scale.attempts import attempt_of
from tare.scale.place import LocalPlace
from tare.scale.state import State


@pytest.fixture
def passing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of this process."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    yield process
    process.kill()
    process.wait()


def of(pid: int, what: str) -> str:
    """How a process calls a folder of the temporary ones."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "getpid", lambda: pid)
        return f"{temporary.prefix(what)}abc_1234"


def dies_at(step: int, place: LocalPlace) -> None:
    """A process ends instead of its nth change of the file system; it is writing a small file."""
    child = os.fork()
    if child == 0:
        end_at_step(step)
        place.put(".tare/done/ab/x.json", b"{}")
        os._exit(0)
    os.waitpid(child, 0)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_is_on_its_way_stays_as_long_as_its_process_lives(
    passing: Path, other: subprocess.Popen[bytes]
) -> None:
    for what in ("put", "get", "plan"):
        folder = passing / of(other.pid, what)
        folder.mkdir()
        (folder / "x").write_bytes(b"half")
        os.utime(folder / "x", (0, 0))  # a plan is as old as its run
        os.utime(folder, (0, 0))
    assert temporary.sweep_temporary() == 0
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert temporary.sweep_temporary() == 3
    assert files(passing) == []


def test_what_others_have_there_stays(passing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a dead process of this host, but in another folder, of another user, a link; or named by no attempt."""
    gone = 2**22 + 1  # beyond all numbers that there are
    names = [
        of(gone, "put").replace("tare-put", "my-tare-put"),
        of(gone, "put").replace(os.uname().nodename, "other-host"),
        "tare-put-abc", "tare-put.", "tare-plan.notes", "notes.txt",
    ]  # fmt: skip
    for name in names:
        (passing / name).mkdir()
        (passing / name / "x").write_bytes(b"")
    mine = passing / of(gone, "get")
    mine.symlink_to(passing / "notes.txt")
    (passing / of(gone, "plan")).write_bytes(b"no folder")
    assert temporary.sweep_temporary() == 0
    mine.unlink()
    mine.mkdir()
    (mine / "x").write_bytes(b"")
    with monkeypatch.context() as patched:
        patched.setattr(os, "getuid", lambda: os.stat(passing).st_uid + 1)
        assert temporary.sweep_temporary() == 0
    assert temporary.sweep_temporary() == 1
    assert len(files(passing)) == len(names) + 1


def test_a_run_and_clean_sweep_it(tmp_path: Path, passing: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    left = passing / of(2**22 + 1, "put")

    def leave() -> None:
        left.mkdir()
        (left / "0.json").write_bytes(b"whole, and never put")

    leave()
    assert scale.convert(str(tmp_path / "a.csv"), str(tmp_path / "out"), to="ndjson", executor="inline").ok
    assert not left.exists()
    leave()
    assert scale.clean(str(tmp_path / "out")) == 1
    leave()
    assert preflight.probe(State(f"file://{tmp_path}/out").settings(), "")["cannot"] == ""
    assert not left.exists()  # on the host of each worker


@pytest.mark.parametrize("step", range(5))
def test_a_death_in_the_midst_of_a_small_file_leaves_what_is_swept(tmp_path: Path, step: int) -> None:
    """Receipts, starts, the manifest: half of one has a name that tells its process."""
    place = LocalPlace(str(tmp_path))
    place.put(".tare/done/ab/x.json", b"[]")
    dies_at(step, place)
    scale.clean(str(tmp_path))
    assert files(tmp_path) == [".tare/done/ab/x.json"]
    assert place.read(".tare/done/ab/x.json") in (b"[]", b"{}")


def test_a_probe_of_a_process_that_died_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = State(f"file://{tmp_path}").settings()
    with monkeypatch.context() as patched:
        patched.setattr(LocalPlace, "remove", lambda *_: None)
        patched.setattr(os, "getpid", lambda: 2**22 + 1)
        assert preflight.probe(settings, "")["cannot"] == ""
    assert len(files(tmp_path)) == 1
    assert scale.clean(str(tmp_path)) == 1


def test_what_is_no_attempt_is_not_swept(tmp_path: Path) -> None:
    """However old it is."""
    writing = tmp_path / ".tare" / "writing"
    for name in ("notes.txt", "a.b/c"):
        (writing / name).parent.mkdir(parents=True, exist_ok=True)
        (writing / name).write_bytes(b"somebody's")
        os.utime(writing / name, (0, 0))
    os.utime(writing / "a.b", (0, 0))
    old = writing / attempt_of("a" * 64, 0).replace(os.uname().nodename, "other-host")
    old.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert scale.clean(str(tmp_path)) == 1
    assert files(writing) == ["a.b/c", "notes.txt"]


def test_a_process_that_hides_is_alive(
    tmp_path: Path, other: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where /proc shows each user his own processes alone, a destination of several users has attempts of all."""
    writing = tmp_path / ".tare" / "writing"
    with monkeypatch.context() as patched:
        patched.setattr(os, "getpid", lambda: other.pid)
        attempt = writing / attempt_of("a" * 64, 0)
    attempt.mkdir(parents=True)
    (attempt / "x").write_bytes(b"half")
    real = open

    def hidden(path: object, *more: object, **named: object) -> object:
        if path == f"/proc/{other.pid}/stat":
            raise FileNotFoundError(path)
        return real(path, *more, **named)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", hidden)
    assert scale.clean(str(tmp_path)) == 0


def test_a_folder_that_may_not_be_read_is_not_swept(monkeypatch: pytest.MonkeyPatch, passing: Path) -> None:
    """A temporary folder of mode 1733: files are made there, and nobody lists them. Root lists all, so `scandir` refuses here."""

    def refused(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("tare.scale.attempts.os.scandir", refused)
    assert temporary.sweep_temporary() == 0
