"""Whole files over a connection: codec ``file``, as docs/specs/messages.md lays it out.

A file is a message that says its name, messages of its content, and one that says what they must have
been. Both ends hold one part of it at a time.

>>> import io, os, tare, tempfile
>>> reading, writing = os.pipe()
>>> with tempfile.TemporaryDirectory() as folder:
...     with tare.connect(f"fd:{writing}", FILE, mode="w") as conn:
...         sent = send_file(conn, io.BytesIO(b"a,b"), "x.csv")
...     with tare.connect(f"fd:{reading}", FILE, mode="r") as conn:
...         incoming = FileReceiver(folder)
...         kept = [file for file in map(incoming.take, conn) if file]
...     kept[0].name, kept[0].size, kept[0].sha256 == sent.sha256, os.listdir(folder)
('x.csv', 3, True, ['x.csv'])
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tare.atomic import Replacement
from tare.errors import DecodeError, Malformed, Truncated, UsageError
from tare.messages.ends import EndOfStream

if TYPE_CHECKING:
    from tare.messages.connection import Connection

__all__ = [
    "FILE",
    "FileReceiver",
    "Refused",
    "WholeFile",
    "name_fault",
    "receipt",
    "refusal",
    "send_file",
]

FILE = "file"
"""Id of the codec."""

PART = 256 << 10
"""Content bytes of a message."""

HEADER, CONTENT, WHOLE, KEPT, REFUSED = b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"
_MOST_SAID = 4096  # bytes of the JSON of one message
_MOST_NAME = 255
_LAST_WORDS_S = 1.0

Progress = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes that passed, and all of them if that is known."""


class Refused(DecodeError):
    """The receiver did not keep a file, and says why."""


@dataclass(frozen=True)
class WholeFile:
    """A file that went over whole.

    Args:
        name: Its name on the wire.
        size: Its bytes.
        sha256: Their hash, in hex.
        path: Where it lies now; None at the sender.
        wants_receipt: Whether the sender waits to be told.
    """

    name: str
    size: int
    sha256: str
    path: str | None = None
    wants_receipt: bool = False


def name_fault(name: str) -> str | None:
    r"""What is wrong with the name of a file that crosses; None if nothing is.

    >>> name_fault("data.parquet"), name_fault("a/b"), name_fault("..")
    (None, "has a '/' or a '\\'", "begins with a '.'")
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "is not UTF-8"
    if not 0 < size <= _MOST_NAME:
        return f"has {size} bytes, not 1 to {_MOST_NAME}"
    if "/" in name or "\\" in name:
        return "has a '/' or a '\\'"
    if not name.isprintable():
        return "has characters that cannot be printed"
    if name.startswith("."):
        return "begins with a '.'"
    return None


def send_file(
    conn: Connection,
    source: BinaryIO,
    name: str,
    *,
    size: int | None = None,
    mtime_ns: int | None = None,
    wants_receipt: bool = False,
    part: int = PART,
    on_part: Progress | None = None,
) -> WholeFile:
    """Send a file.

    Args:
        conn: A connection of the codec `FILE`.
        source: What to read, to its end or for ``size`` bytes.
        name: Its name there, without a folder.
        size: Its bytes, if they are known before.
        mtime_ns: When it was changed last, in nanoseconds since 1970.
        wants_receipt: Ask the receiver to say when it has it, and wait for that: for connections that
            go both ways.
        part: Content bytes of one message.
        on_part: Called after each part.

    Raises:
        UsageError: A name that no receiver takes.
        Truncated: The source has less than ``size`` bytes: it changed meanwhile.
        Refused: The receiver does not want it.
        OSError, TimeoutError: As `Connection.send`; or the receiver went away and did not say that it has it.
    """
    fault = name_fault(name)
    if fault is not None:
        raise UsageError(f"{name[:80]!a}: the name {fault}: no receiver takes it")
    header = {"name": name, "size": size, "mtime": mtime_ns, "receipt": wants_receipt}
    with _heard(conn, name, wants_receipt):
        return _sent(conn, source, header, part, on_part)


@contextlib.contextmanager
def _heard(conn: Connection, name: str, wants_receipt: bool) -> Iterator[None]:
    """Where the receiver closed, it may have said why."""
    try:
        yield
    except ConnectionError:
        if wants_receipt:
            with contextlib.suppress(OSError):
                if conn.poll(_LAST_WORDS_S):
                    _answer(conn, name)
        raise


def _sent(
    conn: Connection, source: BinaryIO, header: dict[str, Any], part: int, on_part: Progress | None
) -> WholeFile:
    name: str = header["name"]
    size: int | None = header["size"]
    wants_receipt: bool = header["receipt"]
    conn.send(_said(HEADER, {key: value for key, value in header.items() if value is not None}))
    digest, done = hashlib.sha256(), 0
    place = bytearray(1 + part)
    place[:1] = CONTENT
    with memoryview(place) as view:
        while size is None or done < size:
            most = part if size is None else min(part, size - done)
            count = _filled(source, view[1 : 1 + most])
            if not count:
                break
            content = view[1 : 1 + count]
            digest.update(content)
            conn.send(view[: 1 + count])
            done += count
            if on_part is not None:
                on_part(name, done, size)
            if wants_receipt and conn.poll(0):
                _answer(conn, name)  # nothing but a refusal, or its end, comes here
                raise Malformed(f"{name}: the receiver says that it has what was not sent yet")
    if size is not None and done < size:
        raise Truncated(f"{name}: had {size} bytes and ended after {done}: it was changed while it was sent")
    sent = WholeFile(name, done, digest.hexdigest())
    conn.send(_said(WHOLE, {"size": done, "sha256": sent.sha256}))
    if wants_receipt:
        kept = _answer(conn, name)
        if (kept.get("name"), kept.get("sha256")) != (name, sent.sha256):
            raise Malformed(f"{name}: the receiver says that it has another file")
    return sent


def receipt(file: WholeFile) -> bytes:
    """The message by which a receiver says that it kept a file."""
    return _said(KEPT, {"name": file.name, "size": file.size, "sha256": file.sha256})


def refusal(name: str | None, reason: str) -> bytes:
    """The message by which a receiver says that it takes no more, and why."""
    return _said(REFUSED, {"name": name, "reason": reason[:1000]})


def _answer(conn: Connection, name: str) -> dict[str, Any]:
    try:
        message: bytes = conn.receive()
    except EndOfStream:
        text = f"{name}: the receiver went away and did not say that it has it"
        raise ConnectionAbortedError(errno.ECONNABORTED, text) from None
    kind, said = message[:1], _read(message)
    if kind == REFUSED:
        raise Refused(f"{name}: the receiver refused it: {_printable(said.get('reason'))}")
    if kind != KEPT:
        raise Malformed(f"{name}: expected a receipt from the receiver, not a message {kind!r}")
    return said


class FileReceiver:
    """Takes the messages of one connection, and keeps each file when it is whole.

    Until then a file has a name that begins with a dot and ends with ``.part``, so that none is ever half
    there; `abandon` removes it.

    Args:
        place: A folder, which files get their names in; or with ``one`` the path of the only file.
        one: Whether ``place`` is that.
        sink: Instead of ``place``: what all content is written to.
        overwrite: Whether a file that is there is replaced.
        on_part: Called after each part.
    """

    def __init__(
        self,
        place: str | None,
        *,
        one: bool = False,
        sink: BinaryIO | None = None,
        overwrite: bool = False,
        on_part: Progress | None = None,
    ) -> None:
        self._place = place
        self._one = one
        self._sink = sink
        self._overwrite = overwrite
        self._on_part = on_part
        self._taken = 0
        self._name: str | None = None
        self._header: dict[str, Any] = {}
        self._target: Replacement | None = None
        self._file: BinaryIO | None = None
        self._path: str | None = None
        self._digest = hashlib.sha256()
        self._done = 0

    @property
    def name(self) -> str | None:
        """The file that is on its way."""
        return self._name

    @property
    def wants_receipt(self) -> bool:
        """Whether the sender of the file that came last, or is on its way, waits to be told."""
        return self._header.get("receipt") is True

    def take(self, message: bytes) -> WholeFile | None:
        """Take a message; the file that it made whole.

        Raises:
            Malformed: It is none, or none that may come now.
            DecodeError: A name that is not taken, or content that is not what was sent.
            FileExistsError: A file of the name is there.
            OSError: It cannot be written, as on a full disk.
        """
        kind = message[:1]
        if kind == CONTENT and self._name is not None:
            self._write(message)
            return None
        if kind == HEADER and self._name is None:
            self._begin(_read(message))
            return None
        if kind == WHOLE and self._name is not None:
            return self._finish(_read(message))
        where = "between two files" if self._name is None else f"inside {self._name}"
        raise Malformed(f"file: a message that begins with {kind!r} cannot stand {where}", format=FILE)

    def _begin(self, header: dict[str, Any]) -> None:
        name, size, mtime = header.get("name"), header.get("size"), header.get("mtime")
        if not isinstance(name, str):
            raise Malformed("file: a header without a name", format=FILE)
        for number in (size, mtime):
            if number is not None and (type(number) is not int or not 0 <= number < 1 << 63):
                raise Malformed("file: a header whose size or time is no number", format=FILE)
        self._header = header
        fault = name_fault(name)
        if fault is not None:
            raise DecodeError(f"file: the name {name[:80]!a} {fault}: it is not taken", format=FILE)
        if self._one and self._taken:
            raise UsageError(f"a second file came, {name!r}: for several say --to FOLDER/")
        if self._sink is not None:
            self._start(name, self._sink)
            return
        assert self._place is not None
        self._path = self._place if self._one else os.path.join(self._place, name)
        self._refuse_existing(self._path)
        with self._named(self._path):
            self._refuse_full(os.path.dirname(os.path.abspath(self._path)), size or 0)
            self._target = Replacement(self._path, exclusive=not self._overwrite)
            # Closed when it is whole, or by `abandon`.
            self._start(name, cast(BinaryIO, open(self._target.temporary, "wb", buffering=0)))

    def _start(self, name: str, file: BinaryIO) -> None:
        self._name, self._file, self._done = name, file, 0
        self._digest = hashlib.sha256()

    def _refuse_existing(self, path: str) -> None:
        """A link is never followed, and nothing but a file is replaced."""
        with contextlib.suppress(FileNotFoundError):
            mode = os.lstat(path).st_mode
            if not self._overwrite or (not stat.S_ISREG(mode) and not self._one):
                hint = "say --force to replace it" if stat.S_ISREG(mode) else "it is no file"
                raise FileExistsError(errno.EEXIST, f"it exists already: {hint}", path)

    def _refuse_full(self, folder: str, size: int) -> None:
        room = os.statvfs(folder)
        if size > room.f_bavail * room.f_frsize:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _write(self, message: bytes) -> None:
        assert self._file is not None
        assert self._name is not None
        size = self._header.get("size")
        with memoryview(message)[1:] as content:
            if not content or (size is not None and self._done + len(content) > size):
                raise Malformed(f"{self._name}: more content than its header says, or none", format=FILE)
            with self._named(self._path):
                rest = content
                while rest:
                    rest = rest[self._file.write(rest) :]
            self._digest.update(content)
            self._done += len(content)
        if self._on_part is not None:
            self._on_part(self._name, self._done, size)

    def _finish(self, said: dict[str, Any]) -> WholeFile:
        assert self._file is not None
        assert self._name is not None
        found = WholeFile(self._name, self._done, self._digest.hexdigest(), self._path, self.wants_receipt)
        size = self._header.get("size", self._done)
        if (said.get("size"), said.get("sha256"), size) != (found.size, found.sha256, found.size):
            raise DecodeError(
                f"{found.name} is not what was sent: its size or its SHA-256 differs", format=FILE
            )
        with self._named(self._path):
            if self._target is not None:
                os.fsync(self._file.fileno())
                self._file.close()
                mtime = self._header.get("mtime")
                if mtime is not None:
                    os.utime(self._target.temporary, ns=(mtime, mtime))
                self._target.commit()
                _sync_folder(os.path.dirname(self._target.target))
            else:
                self._file.flush()
        self._target = self._file = self._name = None
        self._taken += 1
        return found

    @contextlib.contextmanager
    def _named(self, path: str | None) -> Iterator[None]:
        """Errors of the system name the file that was to be."""
        try:
            yield
        except OSError as error:
            if path is not None and error.errno is not None:
                error.filename, error.filename2 = path, None
            raise

    def abandon(self) -> None:
        """Remove what there is of a file that is not whole."""
        if self._file is not None and self._file is not self._sink:
            self._file.close()
        if self._target is not None:
            self._target.abandon()
        self._target = self._file = self._name = None


def _sync_folder(folder: str) -> None:
    """Have the disk keep a new name too, where it can be asked to."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _filled(source: BinaryIO, place: memoryview) -> int:
    """Read until a place is full, or the source at its end: a pipe gives less than is asked for."""
    read = getattr(source, "readinto", None)
    done = 0
    while done < len(place):
        if read is not None:
            count = read(place[done:])
        else:
            data = source.read(len(place) - done)
            count = len(data)
            place[done : done + count] = data
        if not count:
            break
        done += count
    return done


def _said(kind: bytes, facts: dict[str, Any]) -> bytes:
    return kind + json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode()


def _read(message: bytes) -> dict[str, Any]:
    """The JSON behind the first byte."""
    if len(message) > _MOST_SAID:
        raise Malformed(f"file: a message of {len(message)} bytes that is no content", format=FILE)
    try:
        said = json.loads(message[1:])
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise Malformed("file: a message that is no JSON object", format=FILE)
    return said


def _printable(text: Any) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(text)[:300])
