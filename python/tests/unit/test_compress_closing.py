"""Compressed files that are closed late: after their name has gone, in a child, at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.capabilities import need_linux, need_posix

from tare import compress
from tare.errors import Malformed, Truncated, UsageError

PLAIN = b"".join(b"%d,JFK,%d\n" % (n, n % 7) for n in range(60_000))


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A file of several chunks."""
    path = tmp_path / "tmp.zst"
    with compress.open(path, "wb", chunk_size=64 << 10) as file:
        file.write(PLAIN)
    return path


@pytest.mark.parametrize("becomes", ["unlinked", "elsewhere", "replaced"])
def test_what_becomes_of_the_name_changes_nothing(packed: Path, becomes: str, monkeypatch) -> None:
    """A file is opened once: what is read, known and closed is that file."""
    monkeypatch.chdir(packed.parent)
    expected = compress.info(packed)
    file = compress.open(packed.name)
    assert PLAIN[:3] == file.read(3)
    if becomes == "elsewhere":
        os.chdir("/")
    else:
        packed.unlink()
    if becomes == "replaced":
        packed.write_bytes(compress.compress(b"others", "lz4"))
    assert file.seekable()
    file.seek(len(PLAIN) - 5)
    assert PLAIN[-5:] == file.read()
    assert expected == file.info
    file.close()
    assert expected == file.info


def run(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Code in an interpreter of its own, which shows every warning that it has."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


def test_an_unclosed_file_is_silent_at_the_end(packed: Path) -> None:
    """Nothing is printed as the interpreter ends, in whatever order things go."""
    uses = ["read(9)", "seek(5)", "pread(9, 9)", "seekable()"]
    code = "from tare import compress; " + "; ".join(
        f"f{n} = compress.open('tmp.zst'); f{n}.{use}; f{n}.itself = f{n}" for n, use in enumerate(uses)
    )
    done = run(code, packed.parent)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(("use", "end"), [("f.read(9)", "del f"), ("f.seek(5); f.read(1)", "f.close()")])
def test_a_forked_child_collects_it_in_silence(packed: Path, use: str, end: str) -> None:
    """The reader is its parent's, which goes on."""
    need_posix()
    code = f"""
import os, sys, warnings
from tare import compress
warnings.simplefilter("always")
f = compress.open("tmp.zst"); {use}
child = os.fork()
if child == 0:
    {end}
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(f.read()) > 0)
f.close()
"""
    done = run(code, packed.parent)
    assert (0, "0 True\n", "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("ending", [".zst", ".lz4", ".gz", ".bgz", ".bz2", ".xz", ".tgz"])
def test_plain_bytes_under_a_compressors_ending_are_damaged(ending: str, tmp_path: Path) -> None:
    """A bit of the head is enough to make plain bytes of a file; that is no way to read it."""
    path = tmp_path / f"head{ending}"
    kind = {".bgz": "gzip", ".tgz": "gzip"}.get(ending) or compress.sniff(b"") or ""
    kind = kind or next(known.name for known in compress.COMPRESSORS if known.extension == ending)
    stored = bytearray(compress.compress(PLAIN, kind))
    stored[0] ^= 1
    path.write_bytes(stored)
    with pytest.raises(Malformed, match=r"compressor='none'") as caught:
        compress.open(path)
    assert (kind, 0, str(path)) == (caught.value.format, caught.value.offset, caught.value.path)
    with compress.open(path, compressor="none") as file:
        assert stored == file.read()
    for head in (b"", bytes([stored[0] ^ 1])):
        path.write_bytes(head)
        with pytest.raises(Truncated):
            compress.open(path)
    path.write_bytes(compress.compress(PLAIN, "lz4"))
    with compress.open(path) as file:
        assert PLAIN == file.read()


def test_a_pipe_with_an_ending_is_told_when_it_is_read(tmp_path: Path) -> None:
    """Opening does not look at what cannot be put back."""
    path = tmp_path / "pipe.zst"
    os.mkfifo(path)
    with subprocess.Popen([sys.executable, "-c", f"open({str(path)!r}, 'wb').write(b'a,b,c')"]):
        file = compress.open(path)
        with pytest.raises(Malformed):
            file.read()
        file.close()


@pytest.mark.parametrize("name", ["threads", "chunk_size", "max_output"])
@pytest.mark.parametrize("value", [-1, 1 << 64])
def test_counts_that_cannot_be_are_usage_errors(name: str, value: int, tmp_path: Path) -> None:
    """Everywhere."""
    given: dict = {name: value}
    one = compress.decompress if name == "max_output" else compress.compress
    with pytest.raises(UsageError, match=name):
        one(b"", **given)
    with pytest.raises(UsageError, match=name):
        compress.open(tmp_path / "x.zst", "rb" if name == "max_output" else "wb", **given)


def test_auto_points_to_choose(tmp_path: Path) -> None:
    """It is the command's, not the library's."""
    for use in (
        lambda: compress.compress(b"", "auto"),
        lambda: compress.open(tmp_path / "x.zst", "wb", "auto"),
    ):
        with pytest.raises(UsageError, match="choose"):
            use()


@pytest.mark.parametrize("id", ["zstd:1", "lz4", "gzip:1", "none", "zstd:1,chunk=32MiB"])
@pytest.mark.parametrize("layout", ["single", "seekable", None])
def test_large_buffers_that_may_change_give_the_same_bytes(id: str, layout: str | None) -> None:
    """They are taken in steps, which shows nowhere."""
    plain = PLAIN * 25
    assert len(plain) > 16 << 20
    expected = []
    for data in (plain, bytearray(plain), memoryview(bytearray(plain)).toreadonly()):
        try:
            expected.append(compress.compress(data, id, layout=layout))
        except UsageError as error:
            expected.append(str(error).encode())
    assert [expected[0]] * 3 == expected


def test_large_buffers_that_may_change_are_not_there_twice() -> None:
    """Peak memory of a process that compresses 256 MiB of zeros stays below 1.5 times of them."""
    need_linux("/proc/self/status")
    code = """
from tare import compress
data = bytearray(b"x") * (256 << 20)
compress.compress(data, "zstd:1", threads=1)
# Not getrusage: its peak is inherited from the process that started this one.
print(next(int(line.split()[1]) >> 10 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    done = run(code, Path.cwd())
    assert int(done.stdout) < 384, done.stderr


def test_arrays_of_all_kinds() -> None:
    """Any contiguous order is taken; what has no bytes to give says what to do."""
    import numpy as np

    array = np.asfortranarray(np.arange(600).reshape(20, 30))
    assert array.tobytes("F") == compress.decompress(compress.compress(array))
    with pytest.raises(BufferError, match="contiguous"):
        compress.compress(array[::2, ::2])
    with pytest.raises(BufferError, match=r"view\('i8'\)"):
        compress.compress(np.array(["2026-11-22"], "M8[s]"))
    for objects in (np.array([b"a", None], object), np.zeros(9, [("a", "O"), ("b", "i4")])):
        with pytest.raises(TypeError, match="objects"):
            compress.compress(objects)
    named = np.zeros(9, [("ORIGIN", "i4"), ("b", "i8")])
    assert named.tobytes() == compress.decompress(compress.compress(named))


@pytest.mark.parametrize("type", ["u1", ">i8", "V3", [("ORIGIN", "i4"), ("b", "i8")]])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("readonly", [False, True])
def test_large_arrays_are_written_to_files(type, order: str, readonly: bool) -> None:
    """Of any items and order; those that others may change a step at a time."""
    import io

    import numpy as np

    width = np.dtype(type).itemsize
    array = np.frombuffer(PLAIN[: 500 * 1000 // width * width] * 4, type)
    array = np.array(array[: len(array) // 4 * 4].reshape(4, -1), order=order)
    array.flags.writeable = not readonly
    assert array.nbytes > 1 << 20
    stored = io.BytesIO()
    with compress.open(stored, "wb", "lz4") as file:
        assert array.nbytes == file.write(array)
    assert array.tobytes(order) == compress.decompress(stored.getvalue())
