"""`tare.compress.open` with other libraries: they use its files, and read and write the same containers."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import shutil

import pytest
from support.capabilities import need_module

from tare import compress
from tare.errors import ChecksumMismatch, Limit, Malformed, Truncated, UsageError

# The least level where the default takes seconds.
QUICK = {"xz": "xz:0", "bz2": "bz2:1"}
CONTAINERS = [known.name for known in compress.COMPRESSORS if known.magic]
PLAIN = b"".join(b"%d,station %d,%d\n" % (i, i % 37, i * i) for i in range(60_000))


@pytest.mark.parametrize("id", CONTAINERS)
def test_the_standard_library_uses_them(id: str, tmp_path) -> None:
    """csv, pickle, json, shutil and text files."""
    id = QUICK.get(id, id)
    path = tmp_path / "x"
    rows = [["a", "b"], ["1", "x,y"], ["2", "z\nz"]]
    with compress.open(path, "wt", id, newline="") as out:
        csv.writer(out).writerows(rows)
    with compress.open(path, "rt", newline="") as file:
        assert list(csv.reader(file)) == rows
    value = {"rows": list(range(50_000)), "blob": os.urandom(300_000)}
    with compress.open(path, "wb", id) as out:
        pickle.dump(value, out, protocol=5)
    with compress.open(path) as file:
        assert pickle.load(file) == value
    with compress.open(path, "wt", id) as out:
        json.dump(rows, out)
    with compress.open(path) as file:
        assert json.load(file) == rows
    with compress.open(path, "wb", id) as out:
        shutil.copyfileobj(io.BytesIO(PLAIN), out)
    target = io.BytesIO()
    with compress.open(path) as file:
        shutil.copyfileobj(file, target)
    assert target.getvalue() == PLAIN


@pytest.mark.parametrize("id", ["zstd", "lz4", "gzip"])
def test_data_libraries_use_them(id: str, tmp_path) -> None:
    """pandas, pyarrow and polars read from and write to them."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    pd, pl = need_module("pandas"), need_module("polars")
    frame = pd.DataFrame({"a": range(70_000), "b": [f"x{i}" for i in range(70_000)]})
    path = tmp_path / "x"
    with compress.open(path, "wb", id, chunk_size=64 << 10) as out:
        frame.to_csv(out, index=False)
    with compress.open(path, "rt") as file:
        assert pd.read_csv(file).equals(frame)
    with compress.open(path) as file:
        assert pd.read_csv(file).equals(frame)
    with compress.open(path) as file:
        assert pa.csv.read_csv(file).to_pandas().equals(frame)
    with compress.open(path) as file:
        assert pl.read_csv(file).height == 70_000
    with compress.open(path, "wt", id) as out:
        frame.to_csv(out, index=False)
    with compress.open(path) as file:
        assert pd.read_csv(file).equals(frame)
    table = pa.Table.from_pandas(frame)
    with compress.open(path, "wb", id) as out:
        pa.csv.write_csv(table, out)
    with compress.open(path, "rb") as file:
        assert pa.csv.read_csv(file).to_pandas().equals(frame)
    with compress.open(path, "wb", id, chunk_size=64 << 10) as out:
        pa.parquet.write_table(table, out, compression="none")
    with compress.open(path, "rb") as file:  # Parquet is read from its end
        assert pa.parquet.read_table(file).equals(table)


def test_stock_readers_read_the_files(tmp_path) -> None:
    """pandas, pyarrow, polars and duckdb by name, the modules of Python by their own open."""
    import bz2
    import gzip
    import lzma

    import pyarrow.csv

    duckdb, lz4_frame, zstandard = map(need_module, ("duckdb", "lz4.frame", "zstandard"))
    pd, pl = need_module("pandas"), need_module("polars")
    frame = pd.DataFrame({"a": range(70_000), "b": [f"x{i}" for i in range(70_000)]})
    text = frame.to_csv(index=False).encode()
    opens = {
        ".zst": lambda path: zstandard.open(path, "rb"),
        ".lz4": lambda path: lz4_frame.open(path, "rb"),
        ".gz": lambda path: gzip.open(path, "rb"),
        ".bz2": lambda path: bz2.open(path, "rb"),
        ".xz": lambda path: lzma.open(path, "rb"),
    }
    for ending, opened in opens.items():
        path = tmp_path / f"x.csv{ending}"
        options = {} if ending in (".bz2", ".xz") else {"chunk_size": 64 << 10}
        with compress.open(path, "wb", **options) as out:
            out.write(text)
        with opened(path) as file:
            assert file.read() == text
        if ending != ".lz4":
            assert pd.read_csv(path).equals(frame)
        if ending in (".zst", ".gz"):
            assert pl.read_csv(path).height == 70_000
            assert duckdb.sql(f"SELECT count(*) FROM read_csv('{path}')").fetchall() == [(70_000,)]
        if ending in (".zst", ".lz4", ".gz", ".bz2"):
            assert pyarrow.csv.read_csv(path).num_rows == 70_000


def test_their_files_are_read(tmp_path) -> None:
    """What the modules write, with their defaults and with several frames."""
    import bz2
    import gzip
    import lzma

    lz4_frame, zstandard = need_module("lz4.frame"), need_module("zstandard")
    for write in (
        lambda path: zstandard.open(path, "wb"),
        lambda path: lz4_frame.open(path, "wb"),
        lambda path: lz4_frame.open(path, "wb", block_linked=False, block_checksum=True),
        lambda path: gzip.open(path, "wb"),
        lambda path: bz2.open(path, "wb", compresslevel=1),
        lambda path: lzma.open(path, "wb", preset=0),
        lambda path: lzma.open(path, "wb", format=lzma.FORMAT_ALONE, preset=0),
    ):
        path = tmp_path / "x"
        with write(path) as out:
            for at in range(0, len(PLAIN), 99_991):
                out.write(PLAIN[at : at + 99_991])
        with compress.open(path) as file:
            assert file.read() == PLAIN
        assert compress.decompress(path.read_bytes()) == PLAIN


@pytest.mark.parametrize("size", [0, 1, 65_279, 65_280, 65_281, 1 << 21, (1 << 21) + 1])
def test_single_is_whole_in_one_shot_readers(size: int) -> None:
    """``layout="single"`` is for readers that stop after the first frame or member."""
    import bz2
    import gzip
    import lzma
    import zlib

    lz4_frame, zstandard = need_module("lz4.frame"), need_module("zstandard")
    plain = (PLAIN * 2)[:size]
    read = {
        "zstd": lambda data: zstandard.decompress(data, max_output_size=1 << 22),
        "lz4": lz4_frame.decompress,
        "gzip": lambda data: zlib.decompress(data, wbits=31),
        "bz2": bz2.decompress,
        "xz": lzma.decompress,
    }
    for name, oracle in read.items():
        stored = compress.compress(plain, "xz:0" if name == "xz" else name)
        assert oracle(stored) == plain
        assert compress.decompress(stored, name) == plain
    assert gzip.decompress(compress.compress(plain, "gzip:1", layout="seekable")) == plain


def test_zlib_is_read_when_named(tmp_path) -> None:
    """Never told by its bytes, never written, and as strict as the others."""
    import zlib

    stored = zlib.compress(PLAIN)
    path = tmp_path / "x"
    path.write_bytes(stored)
    assert compress.decompress(stored, "zlib") == PLAIN
    assert compress.decompress(stored) == stored
    with compress.open(path, compressor="zlib") as file:
        assert not file.seekable()
        assert file.read() == PLAIN
        assert (file.info.container, file.info.units, file.info.complete) == ("zlib", 1, "proven")
    with compress.open_reader(path, "zlib") as reader:
        assert reader.read() == PLAIN
    for at in (0, 1, 2, 1000, len(stored) - 1):
        with pytest.raises(Truncated) as cut:
            compress.decompress(stored[:at], "zlib")
        assert (cut.value.format, cut.value.offset) == ("zlib", at)
    with pytest.raises(Malformed) as tailed:
        compress.decompress(stored + b"\0", "zlib")
    assert tailed.value.offset == len(stored)
    with pytest.raises(ChecksumMismatch):
        compress.decompress(stored[:-1] + bytes([stored[-1] ^ 1]), "zlib")
    with pytest.raises(Limit, match="max_output"):
        compress.decompress(stored, "zlib", max_output=len(PLAIN) - 1)
    path.unlink()
    for write in (lambda: compress.compress(b"x", "zlib"), lambda: compress.open(path, "wb", "zlib")):
        with pytest.raises(UsageError, match="never written"):
            write()
    with pytest.raises(UsageError, match="never written"):
        compress.parse("zlib")
    assert not path.exists()
