"""Files and folders on the way to a result: nothing is made before it is needed, nothing stays if it fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from conftest import need

from tare import atomic
from tare.atomic import make_folders, refuse_unwritable, remove_folders
from tare.measure.journal import Journal


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
    need(os.path.exists("/dev/full"), "there is no /dev/full")
    with pytest.raises(OSError, match="No space left") as caught, atomic.replacing("/dev/full") as file:
        file.write(bytes(size))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/dev/full")
