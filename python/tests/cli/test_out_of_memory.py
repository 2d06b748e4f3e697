"""A command that runs out of memory says so in one sentence, and leaves nothing half-written."""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys

import pyarrow as pa
import pytest
from support.capabilities import need
from support.commands import invoke

TARE = [sys.executable, "-c", "from tare.cli import main; main()"]
COMMANDS = {
    "convert": ("convert", "x.csv", "y.parquet"),
    "inspect": ("inspect", "x.csv"),
    "compress": ("compress", "x.csv"),
    "measure": ("measure", "x.csv", "--time", "3s"),
}


def held_to(limit, *words, cwd, stdin=None):
    """Runs a command in a process that is held to so many bytes of addresses."""

    def hold():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return subprocess.run([*TARE, *words], capture_output=True, text=True, cwd=cwd, preexec_fn=hold, stdin=stdin, timeout=120, check=False)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("error", [MemoryError(), MemoryError("malloc of size 42\nfailed."), pa.ArrowMemoryError("malloc of size 42\nfailed."), RuntimeError("can't start new thread"), pa.ArrowException("Failed to launch worker thread")], ids=["plain", "why", "arrow", "thread", "arrow's thread"])  # fmt: skip
def test_one_sentence_and_exit_code_1(tmp_path, monkeypatch, words, error):
    (tmp_path / "x.csv").write_bytes(b"a,b\n1,x\n2,y\n")

    def fail(*_args, **_named):
        raise error

    monkeypatch.setattr("tare.datasets.source._file", fail)
    monkeypatch.setattr("tare.compressed_files.compress_file", fail, raising=False)
    monkeypatch.setattr("tare.compress.open", fail)
    done = invoke(*words, cwd=tmp_path)
    said = " ".join(str(error).split()).rstrip(".")
    why = f" ({said})" if said else ""
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"tare: not enough memory{why}. End other programs")
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_what_was_begun_is_taken_away(tmp_path, monkeypatch):
    """Memory ends while the result is written."""
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    (tmp_path / "y.json").write_bytes(b"old")

    def fail(*_args, **_named):
        raise MemoryError

    monkeypatch.setattr("tare.io.Conversion", fail)  # the last there is, within the block that writes
    monkeypatch.setattr("tare.atomic.os.replace", fail)
    done = invoke("convert", "x.csv", "y.json", "--force", cwd=tmp_path)
    assert (done.returncode, (tmp_path / "y.json").read_bytes()) == (1, b"old")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv", "y.json"]


@pytest.mark.parametrize("piped", [False, True])
def test_a_small_file_needs_little_memory(tmp_path, piped):
    """What is decompressed or piped was asked for with half of the machine's free memory at once."""
    need(sys.platform == "linux", "the limit is Linux's")
    path = tmp_path / "x.ndjson.gz"
    path.write_bytes(gzip.compress(b'{"a":1}\n'))
    with path.open("rb") as file:
        words = ("convert", "-" if piped else path.name, "y.parquet", "--from", "ndjson")
        done = held_to(3_000_000_000, *words, cwd=tmp_path, stdin=file if piped else None)
    assert (done.returncode, (tmp_path / "y.parquet").exists()) == (0, True), done.stderr


def test_data_that_does_not_fit_is_told_in_a_sentence(tmp_path):
    need(sys.platform == "linux", "the limit is Linux's")
    with gzip.open(tmp_path / "x.json.gz", "wb", 1) as file:
        file.write(b"[" + b"0," * 100_000_000 + b"0]")
    done = held_to(1_000_000_000, "convert", "x.json.gz", "y.msgpack", cwd=tmp_path)
    assert done.returncode == 1
    assert "not enough memory" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.json.gz"]
