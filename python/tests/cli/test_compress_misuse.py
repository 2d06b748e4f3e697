"""`tare compress` and `tare decompress` where files, options and signals do not fit together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.capabilities import need_command

from tare import compress

TARE = [sys.executable, "-c", "from tare.cli import main; main()"]
TEXT = b"".join(b"%d,JFK,UA,%d\n" % (n, n % 7) for n in range(50_000))


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, with text on its standard input."""
    return subprocess.run(
        [*TARE, *arguments], cwd=cwd, input=TEXT, capture_output=True, timeout=60, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A text, and a compressed file of several chunks."""
    (tmp_path / "a.csv").write_bytes(TEXT)
    with compress.open(tmp_path / "b.csv.zst", "wb", chunk_size=64 << 10) as file:
        file.write(TEXT)
    return tmp_path


@pytest.mark.parametrize(
    ("damage", "told"), [("bit", b"of no compressor"), ("empty", b"ends"), ("text", b"zstd")]
)
def test_a_damaged_head_is_no_good_file(folder: Path, damage: str, told: bytes) -> None:
    """A name with a compressor's ending and plain bytes behind it: damaged, in every use."""
    stored = bytearray((folder / "b.csv.zst").read_bytes())
    stored[0] ^= 1
    (folder / "head.zst").write_bytes({"bit": bytes(stored), "empty": b"", "text": TEXT}[damage])
    done = run("decompress", "--test", "head.zst", cwd=folder)
    assert 1 == done.returncode
    assert b"head.zst  FAILED" in done.stdout
    for arguments in (["--test"], [], ["--range", "0:5"]):
        done = run("decompress", "head.zst", *arguments, cwd=folder)
        assert 1 == done.returncode
        assert told in done.stderr
        assert b"compressor=" not in done.stderr
    assert not (folder / "head").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["decompress", "b.csv.zst", "--test", "--range", "0:5"], b"--range"),
        (["decompress", "b.csv.zst", "--test", "-o", "x"], b"-o"),
        (["decompress", "b.csv.zst", "--test", "--stdout"], b"--stdout"),
        (["decompress", "b.csv.zst", "--test", "--rm"], b"--rm"),
        (["decompress", "b.csv.zst", "--range", "0:5", "--rm"], b"--rm"),
        (["decompress", "b.csv.zst", "--range", "0:5", "-o", "a.csv"], b"-f"),
        (["decompress", "b.csv.zst", "--rm", "-o", "-"], b"--rm"),
        (["compress", "--rm", "-"], b"--rm"),
        (["compress", "--rm", "-", "-o", "x.zst"], b"--rm"),
        (["compress", "a.csv", "-o", "a.csv", "-f"], b"the input itself"),
        (["compress", "a.csv", "-o", "./a.csv", "-f"], b"the input itself"),
        (["compress", "-c", "none", "-f", "a.csv"], b"the input itself"),
        (["decompress", "b.csv.zst", "-o", "b.csv.zst", "-f"], b"the input itself"),
        (["decompress", "b.csv.zst", "--range", "0:5", "-o", "b.csv.zst", "-f"], b"the input itself"),
        (["compress", "-c", "zstd:3", "--effort", "5", "a.csv"], b"--effort"),
    ],
)
def test_misuse_changes_nothing(folder: Path, arguments: list[str], told: bytes) -> None:
    """It is told in one line, and exits with 2."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run(*arguments, cwd=folder)
    assert (2, b"") == (done.returncode, done.stdout)
    assert told in done.stderr
    assert 1 == done.stderr.count(b"\n")
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_link_to_the_input_is_the_input(folder: Path) -> None:
    """Whatever it is called."""
    (folder / "same.csv").hardlink_to(folder / "a.csv")
    done = run("compress", "a.csv", "-o", "same.csv", "-f", cwd=folder)
    assert 2 == done.returncode
    assert TEXT == (folder / "a.csv").read_bytes()


def test_a_range_goes_where_it_is_told(folder: Path) -> None:
    """Whole or not at all: the error of a damaged chunk leaves nothing."""
    done = run("decompress", "b.csv.zst", "--range", "70000:200000", "-o", "part", cwd=folder)
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert TEXT[70_000:200_000] == (folder / "part").read_bytes()
    done = run("decompress", "b.csv.zst", "--range", ":9", "-o", "-", cwd=folder)
    assert TEXT[:9] == done.stdout
    stored = bytearray((folder / "b.csv.zst").read_bytes())
    stored[len(stored) // 2] ^= 1
    (folder / "bad.zst").write_bytes(stored)
    before = sorted(os.listdir(folder))
    assert 1 == run("decompress", "bad.zst", "--range", "0:", "-o", "whole", cwd=folder).returncode
    assert before == sorted(os.listdir(folder))


@pytest.mark.parametrize("arguments", [[], ["--test"], ["--range", "0:500000"]])
def test_limits_are_spelled_as_typed(folder: Path, arguments: list[str]) -> None:
    """The option that raises a limit is the command's, not Python's."""
    need_command("zstd")
    done = run("decompress", "b.csv.zst", *arguments, "--max-output", "1000", cwd=folder)
    assert 1 == done.returncode
    assert b"--max-output" in done.stderr
    assert b"max_output" not in done.stderr
    wide = subprocess.run(
        ["zstd", "-q", "--long=30", "-c"], input=TEXT * 400, capture_output=True, check=True
    )
    (folder / "wide.zst").write_bytes(wide.stdout)
    done = run("decompress", "wide.zst", *arguments, cwd=folder)
    assert 1 == done.returncode
    assert b"--max-window" in done.stderr
    assert b"max_window" not in done.stderr


@pytest.mark.parametrize("command", [["compress"], ["decompress"], ["decompress", "--test"]])
def test_what_is_not_there_is_told_by_its_name(folder: Path, command: list[str]) -> None:
    """As other commands do, without the number that C has for it."""
    done = run(*command, "none.gz", cwd=folder)
    assert 1 == done.returncode
    assert b"tare: none.gz: no such file or directory\n" == done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_ended_by_a_signal_it_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """Neither the output nor its temporary file."""
    os.mkfifo(tmp_path / "slow")
    # A test run in the background may have the signal ignored, and so would the command.
    code = f"import signal; signal.signal({int(number)}, signal.SIG_DFL); from tare.cli import main; main()"
    command = [sys.executable, "-c", code, "compress", "slow", "-o", "out.zst"]
    process = subprocess.Popen(command, cwd=tmp_path)
    with open(tmp_path / "slow", "wb") as slow:
        slow.write(TEXT)
        slow.flush()
        until = time.monotonic() + 60
        while len(os.listdir(tmp_path)) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert 2 == len(os.listdir(tmp_path))
        process.send_signal(number)
        assert 128 + number == process.wait(60)
    assert ["slow"] == os.listdir(tmp_path)


def test_an_index_has_its_inputs_mode(folder: Path) -> None:
    """What others may not read, they may not read an index of."""
    (folder / "a.csv").chmod(0o600)
    assert 0 == run("compress", "-c", "gzip:1", "--index", "a.csv", cwd=folder).returncode
    modes = [(folder / name).stat().st_mode & 0o777 for name in ("a.csv.gz", "a.csv.gz.gzi")]
    assert [0o600, 0o600] == modes
