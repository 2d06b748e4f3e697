"""Files and folders on the way to a result: nothing is made before it is needed, nothing stays if it fails."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from support.capabilities import need_linux, need_namespaces, need_root

from tare import atomic
from tare.atomic import make_folders, refuse_unwritable, remove_folders
from tare.measure.records.journal import Journal
from tare.messages.files import HEADER, FileReceiver


@pytest.mark.parametrize("name", ["x.json", "new/x.json", "new/er/x.json", "there.json"])
def test_asking_makes_nothing(tmp_path, name):
    """Neither the file nor its folders; a file that is there keeps its bytes."""
    (tmp_path / "there.json").write_text("old")
    refuse_unwritable(tmp_path / name)
    assert ["there.json"] == os.listdir(tmp_path)
    assert "old" == (tmp_path / "there.json").read_text()


@pytest.mark.parametrize("name", ["file/x.json", "file/x/y.json", "folder", f"{'n' * 300}/x.json"])
def test_what_cannot_be_written_is_refused(tmp_path, name):
    """A file in the way, a folder of that name: the path is named."""
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="cannot be written"):
        refuse_unwritable(tmp_path / name)
    assert ["file", "folder"] == sorted(os.listdir(tmp_path))


def test_folders_that_were_made_go_if_they_are_empty(tmp_path):
    """Those that were there stay, and so does one that holds something."""
    made = make_folders(tmp_path / "a" / "b" / "x.json")
    assert [str(tmp_path / "a" / "b"), str(tmp_path / "a")] == made
    assert [] == make_folders(tmp_path / "a" / "b" / "x.json")
    (tmp_path / "a" / "kept").write_text("")
    remove_folders(made)
    assert ["kept"] == os.listdir(tmp_path / "a")


def test_folders_that_cannot_be_made_leave_nothing(tmp_path):
    """The outer ones are removed again."""
    with pytest.raises(OSError, match="too long"):
        make_folders(tmp_path / "a" / ("n" * 300) / "x.json")
    assert [] == os.listdir(tmp_path)


def test_a_removed_journal_takes_its_folders_along(tmp_path):
    """Unless a record was saved there."""
    journal = Journal(tmp_path / "a" / "r.tare.jsonl")
    journal.head({"tare_record": 1})
    journal.remove()
    assert [] == os.listdir(tmp_path)
    journal.head({"tare_record": 1})
    Path(tmp_path / "a" / "r.tare.json").write_text("{}")
    journal.remove()
    assert ["r.tare.json"] == os.listdir(tmp_path / "a")


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_full_disk_is_told_with_the_name_of_the_file(size: int) -> None:
    """The system's error has no name: whoever reads it would not know which of the disks is full."""
    need_linux("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught, atomic.replacing("/dev/full") as file:
        file.write(bytes(size))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/dev/full")


def test_a_pipe_is_never_opened(tmp_path):
    """Opening one waits for a reader, and one that reads sees its end when it is closed."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    asking = threading.Thread(target=refuse_unwritable, args=(pipe,), daemon=True)
    asking.start()
    asking.join(60)
    stuck = asking.is_alive()
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # frees one that waits
    try:
        assert not stuck
        writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        os.write(writer, b"x")
        refuse_unwritable(pipe)
        assert os.read(reader, 9) == b"x"
        with pytest.raises(BlockingIOError):  # no end: the one writer is there still
            os.read(reader, 9)
        os.close(writer)
    finally:
        os.close(reader)
    refuse_unwritable(os.devnull)


@pytest.mark.parametrize(("folder_mode", "why"), [(0o555, "Permission denied"), (0o1777, "another user's")])
def test_what_is_there_needs_a_folder_that_takes_another_file(folder_mode, why):
    """A result is written beside it and renamed: a file that all may write is not enough."""
    need_root()
    program = (
        "import os, sys; from tare import atomic; os.seteuid(65534); atomic.refuse_unwritable(sys.argv[1])"
    )
    with tempfile.TemporaryDirectory() as folder:  # that all may pass, as they may not pytest's
        path = Path(folder, "x.json")
        path.write_text("root's")
        path.chmod(0o666)
        os.chmod(folder, folder_mode)
        done = subprocess.run(
            [sys.executable, "-c", program, path], check=False, capture_output=True, text=True
        )
        assert f"{path} cannot be written: " in done.stderr
        assert why in done.stderr
        refuse_unwritable(path)
        assert os.listdir(folder) == ["x.json"]


def test_a_file_that_is_mounted_by_itself(tmp_path):
    """As containers are given single files: no rename replaces it, whatever may be written to it."""
    need_linux()
    need_namespaces("user", "map-root-user", "mount", inside="mount --bind /etc/passwd /etc/passwd")
    (tmp_path / "out side").mkdir()
    for path in (tmp_path / "out side" / "x.json", tmp_path / "x .json"):
        path.write_text("old")
    program = "import sys; from tare.atomic import refuse_unwritable; refuse_unwritable(sys.argv[1])"
    command = f"mount --bind 'out side/x.json' 'x .json' && exec {sys.executable} -c '{program}' 'x .json'"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert "cannot be written: it is mounted by itself" in done.stderr
    refuse_unwritable(tmp_path / "x .json")


def test_files_of_other_threads_keep_their_mode(tmp_path):
    """The umask is read, and not set for a moment to do so."""
    need_linux("/proc/self/status")
    modes, done = set(), threading.Event()

    def make() -> None:
        at = 0
        while not done.is_set():
            path = tmp_path / f"{threading.get_ident()}-{at}"
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
            modes.add(stat.S_IMODE(os.stat(path).st_mode))
            os.unlink(path)
            at += 1

    before = os.umask(0o027)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=make) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        end, found = time.monotonic() + 1, set()
        while time.monotonic() < end:
            found.add(atomic._mode(str(tmp_path / "none")))
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
        os.umask(before)
    assert (found, modes) == ({0o640}, {0o640})


class Signals:
    """A trace function that raises, as a signal's handler does, before one instruction of the product's code."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _: object) -> Signals | None:
        if Path(frame.f_code.co_filename).parent.name not in ("tare", "messages"):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
        return self


def received(folder: Path) -> None:
    """Take the header of a file, and abandon it, as `tare receive` does when it is stopped."""
    receiver = FileReceiver(str(folder))
    try:
        receiver.take(HEADER + b'{"name": "x", "size": 1}')
    finally:
        receiver.abandon()


def replaced(folder: Path) -> None:
    atomic.write_atomic(folder / "x", b"whole", sync=False)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("act", [received, replaced])
def test_a_signal_at_any_instruction_leaves_no_part(tmp_path: Path, act: Callable[[Path], None]) -> None:
    """Between the making of a part and the code that cleans up, and in the middle of the cleaning up."""
    found, before = set(), sys.gettrace()
    for number in itertools.count():
        sys.settrace(Signals(number))
        try:
            act(tmp_path)
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        found |= set(os.listdir(tmp_path))
        assert found <= {"x"}, number
        assert act is received or not found or (tmp_path / "x").read_bytes() == b"whole"
    assert number > 100


def test_a_forked_child_removes_no_part_of_its_parent(tmp_path: Path) -> None:
    """Neither when it drops the object nor when its interpreter ends."""
    program = """
import os, sys
from tare.atomic import Replacement
place = Replacement(sys.argv[1])
if os.fork() == 0:
    del place
    sys.exit()
os.wait()
print(os.path.exists(place.temporary))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "x"], check=True, capture_output=True, text=True
    )
    assert (done.stdout, os.listdir(tmp_path)) == ("True\n", [])


@pytest.mark.parametrize("name", ["\U0001f600" * 63, "a" * 255, "\xe4" * 127, "x" + "\u4e2d" * 84, "."])
def test_a_name_of_any_length_can_be_written(name: str, tmp_path: Path) -> None:
    """File systems count bytes: 63 emoji are 252."""
    path = tmp_path / (name if name != "." else os.fsdecode(b"\xff" * 255))
    atomic.write_atomic(path, b"x")
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize(
    ("source", "umask", "expected"),
    [
        (0o600, 0o022, 0o600),
        (0o640, 0o022, 0o640),
        (0o644, 0o077, 0o600),
        (0o400, 0o022, 0o600),
        (0o755, 0o022, 0o644),
    ],
)
def test_a_new_file_is_open_to_no_more_than_its_source(
    source: int, umask: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The umask counts as ever, and what was there keeps its mode; a pipe says nothing of what is made of it."""
    monkeypatch.setattr(atomic, "_umask", lambda: umask)
    (tmp_path / "source").write_text("x")
    (tmp_path / "source").chmod(source)
    (tmp_path / "there").write_text("x")
    (tmp_path / "there").chmod(0o664)
    os.mkfifo(tmp_path / "pipe", 0o600)
    modes = {}
    for name, of in (("new", "source"), ("there", "source"), ("piped", "pipe"), ("alone", "none")):
        with atomic.replacing(tmp_path / name, source=str(tmp_path / of)) as file:
            file.write(b"y")
        modes[name] = stat.S_IMODE((tmp_path / name).stat().st_mode)
    open_to_all = 0o666 & ~umask
    assert modes == {"new": expected, "there": 0o664, "piped": open_to_all, "alone": open_to_all}
