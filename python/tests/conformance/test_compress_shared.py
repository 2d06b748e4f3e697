"""Files that the formats' own authors and testers made: read, or refused, as they say."""

from __future__ import annotations

import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tare import compress
from tare.errors import DecodeError, TareError, Unsupported

FOLDER = "data/compress"


def both_ways(data: bytes, name: str) -> bytes:
    """What one-shot and stream give, which must be the same."""
    plain = compress.decompress(data, name)
    with compress.open_reader(io.BytesIO(data), name) as reader:
        assert reader.read() == plain
    return plain


def refused(data: bytes, name: str) -> type[TareError]:
    """How one-shot refuses, and that the stream does too."""
    with pytest.raises(TareError) as caught:
        compress.decompress(data, name)
    with pytest.raises(TareError), compress.open_reader(io.BytesIO(data), name) as reader:
        reader.read()
    return caught.type


def members(path: Path) -> dict[str, bytes]:
    """The files of a zip archive."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def test_golden_decompression(shared: Callable[[str], Path]) -> None:
    """Zstd's golden files have the sizes their authors give."""
    folder = shared(f"{FOLDER}/zstd/golden-decompression")
    sizes = {path.stem: len(both_ways(path.read_bytes(), "zstd")) for path in folder.glob("*.zst")}
    assert sizes == {"block-128k": 131_068, "empty-block": 0, "rle-first-block": 1_048_576, "zeroSeq_2B": 13}


def test_golden_errors(shared: Callable[[str], Path]) -> None:
    """Zstd's golden errors are all refused."""
    paths = sorted(shared(f"{FOLDER}/zstd/golden-decompression-errors").glob("*.zst"))
    assert len(paths) == 3
    for path in paths:
        assert issubclass(refused(path.read_bytes(), "zstd"), DecodeError)


def test_decodecorpus(shared: Callable[[str], Path]) -> None:
    """Frames with rare features of zstd give exactly their twin."""
    paths = sorted(shared(f"{FOLDER}/decodecorpus").glob("*.zst"))
    assert len(paths) == 53
    for path in paths:
        assert both_ways(path.read_bytes(), "zstd") == path.with_suffix("").read_bytes()


def test_versions_of_zstd(shared: Callable[[str], Path]) -> None:
    """0.8 and today are read; 0.5 to 0.7 are refused by their version's name."""
    folder = shared(f"{FOLDER}/zstd-rs")
    plain = (folder / "example.txt").read_bytes()
    for name in ("example.txt.zst", "example.txt.v8.zst"):
        assert both_ways((folder / name).read_bytes(), "zstd") == plain
    for version in (5, 6, 7):
        data = (folder / f"example.txt.v{version}.zst").read_bytes()
        assert refused(data, "zstd") is Unsupported
        with pytest.raises(Unsupported, match=rf"zstd 0\.{version}"):
            compress.decompress(data, "zstd")


def test_bad_frames(shared: Callable[[str], Path]) -> None:
    """Every frame of the collection of bad ones is refused, in one shot and as a stream."""
    frames = members(shared(f"{FOLDER}/klauspost/bad.zip"))
    # The others say in words what is wrong with the frame of their name.
    damaged = {name: data for name, data in frames.items() if name.endswith(".zst")}
    assert len(damaged) == 32
    for data in damaged.values():
        refused(data, "zstd")


def test_good_frames(shared: Callable[[str], Path]) -> None:
    """Every good frame is read, but for one with an empty compressed block, as libzstd does."""
    frames = members(shared(f"{FOLDER}/klauspost/good.zip"))
    packed = {name: data for name, data in frames.items() if compress.sniff(data) == "zstd"}
    refusing = []
    for name, data in packed.items():
        try:
            both_ways(data, "zstd")
        except TareError:
            refusing.append(name)
    assert len(packed) >= 12
    assert [name[:8] for name in refusing] in ([], ["2274d31e"])


def test_lz4_frames(shared: Callable[[str], Path]) -> None:
    """lz4 files give exactly what their gzip twin gives; the legacy one too."""
    folder = shared(f"{FOLDER}/lz4")
    names = ["Mark.Twain-Tom.Sawyer.txt", "e.txt", "gettysburg.txt", "random.data", "repeat.txt"]
    for name in names:
        twin = (folder / f"{name}.gz").read_bytes()
        plain = both_ways((folder / f"{name}.lz4").read_bytes(), "lz4")
        assert plain == both_ways(twin, "gzip") == gzip.decompress(twin)
    legacy = (folder / "Mark.Twain-Tom.Sawyer_legacy.txt.lz4").read_bytes()
    plain = gzip.decompress((folder / f"{names[0]}.gz").read_bytes())
    # One block, its plain size as Linux adds it, then 4096 bytes of text, which lz4 refuses too.
    assert both_ways(legacy[:-4100], "lz4") == plain
    assert both_ways(legacy[:-4096], "lz4") == plain
    assert issubclass(refused(legacy, "lz4"), DecodeError)
    assert issubclass(refused((folder / "malformed.block.lz4").read_bytes(), "lz4"), DecodeError)


def test_skippable_frames(shared: Callable[[str], Path]) -> None:
    """A skippable frame holds nothing: alone, before and after other frames."""
    skip = shared(f"{FOLDER}/lz4/skip.bin").read_bytes()
    for name in ("lz4", "zstd"):
        one = compress.compress(b"data", name)
        assert both_ways(skip, name) == b""
        assert both_ways(skip + one + skip + one, name) == b"datadata"


def test_corpus_comes_back(shared: Callable[[str], Path]) -> None:
    """Real texts, tables and pictures come back from every compressor at its default level."""
    paths = sorted(shared(f"{FOLDER}/corpus").iterdir())
    assert paths
    for path in paths:
        data = path.read_bytes()
        plain = lzma.decompress(data) if path.suffix == ".xz" else data
        if path.suffix == ".xz":
            assert both_ways(data, "xz") == plain
        for known in compress.COMPRESSORS:
            id = "xz:1" if known.name == "xz" else known.name  # its default takes minutes here
            assert both_ways(compress.compress(plain, id), known.name) == plain
