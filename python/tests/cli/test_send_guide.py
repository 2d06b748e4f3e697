"""The guide of messages runs as it is written."""

from __future__ import annotations

import os
from pathlib import Path

from support.capabilities import need_command, need_openssl
from support.guides import run_guide


def test_two_programs_one_pipe(root: Path, tmp_path: Path) -> None:
    """Each block, and what the text says that comes out."""
    need_openssl()
    need_command("tar", "sed", "cmp", "seq", "base64")
    folder = tmp_path / "work"
    folder.mkdir()
    said = run_guide(root, "two-programs-one-pipe.md", tmp_path, folder, least=12)
    for expected in (
        '{"n":2,"who":"Bob"}\n',
        "inbox/numbers.txt\ninbox/people.ndjson\n",
        '{"a":1,"b":"x"}\ninbox/\n',
        "999 {'job': 1} 999",
        "two clients, three values each: [3, 3]",
        "squares: [0, 1, 4]",
        '"two"\n[3,4]\n{"a":5,"b":null}\n',
        "4 whole numbers: may have been doubles in R",
        '"who":"Eve"',
        "safe/numbers.txt",
        "all of it\n",
        "exit code 1\n",
        "the sender was killed\nand the receiver ends with 1\n",
    ):
        assert expected in said, f"{expected}\n{said}"
    assert os.listdir(folder / "other") == []
