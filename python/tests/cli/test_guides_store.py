"""The guides of the store run as they are written."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from support.capabilities import need_command, need_module, need_r
from support.guides import run_guide


def test_cache_a_pipeline(root: Path, tmp_path: Path) -> None:
    """Each block, and what the text says that comes out."""
    need_module("pandas")
    folder = tmp_path / "work"
    folder.mkdir()
    said = run_guide(root, "cache-a-pipeline.md", tmp_path, folder, least=7)
    for expected in (
        "3 keys, 2 objects",
        "__main__.late-",
        "loading 2013\n['2013']",
        "part 3\npart/1\npart/2\npart/3\npart/4\n",
        "clean: ",
    ):
        assert expected in said, f"{expected}\n{said}"
    assert {"cache", "cache.tar", "elsewhere", "for-r"} == set(os.listdir(folder))


def test_take_over_a_storr_or_drake_cache(root: Path, tmp_path: Path, shared) -> None:
    """Each block, on a folder that storr wrote; R reads what was written."""
    need_r()
    need_module("pandas")
    need_command("du")
    folder = tmp_path / "work"
    folder.mkdir()
    with tarfile.open(shared("fixtures/storr/plain_gzip.tar")) as tar:
        tar.extractall(folder, filter="data")
    (folder / "plain_gzip").rename(folder / "old")
    said = run_guide(root, "take-over-a-storr-or-drake-cache.md", tmp_path, folder, least=10)
    for expected in (
        "storr, hashes md5",
        "['df', 'dup_of_x', 'null', 'text', 'x'] ['byval', 'models', 'objects']",
        "mangle_key false",
        "32 ['mpg', 'cyl', 'disp']",
        "pandas",
    ):
        assert expected in said, f"{expected}\n{said}"
    assert {"old", "new", "again", "fit.rds"} == set(os.listdir(folder))
