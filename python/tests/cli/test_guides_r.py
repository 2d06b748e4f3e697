"""The guides of R's files run as they are written."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.capabilities import need, need_module, need_r
from support.guides import run_guide


def test_r_and_python_on_the_same_files(root: Path, tmp_path: Path) -> None:
    """R writes, Python reads and writes, R reads: the outputs that the text speaks of are there."""
    need_r()
    need_module("pandas")
    need_module("polars")
    folder = tmp_path / "work"
    folder.mkdir()
    said = run_guide(root, "r-and-python-on-the-same-files.md", tmp_path, folder, least=9)
    for expected in (
        "timestamp[us, tz=America/New_York]",
        "dictionary<values=string, indices=int32",
        "'delay': 'Int32'",
        "['flights', 'model', 'limit']",
        "list ['lm'] ['coefficients'",
    ):
        assert expected in said, f"{expected}\n{said}"


def test_rescue_your_qs_files(root: Path, tmp_path: Path, shared) -> None:
    """Every command, on files that qs wrote."""
    need_module("pandas")
    folder = tmp_path / "work"
    (folder / "old").mkdir(parents=True)
    for name, object_ in (("mtcars", "mtcars"), ("score", "closure_global"), ("nested", "nested")):
        found = sorted(shared("fixtures/qs").glob(f"{object_}.*.qs"))
        need(found, f"no fixture of {object_} by qs")
        shutil.copyfile(found[0], folder / "old" / f"{name}.qs")
    said = run_guide(root, "rescue-your-qs-files.md", tmp_path, folder, least=7)
    for expected in (
        "qs",
        "32",
        "3 done into rescued",
        "1 done, 2 failed into tables",
        "      old/score.qs: ",
        "closure",
    ):
        assert expected in said, f"{expected}\n{said}"
    assert {"mtcars.rds", "score.rds", "nested.rds"} == {
        path.name for path in (folder / "rescued").glob("[!.]*")
    }
    assert ["mtcars.parquet"] == [path.name for path in (folder / "tables").glob("[!.]*")]
