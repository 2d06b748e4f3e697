"""`tare send` and `tare receive` when something goes wrong: no half file, the right exit code, no secret told."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_descriptors
from support.message_commands import run, started, wait_until
from support.message_connections import certificate

import tare
from tare.messages.files import CONTENT, FILE, HEADER, WHOLE, FileReceiver, Refused, name_fault, send_file

LISTEN = ("receive", "--listen", "tcp://127.0.0.1:0", "--to", "in/")
BIG = 4 << 20


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """A file of sixteen parts."""
    path = tmp_path / "big.bin"
    path.write_bytes(bytes(range(256)) * (BIG // 256))
    return path


def inside(tmp_path: Path) -> list[str]:
    """What is in the folder that was received into, hidden or not."""
    return sorted(os.listdir(tmp_path / "in"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_receiver_that_is_stopped(how: signal.Signals, big: Path, tmp_path: Path) -> None:
    """Nothing of the file is left, and the sender hears why."""
    with started(*LISTEN, cwd=tmp_path) as receiver:
        url = receiver.url()
        with started("send", url, big.name, "--rate", "1MB/s", cwd=tmp_path) as sender:
            wait_until(
                lambda: (
                    (tmp_path / "in").exists() and any(name.endswith(".part") for name in inside(tmp_path))
                )
            )
            receiver.process.send_signal(how)
            assert receiver.done().code == (130 if how == signal.SIGINT else 143)
            done = sender.done()
    assert (done.code, "the receiver was stopped" in done.err) == (1, True), done
    assert inside(tmp_path) == []


_STOPPED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
number, real = int(sys.argv[1]), os.open
def opened(path, *args, **options):
    descriptor = real(path, *args, **options)
    if str(path).endswith(".part"):
        os.kill(os.getpid(), number)
    return descriptor
os.open = opened
from tare.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_receiver_that_is_stopped_when_it_has_just_made_a_part(how: signal.Signals, tmp_path: Path) -> None:
    """Before anything that cleans up knows of it."""
    stream = run("send", "-", "--name", "x", cwd=tmp_path, stdin=b"content").out
    receiver = [sys.executable, "-c", _STOPPED, str(int(how)), "receive", "-", "--to", "in/"]
    done = subprocess.run(receiver, cwd=tmp_path, input=stream, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (130 if how == signal.SIGINT else 143, b""), done.stderr
    assert b"Traceback" not in done.stderr
    assert inside(tmp_path) == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_sender_that_goes_in_the_middle(how: signal.Signals, big: Path, tmp_path: Path) -> None:
    """What was whole before is kept, and of the other nothing."""
    (tmp_path / "small").write_bytes(b"x")
    with started(*LISTEN, cwd=tmp_path) as receiver:
        url = receiver.url()
        with started("send", url, "small", big.name, "--rate", "1MB/s", cwd=tmp_path) as sender:
            wait_until(lambda: (tmp_path / "in").exists() and len(inside(tmp_path)) == 2)
            sender.process.send_signal(how)
            sender.process.wait(60)
        done = receiver.done()
    assert (done.code, done.out) == (1, b"in/small\n")
    assert "big.bin: the sender went away" in done.err or "inside a message" in done.err
    assert inside(tmp_path) == ["small"]


def test_a_file_that_is_there(big: Path, tmp_path: Path) -> None:
    """It is not touched, and both ends say so; --force replaces it, but follows no link out of the folder."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/big.bin").write_bytes(b"old")
    with started(*LISTEN, cwd=tmp_path) as receiver:
        done = run("send", receiver.url(), big.name, cwd=tmp_path, code=1)
        assert "the receiver refused it: it exists already: say --force" in done.err
        assert "in/big.bin: it exists already" in receiver.done().err
    assert (tmp_path / "in/big.bin").read_bytes() == b"old"
    with started(*LISTEN, "--force", cwd=tmp_path) as receiver:
        run("send", receiver.url(), big.name, cwd=tmp_path)
        assert receiver.done().code == 0
    assert (tmp_path / "in/big.bin").read_bytes() == big.read_bytes()
    (tmp_path / "secret").write_bytes(b"mine")
    os.symlink("../secret", tmp_path / "in/x")
    stream = run("send", "-", "--name", "x", cwd=tmp_path, stdin=b"theirs").out
    run("receive", "-", "--to", "in/", "--force", cwd=tmp_path, stdin=stream, code=1)
    assert (tmp_path / "secret").read_bytes() == b"mine"
    assert inside(tmp_path) == ["big.bin", "x"]


def test_a_full_disk(big: Path, tmp_path: Path) -> None:
    """It is said at both ends, and nothing is left there."""

    def little() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (BIG // 2, BIG // 2))

    with started(*LISTEN, cwd=tmp_path, preexec_fn=little) as receiver:
        done = run("send", receiver.url(), big.name, cwd=tmp_path, code=1)
        assert "the receiver refused it: File too large" in done.err
        received = receiver.done()
    assert (received.code, received.err) == (1, "tare: in/big.bin: file too large\n")
    assert inside(tmp_path) == []
    stream = run("send", "-", cwd=tmp_path, stdin=b"[1]\n").out
    if not os.path.exists("/dev/full"):
        return  # only Linux has it
    with open("/dev/full", "wb") as full:
        done = run("receive", "-", cwd=tmp_path, stdin=stream, stdout=full, code=1)
    assert done.err == "tare: standard output: no space left on device\n"
    with open("/dev/full", "wb") as full:
        done = run("send", "-", cwd=tmp_path, stdin=b"[1]\n", stdout=full, code=1)
    assert done.err == "tare: standard output: no space left on device\n"


def test_bytes_that_could_run_code_are_not_kept(tmp_path: Path) -> None:
    """Who keeps values in files does not decode them; whoever opens them later might."""
    stream = bytes.fromhex("e807000000") + b"\x01pickle" + bytes.fromhex("e00100000078")
    done = run("receive", "-", "--to", "in/", cwd=tmp_path, stdin=stream, code=1)
    assert "'pickle', which can run code" in done.err
    assert inside(tmp_path) == []


def test_a_cut_file_is_not_appended_to(tmp_path: Path) -> None:
    """In words of the command line."""
    run("send", "file:log", cwd=tmp_path, stdin=b"[1]\n")
    whole = (tmp_path / "log").read_bytes()
    (tmp_path / "log").write_bytes(whole[:-3])
    done = run("send", "file:log", "--append", cwd=tmp_path, stdin=b"[2]\n", code=1)
    assert ("repair=" in done.err, "tare receive prints what is whole" in done.err) == (False, True)
    assert (tmp_path / "log").read_bytes() == whole[:-3]


def test_a_disk_that_is_too_small_is_known_at_once(tmp_path: Path) -> None:
    """By the size that the header says, before any content; a forged one is no more than that."""
    receiver = FileReceiver(str(tmp_path))
    with pytest.raises(OSError, match="No space left"):
        receiver.take(header("x", size=1 << 62))
    receiver.abandon()
    assert os.listdir(tmp_path) == []


def header(name: Any, **facts: Any) -> bytes:
    return HEADER + json.dumps({"name": name, **facts}).encode()


def whole(data: bytes, **facts: Any) -> bytes:
    return (
        WHOLE + json.dumps({"size": len(data), "sha256": hashlib.sha256(data).hexdigest(), **facts}).encode()
    )


EVIL = [
    "", ".", "..", "../x", "/x", "a/b", "a\\b", "x\0y", "x\ny", "\x1b[31m", ".bashrc", "x" * 256, "\u202egpj.exe",
    "\u00e9" * 128, 5, None, ["x"],
]  # fmt: skip


@pytest.mark.parametrize("name", EVIL)
def test_names_that_are_not_taken(name: Any, tmp_path: Path) -> None:
    """Nothing is made, in the folder or outside it."""
    folder = tmp_path / "deep/in"
    folder.mkdir(parents=True)
    receiver = FileReceiver(str(folder), overwrite=True)
    with pytest.raises(tare.errors.DecodeError):
        receiver.take(header(name))
    receiver.abandon()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert not isinstance(name, str) or name_fault(name) is not None


@pytest.mark.parametrize(
    "messages",
    [
        [CONTENT + b"x"],
        [whole(b"")],
        [header("a"), header("b")],
        [header("a"), CONTENT],
        [header("a", size=1), CONTENT + b"xy"],
        [header("a", size=2), CONTENT + b"x", whole(b"x")],
        [header("a"), CONTENT + b"x", whole(b"y")],
        [header("a"), CONTENT + b"x", whole(b"x", size=2)],
        [header("a"), CONTENT + b"x", WHOLE + b"[]"],
        [header("a"), CONTENT + b"x", WHOLE + b"{}"],
        [header("a", size=-1)],
        [header("a", size=True)],
        [header("a", mtime="x")],
        [header("a", mtime=1 << 63)],
        [HEADER + b"{"],
        [HEADER + b'{"name":' + b"[" * 4000],
        [HEADER + b'{"name": "a"}' + b" " * 5000],
        [b""],
        [b"\x09"],
        [header("a"), b"\x04{}"],
    ],
)
def test_messages_that_are_no_file(messages: list[bytes], tmp_path: Path) -> None:
    """Wrong in kind, order, size, hash: an error, and nothing is kept."""
    receiver = FileReceiver(str(tmp_path))
    for message in messages[:-1]:
        receiver.take(message)
    with pytest.raises(tare.errors.DecodeError):
        receiver.take(messages[-1])
    receiver.abandon()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("answers", "error", "match"),
    [
        ([b'\x05{"name":"x","reason":"no\\u001b[31m room"}'], Refused, r"refused it: no\?\[31m room"),
        ([b'\x04{"name":"x","sha256":"00"}'], ConnectionError, "Broken pipe"),
        ([b"\x04[]"], tare.errors.Malformed, "no JSON object"),
        ([b"\x01{}"], tare.errors.Malformed, "expected a receipt"),
        ([], ConnectionError, "did not say that it has it|Broken pipe"),
    ],
)
def test_a_receiver_that_answers_wrongly(answers: list[bytes], error: type[Exception], match: str) -> None:
    """No file counts as sent but for the receipt of that file."""
    mine, theirs = socket.socketpair()
    with tare.connect(f"fd:{theirs.detach()}", "raw", timeout=60, hello=False) as receiver:
        receiver.send_all(answers)
    url = f"fd:{mine.detach()}"
    with pytest.raises(error, match=match), tare.connect(url, FILE, timeout=60) as conn:
        send_file(conn, io.BytesIO(b"data"), "x", wants_receipt=True)


@pytest.mark.parametrize("said", ['{"name":"x","sha256":"00"}', '{"name":"y"}', "{}"])
def test_a_receipt_of_another_file(said: str) -> None:
    """It is none, whether it comes before the end or behind it."""
    for data in (b"data", b""):
        mine, theirs = socket.socketpair()
        url = f"fd:{mine.detach()}"
        with tare.connect(f"fd:{theirs.detach()}", "raw", timeout=60, hello=False) as receiver:
            receiver.send(b"\x04" + said.encode())
            with pytest.raises(tare.errors.Malformed), tare.connect(url, FILE, timeout=60) as conn:
                send_file(conn, io.BytesIO(data), "x", wants_receipt=True)


def test_a_fifo_is_sent_as_a_file(tmp_path: Path) -> None:
    """It is opened once, and its size is not known before."""
    os.mkfifo(tmp_path / "pipe")
    with started("send", "-", "pipe", cwd=tmp_path) as sender:
        (tmp_path / "pipe").write_bytes(b"text")
        stream = sender.done().out
    assert run("receive", "-", "--to", "in/", cwd=tmp_path, stdin=stream).out == b"in/pipe\n"
    assert (tmp_path / "in/pipe").read_bytes() == b"text"


def test_every_cut_of_a_stream_leaves_nothing(tmp_path: Path) -> None:
    """Wherever it ends, the file is there whole with the exit code 0, or not there."""
    stream = run("send", "-", "--name", "x", cwd=tmp_path, stdin=b"12345").out
    for cut in range(len(stream)):
        (tmp_path / "stream").write_bytes(stream[:cut])
        folder = tmp_path / f"in{cut}"
        folder.mkdir()
        receiver, kept = FileReceiver(str(folder)), []
        with tare.connect(tmp_path / "stream", FILE, mode="r") as conn:
            try:
                kept.extend(map(receiver.take, conn))
                ended = conn.status == "ended"
            except tare.errors.Truncated:
                ended = False
        receiver.abandon()
        assert not ended
        assert os.listdir(folder) == [file.name for file in kept if file]


def test_strangers_and_wrong_tokens(tmp_path: Path) -> None:
    """They are turned away without an answer, the sender knows, and the right one is let in after them."""
    (tmp_path / "right").write_bytes(b"0123456789abcdef\n")
    (tmp_path / "wrong").write_bytes(b"0123456789abcdeX\n")
    with started(*LISTEN, "--token-file", "right", cwd=tmp_path) as receiver:
        url = receiver.url()
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 20) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with pytest.raises(ConnectionError):
                raise ConnectionError(sock.recv(10))
        done = run("send", url, "wrong", "--token-file", "wrong", cwd=tmp_path, code=3)
        assert "the receiver went away" in done.err or "the same token?" in done.err
        for token in (("--token-file", "wrong"), ()):
            done = run("send", url, *token, cwd=tmp_path, stdin=b"[1]\n", code=3)
            assert "token" in done.err
            assert "0123456789" not in done.err
        run("send", url, "right", "--token-file", "right", cwd=tmp_path)
        assert receiver.done().out == b"in/right\n"


def test_tls(tmp_path: Path) -> None:
    """With a certificate any address may be listened at; a name that it has not, and no trust, are refused."""
    cert, key = certificate(tmp_path, "server.test")
    (tmp_path / "token").write_bytes(os.urandom(24).hex().encode())
    (tmp_path / "wrong").write_bytes(os.urandom(24).hex().encode())
    papers = ("--tls-cert", str(cert), "--tls-key", str(key), "--token-file", "token")
    with started("receive", "--listen", "tcp://0.0.0.0:0", "--to", "in/", *papers, cwd=tmp_path) as receiver:
        url = receiver.url().replace("0.0.0.0", "127.0.0.1")
        trust = ("--tls-ca", str(cert), "--token-file", "token")
        assert "--tls-name" in run("send", url, "token", *trust, cwd=tmp_path, code=3).err
        assert "--tls-ca" in run("send", url, "--tls", cwd=tmp_path, stdin=b"1\n", code=3).err
        named = (*trust[:2], "--tls-name", "server.test", "--token-file")
        assert "token" in run("send", url, "--raw", *named, "wrong", cwd=tmp_path, stdin=b"1\n", code=3).err
        run("send", url, "token", *named, "token", cwd=tmp_path)
        assert receiver.done().out == b"in/token\n"


def test_tls_with_a_receiver_that_leaves_in_order(tmp_path: Path) -> None:
    """TLS ends well, and no END was said: it is not known that anything was taken."""
    cert, key = certificate(tmp_path, "server.test")
    papers = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    papers.load_cert_chain(cert, key)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with papers.wrap_socket(server.accept()[0], server_side=True) as conn:
                while conn.recv(1000):
                    pass
                with contextlib.suppress(OSError), conn.unwrap():
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        trust = ("--tls-ca", str(cert), "--tls-name", "server.test")
        done = run("send", url, "--raw", *trust, cwd=tmp_path, stdin=b"x\n", code=3)
        thread.join()
    assert "did not take everything" in done.err


def test_a_receiver_that_is_none(big: Path, tmp_path: Path) -> None:
    """One that closes at once, and one that answers in another protocol: the sender does not say that it is done."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}"

        def serve() -> None:
            for answer in (b"", b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"):
                conn, _ = server.accept()
                with conn:
                    conn.recv(1000)
                    conn.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert "did not take everything" in run("send", url, cwd=tmp_path, stdin=b"[1]\n", code=3).err
        run("send", url, "--raw", "big.bin", cwd=tmp_path, code=3)
        assert "frame" in run("send", url, "big.bin", cwd=tmp_path, code=1).err
        thread.join()


def test_the_reader_of_what_is_printed_goes(tmp_path: Path) -> None:
    """As `head` does: quiet, and with 0; who keeps files ends as of SIGPIPE."""
    stream = run("send", "-", cwd=tmp_path, stdin=b'"' + b"x" * 1000 + b'"\n' + b"[1]\n" * 5_000).out
    file = run("send", "-", "--name", "x", cwd=tmp_path, stdin=b"x").out
    for data, args, code in ((stream, (), 0), (stream, ("--raw",), 0), (file, ("--to", "in/"), 141)):
        reading, writing = os.pipe()
        os.close(reading)
        done = run("receive", "-", *args, cwd=tmp_path, stdin=data, stdout=writing, code=code)
        os.close(writing)
        assert done.err == ""


def test_a_file_that_changes_while_it_is_sent(big: Path, tmp_path: Path) -> None:
    """It is not what was announced: no receiver keeps it."""
    with started("send", "-", big.name, "--rate", "2MB/s", cwd=tmp_path, stdout=subprocess.PIPE) as sender:
        assert sender.process.stdout is not None
        sender.process.stdout.read(300_000)
        os.truncate(big, 1000)
        done = sender.done()
    assert (done.code, "it was changed while it was sent" in done.err) == (1, True)


def test_standard_output_is_closed(tmp_path: Path) -> None:
    """What is opened next would take its place, so nothing is."""
    for command, more in (("send", ()), ("receive", ()), ("receive", ("--to", "in/"))):
        with started(command, "-", *more, cwd=tmp_path, preexec_fn=lambda: os.close(1)) as closed:
            done = closed.done()
        assert (done.code, "standard output is closed" in done.err) == (2, True), done


def test_values_are_numbered_behind_those_that_are_there(tmp_path: Path) -> None:
    """A receiver that was started again goes on; nothing is replaced."""
    for value in (b"1\n", b"[2]\n"):
        stream = run("send", "-", cwd=tmp_path, stdin=b"[%b]\n" % value.strip()).out
        run("receive", "-", "--to", "in/", cwd=tmp_path, stdin=stream)
    assert inside(tmp_path) == ["00000001.json", "00000002.json"]


def test_a_follower_gives_up_on_a_peer_that_stops_inside_a_message(tmp_path: Path) -> None:
    """Over sockets by `tare.wait` alone, with nothing else that wakes it."""
    options: dict[str, Any] = {"message_timeout": 0.2}
    with tare.listen(f"unix:{tmp_path}/s", "raw", **options) as server, socket.socket(socket.AF_UNIX) as peer:
        peer.connect(f"{tmp_path}/s")
        with server.accept(timeout=60) as connection:
            peer.sendall(bytes.fromhex("e00500"))
            assert tare.wait([connection, server], timeout=60) == [connection]
            with pytest.raises(TimeoutError, match="message_timeout"):
                connection.receive()


def test_a_descriptor_beyond_what_select_takes(tmp_path: Path) -> None:
    """Servers are waited for whatever their number is."""
    need_descriptors(1200)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    low = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with tare.listen(f"unix:{tmp_path}/s", "raw") as server:
            assert (server.fileno() > 1024, tare.wait([server], timeout=0.01)) == (True, [])
            with tare.connect(f"unix:{tmp_path}/s", "raw"):
                assert tare.wait([server], timeout=60) == [server]
    finally:
        for descriptor in low:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
