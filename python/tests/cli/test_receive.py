"""`tare receive`: golden streams, other programs, where values and files go, several senders."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from support.capabilities import need_codec, need_command, need_module
from support.message_commands import run, run_in_process, started, wait_until

import tare
from tare.cli.json_lines import LineWriter

FRAME = b"\xe0\x03\0\0\0[1]"


def test_what_r_wrote(shared, tmp_path: Path) -> None:
    """The stream of R's msgpack is eight values, and the one that is cut seven and the exit code 1."""
    options = ("--framing", "native", "--codec", "msgpack")
    stream = shared("fixtures/msgpack/stream8.msgpack")
    done = run_in_process("receive", f"file:{stream}", *options, "--fidelity", "--summary", cwd=tmp_path)
    values = [json.loads(line) for line in done.out.splitlines()]
    assert values[:6] == [1, "two", [3, 4], {"a": 5, "b": None}, True, {"a": [1, 2, 3], "b": ["a", "b", "c"]}]
    assert (len(values), values[6][:8], values[7][:8]) == (8, "longlong", "AAAAAAAA")
    assert json.loads(done.err.splitlines()[0])["bytes_in"] == 90_040
    assert "1 maps of arrays of one length: were data frames" in done.err
    assert "  1 nils: " in done.err
    cut = shared("fixtures/msgpack/stream8_truncated.msgpack")
    done = run_in_process("receive", f"file:{cut}", *options, cwd=tmp_path, code=1)
    assert [json.loads(line) for line in done.out.splitlines()] == values[:7]
    assert "at byte 20035" in done.err
    files = sorted(shared("fixtures/msgpack").glob("*.default.msgpack"))
    (tmp_path / "all").write_bytes(b"".join(file.read_bytes() for file in files))
    lines = run_in_process("receive", "file:all", *options, cwd=tmp_path).out.splitlines()
    assert len(lines) == len(files) > 20


def test_the_golden_streams(root: Path, tmp_path: Path) -> None:
    """Whole messages are written whatever follows them; the exit code tells the state."""
    cases = [
        case
        for case in json.loads((root / "vectors/messages/streams.json").read_text())
        if case["framing"] == "frame" and not any(event.startswith("compressed") for event in case["events"])
    ]
    assert len(cases) > 20
    for case in cases:
        name = f"{case['name']}.frames"
        (tmp_path / name).write_bytes(bytes.fromhex(case["hex"]))
        args = ["receive", f"file:{name}", "--raw"]
        args += ["--require-crc"] if case.get("require_crc") else []
        args += ["--max-message", str(case["max_message"])] if "max_message" in case else []
        payloads = [
            event.removeprefix("message ") for event in case["events"] if event.startswith("message ")
        ]
        code = 0 if case["state"] == "ended" else 1
        assert run_in_process(*args, cwd=tmp_path, code=code).out.hex() == "".join(payloads), case["name"]
        run_in_process(*args, "--to", f"{case['name']}.out", cwd=tmp_path, code=code)
        assert (tmp_path / f"{case['name']}.out").exists() == (code == 0 and payloads != [])


def test_lines_of_other_programs(tmp_path: Path) -> None:
    """Newline-delimited JSON from any program, and to any program; blank lines are nothing."""
    need_command("sed")
    lines = b'{"a": 1}\n\n[2]\r\n"x"\n'
    done = run("receive", "-", "--framing", "native", cwd=tmp_path, stdin=lines)
    assert done.out == b'{"a":1}\n[2]\n"x"\n'
    edited = subprocess.run(["sed", "s/1/3/"], input=done.out, capture_output=True, check=True).stdout
    assert (
        run("receive", "-", "--framing", "native", "-n", "1", cwd=tmp_path, stdin=edited).out == b'{"a":3}\n'
    )


def test_what_is_no_frame_may_be_lines(tmp_path: Path) -> None:
    """Who forgot --framing native is told; deep inside a stream it is no such thing."""
    (tmp_path / "lines").write_bytes(b'{"a": 1}\n')
    assert "--framing native" in run_in_process("receive", "file:lines", cwd=tmp_path, code=1).err
    (tmp_path / "lines").write_bytes(FRAME + b'{"a": 1}\n')
    done = run_in_process("receive", "file:lines", "--codec", "json", cwd=tmp_path, code=1)
    assert (done.out, "--framing" in done.err) == (b"[1]\n", False)


def test_msgpack_both_ways(tmp_path: Path) -> None:
    """What msgpack packs is received, and what is sent it unpacks, wrapped too."""
    msgpack = need_module("msgpack")
    values = [1, {"k": b"\0\xff"}, [None, 0.5], msgpack.ExtType(5, b"x"), msgpack.Timestamp(1, 0)]
    stream = b"".join(map(msgpack.packb, values))
    done = run(
        "receive", "-", "--framing", "native", "--codec", "msgpack:msgpack", cwd=tmp_path, stdin=stream
    )
    assert done.out.splitlines()[:4] == [b"1", b'{"k":"AP8="}', b"[null,0.5]", b'"5:eA=="']
    wrapped = b"".join(msgpack.packb(data) for data in (b"[1]", b"{}"))
    options = ("--framing", "native:wrap")
    assert run("receive", "-", *options, cwd=tmp_path, stdin=wrapped).out == b"[1]\n{}\n"
    assert run("receive", "-", *options, "--raw", cwd=tmp_path, stdin=wrapped).out == b"[1]{}"


def test_where_values_go(tmp_path: Path) -> None:
    """One file, by its ending; a folder has each as it came; a file is there whole or not at all."""
    with tare.connect(tmp_path / "s", "json:orjson", mode="w") as conn:
        conn.send_all([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    run_in_process("receive", "file:s", "--to", "rows.ndjson", cwd=tmp_path)
    assert (tmp_path / "rows.ndjson").read_text() == '{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n'
    run_in_process("receive", "file:s", "--to", "rows.csv", cwd=tmp_path)
    assert (tmp_path / "rows.csv").read_text().replace('"', "").split() == ["a,b", "1,x", "2,y"]
    assert "--force" in run_in_process("receive", "file:s", "--to", "rows.csv", cwd=tmp_path, code=2).err
    done = run_in_process("receive", "file:s", "--to", "each/", cwd=tmp_path)
    assert done.out == b"each/00000001.json\neach/00000002.json\n"
    assert (tmp_path / "each/00000002.json").read_bytes() == b'{"a":2,"b":"y"}'
    (tmp_path / "s").write_bytes((tmp_path / "s").read_bytes()[:-20])
    assert (
        run_in_process("receive", "file:s", "--to", "cut.ndjson", "--require-end", cwd=tmp_path, code=1).out
        == b""
    )
    assert sorted(os.listdir(tmp_path)) == ["each", "rows.csv", "rows.ndjson", "s"]


def test_values_as_lines() -> None:
    """Exact where JSON can be; what it has not is text, or counted."""
    writer = LineWriter()
    assert b"".join(writer.lines([2**70, {1: None}, {b"k": 0.1}, "\ud800", b"ab"])) == (
        b'1180591620717411303424\n{"1":null}\n{"aw==":0.1}\n"\\ud800"\n"YWI="\n'
    )
    assert writer.unlike_json == 0
    assert writer.lines([[float("nan")], {"a": float("-inf")}]) == [b"[NaN]\n", b'{"a":-Infinity}\n']
    assert writer.unlike_json == 2
    with pytest.raises(tare.errors.EncodeError, match="value 8 cannot be printed"):
        writer.lines([object()])


def test_a_fifo_and_a_file_are_followed(tmp_path: Path) -> None:
    """Writers come and go; a file grows."""
    with started("receive", "fifo:f", "--follow", "-n", "2", cwd=tmp_path) as receiver:
        wait_until((tmp_path / "f").exists)
        for line in (b"[1]\n", b"[2]\n"):
            run("send", "fifo:f", "--timeout", "20s", cwd=tmp_path, stdin=line)
        assert receiver.done().out == b"[1]\n[2]\n"
    (tmp_path / "log").write_bytes(b"[1]\n")
    options = ("--framing", "native", "--follow", "-n", "3")
    with started("receive", "file:log", *options, cwd=tmp_path) as receiver:
        assert receiver.process.stdout is not None
        assert receiver.process.stdout.readline() == b"[1]\n"
        with open(tmp_path / "log", "ab") as log:
            log.write(b"[2]\n[3]\n")
        assert receiver.done().out == b"[2]\n[3]\n"


def test_several_senders_at_once(tmp_path: Path) -> None:
    """One that is a stranger, one that stays and is silent, files and values: each costs only itself."""
    need_codec("cbor")
    (tmp_path / "a.bin").write_bytes(bytes(300_000))
    listen = ("receive", "--listen", "tcp://127.0.0.1:0", "--follow", "-n", "4", "--to", "in/")
    with started(*listen, cwd=tmp_path) as receiver:
        url = receiver.url()
        address = "127.0.0.1", int(url.rpartition(":")[2])
        with socket.create_connection(address) as silent, socket.create_connection(address) as stranger:
            silent.sendall(FRAME[:7])
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            run("send", url, "a.bin", cwd=tmp_path)
            run("send", url, "--codec", "msgpack", cwd=tmp_path, stdin=b"[1]\n")
            run("send", url, "--codec", "cbor+zstd:3", cwd=tmp_path, stdin=b'"' + b"x" * 5000 + b'"\n[2]\n')
            done = receiver.done()
    assert done.code == 1  # the stranger
    assert "first byte is E0 to EF" in done.err
    assert done.err.count("\n") == 1
    kept = {"a.bin", "00000001.msgpack", "00000002.cbor", "00000003.cbor"}
    assert set(os.listdir(tmp_path / "in")) == kept
    assert tare.decode((tmp_path / "in/00000001.msgpack").read_bytes(), "msgpack") == [1]


def test_nothing_comes(tmp_path: Path) -> None:
    """A deadline is the exit code 3, whoever listens."""
    for args in (("fifo:f",), ("--listen", "unix:s"), ("--listen", "unix:s", "--follow")):
        done = run("receive", *args, "--timeout", "0.05", cwd=tmp_path, code=3)
        assert "in time" in done.err
    assert "--retry 10s" in run("send", "unix:s", cwd=tmp_path, code=3).err


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            ("tcp://0.0.0.0:7000", "--listen", "--to", "folder/"),
            "tare send tcp://HOST:7000 ... --tls-ca cert.pem",
        ),
        (("tcp://example.test:7000", "--listen"), "ssh -L 7000:127.0.0.1:7000"),
        (("tcp://10.1.1.1:1", "--token-file", "token"), "unencrypted: add --tls"),
        (("tcp://127.0.0.1:0", "--listen", "--tls-ca", "token"), "--tls-cert FILE and --tls-key FILE"),
        (("tcp://127.0.0.1:0", "--token-file", "empty"), "16 to 64 bytes, not 0"),
        (("unix:s", "--follow"), "--follow is for file:, fifo: and --listen"),
        (("file:s", "--follow", "--to", "x.ndjson"), "has no end"),
        (("file:s", "--raw", "--codec", "json"), "give one"),
        (("file:s", "--fidelity", "--codec", "json"), "--codec msgpack"),
        (("file:s", "--to", "token"), "exists already: say --force"),
        (("file:s", "--framing", "native", "--require-end"), "others have no END"),
        (("file:s", "--codec", "pickle"), "pickle"),
    ],
)
def test_wrong_uses(args: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    """Each is told what to type."""
    (tmp_path / "token").write_bytes(b"0123456789abcdef\n")
    (tmp_path / "empty").touch()
    done = run_in_process("receive", *args, cwd=tmp_path, code=2)
    assert expected in done.err
    assert "0123456789abcdef" not in done.err
