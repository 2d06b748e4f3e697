"""`tare.compress`: ids, strictness, streams, and agreement with the stock tools."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import random
import socket
import subprocess
import sys
import threading
import zlib

import pytest
from support.capabilities import need_command, need_linux

from tare import _tare, compress
from tare.errors import (
    ChecksumMismatch,
    DecodeError,
    Limit,
    Malformed,
    Truncated,
    Unsupported,
    UsageError,
)

NAMES = [known.name for known in compress.COMPRESSORS]
CONTAINERS = [known.name for known in compress.COMPRESSORS if known.magic]
PLAIN = b"station,carrier,distance\n" * 400 + bytes(3000) + bytes((i * i * 7) % 251 for i in range(2000))
TOOLS = {"zstd": ["zstd"], "lz4": ["lz4"], "gzip": ["gzip"], "bz2": ["bzip2"], "xz": ["xz"]}


def read_stream(data: bytes, name: str) -> bytes:
    """Everything a reader over ``data`` gives."""
    with compress.open_reader(io.BytesIO(data), name) as reader:
        return reader.read()


READS = [pytest.param(compress.decompress, id="one-shot"), pytest.param(read_stream, id="stream")]


@pytest.mark.parametrize("known", compress.COMPRESSORS, ids=NAMES)
def test_lowest_default_and_highest_level_come_back(known) -> None:
    """Every compressor gives back what it got, at both ends of its levels."""
    levels = [None] if known.levels is None else [known.default_level, *known.levels]
    for level in levels:
        id = known.name if level is None else f"{known.name}:{level}"
        packed = compress.compress(PLAIN, id)
        assert compress.decompress(packed, known.name) == PLAIN
        assert read_stream(packed, known.name) == PLAIN


def test_the_core_and_the_table_agree() -> None:
    """Names of the core's build and the table of the package are the same."""
    assert _tare.__features__ == CONTAINERS
    for known in compress.COMPRESSORS:
        if known.levels:
            for level in (known.levels[0] - 1, known.levels[1] + 1):
                with pytest.raises(UsageError, match="levels are"):
                    _tare.compress(b"", f"{known.name}:{level}")


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("zstd", ("zstd", 3)),
        ("zstd:-7", ("zstd", -7)),
        ("lz4", ("lz4", 1)),
        ("gzip:12", ("gzip", 12)),
        ("bz2", ("bz2", 9)),
        ("xz:0", ("xz", 0)),
        ("none", ("none", None)),
    ],
)
def test_ids_are_parsed(id: str, expected: tuple[str, int | None]) -> None:
    """An id has a name and a level; without one the default level is meant."""
    assert compress.parse(id) == expected


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("zst", "did you mean zstd"),
        ("zstd:0", "no level 0; levels are -7 to 22, not 0"),
        ("zstd:23", "levels are -7 to 22"),
        ("zstd:", "no whole number"),
        ("zstd:3.5", "no whole number"),
        ("zstd:+3", "no whole number"),
        ("zstd:\u0663", "no whole number"),
        ("none:1", "none: takes no level"),
        ("zstd:3,x=1", "no option"),
        ("", "there are none, zstd, lz4"),
        ("x" * 500, "there are none, zstd, lz4"),
    ],
)
def test_wrong_ids_are_usage_errors(id: str, text: str) -> None:
    """A wrong name lists near ones, a wrong level the range; long ones are cut."""
    with pytest.raises(UsageError, match=text) as caught:
        compress.parse(id)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_every_cut_is_truncated_and_names_its_end(name: str, read) -> None:
    """Cut input is `Truncated`, never short data, with format and offset."""
    packed = compress.compress(PLAIN[:500], name)
    for end in range(len(packed)):
        with pytest.raises(Truncated) as caught:
            read(packed[:end], name)
        assert (caught.value.format, caught.value.offset) == (name, end)
        assert caught.value.is_truncated


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_other_bytes_are_malformed(name: str, read) -> None:
    """Garbage, and garbage behind the last frame, is `Malformed` at its place."""
    with pytest.raises(Malformed, match=rf"^{name}: ") as caught:
        read(b"a,b,c\n1,2,3\n", name)
    assert caught.value.offset == 0
    packed = compress.compress(PLAIN, name)
    for tail in (b"x", b"tail and more of it"):
        with pytest.raises(Malformed) as caught:
            read(packed + tail, name)
        assert caught.value.offset == len(packed)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_several_frames_are_read_whole(name: str, read) -> None:
    """Concatenated files are one file, as the stock tools see it."""
    one = compress.compress(PLAIN, name)
    empty = compress.compress(b"", name)
    assert read(empty + one + empty + one, name) == PLAIN + PLAIN
    assert read(empty, name) == b""


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_no_flipped_bit_gives_other_bytes(name: str, read) -> None:
    """Damage is an error or without effect, but never wrong data."""
    packed = compress.compress(PLAIN[:700], name)
    for bit in range(0, len(packed) * 8, 3):
        damaged = bytearray(packed)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            plain = read(bytes(damaged), name)
        except (DecodeError, Unsupported, Limit):
            continue
        assert plain == PLAIN[:700]


def test_a_wrong_checksum_is_named() -> None:
    """A file that is well formed but damaged is told from one that is not."""
    for name in ("gzip", "zstd", "lz4"):
        packed = bytearray(compress.compress(PLAIN, name))
        packed[-5 if name == "gzip" else -1] ^= 1
        with pytest.raises(ChecksumMismatch, match="checksum"):
            compress.decompress(bytes(packed), name)


@pytest.mark.parametrize("name", NAMES)
def test_the_limit_is_exact(name: str) -> None:
    """``max_output`` lets as many through and not one more; bombs end early."""
    packed = compress.compress(bytes(5_000_000), name)
    assert len(compress.decompress(packed, name, max_output=5_000_000)) == 5_000_000
    for most in (0, 1, 4_999_999):
        with pytest.raises(Limit, match="max_output") as caught:
            compress.decompress(packed, name, max_output=most)
        assert caught.value.format == name


@pytest.mark.parametrize("name", NAMES)
def test_any_buffer_is_taken(name: str) -> None:
    """bytes, bytearray, memoryview, numpy and Arrow buffers are all bytes-like."""
    import numpy as np
    import pyarrow as pa

    expected = compress.compress(PLAIN, name)
    for data in (bytearray(PLAIN), memoryview(PLAIN), np.frombuffer(PLAIN, "u1"), pa.py_buffer(PLAIN)):
        assert compress.compress(data, name) == expected
    for data in (bytearray(expected), memoryview(expected), pa.py_buffer(expected)):
        assert compress.decompress(data, name) == PLAIN


@pytest.mark.parametrize("shape", [(0,), (1,), (40_000,), (50, 8, 100), (5_000, 0)])
@pytest.mark.parametrize("type", ["u1", "<i8", "V3"])
@pytest.mark.parametrize("readonly", [False, True], ids=["copied", "lent"])
def test_bytes_behind_any_items_are_those_of_a_copy(shape, type: str, readonly: bool) -> None:
    """The safe twin of the core's only `unsafe`: however wide the items, the bytes are `tobytes()`."""
    import numpy as np

    count = math.prod(shape) * np.dtype(type).itemsize
    array = np.frombuffer(random.Random(count).randbytes(count), type).reshape(shape)
    if not readonly:
        array = array.copy()
    assert array.flags.writeable is not readonly
    assert _tare.compress(array, "none") == array.tobytes()
    assert _tare.decompress(array, "none") == array.tobytes()


def test_what_is_no_buffer_is_a_type_error() -> None:
    """Text, numbers and strided views are refused before any work."""
    with pytest.raises(TypeError):
        _tare.compress("text", "zstd")
    with pytest.raises(BufferError):
        _tare.compress(memoryview(b"strided")[::2], "zstd")


@pytest.mark.parametrize("name", NAMES)
def test_readers_are_files(name: str, tmp_path) -> None:
    """A reader reads lines and pieces, does not seek, and closes what it opened."""
    path = tmp_path / "data"
    path.write_bytes(compress.compress(b"one\ntwo\nthree", name))
    with compress.open_reader(path, name) as reader:
        assert reader.readline() == b"one\n"
        assert reader.read(2) == b"tw"
        assert reader.read() == b"o\nthree"
        assert reader.read() == b""
    assert reader.closed


def test_a_passed_file_stays_open() -> None:
    """Who opens a file closes it."""
    file = io.BytesIO(compress.compress(b"x", "zstd"))
    with compress.open_reader(file, "zstd") as reader:
        reader.read()
    assert not file.closed


@pytest.mark.parametrize("name", CONTAINERS)
def test_memory_of_a_stream_is_bounded(name: str) -> None:
    """A reader takes from its file in pieces, as it is read, not the whole file at once."""
    id = {"bz2": "bz2:1", "xz": "xz:0"}.get(name, name)
    size = 24_000_000 if name == "zstd" else 8_000_000
    packed = compress.compress(os.urandom(size), id)

    class Counting(io.BytesIO):
        taken = 0

        def read1(self, size: int = -1, /) -> bytes:
            part = super().read1(size)
            self.taken += len(part)
            return part

    file = Counting(packed)
    with compress.open_reader(file, name) as reader:
        reader.read(10)
        # A zstd frame is streamed when it is longer than 16 MiB; lz4 needs some whole blocks.
        assert file.taken <= {"zstd": 18_000_000, "lz4": 6_000_000}.get(name, 1_200_000)
        assert len(reader.read()) == size - 10


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_stream_gives_what_has_arrived(name: str) -> None:
    """Over a socket, a frame is readable before the sender goes on."""
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rb") as file, compress.open_reader(file, name) as reader:
        ours.settimeout(30)
        theirs.sendall(compress.compress(b"first", name))
        assert reader.read1(5) == b"first"
        theirs.sendall(compress.compress(b"second", name))
        theirs.shutdown(socket.SHUT_WR)
        assert reader.read() == b"second"


def test_an_error_of_the_file_comes_through() -> None:
    """What the file object raises is raised as it was."""

    class Broken(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            raise KeyError("unplugged")

    for name in CONTAINERS:
        with pytest.raises(KeyError, match="unplugged"):
            compress.open_reader(Broken(), name).read()  # type: ignore[arg-type]


def test_the_gil_is_released() -> None:
    """Other threads run while the core compresses."""
    data = os.urandom(1 << 20) * 8
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    _tare.compress(data, "zstd:12")
    after = ticks
    done.set()
    thread.join()
    assert after > before


@pytest.mark.parametrize("name", CONTAINERS)
def test_stock_tools_agree(name: str) -> None:
    """The command line tool reads what we write, and we read what it writes."""
    tool = need_command(*TOOLS[name])
    for plain in (b"", b"x", PLAIN, bytes(300_000), os.urandom(300_000)):
        ours = compress.compress(plain, name)
        read = subprocess.run([tool, "-dc"], input=ours, capture_output=True, check=True)
        assert read.stdout == plain
        written = subprocess.run([tool, "-c"], input=plain, capture_output=True, check=True)
        assert compress.decompress(written.stdout, name) == plain
        assert read_stream(written.stdout, name) == plain


@pytest.mark.parametrize(
    "options",
    [["-BD"], ["-BX"], ["-B4", "-BD"], ["--no-frame-crc"], ["--content-size"], ["-l"], ["-9"]],
    ids=str,
)
def test_every_kind_of_lz4_frame_is_read(options: list[str], tmp_path) -> None:
    """Linked blocks, block checksums, no checksum, content size and legacy frames."""
    need_command("lz4")
    plain = PLAIN * 60
    (tmp_path / "in").write_bytes(plain)
    subprocess.run(["lz4", "-q", *options, "in", "out"], cwd=tmp_path, check=True)
    packed = (tmp_path / "out").read_bytes()
    assert compress.decompress(packed, "lz4") == plain
    assert read_stream(packed, "lz4") == plain


def test_python_modules_agree() -> None:
    """The standard library reads our gzip, and we read its gzip with header fields and padding."""
    assert gzip.decompress(compress.compress(PLAIN, "gzip")) == PLAIN
    target = io.BytesIO()
    with gzip.GzipFile("a name.csv", "wb", fileobj=target, mtime=1) as file:
        file.write(PLAIN)
    assert compress.decompress(target.getvalue() + bytes(512), "gzip") == PLAIN
    assert compress.decompress(bz2.compress(b"a") + bz2.compress(b"b"), "bz2") == b"ab"
    assert compress.decompress(lzma.compress(b"a") + bytes(4) + lzma.compress(b"b"), "xz") == b"ab"
    with pytest.raises(Malformed):
        compress.decompress(zlib.compress(b"a"), "gzip")


def test_zstd_of_old_and_foreign_kinds_is_unsupported() -> None:
    """Formats before 0.8 are named, and frames that need a dictionary are refused."""
    with pytest.raises(Unsupported, match=r"zstd 0\.7"):
        compress.decompress(b"\x27\xb5\x2f\xfd" + bytes(10), "zstd")


NO_ROOM = """
import os, resource
from tare import compress
data = os.urandom(64 << 20)
held = int(dict(line.split(":", 1) for line in open("/proc/self/status"))["VmData"].split()[0]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (held + (96 << 20), resource.RLIM_INFINITY))
try:
    compress.compress(data, "lz4", threads=1)
except MemoryError:
    print("no room")
"""


def test_no_room_for_the_result_is_a_memory_error() -> None:
    """What was compressed has no place as bytes: a MemoryError, no panic and no hang."""
    need_linux("/proc/self/status")
    done = subprocess.run([sys.executable, "-c", NO_ROOM], capture_output=True, timeout=60, check=True)
    assert b"no room\n" == done.stdout


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_are_told_by_their_bytes(name: str) -> None:
    """The first bytes name the compressor; ordinary text names none."""
    assert compress.sniff(compress.compress(PLAIN, name)[:16]) == name
    assert compress.sniff(b"BZhello, this is a text") is None
    assert compress.sniff(b"") is None
