"""Input without an end, or without ends of lines: an error in words, or a part of it, in bounded memory."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.capabilities import need_linux

# Far less than half of the free memory, which a read of all would ask for.
_LIMIT_KIB = 2_000_000
_ENDLESS = "while :; do printf '%0200000d,' 7; done"


def run(folder: Path, command: str) -> tuple[int, str, str]:
    """Runs a line of the shell in which no process may have more memory than the limit."""
    need_linux("/dev/zero")
    tare = f"'{sys.executable}' -m tare"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -d {_LIMIT_KIB}; {command.replace('TARE', tare)}"],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_a_link_to_a_device_is_refused(tmp_path: Path, name: str) -> None:
    """By every command that reads."""
    os.symlink("/dev/zero", tmp_path / name)
    for command in (
        f"TARE convert {name} o.arrow",
        f"TARE inspect {name}",
        f"TARE convert {name} o.arrow --from csv",
    ):
        code, _, err = run(tmp_path, command)
        assert (2, True) == (code, "is a device, whose bytes may have no end" in err), err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("TARE convert - o.arrow --from csv", "a line is longer than 268,435,456 bytes, at byte 0."),
        ("TARE convert - o.arrow --from ndjson", "a line is longer than 268,435,456 bytes, at byte 0."),
        ("TARE convert - o.arrow", "cannot tell what it is"),
        (
            "(echo a,b; cat) | TARE convert - o.arrow --from csv",
            "a line is longer than 268,435,456 bytes, at byte 4.",
        ),
    ],
)
def test_a_stream_without_ends_of_lines_is_refused(tmp_path: Path, command: str, said: str) -> None:
    """In words, and not with a traceback."""
    code, _, err = run(tmp_path, f"({_ENDLESS}) 2> /dev/null | {command}")
    assert (1, True) == (code, said in err), err
    assert not (tmp_path / "o.arrow").exists()


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("TARE inspect -", 1, "it gives more than 134,217,728 bytes: the rest was not read"),
        ("TARE inspect - --format csv", 1, "its first line is longer than 16,777,216 bytes"),
        ("(echo '[1'; cat) | TARE inspect - --format json", 0, "it gives more than 134,217,728 bytes"),
        ("(yes 1,2) | TARE inspect - --format csv", 0, "it gives more than 134,217,728 bytes"),
    ],
)
def test_inspect_takes_a_part_of_a_stream(tmp_path: Path, command: str, code: int, said: str) -> None:
    """And says so."""
    found, out, err = run(tmp_path, f"({_ENDLESS}) 2> /dev/null | {command}")
    assert (code, True) == (found, said in out + err), out + err


def test_a_small_compressed_file_needs_little_memory(tmp_path: Path) -> None:
    """It may stand for a large one: what is taken for that grows as it comes."""
    (tmp_path / "x.ndjson.gz").write_bytes(gzip.compress(b'{"a":1}\n'))
    code, _, err = run(tmp_path, "TARE convert x.ndjson.gz o.parquet")
    assert 0 == code, err
