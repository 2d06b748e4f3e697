"""Every URL both ways, every class of codec, through both faces: calls and asyncio."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_codec
from support.message_connections import URLS, paired, paired_aio

import tare
from tare.messages import EndOfStream

VALUES: list[Any] = [
    {"a": 1, "b": [2.5, None, True]},
    [],
    "",
    0,
    {"text": "x" * 3000, "deep": [[[[]]]]},
    [{"carrier": "UA", "delay": -3}] * 50,
    None,
]
FACES: dict[str, Callable[..., Any]] = {"calls": paired, "asyncio": paired_aio}


@pytest.fixture(params=FACES)
def face(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return FACES[request.param]


@pytest.mark.parametrize("kind", URLS)
def test_values_go_over_every_url(face, kind: str, tmp_path: Path) -> None:
    with face(kind, tmp_path) as (writer, reader):
        for value in VALUES:
            writer.send(value)
        assert reader.receive() == VALUES[0]
        assert reader.receive_all(n=3, timeout=60) == VALUES[1:4]
        assert writer.send_all(VALUES) == len(VALUES)
        assert reader.receive_all(n=10, timeout=60) == VALUES[4:] + VALUES
        writer.close()
        if kind != "file":  # which goes on for whoever follows it
            assert list(reader) == []
            assert reader.status == "ended"


@pytest.mark.parametrize("kind", ["tcp", "unix", "abstract"])
def test_sockets_go_both_ways(face, kind: str, tmp_path: Path) -> None:
    with face(kind, tmp_path) as (client, server):
        for value in VALUES:
            client.send(value)
            assert server.receive() == value
            server.send([value, value])
            assert client.receive() == [value, value]


@pytest.mark.parametrize(
    "codec",
    [
        "json",
        "json:orjson+zstd:3",
        "json:stdlib",
        "json:msgspec+lz4",
        "msgpack",
        "msgpack:msgpack",
        "msgpack:ormsgpack+gzip:6",
        "cbor",
        "yaml",
        "blit",
        "rds",
        "ndjson",
    ],
)
def test_documents_in_every_class_of_codec(face, codec: str, tmp_path: Path) -> None:
    need_codec(codec)
    values = [{"a": [1, 2.5, "text"], "b": "y" * 2000}, {"a": [], "b": ""}, {"a": ["x" * 70_000], "b": "z"}]
    if codec in {"ndjson", "rds"}:
        values = [[value, value] for value in values]
    expected = [tare.decode(tare.encode(value, codec), codec) for value in values]
    with face("unix", tmp_path, codec) as (writer, reader):
        writer.send_all(values)
        assert reader.receive_all(n=len(values), timeout=60) == expected
        assert reader.summary()["peer_codec"] == str(tare.Codec.parse(codec))


@pytest.mark.parametrize("codec", ["arrow", "arrow+zstd:3", "fst", "rds", "qs2", "csv", "avro", "orc"])
def test_tables_in_every_class_of_codec(face, codec: str, tmp_path: Path) -> None:
    import pyarrow as pa

    need_codec(codec)
    table = pa.table({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})
    expected = tare.decode(tare.encode(table, codec), codec)
    with face("unix", tmp_path, codec) as (writer, reader):
        writer.send(table)
        got = reader.receive()
    assert type(got) is type(expected)
    assert tare.encode(got, "json") == tare.encode(expected, "json")


@pytest.mark.parametrize("codec", ["json", "json:msgspec", "msgpack", "msgpack:msgspec", "cbor"])
@pytest.mark.parametrize("kind", ["tcp", "fifo"])
def test_native_framing(face, codec: str, kind: str, tmp_path: Path) -> None:
    need_codec(codec)
    with face(kind, tmp_path, codec, framing="native") as (writer, reader):
        assert writer.send_all(VALUES) == len(VALUES)
        assert reader.receive_all(n=len(VALUES), timeout=60) == VALUES
        writer.close()
        with pytest.raises(EndOfStream):
            reader.receive()
        assert reader.status == "eof_clean"


@pytest.mark.parametrize("codec", ["raw", "json:orjson+zstd:3", "rds", "blit"])
def test_wrapped_in_msgpack(face, codec: str, tmp_path: Path) -> None:
    values: list[Any] = (
        [b"one", b"", b"x" * 100_000] if codec == "raw" else [{"a": [1.5]}, {"a": [2.5] * 1000}]
    )
    with face("tcp", tmp_path, codec, framing="native:wrap") as (writer, reader):
        writer.send_all(values)
        got = reader.receive_all(n=len(values), timeout=60)
    assert got == (values if codec == "raw" else [tare.decode(tare.encode(v, codec), codec) for v in values])


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 20 << 20])
def test_bytes_of_every_size(face, size: int, tmp_path: Path) -> None:
    import threading

    payload = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    with face("unix", tmp_path, "raw") as (writer, reader):
        thread = threading.Thread(target=writer.send_all, args=([payload, b"small", payload],))
        thread.start()
        got = reader.receive_all(n=3, timeout=60)
        thread.join(60)
        assert [len(one) for one in got] == [size, 5, size]
        assert got == [payload, b"small", payload]


def test_a_peer_says_what_it_sends(face, tmp_path: Path) -> None:
    with face("unix", tmp_path, "json:orjson+zstd:3", reader={"codec": None}) as (writer, reader):
        writer.send({"a": "b" * 1000})
        assert reader.receive() == {"a": "b" * 1000}
        assert reader.summary()["codec"] == "json:orjson+zstd:3"


def test_a_codec_that_is_not_accepted(face, tmp_path: Path) -> None:
    with face("unix", tmp_path, "yaml", reader={"codec": None}) as (writer, reader):
        writer.send({"a": 1})
        with pytest.raises(tare.errors.CodecMismatch, match="accept="):
            reader.receive()
        with pytest.raises(tare.errors.CodecMismatch):
            reader.receive()


def test_another_format_is_refused_before_anything_is_decoded(face, tmp_path: Path) -> None:
    with face("unix", tmp_path, "msgpack", reader={"codec": "json"}) as (writer, reader):
        writer.send_all([1, 2])
        for _ in range(2):
            with pytest.raises(
                tare.errors.CodecMismatch, match="peer sends 'msgpack', this end expects 'json'"
            ):
                reader.receive()


def test_figures(face, tmp_path: Path) -> None:
    with face("tcp", tmp_path, "raw", hello=False) as (writer, reader):
        writer.send(b"abc")
        writer.send(b"")
        assert reader.receive() == b"abc"
        assert reader.tell() == (8, 0)
        assert writer.tell() == (0, 13)
        assert reader.receive_all(n=1, timeout=60) == [b""]
        facts = reader.summary()
        assert (facts["messages_in"], facts["bytes_in"], facts["messages_out"]) == (2, 13, 0)
        assert {"url", "peer", "framing", "codec", "peer_codec", "status", "messages_in", "messages_out", "bytes_in",
                "bytes_out", "partial", "unsent", "control_skipped", "skipped", "ended"} <= facts.keys()  # fmt: skip
        writer.close()
        with pytest.raises(EndOfStream):
            reader.receive()
        assert reader.summary()["ended"] is True
        with pytest.raises(tare.errors.UsageError, match="closed"):
            writer.send(b"more")
        assert writer.status == "closed"


def test_deadlines_lose_nothing(face, tmp_path: Path) -> None:
    with face("unix", tmp_path, "json") as (writer, reader):
        with pytest.raises(TimeoutError):
            reader.receive(timeout=0.01)
        with pytest.raises(TimeoutError):
            reader.receive(timeout=0)
        assert reader.receive_all() == []
        writer.send([1])
        assert reader.receive(timeout=60) == [1]


def test_a_message_that_does_not_decode_is_told_with_its_place(face, tmp_path: Path) -> None:
    with face("unix", tmp_path, "raw", hello=False, reader={"codec": "json"}) as (writer, reader):
        writer.send_all([b"[1]", b"nonsense", b"[2]", b"{", b"[3]"])
        assert reader.receive() == [1]
        with pytest.raises(tare.errors.DecodeError) as caught:
            reader.receive()
        assert (caught.value.kind, caught.value.offset, caught.value.message_number) == ("decode", 8, 1)
        assert caught.value.format == "json"
        assert not isinstance(caught.value, EOFError)
        assert reader.receive_all(timeout=1) == [[2]]
        with pytest.raises(tare.errors.DecodeError) as caught:
            reader.receive_all(timeout=1)
        assert (caught.value.offset, caught.value.message_number) == (29, 3)
        assert reader.receive() == [3]
