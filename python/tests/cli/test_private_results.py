"""What only its owner may read stays so: results of files have no wider mode than these."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from support.commands import invoke as run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sources that only their owner may read, and one that all may."""
    umask = os.umask(0o022)
    (tmp_path / "in").mkdir()
    for name, mode in (("a.csv", 0o600), ("b.csv", 0o644), ("sub/c.csv", 0o640)):
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x,y\n1,2\n")
        path.chmod(mode)
    (tmp_path / "d.json").write_text(json.dumps([1, 2]))
    (tmp_path / "d.json").chmod(0o600)
    os.umask(umask)
    return tmp_path


def mode(path: Path) -> str:
    """Who may do what."""
    return oct(stat.S_IMODE(path.stat().st_mode))


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (("convert", "in/a.csv", "a.parquet"), "a.parquet"),
        (("convert", "in/a.csv", "a.csv.zst"), "a.csv.zst"),
        (("convert", "in/a.csv", "a.json"), "a.json"),
        (("convert", "in/a.csv", "a.rds"), "a.rds"),
        (("compress", "in/a.csv"), "in/a.csv.zst"),
        (("blit", "encode", "d.json", "-o", "d.blit"), "d.blit"),
        (("blit", "encode", "--ndjson", "d.json", "-o", "d.blits"), "d.blits"),
    ],
)
def test_one_file(words: tuple[str, ...], result: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By each command that makes a file of a file."""
    done = run(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert mode(folder / result) == "0o600"
    if result.endswith(".blit"):
        assert run("blit", "decode", result, "-o", "back.json", cwd=folder).returncode == 0
        assert mode(folder / "back.json") == "0o600"


def test_many_files(folder: Path) -> None:
    """Each result by its own source, also where one unit has several."""
    done = run("convert", "in", "out", "--to", "parquet", "--jobs", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = {path.name: mode(path) for path in (folder / "out").rglob("*.parquet")}
    assert found == {"a.parquet": "0o600", "b.parquet": "0o644", "c.parquet": "0o640"}


def test_pieces_of_several_values(folder: Path) -> None:
    """Of a partition the folder's pieces are of the file."""
    done = run("convert", "in/a.csv", "out", "--to", "parquet", "--partition", "x", "--jobs", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {mode(path) for path in (folder / "out").rglob("*.parquet") if ".tare" not in path.parts} == {
        "0o600"
    }
