"""TLS: verified by default, names and client certificates, records of many messages, and cuts."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest
from support.message_connections import certificate

import tare
from tare.messages import EndOfStream, aio
from tare.messages.tls import heard_out

SECONDS = 60


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of ``server.test`` that vouches for itself."""
    return certificate(tmp_path_factory.mktemp("tls"), "server.test")


def contexts(papers: tuple[Path, Path], *, client: tuple[Path, Path] | None = None):
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(*papers)
    trusting = ssl.create_default_context(cafile=str(papers[0]))
    if client is not None:
        server.verify_mode = ssl.CERT_REQUIRED
        server.load_verify_locations(client[0])
        trusting.load_cert_chain(*client)
    return server, trusting


def meet(server, **options):
    """The two ends of a connection: whoever accepts must do so while the other shakes hands."""
    made = []

    def go() -> None:
        try:
            made.append(tare.connect(server.url, **({"timeout": SECONDS} | options)))
        except Exception as error:  # handed over
            made.append(error)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        accepted = server.accept(timeout=60)
    finally:
        thread.join(SECONDS)
    if isinstance(made[0], Exception):
        accepted.close(timeout=0)
        raise made[0]
    return made[0], accepted


def lets_nobody_in(server, thread: threading.Thread) -> None:
    """It accepts, to no avail, until the peer of the thread has given up."""
    over = False
    while not over:
        over = not thread.is_alive()
        with pytest.raises(TimeoutError):
            server.accept(timeout=0.2)


def test_values_both_ways(papers) -> None:
    serving, trusting = contexts(papers)
    with tare.listen("tcp://127.0.0.1:0", "json", tls=serving, timeout=SECONDS) as server:
        client, accepted = meet(server, codec="json", tls=trusting, server_hostname="server.test")
        with accepted, client:
            client.send_all([{"a": index} for index in range(10_000)])
            assert accepted.receive_all(n=10_000, timeout=SECONDS) == [
                {"a": index} for index in range(10_000)
            ]
            accepted.send([1])
            assert client.receive() == [1]
            assert accepted.summary()["peer"].startswith("tcp://127.0.0.1:")
            client.close()
            with pytest.raises(EndOfStream):
                accepted.receive()
            assert accepted.status == "ended"


def test_a_large_message(papers) -> None:
    serving, trusting = contexts(papers)
    payload = bytes(range(256)) * (8 << 12)
    with tare.listen("tcp://127.0.0.1:0", "raw", tls=serving, timeout=SECONDS) as server:
        client, accepted = meet(server, codec="raw", tls=trusting, server_hostname="server.test")
        with accepted, client:
            thread = threading.Thread(target=client.send, args=(payload,))
            thread.start()
            place = bytearray(len(payload))
            assert accepted.receive_into(place) == len(payload)
            thread.join()
            assert place == payload


def test_a_record_of_a_hundred_messages_wakes_for_all(papers) -> None:
    serving, trusting = contexts(papers)
    with tare.listen("tcp://127.0.0.1:0", "json", tls=serving, timeout=SECONDS) as server:
        client, accepted = meet(server, codec="json", tls=trusting, server_hostname="server.test")
        with accepted, client:
            client.send_all(list(range(100)))  # one write, one record
            got = []
            while len(got) < 100:
                assert tare.wait([accepted, server], timeout=60) == [accepted]
                got.append(accepted.receive(timeout=0))
            assert got == list(range(100))
            assert tare.wait([accepted], timeout=0) == []


@pytest.mark.parametrize("options", [{}, {"server_hostname": "other.test"}])
def test_a_peer_that_cannot_be_verified_is_refused(papers, options) -> None:
    serving, trusting = contexts(papers)
    errors = []
    with tare.listen("tcp://127.0.0.1:0", "json", tls=serving, message_timeout=5) as server:

        def go() -> None:
            try:
                tare.connect(server.url, "json", tls=trusting if options else True, timeout=60, **options)
            except Exception as error:  # handed over
                errors.append(error)

        thread = threading.Thread(target=go)
        thread.start()
        lets_nobody_in(server, thread)
    assert isinstance(errors[0], ssl.SSLCertVerificationError)


def test_client_certificates(papers, tmp_path: Path) -> None:
    mine = certificate(tmp_path, "client.test")
    serving, trusting = contexts(papers, client=mine)
    with tare.listen("tcp://127.0.0.1:0", "json", tls=serving, timeout=SECONDS) as server:
        client, accepted = meet(server, codec="json", tls=trusting, server_hostname="server.test")
        with accepted, client:
            client.send(1)
            assert accepted.receive() == 1


def test_without_a_client_certificate(papers, tmp_path: Path) -> None:
    mine = certificate(tmp_path, "client.test")
    serving, _ = contexts(papers, client=mine)
    bare = ssl.create_default_context(cafile=str(papers[0]))
    with tare.listen("tcp://127.0.0.1:0", "json", tls=serving) as server:
        ends = []

        def go() -> None:
            conn = tare.connect(server.url, "json", tls=bare, server_hostname="server.test", timeout=60)
            with pytest.raises((OSError, EndOfStream)):
                conn.receive()
            conn._channel._sock.close()
            ends.append(conn)

        thread = threading.Thread(target=go)
        thread.start()
        lets_nobody_in(server, thread)
        assert ends


def test_tokens_over_tls(papers) -> None:
    serving, trusting = contexts(papers)
    options = {"tls": trusting, "server_hostname": "server.test"}
    with tare.listen("tcp://127.0.0.1:0", "json", tls=serving, token=b"0123456789abcdef") as server:
        with pytest.raises(TimeoutError):
            client, _ = refused(server, codec="json", token=b"0123456789abcdeX", **options)
        client, accepted = meet(server, codec="json", token=b"0123456789abcdef", **options)
        with accepted, client:
            client.send("in")
            assert accepted.receive(timeout=60) == "in"


def refused(server, **options):
    """Connect, and see whether it is accepted."""
    thread = threading.Thread(target=lambda: tare.connect(server.url, timeout=60, **options).close())
    thread.start()
    try:
        return None, server.accept(timeout=0.5)
    finally:
        thread.join(SECONDS)


def test_an_end_that_tls_does_not_vouch_for_is_no_clean_end(papers) -> None:
    serving, trusting = contexts(papers)
    with tare.listen("tcp://127.0.0.1:0", "json", tls=serving, timeout=60) as server:
        client, accepted = meet(server, codec="json", tls=trusting, server_hostname="server.test")
        with accepted:
            client.send(1)
            assert accepted.receive() == 1
            client._channel._sock.shutdown(socket.SHUT_RDWR)
            client._channel._sock.close()
            with pytest.raises(OSError, match=r"(?i)eof|reset"):
                accepted.receive()
            assert accepted.status == "failed"


def test_a_peer_that_does_not_speak_tls_is_not_accepted(papers) -> None:
    serving, trusting = contexts(papers)
    with tare.listen("tcp://127.0.0.1:0", "json", tls=serving) as server:
        port = int(server.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with pytest.raises(TimeoutError):
                server.accept(timeout=0.3)
        client, accepted = meet(server, codec="json", tls=trusting, server_hostname="server.test")
        client.close()
        accepted.close()


def test_a_server_needs_its_certificate() -> None:
    with pytest.raises(tare.errors.UsageError, match="SSLContext"):
        tare.listen("tcp://127.0.0.1:0", tls=True)


def test_tls_of_asyncio(papers) -> None:
    import asyncio

    serving, trusting = contexts(papers)

    async def talk() -> list[object]:
        async with await aio.listen("tcp://127.0.0.1:0", "json", tls=serving) as server:
            options = {"tls": trusting, "server_hostname": "server.test", "timeout": 5}
            async with await aio.connect(server.url, "json", **options) as client:  # noqa: SIM117 - read from the outside in
                async with await server.accept(timeout=60) as conn:
                    await client.send_all([1, "x" * 100_000])
                    got = await conn.receive_all(n=2, timeout=60)
                    await conn.send("back")
                    return [*got, await client.receive()]

    assert asyncio.run(talk()) == [1, "x" * 100_000, "back"]


def test_a_peer_that_took_everything_is_heard_out(papers):
    """Many times, as its END may come at any moment of our own goodbye."""
    serving, trusting = contexts(papers)
    with tare.listen("tcp://127.0.0.1:0", "json", tls=serving, timeout=SECONDS) as server:
        for _ in range(200):
            client, accepted = meet(server, codec="json", tls=trusting, server_hostname="server.test")

            def take(conn=accepted) -> None:
                with conn:
                    assert list(conn) == [1]

            thread = threading.Thread(target=take)
            thread.start()
            client.send(1)
            assert heard_out(client, SECONDS)
            client.close()
            thread.join(SECONDS)
