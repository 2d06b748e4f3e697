"""Both directions with other programs' streams: msgpack-python, cbor2, lines of JSON, and R's golden files."""

from __future__ import annotations

import io
import json
import lzma
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need, need_codec, need_command, need_module
from support.message_connections import raw_peer

import tare
from tare.messages import EndOfStream

msgpack = need_module("msgpack")

VALUES: list[Any] = [
    0, -1, 127, 128, 255, 65_536, 2**63 - 1, -(2**63), 0.5, True, None, "", "x" * 31, "x" * 32, "x" * 70_000,
    [], [1] * 15, [1] * 16, [[]] * 70_000, {}, {"a": {"b": [1, {"c": None}]}}, {str(n): n for n in range(70_000)},
]  # fmt: skip


def sent_from_a_thread(sock, data: bytes) -> threading.Thread:
    def go() -> None:
        sock.sendall(data)
        sock.shutdown(1)

    thread = threading.Thread(target=go)
    thread.start()
    return thread


@pytest.mark.parametrize("library", ["msgspec", "msgpack", "ormsgpack"])
def test_what_the_packer_of_msgpack_writes(library: str) -> None:
    need_codec(f"msgpack:{library}")
    packer = msgpack.Packer()
    stream = b"".join(map(packer.pack, VALUES))
    with raw_peer(f"msgpack:{library}", framing="native") as (sock, conn):
        thread = sent_from_a_thread(sock, stream)
        assert list(conn) == VALUES
        assert conn.tell()[0] == len(stream)
        assert conn.status == "eof_clean"
        thread.join()


def test_what_the_unpacker_of_msgpack_reads() -> None:
    with raw_peer("msgpack", framing="native") as (sock, conn):
        thread = threading.Thread(target=lambda: (conn.send_all(VALUES), conn.close()))
        thread.start()
        unpacker = msgpack.Unpacker()
        got = []
        while data := sock.recv(65_536):
            unpacker.feed(data)
            got += list(unpacker)
        assert got == VALUES
        thread.join()


def test_bytes_wrapped_for_the_unpacker_and_from_the_packer() -> None:
    payloads = [b"", b"x" * 255, b"y" * 256, b"z" * 70_000]
    with raw_peer("raw", framing="native:wrap") as (sock, conn):
        thread = threading.Thread(target=lambda: conn.send_all(payloads))
        thread.start()
        unpacker = msgpack.Unpacker()
        got: list[bytes] = []
        while len(got) < len(payloads):
            unpacker.feed(sock.recv(65_536))
            got += list(unpacker)
        thread.join()
        assert got == payloads
        again = sent_from_a_thread(sock, b"".join(map(msgpack.packb, [*payloads, "text"])))
        assert list(conn) == [*payloads, b"text"]
        again.join()


def test_other_values_of_msgpack_are_no_wrapped_bytes() -> None:
    with raw_peer("raw", framing="native:wrap") as (sock, conn):
        sock.sendall(msgpack.packb(b"good") + msgpack.packb({"a": 1}))
        assert conn.receive() == b"good"
        with pytest.raises(tare.errors.Malformed):
            conn.receive()


def test_sequences_of_cbor() -> None:
    cbor2 = need_module("cbor2")
    values = [value for value in VALUES if value is not None] + [{"a": [None]}]
    stream = b"".join(map(cbor2.dumps, values)) + bytes.fromhex("9f01ff5f4101ff")  # of no length: [1], b"\1"
    with raw_peer("cbor", framing="native") as (sock, conn):
        thread = sent_from_a_thread(sock, stream)
        assert list(conn) == [*values, [1], b"\1"]
        thread.join()
    with raw_peer("cbor", framing="native") as (sock, conn):
        thread = threading.Thread(target=lambda: (conn.send_all(values), conn.close()))
        thread.start()
        file = io.BytesIO(b"".join(iter(lambda: sock.recv(65_536), b"")))
        decoder = cbor2.CBORDecoder(file)
        assert [decoder.decode() for _ in values] == values
        assert file.read() == b""
        thread.join()


def test_lines_of_json() -> None:
    values = [{"a": "line\nbreak", "b": 1.5}, [1, 2], "x", None]
    lines = [json.dumps(value) for value in values]
    with raw_peer("json", framing="native") as (sock, conn):
        thread = sent_from_a_thread(
            sock, f"{lines[0]}\n\n{lines[1]}\r\n{lines[2]}\n   \n{lines[3]}\n".encode()
        )
        assert list(conn) == values
        thread.join()
    with raw_peer("json", framing="native") as (sock, conn):
        conn.send_all(values)
        conn.close()
        text = b"".join(iter(lambda: sock.recv(65_536), b""))
        assert [json.loads(line) for line in text.split(b"\n")[:-1]] == values


def test_a_last_line_without_its_end(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("[1]\n[2]")
    with tare.connect(f"file:{tmp_path}/lines", "json", mode="r", framing="native") as conn:
        assert list(conn) == [[1], [2]]
    with raw_peer("json", framing="native") as (sock, conn):
        sock.sendall(b"123\n12")  # may be half of 123
        sock.shutdown(1)
        assert conn.receive() == 123
        with pytest.raises(tare.errors.Truncated):
            conn.receive()


def test_damaged_lines_are_skipped_where_asked() -> None:
    with raw_peer("json", framing="native", on_error="skip") as (sock, conn):
        sock.sendall(b"[1]\n{nonsense\n[2]\n")
        sock.shutdown(1)
        assert list(conn) == [[1], [2]]
        assert conn.summary()["skipped"] == 1
    with raw_peer("json", framing="native") as (sock, conn):
        sock.sendall(b"[1]\n{nonsense\n[2]\n")
        sock.shutdown(1)
        with pytest.raises(tare.errors.DecodeError):
            list(conn)
        assert conn.receive() == [2]


def test_with_the_tools_of_a_shell(tmp_path: Path) -> None:
    need_command("sed")
    with tare.connect(f"file:{tmp_path}/in", "json", mode="w", framing="native") as conn:
        conn.send_all([{"a": n} for n in range(3)])
    with (tmp_path / "out").open("wb") as out:
        subprocess.run(["sed", "s/a/b/", tmp_path / "in"], stdout=out, check=True)
    with tare.connect(f"file:{tmp_path}/out", "json", mode="r", framing="native") as conn:
        assert list(conn) == [{"b": n} for n in range(3)]


def test_the_stream_that_r_wrote(shared) -> None:
    path = shared("fixtures/msgpack/stream8.msgpack")
    with tare.connect(f"file:{path}", "msgpack", mode="r", framing="native") as conn:
        ends = []
        values = []
        for _ in range(8):
            values.append(conn.receive())
            ends.append(conn.tell()[0])
        assert ends == [1, 5, 8, 15, 16, 32, 20_035, 90_040]
        with pytest.raises(EndOfStream):
            conn.receive()
    with path.open("rb") as file:
        assert values == list(msgpack.Unpacker(file, strict_map_key=False))


def test_r09_the_stream_that_r_wrote_cut(shared) -> None:
    path = shared("fixtures/msgpack/stream8_truncated.msgpack")
    with tare.connect(f"file:{path}", "msgpack", mode="r", framing="native") as conn:
        assert len(conn.receive_all(timeout=None)) == 7
        assert conn.partial_size == len(conn.partial()) == 69_995
        for _ in range(2):
            with pytest.raises(tare.errors.Truncated) as caught:
                conn.receive()
            assert (caught.value.format, caught.value.offset) == ("msgpack", 20_035)
        assert (conn.status, conn.status.offset) == ("eof_truncated", 20_035)


def test_every_value_that_r_wrote(shared) -> None:
    folder = shared("fixtures/msgpack")
    files = sorted(path for path in folder.glob("*.msgpack") if not path.name.startswith("stream"))
    need(files, "no files of R's msgpack")
    with raw_peer("msgpack:msgpack", framing="native") as (sock, conn):
        thread = sent_from_a_thread(sock, b"".join(path.read_bytes() for path in files))
        for path in files:
            before = conn.tell()[0]
            conn.receive()
            assert conn.tell()[0] - before == path.stat().st_size, path.name
        thread.join()
        with pytest.raises(EndOfStream):
            conn.receive()


def test_the_lines_of_a_real_file(shared) -> None:
    data = lzma.decompress(shared("data/json/amazon_cellphones.ndjson.xz").read_bytes())
    with raw_peer("json", framing="native") as (sock, conn):
        thread = sent_from_a_thread(sock, data)
        got = list(conn)
        thread.join()
    assert len(got) == 793
    assert got == [json.loads(line) for line in data.splitlines()]
