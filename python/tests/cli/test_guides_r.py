"""The guides of R's files run as they are written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import need

_BLOCK = re.compile(r"^```(sh|python|r)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_guide(root: Path, name: str, tmp_path: Path, folder: Path, *, least: int) -> str:
    """Every block in its order in one folder; what they print."""
    text = (root / "docs/guides" / name).read_text(encoding="utf-8")
    programs = tmp_path / "bin"
    programs.mkdir()
    tare = programs / "tare"
    tare.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from tare.cli import main; main()" "$@"\n')
    tare.chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    commands = {
        "sh": ["sh", "-e", "-c"],
        "python": [sys.executable, "-c"],
        "r": ["Rscript", "--vanilla", "-e"],
    }
    blocks = _BLOCK.findall(text)
    assert len(blocks) >= least
    said = ""
    for language, code in blocks:
        done = subprocess.run(
            [*commands[language], code],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        said += done.stdout + done.stderr
    return said


def test_r_and_python_on_the_same_files(root: Path, tmp_path: Path) -> None:
    """R writes, Python reads and writes, R reads: the outputs that the text speaks of are there."""
    need(shutil.which("Rscript"), "Rscript is not installed (Debian: r-base-core)")
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
        "3 converted into rescued/",
        "1 converted into tables/, 2 failed",
        "  score.qs: ",
        "closure",
    ):
        assert expected in said, f"{expected}\n{said}"
    assert {"mtcars.rds", "score.rds", "nested.rds"} == set(os.listdir(folder / "rescued"))
    assert ["mtcars.parquet"] == os.listdir(folder / "tables")
