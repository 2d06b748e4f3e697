"""What asyncio adds: turns, cancellation, back-pressure, limits of time, tokens; the rest is in `conformance`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

import tare
from tare.messages import EndOfStream, aio

FRAME = b"\xe0\x03\0\0\0[1]"


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine, and fail if it hangs."""

    async def timely() -> Any:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(timely())


async def bare(tmp_path: Path, **options: Any) -> tuple[socket.socket, aio.AsyncConnection, aio.AsyncServer]:
    """A bare socket, and the asynchronous connection at its other end."""
    server = await aio.listen(f"unix:{tmp_path}/s", **({"codec": "json", "timeout": 5} | options))
    sock = socket.socket(socket.AF_UNIX)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, f"{tmp_path}/s")
    return sock, await server.accept(), server


def test_what_is_sent_in_one_turn_leaves_in_one_write(tmp_path: Path) -> None:
    async def work() -> None:
        sock, conn, server = await bare(tmp_path, hello=False)
        with sock:
            async with server, conn:
                writes = []
                write = conn._wire._transport.write
                conn._wire._transport = Counting(conn._wire._transport, writes)
                for number in range(100):
                    await conn.send(number)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                assert len(writes) == 1
                assert len(sock.recv(10_000)) == sum(writes)
                assert write is not None

    run(work())


class Counting:
    """A transport that notes how much each write has."""

    def __init__(self, transport: Any, writes: list[int]) -> None:
        self.transport = transport
        self.writes = writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)

    def write(self, data: bytes) -> None:
        self.writes.append(len(data))
        self.transport.write(data)


def test_a_cancelled_receive_loses_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        sock, conn, server = await bare(tmp_path)
        with sock:
            async with server, conn:
                for cut in range(len(FRAME)):
                    waiting = asyncio.ensure_future(conn.receive())
                    sock.sendall(FRAME[cut : cut + 1])
                    await asyncio.sleep(0.001)
                    if cut + 1 < len(FRAME):
                        waiting.cancel()
                        with pytest.raises(asyncio.CancelledError):
                            await waiting
                    else:
                        assert await waiting == [1]
                sock.sendall(FRAME * 3)
                gathering = asyncio.ensure_future(conn.receive_all(n=5, timeout=None))
                await asyncio.sleep(0.01)
                gathering.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await gathering
                assert await conn.receive_all(n=3, timeout=60) == [[1]] * 3

    run(work())


def test_sending_waits_for_a_reader(tmp_path: Path) -> None:
    async def work() -> None:
        sock, conn, server = await bare(tmp_path, codec="raw", hello=False)
        with sock:
            async with server, conn:
                sent = 0
                with pytest.raises(TimeoutError):  # noqa: PT012 - which call waits is the system's choice
                    for _ in range(1000):
                        await conn.send(bytes(100_000), timeout=0.1)
                        sent += 1
                assert 10 <= sent < 40
                loop = asyncio.get_running_loop()
                left = conn.summary()["messages_out"] * 100_005
                place = bytearray(1 << 20)
                while left > 0:
                    left -= await loop.sock_recv_into(sock, place)
                assert left == 0
                await conn.send(b"on it goes", timeout=60)

    run(work())


def test_a_reader_that_does_not_ask_takes_no_more_than_it_may(tmp_path: Path) -> None:
    async def work() -> None:
        sock, conn, server = await bare(tmp_path, codec="raw", max_ready=1 << 20)
        with sock:
            async with server, conn:
                sent, quiet = 0, 0
                while quiet < 5:
                    try:
                        while True:
                            sent += sock.send((b"\xe0\xe8\x03\0\0" + bytes(1000)) * 10)
                            quiet = 0
                            assert sent < 8 << 20, "a reader that is not asked takes all"
                    except BlockingIOError:
                        quiet += 1
                    await asyncio.sleep(0.005)
                whole = sent // 1005
                got = await conn.receive_all(n=whole, timeout=60)
                assert len(got) == whole

    run(work())


def test_requests_and_answers(tmp_path: Path) -> None:
    async def work() -> None:
        async with await aio.listen(f"unix:{tmp_path}/s", "msgpack", timeout=60) as server:

            async def serve() -> None:
                async with await server.accept() as conn:
                    async for value in conn:
                        await conn.send({"answer": value})

            serving = asyncio.ensure_future(serve())
            async with await aio.connect(server.url, "msgpack", timeout=60) as client:
                for number in range(200):
                    await client.send(number)
                    assert await client.receive() == {"answer": number}
            await serving

    run(work())


def test_a_peer_that_trickles(tmp_path: Path) -> None:
    async def work() -> None:
        sock, conn, server = await bare(tmp_path, message_timeout=0.2)
        with sock:
            async with server:
                sock.sendall(FRAME[:3])
                for _ in range(2):
                    with pytest.raises(TimeoutError, match="message_timeout"):
                        await conn.receive()
                assert conn.status == "failed"
                await conn.close()

    run(work())


def test_tokens(tmp_path: Path) -> None:
    async def work() -> None:
        token = b"0123456789abcdef"
        async with await aio.listen(f"unix:{tmp_path}/s", "json", token=token) as server:
            for wrong in (b"0123456789abcdeX", None):
                async with await aio.connect(server.url, "json", token=wrong) as client:
                    await client.send(1)
                    with pytest.raises(TimeoutError):
                        await server.accept(timeout=0.1)
            async with await aio.connect(server.url, "json", token=token) as client:
                await client.send(2)
                async with await server.accept(timeout=60) as conn:
                    assert await conn.receive() == 2

    run(work())


def test_ends_and_errors(tmp_path: Path) -> None:
    async def work() -> None:
        sock, conn, server = await bare(tmp_path)
        async with server, conn:
            sock.sendall(FRAME + FRAME[:4])
            sock.close()
            assert await conn.receive() == [1]
            for _ in range(2):
                with pytest.raises(tare.errors.Truncated):
                    await conn.receive()
        sock, conn, server = await bare(tmp_path)
        async with server:
            sock.sendall(FRAME)
            sock.close()
            assert [value async for value in conn] == [[1]]
            assert conn.status == "eof_clean"
            with pytest.raises(EndOfStream):
                await conn.receive()
            await conn.close()
            with pytest.raises(tare.errors.UsageError):
                await conn.send(1)

    run(work())


def test_waiting_for_a_listener_that_comes_later(tmp_path: Path) -> None:
    async def work() -> None:
        with pytest.raises(FileNotFoundError):
            await aio.connect(f"unix:{tmp_path}/s")
        connecting = asyncio.ensure_future(aio.connect(f"unix:{tmp_path}/s", "json", retry=60))
        await asyncio.sleep(0.05)
        async with await aio.listen(f"unix:{tmp_path}/s", "json", timeout=60) as server:  # noqa: SIM117 - read from the outside in
            async with await connecting as client, await server.accept() as conn:
                await client.send("here")
                assert await conn.receive() == "here"

    run(work())
