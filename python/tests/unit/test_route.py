"""Routes: what was measured runs again, atomically, and never runs code unasked."""

from __future__ import annotations

import io
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tare
from tare import Codec, Route
from tare.errors import EncodeError, Limit, Malformed, NotTrusted, Truncated, UsageError

DOCUMENT = {"a": [1, 2.5, None, "x" * 50], "b": {"c": True}}
DOCUMENTS = [{"n": n, "text": "y" * (n % 70)} for n in range(5000)]


@pytest.mark.parametrize(
    "text",
    [
        "json:orjson@memory",
        "json:orjson+zstd:3@tcp",
        "parquet:pyarrow,compression=zstd,level=9@file",
        "parquet:pyarrow@file,sync=fsync,threads=all",
        "msgpack:msgspec@unix,delivery=framed",
        "ndjson@fifo,delivery=streaming",
    ],
)
def test_parse_then_print_is_the_identity(text: str) -> None:
    """A printed id gives the same route."""
    route = Route(text)
    canonical = str(route)
    assert canonical == str(Route(canonical))
    assert Route(canonical) == route
    assert hash(Route(canonical)) == hash(route)
    assert route == pickle.loads(pickle.dumps(route))
    assert canonical.partition("@")[2] == text.partition("@")[2]


def test_defaults_are_not_printed() -> None:
    """Options at their default leave no trace; a codec alone means memory."""
    assert "json:orjson@tcp" == str(
        Route("json:orjson,default=refuse@tcp,delivery=whole,threads=1,sync=none")
    )
    assert "json:orjson@memory" == str(Route("json:orjson"))
    assert "json:orjson@memory,threads=all" == str(Route("json:orjson", threads="all"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("json:orjson@tpc", "there is no medium 'tpc'; did you mean tcp?"),
        ("json:orjson@", "there is no medium ''"),
        ("json:orjson@tcp,delivry=framed", "there is no key 'delivry'; did you mean delivery?"),
        ("json:orjson@tcp,delivery", "expected key=value once after the medium"),
        ("json:orjson@tcp,threads=1,threads=1", "expected key=value once after the medium"),
        ("json:orjson@tcp,threads=7", "threads is 1 or all, not '7'"),
        ("json:orjson@tcp,delivery=streaming", "cannot encode and decode in parts; use delivery=framed"),
        ("jsn@file", "no format 'jsn'"),
    ],
)
def test_mistakes_are_told(text: str, message: str) -> None:
    """A wrong name lists near ones."""
    with pytest.raises(UsageError) as caught:
        Route(text)
    assert message in str(caught.value)


def test_a_route_does_not_change() -> None:
    """What was recommended stays what was recommended."""
    with pytest.raises(AttributeError, match="make another one"):
        Route("json:orjson").medium = "file"


@pytest.mark.parametrize(
    "text", ["json:orjson", "msgpack:msgspec+zstd:3", "json:stdlib+gzip:6", "pickle,protocol=2"]
)
def test_bytes_are_those_of_the_codec(text: str, tmp_path: Path) -> None:
    """Both encode and write give the bytes that the codec's measured encoder gives."""
    codec = Codec.parse(text)
    measured = bytes(codec.encoder("document")(DOCUMENT))
    route = Route(f"{text}@file")
    assert measured == route.encode(DOCUMENT)
    assert len(measured) == route.write(DOCUMENT, tmp_path / "x")
    assert measured == (tmp_path / "x").read_bytes()
    assert DOCUMENT == route.read(tmp_path / "x", trust=True)


def test_code_is_never_run_unasked(tmp_path: Path) -> None:
    """A pickle is refused before the file is opened, in reading and in receiving."""
    route = Route("pickle@file")
    route.write(DOCUMENT, tmp_path / "x.pickle")
    with pytest.raises(NotTrusted, match="trust=True"):
        route.read(tmp_path / "not there")
    with pytest.raises(NotTrusted):
        route.decode(route.encode(1))
    stream = io.BytesIO(route.encode(1))
    with pytest.raises(NotTrusted):
        route.receive(stream)
    assert 0 == stream.tell()


def test_write_replaces_in_one_step(tmp_path: Path) -> None:
    """A value that cannot be encoded leaves the old file; nothing else is left in the folder."""
    route = Route("json:orjson@file,sync=fsync")
    path = tmp_path / "x.json"
    route.write([1], path)
    path.chmod(0o640)
    with pytest.raises(EncodeError):
        route.write([{1, 2}], path)
    assert b"[1]" == path.read_bytes()
    route.write([2], path)
    assert (b"[2]", 0o640) == (path.read_bytes(), path.stat().st_mode & 0o777)
    assert ["x.json"] == os.listdir(tmp_path)


def test_write_follows_links_and_keeps_devices(tmp_path: Path) -> None:
    """A link's target is replaced, not the link; a device is written to, not replaced."""
    route = Route("json:orjson@file")
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    route.write([1], tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert b"[1]" == (tmp_path / "target").read_bytes()
    route.write([1], "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_new_files_get_the_umasks_mode(tmp_path: Path) -> None:
    """A new file is as readable as any other new file."""
    Route("json:orjson@file").write([1], tmp_path / "x")
    (tmp_path / "y").touch()
    assert (tmp_path / "y").stat().st_mode == (tmp_path / "x").stat().st_mode


def test_reading_names_the_file(tmp_path: Path) -> None:
    """A damaged file is told by name and format."""
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a": [1, 2')
    with pytest.raises((Truncated, Malformed), match=r"x\.json: json") as caught:
        Route("json:orjson@file").read(path)
    assert "json" == caught.value.format


@pytest.mark.parametrize("delivery", ["whole", "buffered", "framed", "wrapped", "streaming"])
@pytest.mark.parametrize("ends", ["pipe", "socket"])
def test_send_and_receive(delivery: str, ends: str) -> None:
    """A value arrives whole over pipes and sockets, however it is delivered."""
    route = Route(f"ndjson@fifo,delivery={delivery}")
    reader, writer = _ends(ends)
    sent: list[int] = []

    def write() -> None:
        with writer:
            sent.append(route.send(DOCUMENTS, writer))

    thread = threading.Thread(target=write)
    thread.start()
    with reader:
        assert DOCUMENTS == route.receive(reader)
    thread.join()
    header = {"framed": 5, "wrapped": 5}.get(delivery, 0)
    assert [len(route.encode(DOCUMENTS)) + header] == sent


@pytest.mark.parametrize("delivery", ["framed", "wrapped"])
def test_messages_keep_the_connection_open(delivery: str) -> None:
    """Several messages follow each other; after the last comes Truncated, not garbage."""
    route = Route(f"msgpack:msgspec@tcp,delivery={delivery}")
    stream = io.BytesIO()
    for value in (DOCUMENT, [], DOCUMENTS):
        route.send(value, stream)
    stream.seek(0)
    assert [DOCUMENT, [], DOCUMENTS] == [route.receive(stream) for _ in range(3)]
    with pytest.raises(Truncated, match="closed before the message"):
        route.receive(stream)


@pytest.mark.parametrize(
    "codec", ["msgpack:msgspec", "json+zstd:3", "json+bz2", "json+gzip:1,library=stdlib"]
)
@pytest.mark.parametrize("delivery", ["framed", "wrapped"])
def test_connections_receive_what_a_route_sends(delivery: str, codec: str, tmp_path: Path) -> None:
    """`tare.connect` of the other side reads a route's messages, compressed ones too, and the other way round."""
    route, framing = (
        Route(f"{codec}@file,delivery={delivery}"),
        "frame" if delivery == "framed" else "native:wrap",
    )
    with open(tmp_path / "sent", "wb") as file:
        for value in (DOCUMENT, [], DOCUMENTS):
            route.send(value, file)
    flagged = delivery == "framed" and codec == "json+zstd:3"
    with tare.connect(f"file:{tmp_path / 'sent'}", "raw", framing=framing, mode="r") as conn:
        plain = Route("json") if flagged else route
        assert [DOCUMENT, [], DOCUMENTS] == [plain.decode(data) for data in conn]
    if "bz2" in codec or "library" in codec:
        return  # not the compressors of messages
    with tare.connect(f"file:{tmp_path / 'sent'}", codec, framing=framing, mode="r") as conn:
        assert [DOCUMENT, [], DOCUMENTS] == list(conn)
    quiet = {"hello": False} if delivery == "framed" else {}
    with tare.connect(f"file:{tmp_path / 'back'}", codec, framing=framing, mode="w", **quiet) as conn:
        conn.send_all([DOCUMENT, [], DOCUMENTS])
    with open(tmp_path / "back", "rb") as file:
        assert [DOCUMENT, [], DOCUMENTS] == [route.receive(file) for _ in range(3)]
        with pytest.raises(Truncated):
            route.receive(file)
    if flagged:
        with open(tmp_path / "sent", "rb") as file, pytest.raises(Malformed, match="is compressed"):
            Route("json@file,delivery=framed").receive(file)


@pytest.mark.parametrize("delivery", ["framed", "wrapped"])
def test_message_split_at_every_byte(delivery: str) -> None:
    """However the bytes arrive, the value is the same; every cut is Truncated."""
    route = Route(f"msgpack:msgspec@tcp,delivery={delivery}")
    data = _sent(route, DOCUMENT)

    class Slow(io.RawIOBase):
        def __init__(self, cut: int) -> None:
            self.pieces = [data[:cut], data[cut:]]

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            while self.pieces and not self.pieces[0]:
                self.pieces.pop(0)
            if not self.pieces:
                return 0
            piece = self.pieces[0][: len(buffer)]
            self.pieces[0] = self.pieces[0][len(piece) :]
            buffer[: len(piece)] = piece
            return len(piece)

    for cut in range(len(data)):
        assert DOCUMENT == route.receive(Slow(cut))
        with pytest.raises(Truncated):
            route.receive(io.BytesIO(data[:cut]))


@pytest.mark.parametrize("delivery", ["whole", "framed", "wrapped", "streaming"])
def test_limits_of_a_message(delivery: str) -> None:
    """A message above max_bytes is refused, and a frame's promise allocates nothing."""
    route = Route(f"ndjson@tcp,delivery={delivery}")
    with pytest.raises(Limit, match="max_bytes=100"):
        route.receive(io.BytesIO(_sent(route, DOCUMENTS)), max_bytes=100)
    framed = Route("ndjson@tcp,delivery=framed")
    with pytest.raises(Limit, match="max_bytes=1073741824"):
        framed.receive(io.BytesIO(b"\xe0\xff\xff\xff\x7f"))
    with pytest.raises(Truncated, match="ends inside a message"):
        framed.receive(io.BytesIO(b"\xe0" + (1 << 29).to_bytes(4, "little") + b"abc"))


def test_threads_are_set_for_the_call_only() -> None:
    """A route leaves the library with the threads it had before, the user's own number too."""
    import pyarrow as pa

    before = pa.cpu_count()
    try:
        for own in (before, 3, 1):
            for codec in ("arrow:pyarrow", "parquet:pyarrow", "csv:pyarrow"):
                pa.set_cpu_count(own)
                with Route(f"{codec}@memory")._threads():
                    assert 1 == pa.cpu_count()
                with Route(f"{codec}@memory,threads=all")._threads():
                    assert os.cpu_count() == pa.cpu_count()
                assert own == pa.cpu_count()
    finally:
        pa.set_cpu_count(before)


def test_no_measuring_code_is_loaded(tmp_path: Path) -> None:
    """Running a route imports nothing of the measuring or reporting packages."""
    script = (
        "import sys; from tare import Route; r = Route('json:orjson+zstd:3@file');"
        f"r.write([1], {str(tmp_path / 'x')!r}); assert r.read({str(tmp_path / 'x')!r}) == [1];"
        "print([m for m in sys.modules if m.startswith(('tare.measure', 'tare.report', 'tare.cli'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.strip()


def test_media_are_those_of_the_registry() -> None:
    """A route may name every medium there is."""
    from tare import media, route

    assert {medium.name for medium in media.MEDIA} <= set(route.MEDIA)


def _sent(route: Route, value: Any) -> bytes:
    stream = io.BytesIO()
    route.send(value, stream)
    return stream.getvalue()


def _ends(kind: str) -> tuple[Any, Any]:
    makers: dict[str, Callable[[], tuple[Any, Any]]] = {"pipe": _pipe, "socket": socket.socketpair}
    return makers[kind]()


def _pipe() -> tuple[Any, Any]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb", buffering=0), os.fdopen(writing, "wb", buffering=0)
