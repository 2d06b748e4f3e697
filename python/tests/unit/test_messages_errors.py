"""What errors of opening say: which URL, what was wrong, and what to do."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

import tare
from tare.errors import DecodeError, UsageError
from tare.messages import EndOfStream


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_a_refused_connection_names_its_url_and_what_helps() -> None:
    url = f"tcp://127.0.0.1:{_free_port()}"
    with pytest.raises(ConnectionRefusedError, match=url) as caught:
        tare.connect(url)
    assert ["retry=SECONDS" in note for note in caught.value.__notes__] == [True]


def test_a_missing_socket_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"unix:{tmp_path}/none"):
        tare.connect(f"unix:{tmp_path}/none")


def test_a_port_in_use_is_named() -> None:
    with tare.listen("tcp://:0") as server, pytest.raises(OSError, match="in use") as caught:
        tare.listen(server.url)
    assert caught.value.errno == errno.EADDRINUSE


def test_a_folder_is_no_file_of_messages(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        tare.connect(f"file:{tmp_path}", mode="r")


@pytest.mark.parametrize("timeout", [-1, float("nan"), True, "1"])
def test_a_timeout_is_seconds(timeout: object) -> None:
    with pytest.raises(UsageError, match="expected seconds, 0 or more, or None"):
        tare.connect("tcp://127.0.0.1:1", timeout=timeout)  # type: ignore[arg-type]


def test_only_connections_and_servers_are_waited_for() -> None:
    with pytest.raises(TypeError, match="not int"):
        tare.wait([1])  # type: ignore[type-var]


def test_a_fifo_says_which_modes_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fifo: takes mode='r' or mode='w'"):
        tare.connect(f"fifo:{tmp_path}/pipe")


def test_a_value_that_does_not_decode_says_its_codec_once() -> None:
    ours, theirs = socket.socketpair()
    with theirs, tare.connect(f"fd:{ours.detach()}", "json", timeout=60) as connection:
        theirs.sendall(bytes.fromhex("e003000000") + b"[1,")
        with pytest.raises(DecodeError) as caught:
            connection.receive()
    assert str(caught.value).count("json:stdlib") == 1


def test_an_end_says_whether_the_peer_had_finished() -> None:
    ours, theirs = socket.socketpair()
    with tare.connect(f"fd:{ours.detach()}", "json", timeout=60) as connection:
        theirs.close()
        with pytest.raises(EndOfStream, match="did not say"):
            connection.receive()


def test_asyncio_names_the_url_too() -> None:
    import asyncio

    from tare.messages import aio

    url = f"tcp://127.0.0.1:{_free_port()}"
    with pytest.raises(ConnectionRefusedError, match=url):
        asyncio.run(aio.connect(url))  # type: ignore[arg-type]


def test_asyncio_says_what_was_not_done_in_time() -> None:
    import asyncio

    from tare.messages import aio

    async def wait() -> None:
        ours, theirs = socket.socketpair()
        async with await aio.connect(f"fd:{ours.detach()}", "json") as connection:
            with theirs, pytest.raises(TimeoutError, match="in time"):
                await connection.receive(timeout=0.01)
        async with await aio.listen("tcp://:0", "json") as server:
            with pytest.raises(TimeoutError, match="accept"):
                await server.accept(timeout=0.01)

    asyncio.run(wait())
