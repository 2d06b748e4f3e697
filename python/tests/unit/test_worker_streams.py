"""Sending and receiving: what arrives, in which parts, and the order of the stamps."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Iterator

import pytest

from tare.errors import Malformed, Truncated, UsageError
from tare.formats.base import Stream
from tare.measure.streams import DELIVERIES, Receiver, Sender


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


def test_several_framed_messages_share_a_connection():
    """Each comes alone, whatever was read ahead."""
    values = [[n] * n for n in range(1, 200)]
    got, _, _ = transfer("framed", values)
    assert got == values


@pytest.mark.parametrize("cut", range(12))
def test_a_frame_cut_anywhere_is_truncated(cut):
    """A writer that dies in the length or in the message."""
    frame = (4).to_bytes(8, "little") + b"[1]\n"
    reading, writing = pipe()
    writing.write(frame[:cut])
    writing.close()
    with pytest.raises(Truncated, match="the writer closed after"):
        Receiver(reading, "framed", json.loads).receive()
    reading.close()


def test_a_frame_split_at_every_byte_arrives():
    """A slow writer changes nothing."""
    frame = (3).to_bytes(8, "little") + b"[1]"
    for split in range(1, len(frame)):
        reading, writing = pipe()
        receiver = Receiver(reading, "framed", json.loads)
        writing.write(frame[:split])
        thread = threading.Thread(target=writing.write, args=(frame[split:],))
        thread.start()
        assert receiver.receive() == [1]
        thread.join()
        reading.close()
        writing.close()


def test_an_absurd_length_is_malformed():
    """Nothing is allocated for it."""
    reading, writing = pipe()
    writing.write(b"\xff" * 8)
    writing.close()
    with pytest.raises(Malformed, match="a frame says it is"):
        Receiver(reading, "framed", json.loads).receive()
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
