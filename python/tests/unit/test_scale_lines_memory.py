"""What a file of JSON lines is planned to take: by its text, not by its compressed bytes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from support.capabilities import need_module

import tare
from tare import scale
from tare.scale import plain


@pytest.mark.parametrize("size", [200, 300, 70_000])
def test_files_tell_their_text(tmp_path: Path, size: int) -> None:
    text = bytes(range(200)) * (size // 200 + 1)
    text = text[:size]
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    with tare.compress.open(tmp_path / "a.zst", "wb", "zstd:3") as file:
        file.write(text)
    (tmp_path / "a.txt").write_bytes(text)
    for name in ("a.gz", "a.txt"):
        assert plain.plain_bytes(str(tmp_path / name), 19) == (size if name == "a.gz" else 19)
    assert plain.plain_bytes(str(tmp_path / "a.zst"), 19) in (19, size)  # a stream need not say it


def test_zstd_says_its_size_in_each_width() -> None:
    zstandard = need_module("zstandard")
    for size in (0, 1, 255, 256, 70_000, 1 << 20):
        head = zstandard.ZstdCompressor(write_content_size=True).compress(b"a" * size)[:18].ljust(18, b"\0")
        assert plain._zstd(head) == size


@pytest.mark.parametrize(
    ("to", "least", "most"), [("parquet", 200 << 20, 256 << 20), ("csv", 500 << 20, 1 << 30)]
)
def test_a_plan_needs_what_it_takes(tmp_path: Path, to: str, least: int, most: int) -> None:
    text = b'{"a": 1, "b": "some text"}\n' * 2_200_000
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(text, 1))
    (tmp_path / "b.ndjson").write_bytes(b'{"a": 1}\n')
    units = {
        unit["output"]["names"][0]: unit
        for unit in scale.plan_convert(str(tmp_path), str(tmp_path / "o"), to=to).units()
    }
    assert least <= units[f"a.{to}"]["needs"]["memory"] <= most
    assert units[f"b.{to}"]["needs"]["memory"] == 99
