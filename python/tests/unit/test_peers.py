"""Other libraries' compressors in codec ids: named, run as their users run them, refused where they do not belong."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from support.capabilities import need_codec

import tare
from tare import Route, compress
from tare.cli.codecs import command as codecs_command
from tare.codec import Codec, peers, set_threads
from tare.errors import DecodeError, MissingLibrary, Unsupported, UsageError
from tare.measure.plan.availability import asked_for, supports
from tare.measure.worker.peak_memory import peak

IDS = [
    "gzip:6,library=stdlib",
    "gzip:1,library=isal",
    "gzip:6,library=zlib-ng",
    "lz4:9,library=lz4",
    "zstd:3,library=cramjam",
    "zstd:3,library=zstandard",
    "blosc2:5",
    "blosc2:5,codec=lz4",
]


def doubles(count: int) -> pa.Table:
    """A table of one column of doubles that are the same each time."""
    return pa.table({"x": np.random.default_rng(count).random(count).round(2)})


def codec_of(id: str) -> Codec:
    """The codec of doubles behind that compressor, which must be installed."""
    return need_codec(f"arrow:pyarrow+{id}")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("zstd,library=zstandard", "zstd:3,library=zstandard"),
        ("zstd:3,library=tare", "zstd:3"),
        ("lz4:1,library=lz4", "lz4:1,library=lz4"),
        ("gzip,library=isal", "gzip:2,library=isal"),
        ("blosc2", "blosc2:5"),
        ("blosc2:9,library=blosc2,codec=zstd", "blosc2:9"),
        ("blosc2:5,codec=lz4", "blosc2:5,codec=lz4"),
        ("zstd:9,chunk=4MiB", "zstd:9,chunk=4MiB"),
        ("gzip,layout=members", "gzip:6,layout=members"),
    ],
)
def test_ids_print_canonically(text: str, printed: str) -> None:
    """Tare's own library is left out, as is one that has a container of its own; the level is always there."""
    codec = Codec.parse(f"arrow:pyarrow+{text}")
    assert f"arrow:pyarrow+{printed}" == str(codec)
    assert codec == Codec.parse(str(codec))
    assert str(Route(f"{codec}@file")) == f"{codec}@file"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("zstd,library=zstandrd", "did you mean zstandard"),
        ("lz4,library=isal", "no library 'isal'"),
        ("gzip:6,library=isal", "levels of isal are 0 to 3"),
        ("zstd:x,library=zstandard", "levels of zstandard"),
        ("zstd,library=zstandard,chunk=4MiB", "zstandard has no option 'chunk'"),
        ("zstd,library=zstandard,library=tare", "given twice"),
        ("zstd,library", "expected key=value"),
        ("blosc2:5,codec=brotli", r"expected zstd\|lz4"),
        ("blosc", "did you mean blosc2"),
        ("zstd:3,chnk=4MiB", "no option"),
        ("none,library=zstandard", "no library"),
    ],
)
def test_wrong_ids_say_what_is_right(text: str, said: str) -> None:
    """A wrong library, level or option names those that there are."""
    with pytest.raises(UsageError, match=said):
        Codec.parse(f"arrow:pyarrow+{text}")


@pytest.mark.parametrize("count", [0, 1, 10, 100_000])
@pytest.mark.parametrize("id", IDS)
def test_every_byte_comes_back(id: str, count: int) -> None:
    """In memory and through a file, with one thread and all of them."""
    codec, table = codec_of(id), doubles(count)
    for threads in (1, "all"):
        set_threads(codec, threads)
        assert codec.decode(codec.encode(table)).equals(table)
        file = io.BytesIO()
        codec.writer("table")(table, file)
        file.seek(0)
        assert codec.reader("table")(file).equals(table)
    set_threads(codec, "all")


@pytest.mark.parametrize("id", IDS)
def test_the_library_that_is_named_is_the_one_that_runs(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tare's compressor is not called, and its reader finds the container that the id says."""
    codec, table = codec_of(id), doubles(1000)
    plain = Codec.parse("arrow:pyarrow").encode(table)
    with monkeypatch.context() as patched:
        patched.setattr(compress, "compress", None)
        patched.setattr(compress, "open", None)
        encoded = codec.encode(table)
    if codec.compressor != "blosc2":
        assert plain == compress.decompress(encoded, codec.compressor)
    assert codec.compressor_options()["library"] in codec.versions()


@pytest.mark.parametrize("id", IDS)
def test_damage_is_an_error_of_ours(id: str) -> None:
    """Whatever the library raises for half of its bytes is a DecodeError."""
    codec = codec_of(id)
    encoded = codec.encode(doubles(10_000))
    with pytest.raises(DecodeError):
        codec.decode(encoded[: len(encoded) // 2])


def test_what_is_missing_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of the plan, an explicit --codec, a call and the listing all give the install line."""
    line = "pip install zstandard"
    monkeypatch.setattr(
        peers, "PEERS", tuple(replace(one, modules=("no_such_module_of_any_kind",)) for one in peers.PEERS)
    )
    id = "arrow:pyarrow+zstd:3,library=zstandard"
    assert f"not installed: {line}" == supports({"codec": id, "medium": "memory"})
    with pytest.raises(MissingLibrary, match=line):
        asked_for([id], [])
    with pytest.raises(MissingLibrary, match="zstandard is not installed"):
        Codec.parse(id).encode(doubles(1))
    shown = CliRunner().invoke(codecs_command, ["--missing"], catch_exceptions=False, standalone_mode=False)
    assert "zstandard" in shown.stdout.split()


def test_threads_are_of_the_medium() -> None:
    """The gzip libraries have threads for files only; a codec of one thread gets those of the compressor."""
    labels = {"codec": "arrow:pyarrow+gzip:1,library=isal", "threads": "all"}
    need_codec(labels["codec"])
    assert supports({**labels, "medium": "file"}) is None
    assert (1,) == Codec.parse("csv:stdlib+lz4:1,library=lz4").threads()
    assert (1, "all") == Codec.parse("csv:stdlib+lz4:1").threads()
    assert (1,) == Codec.parse("csv:stdlib+gzip:1,library=isal").threads("memory")
    said = supports({"codec": "csv:stdlib+gzip:1,library=isal", "medium": "memory", "threads": "all"})
    assert "isal uses one thread only" == said


@pytest.mark.parametrize("id", ["gzip:6,library=stdlib", "blosc2:5"])
def test_files_are_not_written_with_them(id: str, tmp_path: Any) -> None:
    """Reading, writing and converting refuse in words that name what to take; the route runs."""
    codec, path = codec_of(id), tmp_path / "x.arrow"
    route = Route(f"{codec}@file")
    assert route.write(doubles(10), path) == path.stat().st_size
    assert route.read(path).equals(doubles(10))
    (tmp_path / "x.csv").write_text("x\n1\n")
    for call in (
        lambda: tare.write(doubles(10), tmp_path / "y", codec=str(codec)),
        lambda: tare.read(path, codec=str(codec)),
        lambda: tare.convert(tmp_path / "x.csv", tmp_path / "y", codec=str(codec)),
    ):
        with pytest.raises(
            Unsupported, match=r"are not written and read with .*Choose arrow:pyarrow with \+"
        ):
            call()
    assert not (tmp_path / "y").exists()
    with pytest.raises(Unsupported, match="cannot be appended to"):
        Codec.parse(f"csv:pyarrow+{id}").append(doubles(1))


def test_options_of_an_id_reach_the_file(tmp_path: Any) -> None:
    """Chunks and layout that an id names are those of the file, by encode, write, route and convert."""
    table, id = doubles(100_000), "arrow:pyarrow+zstd:1,chunk=64KiB"
    expected = 13  # 800 kB in chunks of 64 KiB
    assert expected == compress.info(io.BytesIO(Codec.parse(id).encode(table))).units
    tare.write(table, tmp_path / "a.arrow.zst", codec=id)
    Route(f"{id}@file").write(table, tmp_path / "b.arrow.zst")
    tare.write(table, tmp_path / "c.arrow")
    tare.convert(
        tmp_path / "c.arrow", tmp_path / "d.arrow.zst", codec="arrow+zstd:1,chunk=64KiB", verify=False
    )
    for name in "abd":
        found = compress.info(tmp_path / f"{name}.arrow.zst")
        assert (expected, "seekable") == (found.units, found.layout), name


@pytest.mark.parametrize("format", ["arrow:pyarrow", "csv:pyarrow", "parquet:pyarrow", "json:orjson"])
@pytest.mark.parametrize("end", ["", "+zstd:3", "+lz4:1", "+gzip:6"])
def test_a_file_holds_the_bytes_of_encode(format: str, end: str) -> None:
    """What is written part by part decompresses to the very bytes that are made whole."""
    codec, file = Codec.parse(format + end), io.BytesIO()
    size = codec.write(doubles(50_000), file)
    assert size == len(file.getvalue())
    plain = compress.decompress(file.getvalue(), codec.compressor or "none")
    assert plain == Codec.parse(format).encode(doubles(50_000))


@pytest.mark.alone
@pytest.mark.parametrize("id", ["arrow:pyarrow+zstd:1", "arrow:pyarrow+lz4:1", "csv:pyarrow+gzip:1"])
def test_writing_takes_little_memory_beside_the_table(id: str) -> None:
    """32 MB of doubles in one column: the compressor's buffers, and no copy of the column."""
    codec, table = Codec.parse(id), pa.table({"x": np.random.default_rng(1).random(4_000_000)})
    set_threads(codec, 1)
    with open("/dev/null", "wb") as nothing:
        codec.write(doubles(1000), nothing)
        found = peak(lambda: codec.write(table, nothing))
    set_threads(codec, "all")
    assert int(found["peak_bytes"]) < 20 << 20
