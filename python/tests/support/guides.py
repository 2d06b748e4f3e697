"""Runs the code blocks of a guide as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_BLOCK = re.compile(r"^```(sh|python|r)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_guide(
    root: Path,
    name: str,
    tmp_path: Path,
    folder: Path,
    *,
    least: int,
    changes: Mapping[str, str] | None = None,
) -> str:
    """Run every block in its order in one folder, and return what they print.

    Args:
        root: The repository.
        name: The guide's file.
        tmp_path: Where its programs are put.
        folder: Where the blocks run.
        least: How many blocks there are, at least.
        changes: What to run in place of parts of the text, each of which is there.
    """
    text = (root / "docs/guides" / name).read_text(encoding="utf-8")
    for written, instead in (changes or {}).items():
        assert written in text, written
        text = text.replace(written, instead)
    programs = tmp_path / "bin"
    programs.mkdir()
    for command, call in (("tare", '-c "from tare.cli import main; main()"'), ("python", "")):
        program = programs / command
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {call} "$@"\n')
        program.chmod(0o755)
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
