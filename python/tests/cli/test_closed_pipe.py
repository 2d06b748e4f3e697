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


def test_a_pipe_that_is_not_standard_output_is_a_failure(tmp_path, monkeypatch, capsys):
    """A write that fails elsewhere fails the command, with a message."""
    from tare import cli, io

    def broken(*_, **__):
        raise BrokenPipeError("out.fifo: nobody reads it")

    monkeypatch.setattr(io, "inspect", broken)
    with pytest.raises(SystemExit) as end:
        cli.main(["inspect", "x"])
    assert (1, "tare: out.fifo: nobody reads it\n") == (end.value.code, capsys.readouterr().err)
