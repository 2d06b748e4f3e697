"""A source that changes while it is converted: told, and nothing written; in the middle, by the reader itself."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tare
from tare import io as tare_io
from tare import unchanged
from tare.cli import main
from tare.converting import batches
from tare.datasets.source import Source
from tare.errors import SourceChanged, Truncated
from tare.scale.failures import SourceChanged as OldName

ROWS = 60_000
TEXTS = {
    "csv": "id,when,name\n" + "".join(f"{n},2024-01-02 03:04:05,name{n % 97:03}\n" for n in range(ROWS)),
    "ndjson": "".join(f'{{"id": {n}, "when": "2024-01-02", "name": "n{n % 97:03}"}}\n' for n in range(ROWS)),
    "json": json.dumps([{"id": n, "name": f"n{n % 97:03}"} for n in range(ROWS)]),
}


def truncated(path: Path) -> None:
    """Cut, in the middle of a row."""
    os.truncate(path, path.stat().st_size * 2 // 3 + 5)


def overwritten(path: Path) -> None:
    """Other values in place, of the same size."""
    size, time = path.stat().st_size, path.stat().st_mtime_ns
    with open(path, "r+b") as file:
        file.seek(size // 2)
        rest = file.read()
        file.seek(size // 2)
        file.write(rest.replace(b"n0", b"n9"))
    os.utime(path, ns=(time, time + 1))  # clocks of file systems tick slower than this test writes
    assert path.stat().st_size == size


def appended(path: Path) -> None:
    """One more row."""
    with open(path, "ab") as file:
        file.write(path.read_bytes().splitlines(keepends=True)[-1])


def replaced(path: Path) -> None:
    """Another file under its name."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().replace(b"n0", b"n9"))
    os.replace(other, path)


def touched(path: Path) -> None:
    """Another time, which is what writing in place leaves too."""
    os.utime(path, (1, 1))


CHANGES = [truncated, overwritten, appended]


class Hooked(io.BufferedReader):
    """A file that has something done once so many bytes were read of it."""

    def __init__(self, path: str, after: int, do: Callable[[], None]) -> None:
        super().__init__(io.FileIO(path), buffer_size=4096)
        self._left, self._do = after, do

    def _count(self, read: int) -> None:
        self._left -= read
        if self._left <= 0:
            self._do()

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:  # in parts, so that there is a middle
            return b"".join(iter(lambda: self.read(1 << 16), b""))
        data = super().read(size)
        self._count(len(data))
        return data

    def read1(self, size: int = -1, /) -> bytes:
        data = super().read1(size)
        self._count(len(data))
        return data

    def readinto(self, place: Any, /) -> int:
        read = super().readinto(place)
        self._count(read)
        return read


@pytest.fixture
def changing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[], int]]:
    """Change a file once it was opened so many times and a third of it was read by the last of them."""

    def plant(path: Path, change: Callable[[Path], None], *, opening: int = 1) -> Callable[[], int]:
        count = done = 0
        was = Source.open_stored

        def once() -> None:
            nonlocal done
            if not done:
                done = 1
                change(path)

        def hooked(source: Source) -> Any:
            nonlocal count
            file = was(source)
            count += 1
            if count < opening or source.path is None:
                return file
            file.close()
            return Hooked(source.path, source.size // 3, once)

        monkeypatch.setattr(Source, "open_stored", hooked)
        return lambda: done

    return plant


def stream_in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table goes batch by batch, in many steps."""
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    monkeypatch.setattr(batches, "_BLOCK_BYTES", 100_000)


def written(tmp_path: Path, name: str) -> Path:
    path = tmp_path / "in" / name
    path.parent.mkdir()
    text = TEXTS[name.split(".")[1]].encode()
    path.write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    (tmp_path / "out").mkdir()
    return path


@pytest.mark.parametrize(
    ("name", "opening"),
    [("big.csv", 1), ("big.csv", 2), ("big.csv.gz", 1), ("big.csv.gz", 2), ("big.ndjson", 1)],
)
@pytest.mark.parametrize("change", CHANGES)
def test_streamed(name, change, opening, changing, monkeypatch, tmp_path):
    """In the pass that finds the types and in the one that writes, which are one of NDJSON: told, and nothing is left of a result."""
    stream_in_small_steps(monkeypatch)
    path = written(tmp_path, name)
    opening += name.endswith(".gz")  # its head is one more
    done = changing(path, change, opening=opening)
    with pytest.raises(SourceChanged, match=rf"^{name} changed while it was read; nothing was written$"):
        tare.convert(path, tmp_path / "out" / "r.parquet")
    assert done()
    assert os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["big.csv", "big.ndjson", "big.json"])
def test_whole(name, change, changing, tmp_path):
    """What is read into memory too; what was at the destination stays."""
    path = written(tmp_path, name)
    (tmp_path / "out" / "r.parquet").write_text("old")
    done = changing(path, change)
    with pytest.raises(SourceChanged, match=rf"^{name} changed while it was read; nothing was written$"):
        tare.convert(path, tmp_path / "out" / "r.parquet", verify=False)
    assert done()
    assert os.listdir(tmp_path / "out") == ["r.parquet"]
    assert (tmp_path / "out" / "r.parquet").read_text() == "old"


@pytest.mark.parametrize("change", CHANGES)
def test_only_the_compression_changes(change, changing, tmp_path):
    """Bytes that are copied are those of one version."""
    path = written(tmp_path, "big.csv")
    done = changing(path, change)
    with pytest.raises(SourceChanged):
        tare.convert(path, tmp_path / "out" / "big.csv.zst")
    assert done()
    assert os.listdir(tmp_path / "out") == []


def test_a_binary_file_that_is_streamed(monkeypatch, tmp_path):
    """Readers that open the path themselves; between two batches."""
    stream_in_small_steps(monkeypatch)
    path = written(tmp_path, "big.csv")
    monkeypatch.setattr(batches, "_BATCH_ROWS", 1000)
    big = tmp_path / "in" / "big.arrow"
    for change in (touched, replaced):
        tare.convert(path, big)
        todo = [change]

        def during(_done: int, _total: int, todo: list[Callable[[Path], None]] = todo) -> None:
            if todo:
                todo.pop()(big)

        with pytest.raises(SourceChanged, match=r"big\.arrow changed"):
            tare.convert(big, tmp_path / "out" / "r.parquet", on_progress=during)
        assert os.listdir(tmp_path / "out") == []


def test_replaced_by_renaming_in_the_last_pass(changing, monkeypatch, tmp_path):
    """Text that is open stays what it was."""
    stream_in_small_steps(monkeypatch)
    path = written(tmp_path, "big.csv")
    done = changing(path, replaced, opening=2)
    made = tare.convert(path, tmp_path / "out" / "r.parquet")
    assert done()
    assert (made.streamed, made.rows) == (True, ROWS)
    names = tare.read(tmp_path / "out" / "r.parquet")["name"].to_pylist()
    assert names == [f"name{n % 97:03}" for n in range(ROWS)]


def test_replaced_by_renaming_between_two_passes(changing, monkeypatch, tmp_path):
    """Types of one file and values of another are no result."""
    stream_in_small_steps(monkeypatch)
    path = written(tmp_path, "big.csv")
    done = changing(path, replaced, opening=1)
    with pytest.raises(SourceChanged):
        tare.convert(path, tmp_path / "out" / "r.parquet")
    assert done()
    assert os.listdir(tmp_path / "out") == []


def test_removed_while_it_is_open(changing, tmp_path):
    """What was read is whole, and nothing else can have come in its place."""
    path = written(tmp_path, "big.json")
    done = changing(path, Path.unlink)
    assert tare.convert(path, tmp_path / "out" / "r.parquet").rows == ROWS
    assert done()


def test_errors_of_a_file_that_changed_yield(changing, tmp_path):
    """No position is told that the file on the disk has not; that of one that is wrong is."""
    path = written(tmp_path, "big.ndjson")
    done = changing(path, truncated)
    with pytest.raises(SourceChanged) as caught:
        tare.convert(path, tmp_path / "out" / "r.parquet")
    assert done()
    assert isinstance(caught.value.__cause__, Truncated)
    with pytest.raises(Truncated, match=r"big\.ndjson: ndjson: it ends inside"):
        tare.convert(path, tmp_path / "out" / "r.parquet")


def test_a_change_after_the_last_byte_is_none(monkeypatch, tmp_path):
    """What was in memory is one version: encoding and comparing may take their time."""
    path = written(tmp_path, "big.csv")
    was = tare_io._verify

    def during(*given: Any) -> Any:
        appended(path)
        return was(*given)

    monkeypatch.setattr(tare_io, "_verify", during)
    assert tare.convert(path, tmp_path / "out" / "r.parquet").rows == ROWS


def test_the_command(changing, capsys, tmp_path):
    """Exit code 1 and one line; on standard output that what came is not to be used."""
    path = written(tmp_path, "big.csv")
    done = changing(path, truncated)
    with pytest.raises(SystemExit) as ended:
        main(["convert", str(path), str(tmp_path / "out" / "r.parquet")])
    assert done()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "tare: big.csv changed while it was read; nothing was written\n"
    assert os.listdir(tmp_path / "out") == []
    changing(path, appended)
    with pytest.raises(SourceChanged, match="what came out is not to be used"):
        tare.convert(path, io.BytesIO(), codec="parquet")


def test_reading_takes_what_there_is(changing, tmp_path):
    """`read` gives what it found: it writes nothing that would outlive it."""
    path = written(tmp_path, "big.csv")
    done = changing(path, appended)
    assert tare.read(path).num_rows >= ROWS
    assert done()


def test_what_is_not_watched(tmp_path):
    """Pipes, values, and files without a size, as those of the kernel are."""
    read, write = os.pipe()
    assert unchanged.identity(os.fstat(read)) is None
    os.close(read)
    os.close(write)
    (tmp_path / "empty").touch()
    assert unchanged.identity(os.stat(tmp_path / "empty")) is None
    assert tare.convert([{"a": 1}], tmp_path / "a.json").rows == 1
    assert OldName is SourceChanged


def test_an_unchanged_file_costs_a_few_looks(monkeypatch, tmp_path):
    """However many batches there are."""
    stream_in_small_steps(monkeypatch)
    path = written(tmp_path, "big.csv")
    looks = 0
    was = os.fstat

    def counted(descriptor: int) -> os.stat_result:
        nonlocal looks
        looks += 1
        return was(descriptor)

    monkeypatch.setattr(os, "fstat", counted)
    assert tare.convert(path, tmp_path / "out" / "r.parquet").streamed
    assert looks < 10
