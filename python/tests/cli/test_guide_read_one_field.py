"""The guide "Read one field of a million documents" runs as it is written, with fewer documents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_runs(root: Path, tmp_path: Path) -> None:
    """In order, in one empty folder; the outputs that the text speaks of are there."""
    text = (root / "docs/guides/read-one-field.md").read_text(encoding="utf-8")
    few = text.replace("N = 1_000_000", "N = 20_000")
    assert few != text
    programs = tmp_path / "bin"
    programs.mkdir()
    tare = programs / "tare"
    tare.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from tare.cli import main; main()" "$@"\n')
    tare.chmod(0o755)
    folder = tmp_path / "work"
    folder.mkdir()
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    said = ""
    blocks = _BLOCK.findall(few)
    assert len(blocks) >= 7
    for language, code in blocks:
        command = ["sh", "-e", "-c", code] if language == "sh" else [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        said += done.stdout
    for expected in (
        "flights.blits  ok",
        "20000 ",
        "flights were more than an hour late",
        "20002 documents in 2 commits",
        "times sooner",
        "-  ok",
    ):
        assert expected in said, expected
    lines, collection = ((folder / name).stat().st_size for name in ("flights.ndjson", "flights.blits"))
    assert collection * 5 < lines
    (sooner,) = re.findall(r"(\d+) times sooner", said)
    assert int(sooner) > 20  # hundreds, where nothing else runs
