"""Where a result goes: folders behind links, devices and pipes, and places where nothing can be put."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path

import pytest
from support.capabilities import need, need_posix
from support.commands import invoke, invoke_bytes

import tare
from tare import atomic

ROWS = [{"a": 1}, {"a": 2}]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    need_posix()
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n2\n")
    return path


def test_a_folder_behind_a_link_is_that_folder(source: Path, tmp_path: Path) -> None:
    """Named by itself, as the folder of a file, of many, and behind a link in its path."""
    (tmp_path / "deep" / "real").mkdir(parents=True)
    (tmp_path / "link").symlink_to("deep/real", target_is_directory=True)
    for words in (("link/one.json",), ("link", "--to", "json"), ("link/../two.json",)):
        done = invoke("convert", "x.csv", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    for path in ("deep/real/one.json", "deep/real/x.json", "deep/two.json"):
        assert json.loads((tmp_path / path).read_text()) == ROWS
    (tmp_path / "y.csv").write_text("a\n1\n2\n")
    done = invoke("convert", "x.csv", "y.csv", "link/many", "--to", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "other").mkdir()
    (tmp_path / "to_other").symlink_to("other", target_is_directory=True)
    done = invoke("convert", "x.csv", "y.csv", "to_other", "--to", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "other").glob("*.json")) == ["x.json", "y.json"]


def test_a_link_to_a_file_stays_one(source: Path, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "to.json").symlink_to("real.json")
    assert invoke("convert", "x.csv", "to.json", cwd=tmp_path).returncode == 1
    assert (tmp_path / "real.json").read_text() == "old"
    assert invoke("convert", "x.csv", "to.json", "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "to.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text()) == ROWS
    (tmp_path / "new.json").symlink_to("made.json")
    assert invoke("convert", "x.csv", "new.json", "--force", cwd=tmp_path).returncode == 0
    assert json.loads((tmp_path / "made.json").read_text()) == ROWS


def test_a_link_to_nothing_is_no_folder(source: Path, tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to("nowhere")
    done = invoke("convert", "x.csv", "gone/", "--to", "json", cwd=tmp_path)
    assert done.returncode != 0
    assert "gone/ is a link to nothing, and the result goes into a folder" in done.stderr
    assert not (tmp_path / "nowhere").exists()


def test_what_is_written_into_is_not_replaced_and_needs_no_force(source: Path, tmp_path: Path) -> None:
    """A device, and a pipe that somebody reads."""
    before = os.stat(os.devnull)
    done = invoke("convert", "x.csv", os.devnull, "--to", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert os.stat(os.devnull).st_rdev == before.st_rdev
    pipe, got = tmp_path / "pipe.json", []
    os.mkfifo(pipe)
    reading = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reading.start()
    done = invoke("convert", "x.csv", "pipe.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    reading.join()
    assert json.loads(got[0]) == ROWS
    assert atomic.is_special(pipe)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "-"])
def test_standard_output_has_several_names(name: str, source: Path, tmp_path: Path) -> None:
    done = invoke_bytes("convert", "x.csv", name, "--to", "json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)) == (0, ROWS)


def test_a_descriptor_is_written_into(source: Path, tmp_path: Path) -> None:
    """Whatever it leads to need not have a name."""
    need(os.path.isdir("/dev/fd"), "this system has no /dev/fd")
    read, write = os.pipe()
    try:
        tare.convert(source, f"/dev/fd/{write}", codec="json", overwrite=False)
        assert json.loads(os.read(read, 1 << 16)) == ROWS
    finally:
        os.close(read)
        os.close(write)


def test_a_folder_is_no_file(source: Path, tmp_path: Path) -> None:
    (tmp_path / "x.json").mkdir()
    with pytest.raises(
        IsADirectoryError, match=r"x\.json is a folder, and the result is one file: name the file"
    ):
        tare.convert(source, tmp_path / "x.json", overwrite=False)
    with pytest.raises(IsADirectoryError):
        tare.write(ROWS, tmp_path / "x.json")
    done = invoke("convert", "x.csv", ".", "--to", "json", cwd=tmp_path)
    assert done.returncode == 1
    assert "x.json is a folder" in done.stderr
    assert list((tmp_path / "x.json").iterdir()) == []


def test_a_folder_where_nothing_may_be_put_is_named_before_the_work(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result by its name, and not by that of a temporary file. The user of tests may write everywhere."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/tmp/secret")

    monkeypatch.setattr(atomic.tempfile, "TemporaryFile", refused)
    with pytest.raises(OSError, match=r"y\.json cannot be written: Permission denied") as told:
        tare.convert(source, tmp_path / "y.json")
    assert "secret" not in str(told.value)
    monkeypatch.undo()
    monkeypatch.setattr(atomic.os, "open", refused)
    with pytest.raises(PermissionError) as told:
        atomic.write_atomic(tmp_path / "z.json", b"x")
    monkeypatch.undo()
    assert told.value.filename == str(tmp_path / "z.json")
    with pytest.raises(FileNotFoundError):
        tare.convert(source, tmp_path / "none" / "y.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv"]


def test_a_missing_folder_is_told_before_the_work(source: Path, tmp_path: Path) -> None:
    said = r"^none/x\.json cannot be written: its folder does not exist\. Make it first: mkdir -p none$"
    done = invoke("convert", str(source), "none/x.json", cwd=tmp_path)
    assert (done.returncode, bool(re.match(said.replace("^", "^tare: "), done.stderr))) == (1, True), (
        done.stderr
    )
    with pytest.raises(FileNotFoundError, match="its folder does not exist"):
        tare.convert(tmp_path / "no source", tmp_path / "none" / "x.json")
    assert not (tmp_path / "none").exists()
