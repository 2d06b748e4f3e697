"""A conversation against a plain list: whatever is called, what comes out is what went in, in order."""

from __future__ import annotations

import os
import socket
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import tare
from tare.messages import EndOfStream

CODECS = ["json", "json:orjson+zstd:3", "msgpack", "cbor", "raw"]


class Conversation(RuleBasedStateMachine):
    """Two connections over a pair of sockets; the model is the list of what was sent and not received."""

    codec = "json"
    framing = "frame"

    def __init__(self) -> None:
        super().__init__()
        one, other = socket.socketpair()
        options = {"framing": self.framing, "timeout": 10}
        self.writer = tare.connect(f"fd:{one.detach()}", self.codec, **options)
        self.reader = tare.connect(f"fd:{other.detach()}", self.codec, **options)
        self.flying: list[Any] = []
        self.sent = 0
        self.received = 0

    def fits(self, size: int) -> bool:
        """Whether a buffer of the kernel has room, so that one thread can send and then receive."""
        return size + sum(len(str(value)) + 64 for value in self.flying) < 100_000

    def value(self, number: int, size: int) -> Any:
        if self.codec == "raw":
            return bytes([number % 256]) * size
        return {"n": number, "text": "x" * size}

    @rule(size=st.integers(0, 3000), count=st.integers(0, 40))
    def send_all(self, size: int, count: int) -> None:
        count = count if self.fits(count * (size + 64)) else 0
        values = [self.value(self.sent + index, size) for index in range(count)]
        assert self.writer.send_all(iter(values) if count % 2 else values) == count
        self.flying += values
        self.sent += count

    @rule(size=st.integers(0, 100_000))
    def send(self, size: int) -> None:
        value = self.value(self.sent, size if self.fits(size) else 0)
        self.writer.send(value)
        self.flying.append(value)
        self.sent += 1

    @rule(count=st.integers(0, 5))
    def batch(self, count: int) -> None:
        with self.writer.batch():
            for _ in range(count):
                self.writer.send(self.value(self.sent, 10))
                self.flying.append(self.value(self.sent, 10))
                self.sent += 1

    def took(self, values: list[Any]) -> None:
        assert values == self.flying[: len(values)]
        del self.flying[: len(values)]
        self.received += len(values)

    @precondition(lambda self: self.flying)
    @rule()
    def receive(self) -> None:
        self.took([self.reader.receive()])

    @rule(most=st.one_of(st.none(), st.integers(0, 10)))
    def receive_all(self, most: int | None) -> None:
        got = self.reader.receive_all(n=most)
        assert most is None or len(got) <= most
        self.took(got)

    @precondition(lambda self: self.flying)
    @rule(most=st.integers(1, 10))
    def iterate(self, most: int) -> None:
        got = []
        for value in self.reader:
            got.append(value)
            if len(got) == min(most, len(self.flying)):
                break
        self.took(got)

    @precondition(lambda self: self.flying)
    @rule()
    def wait(self) -> None:
        assert tare.wait([self.reader], timeout=60) == [self.reader]

    @precondition(lambda self: not self.flying)
    @rule()
    def nothing_is_there(self) -> None:
        assert self.reader.poll() is False
        with pytest.raises(TimeoutError):
            self.reader.receive(timeout=0)

    @invariant()
    def figures_agree(self) -> None:
        assert self.writer.summary()["messages_out"] == self.sent
        assert self.reader.summary()["messages_in"] == self.received
        assert self.reader.pending <= len(self.flying)
        assert self.reader.tell()[0] <= self.writer.tell()[1]

    def teardown(self) -> None:
        self.writer.close()
        self.took(list(self.reader))
        assert self.flying == []
        assert self.reader.status == ("ended" if self.framing == "frame" else "eof_clean")
        with pytest.raises(EndOfStream):
            self.reader.receive()
        self.reader.close()


def machine(codec: str, framing: str) -> Any:
    case = type("Case", (Conversation,), {"codec": codec, "framing": framing}).TestCase
    case.settings = settings(
        max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
    )
    return case


TestFrame = machine("json", "frame")
TestCompressed = machine("json:orjson+zstd:3", "frame")
TestRaw = machine("raw", "frame")
TestMsgpack = machine("msgpack", "native")
TestLines = machine("json", "native")
TestWrap = machine("raw", "native:wrap")


@given(
    payloads=st.lists(st.binary(max_size=300), max_size=20),
    cuts=st.lists(st.integers(1, 64), min_size=1, max_size=50),
    codec=st.sampled_from(["raw", "raw+zstd:3"]),
)
@settings(max_examples=40)
def test_any_cut_gives_the_same(payloads: list[bytes], cuts: list[int], codec: str) -> None:
    out, into = os.pipe()
    with tare.connect(f"fd:{into}", codec, mode="w") as writer:
        writer.send_all(payloads)
    stream = b""
    while data := os.read(out, 65_536):
        stream += data
    os.close(out)
    mine, theirs = socket.socketpair()
    with mine, tare.connect(f"fd:{theirs.detach()}", "raw", timeout=60) as reader:
        got: list[bytes] = []
        at, index = 0, 0
        while at < len(stream):
            size = cuts[index % len(cuts)]
            mine.sendall(stream[at : at + size])
            at, index = at + size, index + 1
            got += reader.receive_all()
        mine.shutdown(socket.SHUT_WR)
        assert got + list(reader) == payloads
        assert reader.status == "ended"
