"""Sending and receiving: what arrives, in which parts, and the order of the stamps."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Iterator

import pytest

import tare
from tare.errors import Malformed, Truncated, UsageError
from tare.formats.base import Stream
from tare.measure.worker.transfer import DELIVERIES, MESSAGES, Receiver, Sender


def _write_lines(rows: list[object], file: io.BufferedIOBase, **_: object) -> None:
    file.writelines(json.dumps(row).encode() + b"\n" for row in rows)


def _read_lines(file: io.BufferedIOBase, **_: object) -> Iterator[object]:
    for line in file:
        yield json.loads(line)


LINES = Stream(_write_lines, _read_lines, list)
ROWS = [{"n": n, "text": "x" * 50} for n in range(5000)]


def encode(value: object) -> bytes:
    return json.dumps(value).encode()


def pipe() -> tuple[io.FileIO, io.FileIO]:
    reading, writing = os.pipe()
    return io.FileIO(reading, "rb"), io.FileIO(writing, "wb")


def transfer(delivery: str, values: list[object]) -> tuple[list[object], Sender, Receiver]:
    """Send values from a thread, receive them here."""
    reading, writing = pipe()
    sender = Sender(writing, delivery, encode, stream=LINES)
    receiver = Receiver(reading, delivery, json.loads, stream=LINES)
    thread = threading.Thread(target=lambda: [sender.send(value) for value in values])
    thread.start()
    got = [receiver.receive() for _ in values]
    thread.join()
    reading.close()
    writing.close()
    return got, sender, receiver


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("value", [ROWS, [{"n": 1}]], ids=["long", "short"])
def test_what_is_sent_is_received(delivery, value):
    """Every delivery, longer and shorter than a pipe; both sides count the same bytes."""
    got, sender, receiver = transfer(delivery, [value])
    assert got == [value]
    assert sender.count == receiver.count


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_stamps_are_in_order(delivery):
    """Start, first byte, last byte, close; first byte, first value, last value."""
    _, sender, receiver = transfer(delivery, [ROWS])
    sent, received = sender.stamps(), receiver.stamps()
    assert sent == sorted(sent)
    first_byte, first_value, last_byte, last_value = received
    assert sent[0] < sent[1] <= first_byte <= first_value <= last_value
    assert first_byte <= last_byte <= last_value
    assert min(sent + received) > 0


def test_streaming_gives_values_before_the_end():
    """The first value is there before the last byte; delivered whole, it cannot be."""
    _, _, streaming = transfer("streaming", [ROWS])
    _, _, whole = transfer("whole", [ROWS])
    assert streaming.stamps()[1] < streaming.stamps()[2]
    assert whole.stamps()[1] >= whole.stamps()[2]


def test_a_reset_forgets_the_stamps():
    """The next sample begins at its own start."""
    _, sender, receiver = transfer("framed", [ROWS])
    sender.reset()
    receiver.reset()
    assert (sender.stamps(), receiver.stamps()) == ([0] * 4, [0] * 4)
    assert (sender.count, receiver.count) == (0, 0)


@pytest.mark.parametrize("delivery", MESSAGES)
def test_several_messages_share_a_connection(delivery):
    """Each comes alone, whatever was read ahead."""
    values = [[n] * n for n in range(1, 200)]
    got, _, _ = transfer(delivery, values)
    assert got == values


# A frame of version 1 and a msgpack bin, by the specifications.
FRAMES = {"framed": bytes.fromhex("e003000000") + b"[1]", "wrapped": bytes.fromhex("c403") + b"[1]"}


@pytest.mark.parametrize("delivery", MESSAGES)
def test_a_message_cut_anywhere_is_truncated(delivery):
    """A writer that dies in the length or in the message, or before either."""
    for cut in range(len(FRAMES[delivery])):
        reading, writing = pipe()
        writing.write(FRAMES[delivery][:cut])
        writing.close()
        with pytest.raises(Truncated, match=r"the stream ends inside a message|closed before the message"):
            Receiver(reading, delivery, json.loads).receive()
        reading.close()


@pytest.mark.parametrize("delivery", MESSAGES)
def test_messages_are_those_of_the_specification(delivery):
    """What is sent is the frame, or the msgpack bin, of docs/specs/messages.md and nothing else."""
    reading, writing = pipe()
    Sender(writing, delivery, bytes).send(b"[1]")
    assert FRAMES[delivery] == reading.read(100)
    reading.close()
    writing.close()


@pytest.mark.parametrize("delivery", MESSAGES)
def test_a_connection_reads_what_is_measured(delivery, tmp_path):
    """What a measured writer sends, `tare.connect` receives."""
    path = tmp_path / "sent"
    values = [ROWS, [], [{"n": 1}]]
    with open(path, "wb", buffering=0) as file:
        sender = Sender(file, delivery, encode)
        for value in values:
            sender.send(value)
    framing = "frame" if delivery == "framed" else "native:wrap"
    with tare.connect(f"file:{path}", "json", framing=framing, mode="r") as conn:
        assert values == list(conn)
    with tare.connect(f"file:{path}", "raw", framing=framing, mode="r") as conn:
        assert list(map(encode, values)) == list(conn)


@pytest.mark.parametrize("delivery", MESSAGES)
def test_a_message_split_at_every_byte_arrives(delivery):
    """A slow writer changes nothing."""
    frame = FRAMES[delivery]
    for split in range(1, len(frame)):
        reading, writing = pipe()
        receiver = Receiver(reading, delivery, json.loads)
        writing.write(frame[:split])
        thread = threading.Thread(target=writing.write, args=(frame[split:],))
        thread.start()
        assert receiver.receive() == [1]
        thread.join()
        reading.close()
        writing.close()


@pytest.mark.parametrize(
    ("delivery", "begin"),
    [("framed", "ff" * 8), ("framed", "f000000000"), ("wrapped", "ff" * 8), ("wrapped", "93010203")],
)
def test_what_is_no_message_is_malformed(delivery, begin):
    """Nothing is allocated for it."""
    reading, writing = pipe()
    writing.write(bytes.fromhex(begin))
    writing.close()
    with pytest.raises(Malformed, match="expected"):
        Receiver(reading, delivery, json.loads).receive()
    reading.close()


def test_streaming_needs_a_library_that_can():
    """Said before anything is opened."""
    reading, writing = pipe()
    with pytest.raises(UsageError, match="write in parts"):
        Sender(writing, "streaming", encode)
    with pytest.raises(UsageError, match="read in parts"):
        Receiver(reading, "streaming", json.loads)
    reading.close()
    writing.close()


def test_a_writer_waits_for_the_acknowledgement():
    """On another host the span is the writer's own: until the reader has decoded."""
    import socket

    left, right = socket.socketpair()
    writing, reading = left.makefile("rwb", buffering=0), right.makefile("rwb", buffering=0)
    sender = Sender(writing, "framed", encode, ack=True)
    receiver = Receiver(reading, "framed", json.loads, ack=True)
    thread = threading.Thread(target=sender.send, args=(ROWS,))
    thread.start()
    assert receiver.receive() == ROWS
    thread.join()
    assert sender.stamps()[3] >= receiver.stamps()[3]
    for end in (writing, reading, left, right):
        end.close()
