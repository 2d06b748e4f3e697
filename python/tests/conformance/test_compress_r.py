"""R's own connections in both directions: ``gzfile``, ``bzfile``, ``xzfile`` and ``readRDS``."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest
from support.capabilities import need_r

from tare import compress

CHUNK = 64 << 10
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 65_280, 65_281, 5 * CHUNK]
PLAIN = b"".join(b"%d,JFK,%d\n" % (i, i * i % 1009) for i in range(40_000))
LAYOUTS = [
    ("gzip:6", "seekable"),
    ("gzip:6", "members"),
    ("gzip:6", "single"),
    ("bz2:1", "single"),
    ("xz:1", "single"),
]


def r(program: str, cwd: Path) -> None:
    """Run a program of R; it must succeed, without a warning."""
    need_r()
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", f"options(warn = 2); {program}"],
        cwd=cwd, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def write(path: Path, plain: bytes, id: str, layout: str) -> None:
    """A file of tare's."""
    chunk = CHUNK if id.startswith("gzip") else None
    with compress.open(path, "wb", id, layout=layout, chunk_size=chunk, threads=2) as out:
        out.write(plain)


@pytest.mark.parametrize(("id", "layout"), LAYOUTS)
def test_r_reads_what_is_written(id: str, layout: str, tmp_path: Path) -> None:
    """Every member and stream, to the last byte: ``gzfile`` tells all three by their bytes."""
    for size in SIZES:
        write(tmp_path / f"{size}.packed", PLAIN[:size], id, layout)
    r(
        """
        for (name in list.files(pattern = "packed$")) {
          file <- gzfile(name, "rb")
          bytes <- raw(0)
          while (length(part <- readBin(file, "raw", 100000)) > 0) bytes <- c(bytes, part)
          close(file)
          writeBin(bytes, sub("packed", "plain", name))
        }
        """,
        tmp_path,
    )
    for size in SIZES:
        assert (tmp_path / f"{size}.plain").read_bytes() == PLAIN[:size], size


def test_what_r_writes_is_read(tmp_path: Path) -> None:
    """By each connection, at its lowest and highest level, and appended to."""
    for size in SIZES:
        (tmp_path / f"{size}.plain").write_bytes(PLAIN[:size])
    r(
        """
        for (name in list.files(pattern = "plain$")) {
          bytes <- readBin(name, "raw", file.size(name))
          for (kind in c("gzfile", "bzfile", "xzfile")) for (level in c(1, 6, 9)) {
            file <- get(kind)(paste0(name, ".", kind, level), "wb", compression = level)
            writeBin(bytes, file)
            close(file)
          }
          file.copy(paste0(name, ".gzfile6"), paste0(name, ".gzfile_twice"))
          file <- gzfile(paste0(name, ".gzfile_twice"), "ab")
          writeBin(bytes, file)
          close(file)
        }
        """,
        tmp_path,
    )
    kinds = {"gzfile": "gzip", "bzfile": "bz2", "xzfile": "xz"}
    for size in SIZES:
        for connection, kind in kinds.items():
            for level in (1, 6, 9):
                stored = (tmp_path / f"{size}.plain.{connection}{level}").read_bytes()
                assert compress.sniff(stored) == kind
                assert compress.decompress(stored) == PLAIN[:size], (connection, level, size)
                with compress.open(io.BytesIO(stored), compressor=kind) as file:
                    assert file.read() == PLAIN[:size]
        twice = (tmp_path / f"{size}.plain.gzfile_twice").read_bytes()
        assert compress.decompress(twice) == PLAIN[:size] * 2


def test_rds_goes_both_ways(tmp_path: Path) -> None:
    """What ``saveRDS`` writes is read, packed anew in every layout, and read by ``readRDS``."""
    r(
        """
        value <- list(n = seq_len(200000), x = sqrt(seq_len(50000)), s = paste0("row ", 1:20000))
        for (kind in c("gzip", "bzip2", "xz")) saveRDS(value, paste0(kind, ".rds"), compress = kind)
        saveRDS(value, "plain.rds", compress = FALSE)
        """,
        tmp_path,
    )
    plain = (tmp_path / "plain.rds").read_bytes()
    for kind in ("gzip", "bzip2", "xz"):
        with compress.open(tmp_path / f"{kind}.rds") as file:
            assert file.read() == plain
    for id, layout in LAYOUTS:
        write(tmp_path / f"{id.partition(':')[0]}-{layout}.packed", plain, id, layout)
    r(
        """
        value <- readRDS("plain.rds")
        names <- list.files(pattern = "packed$")
        stopifnot(length(names) == 5)
        for (name in names) stopifnot(identical(readRDS(name), value))
        """,
        tmp_path,
    )


def test_memdecompress_reads_single(tmp_path: Path) -> None:
    """R's one-shot function stops after the first member, so it is given one."""
    plain = PLAIN[: 5 * CHUNK]
    (tmp_path / "plain").write_bytes(plain)
    for kind in ("gzip", "bz2", "xz"):
        (tmp_path / kind).write_bytes(compress.compress(plain, f"{kind}:1"))
    r(
        """
        plain <- readBin("plain", "raw", file.size("plain"))
        types <- c(gzip = "gzip", bz2 = "bzip2", xz = "xz")
        for (name in names(types)) {
          packed <- readBin(name, "raw", file.size(name))
          stopifnot(identical(memDecompress(packed, types[[name]]), plain))
        }
        """,
        tmp_path,
    )
