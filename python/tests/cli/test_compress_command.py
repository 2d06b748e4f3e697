"""`tare compress` and `tare decompress` as typed: files, names, exit codes, what is left behind."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.capabilities import need_command
from support.commands import invoke_bytes as run

TARE = [sys.executable, "-c", "from tare.cli import main; main()"]
TEXT = b"".join(b"%d,JFK,UA,%d\n" % (n, n % 7) for n in range(200_000))


def process(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run(
        [*TARE, *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A text of some chunks, of 2001 and with a mode of its own."""
    path = tmp_path / "flights.csv"
    path.write_bytes(TEXT)
    os.utime(path, ns=(10**18, 10**18))
    path.chmod(0o640)
    return path


@pytest.mark.parametrize(
    ("id", "ending", "tool"),
    [("zstd:3", ".zst", "zstd"), ("lz4", ".lz4", "lz4"), ("gzip:6", ".gz", "gzip"), ("xz:1", ".xz", "xz")],
)
def test_there_and_back(file: Path, id: str, ending: str, tool: str) -> None:
    """The file stays, its mode and time are kept, stock tools read it."""
    need_command(tool)
    done = run("compress", "-c", id, "--chunk", "256KiB", file.name, cwd=file.parent)
    if id == "xz:1":
        # xz has no chunks, and says so.
        assert 2 == done.returncode
        done = run("compress", "-c", id, file.name, cwd=file.parent)
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    packed = file.with_name(file.name + ending)
    status = packed.stat()
    assert (0o640, 10**18) == (status.st_mode & 0o777, status.st_mtime_ns)
    assert TEXT == file.read_bytes()
    assert TEXT == subprocess.run([tool, "-dc", packed], capture_output=True, check=True).stdout
    file.unlink()
    done = process("decompress", packed.name, cwd=file.parent)
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert TEXT == file.read_bytes()
    assert (0o640, 10**18) == (file.stat().st_mode & 0o777, file.stat().st_mtime_ns)
    assert {file.name, packed.name} == set(os.listdir(file.parent))


def test_nothing_is_replaced_or_removed_unasked(file: Path) -> None:
    """A second output needs -f, and --rm a good one."""
    packed = file.with_name("flights.csv.zst")
    packed.write_bytes(b"mine")
    done = run("compress", file.name, cwd=file.parent)
    assert 2 == done.returncode
    assert b"-f replaces it" in done.stderr
    assert b"mine" == packed.read_bytes()
    assert 0 == run("compress", "-f", "--rm", file.name, cwd=file.parent).returncode
    assert ["flights.csv.zst"] == os.listdir(file.parent)
    assert 0 == run("decompress", "--rm", packed.name, cwd=file.parent).returncode
    assert ["flights.csv"] == os.listdir(file.parent)


def test_standard_input_and_output(file: Path) -> None:
    """Pipes both ways, and a name for the result."""
    packed = run("compress", "-", "-c", "gzip:1", cwd=file.parent, stdin=TEXT)
    assert 0 == packed.returncode
    assert TEXT == gzip.decompress(packed.stdout)
    plain = run("decompress", "-", cwd=file.parent, stdin=packed.stdout)
    assert TEXT == plain.stdout
    assert 0 == run("decompress", "-", "-o", "x.csv", cwd=file.parent, stdin=packed.stdout).returncode
    assert TEXT == (file.parent / "x.csv").read_bytes()


def test_several_files_go_on_after_a_failure(file: Path) -> None:
    """The bad one is named; the others are done."""
    other = file.with_name("other.csv")
    other.write_bytes(b"a,b\n1,2\n")
    done = run("compress", file.name, "missing.csv", other.name, cwd=file.parent)
    assert 1 == done.returncode
    assert b"missing.csv" in done.stderr
    assert (file.parent / "flights.csv.zst").exists()
    assert (file.parent / "other.csv.zst").exists()


def test_a_test_says_what_is_good(file: Path) -> None:
    """One line a file; a damaged one fails with its place."""
    run("compress", "--chunk", "64KiB", file.name, cwd=file.parent)
    packed = file.with_name("flights.csv.zst")
    damaged = bytearray(packed.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.with_name("bad.zst").write_bytes(damaged)
    file.with_name("cut.zst").write_bytes(packed.read_bytes()[:5000])
    done = run("decompress", "--test", packed.name, "bad.zst", "cut.zst", cwd=file.parent)
    good, bad, cut = (line.split() for line in done.stdout.decode().splitlines())
    units = -(-len(TEXT) // (64 << 10))
    expected = [
        "flights.csv.zst",
        "ok",
        "zst",
        str(units),
        str(len(TEXT)),
        str(packed.stat().st_size),
        "proven",
    ]
    assert expected == good
    assert ["FAILED", "FAILED"] == [bad[1], cut[1]]
    assert 1 == done.returncode
    assert b"bad.zst" in done.stderr
    assert b"byte" in done.stderr
    done = run("decompress", "bad.zst", cwd=file.parent)
    assert 1 == done.returncode
    assert not (file.parent / "bad").exists()


@pytest.mark.parametrize(
    ("range_", "expected"),
    [
        ("1000000:1000100", TEXT[1_000_000:1_000_100]),
        (":10", TEXT[:10]),
        (f"{len(TEXT) - 5}:", TEXT[-5:]),
        ("1MB:1.5MB", TEXT[1_000_000:1_500_000]),
        ("1GiB:2GiB", b""),
    ],
)
def test_a_range_is_the_slice(file: Path, range_: str, expected: bytes) -> None:
    """By offset of the plain bytes."""
    run("compress", "--chunk", "64KiB", file.name, cwd=file.parent)
    done = run("decompress", "--range", range_, "flights.csv.zst", cwd=file.parent)
    assert (0, b"", expected) == (done.returncode, done.stderr, done.stdout)


def test_a_range_without_chunks_is_decoded_from_the_start(file: Path) -> None:
    """It says so."""
    file.with_name("one.gz").write_bytes(gzip.compress(TEXT))
    done = run("decompress", "--range", "100:200", "one.gz", cwd=file.parent)
    assert (0, TEXT[100:200]) == (done.returncode, done.stdout)
    assert b"decoded from its start" in done.stderr


def test_strict_refuses_an_end_that_nothing_proves(file: Path) -> None:
    """Two files behind one another could be cut: read, but not under --strict."""
    run("compress", "--layout", "single", file.name, cwd=file.parent)
    packed = file.with_name("flights.csv.zst")
    packed.write_bytes(packed.read_bytes() * 2)
    done = run("decompress", "--strict", packed.name, "-o", "both", cwd=file.parent)
    assert 1 == done.returncode
    assert not (file.parent / "both").exists()
    done = run("decompress", packed.name, "-o", "both", cwd=file.parent)
    assert 0 == done.returncode
    assert TEXT * 2 == (file.parent / "both").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["compress", "flights.csv", "-c", "zip"], b"zip"),
        (["compress", "flights.csv", "-c", "zlib"], b"never written"),
        (["compress", "flights.csv", "-c", "auto"], b"--bandwidth"),
        (["compress", "flights.csv", "--chunk", "100KiB"], b"chunk"),
        (["compress", "flights.csv", "--stdout", "-o", "x"], b"both"),
        (["decompress", "flights.csv"], b"-o OUT"),
        (["decompress", "flights.csv", "-o", "x"], b"not compressed"),
        (["decompress", "flights.csv", "--range", "5"], b"A:B"),
        (["decompress", "flights.csv", "--max-output", "lots"], b"size"),
    ],
)
def test_misuse_is_told_and_exits_with_two(file: Path, arguments: list[str], told: bytes) -> None:
    """Nothing is left behind."""
    done = run(*arguments, cwd=file.parent)
    assert 2 == done.returncode
    assert told in done.stderr
    assert ["flights.csv"] == os.listdir(file.parent)


def test_effort_and_auto_choose_a_level(file: Path) -> None:
    """Both end in an id that can be repeated."""
    file.write_bytes(TEXT[:100_000])
    for effort, id in (("0", "zstd:1"), ("100", "zstd:19")):
        assert (
            0
            == run(
                "compress", "--effort", effort, "-o", "by-effort", "-f", file.name, cwd=file.parent
            ).returncode
        )
        assert 0 == run("compress", "-c", id, "-o", "by-level", "-f", file.name, cwd=file.parent).returncode
        assert (file.parent / "by-effort").read_bytes() == (file.parent / "by-level").read_bytes()
    done = run(
        "compress", "-c", "auto", "--bandwidth", "12.5MB/s", "-o", "auto.zst", file.name, cwd=file.parent
    )
    assert 0 == done.returncode
    assert TEXT[:100_000] == run("decompress", "auto.zst", "--stdout", cwd=file.parent).stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_ended_leaves_no_output(tmp_path: Path, number: signal.Signals) -> None:
    """Neither half a file under its name nor, where it could, the temporary one."""
    os.mkfifo(tmp_path / "slow")
    process = subprocess.Popen(
        [*TARE, "compress", "slow", "-o", "out.zst"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    with open(tmp_path / "slow", "wb") as slow:
        slow.write(TEXT)  # more than the pipe holds: it reads
        slow.flush()
        process.send_signal(number)
        code = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
        assert code == process.wait(60)
    assert not (tmp_path / "out.zst").exists()
    if number != signal.SIGKILL:
        assert ["slow"] == os.listdir(tmp_path)
