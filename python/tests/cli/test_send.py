"""`tare send`: values and files over every URL, to real processes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
from support.capabilities import need_linux, need_module
from support.message_commands import Done, run, run_in_process, started, wait_until

import tare

VALUES = [{"a": 1, "b": [None, 2.5, "\u00e9"]}, [], "text", 12345678901234567890123, None]
LINES = b"".join(json.dumps(value).encode() + b"\n" for value in VALUES)
DATA = bytes(range(256)) * 2500  # more than two parts, and no whole number of them


def over(
    kind: str, folder: Path, send: list[str], receive: list[str], stdin: bytes = b""
) -> tuple[Done, Done]:
    """Both commands with a URL between them; what they left."""
    if kind == "abstract":
        need_linux()
    if kind in ("tcp", "unix", "abstract"):
        if kind == "tcp":
            with started("receive", "--listen", "tcp://127.0.0.1:0", *receive, cwd=folder) as receiver:
                sent = run("send", receiver.url(), *send, cwd=folder, stdin=stdin)
                return sent, receiver.done()
        url = "unix:s" if kind == "unix" else f"unix:@tare-{os.getpid()}-{folder.name}"
        with started("receive", "--listen", url, *receive, cwd=folder) as receiver:
            sent = run("send", url, *send, "--retry", "20s", cwd=folder, stdin=stdin)
            return sent, receiver.done()
    if kind == "fifo":
        with started("receive", "fifo:f", *receive, cwd=folder) as receiver:
            wait_until((folder / "f").exists)
            sent = run("send", "fifo:f", *send, cwd=folder, stdin=stdin)
            return sent, receiver.done()
    if kind == "file":
        sent = run("send", "file:log", *send, cwd=folder, stdin=stdin)
        return sent, run("receive", "file:log", *receive, cwd=folder)
    if kind == "pipe":
        sent = run("send", "-", *send, cwd=folder, stdin=stdin)
        received = run("receive", "-", *receive, cwd=folder, stdin=sent.out)
        return Done(sent.code, b"", sent.err), received
    mine, theirs = socket.socketpair()
    with mine, theirs:
        url = f"fd:{mine.fileno()}"
        with started("receive", url, *receive, cwd=folder, pass_fds=[mine.fileno()]) as receiver:
            mine.close()
            sent = run(
                "send", f"fd:{theirs.fileno()}", *send, cwd=folder, stdin=stdin, pass_fds=[theirs.fileno()]
            )
            theirs.close()
            return sent, receiver.done()


@pytest.mark.parametrize("kind", ["tcp", "unix", "abstract", "fifo", "file", "fd", "pipe"])
def test_values_over_every_url(kind: str, tmp_path: Path) -> None:
    """What went in as lines comes out as lines, equal; nothing is said."""
    sent, received = over(kind, tmp_path, ["--codec", "json"], ["--require-end"], LINES)
    assert [json.loads(line) for line in received.out.splitlines()] == VALUES
    assert (sent, received.err) == (Done(0, b"", ""), "")


@pytest.mark.parametrize("kind", ["tcp", "fifo", "pipe"])
def test_files_over_every_url(kind: str, tmp_path: Path) -> None:
    """They have their names, bytes and times; their places are printed."""
    (tmp_path / "a.bin").write_bytes(DATA)
    (tmp_path / "empty").touch()
    os.utime(tmp_path / "a.bin", ns=(10**18, 10**18 + 7))
    sent, received = over(kind, tmp_path, ["a.bin", "empty"], ["--to", "in/"])
    assert (sent, received) == (Done(0, b"", ""), Done(0, b"in/a.bin\nin/empty\n", ""))
    assert (tmp_path / "in/a.bin").read_bytes() == DATA
    assert (tmp_path / "in/a.bin").stat().st_mtime_ns == 10**18 + 7
    assert (tmp_path / "in/empty").read_bytes() == b""
    assert sorted(os.listdir(tmp_path / "in")) == ["a.bin", "empty"]


def test_bytes_as_they_are(tmp_path: Path) -> None:
    """--raw at both ends is a pipe whose end is known; compressed on the way too."""
    to = ["--raw", "--to", "out", "--summary"]
    sent, received = over("tcp", tmp_path, ["--raw", "--compressor", "zstd:3"], to, DATA)
    assert (tmp_path / "out").read_bytes() == DATA
    assert sent.err == ""
    facts = json.loads(received.err)
    assert (facts["status"], facts["peer_codec"]) == ("ended", "raw+zstd:3")
    assert facts["bytes_in"] < len(DATA) / 10


def test_standard_input_as_a_file(tmp_path: Path) -> None:
    """--name gives it one; what a file holds is also printed."""
    stream = run(
        "send", "-", "--name", "x.sql", "--compressor", "gzip:6", "--crc", cwd=tmp_path, stdin=DATA
    ).out
    assert run("receive", "-", "--to", "in", "--require-crc", cwd=tmp_path, stdin=stream).out == b"in\n"
    assert (tmp_path / "in").read_bytes() == DATA
    assert run("receive", "-", "--raw", cwd=tmp_path, stdin=stream).out == DATA
    assert "--to FOLDER/" in run("receive", "-", cwd=tmp_path, stdin=stream, code=2).err


def test_what_the_wire_of_a_file_is(tmp_path: Path) -> None:
    """As docs/specs/messages.md says: a header, content, what it must have been, END."""
    stream = run("send", "-", "--name", "x", cwd=tmp_path, stdin=b"hi").out
    digest = hashlib.sha256(b"hi").hexdigest()
    (tmp_path / "stream").write_bytes(stream)
    with tare.connect(tmp_path / "stream", "file", mode="r", require_crc=False) as conn:
        messages = list(conn)
        assert (conn.status, conn.summary()["peer_codec"]) == ("ended", "file")
    assert messages == [
        b'\x01{"name":"x","receipt":false}',
        b"\x02hi",
        f'\x03{{"size":2,"sha256":"{digest}"}}'.encode(),
    ]


def test_rows_of_other_data(tmp_path: Path) -> None:
    """--from reads a file or standard input as data, and sends its rows; names of files need not tell."""
    msgpack = need_module("msgpack")
    (tmp_path / "t").write_text("a,b\n1,x\n2,y\n")
    native = ("--codec", "msgpack", "--framing", "native")
    run_in_process("send", "file:s", "t", "--from", "csv", *native, cwd=tmp_path)
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert list(msgpack.Unpacker(io.BytesIO((tmp_path / "s").read_bytes()))) == rows
    (tmp_path / "l.ndjson").write_bytes(LINES)
    run_in_process("send", "file:l", "l.ndjson", "--codec", "json", cwd=tmp_path)
    assert len(run_in_process("receive", "file:l", cwd=tmp_path).out.splitlines()) == len(VALUES)
    options = ("--from", "msgpack", "--framing", "native")
    assert json.loads(run("send", "-", *options, cwd=tmp_path, stdin=msgpack.packb([1])).out) == [1]
    assert "t" in run_in_process("send", "file:x", "t", "--from", "parquet", cwd=tmp_path, code=1).err
    assert (
        "--from FORMAT" in run_in_process("send", "file:y", "t", "--codec", "json", cwd=tmp_path, code=2).err
    )
    assert "no such file" in run_in_process("send", "file:y", "no.csv", "--raw", cwd=tmp_path, code=1).err
    assert not (tmp_path / "y").exists()


def test_lines_leave_as_they_come(tmp_path: Path) -> None:
    """A value is there before the next was written; a last line without its end is one if it is whole."""
    with started("send", "-", "--framing", "native", cwd=tmp_path, stdin=subprocess.PIPE) as sender:
        assert sender.process.stdin is not None
        assert sender.process.stdout is not None
        for number in range(3):
            sender.process.stdin.write(b'{"n":%d}\n' % number)
            sender.process.stdin.flush()
            assert json.loads(sender.process.stdout.readline()) == {"n": number}
        sender.process.stdin.write(b"[1]")
        assert json.loads(sender.done().out) == [1]
    done = run("send", "-", "--framing", "native", cwd=tmp_path, stdin=b"[1]\n12", code=1)
    assert (done.out, "standard input" in done.err) == (b"[1]\n", True)  # 12 may be half of 123


def test_a_bad_line_ends_it(tmp_path: Path) -> None:
    """What came before it was sent; the line's place is told, and the stream has no END."""
    done = run("send", "-", cwd=tmp_path, stdin=b"[1]\n[2]\n{oops\n[3]\n", code=1)
    assert "standard input: message 2, at byte 8" in done.err
    received = run("receive", "-", "--require-end", cwd=tmp_path, stdin=done.out, code=1)
    assert received.out == b"[1]\n[2]\n"


def test_a_rate_is_kept(tmp_path: Path) -> None:
    """In values and in bytes."""
    for rate, stdin in (("50/s", b"1\n" * 20), ("50kB/s", json.dumps("x" * 2000).encode() + b"\n" * 1)):
        lines = stdin if rate == "50/s" else stdin * 10
        before = time.monotonic()
        out = run("send", "-", "--rate", rate, "--framing", "native", cwd=tmp_path, stdin=lines).out
        assert time.monotonic() - before > 0.28
        assert len(out.splitlines()) == len(lines.splitlines())


def test_files_are_appended_to_and_not_overwritten(tmp_path: Path) -> None:
    """file: takes --append or --force."""
    for number in (1, 2, 3):
        (tmp_path / f"{number}.ndjson").write_text(f"[{number}]\n")
    values = ("--codec", "json")
    run_in_process("send", "file:log", "1.ndjson", *values, cwd=tmp_path)
    assert "--append" in run_in_process("send", "file:log", "2.ndjson", *values, cwd=tmp_path, code=2).err
    run_in_process("send", "file:log", "2.ndjson", *values, "--append", cwd=tmp_path)
    assert run_in_process("receive", "file:log", "--require-end", cwd=tmp_path).out == b"[1]\n[2]\n"
    run_in_process("send", "file:log", "3.ndjson", *values, "--force", cwd=tmp_path)
    assert run_in_process("receive", "file:log", cwd=tmp_path).out == b"[3]\n"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("tcp://0.0.0.0:7000", "--listen"), "--tls-cert cert.pem --tls-key key.pem --token-file token"),
        (("unix:s", "x", "--framing", "native"), "--framing frame"),
        (("unix:s", "x", "--name", "../x"), "'/'"),
        (("unix:s", "x", "d/x"), "two files"),
        (("unix:s", "d"), "is a folder: name its files, or: tar c"),
        (("unix:s", "x", "--from", "csv", "--name", "y"), "--codec and --from"),
        (("unix:s", "--codec", "pickle"), "pickle"),
        (("unix:s", "--codec", "parquet", "--framing", "native"), "framing='frame'"),
        (("unix:s", "--tls"), "TLS is for tcp:"),
        (("file:x", "--retry", "1s"), "--retry"),
        (("http://a",), "fifo:PATH"),
        (("unix:s", "x", "--rate", "5/s"), "in bytes"),
    ],
)
def test_wrong_uses(args: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    """Each is told what to type, before anybody is connected to."""
    (tmp_path / "d").mkdir()
    (tmp_path / "x").touch()
    (tmp_path / "d/x").touch()
    assert expected in run_in_process("send", *args, cwd=tmp_path, code=2).err
    assert sorted(os.listdir(tmp_path)) == ["d", "x"]
