"""`tare convert` as a user meets it: files, pipes, messages, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from support.capabilities import need_codec
from support.commands import invoke_bytes

import tare

TARE = [sys.executable, "-c", "from tare.cli import main; main()"]


def run(*arguments, data=b"", cwd=None):
    return subprocess.run(
        [*TARE, *map(str, arguments)], input=data, capture_output=True, cwd=cwd, timeout=120, check=False
    )


def test_a_file_is_converted_and_the_changes_told(tmp_path):
    """Data go to the file, the report to standard error, exit code 0."""
    need_codec("parquet:duckdb")
    (tmp_path / "x.csv").write_bytes(b"a,b\n1,x\n2,y\n")
    done = invoke_bytes("convert", "x.csv", "y.parquet", cwd=tmp_path)
    assert (0, b"") == (done.returncode, done.stdout)
    assert b"y.parquet: csv -> parquet:pyarrow" in done.stderr
    assert b"read back and compared, also by duckdb; source read by Python's csv too\n" in done.stderr
    assert {"a": [1, 2], "b": ["x", "y"]} == tare.read(tmp_path / "y.parquet").to_pydict()


def test_nothing_is_overwritten_unasked(tmp_path):
    """Without --force exit code 1 and the old file; with it the new one."""
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    (tmp_path / "y.json").write_bytes(b"old")
    done = invoke_bytes("convert", "x.csv", "y.json", cwd=tmp_path)
    assert 1 == done.returncode
    assert b"--force" in done.stderr
    assert b"old" == (tmp_path / "y.json").read_bytes()
    assert 0 == invoke_bytes("convert", "x.csv", "y.json", "--force", cwd=tmp_path).returncode
    assert [{"a": 1}] == json.loads((tmp_path / "y.json").read_bytes())


def test_pipes_in_and_out():
    """`-` is standard input and output; only data are on standard output."""
    done = run("convert", "-", "-", "--from", "csv", "--to", "ndjson", data=b"a,b\n1,\n2,x\n")
    assert b'{"a":1,"b":null}\n{"a":2,"b":"x"}\n' == done.stdout
    assert 0 == done.returncode


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x.csv", "-"), b"say --to FORMAT"),
        (("x.csv", "y.unknown"), b"names no format"),
        (("x.csv", "y.json", "--to", "json", "--codec", "json"), b"give one"),
        (("x.csv", "y.json", "--codec", "jsn"), b"did you mean json"),
        (("x.csv", "y.json", "--from", "cvs"), b"did you mean csv"),
        (("x.csv", "y.json", "--columns", "a,nope"), b"no column 'nope'"),
        (("x.csv", "y.json", "--encoding", "latin99"), b"no encoding"),
        (("x.csv",), b"Missing argument"),
    ],
)
def test_usage_errors_have_code_two(arguments, message, tmp_path):
    """One message that says what to write instead; nothing is written."""
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    done = invoke_bytes("convert", *arguments, cwd=tmp_path)
    assert (2, b"") == (done.returncode, done.stdout)
    assert message in done.stderr
    assert b"Traceback" not in done.stderr
    assert ["x.csv"] == os.listdir(tmp_path)


def test_a_loss_is_refused_and_shown(tmp_path):
    """Exit code 1, the first change, and the option that allows it."""
    (tmp_path / "x.json").write_bytes(b'{"b": 1, "a": NaN}')
    done = invoke_bytes("convert", "x.json", "y.json", "--codec", "json:orjson", cwd=tmp_path)
    assert 1 == done.returncode
    assert b"a' would change: nan comes back as None" in done.stderr
    done = invoke_bytes("convert", "x.json", "y.json", "--codec", "json:orjson", "--allow-loss", cwd=tmp_path)
    assert 0 == done.returncode
    assert b"VALUES CHANGED" in done.stderr


def test_a_report_for_programs(tmp_path):
    """--json is one object on standard output."""
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    done = invoke_bytes("convert", "x.csv", "y.arrow", "--json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert ("csv", "arrow:pyarrow", 1, True) == (
        report["source"],
        report["to"],
        report["rows"],
        report["verified"],
    )


def test_bad_input_is_one_line_and_code_one(tmp_path):
    """A cut file: a message, no traceback, nothing left behind."""
    (tmp_path / "x.json").write_bytes(b'{"a": [1, 2')
    done = invoke_bytes("convert", "x.json", "y.msgpack", cwd=tmp_path)
    assert (1, b"") == (done.returncode, done.stdout)
    assert 1 == done.stderr.count(b"\n")
    assert done.stderr.startswith(b"tare: x.json: json: it ends inside an array or object, at byte 11.")
    assert ["x.json"] == os.listdir(tmp_path)


def test_an_encoding_can_be_named(tmp_path):
    """latin1 is refused with the option, and read with it."""
    (tmp_path / "x.csv").write_bytes("a\n\u00e9\n".encode("latin1"))
    assert b"--encoding latin1" in invoke_bytes("convert", "x.csv", "y.json", cwd=tmp_path).stderr
    assert 0 == invoke_bytes("convert", "x.csv", "y.json", "--encoding", "latin1", cwd=tmp_path).returncode
    assert [{"a": "\u00e9"}] == tare.read(tmp_path / "y.json")


def test_control_c_leaves_nothing(tmp_path):
    """Interrupted while it reads standard input: code 130, no file."""
    process = subprocess.Popen(
        [*TARE, "convert", "-", "y.parquet", "--from", "csv"],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        process.stdin.write(b"a\n1\n")
        process.stdin.flush()
        # It waits for more input once it has started: then its pipe is empty.
        deadline = time.monotonic() + 60
        while not _reads(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert 130 == process.returncode
    assert b"Traceback" not in errors
    assert [] == os.listdir(tmp_path)


def _reads(pid: int) -> bool:
    """Whether the process sleeps in a read of its pipe."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
            return "pipe" in file.read()
    except OSError:
        return False


def test_a_name_that_stands_twice_is_told(tmp_path):
    """Readers keep the last value; the one who converts is told, from a file as from standard input."""
    (tmp_path / "x.json").write_bytes(b'[{"a":1,"a":2},{"b":3}]')
    for source, given in (("x.json", b""), ("-", b'[{"a":1,"a":2},{"b":3}]')):
        done = invoke_bytes("convert", source, "y.msgpack", "--force", cwd=tmp_path, stdin=given)
        assert 0 == done.returncode
        assert "note: the name 'a' stands twice in one object; only the last" in done.stderr.decode()
    (tmp_path / "once.json").write_bytes(b'[{"a":1},{"a":2}]')
    assert b"twice" not in invoke_bytes("convert", "once.json", "z.msgpack", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("target", "document", "said"),
    [
        (
            "y.msgpack",
            b'{"a":[{"b":18446744073709551616}]}',
            b"out of range, at /a/0/b (18446744073709551616).",
        ),
        (
            "y.bson",
            b'{"ok":1,"a/b":[0,{"c~":18446744073709551616}]}',
            b", at /a~1b/1/c~0 (18446744073709551616).",
        ),
        ("y.msgpack", b"18446744073709551616", b"out of range, at the top (18446744073709551616)."),
    ],
)
def test_a_refused_value_is_named_by_its_pointer(target, document, said, tmp_path):
    """What stands there, and the codec that takes it."""
    need_codec(str(tare.Codec.for_path(target)))
    (tmp_path / "big.json").write_bytes(document)
    done = invoke_bytes("convert", "big.json", target, cwd=tmp_path)
    assert 1 == done.returncode
    assert said in done.stderr
    assert b"Say --codec cbor, which holds integers of any length." in done.stderr
    assert not (tmp_path / target).exists()


def test_a_recommended_route_can_be_pasted(tmp_path):
    """Its codec is used; an unknown medium is refused with those there are."""
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,x\n")
    done = invoke_bytes("convert", "a.csv", "b", "--codec", "arrow:pyarrow@file,sync=fsync", cwd=tmp_path)
    assert (0, b"") == (done.returncode, done.stdout)
    assert {"a": [1], "b": ["x"]} == tare.read(tmp_path / "b").to_pydict()
    done = invoke_bytes("convert", "a.csv", "c", "--to", "arrow:pyarrow@flie", cwd=tmp_path)
    assert 2 == done.returncode
    assert b"there is no medium 'flie'; did you mean file?" in done.stderr
    assert b"memory, file, conn" in done.stderr
    many = ("convert", "a.csv", "out/", "--to", "parquet:pyarrow@file", "--jobs", "1", "--dry-run", "--json")
    done = invoke_bytes(*many, cwd=tmp_path)
    assert "parquet:pyarrow" == json.loads(done.stdout)["write"]


@pytest.mark.parametrize(
    ("name", "options", "warning"),
    [
        ("y.parquet", ("--to", "json"), "the ending means parquet, but --to asks for json: json"),
        (
            "y.parquet",
            ("--codec", "csv+zstd"),
            "the ending means parquet, but --codec asks for csv+zstd: csv",
        ),
        ("y.json.zst", ("--to", "json"), "the ending means json+zstd, but --to asks for json: json"),
        ("y.csv", ("--to", "csv+gzip"), "the ending means csv, not compressed, but --to asks for csv+gzip"),
        ("y.csv", ("--compressor", "gzip"), "means csv, not compressed, but --compressor makes it csv"),
        ("y.tsv", ("--to", "csv"), "the ending means csv,delimiter=tab, but --to asks for csv: csv"),
        ("y.parquet", ("--codec", "parquet:pyarrow@file"), ""),
        ("y.json.gz", ("--to", "json+gzip:9"), ""),
        ("y.rds", ("--to", "rds"), ""),
        ("y.rds", ("--to", "rds+zstd"), ""),
        ("y.feather", ("--to", "arrow"), ""),
        ("y", ("--to", "json"), ""),
    ],
)
def test_an_ending_that_says_otherwise_is_warned_of(name, options, warning, tmp_path):
    """Both are named, and what is written; it is written all the same."""
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    done = invoke_bytes("convert", "x.csv", name, *options, cwd=tmp_path)
    assert (0, b"") == (done.returncode, done.stdout)
    assert (tmp_path / name).exists()
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("warning")]
    assert bool(warning) == bool(lines), lines
    if warning:
        assert f"warning: {name}: " in lines[0]
        assert warning in lines[0]
        assert lines[0].endswith(" is written")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("convert", "x.csv", "y.parqet"), "y.parqet: the ending names no format (did you mean .parquet?)."),
        (("convert", "x.csv", "y.foo"), "y.foo: the ending names no format. Say"),
        (("mesure", "x.csv"), "No such command 'mesure'. Did you mean measure?"),
        (("x.csv",), "No such command 'x.csv'. Did you mean: tare measure x.csv"),
        (("zzz",), "No such command 'zzz'. 'tare --help' lists them."),
    ],
)
def test_typos_get_a_suggestion(arguments, message, tmp_path):
    """What was meant, as far as it can be told; exit code 2."""
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    done = invoke_bytes(*arguments, cwd=tmp_path)
    assert (2, b"") == (done.returncode, done.stdout)
    assert message in done.stderr.decode()
