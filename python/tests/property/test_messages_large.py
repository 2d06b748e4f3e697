"""Large messages into buffers of the caller, places of small ones, and many connections: any sizes, any cuts."""

from __future__ import annotations

import os
import random
import socket
import threading
import tracemalloc
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tare
from tare.errors import ChecksumMismatch, Limit, Truncated
from tare.messages import Connection, EndOfStream

SIZES = st.sampled_from([0, 1, 31, 5000, 65_535, 65_536, 65_537, 300_000, 1 << 20, (1 << 20) + 13])
LARGE = 5 << 20  # such a message is read into the bytes that are given


def raw_peer(**options: object) -> tuple[socket.socket, Connection]:
    sock, other = socket.socketpair()
    return sock, tare.connect(f"fd:{other.detach()}", "raw", timeout=60, **options)


def stream(payloads: list[bytes], crc: bool = False) -> bytes:
    """What a connection sends for them."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as file:
        conn = tare.connect(f"fd:{writing}", "raw", mode="w", hello=False, crc=crc)
        sent = threading.Thread(target=lambda: (conn.send_all(payloads), conn.close()))
        sent.start()
        data = file.read()
        sent.join()
    return data


def content(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def trickle(sock: socket.socket, data: bytes, cuts: list[int]) -> threading.Thread:
    def send() -> None:
        with sock:
            at = 0
            for cut in cuts:
                sock.sendall(data[at : at + cut])
                at += cut
            sock.sendall(data[at:])

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@settings(max_examples=25, deadline=None)
@given(
    st.lists(SIZES, max_size=6),
    st.lists(st.integers(1, 400_000), max_size=6),
    st.booleans(),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_a_buffer_gets_what_receive_gives(sizes, cuts, crc, into):
    payloads = [content(seed, size) for seed, size in enumerate(sizes)]
    sock, conn = raw_peer()
    thread = trickle(sock, stream(payloads, crc), cuts)
    with closing(conn):
        for payload, placed in zip(payloads, into, strict=False):
            if placed:
                place = bytearray(b"\xaa") * (len(payload) + 9)
                assert conn.receive_into(place) == len(payload)
                assert place == payload + b"\xaa" * 9
            else:
                assert conn.receive() == payload
        with pytest.raises(EndOfStream):
            conn.receive()
        thread.join()
        assert conn.status == "ended"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=40), st.booleans())
def test_it_is_known_where_each_message_ends(messages, crc):
    """Runs of one size, controls of later versions between them."""
    data, ends = b"", []
    for size, controls in messages:
        data += b"\xe8\x02\x00\x00\x00\x7f!" * controls
        data += stream([b"m" * size], crc)[: 5 + size + 4 * crc]
        ends.append(len(data))
    sock, conn = raw_peer()
    with closing(conn), sock:
        sock.sendall(data)
        for end in ends:
            conn.receive()
            assert conn.tell()[0] == end
        assert conn.summary()["messages_in"] == len(messages)


@pytest.mark.parametrize("size", [300_000, LARGE])
def test_what_is_not_whole_in_time_is_not_lost(size):
    payload, after = content(1, size), content(2, 700)
    data = stream([payload, after])
    sock, conn = raw_peer()
    with closing(conn), sock:
        half = threading.Thread(target=sock.sendall, args=(data[: size // 2],))
        half.start()
        for _ in range(3):
            with pytest.raises(TimeoutError):
                conn.receive_into(bytearray(size), timeout=0.05)
        half.join()
        with pytest.raises(TimeoutError):
            conn.receive(timeout=0.05)
        assert conn.partial() == payload[: size // 2 - 5]
        with pytest.raises(TimeoutError):
            conn.receive_into(bytearray(size), timeout=0.05)
        rest = threading.Thread(target=sock.sendall, args=(data[size // 2 :],))
        rest.start()
        assert conn.receive() == payload
        assert conn.receive() == after
        rest.join()


def test_a_buffer_that_is_too_short_takes_nothing():
    payload = content(3, 200_000)
    sock, conn = raw_peer()
    thread = trickle(sock, stream([payload]), [])
    with closing(conn):
        place = bytearray(199_999)
        with pytest.raises(Limit):
            conn.receive_into(place)
        assert not any(place)
        assert conn.receive() == payload
    thread.join()


@pytest.mark.parametrize("into", [True, False])
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damage_in_a_large_message_is_found(into, damage):
    data = stream([content(4, LARGE)], crc=True)
    if damage == "cut":
        data = data[: LARGE - 99]
    else:
        data = data[: LARGE - 99] + bytes([data[LARGE - 99] ^ 1]) + data[LARGE - 98 :]
    sock, conn = raw_peer()
    thread = trickle(sock, data, [1 << 20, 2 << 20])
    with closing(conn):
        for _ in range(2):  # the same each time
            with pytest.raises(Truncated if damage == "cut" else ChecksumMismatch):
                conn.receive_into(bytearray(LARGE)) if into else conn.receive()
    thread.join()


def test_what_is_queued_leaves_while_a_large_message_comes():
    """Both ends send much before they read: nobody waits for the other."""
    payload = content(5, LARGE)
    left, right = socket.socketpair()
    with (
        closing(tare.connect(f"fd:{left.detach()}", "raw", high=1 << 30, timeout=60)) as one,
        closing(tare.connect(f"fd:{right.detach()}", "raw", high=1 << 30, timeout=60)) as two,
    ):
        for conn in (one, two):
            with pytest.raises(TimeoutError):
                conn.send(payload, timeout=0)
        got: list[bytes] = []
        thread = threading.Thread(target=lambda: (got.append(two.receive()), two.flush()))
        thread.start()
        assert one.receive() == payload
        one.flush()
        thread.join()
        assert got == [payload]


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.sampled_from(["nothing", "part", "whole", "two", "taken", "end", "bad"]), min_size=1, max_size=30
    )
)
def test_those_are_ready_that_have_something(states):
    ends = [raw_peer() for _ in states]
    try:
        expected = []
        for state, (sock, conn) in zip(states, ends, strict=True):
            if state != "nothing":
                frame = b"\xe0\x02\x00\x00\x00hi"
                data = {"part": frame[:6], "two": frame * 2, "bad": b"GET /", "end": b""}.get(state, frame)
                sock.sendall(data)
            if state == "end":
                sock.shutdown(socket.SHUT_WR)
            if state in ("taken", "two"):
                assert conn.receive() == b"hi"
            if state in ("whole", "two", "end", "bad"):
                expected.append(conn)
        conns = [conn for _, conn in ends]
        for _ in range(2):
            assert tare.wait(conns, timeout=0 if expected else 0.01) == expected
    finally:
        for sock, conn in ends:
            sock.close()
            conn.close()


def test_an_idle_connection_holds_nothing_of_what_came():
    ends = [raw_peer() for _ in range(20)]
    try:
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for sock, conn in ends:
                sock.sendall(stream([b"m" * 100_000, b"n" * 5000])[:-14])  # without END
                assert len(conn.receive()) == 100_000
                assert len(conn.receive()) == 5000
            assert tare.wait([conn for _, conn in ends], timeout=0) == []
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert grown / len(ends) < 4096
    finally:
        for sock, conn in ends:
            sock.close()
            conn.close()
