"""What a command does when the reader of its output has gone, as `head` does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.synthetic_records import synthetic_record

import tare
from tare.datasets.synthpop import synthpop
from tare.measure.records import record as records

TARE = [sys.executable, "-c", "from tare.cli import main; main()"]


def closed(*words, cwd):
    """Run with a pipe as standard output whose reading end is closed already."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [*TARE, *words], stdout=writing, stderr=subprocess.PIPE, cwd=cwd, timeout=120, check=False
        )
    finally:
        os.close(writing)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("inspect", "x.parquet"), 0),
        (("inspect", "x.parquet", "--json"), 0),
        (("codecs",), 0),
        (("report", "r.tare.json"), 0),
        (("report", "r.tare.json", "--csv"), 0),
        (("compare", "r.tare.json", "r.tare.json", "--all"), 0),
        (("gate", "--baseline", "r.tare.json", "r.tare.json"), 141),
        (("--help",), 0),
        (("inspect", "--help"), 0),
        (("convert", "x.parquet", "-", "--to", "ndjson"), 141),
        (("measure", "x.parquet", "--dry-run"), 141),
    ],
)
def test_a_closed_pipe_ends_quietly(words, code, tmp_path):
    """What only shows something ends with 0, what does something as of SIGPIPE; nothing is said."""
    tare.write(synthpop(2000), tmp_path / "x.parquet")
    record = synthetic_record("document", media=("memory",), growth=False, derived=False, seed=1)
    records.write_record(record, tmp_path / "r.tare.json")
    done = closed(*words, cwd=tmp_path)
    assert (code, b"") == (done.returncode, done.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("codecs",),
        ("codecs", "--json"),
        ("inspect", "x.parquet"),
        ("report", "r.tare.json"),
        ("report", "r.tare.json", "--csv"),
        ("compare", "r.tare.json", "r.tare.json", "--all"),
        ("gate", "--baseline", "r.tare.json", "r.tare.json"),
        ("--help",),
        ("--version",),
        ("inspect", "--help"),
        ("convert", "x.parquet", "-", "--to", "ndjson"),
        ("compress", "--stdout", "x.parquet"),
        ("blit", "encode", "x.json"),
        ("store", "get", "cache", "k"),
        ("store", "ls", "cache"),
        ("measure", "x.parquet", "--dry-run"),
    ],
)
def test_no_standard_output_is_told_in_words(words, tmp_path):
    """As of other programs: exit code 1, and a line on standard error if that is open."""
    tare.write(synthpop(2000), tmp_path / "x.parquet")
    (tmp_path / "x.json").write_text("[1]")
    with tare.open_store(tmp_path / "cache") as store:
        store["k"] = 1
    record = synthetic_record("document", media=("memory",), growth=False, derived=False, seed=1)
    records.write_record(record, tmp_path / "r.tare.json")
    line = [*TARE, *words]
    for close, said in ((">&-", b"tare: standard output: is closed\n"), (">&- 2>&-", b"")):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {close}', "sh", *line],
            capture_output=True,
            cwd=tmp_path,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (1, b"", said), words


@pytest.mark.parametrize("words", [("blit", "decode", "-"), ("convert", "-", "x.csv"), ("compress", "-")])
def test_no_standard_input_is_told_in_words(words, tmp_path):
    """No traceback, and no file that was opened later is read in its place."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *TARE, *words],
        capture_output=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"tare: standard input: is closed\n"


def test_what_prints_nothing_needs_no_standard_output(tmp_path):
    """Nor is what it writes mixed with what goes there."""
    tare.write(synthpop(200), tmp_path / "x.parquet")
    line = [*TARE, "convert", "x.parquet", "x.csv"]
    subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *line], cwd=tmp_path, timeout=120, check=True)
    assert tare.read(tmp_path / "x.csv").num_rows == 200


def test_a_pipe_that_is_not_standard_output_is_a_failure(tmp_path, monkeypatch, capsys):
    """A write that fails elsewhere fails the command, with a message."""
    from tare import cli, io

    def broken(*_, **__):
        raise BrokenPipeError("out.fifo: nobody reads it")

    monkeypatch.setattr(io, "inspect", broken)
    with pytest.raises(SystemExit) as end:
        cli.main(["inspect", "x"])
    assert (1, "tare: out.fifo: nobody reads it\n") == (end.value.code, capsys.readouterr().err)
