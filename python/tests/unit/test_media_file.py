"""The file medium: what is written is read; what is evicted is cold, or said not to be."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.capabilities import need, need_linux

from tare.errors import UsageError
from tare.media import MEDIA, file, medium, memory

DATA = bytes(range(256)) * 4096


@pytest.fixture
def on_disk(tmp_path: Path, root: Path) -> Iterator[Path]:
    """A folder whose files can be cold: the usual one, or one beside the sources."""
    possible, reason = file.cold_possible(tmp_path)
    if possible:
        yield tmp_path
        return
    (root / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root / "build") as folder:
        possible, reason = file.cold_possible(folder)
        need(possible, reason)
        yield Path(folder)


@pytest.mark.parametrize("sync", ["none", "fsync"])
@pytest.mark.parametrize("data", [b"", b"x", DATA, bytearray(DATA), memoryview(DATA)[3:]])
def test_what_is_written_is_read(tmp_path, data, sync):
    """Any buffer, of any length, with and without fsync."""
    path = tmp_path / "x"
    assert len(data) == file.write(path, data, sync=sync)
    assert bytes(data) == file.read(path)
    assert bytes(data) == bytes(file.mapped(path))


def test_a_shorter_file_replaces_a_longer_one(tmp_path):
    """Nothing of the old file is left."""
    path = tmp_path / "x"
    file.write(path, DATA)
    file.write(path, b"short")
    assert file.read(path) == b"short"


def test_wider_buffers_count_in_bytes(tmp_path):
    """A buffer of 8-byte items is written byte by byte."""
    view = memoryview(bytes(64)).cast("Q")
    assert file.write(tmp_path / "x", view) == 64


def test_files_are_private(tmp_path):
    """Nobody else reads the user's data from where it is measured."""
    file.write(tmp_path / "x", b"secret")
    assert os.stat(tmp_path / "x").st_mode & 0o077 == 0


def test_an_unknown_sync_is_refused_before_anything_is_written(tmp_path):
    """The file is not created."""
    with pytest.raises(UsageError, match="none or fsync"):
        file.write(tmp_path / "x", b"", sync="fdatasync")
    assert not (tmp_path / "x").exists()


def test_errors_are_the_systems_own(tmp_path):
    """Missing files and folders are OSError, with the path."""
    for act in (file.read, file.mapped, file.evict, file.residency):
        with pytest.raises(FileNotFoundError):
            act(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        file.write(tmp_path / "none" / "x", b"")


def test_a_written_file_is_warm_and_an_evicted_one_cold(on_disk):
    """Residency 1 after writing, below 5 % after eviction, 1 after reading again."""
    path = on_disk / "x"
    file.write(path, DATA)
    assert file.residency(path) == 1.0
    left = file.evict(path)
    assert left is not None
    assert left < 0.05
    assert file.read(path) == DATA
    assert file.residency(path) == 1.0


def test_dirty_pages_are_evicted_too(on_disk):
    """Eviction writes them back first."""
    path = on_disk / "x"
    file.write(path, DATA, sync="none")
    assert file.evict(path) < 0.05
    assert file.read(path) == DATA


def test_mapping_reads_nothing(on_disk):
    """A mapped file stays cold until it is touched."""
    path = on_disk / "x"
    file.write(path, DATA)
    file.evict(path)
    view = file.mapped(path)
    assert file.residency(path) < 0.05
    assert view[:3] == DATA[:3]
    assert file.residency(path) > 0


def test_an_empty_file_is_cold(tmp_path):
    """It has no page."""
    file.write(tmp_path / "x", b"")
    assert file.residency(tmp_path / "x") in (0.0, None)


def test_memory_file_systems_say_that_cold_is_not_possible():
    """A tmpfs keeps its pages: the reason names it; nothing is left behind."""
    need(file.filesystem("/dev/shm") == "tmpfs" and os.access("/dev/shm", os.W_OK), "no tmpfs at /dev/shm")
    before = set(os.listdir("/dev/shm"))
    possible, reason = file.cold_possible("/dev/shm")
    assert (possible, reason.startswith("cold not possible on tmpfs")) == (False, True)
    assert set(os.listdir("/dev/shm")) - before == set()


def test_the_file_system_is_named(tmp_path):
    """/proc is proc; a directory that does not exist has none."""
    need_linux("/proc/self/mountinfo")
    assert file.filesystem("/proc") == "proc"
    assert file.filesystem(tmp_path)
    assert file.filesystem(tmp_path / "none") is None


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_memory_copies_once(kind):
    """``copy`` copies even bytes, which ``bytes()`` would not."""
    data = kind(b"abc")
    copied = memory.copy(data)
    assert copied == b"abc"
    assert copied is not data


def test_media_have_names_of_their_own():
    """Each once, each found by its name, each with a sentence."""
    names = [entry.name for entry in MEDIA]
    assert len(set(names)) == len(names)
    for entry in MEDIA:
        assert medium(entry.name) is entry
        assert entry.help.endswith(".")


@pytest.mark.parametrize("entry", MEDIA, ids=lambda entry: entry.name)
def test_each_medium_offers_what_its_ends_need(entry):
    """One end: write and read. Two ends: listen and connect."""
    module = entry.load()
    wanted = ("write", "read") if entry.ends == 1 else ("listen", "connect")
    assert [name for name in wanted if not isinstance(getattr(module, name, None), Callable)] == []


def test_an_unknown_medium_names_a_near_one():
    """So that a typing error is seen."""
    with pytest.raises(UsageError, match="did you mean tcp"):
        medium("tpc")
    with pytest.raises(UsageError, match="one end"):
        medium("file").stream()
