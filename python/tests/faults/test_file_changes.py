"""A file that changes while `tare compress`, `decompress` or `blit encode` reads it: told, and nothing written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tare import compress, unchanged
from tare.cli import main
from tare.compressed_files import compress_file, decompress_file
from tare.errors import SourceChanged, TareError, Truncated

PLAIN = os.urandom(6 << 20)
TOLD = "changed while it was read; nothing was written"


def truncated(path: Path) -> None:
    """Cut."""
    os.truncate(path, path.stat().st_size * 2 // 3)


def overwritten(path: Path) -> None:
    """Other bytes of the same size."""
    time = path.stat().st_mtime_ns
    with open(path, "r+b") as file:
        file.seek(-100, os.SEEK_END)
        file.write(b"x" * 100)
    os.utime(path, ns=(time, time + 1))  # clocks of file systems tick slower than this test writes


def appended(path: Path) -> None:
    """A byte more."""
    with open(path, "ab") as file:
        file.write(b"x")


def replaced(path: Path) -> None:
    """Another file under its name."""
    path.with_name("other").write_bytes(b"another")
    os.replace(path.with_name("other"), path)


CHANGES = [truncated, overwritten, appended]


def once(path: Path, change: Callable[[Path], None]) -> Callable[[int, int, int], None]:
    """Change the file after the first step."""
    todo = [change]

    def tell(_plain: int, _stored: int, _total: int) -> None:
        if todo:
            todo.pop()(path)

    return tell


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_bytes(PLAIN)
    (tmp_path / "out").mkdir()
    return path


@pytest.fixture
def stored(plain: Path) -> Path:
    path = plain.with_name("a.csv.zst")
    path.write_bytes(compress.compress(PLAIN, "zstd:1"))
    return path


@pytest.mark.parametrize("change", CHANGES)
def test_compressed(plain: Path, change: Callable[[Path], None]) -> None:
    """No file of two versions, nor of a part."""
    out = plain.parent / "out"
    with pytest.raises(SourceChanged, match=rf"a\.csv {TOLD}$"):
        compress_file(str(plain), str(out / "a.zst"), "zstd:1", on_progress=once(plain, change))
    assert os.listdir(out) == []


@pytest.mark.parametrize("change", CHANGES)
def test_decompressed(stored: Path, change: Callable[[Path], None]) -> None:
    """That it changed is told before what is wrong with its bytes by now."""
    out = stored.parent / "out"
    with pytest.raises(SourceChanged, match=rf"a\.csv\.zst {TOLD}$"):
        decompress_file(str(stored), str(out / "a"), on_progress=once(stored, change))
    assert os.listdir(out) == []


def test_replaced_by_renaming(plain: Path, stored: Path) -> None:
    """What is open stays what it was; what took its place is not removed for it."""
    out = plain.parent / "out"
    compress_file(str(plain), str(out / "a.zst"), "zstd:1", on_progress=once(plain, replaced))
    assert compress.decompress((out / "a.zst").read_bytes()) == PLAIN
    with pytest.raises(TareError, match="stays: it is another file"):
        decompress_file(str(stored), str(out / "a"), remove=True, on_progress=once(stored, replaced))
    assert (out / "a").read_bytes() == PLAIN
    assert stored.read_bytes() == b"another"


def test_what_was_cut_before_is_told_as_ever(stored: Path) -> None:
    """A file that is wrong and has not changed."""
    truncated(stored)
    with pytest.raises(Truncated):
        decompress_file(str(stored), str(stored.parent / "out" / "a"))


@pytest.mark.parametrize("options", [[], ["--ndjson"]])
@pytest.mark.parametrize("change", [*CHANGES, replaced])
def test_blit_encode(
    options: list[str],
    change: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Changed after it was opened: exit code 1 and nothing written, but where it stays what was opened."""
    path = tmp_path / "a.ndjson"
    path.write_text("[" + "1, " * 1000 + "1]\n")
    was = unchanged.opened

    def then_change(name: str, descriptor: int) -> unchanged.Watch:
        watch = was(name, descriptor)
        change(path)
        return watch

    monkeypatch.setattr(unchanged, "opened", then_change)
    (tmp_path / "out").mkdir()
    with pytest.raises(SystemExit) as ended:
        main(["blit", "encode", *options, str(path), "-o", str(tmp_path / "out" / "a.blit")])
    if change is replaced:
        assert not ended.value.code
        assert os.listdir(tmp_path / "out") == ["a.blit"]
        return
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith(f"tare: {str(path)[:60]}"), said  # a long name is cut
    assert said.endswith(f" {TOLD}\n"), said
    assert os.listdir(tmp_path / "out") == []
