"""Crowds at a listener: who says nothing loses its place to who waits, and no lack of descriptors ends listening."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tare
from tare.messages import aio, places, waiting
from tare.messages.places import most_places

SECONDS = 60.0
QUICK = {"handshake_timeout": 0.2, "message_timeout": 0.2}


def silent(path: Path, count: int, stack: contextlib.ExitStack) -> list[socket.socket]:
    """Connect, and say nothing."""
    found = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(count)]
    for sock in found:
        sock.connect(str(path))
    return found


@contextlib.contextmanager
def no_descriptors() -> Iterator[None]:
    """No file can be opened within."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(("limit", "most"), [(1024, 480), (100, 37), (16, 6), (2, 1), (1 << 20, 1024)])
def test_places_leave_descriptors(limit: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each connection may open a file, and some descriptors are left."""
    monkeypatch.setattr(places.resource, "getrlimit", lambda _: (limit, limit))
    assert most_places(1024) == most
    monkeypatch.setattr(
        places.resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )
    assert most_places(1024) == 1024


@pytest.mark.parametrize("speaks_first", [False, True])
def test_the_silent_lose_their_places_to_who_waits(speaks_first: bool, tmp_path: Path) -> None:
    """More of them than places, and an honest client behind them is served."""
    options: dict[str, Any] = {"max_connections": 2, "speaks_first": speaks_first, **QUICK}
    with (
        contextlib.ExitStack() as stack,
        tare.listen(f"unix:{tmp_path}/s", "json", timeout=SECONDS, **options) as server,
    ):
        silent(tmp_path / "s", 5, stack)
        client = stack.enter_context(tare.connect(server.url, "json"))
        client.send(1)
        assert served(server) == [1]


def test_a_moment_is_all_that_the_silent_have_while_others_wait(tmp_path: Path) -> None:
    """Before anything has come of them, and without any timeout."""
    options: dict[str, Any] = {"max_connections": 2, "handshake_timeout": None, "message_timeout": None}
    with (
        contextlib.ExitStack() as stack,
        tare.listen(f"unix:{tmp_path}/s", "json", speaks_first=True, timeout=SECONDS, **options) as server,
    ):
        silent(tmp_path / "s", 5, stack)
        client = stack.enter_context(tare.connect(server.url, "json"))
        client.send(1)
        assert served(server) == [1]


def served(server: tare.messages.Server) -> list[Any]:
    """What the first that sends something sent; those that fail are closed."""
    conns: list[Any] = []
    values: list[Any] = []
    while not values:
        ready = tare.wait([server, *conns], timeout=SECONDS)
        assert ready
        for end in ready:
            if end is server:
                with contextlib.suppress(TimeoutError):
                    conns.append(server.accept(timeout=0))
                continue
            conns.remove(end)
            with contextlib.closing(end), contextlib.suppress(OSError, EOFError):
                values.append(end.receive(timeout=0))
    for conn in conns:
        conn.close()
    return values


def test_a_client_that_spoke_loses_its_place_too(tmp_path: Path) -> None:
    """A message, and then nothing for message_timeout."""
    with (
        tare.listen(f"unix:{tmp_path}/s", "json", timeout=SECONDS, max_connections=1, **QUICK) as server,
        tare.connect(server.url, "json") as idle,
    ):
        idle.send("a")
        conn = server.accept()
        assert conn.receive() == "a"
        with tare.connect(server.url, "json") as client:
            client.send("b")
            assert tare.wait([server, conn], timeout=SECONDS) == [conn]
            with pytest.raises((TimeoutError, EOFError)):
                conn.receive(timeout=0)
            conn.close()
            with server.accept() as honest:
                assert honest.receive() == "b"


def test_the_idle_stay_while_nobody_waits(tmp_path: Path) -> None:
    """All places are taken, and all time is over."""
    with (
        contextlib.ExitStack() as stack,
        tare.listen(
            f"unix:{tmp_path}/s",
            "json",
            max_connections=2,
            speaks_first=True,
            handshake_timeout=0,
            message_timeout=0.01,
        ) as server,
    ):
        first, second = silent(tmp_path / "s", 2, stack)
        with pytest.raises(TimeoutError):
            server.accept(timeout=0.2)
        for sock in (first, second):
            sock.sendall(b"\xe0\x03\0\0\0[1]")
            with server.accept(timeout=SECONDS) as conn:
                assert conn.receive(timeout=SECONDS) == [1]


def test_a_full_server_is_not_asked_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in the queue make its descriptor readable, and cannot be accepted."""
    asked = []
    real = waiting.message_poll
    monkeypatch.setattr(waiting, "message_poll", lambda *args: asked.append(0) or real(*args))
    with (
        contextlib.ExitStack() as stack,
        tare.listen(f"unix:{tmp_path}/s", "json", max_connections=1) as server,
    ):
        silent(tmp_path / "s", 3, stack)
        with server.accept(timeout=SECONDS) as conn:
            assert tare.wait([server, conn], timeout=0.5) == []
    assert len(asked) < 20


def test_an_empty_stream_is_given(tmp_path: Path) -> None:
    """Who leaves without a word has spoken: it sent nothing."""
    with tare.listen(f"unix:{tmp_path}/s", "json", speaks_first=True) as server:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(f"{tmp_path}/s")
        with server.accept(timeout=SECONDS) as conn:
            assert list(conn) == []


def test_no_descriptor_left_is_a_full_house(tmp_path: Path) -> None:
    """Listening goes on when there are descriptors again."""
    with (
        tare.listen(f"unix:{tmp_path}/s", "json") as server,
        tare.connect(server.url, "json") as client,
    ):
        client.send(1)
        with no_descriptors(), pytest.raises(TimeoutError):
            server.accept(timeout=0.2)
        with server.accept(timeout=SECONDS) as conn:
            assert conn.receive(timeout=SECONDS) == 1


def test_one_address_has_a_share_of_the_places() -> None:
    """Its connections beyond that are closed, those of another address are not."""
    with (
        tare.listen("tcp://127.0.0.1:0", "json", max_per_peer=1) as server,
        contextlib.ExitStack() as stack,
    ):
        there = "127.0.0.1", int(server.url.rpartition(":")[2])
        first, second = (stack.enter_context(socket.create_connection(there)) for _ in range(2))
        other = stack.enter_context(socket.create_connection(there, source_address=("127.0.0.2", 0)))
        conns = [stack.enter_context(server.accept(timeout=SECONDS)) for _ in range(2)]
        second.settimeout(SECONDS)
        with contextlib.suppress(ConnectionError):
            assert second.recv(1) == b""
        for sock, conn in zip((first, other), conns, strict=True):
            sock.sendall(b"\xe0\x03\0\0\0[1]")
            assert conn.receive(timeout=SECONDS) == [1]


@pytest.mark.parametrize(
    ("hosts", "admitted"),
    [
        (["10.0.0.1"] * 3, 2),
        (["10.0.0.1", "10.0.0.2", "10.0.0.1"], 3),
        (["2001:db8::1", "2001:db8::2", "2001:db8::3"], 2),  # of one network
        (["2001:db8:0:1::1", "2001:db8:0:2::1", "fe80::1%eth0"], 3),
        (["::ffff:10.0.0.1", "10.0.0.1", "10.0.0.1"], 2),
        (["127.0.0.1"] * 3, 3),  # all of this machine share it
        (["::1"] * 3, 3),
        ([None] * 3, 3),
    ],
)
def test_an_address_of_another_machine_has_half_of_the_places(hosts: list[str | None], admitted: int) -> None:
    kept = places.Places({"max_connections": 4, "message_timeout": None, "handshake_timeout": None})
    for host in hosts:
        if kept.admits(host):
            kept.take(Idle(), host)
    assert len(kept._taken) == admitted


class Idle:
    """A connection on which nothing moves."""

    is_gone = False

    def progress(self) -> tuple[int, int]:
        return (0, 0)

    def dismiss(self) -> None:
        self.is_gone = True


def looped(work: Callable[[], Awaitable[None]]) -> None:
    """Run in a loop, for so long at most."""

    async def main() -> None:
        await asyncio.wait_for(work(), SECONDS)

    asyncio.run(main())


@pytest.mark.parametrize("speaks_first", [False, True])
def test_the_silent_lose_their_places_in_a_loop(speaks_first: bool, tmp_path: Path) -> None:
    """As without a loop; each connection has a task."""

    async def work() -> None:
        got: asyncio.Queue[Any] = asyncio.Queue()

        async def one(conn: aio.AsyncConnection) -> None:
            with contextlib.suppress(OSError, EOFError):
                await got.put(await conn.receive())
            await conn.close()

        async def take(server: aio.AsyncServer) -> None:
            async for conn in server:
                tasks.add(asyncio.create_task(one(conn)))

        tasks: set[asyncio.Task[None]] = set()
        options: dict[str, Any] = {"max_connections": 2, "speaks_first": speaks_first, **QUICK}
        with contextlib.ExitStack() as stack:
            async with await aio.listen(f"unix:{tmp_path}/s", "json", **options) as server:
                silent(tmp_path / "s", 5, stack)
                client = await aio.connect(server.url, "json")
                await client.send(1)
                taking = asyncio.create_task(take(server))
                assert await got.get() == 1
                taking.cancel()
                await client.close()
        await asyncio.gather(*tasks)

    looped(work)


def test_more_than_places_wait_in_a_loop(tmp_path: Path) -> None:
    """Nobody is closed because the house is full."""

    async def work() -> None:
        async with await aio.listen(f"unix:{tmp_path}/s", "json", max_connections=1) as server:
            clients = [await aio.connect(server.url, "json") for _ in range(3)]
            for number, client in enumerate(clients):
                await client.send(number)
            for number, client in enumerate(clients):
                conn = await server.accept()
                with pytest.raises(TimeoutError):
                    await server.accept(timeout=0.1)
                assert await conn.receive() == number
                await client.close()
                await conn.close()

    looped(work)


def test_no_descriptor_left_is_a_full_house_in_a_loop(tmp_path: Path) -> None:
    """Listening goes on when there are descriptors again."""

    async def work() -> None:
        with socket.socket(socket.AF_UNIX) as client:
            async with await aio.listen(f"unix:{tmp_path}/s", "json") as server:
                client.connect(f"{tmp_path}/s")
                client.sendall(b"\xe0\x03\0\0\0[1]")
                with no_descriptors(), pytest.raises(TimeoutError):
                    await server.accept(timeout=0.2)
                async with await server.accept(timeout=SECONDS) as conn:
                    assert await conn.receive() == [1]

    looped(work)
