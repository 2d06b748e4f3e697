"""The index that stands beside a BGZF file, ``.gzi``: when it is written, and never without its file."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from support.capabilities import need_command

from tare import atomic, compress
from tare.errors import UsageError

PLAIN = b"".join(b"%d,JFK,%d\n" % (i, i * i) for i in range(40_000))
TARE = [sys.executable, "-c", "from tare.cli import main; main()"]


def tare(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run([*TARE, *arguments], cwd=cwd, capture_output=True, timeout=120, check=False)


def part(path: Path, offset: int, size: int) -> bytes:
    """What bgzip finds by the index."""
    command = ["bgzip", "-c", "-b", str(offset), "-s", str(size), path]
    return subprocess.run(command, capture_output=True, check=True).stdout


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A text of some members."""
    path = tmp_path / "flights.csv"
    path.write_bytes(PLAIN)
    return path


@pytest.mark.parametrize("plain", [b"x", PLAIN], ids=len)
def test_bgzip_reads_by_it(plain: bytes, tmp_path: Path) -> None:
    """Beside a path, and in the summary of a file object."""
    need_command("bgzip")
    path = tmp_path / "x.gz"
    with compress.open(path, "wb", index=True, threads=2) as out:
        out.write(plain)
    assert sorted(os.listdir(tmp_path)) == ["x.gz", "x.gz.gzi"]
    index = (tmp_path / "x.gz.gzi").read_bytes()
    assert out.summary is not None
    assert out.summary.index == index
    assert struct.unpack("<Q", index[:8])[0] == (len(index) - 8) // 16 == (len(plain) - 1) // 65_280
    for offset in (0, len(plain) // 2, len(plain) - 1):
        assert part(path, offset, 7) == plain[offset : offset + 7]
    memory = io.BytesIO()
    with compress.open(memory, "wb", "gzip", index=True) as out:
        out.write(plain)
    assert out.summary is not None
    assert (out.summary.index, memory.getvalue()) == (index, path.read_bytes())
    with compress.open(path) as packed:
        assert packed.read() == plain


def test_an_error_leaves_neither(tmp_path: Path) -> None:
    """Of the block, of the options, of the place."""
    path = tmp_path / "x.gz"
    with pytest.raises(ZeroDivisionError), compress.open(path, "wb", index=True) as out:  # noqa: PT012 - what raises is the end of the block
        out.write(PLAIN)
        raise ZeroDivisionError
    with pytest.raises(UsageError, match="inside the file"):
        compress.open(path, "wb", "zstd", index=True)
    with pytest.raises(UsageError, match="no regular file"):
        compress.open("/dev/null", "wb", "gzip", index=True)
    with pytest.raises(UsageError, match="does not belong"):
        compress.open(path, "rb", index=True)
    assert os.listdir(tmp_path) == []
    (tmp_path / "x.gz.gzi").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        compress.open(path, "xb", index=True)
    assert os.listdir(tmp_path) == ["x.gz.gzi"]
    assert (tmp_path / "x.gz.gzi").read_bytes() == b"mine"


def test_no_old_index_is_ever_beside_a_new_file(tmp_path: Path, monkeypatch) -> None:
    """Not even for a moment, or when the second name cannot be given."""
    path, beside = tmp_path / "x.gz", tmp_path / "x.gz.gzi"
    path.write_bytes(b"old")
    beside.write_bytes(b"old")
    replace = os.replace
    seen = []

    def watched(source: str, target: str) -> None:
        seen.append((path.exists(), beside.exists()))
        if target.endswith(".gzi") and len(seen) == 2:
            raise OSError(28, "planted")
        replace(source, target)

    monkeypatch.setattr(atomic.os, "replace", watched)
    out = compress.open(path, "wb", index=True)
    out.write(PLAIN)
    with pytest.raises(OSError, match="planted"):
        out.close()
    assert seen == [(True, False), (True, False)]
    assert os.listdir(tmp_path) == []


def test_the_command_writes_both(file: Path) -> None:
    """Beside the file or the name given; both or none of them are there before."""
    need_command("bgzip")
    done = tare("compress", "-c", "gzip:1", "--index", file.name, cwd=file.parent)
    assert (0, b"") == (done.returncode, done.stderr)
    assert {file.name, "flights.csv.gz", "flights.csv.gz.gzi"} == set(os.listdir(file.parent))
    assert part(file.with_name("flights.csv.gz"), 300_000, 50) == PLAIN[300_000:300_050]
    # -f is asked for either of them.
    for name in ("flights.csv.gz", "flights.csv.gz.gzi"):
        for other in ("flights.csv.gz", "flights.csv.gz.gzi"):
            file.with_name(other).unlink(missing_ok=True)
        file.with_name(name).write_bytes(b"mine")
        done = tare("compress", "-c", "gzip:1", "--index", file.name, cwd=file.parent)
        assert 2 == done.returncode
        assert f"{name} exists already".encode() in done.stderr
        assert {file.name, name} == set(os.listdir(file.parent))
        done = tare("compress", "-c", "gzip:1", "--index", "-f", file.name, cwd=file.parent)
        assert 0 == done.returncode
        assert part(file.with_name("flights.csv.gz"), 65_281, 5) == PLAIN[65_281:65_286]
    done = tare("compress", "-c", "gzip:1", "--index", "--rm", file.name, "-o", "out", cwd=file.parent)
    assert 0 == done.returncode
    assert {"flights.csv.gz", "flights.csv.gz.gzi", "out", "out.gzi"} == set(os.listdir(file.parent))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["flights.csv"], b"inside the file"),
        (["flights.csv", "-c", "lz4"], b"inside the file"),
        (["flights.csv", "-c", "xz"], b"no index"),
        (["flights.csv", "-c", "gzip", "--layout", "members"], b"no index in layout members"),
        (["flights.csv", "-c", "gzip", "--stdout"], b"beside a file"),
        (["-", "-c", "gzip"], b"beside a file"),
        (["flights.csv", "-c", "gzip", "-f", "-o", "/dev/null"], b"no regular file"),
    ],
)
def test_misuse_is_told_and_leaves_nothing(arguments: list[str], told: bytes, file: Path) -> None:
    """Exit code 2, with the reason."""
    done = tare("compress", "--index", *arguments, cwd=file.parent)
    assert 2 == done.returncode
    assert told in done.stderr
    assert [file.name] == os.listdir(file.parent)
