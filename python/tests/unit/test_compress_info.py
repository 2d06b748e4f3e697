"""`tare.compress.info`: what headers say, without decoding and without reading what lies between them."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.capabilities import need_command

from tare import compress
from tare.compress import Info
from tare.errors import Malformed, Truncated, UsageError

CHUNK = 64 << 10
PLAIN = b"".join(b"%d,station %d,%d\n" % (i, i % 37, i * i) for i in range(60_000))[: 20 * 65_280]
TARE = [sys.executable, "-c", "from tare.cli import main; main()"]


def packed(id: str, plain: bytes = PLAIN, **options) -> bytes:
    """What a file of ``id`` holds."""
    file = io.BytesIO()
    with compress.open(file, "wb", id, **options) as out:
        out.write(plain)
    return file.getvalue()


CASES = [
    ("none", {}, (None, 1, True, False, "unproven")),
    ("zstd", {"chunk_size": CHUNK}, ("seekable", 20, True, True, "proven")),
    ("zstd", {"layout": "single"}, ("single", 1, False, False, "proven")),
    ("zstd", {"layout": "single", "content_size": len(PLAIN)}, ("single", 1, True, False, "proven")),
    ("lz4", {"chunk_size": CHUNK}, ("seekable", 20, True, True, "proven")),
    ("lz4", {"chunk_size": CHUNK, "layout": "single"}, ("single", 20, False, False, "proven")),
    (
        "lz4",
        {"chunk_size": CHUNK, "layout": "single", "content_size": len(PLAIN)},
        ("single", 20, True, False, "proven"),
    ),
    ("gzip", {}, ("seekable", 20, True, False, "proven")),
    ("gzip", {"layout": "members"}, (None, None, False, False, None)),
    ("gzip", {"layout": "single"}, (None, None, False, False, None)),
    ("bz2:1", {}, (None, None, False, False, None)),
    ("xz:0", {}, (None, None, False, False, None)),
]


@pytest.mark.parametrize(("id", "options", "expected"), CASES, ids=str)
def test_what_a_file_is(id: str, options: dict, expected: tuple, tmp_path: Path) -> None:
    """Of a path, and of a file object from where it stands; None where only decoding would tell."""
    stored = packed(id, **options)
    layout, units, sized, has_index, complete = expected
    size = len(PLAIN) if sized else None
    whole = Info(id.partition(":")[0], layout, units, size, len(stored), has_index, complete)
    (tmp_path / "x").write_bytes(stored)
    assert compress.info(tmp_path / "x") == whole
    assert compress.info(os.fsencode(tmp_path / "x")) == whole
    file = io.BytesIO(b"header" + stored)
    file.seek(6)
    assert compress.info(file) == whole
    assert file.tell() == 6


def test_little_is_read_through_python() -> None:
    """Headers only: a fraction of the file, in a few calls for each chunk."""

    class Counted(io.BytesIO):
        bytes = 0

        def read(self, size=-1):
            data = super().read(size)
            self.bytes += len(data)
            return data

        read1 = read

    noise = os.urandom(16 << 20)
    for id, options in [
        ("zstd", {}),
        ("zstd", {"layout": "single", "content_size": len(noise)}),
        ("lz4", {"layout": "single", "content_size": len(noise)}),
        ("gzip:1", {}),
        ("none", {}),
    ]:
        file = Counted(packed(id, noise, **options))
        assert compress.info(file).plain_size == len(noise)
        assert file.bytes < len(noise) // 12


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    """A cut, another header, no file, no way back."""
    path = tmp_path / "x"
    stored = packed("zstd", chunk_size=CHUNK)
    path.write_bytes(stored[: len(stored) // 2])
    with pytest.raises(Truncated) as caught:
        compress.info(path)
    assert caught.value.offset == len(stored) // 2
    path.write_bytes(b"\x28\xb5\x2f\xfd\x08" + bytes(20))
    with pytest.raises(Malformed):
        compress.info(path)
    with pytest.raises(FileNotFoundError, match="missing"):
        compress.info(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        compress.info(tmp_path)
    reading, writing = os.pipe()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe, pytest.raises(UsageError, match="sought"):
        compress.info(pipe)
    with pytest.raises(UsageError, match="text"):
        compress.info(io.StringIO("a"))  # type: ignore[arg-type]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run([*TARE, *arguments], cwd=cwd, capture_output=True, timeout=120, check=False)


def cut(id: str, chunks: int) -> bytes:
    """A file of ours that ends behind a chunk."""
    plain = PLAIN[: chunks * CHUNK] if id == "zstd" else PLAIN[: chunks * 65_280]
    stored = packed(id, plain, chunk_size=CHUNK)
    if id == "zstd":
        return stored[: -(17 + 8 * chunks)]  # the seek table
    return stored[:-28]  # the marker


@pytest.mark.parametrize(("id", "chunks"), [("zstd", 1), ("zstd", 3), ("gzip", 2), ("gzip", 5)])
def test_the_command_warns_of_what_looks_cut(id: str, chunks: int, tmp_path: Path) -> None:
    """One line; it is read all the same, but not under --strict."""
    (tmp_path / "cut").write_bytes(cut(id, chunks))
    assert compress.info(tmp_path / "cut").looks_cut
    for arguments in (["-o", "out"], ["--test"]):
        done = run("decompress", "cut", *arguments, cwd=tmp_path)
        assert 0 == done.returncode
        assert b"cut: looks cut" in done.stderr
        assert 1 == done.stderr.count(b"\n")
    assert PLAIN.startswith((tmp_path / "out").read_bytes())
    done = run("decompress", "--strict", "cut", "-o", "other", cwd=tmp_path)
    assert 1 == done.returncode
    assert b"nothing proves" in done.stderr


def test_the_command_is_silent_about_what_others_put_together(tmp_path: Path) -> None:
    """Unproven, and fine: joined files, several members, foreign frames."""
    need_command("pzstd")
    files = {
        "joined.zst": packed("zstd", PLAIN[:100_001], layout="single") + packed("zstd", b"x"),
        "members.gz": packed("gzip", layout="members", chunk_size=CHUNK),
        "joined.gz": gzip.compress(PLAIN) + gzip.compress(b"x"),
        "joined.bz2": packed("bz2:1") * 2,
        "joined.lz4": packed("lz4", layout="single") * 2,
        "parallel.zst": subprocess.run(
            ["pzstd", "-qc"], input=PLAIN * 20, capture_output=True, check=True
        ).stdout,
    }
    for name, stored in files.items():
        (tmp_path / name).write_bytes(stored)
        done = run("decompress", "--test", name, cwd=tmp_path)
        assert (0, b"") == (done.returncode, done.stderr)
        assert done.stdout.split()[-1] == b"unproven"
        done = run("decompress", name, "-o", "out", "-f", cwd=tmp_path)
        assert (0, b"") == (done.returncode, done.stderr)
