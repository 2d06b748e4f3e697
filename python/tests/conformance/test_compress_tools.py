"""Stock tools and libraries in both directions: every container and layout, at the sizes around a chunk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_command, need_module

from tare import compress

CHUNK = 64 << 10
BGZF = 65_280  # plain bytes of a member
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK]
# Rows of eight bytes, so that a table of any size is a good one.
PLAIN = b"number0\n" + b"".join(b"%07d\n" % (i * i % 9_999_991) for i in range(50_000))
LAYOUTS = [
    ("zstd:3", "seekable"),
    ("zstd:3", "single"),
    ("lz4", "seekable"),
    ("lz4", "single"),
    ("gzip:6", "seekable"),
    ("gzip:6", "members"),
    ("gzip:6", "single"),
    ("bz2", "single"),
    ("xz:1", "single"),
]
Opener = Callable[[Path], Any]


def kind_of(id: str) -> str:
    """The compressor of an id."""
    return id.partition(":")[0]


def run(command: str, stored: bytes) -> bytes:
    """What a command makes of its standard input."""
    name, *arguments = command.split()
    return subprocess.run([name, *arguments], input=stored, capture_output=True, check=True).stdout


def compression_zstd() -> Any:
    """Python's own module, or what brings it to older ones."""
    return need_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def with_arrow(codec: str) -> Opener:
    """How pyarrow opens a file."""

    def opened(path: Path) -> Any:
        import pyarrow as pa

        return pa.CompressedInputStream(str(path), codec)

    return opened


def with_module(name: str, *arguments: Any, **options: Any) -> Opener:
    """How the module of that name opens a file."""

    def opened(path: Path) -> Any:
        return need_module(name).open(str(path), *arguments, **options)

    return opened


COMMANDS = {
    "zstd": ["zstd -dcq", "pzstd -dcq -p2", "unzstd -cq"],
    "lz4": ["lz4 -dcq", "unlz4 -cq"],
    "gzip": ["gzip -dc", "pigz -dc", "bgzip -dc", "zcat"],
    "bz2": ["bzip2 -dc"],
    "xz": ["xz -dc", "xz -dc -T2"],
}
MODULES: dict[str, list[Opener]] = {
    "zstd": [
        with_module("zstandard", "rb"),
        lambda path: compression_zstd().open(path, "rb"),
        with_arrow("zstd"),
    ],
    "lz4": [with_module("lz4.frame", "rb"), with_arrow("lz4")],
    "gzip": [
        with_module("gzip"),
        with_module("isal.igzip"),
        with_module("zlib_ng.gzip_ng"),
        with_arrow("gzip"),
    ],
    "bz2": [with_module("bz2"), with_arrow("bz2")],
    "xz": [with_module("lzma")],
}


def ours(id: str, layout: str, size: int) -> bytes:
    """What tare writes for ``size`` bytes of a pipe."""
    file = io.BytesIO()
    chunk = None if kind_of(id) in ("bz2", "xz") else CHUNK
    with compress.open(file, "wb", id, layout=layout, chunk_size=chunk, threads=2) as out:
        out.write(PLAIN[:size])
    return file.getvalue()


@pytest.mark.parametrize(("id", "layout"), LAYOUTS)
def test_commands_read_it_whole(id: str, layout: str) -> None:
    """Every frame, member and stream, and their own test of it."""
    need_command(*(command.split()[0] for command in COMMANDS[kind_of(id)]))
    sizes = [*SIZES, BGZF, BGZF + 1] if kind_of(id) == "gzip" else SIZES
    for size in sizes:
        stored = ours(id, layout, size)
        for command in COMMANDS[kind_of(id)]:
            assert run(command, stored) == PLAIN[:size], (command, size)
            assert run(command.replace("-dc", "-t").replace("-cq", "-tq"), stored) in (b"", PLAIN[:size])


@pytest.mark.parametrize(("id", "layout"), LAYOUTS)
def test_modules_read_it_whole(id: str, layout: str, tmp_path: Path) -> None:
    """File objects of the standard library, of the containers' own modules, of pyarrow."""
    path = tmp_path / "x"
    for size in SIZES:
        path.write_bytes(ours(id, layout, size))
        for opened in MODULES[kind_of(id)]:
            if size == 0 and opened.__qualname__.startswith("with_arrow"):
                continue  # refuses files of nothing, those of the containers' own tools too
            with opened(path) as file:
                assert file.read() == PLAIN[:size], (opened, size)


@pytest.mark.parametrize(("id", "layout"), LAYOUTS)
def test_data_libraries_read_it_by_its_name(id: str, layout: str, tmp_path: Path) -> None:
    """pandas, polars, pyarrow and duckdb, for the endings that each knows."""
    import pyarrow.csv

    duckdb, pd, pl = need_module("duckdb"), need_module("pandas"), need_module("polars")
    ending = compress.compressor(kind_of(id)).extension
    path = tmp_path / f"x.csv{ending}"
    for size in SIZES[2:]:
        path.write_bytes(ours(id, layout, size))
        rows = len(PLAIN[:size].splitlines()) - 1
        if ending != ".lz4":
            assert len(pd.read_csv(path)) == rows
        if ending in (".zst", ".gz"):
            assert pl.read_csv(path).height == rows
            assert duckdb.sql(f"SELECT count(*) FROM read_csv('{path}')").fetchall() == [(rows,)]
        if ending != ".xz":
            assert pyarrow.csv.read_csv(path).num_rows == rows


WRITTEN_BY_COMMANDS = {
    "zstd": [
        "zstd -cq",
        "zstd -cq -T2 -B65536",
        "zstd -cq --no-check -19",
        "zstd -cq --long=27",
        "pzstd -cq -p2",
    ],
    "lz4": [
        "lz4 -cq",
        "lz4 -cq -B5",  # with -B4, 1.9.4 fails at 65,535 bytes
        "lz4 -cq -B5 -BD",
        "lz4 -cq -B5 -BX",
        "lz4 -cq --no-frame-crc",
        "lz4 -cq -9",
        "lz4 -cq -l",
    ],
    "gzip": [
        "gzip -c",
        "gzip -1c",
        "pigz -c -p2 -b64",
        "pigz -c -p2 -i",
        "pigz -c -11",
        "bgzip -c",
        "bgzip -c -@2 -l9",
    ],
    "bz2": ["bzip2 -c", "bzip2 -1c"],
    "xz": ["xz -c", "xz -c -T2 --block-size=65536", "xz -c --check=none -0", "xz -c --format=lzma -0"],
}


@pytest.mark.parametrize("kind", WRITTEN_BY_COMMANDS)
def test_what_commands_write_is_read(kind: str) -> None:
    """In one piece and as a stream; one behind another too."""
    need_command(*(command.split()[0] for command in WRITTEN_BY_COMMANDS[kind]))
    for size in SIZES:
        plain = PLAIN[:size]
        for command in WRITTEN_BY_COMMANDS[kind]:
            stored = run(command, plain)
            assert read_both_ways(stored, kind) == plain, (command, size)
            if "lzma" not in command:
                assert read_both_ways(stored * 2, kind) == plain * 2, (command, size)


def read_both_ways(stored: bytes, kind: str) -> bytes:
    """One-shot, which tells the kind itself, and by file, which is told."""
    plain = compress.decompress(stored)
    with compress.open(io.BytesIO(stored), compressor=kind) as file:
        assert file.read() == plain
    return plain


def arrow_writes(codec: str) -> Callable[[bytes], bytes]:
    """A stream of pyarrow."""

    def write(plain: bytes) -> bytes:
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as out:
            out.write(plain)
        return bytes(sink.getvalue())

    return write


def pandas_writes(ending: str) -> Callable[[bytes], bytes]:
    """A table of pandas, which compresses by its own choice."""

    def write(plain: bytes) -> bytes:
        sink = io.BytesIO()
        frame = need_module("pandas").DataFrame({"number0": plain.decode().splitlines()})
        frame.to_csv(sink, index=False, header=False, compression=ending, lineterminator="\n")
        return sink.getvalue()

    return write


def module_writes(name: str, *names: str, **options: Any) -> Callable[[bytes], bytes]:
    """A function of a module."""

    def write(plain: bytes) -> bytes:
        found = need_module(name)
        for part in names:
            found = getattr(found, part)() if part[0].isupper() else getattr(found, part)
        return bytes(found(plain, **options))

    return write


WRITTEN_BY_LIBRARIES: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("zstd", module_writes("zstandard", "compress")),
    ("zstd", lambda plain: compression_zstd().compress(plain)),
    ("zstd", arrow_writes("zstd")),
    ("lz4", module_writes("lz4.frame", "compress")),
    ("lz4", module_writes("lz4.frame", "compress", block_linked=False, block_checksum=True)),
    ("lz4", module_writes("lz4.frame", "compress", content_checksum=True, store_size=False)),
    ("lz4", arrow_writes("lz4")),
    ("gzip", module_writes("gzip", "compress")),
    ("gzip", module_writes("isal.igzip", "compress")),
    ("gzip", module_writes("zlib_ng.gzip_ng", "compress")),
    ("gzip", module_writes("cramjam", "gzip", "compress")),
    ("gzip", arrow_writes("gzip")),
    ("bz2", module_writes("bz2", "compress")),
    ("bz2", arrow_writes("bz2")),
    ("xz", module_writes("lzma", "compress")),
    ("zlib", module_writes("zlib", "compress")),
    ("zlib", module_writes("isal.isal_zlib", "compress")),
    ("zlib", module_writes("zlib_ng.zlib_ng", "compress")),
]


@pytest.mark.parametrize("size", SIZES)
def test_what_libraries_write_is_read(size: int) -> None:
    """Their one-shot functions and streams, by default and otherwise."""
    plain = PLAIN[:size]
    for kind, write in WRITTEN_BY_LIBRARIES:
        stored = write(plain)
        assert compress.decompress(stored, kind) == plain, write
        with compress.open(io.BytesIO(stored), compressor=kind) as file:
            assert file.read() == plain, write


@pytest.mark.parametrize("kind", ["zstd", "gzip", "bz2", "xz"])
def test_what_data_libraries_write_is_read(kind: str, tmp_path: Path) -> None:
    """Tables of pandas and duckdb."""
    duckdb = need_module("duckdb")
    rows = PLAIN[: 5 * CHUNK].decode().split()
    assert compress.decompress(pandas_writes(kind)(PLAIN[: 5 * CHUNK])).decode().split() == rows
    if kind in ("zstd", "gzip"):
        path = tmp_path / "x.csv"
        path.write_bytes(PLAIN[: 5 * CHUNK])
        packed = tmp_path / "packed"
        duckdb.sql(
            f"COPY (SELECT * FROM read_csv('{path}', all_varchar=true)) TO '{packed}' (FORMAT csv, COMPRESSION {kind})"
        )
        with compress.open(packed) as file:
            assert file.read().decode().split() == rows


@pytest.mark.parametrize("size", SIZES)
def test_single_is_whole_for_those_that_stop_early(size: int) -> None:
    """One-shot functions that give the first frame or member, and say nothing of more."""
    import zlib

    zstandard = need_module("zstandard")
    plain = PLAIN[:size]
    zstd = compression_zstd()
    for stored in (ours("zstd:3", "single", size), compress.compress(plain, "zstd")):
        assert zstandard.ZstdDecompressor().decompressobj().decompress(stored) == plain
        assert zstd.ZstdDecompressor().decompress(stored) == plain
    for stored in (ours("gzip", "single", size), compress.compress(plain, "gzip")):
        assert zlib.decompress(stored, wbits=31) == plain
    if size > CHUNK:
        # What `single` is for: of several frames or members they give the first.
        assert zstd.ZstdDecompressor().decompress(ours("zstd:3", "seekable", size)) == plain[:CHUNK]
        assert zlib.decompress(ours("gzip", "members", size), wbits=31) == plain[:CHUNK]
    assert bz2.decompress(ours("bz2", "single", size)) == plain
    assert lzma.decompress(ours("xz:1", "single", size)) == plain
    assert gzip.decompress(ours("gzip", "seekable", size)) == plain
