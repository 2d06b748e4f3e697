"""Options, arguments, refusals, and what a connection says of itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.message_connections import paired, raw_peer

import tare
from tare import messages
from tare.messages import EndOfStream
from tare.messages.codecs import MessageCodec
from tare.messages.options import _ROWS


def test_the_end_is_no_error_of_ours() -> None:
    assert issubclass(EndOfStream, EOFError)
    assert not issubclass(EndOfStream, tare.TareError)
    assert issubclass(tare.errors.Truncated, EOFError)


@pytest.mark.parametrize("codec", ["pickle", "marshal", "parquet:fastparquet", "hdf5"])
@pytest.mark.parametrize("framing", ["frame", "native:wrap"])
def test_codecs_that_run_code_are_refused(codec: str, framing: str, tmp_path: Path) -> None:
    with pytest.raises(tare.errors.Unsupported, match="run code"):
        tare.listen("tcp://127.0.0.1:0", codec, framing=framing)
    with pytest.raises(tare.errors.Unsupported, match="run code"):
        tare.connect(f"file:{tmp_path}/a", codec, framing=framing, mode="w")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("codec", ["parquet", "rds", "csv", "arrow", "raw", "yaml", "blit"])
def test_formats_without_ends_are_refused_in_native_framing(codec: str) -> None:
    with pytest.raises(tare.errors.Unsupported, match="framing='frame'"):
        tare.listen("tcp://127.0.0.1:0", codec, framing="native")


def test_compressed_native_framing_is_refused() -> None:
    with pytest.raises(tare.errors.Unsupported, match="framing='frame'"):
        tare.listen("tcp://127.0.0.1:0", "json+zstd:3", framing="native")


@pytest.mark.parametrize("compressor", ["xz:6", "bz2"])
def test_compressors_without_frames_are_refused(compressor: str) -> None:
    with pytest.raises(tare.errors.Unsupported, match="zstd, lz4, gzip"):
        tare.listen("tcp://127.0.0.1:0", f"json+{compressor}")


def test_r01_options_that_do_not_exist() -> None:
    with pytest.raises(TypeError, match="did you mean max_message"):
        tare.connect("tcp://127.0.0.1:1", max_mesage=3)
    with pytest.raises(TypeError, match="max_connections"):
        tare.connect("tcp://127.0.0.1:1", max_connections=3)
    with pytest.raises(TypeError, match="'follow' is for file:"):
        tare.connect("tcp://127.0.0.1:1", follow=True)
    with pytest.raises(TypeError, match="framing='frame'"):
        tare.connect("tcp://127.0.0.1:1", framing="native", crc=True)
    with pytest.raises(TypeError, match="retry"):
        tare.listen("tcp://127.0.0.1:0", retry=1)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"max_message": 0}, "from 1 on"),
        ({"max_message": True}, "whole number"),
        ({"max_depth": 65_536}, "65535"),
        ({"high": 10, "low": 11}, "above high"),
        ({"hello": 1}, "True or False"),
        ({"crc": "yes"}, "True, False"),
        ({"message_timeout": -1}, "seconds"),
        ({"token": "short"}, "16 to 64"),
        ({"token": 16}, "bytes or text"),
        ({"accept": ["json"]}, "codec=None"),
        ({"compress_min": 3}, "compressor"),
        ({"codec": None, "framing": "native"}, "codec=None"),
        ({"framing": "other"}, "native:wrap"),
        ({"codec": "raw:x"}, "no libraries"),
        ({"mode": "r"}, "takes none"),
        ({"timeout": "soon"}, "seconds"),
    ],
)
def test_values_that_options_cannot_have(options, match: str) -> None:
    with pytest.raises(tare.errors.UsageError, match=match):
        tare.connect("tcp://127.0.0.1:1", **options)


def test_a_token_is_in_no_message() -> None:
    with pytest.raises(tare.errors.UsageError) as caught:
        tare.connect("tcp://127.0.0.1:1", token="tell-nobody")
    assert "tell-nobody" not in str(caught.value)
    with pytest.raises(tare.errors.Unsupported, match="unencrypted") as refused:
        tare.connect("tcp://192.0.2.1:1", token="tell-nobody-at-all")
    assert "tell-nobody" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["", "http://a", "tcp:a:1", "tcp://a", "tcp://a:65536", "tcp://a:-1", "a.fifo"]
)
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(tare.errors.UsageError):
        tare.connect(url)


def test_only_sockets_are_listened_to(tmp_path: Path) -> None:
    with pytest.raises(tare.errors.UsageError, match="only tcp: and unix:"):
        tare.listen(f"fifo:{tmp_path}/a")


def test_r01_every_option_is_known_to_the_documents(root: Path) -> None:
    spec = root / "docs" / "specs" / "messages.md"
    if spec.exists():
        text = spec.read_text()
        assert [name for name in _ROWS if f"`{name}`" not in text] == []


def test_r03_limits_count_bytes() -> None:
    with raw_peer("raw", max_message=1000) as (sock, conn):
        sock.sendall(b"\xe0" + (1000).to_bytes(4, "little") + bytes(1000))
        assert len(conn.receive()) == 1000
        sock.sendall(b"\xe0" + (1001).to_bytes(4, "little"))  # the head alone is enough
        for _ in range(2):
            with pytest.raises(tare.errors.Limit, match="max_message") as caught:
                conn.receive(timeout=60)
            assert (caught.value.format, caught.value.offset) == ("frame", 1005)
        assert conn.status == "too_big"
    with raw_peer("raw", max_message=1000) as (sock, conn):
        conn.send(bytes(1000))
        with pytest.raises(tare.errors.Limit, match="max_message"):
            conn.send(bytes(1001))


def test_r04_tell_in_every_mode(tmp_path: Path) -> None:
    with tare.connect(f"file:{tmp_path}/a", "raw", mode="w", hello=False) as conn:
        conn.send(b"abc")
        assert conn.tell() == (0, 12)  # a head, and a checksum as files have
    with tare.connect(f"file:{tmp_path}/a", "raw", mode="a", hello=False) as conn:
        conn.send(b"")
        assert all(type(figure) is int for figure in conn.tell())
    with tare.connect(f"file:{tmp_path}/a", "raw", mode="r") as conn:
        assert conn.receive() == b"abc"
        assert conn.tell() == (12, 0)


def test_r10_good_messages_first_then_the_same_error_for_ever() -> None:
    with raw_peer("msgpack", framing="native") as (sock, conn):
        sock.sendall(bytes.fromhex("0102c103"))
        assert conn.receive_all(timeout=1) == [1, 2]
        for _ in range(3):
            with pytest.raises(tare.errors.Malformed) as caught:
                conn.receive()
            assert (caught.value.format, caught.value.offset) == ("msgpack", 2)
        with pytest.raises(tare.errors.Malformed):
            conn.receive_all()
        assert conn.poll() is True
        assert (conn.status, conn.status.offset) == ("malformed", 2)


def test_r11_wait_for_many() -> None:
    with raw_peer("json") as (one, first), raw_peer("json") as (two, second):
        assert tare.wait([first, second], timeout=0) == []
        two.sendall(bytes.fromhex("e003000000"))
        assert tare.wait([first, second], timeout=0.05) == []  # a part is no message
        two.sendall(b"[1]")
        assert tare.wait([first, second], timeout=60) == [second]
        one.close()
        assert tare.wait([first, second], timeout=60) == [first, second]
        assert second.receive() == [1]
        with pytest.raises(EndOfStream):
            first.receive()
        assert first.status == "eof_clean"


def test_wait_for_a_server() -> None:
    with tare.listen("tcp://127.0.0.1:0", "json", timeout=60) as server:
        assert tare.wait([server], timeout=0) == []
        with tare.connect(server.url, "json"):
            assert tare.wait([server], timeout=60) == [server]
            server.accept().close()
    with pytest.raises(tare.errors.UsageError):
        tare.wait([])


def test_r12_waiting_and_not() -> None:
    with raw_peer("json") as (sock, conn):
        with pytest.raises(TimeoutError):
            conn.receive(timeout=0.02)
        timer = threading.Timer(0.05, lambda: sock.sendall(bytes.fromhex("e0010000") + b"\x007"))
        timer.start()
        assert conn.receive(timeout=60) == 7
        timer.join()


def test_r13_depth_is_limited_unless_asked() -> None:
    with raw_peer("msgpack", framing="native") as (sock, conn):
        sock.sendall(b"\x91" * 513)
        with pytest.raises(tare.errors.Limit, match="max_depth"):
            conn.receive()
        assert conn.status == "too_deep"
    with raw_peer("msgpack", framing="native", max_depth=3) as (sock, conn):
        sock.sendall(b"\x91\x91\x90" + b"\x91\x91\x91\x90")
        assert conn.receive() == [[[]]]
        with pytest.raises(tare.errors.Limit):
            conn.receive()
    with raw_peer("json", max_depth=2) as (sock, conn):
        sock.sendall(b"\xe0\x04\0\0\0[[]]" + b"\xe0\x06\0\0\0[[[]]]")
        assert conn.receive() == [[]]
        with pytest.raises(tare.errors.Limit, match="max_depth"):
            conn.receive()


def test_r15_what_was_read_ahead_is_given_back() -> None:
    with raw_peer("raw", hello=False) as (sock, conn):
        stream = b"\xe0\x02\0\0\0ab" + b"\xe0\x01\0\0\0c" + b"\xe0\x09\0\0\0par"
        sock.sendall(stream)
        assert conn.receive() == b"ab"
        descriptor, ahead = conn.detach()
        try:
            assert ahead == stream[7:]
            assert conn.closed
            sock.sendall(b"tial")
            assert os.read(descriptor, 10) == b"tial"
        finally:
            os.close(descriptor)
        with pytest.raises(tare.errors.UsageError):
            conn.receive()


def test_r16_any_codec_in_frames_is_tested_in_places() -> None:
    codec = MessageCodec("rds", "native:wrap", max_message=100, max_depth=512, compress_min=512)
    assert codec.native == "wrap"


def test_peer_that_is_something_else() -> None:
    for start in (
        b"GET / HTTP/1.1\r\n",
        b"\x16\x03\x01\x02\x00",
        b"\x1f\x8b\x08",
        b"\x80\x04\x95",
        b"X\n\0\0\0\3",
    ):
        with raw_peer("json") as (sock, conn):
            sock.sendall(start)
            with pytest.raises((tare.errors.Malformed, tare.errors.Limit)):
                conn.receive()


def test_a_bomb_is_refused_where_it_grows() -> None:
    bomb = tare.compress.compress(bytes(64 << 20), "zstd:3")
    with raw_peer("raw", max_message=1 << 20) as (sock, conn):
        sock.sendall(b"\xe2" + len(bomb).to_bytes(4, "little") + bomb)
        with pytest.raises(tare.errors.Limit, match="max_message"):
            conn.receive()


def test_what_is_flagged_as_compressed_and_is_not() -> None:
    with raw_peer("raw") as (sock, conn):
        sock.sendall(b"\xe2\x03\0\0\0abc" + b"\xe0\x01\0\0\0d")
        with pytest.raises(tare.errors.DecodeError):
            conn.receive()
        assert conn.receive() == b"d"


def test_small_messages_are_not_compressed(tmp_path: Path) -> None:
    with tare.connect(
        f"file:{tmp_path}/a", "json+zstd:3", mode="w", hello=False, end=False, crc=False
    ) as conn:
        conn.send("a" * 400)
        conn.send("a" * 600)
        conn.send(os.urandom(400).hex() + "b")
    with tare.connect(f"file:{tmp_path}/b", "json+zstd:3", mode="w", hello=False, end=False, crc=False,
                      compress_min=0) as conn:  # fmt: skip
        conn.send("a" * 400)
    data = (tmp_path / "a").read_bytes()
    assert data[0] == 0xE0
    assert data[407] == 0xE2
    assert (tmp_path / "b").read_bytes()[0] == 0xE2


def test_require_end_insists_and_loses_nothing() -> None:
    with raw_peer("raw") as (sock, conn):
        sock.sendall(b"\xe0\x01\0\0\0a" + b"\xe0\x01\0\0\0b")
        sock.shutdown(1)
        with pytest.raises(tare.errors.Truncated, match="did not say"):
            conn.receive_all(timeout=None, require_end=True)
        assert conn.receive_all(timeout=None) == [b"a", b"b"]
    with raw_peer("raw") as (sock, conn):
        sock.sendall(b"\xe0\x01\0\0\0a" + bytes.fromhex("e809000000020100000000000000"))
        sock.shutdown(1)
        assert conn.receive_all(timeout=None, require_end=True) == [b"a"]


def test_an_end_that_counts_otherwise() -> None:
    with raw_peer("raw") as (sock, conn):
        sock.sendall(b"\xe0\x01\0\0\0a" + bytes.fromhex("e809000000020200000000000000"))
        assert conn.receive() == b"a"
        with pytest.raises(tare.errors.Malformed):
            conn.receive()


def test_batches_leave_together() -> None:
    with raw_peer("raw", hello=False) as (sock, conn):
        sock.setblocking(False)
        with conn.batch():
            conn.send(b"a")
            conn.send(b"b")
            with pytest.raises(BlockingIOError):
                sock.recv(100)
            assert conn.summary()["unsent"] == 12
        assert sock.recv(100) == b"\xe0\x01\0\0\0a\xe0\x01\0\0\0b"
    with raw_peer("json", hello=False, batch=100) as (sock, conn), conn.batch():
        conn.send("x" * 200)
        assert len(sock.recv(1000)) == 207  # above the threshold it does not wait


def test_values_before_one_that_cannot_be_sent() -> None:
    with raw_peer("json", hello=False) as (sock, conn):
        with pytest.raises(tare.errors.EncodeError):
            conn.send_all([1, {2}, 3])
        assert sock.recv(100) == b"\xe0\x01\0\0\x001"

        def values():
            yield 4
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            conn.send_all(values())
        assert sock.recv(100) == b"\xe0\x01\0\0\x004"
        assert conn.send_all(iter(range(5000))) == 5000


def test_a_loop_that_breaks_off_loses_nothing() -> None:
    with raw_peer("json") as (sock, conn):
        for number in range(100):
            sock.sendall(b"\xe0\x02\0\0\0" + f"{number:2d}".encode())
        got = []
        for value in conn:
            got.append(value)
            if value == 10:
                break
        assert conn.pending > 0
        got.append(conn.receive())
        got += conn.receive_all(n=5)
        for value in conn:
            got.append(value)
            if value == 99:
                break
        assert got == list(range(100))


def test_receive_into_and_views() -> None:
    with raw_peer("raw") as (sock, conn):
        big = bytes(range(256)) * 1024
        thread = threading.Thread(target=sock.sendall, args=(
            b"\xe0\x03\0\0\0abc" + b"\xe0\0\0\4\0" + big + b"\xe0\x02\0\0\0de" + b"\xe0\x02\0\0\0fg",
        ))  # fmt: skip
        thread.start()
        place = bytearray(1 << 20)
        assert conn.receive_into(place) == 3
        assert place[:3] == b"abc"
        assert conn.receive_into(memoryview(place)) == len(big)
        assert place[: len(big)] == big
        with pytest.raises(tare.errors.Limit):
            conn.receive_into(bytearray(1))
        with conn.receive_view() as view:
            assert bytes(view) == b"de"
        assert conn.receive() == b"fg"
        thread.join()
        sock.shutdown(1)
        with pytest.raises(EndOfStream):
            conn.receive_into(place)
    with raw_peer("json") as (_, conn), pytest.raises(tare.errors.Unsupported, match="codec='raw'"):
        conn.receive_into(bytearray(1))


def test_two_ends_that_send_at_once(tmp_path: Path) -> None:
    payload = bytes(8 << 20)
    with paired("unix", tmp_path, "raw") as (one, other):
        threads = [threading.Thread(target=end.send, args=(payload,)) for end in (one, other)]
        for thread in threads:
            thread.start()
        assert len(one.receive()) == len(other.receive()) == len(payload)
        for thread in threads:
            thread.join()


def test_sending_waits_for_a_reader_and_keeps_what_is_queued(tmp_path: Path) -> None:
    with paired("unix", tmp_path, "raw") as (writer, reader):
        sent = 0
        with pytest.raises(TimeoutError):  # noqa: PT012 - which call waits is the system's choice
            for _ in range(1000):
                writer.send(bytes(100_000), timeout=0.05)
                sent += 1
        unsent = writer.summary()["unsent"]
        assert 0 < unsent < (1 << 20) + 200_000
        queued = writer.summary()["messages_out"]
        assert queued in (sent, sent + 1)
        thread = threading.Thread(target=writer.flush)
        thread.start()
        assert len(reader.receive_all(n=queued, timeout=60)) == queued
        thread.join()


def test_a_descriptor_that_is_closed_beneath() -> None:
    out, into = os.pipe()
    reader = tare.connect(f"fd:{out}", "raw", mode="r")
    os.close(out)
    with pytest.raises(OSError, match=r"[Bb]ad file") as caught:
        reader.receive(timeout=60)
    assert caught.value.errno == 9
    with pytest.raises(OSError, match=r"[Bb]ad file"):
        reader.close()
    os.close(into)


def test_after_a_fork_the_child_is_told() -> None:
    with raw_peer("raw") as (_, conn):
        code = 0
        child = os.fork()
        if child == 0:
            try:
                conn.receive(timeout=0)
            except tare.errors.UsageError as error:
                code = 7 if "fork" in str(error) else 8
            except BaseException:
                code = 9
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        conn.send(b"the parent goes on")


@pytest.mark.parametrize("call", ["receive()", "send(bytes(1 << 26))", "poll(None)"])
def test_ctrl_c_is_answered_soon(call: str) -> None:
    code = f"""
import os, socket, sys, tare
mine, theirs = socket.socketpair()
conn = tare.connect(f"fd:{{theirs.detach()}}", "raw")
print("ready", flush=True)
try:
    conn.{call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
os._exit(0)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        threading.Event().wait(0.2)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"


def test_a_killed_sender_did_not_finish(tmp_path: Path) -> None:
    code = """
import os, sys, tare
conn = tare.connect(sys.argv[1], "json")
conn.send([1])
os._exit(1)
"""
    with tare.listen(f"unix:{tmp_path}/s", "json", timeout=60) as server:  # noqa: SIM117 - read from the outside in
        with subprocess.Popen([sys.executable, "-c", code, server.url]):
            with server.accept() as conn:
                assert conn.receive() == [1]
                with pytest.raises(EndOfStream):
                    conn.receive()
                assert conn.status == "eof_clean"


def test_whoever_breaks_off_does_not_say_that_it_finished(tmp_path: Path) -> None:
    with paired("unix", tmp_path) as (writer, reader):
        with pytest.raises(ZeroDivisionError), writer:  # noqa: PT012 - what breaks off is within
            writer.send(1)
            raise ZeroDivisionError
        assert reader.receive() == 1
        with pytest.raises(EndOfStream):
            reader.receive()
        assert reader.status == "eof_clean"


def test_tokens(tmp_path: Path) -> None:
    with tare.listen("tcp://127.0.0.1:0", "json", token=b"0123456789abcdef", timeout=60) as server:
        with tare.connect(server.url, "json", token=b"0123456789abcdeX"), pytest.raises(TimeoutError):
            server.accept(timeout=0.2)
        with tare.connect(server.url, "json"), pytest.raises(TimeoutError):
            server.accept(timeout=0.2)
        with tare.connect(server.url, "json", token="0123456789abcdef") as client:
            client.send(1)
            with server.accept() as conn:
                assert conn.receive() == 1


def test_the_module_names_its_parts() -> None:
    assert messages.aio.__name__ == "tare.messages.aio"
    with pytest.raises(AttributeError):
        _ = messages.nothing


def test_representations(tmp_path: Path) -> None:
    with paired("unix", tmp_path) as (writer, _):
        assert repr(writer) == f"<tare.messages.Connection unix:{tmp_path}/s json:stdlib ok>"


def test_what_is_said_between_messages_is_none() -> None:
    with raw_peer("json") as (sock, conn):
        sock.sendall(bytes.fromhex("e805000000016a736f6e"))  # HELLO json
        assert conn.poll(0) is False
        assert tare.wait([conn], timeout=0.05) == []
        sock.sendall(b"\xe0\x01\0\0\x007" + bytes.fromhex("e809000000020100000000000000"))
        assert tare.wait([conn], timeout=60) == [conn]
        assert conn.tell() == (0, 0)
        assert (conn.pending, conn.summary()["messages_in"]) == (1, 0)
        assert conn.receive(timeout=0) == 7
        assert conn.poll(0.05) is False  # an END, and the end of the stream still to come
        sock.shutdown(1)
        assert conn.poll(5) is True
        with pytest.raises(EndOfStream):
            conn.receive(timeout=0)
