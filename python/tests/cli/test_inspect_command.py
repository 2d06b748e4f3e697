"""`tare inspect` as a user meets it: text of at most 100 columns, JSON, exit codes."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.capabilities import need_codec
from support.commands import invoke_bytes

import tare
from tare.datasets.synthpop import synthpop

TARE = [sys.executable, "-c", "from tare.cli import main; main()"]


@pytest.mark.parametrize(
    "name", ["x.parquet", "x.csv", "x.json", "x.msgpack", "x.pkl", "x.arrow", "x.csv.gz"]
)
def test_text_fits_in_a_hundred_columns(name, tmp_path):
    """Every line is at most 100 columns wide, on standard output, with exit code 0."""
    tare.write(synthpop(200), tmp_path / name)
    done = invoke_bytes("inspect", name, cwd=tmp_path)
    lines = done.stdout.decode().splitlines()
    assert (0, b"") == (done.returncode, done.stderr)
    assert lines[0].startswith(f"{name}  ")
    assert max(map(len, lines)) <= 100
    assert any("%" in line for line in lines)


def test_json_holds_everything(tmp_path):
    """--json is one object with format, rows, columns and parts."""
    tare.write(synthpop(200), tmp_path / "x.parquet")
    found = json.loads(invoke_bytes("inspect", "x.parquet", "--json", cwd=tmp_path).stdout)
    assert ("parquet", 200, 13) == (found["format"], found["rows"], len(found["columns"]))
    assert {"what", "bytes", "plain_bytes", "detail"} == set(found["parts"][0])


def test_a_pickle_is_described_and_not_run(tmp_path):
    """The flag stands in the text, with what would be imported."""
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(print))
    done = invoke_bytes("inspect", "x.pkl", cwd=tmp_path)
    assert b"! runs code when read" in done.stdout
    assert b"builtins.print" in done.stdout


def test_standard_input_can_be_inspected():
    """`-` takes a pipe."""
    done = subprocess.run(
        [*TARE, "inspect", "-"], input=b'{"a": 1}\n{"a": 2}\n', capture_output=True, timeout=120, check=True
    )
    assert done.stdout.startswith(b"standard input  NDJSON")


def test_damaged_and_unknown_files_have_code_one(tmp_path):
    """What is known is printed, and the fault."""
    tare.write(synthpop(200), tmp_path / "x.parquet")
    (tmp_path / "y.parquet").write_bytes((tmp_path / "x.parquet").read_bytes()[:-9])
    done = invoke_bytes("inspect", "y.parquet", cwd=tmp_path)
    assert 1 == done.returncode
    assert b"y.parquet  Parquet" in done.stdout
    assert b"! y.parquet: parquet:" in done.stdout
    (tmp_path / "z").write_bytes(b"\x01\x02\x03\x04")
    assert 1 == invoke_bytes("inspect", "z", cwd=tmp_path).returncode


@pytest.mark.parametrize(("name", "code"), [("missing.csv", 1), (".", 1), ("empty.csv", 1)])
def test_what_cannot_be_opened_is_one_line(name, code, tmp_path):
    """A message on standard error, no traceback."""
    (tmp_path / "empty.csv").write_bytes(b"")
    done = invoke_bytes("inspect", name, cwd=tmp_path)
    assert (code, b"") == (done.returncode, done.stdout)
    assert 1 == done.stderr.count(b"\n")
    assert done.stderr.startswith(b"tare: ")


def test_ten_thousand_columns_are_shortened(tmp_path):
    """The largest forty are listed, and how to see the others."""
    table = pa.table({f"c{k}": [k] for k in range(10_000)})
    tare.write(table, tmp_path / "wide.parquet")
    done = invoke_bytes("inspect", "wide.parquet", cwd=tmp_path)
    assert len(done.stdout.splitlines()) < 70
    assert b"9,960 more columns; --all lists them" in done.stdout


def test_names_from_files_cannot_move_the_cursor(tmp_path):
    """Escapes in column names are shown as text."""
    tare.write(pa.table({"a\x1b[2Jb": [1]}), tmp_path / "x.parquet")
    done = invoke_bytes("inspect", "x.parquet", cwd=tmp_path)
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize("name", ["x.parquet", "x.json", "x.csv.zst"])
def test_labels_and_values_stand_in_two_columns(name, tmp_path):
    """The longest label widens the column of all, and sizes are decimal as in every report."""
    tare.write(synthpop(200), tmp_path / name)
    lines = invoke_bytes("inspect", name, cwd=tmp_path).stdout.decode().splitlines()
    facts = lines[1 : lines.index("")]
    starts = {re.match(r"  \S+(?: \S+)* +", line[:23]).end() for line in facts if line[2] != " "}
    assert 1 == len(starts), facts
    assert re.search(r"bytes \([\d.]+ kB\)", lines[1])


def test_a_cut_table_is_said_to_be_readable_so_far(tmp_path):
    """Where it ends, how far it can be read, and no advice to inspect what is being inspected."""
    data = pa.table({"x": list(range(5000))})
    pq.write_table(data, tmp_path / "whole.parquet")
    with pa.ipc.new_file(tmp_path / "whole.arrow", data.schema) as file:
        file.write_table(data, max_chunksize=1000)
    with pa.ipc.new_stream(tmp_path / "whole.arrows", data.schema) as stream:
        stream.write_table(data, max_chunksize=1000)
    for name, said in (
        ("parquet", "no part of it can be read"),
        ("arrow", "2,000 rows in 2 record batches are readable, to byte "),
        ("arrows", "2,000 rows in 2 record batches are readable, to byte "),
    ):
        stored = (tmp_path / f"whole.{name}").read_bytes()
        (tmp_path / f"cut.{name}").write_bytes(stored[: len(stored) // 2])
        done = invoke_bytes("inspect", f"cut.{name}", cwd=tmp_path)
        text = " ".join(done.stdout.decode().split())
        assert 1 == done.returncode
        assert said in text
        assert "at byte" in text or "to byte" in text
        assert "tare inspect" not in text


def test_one_byte_is_no_bytes(tmp_path):
    """Counts are in the singular where they are one."""
    (tmp_path / "x.json").write_bytes(b"1")
    (tmp_path / "y.json").write_bytes(b"12")
    assert b"size               1 byte\n" in invoke_bytes("inspect", "x.json", cwd=tmp_path).stdout
    assert b"size               2 bytes\n" in invoke_bytes("inspect", "y.json", cwd=tmp_path).stdout


@pytest.mark.parametrize("format", ["json", "ndjson", "avro", "bson", "msgpack", "cbor", "yaml"])
def test_a_file_that_was_cut_ends_with_1(format, tmp_path):
    """And what can be told of the rest is told; a whole one ends with 0."""
    need_codec(format)
    rows = [{"id": n, "name": f"n{n}"} for n in range(50)]
    given = {"bson": {"rows": rows}, "avro": pa.Table.from_pylist(rows)}.get(format, rows)
    data = tare.encode(given, format)
    (tmp_path / "whole").write_bytes(data)
    (tmp_path / "cut").write_bytes(data[: len(data) * 2 // 3] + (b"\n{[" if format == "yaml" else b""))
    assert 0 == invoke_bytes("inspect", "whole", "--format", format, cwd=tmp_path).returncode
    done = invoke_bytes("inspect", "cut", "--format", format, cwd=tmp_path)
    assert 1 == done.returncode
    assert b"!" in done.stdout
    found = json.loads(invoke_bytes("inspect", "cut", "--format", format, "--json", cwd=tmp_path).stdout)
    assert found["damaged"] or found["error"]
