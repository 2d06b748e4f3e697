"""`tare receive --follow` among guests who say nothing, are refused and stay, do not read, or send files without end."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import socket
import threading
import time
from pathlib import Path

import pytest
from support.message_commands import Running, run, started, wait_until

import tare
from tare.cli import receiving
from tare.cli.receiving import Guest, Receiver, Target
from tare.messages.files import FILE

FOLLOW = ("receive", "--listen", "unix:s", "--follow", "--to", "in/")


def frame(payload: bytes) -> bytes:
    """Make a message."""
    return b"\xe0" + len(payload).to_bytes(4, "little") + payload


def hello(codec: bytes = b"file") -> bytes:
    """Say what is sent."""
    import tare._tare as core

    session = core.MessageSession("frame", {"hello": codec.decode()})
    session.send(b"")
    return session.outgoing().removesuffix(frame(b""))


def whole_file(name: str, data: bytes = b"x", *, receipt: bool = False) -> bytes:
    """Make the messages of a file."""
    said = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    header = json.dumps({"name": name, "size": len(data), "receipt": receipt}).encode()
    return frame(b"\1" + header) + frame(b"\2" + data) + frame(b"\3" + json.dumps(said).encode())


@contextlib.contextmanager
def receiving_at(folder: Path, *more: str, limit: int | None = None):
    """A receiver that listens, with a limit of descriptors."""

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    with started(*FOLLOW, *more, cwd=folder, preexec_fn=limited) as receiver:
        wait_until((folder / "s").exists)
        yield receiver


def guest(folder: Path, data: bytes = b"") -> socket.socket:
    """Connect, and send something."""
    sock = socket.socket(socket.AF_UNIX)
    wait_until(lambda: connected(sock, str(folder / "s")))
    sock.sendall(data)
    return sock


def connected(sock: socket.socket, path: str) -> bool:
    """Whether a socket is connected now; the queue may be full."""
    sock.setblocking(False)
    try:
        sock.connect(path)
    except (BlockingIOError, ConnectionRefusedError):
        return False
    sock.setblocking(True)
    return True


def alive(receiver: Running) -> bool:
    """Whether a receiver goes on."""
    return receiver.process.poll() is None


def test_more_guests_than_descriptors_end_nothing(tmp_path: Path) -> None:
    """Of 100 descriptors 37 are for connections; a file on its way arrives, and who comes later is served too."""
    with receiving_at(tmp_path, limit=100) as receiver:
        data = whole_file("honest.bin", receipt=True)
        with guest(tmp_path, hello() + data[:-10]) as honest, contextlib.ExitStack() as stack:
            for _ in range(120):
                stack.enter_context(guest(tmp_path))
            honest.sendall(data[-10:])
            honest.settimeout(60)
            assert b"sha256" in honest.recv(4096)
            assert alive(receiver)
        (tmp_path / "later.bin").write_bytes(b"1")
        run("send", "unix:s", "later.bin", "--timeout", "60s", cwd=tmp_path)
        assert alive(receiver)
    assert sorted(os.listdir(tmp_path / "in")) == ["honest.bin", "later.bin"]


def test_a_silent_guest_is_not_taken_for_the_sender(tmp_path: Path) -> None:
    """Without --follow the first that says something is received from."""
    with started("receive", "--listen", "unix:s", cwd=tmp_path) as receiver:
        wait_until((tmp_path / "s").exists)
        with guest(tmp_path):
            run("send", "unix:s", "--codec", "json", cwd=tmp_path, stdin=b"[1]\n")
            assert receiver.done().out == b"[1]\n"


def test_refused_guests_hold_nobody_up(tmp_path: Path) -> None:
    """Fifteen that want a receipt and stay would have taken 2 s each."""
    with receiving_at(tmp_path) as receiver, contextlib.ExitStack() as stack:
        held = [
            stack.enter_context(guest(tmp_path, hello() + whole_file("../x", receipt=True)))
            for _ in range(15)
        ]
        start = time.monotonic()
        (tmp_path / "a.bin").write_bytes(b"1")
        run("send", "unix:s", "a.bin", cwd=tmp_path)
        assert time.monotonic() - start < 15
        for sock in held:  # each is told why, and closed in the end
            sock.settimeout(60)
            assert b"reason" in b"".join(iter(lambda sock=sock: sock.recv(4096), b""))
        assert alive(receiver)


def test_guests_that_read_no_receipts_hold_nobody_up(tmp_path: Path) -> None:
    """Three would have taken 10 s each."""
    with receiving_at(tmp_path, "--force") as receiver, contextlib.ExitStack() as stack:
        guests = [stack.enter_context(guest(tmp_path, hello())) for _ in range(3)]
        pumps = [threading.Thread(target=pump, args=(sock,)) for sock in guests]
        for thread in pumps:
            thread.start()
        wait_until((tmp_path / "in/same").exists)
        start = time.monotonic()
        (tmp_path / "a.bin").write_bytes(b"1")
        run("send", "unix:s", "a.bin", cwd=tmp_path)
        assert time.monotonic() - start < 15
        assert alive(receiver)
        for sock, thread in zip(guests, pumps, strict=True):
            sock.shutdown(socket.SHUT_RDWR)
            thread.join()


def pump(sock: socket.socket) -> None:
    """Send files as long as that goes, and read nothing."""
    with contextlib.suppress(OSError):
        while True:
            sock.sendall(whole_file("same", receipt=True))


def test_a_receipt_that_is_not_read_is_owed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits; it is sent when the sender reads, and too late is an error."""
    mine, theirs = socket.socketpair()
    options = {"count": None, "framing": "frame", "fidelity": False, "max_files": 10_000}
    with mine, tare.connect(f"fd:{theirs.detach()}", FILE, hello=False, end=False) as conn:
        receiver = Receiver(Target(f"{tmp_path}/in/", raw=False, force=False), options)
        guest = Guest(conn, receiver, waits=False)
        monkeypatch.setattr(receiving, "_READ_S", 1e6)
        while not guest.owes:
            guest._answer(b"\4" + bytes(1000))
        guest.push()
        assert guest.owes
        mine.setblocking(False)
        while guest.owes:
            with contextlib.suppress(BlockingIOError):
                mine.recv(1 << 20)
            guest.push()
        monkeypatch.setattr(receiving, "_READ_S", 0)
        while not guest.owes:
            guest._answer(b"\4" + bytes(1000))
        with pytest.raises(TimeoutError, match="does not read its receipts"):
            guest.push()
        with pytest.raises(TimeoutError, match="does not read its receipts"):
            guest._answer(b"\4" + bytes(1 << 20))  # nor is more owed than a little
        mine.close()
        with contextlib.suppress(OSError):
            conn.close()


def test_empty_messages_of_nobody_make_no_files(tmp_path: Path) -> None:
    """50 kB would have been 10,000 files."""
    with receiving_at(tmp_path, "-n", "3") as receiver:
        with guest(tmp_path, frame(b"") * 300):
            (tmp_path / "a.bin").write_bytes(b"")
            run("send", "unix:s", "a.bin", cwd=tmp_path)
        run("send", "unix:s", "--raw", cwd=tmp_path)
        with guest(tmp_path, hello(b"msgpack") + frame(b"") + frame(b"\1")):
            done = receiver.done()
    assert done.code == 1
    assert "the sender did not say what it sends" in done.err
    assert "a.bin" in os.listdir(tmp_path / "in")
    assert len(os.listdir(tmp_path / "in")) == 3


@pytest.mark.parametrize("named", [False, True])
def test_one_sender_makes_so_many_files_at_most(named: bool, tmp_path: Path) -> None:
    """The option is named; another sender may make as many again."""
    files = [whole_file(f"f{n}") if named else frame(b"[%d]" % n) for n in range(5)]
    with receiving_at(tmp_path, "-n", "4", "--max-files", "3") as receiver:
        with guest(tmp_path, hello(b"file" if named else b"json") + b"".join(files)):
            wait_until(lambda: len(os.listdir(tmp_path / "in")) == 3)
            (tmp_path / "a.bin").write_bytes(b"1")
            run("send", "unix:s", "a.bin", cwd=tmp_path)
        done = receiver.done()
    assert done.code == 1
    assert "more than 3 files of one sender: --max-files N" in done.err
    assert len(os.listdir(tmp_path / "in")) == 4
