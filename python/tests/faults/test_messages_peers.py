"""Peers that misbehave: what they do, in which state it leaves the connection, and that nothing grows."""

from __future__ import annotations

import os
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from support.capabilities import need_module, unavailable
from support.message_connections import paired, raw_peer
from support.peaks import PEAK

import tare
from tare.messages import EndOfStream

FRAME = b"\xe0\x03\0\0\0[1]"


def cpu(work) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


@pytest.mark.parametrize("cut", range(1, len(FRAME)))
def test_a_stream_that_is_cut_anywhere(cut: int) -> None:
    with raw_peer("json") as (sock, conn):
        sock.sendall(FRAME + FRAME[:cut])
        assert conn.receive() == [1]
        assert conn.poll(0) is False
        assert (conn.status, conn.partial()) == ("need_more", FRAME[5:cut])
        assert conn.status.hint == (5 - cut if cut < 5 else 8 - cut)
        sock.close()
        for _ in range(2):
            with pytest.raises(tare.errors.Truncated) as caught:
                conn.receive()
            assert (caught.value.format, caught.value.offset, caught.value.is_truncated) == ("frame", 8, True)
            assert caught.value.message_number == 1
        assert (conn.status, conn.status.offset) == ("eof_truncated", 8)
        assert conn.poll(0) is True


def test_r06_an_error_of_reading_is_no_end() -> None:
    with tare.listen("tcp://127.0.0.1:0", "json", timeout=60) as server:
        port = int(server.url.rpartition(":")[2])
        sock = socket.create_connection(("127.0.0.1", port))
        with server.accept() as conn:
            sock.sendall(FRAME)
            assert conn.receive() == [1]
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()  # resets
            for _ in range(2):
                with pytest.raises(ConnectionResetError):
                    conn.receive()
            assert conn.status == "failed"


def test_r06_writing_to_who_is_gone() -> None:
    with raw_peer("json") as (sock, conn):
        sock.close()
        with pytest.raises((BrokenPipeError, ConnectionResetError)):  # noqa: PT012 - which call fails is the system's choice
            for _ in range(10):
                conn.send([1])


def test_r07_pieces_cost_no_more_than_one() -> None:
    data = need_module("msgpack").packb([{"a": n, "b": "text" * 3} for n in range(40_000)])
    pieces = 100

    def fed(count: int) -> float:
        with raw_peer("msgpack", framing="native") as (sock, conn):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
            size = -(-len(data) // count)

            def work() -> None:
                for at in range(0, len(data), size):
                    rest = memoryview(data)[at : at + size]
                    while len(rest):
                        rest = rest[sock.send(rest[:65_536]) :]
                        conn.poll(0)
                assert len(conn.receive()) == 40_000

            return cpu(work)

    ratios = [fed(pieces) / fed(1) for _ in range(5)]
    assert min(ratios) <= 5, ratios  # what were read again with each piece would be fifty times as much


def test_r08_one_by_one_costs_little_more_than_all() -> None:
    """By what is called, which no busy machine changes; `make bench NAME=messages` has the times (single-receive)."""
    count = 3_000
    calls: Counter[str] = Counter()

    def noted(frame, event, _argument) -> None:
        if event == "call":
            calls[frame.f_code.co_name] += 1

    with raw_peer("raw") as (sock, conn):
        sock.sendall((b"\xe0\x20\0\0\0" + bytes(32)) * count)
        assert len(conn.receive()) == 32
        sys.setprofile(noted)
        try:
            for _ in range(count - 1):
                conn.receive()
        finally:
            sys.setprofile(None)
    assert calls.pop("receive") == count - 1
    assert calls.total() <= count / 10, calls


def test_r02_reads_are_as_large_as_asked(tmp_path: Path) -> None:
    counted = Path("/proc/self/io")
    if not counted.exists():
        unavailable("no /proc/self/io to count reads by")

    def reads(size: int) -> int:
        def count() -> int:
            return int(
                next(line for line in counted.read_text().splitlines() if line.startswith("syscr")).split()[1]
            )

        with raw_peer("raw", read_size=size) as (sock, conn):
            thread = threading.Thread(target=sock.sendall, args=((b"\xe0\x64\0\0\0" + bytes(100)) * 2000,))
            thread.start()
            thread.join()
            before = count()
            assert len(conn.receive_all(n=2000, timeout=60)) == 2000
            return count() - before

    small, large = reads(1024), reads(1 << 20)
    assert small >= 150
    assert large < small / 4


def test_r14_a_writer_feels_a_reader_that_does_not_read(tmp_path: Path) -> None:
    code = (
        PEAK
        + """
import sys, tare
conn = tare.connect(sys.argv[1], "raw")
before = peak()
sent = 0
try:
    while sent < 2_000:
        conn.send(bytes(100_000), timeout=0.2)
        sent += 1
except TimeoutError:
    pass
print(sent, peak() - before, flush=True)
import os
os._exit(0)
"""
    )
    with tare.listen(f"unix:{tmp_path}/s", "raw", timeout=60) as server:  # noqa: SIM117 - read from the outside in
        with subprocess.Popen([sys.executable, "-c", code, server.url], stdout=subprocess.PIPE) as process:
            with server.accept() as conn:
                assert process.stdout is not None
                sent, grown = map(int, process.stdout.readline().split())
                assert sent < 100
                assert grown < 8 << 10  # KiB
                assert conn.poll(0) is True


def test_r14_a_reader_takes_in_no_more_than_it_may() -> None:
    with raw_peer("raw", max_ready=1 << 20) as (sock, conn):
        sock.setblocking(False)
        sent = 0
        frame = b"\xe0\xe8\x03\0\0" + bytes(1000)
        quiet = 0
        while quiet < 3:
            conn.poll(0)
            try:
                while True:
                    sent += sock.send(frame * 10)
                    quiet = 0
            except BlockingIOError:
                quiet += 1
            assert sent < 8 << 20, "a reader that is not asked takes all"
        assert conn.pending <= (1 << 20) // 1000 + 1100


def test_a_head_that_announces_much_costs_little() -> None:
    code = (
        PEAK
        + """
import socket, tare
mine, theirs = socket.socketpair()
conn = tare.connect(f"fd:{theirs.detach()}", "raw", max_message=(1 << 31) - 1)
before = peak()
mine.sendall(bytes.fromhex("e0ffffff7f") + b"abc")
try:
    conn.receive(timeout=0.2)
except TimeoutError:
    pass
assert conn.partial_size == 3
print(peak() - before)
import os
os._exit(0)
"""
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 3 << 10  # KiB


@pytest.mark.parametrize("head", ["ddffffffff", "dcffff" * 24_000])
def test_heads_that_nest_and_announce(head: str) -> None:
    with raw_peer("msgpack", framing="native") as (sock, conn):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        sock.sendall(bytes.fromhex(head))
        with pytest.raises((TimeoutError, tare.errors.Limit)):
            conn.receive(timeout=0.1)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 3 << 10


def test_a_peer_that_trickles() -> None:
    """The limit of one message ends it: the peer would go on for hours, and the call wait for minutes."""
    with raw_peer("json", message_timeout=0.3) as (sock, conn):
        stop = threading.Event()

        def trickle() -> None:
            sock.sendall(b"\xe0\xff\xff\0\0")  # 65,535 bytes are to come
            while not stop.wait(0.1):
                try:
                    sock.sendall(b"1")
                except OSError:
                    return

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            with pytest.raises(TimeoutError, match="message_timeout"):
                conn.receive(timeout=600)
        finally:
            stop.set()
            thread.join()


def test_a_flood_does_not_starve_another() -> None:
    with raw_peer("raw") as (flood, flooded), raw_peer("raw") as (quiet, other):
        stop = threading.Event()

        def pour() -> None:
            data = (b"\xe0\x20\0\0\0" + bytes(32)) * 1000
            while not stop.is_set():
                try:
                    flood.sendall(data)
                except OSError:
                    return

        thread = threading.Thread(target=pour)
        thread.start()
        try:
            quiet.sendall(b"\xe0\x01\0\0\0x")
            for _ in range(50):
                ready = tare.wait([flooded, other], timeout=60)
                if other in ready:
                    break
                flooded.receive_all(n=1000)
            assert other in ready
            assert other.receive() == b"x"
        finally:
            stop.set()
            flooded.close(timeout=0)
            thread.join()


def test_a_fifo_without_a_reader(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises((TimeoutError, OSError)):
        tare.connect(f"fifo:{tmp_path}/p", mode="w", timeout=0.2)
    assert 0.1 < time.monotonic() - began < 60


def test_a_fifo_whose_writers_come_and_go(tmp_path: Path) -> None:
    path = f"fifo:{tmp_path}/p"
    os.mkfifo(tmp_path / "p")
    with tare.connect(path, "json", mode="r", keep=True, timeout=60) as reader:
        for number in range(3):
            with tare.connect(path, "json", mode="w", timeout=60) as writer:
                writer.send(number)
            assert reader.receive() == number


def test_two_writers_of_whole_messages(tmp_path: Path) -> None:
    path = f"fifo:{tmp_path}/p"
    os.mkfifo(tmp_path / "p")
    with tare.connect(path, "json", mode="r", keep=True, timeout=60) as reader:
        writers = [tare.connect(path, "json", mode="w", atomic=True, timeout=60) for _ in range(2)]
        with pytest.raises(tare.TareError):
            writers[0].send("x" * 5000)
        threads = [
            threading.Thread(target=writer.send_all, args=([[number] * 20 for _ in range(500)],))
            for number, writer in enumerate(writers)
        ]
        for thread in threads:
            thread.start()
        got = reader.receive_all(n=1000, timeout=60)
        for thread in threads:
            thread.join()
        for writer in writers:
            writer.close()
        assert sorted(got) == [[0] * 20] * 500 + [[1] * 20] * 500


def test_a_port_in_use() -> None:
    with tare.listen("tcp://127.0.0.1:0") as server, pytest.raises(OSError, match="in use"):
        tare.listen(server.url)


def test_a_socket_file_that_nobody_listens_at(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "s"))
    with tare.listen(f"unix:{tmp_path}/s", timeout=60) as server:
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600
        with pytest.raises(OSError, match="in use"):
            tare.listen(server.url)


def test_waiting_for_a_listener_that_comes_later(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tare.connect(f"unix:{tmp_path}/s")
    servers = []
    timer = threading.Timer(
        0.1, lambda: servers.append(tare.listen(f"unix:{tmp_path}/s", "json", timeout=60))
    )
    timer.start()
    with tare.connect(f"unix:{tmp_path}/s", "json", retry=60) as client:
        timer.join()
        client.send(1)
        with servers[0] as server, server.accept() as conn:
            assert conn.receive() == 1


def test_half_of_a_connection_closed() -> None:
    with raw_peer("json", hello=False) as (sock, conn):
        sock.sendall(FRAME)
        sock.shutdown(socket.SHUT_WR)
        assert conn.receive() == [1]
        with pytest.raises(EndOfStream):
            conn.receive()
        conn.send("answer")
        assert sock.recv(100) == b"\xe0\x08\0\0\0" + b'"answer"'


def test_files_that_go_on(tmp_path: Path) -> None:
    url = f"file:{tmp_path}/log"
    with tare.connect(url, "json", mode="w") as log:
        log.send_all([1, 2])
    with tare.connect(url, "json", mode="a") as log:
        log.send(3)
    with tare.connect(url, "json", mode="r") as log:
        assert list(log) == [1, 2, 3]
    whole = (tmp_path / "log").read_bytes()
    (tmp_path / "log").write_bytes(whole + b"\xe0\x09\0\0\0cut")
    with pytest.raises(tare.TareError, match="repair"):
        tare.connect(url, "json", mode="a")
    with tare.connect(url, "json", mode="a", repair=True) as log:
        log.send(4)
    with tare.connect(url, "json", mode="r") as log:
        assert list(log) == [1, 2, 3, 4]
    damaged = bytearray(whole)
    damaged[-40] ^= 1
    (tmp_path / "log").write_bytes(damaged)
    with tare.connect(url, "json", mode="r") as log, pytest.raises(tare.TareError):
        list(log)


def test_many_connections_at_once(tmp_path: Path) -> None:
    with tare.listen(f"unix:{tmp_path}/s", "json", timeout=60) as server:
        clients = [tare.connect(server.url, "json") for _ in range(60)]
        conns = [server.accept() for _ in clients]
        for number, client in enumerate(clients[::7]):
            client.send(number)
        got: dict[int, object] = {}
        while len(got) < 9:
            for conn in tare.wait(conns, timeout=60):
                got[conns.index(conn)] = conn.receive(timeout=0)
        assert got == {7 * number: number for number in range(9)}
        for end in clients + conns:
            end.close()


def test_more_connections_than_allowed(tmp_path: Path) -> None:
    with tare.listen(f"unix:{tmp_path}/s", "json", max_connections=1) as server:  # noqa: SIM117 - read from the outside in
        with tare.connect(server.url, "json") as first, server.accept(timeout=60) as conn:
            with tare.connect(server.url, "json"), pytest.raises(TimeoutError):
                server.accept(timeout=0.2)
            first.send(1)
            assert conn.receive(timeout=60) == 1


def test_memory_stays_flat(tmp_path: Path) -> None:
    with paired("unix", tmp_path, "raw") as (writer, reader):

        def pour() -> None:
            for _ in range(200):
                writer.send_all([bytes(1000)] * 1000)
            writer.close()

        thread = threading.Thread(target=pour)
        count = 0
        thread.start()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in reader:
            count += 1
        thread.join()
        assert count == 200_000
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10
