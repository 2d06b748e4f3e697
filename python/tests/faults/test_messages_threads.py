"""Two threads at one stream: errors are made while the other one sends, and nobody waits for ever."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

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
    with theirs, tare.connect(f"fd:{ours.detach()}", "raw", timeout=20) as connection:
        got: list[bytes] = []
        receiver = threading.Thread(target=lambda: got.append(connection.receive()))
        receiver.start()
        answers = [connection.poll(0.01), bool(tare.wait([connection], timeout=0.01))]
        theirs.sendall(bytes.fromhex("e0020000006869"))
        receiver.join(20)
    assert (answers, got) == ([False, False], [b"hi"])
