"""A file that is cut while `tare blit` reads it: an error, or what was read; the process goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.capabilities import need_linux

from tare import blit

CUT = """
import os, sys
from tare import TareError
from tare.cli.blit import _opened
path, mapped = sys.argv[1], sys.argv[2] == "mapped"
with _opened(path, mapped) as found:
    os.truncate(path, 4096)
    try:
        found.validate()
        print("valid")
    except (TareError, OSError) as error:
        print(type(error).__name__)
"""


@pytest.fixture(params=["document", "collection"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of some pages."""
    rows = [{"id": n, "name": f"name {n}", "v": [n * 1.5, str(n)]} for n in range(5000)]
    if request.param == "document":
        path = tmp_path / "big.blit"
        path.write_bytes(blit.from_json(json.dumps(rows)))
    else:
        path = tmp_path / "big.blits"
        with blit.open_collection(path, "w", chunk_size=20_000) as collection:
            for row in rows:
                collection.append(row)
    assert path.stat().st_size > 50_000
    return path


def opened_and_cut(path: Path, how: str) -> subprocess.CompletedProcess[str]:
    """Open a file, cut it, and read it."""
    return subprocess.run(
        [sys.executable, "-c", CUT, path, how],
        capture_output=True, text=True, check=False, env={"PYTHONPATH": ":".join(sys.path)}, timeout=120,
    )  # fmt: skip


def test_a_file_that_is_cut_ends_nothing(path: Path) -> None:
    """A document was read whole; of a collection, what is gone is an error."""
    done = opened_and_cut(path, "read")
    assert (done.returncode, done.stderr) == (0, "")
    assert (done.stdout == "valid\n") == (path.suffix == ".blit")


def test_a_mapping_is_asked_for(path: Path) -> None:
    """Then the system ends the process: the help says so."""
    need_linux()
    assert opened_and_cut(path, "mapped").returncode == -signal.SIGBUS
