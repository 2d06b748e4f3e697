"""`tare.compress.open`: file objects in every mode, how they end, and who may use them."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from support.capabilities import need_linux, need_posix

from tare import compress
from tare.errors import ChecksumMismatch, Limit, Malformed, TareError, Truncated, Unsupported, UsageError

# The least level where the default takes seconds.
QUICK = {"xz": "xz:0", "bz2": "bz2:1"}
CONTAINERS = [known.name for known in compress.COMPRESSORS if known.magic]
SEEKABLE = ["zstd", "lz4", "gzip", "none"]
PLAIN = b"".join(b"%d,station %d,%d\n" % (i, i % 37, i * i) for i in range(60_000))


def packed(id: str, plain: bytes = PLAIN, **options) -> bytes:
    """What a file of ``id`` holds."""
    file = io.BytesIO()
    with compress.open(file, "wb", QUICK.get(id, id), **options) as out:
        out.write(plain)
    return file.getvalue()


@pytest.mark.parametrize("id", ["none", *CONTAINERS])
def test_what_is_written_is_read(id: str, tmp_path) -> None:
    """In one piece, in lines, in small pieces, and by the one-shot reader."""
    path = tmp_path / "data"
    with compress.open(path, "wb", QUICK.get(id, id), threads=2) as out:
        assert out.writable()
        assert not out.readable()
        assert out.write(PLAIN[:100]) == 100
        out.writelines([PLAIN[100:200], PLAIN[200:100_000]])
        out.write(bytearray(PLAIN[100_000:300_000]))
        out.write(memoryview(PLAIN)[300_000:])
        assert out.tell() == len(PLAIN)
        assert out.mode == "wb"
        assert out.name == str(path)
    assert out.closed
    assert out.summary is not None
    assert out.summary.bytes_in == len(PLAIN)
    assert out.summary.bytes_out == path.stat().st_size
    assert compress.decompress(path.read_bytes(), id) == PLAIN
    with compress.open(path, compressor=id) as file:
        assert file.readable()
        assert (file.mode, file.name) == ("rb", str(path))
        assert file.readline() == PLAIN[: PLAIN.index(b"\n") + 1]
        assert file.peek(1)[:1] == PLAIN[file.tell() : file.tell() + 1]
        file.read1(7)
        place = bytearray(50_000)
        at = file.tell()
        assert file.readinto(place) == 50_000
        assert place == PLAIN[at : at + 50_000]
        assert file.read() == PLAIN[at + 50_000 :]
        assert file.read() == b""
        assert file.info.plain_size == len(PLAIN)
    assert file.summary is not None
    assert file.summary.bytes_out == len(PLAIN)
    with compress.open(path) as file:
        assert list(file) == PLAIN.splitlines(keepends=True)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("id", ["zstd:1", "lz4", "gzip:1"])
def test_bytes_do_not_depend_on_threads_or_on_the_size_of_writes(id: str, threads: int) -> None:
    """The same plain bytes and options give the same stored ones."""
    file = io.BytesIO()
    with compress.open(file, "wb", id, chunk_size=64 << 10, threads=threads) as out:
        for at in range(0, len(PLAIN), 997 * threads):
            out.write(PLAIN[at : at + 997 * threads])
    assert file.getvalue() == packed(id, chunk_size=64 << 10)


@pytest.mark.parametrize("id", CONTAINERS)
def test_text(id: str, tmp_path) -> None:
    """Text modes encode, translate line ends and close what is below."""
    path = tmp_path / "data"
    with compress.open(path, "wt", id, encoding="utf-16", newline="\r\n") as out:
        out.write("gr\u00fcn\nblau\n")
        assert out.mode == "wt"
    assert out.summary.bytes_in == len("gr\u00fcn\r\nblau\r\n".encode("utf-16"))
    with compress.open(path, "rt", encoding="utf-16") as file:
        assert list(file) == ["gr\u00fcn\n", "blau\n"]
    if id not in ("bz2", "xz"):
        # The flush that closing text brings is no boundary: one small frame, as in binary mode.
        with compress.open(path, "wt", id) as out:
            out.write("plain")
        assert path.read_bytes() == packed(id, b"plain")


def test_the_ending_of_the_name_chooses_the_compressor(tmp_path) -> None:
    """zstd:3 for names without a known one; reading goes by the bytes alone."""
    for name, container in [("a.zst", "zstd"), ("a.LZ4", "lz4"), ("a.gz", "gzip"), ("a.bgz", "gzip"),
                            ("a.xz", "xz"), ("a.bz2", "bz2"), ("a", "zstd")]:  # fmt: skip
        with compress.open(tmp_path / name, "wb") as out:
            out.write(b"plain")
        os.rename(tmp_path / name, tmp_path / "other.txt")
        with compress.open(tmp_path / "other.txt") as file:
            assert file.read() == b"plain"
            assert file.info.container == container


def test_a_compressor_that_is_named_must_agree() -> None:
    """What is of another one is malformed; of none, it is given as it is only if nothing is named."""
    with pytest.raises(Malformed), compress.open(io.BytesIO(packed("gzip")), compressor="zstd") as file:
        file.read()
    with compress.open(io.BytesIO(b"plain text")) as file:
        assert file.read() == b"plain text"


@pytest.mark.parametrize(
    ("mode", "options", "text"),
    [
        ("ab", {}, "second file"),
        ("r", {}, "no mode"),
        ("rb", {"layout": "single"}, "layout does not belong"),
        ("wb", {"strict": True}, "strict does not belong"),
        ("wb", {"encoding": "utf-8"}, "text modes"),
        ("wb", {"compressor": "zip"}, "no compressor"),
        ("wb", {"layout": "members"}, "has no layout members"),
        ("wb", {"layout": "x"}, "no layout"),
        ("wb", {"chunk_size": 1000}, "power of two"),
        ("wb", {"threads": 0}, "threads"),
    ],
)
def test_wrong_arguments_are_told_before_anything_is_made(mode, options, text, tmp_path) -> None:
    """An option of the other direction is refused, and no file appears."""
    with pytest.raises(UsageError, match=text):
        compress.open(tmp_path / "x.zst", mode, **options)
    assert os.listdir(tmp_path) == []


def test_exclusive_creation(tmp_path) -> None:
    """Mode x refuses what is there, at the start and at the end."""
    path = tmp_path / "x.zst"
    with compress.open(path, "xb") as out:
        out.write(b"first")
    with pytest.raises(FileExistsError):
        compress.open(path, "xb")
    path.unlink()
    out = compress.open(path, "xt")
    path.write_bytes(b"someone else's")
    with pytest.raises(FileExistsError):
        out.close()
    assert os.listdir(tmp_path) == ["x.zst"]
    assert path.read_bytes() == b"someone else's"


def test_an_exception_leaves_nothing(tmp_path) -> None:
    """What was at the path stays as it was, in binary and in text."""
    path = tmp_path / "x.zst"
    path.write_bytes(b"before")
    for mode, data in (("wb", PLAIN), ("wt", PLAIN.decode())):
        with pytest.raises(KeyError), compress.open(path, mode) as out:  # noqa: PT012 - what raises is the end of the block
            out.write(data)
            raise KeyError
        assert out.closed
        assert out.summary is None
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["x.zst"]


@pytest.mark.parametrize("mode", ["wb", "wt"])
def test_collected_unclosed_is_a_warning_and_leaves_nothing(mode: str, tmp_path) -> None:
    """Nobody said that the file was complete."""
    out = compress.open(tmp_path / "x.zst", mode)
    out.write(PLAIN if mode == "wb" else PLAIN.decode())
    with pytest.warns(ResourceWarning, match="unclosed"):  # noqa: PT031 - what raises is the end of the block
        del out
        gc.collect()
    assert os.listdir(tmp_path) == []


def test_reading_unclosed_is_a_warning(tmp_path) -> None:
    """As for any file that was opened by its path."""
    (tmp_path / "x").write_bytes(packed("zstd"))
    file = compress.open(tmp_path / "x")
    with pytest.warns(ResourceWarning, match="unclosed"):  # noqa: PT031 - what raises is the end of the block
        del file
        gc.collect()


@pytest.mark.parametrize("id", ["zstd", "lz4", "gzip"])
def test_what_is_left_in_a_file_object_is_refused(id: str) -> None:
    """A file object keeps what was written, which no reader takes for whole."""
    file = io.BytesIO()
    with pytest.raises(KeyError), compress.open(file, "wb", id, chunk_size=64 << 10) as out:  # noqa: PT012 - what raises is the end of the block
        out.write(PLAIN)
        raise KeyError
    assert not file.closed
    with pytest.raises(Truncated):
        compress.decompress(file.getvalue(), id)


def test_a_closed_file_says_so(tmp_path) -> None:
    """Every use after close is a ValueError; closing again is nothing."""
    path = tmp_path / "x.zst"
    out = compress.open(path, "wb")
    out.close()
    out.close()
    for use in (lambda: out.write(b""), out.flush, out.tell, out.fileno, lambda: out.writelines([b"x"])):
        with pytest.raises(ValueError, match="closed"):
            use()
    file = compress.open(path)
    file.close()
    file.close()
    for use in (file.read, file.readline, file.tell, file.seekable, lambda: file.seek(0),
                lambda: file.pread(0, 1)):  # fmt: skip
        with pytest.raises(ValueError, match="closed"):
            use()


@pytest.mark.parametrize("kind", ["path", "object"])
@pytest.mark.parametrize("id", SEEKABLE)
def test_any_part_can_be_read(id: str, kind: str, tmp_path) -> None:
    """Seeks and `pread` give what a slice gives, before, between and after reads in order."""
    import random

    stored = packed(id, chunk_size=None if id == "none" else 64 << 10)
    (tmp_path / "x").write_bytes(stored)
    target = tmp_path / "x" if kind == "path" else io.BytesIO(stored)
    draws = random.Random(5)
    with compress.open(target) as file:
        assert file.read(10) == PLAIN[:10]
        assert file.pread(500_000, 20) == PLAIN[500_000:500_020]
        assert file.read(10) == PLAIN[10:20]
        assert file.seekable()
        for _ in range(50):
            at, size = draws.randrange(len(PLAIN) + 100), draws.randrange(100_000)
            if draws.random() < 0.5:
                assert file.pread(at, size) == PLAIN[at : at + size]
            else:
                assert file.seek(at) == at
                assert file.read(size) == PLAIN[at : at + size]
                assert file.tell() == max(at, min(at + size, len(PLAIN)))
        assert file.seek(-7, os.SEEK_END) == len(PLAIN) - 7
        assert file.read() == PLAIN[-7:]
        file.seek(0)
        assert file.read() == PLAIN
        with pytest.raises(ValueError, match=r"negative|before"):
            file.seek(-1)
    if kind == "object":
        assert not target.closed


def test_pread_from_many_threads(tmp_path) -> None:
    """Several threads read one file at once."""
    (tmp_path / "x.zst").write_bytes(packed("zstd", chunk_size=64 << 10))
    wrong = []
    with compress.open(tmp_path / "x.zst") as file:

        def work(seed: int) -> None:
            for i in range(50):
                at = (seed * 7919 + i * 104_729) % len(PLAIN)
                if file.pread(at, 1000) != PLAIN[at : at + 1000]:
                    wrong.append(at)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_what_has_no_parts_is_not_seekable() -> None:
    """One long frame, bzip2 and sockets are read in order, and say so."""
    for id in ("bz2", "xz"):
        with compress.open(io.BytesIO(packed(id))) as file:
            assert not file.seekable()
            with pytest.raises(io.UnsupportedOperation):
                file.seek(5)
            with pytest.raises(io.UnsupportedOperation):
                file.pread(5, 1)
            assert file.read() == PLAIN


def test_a_stream_may_begin_inside_a_file_object() -> None:
    """What stands before it is no part of it, also for seeks."""
    file = io.BytesIO(b"header" + packed("lz4", chunk_size=64 << 10))
    file.seek(6)
    with compress.open(file) as plain:
        assert plain.read(5) == PLAIN[:5]
        plain.seek(400_000)
        assert plain.read(5) == PLAIN[400_000:400_005]


@pytest.mark.parametrize("id", CONTAINERS)
def test_cut_files_are_told(id: str, tmp_path) -> None:
    """Everything before the cut is given, then `Truncated`, which is an EOFError."""
    stored = packed(id)
    for at in (1, 10, len(stored) // 2, len(stored) - 1):
        (tmp_path / "x").write_bytes(stored[:at])
        with compress.open(tmp_path / "x", compressor=id) as file, pytest.raises(EOFError) as caught:  # noqa: PT012 - what raises is the end of the block
            while file.read1(100_000):
                pass
        assert isinstance(caught.value, Truncated)
        assert caught.value.is_truncated
        assert caught.value.format == id


def test_a_damaged_chunk_is_told_with_its_offset(tmp_path) -> None:
    """What is before it is given."""
    stored = bytearray(packed("zstd", chunk_size=64 << 10))
    stored[len(stored) // 2] ^= 4
    with compress.open(io.BytesIO(bytes(stored))) as file:
        got = b""
        with pytest.raises((Malformed, ChecksumMismatch)) as caught:  # noqa: PT012 - what raises is the end of the block
            while part := file.read1(1 << 20):
                got += part
    assert caught.value.offset is not None
    assert PLAIN.startswith(got)
    assert len(got) > len(PLAIN) // 3


def test_strict_and_limits() -> None:
    """An end that nothing proves, and more than is allowed."""
    two = compress.compress(PLAIN, "zstd") + compress.compress(PLAIN, "zstd")
    assert compress.decompress(two) == PLAIN * 2
    with pytest.raises(Truncated, match="nothing proves"):
        compress.decompress(two, strict=True)
    with (
        compress.open(io.BytesIO(two), strict=True) as file,
        pytest.raises(Truncated, match="nothing proves"),
    ):
        file.read()
    with compress.open(io.BytesIO(two)) as file:
        file.read()
        assert file.info.complete == "unproven"
    with compress.open(io.BytesIO(two), max_output=1000) as file, pytest.raises(Limit, match="max_output"):
        file.read()
    with pytest.raises(Limit, match="max_output"):
        compress.decompress(two, max_output=1000)


def test_content_size_is_kept() -> None:
    """Other than was said is an error, and nothing is left."""
    with (
        pytest.raises(UsageError, match="content size"),
        compress.open(io.BytesIO(), "wb", content_size=10) as out,
    ):
        out.write(b"x")
    with (
        pytest.raises(UsageError, match="content size"),
        compress.open(io.BytesIO(), "wb", content_size=10) as out,
    ):
        out.write(b"x" * 11)


def test_errors_of_the_system_are_raised_as_they_were(tmp_path) -> None:
    """With their number and their name."""
    with pytest.raises(FileNotFoundError) as caught:
        compress.open(tmp_path / "none.zst")
    assert caught.value.filename == str(tmp_path / "none.zst")
    with pytest.raises(FileNotFoundError):
        compress.open(tmp_path / "none" / "x.zst", "wb")
    with pytest.raises(IsADirectoryError):
        compress.open(tmp_path)
    need_linux("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:  # noqa: SIM117 - what raises is the end of the block
        with compress.open("/dev/full", "wb", "none") as out:
            out.write(PLAIN)
    assert caught.value.errno == 28


def test_errors_of_a_file_object_come_through() -> None:
    """What its write raises is raised, and again by nothing else than close."""

    class Broken(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            raise KeyError("unplugged")

    out = compress.open(Broken(), "wb", chunk_size=64 << 10)  # type: ignore[call-overload]
    with pytest.raises(KeyError, match="unplugged"):  # noqa: PT012 - what raises is the end of the block
        out.write(PLAIN * 10)
        out.close()
    with pytest.raises((TareError, OSError)):
        out.close()
    assert out.closed


def test_text_files_are_refused() -> None:
    """A file object must give and take bytes."""
    for mode in ("rb", "wb"):
        with pytest.raises(UsageError, match="binary mode"):
            compress.open(io.StringIO(), mode)  # type: ignore[call-overload]


def test_flush_lets_a_reader_have_everything() -> None:
    """Over a pipe, what was flushed can be decompressed before the file ends."""
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rb") as incoming, theirs.makefile("wb") as outgoing:
        ours.settimeout(30)
        with compress.open(outgoing, "wb", "zstd") as out:
            out.write(b"first")
            out.flush()
            file = compress.open(incoming)
            assert file.read1(5) == b"first"
            out.write(b"second")
        theirs.shutdown(socket.SHUT_WR)
        assert file.read() == b"second"
        file.close()


def test_sizes_are_honest(tmp_path) -> None:
    """`sys.getsizeof` counts the buffers."""
    with compress.open(tmp_path / "x", "wb", "zstd:1") as out:
        out.write(os.urandom(3 << 20))
        assert sys.getsizeof(out) > 2 << 20
    with compress.open(tmp_path / "x") as file:
        before = sys.getsizeof(file)
        file.read(1 << 20)
        assert sys.getsizeof(file) > before > 128 << 10


def test_the_gil_is_released_while_files_are_written_and_read(tmp_path) -> None:
    """Another thread goes on in the middle of one call: nobody else makes this one give way."""
    data = os.urandom(4 << 20) * 4
    ticks = [0]
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.0001)

    def ticked(work: Callable[[], object]) -> bool:
        """Whether the other thread went on during a call."""
        before = ticks[0]
        work()
        return ticks[0] > before

    # A busy machine may not run the other thread within one call; within a hundred it does.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with compress.open(tmp_path / "y.zst", "wb", "zstd:9", threads=1) as out:
            assert any(ticked(lambda: out.write(data)) for _ in range(100))
        with contextlib.ExitStack() as files:
            stored = compress.compress(data, "zstd:1")
            opened = (files.enter_context(compress.open(io.BytesIO(stored))) for _ in range(100))
            assert any(ticked(file.read) for file in opened)
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()


INTERRUPTED = """
import os, signal, sys, threading, time
from tare import compress
data = os.urandom(32 << 20).hex().encode()  # what cannot be compressed at all would be skipped over
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background has it ignored
start = time.process_time()
try:
    threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    {work}
except KeyboardInterrupt:
    assert time.process_time() - start < 8  # the whole takes far more, however busy the machine is
    print("interrupted")
"""


@pytest.mark.parametrize(
    "work",
    [
        "compress.compress(data, 'zstd:19')",
        "f = compress.open('x.zst', 'wb', 'zstd:22,layout=single'); f.write(data); f.close()",
        "compress.compress(data * 2, 'xz:9')",
        "compress.open('x.zst', 'wb', 'zstd:19').write(data)",
        "compress.open('fifo', 'rb').read()",
    ],
)
def test_ctrl_c_ends_the_wait(work: str, tmp_path) -> None:
    """While workers compute, while the library does, while a pipe is silent; nothing is left behind."""
    os.mkfifo(tmp_path / "fifo")
    holder = os.open(tmp_path / "fifo", os.O_RDWR)
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", INTERRUPTED.format(work=work)],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(holder)
    assert done.stdout == "interrupted\n", done.stderr
    assert os.listdir(tmp_path) == ["fifo"]


def test_a_handler_that_does_not_raise_changes_nothing(tmp_path) -> None:
    """Signals are handled while the core works, and the work goes on."""
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        stored = compress.compress(PLAIN * 4, "zstd:15", threads=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert compress.decompress(stored) == PLAIN * 4
    assert seen


FORKED = """
import os, sys, warnings
from tare import compress
warnings.simplefilter("ignore")
out = compress.open("x.zst", "wb", chunk_size=65536, threads=2)
out.write(bytes(range(256)) * 4000)
single = compress.open("y.zst", "wb", layout="single", threads=2)
single.write(bytes(range(256)) * 20000)
file = compress.open("z.zst")
file.read(100)
child = os.fork()
if child == 0:
    failed = 0
    for use in (lambda: out.write(b"x" * 200_000), out.close, lambda: single.write(b"x" * 200_000),
                lambda: file.raw.readinto(bytearray(9))):
        try:
            use()
        except ValueError as error:
            failed += "fork" in str(error)
    del out, single, file
    sys.exit(0 if failed == 4 else 1)
status = os.waitpid(child, 0)[1]
out.close()
single.close()
print(os.waitstatus_to_exitcode(status), len(file.read()), sorted(os.listdir(".")))
"""


def test_a_forked_child_may_not_use_them(tmp_path) -> None:
    """It gets an error, ends without hanging, and takes nothing away from its parent."""
    need_posix()
    (tmp_path / "z.zst").write_bytes(packed("zstd", chunk_size=64 << 10))
    done = subprocess.run(
        [sys.executable, "-c", FORKED], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == f"0 {len(PLAIN) - 100} ['x.zst', 'y.zst', 'z.zst']\n", done.stderr
    assert compress.decompress((tmp_path / "x.zst").read_bytes()) == bytes(range(256)) * 4000


def test_exit_with_an_open_file_leaves_no_name(tmp_path) -> None:
    """`sys.exit` is no end of the file."""
    code = (
        "import sys; from tare import compress; f = compress.open('x.zst', 'wb'); f.write(b'x'); sys.exit(0)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=True)
    assert os.listdir(tmp_path) == []


def test_effort_and_choice() -> None:
    """One scale for all, and the compressor for a link."""
    assert [compress.effort("zstd", effort) for effort in (0, 25, 50, 75, 100)] == [
        "zstd:1", "zstd:3", "zstd:7", "zstd:12", "zstd:19",
    ]  # fmt: skip
    for name, effort in (("zstd", 101), ("zstd", -1), ("none", 5), ("zip", 5)):
        with pytest.raises(UsageError):
            compress.effort(name, effort)
    assert compress.choose(PLAIN, 1e4, compressor="zstd", threads=1).startswith("zstd:")
    with pytest.raises(UsageError):
        compress.choose(b"", 1e6)


def test_old_zstd_is_named() -> None:
    """A version that nobody reads any more, by name and when sniffed."""
    with pytest.raises(Unsupported, match=r"zstd 0\.7"):
        compress.decompress(b"\x27\xb5\x2f\xfd" + bytes(10))
