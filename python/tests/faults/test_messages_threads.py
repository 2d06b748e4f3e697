"""Two threads at one stream: errors are made while the other one sends, and nobody waits for ever."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.message_connections import certificate

import tare

_WORK = """
import sys, threading
from tare._tare import MessageSession

sys.setswitchinterval(1e-6)
session = MessageSession("frame", {"end": True, "max_message": 1000})
session.received(b"GET / HTTP/1.1\\r\\n")
done = threading.Event()

def send():
    while not done.is_set():
        session.send(b"x")
        session.written(len(session.outgoing()))
        session.facts()

def refused():
    while not done.is_set():
        try:
            session.send_many([b"x", b"y" * 2000], 0, 1 << 20)
        except Exception:
            pass

threads = [threading.Thread(target=work, daemon=True) for work in (send, refused)]
for thread in threads:
    thread.start()
errors = 0
for _ in range(5000):
    for call in (lambda: session.take(1, 1 << 20), lambda: session.take_into(bytearray(10))):
        try:
            call()
        except Exception:
            errors += 1
done.set()
for thread in threads:
    thread.join()
print(errors)
"""


def test_errors_beside_a_sender_hang_nobody() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WORK], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "10000\n"


def test_poll_says_no_while_another_thread_receives() -> None:
    ours, theirs = socket.socketpair()
    with theirs, tare.connect(f"fd:{ours.detach()}", "raw", timeout=60) as connection:
        got: list[bytes] = []
        receiver = threading.Thread(target=lambda: got.append(connection.receive()))
        receiver.start()
        answers = [connection.poll(0.01), bool(tare.wait([connection], timeout=0.01))]
        theirs.sendall(bytes.fromhex("e0020000006869"))
        receiver.join(60)
    assert (answers, got) == ([False, False], [b"hi"])


def test_a_child_that_leaves_closes_nothing_of_its_parents() -> None:
    """Neither an end nor a shutdown goes out, by `close`, by ``with``, by an exception in it or by garbage collection."""
    ours, theirs = socket.socketpair()
    with tare.connect(f"fd:{theirs.detach()}", "json", timeout=60) as peer:
        connection = tare.connect(f"fd:{ours.detach()}", "json", timeout=60)
        for leave in (
            "connection.close()",
            "with connection: pass",
            "with connection: raise ValueError",
            "del connection",
        ):
            pid = os.fork()
            if pid == 0:
                with contextlib.suppress(Exception):
                    exec(leave, {"connection": connection})
                gc.collect()
                os._exit(0)
            os.waitpid(pid, 0)
            assert not os.get_blocking(connection.fileno())
            connection.send(leave)
            assert peer.receive() == leave
            peer.send("back")
            assert (connection.receive(), connection.status) == ("back", "ok")
        connection.close()


# What a peer may send for ever: notes of a later version, blank lines.
_NO_MESSAGES = {"frame": bytes.fromhex("e8010000007f") * 8192, "native": b"\n" * (64 << 10)}


@contextlib.contextmanager
def _flooded(send: Callable[[bytes], Any], framing: str) -> Iterator[None]:
    done = threading.Event()

    def flood() -> None:
        with contextlib.suppress(OSError):
            while not done.is_set():
                send(_NO_MESSAGES[framing])

    sender = threading.Thread(target=flood)
    sender.start()
    try:
        yield
    finally:
        done.set()
        sender.join(60)


def _gives_up(connection: tare.Connection, raw: bool) -> None:
    """Each call ends at its deadline, though bytes came all the while; without one they would not end."""
    started = time.monotonic()
    assert not connection.poll(0.2)
    with pytest.raises(TimeoutError):
        connection.receive(timeout=0.2)
    if raw:
        with pytest.raises(TimeoutError):
            connection.receive_into(bytearray(9), timeout=0.2)
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("framing", _NO_MESSAGES)
def test_a_flood_that_holds_no_message_is_given_up_in_time(framing: str) -> None:
    ours, theirs = socket.socketpair()
    theirs.settimeout(1)
    codec = "raw" if framing == "frame" else "json"
    with theirs, tare.connect(f"fd:{ours.detach()}", codec, framing=framing) as connection:
        with _flooded(theirs.sendall, framing):
            _gives_up(connection, codec == "raw")
        connection.close(timeout=0)


def test_a_flood_under_tls_is_given_up_in_time(tmp_path: Path) -> None:
    papers = certificate(tmp_path, "server.test")
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(*papers)
    trusting = ssl.create_default_context(cafile=str(papers[0]))
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted: list[ssl.SSLSocket] = []

        def accept() -> None:
            accepted.append(serving.wrap_socket(server.accept()[0], server_side=True))

        accepting = threading.Thread(target=accept)
        accepting.start()
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with tare.connect(url, "raw", tls=trusting, server_hostname="server.test", timeout=60) as connection:
            accepting.join(60)
            with accepted[0] as peer:
                peer.settimeout(1)
                with _flooded(peer.sendall, "frame"):
                    _gives_up(connection, True)
            connection.close(timeout=0)


@pytest.mark.parametrize("framing", _NO_MESSAGES)
def test_a_flood_that_holds_no_message_keeps_no_signal_away(framing: str) -> None:
    class Rung(Exception):
        pass

    def ring(*_: Any) -> None:
        raise Rung

    ours, theirs = socket.socketpair()
    theirs.settimeout(1)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with theirs, tare.connect(f"fd:{ours.detach()}", "json", framing=framing) as connection:
            with _flooded(theirs.sendall, framing):
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                with pytest.raises(Rung):
                    connection.receive(timeout=60)
            connection.close(timeout=0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
