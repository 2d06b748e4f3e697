"""Where `tare receive` puts what comes: standard output, one file, or a folder."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import click

from tare._tare import MessageDeadline
from tare.atomic import Replacement
from tare.cli.connecting import Progress, ReaderGone, local, output_is_terminal
from tare.cli.json_lines import LineWriter
from tare.errors import Limit, Malformed, TareError, Truncated, Unsupported, UsageError

if TYPE_CHECKING:
    from types import TracebackType

    from tare.messages import Connection
    from tare.messages.files import FileReceiver, WholeFile

__all__ = ["HEARD_S", "Guest", "Receiver", "Target"]

_LINES = (".ndjson", ".jsonl")
_LAST_WORDS_S = 1.0
HEARD_S = 2.0
"""Seconds for a sender to read why it was refused."""

_READ_S = 10.0  # for a sender to read a receipt
_MOST_OWED = 256 << 10  # bytes of receipts
_UNREAD = "the sender does not read its receipts"


class Target:
    """What ``--to`` and ``--raw`` mean.

    Args:
        to: ``ndjson``, a file, a folder; None and ``-`` are ``ndjson``.
        raw: Whether bytes are written as they are.
        force: Whether files that are there are replaced.

    Raises:
        UsageError: Options that do not go together, or a folder that is none.
    """

    def __init__(self, to: str | None, *, raw: bool, force: bool) -> None:
        self.raw = raw
        self.force = force
        is_terminal = output_is_terminal()  # where each file is named, too
        self.place: str | None = None
        self.is_folder = False
        if to in (None, "-", "ndjson"):
            if to == "ndjson" and raw:
                raise UsageError("--to ndjson and --raw both say what to write: give one")
            if raw and is_terminal:
                raise UsageError("bytes do not go to a terminal: pipe standard output, or say --to FILE")
            return
        assert to is not None
        self.place = to
        self.is_folder = to.endswith("/") or os.path.isdir(to)
        if self.is_folder and os.path.lexists(to) and not os.path.isdir(to):
            raise UsageError(f"{to} exists and is not a folder: give --to another name")
        if not self.is_folder and os.path.lexists(to) and not force:
            raise UsageError(f"{to} exists already: say --force to replace it")

    @property
    def is_output(self) -> bool:
        """Whether it is standard output."""
        return self.place is None


class Receiver:
    """Takes what all connections bring; a context, which leaves nothing half written.

    Args:
        target: Where to.
        options: The command's.
    """

    def __init__(self, target: Target, options: dict[str, Any]) -> None:
        self.target = target
        self.progress = Progress()
        self.framed: bool = options["framing"] == "frame"
        self.max_files: int = options["max_files"]
        self._left: int | None = options["count"]
        self._count = 0
        self._number = 0  # of the last value that has a file of its own
        self._lines = LineWriter()
        self._notes = None
        if options["fidelity"]:
            from tare.cli.r_peer import PeerNotes

            self._notes = PeerNotes()
        self._file: BinaryIO | None = None
        self._spool: Replacement | None = None
        self._holds_lines = False

    def __enter__(self) -> Self:
        if self.target.is_folder:
            with local():
                os.makedirs(cast(str, self.target.place), exist_ok=True)
                self._number = _last_number(cast(str, self.target.place))
        return self

    @property
    def left(self) -> int:
        """How many more are taken."""
        return 1 << 40 if self._left is None else self._left - self._count

    def put_values(self, values: list[Any]) -> None:
        """Print values, or write them to the file."""
        if self._notes is not None:
            self._notes.see(values)
        self._holds_lines = True
        self._write(self._lines.lines(values))
        self._count += len(values)

    def put_bytes(self, payloads: list[bytes]) -> None:
        """Write payloads as they are."""
        if self.target.is_output and not self.target.raw:
            raise UsageError("the other end sends bytes: --raw writes them as they are, --to FILE keeps them")
        self._write(payloads)
        self._count += len(payloads)

    def put_numbered(self, payloads: list[bytes], ending: str) -> None:
        """Each payload in a file of its own."""
        for payload in payloads:
            self._number += 1
            path = os.path.join(cast(str, self.target.place), f"{self._number:08d}.{ending}")
            with local(path), _exclusive(path, force=self.target.force) as file:
                file.write(payload)
            self._count += 1
            self._print([os.fsencode(path) + b"\n"])

    def kept(self, file: WholeFile) -> None:
        """A file is whole."""
        from tare.report.text import size

        self._count += 1
        self.progress.say(f"{file.name}  {size(file.size)} received")
        if file.path is not None:
            self._print([os.fsencode(file.path) + b"\n"])

    def sink(self) -> BinaryIO:
        """Where the content of files goes that get no name."""
        return cast(BinaryIO, _Through(lambda data: self._write([data])))

    def _write(self, parts: list[bytes]) -> None:
        if self.target.is_output:
            self._print(parts)
            return
        with local(self.target.place):
            if self._file is None:
                self._spool = Replacement(cast(str, self.target.place), exclusive=not self.target.force)
                self._file = open(self._spool.temporary, "wb")
            self._file.writelines(parts)

    def _print(self, parts: list[bytes]) -> None:
        try:
            with _standard_output():
                sys.stdout.buffer.writelines(parts)
                sys.stdout.buffer.flush()
        except BrokenPipeError as error:
            raise ReaderGone(*error.args) from error

    def finish(self) -> None:
        """All came well: the file gets its name, and what is to be said is said."""
        if self._notes is not None:
            for line in self._notes.lines():
                click.echo(line, err=True)
        if self._lines.unlike_json:
            text = "hold NaN or infinity, which are written as NaN and Infinity: no strict JSON"
            click.echo(f"tare: {self._lines.unlike_json:,} values {text}", err=True)
        if self._file is None or self._spool is None:
            return
        path = cast(str, self.target.place)
        with local(path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            if self._holds_lines and not path.endswith(_LINES):
                from tare import io as files

                files.convert(self._spool.temporary, path, format="ndjson", overwrite=self.target.force)
                self._spool.abandon()
            else:
                self._spool.commit()
            self._spool = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.clear()
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        if self._spool is not None:
            self._spool.abandon()


class Guest:
    """What one connection brings; a context, which tells a sender of files why it ended.

    Args:
        conn: The connection.
        receiver: Where it goes.
        waits: Whether a sender that does not read is waited for; else `push` sends what it is owed.
    """

    def __init__(self, conn: Connection, receiver: Receiver, *, waits: bool = True) -> None:
        self._conn = conn
        self._receiver = receiver
        self._files: FileReceiver | None = None
        self._needs_end = receiver.target.raw and receiver.framed
        self._waits = waits
        self._made = 0  # files
        self._owed = 0  # bytes of receipts that were not sent at once
        self._owes: MessageDeadline | None = None

    def take(self, values: list[Any]) -> None:
        """Take values in the codec that the sender said.

        Raises:
            UsageError: They cannot go where they should.
            TareError: A file that is refused, or a value that cannot be printed.
            LocalTrouble: They cannot be written.
        """
        from tare.messages.files import FILE

        facts = self._conn.summary()
        said: str = facts["peer_codec"] or facts["codec"] or ""
        here = str(facts["codec"]).partition("+")[0]
        if said.partition("+")[0] == FILE:
            self._take_files(values)
            return
        values = values[: self._receiver.left]
        if here == "raw" and self._receiver.target.is_folder:
            if facts["peer_codec"] is None and not all(values):
                raise Malformed(
                    "an empty message, and the sender did not say what it sends: nothing to make a file of"
                )
            allowed = self._receiver.max_files - self._made
            self._receiver.put_numbered(values[:allowed], _ending(said))
            self._made += len(values[:allowed])
            if len(values) > allowed:
                raise self._too_many()
        elif here == "raw":
            self._receiver.put_bytes(values)
        else:
            self._receiver.put_values(values)

    def _take_files(self, messages: list[bytes]) -> None:
        from tare.messages.files import receipt

        self._needs_end = True
        if self._files is None:
            self._files = self._file_receiver()
        for message in messages:
            if self._receiver.left < 1:
                return
            if self._files.name is None and self._made >= self._receiver.max_files:
                raise self._too_many()
            with local():
                file = self._files.take(message)
            if file is not None:
                self._made += self._receiver.target.is_folder
                self._receiver.kept(file)
                if file.wants_receipt:
                    self._answer(receipt(file))

    def _too_many(self) -> Limit:
        most = self._receiver.max_files
        return Limit(f"more than {most:,} files of one sender: --max-files N takes N of each")

    def _answer(self, message: bytes) -> None:
        """Send a receipt.

        Raises:
            TimeoutError: The sender does not read its receipts.
        """
        try:
            self._conn.send(message, timeout=_READ_S if self._waits else 0)
        except TimeoutError:
            self._owed += len(message)
            if self._waits or self._owed > _MOST_OWED:
                raise TimeoutError(_UNREAD) from None
            self._owes = self._owes or MessageDeadline(_READ_S)

    @property
    def owes(self) -> bool:
        """Whether receipts wait to be sent; until they are, nothing more should be taken."""
        return self._owes is not None

    @property
    def wants_receipt(self) -> bool:
        """Whether the sender of the file that came last waits to be told."""
        return self._files is not None and self._files.wants_receipt

    def push(self) -> None:
        """Send what is owed, as far as the sender reads.

        Raises:
            TimeoutError: It does not read its receipts.
            OSError: It is gone.
        """
        try:
            self._conn.flush(0)
        except TimeoutError:
            if self._owes is not None and self._owes.over:
                raise TimeoutError(_UNREAD) from None
        else:
            self._owes, self._owed = None, 0

    def _file_receiver(self) -> FileReceiver:
        from tare.messages.files import FileReceiver

        target = self._receiver.target
        if target.is_output and not target.raw:
            raise UsageError("the other end sends files: say --to FOLDER/, or --raw to print what they hold")
        return FileReceiver(
            target.place,
            one=not target.is_folder,
            sink=self._receiver.sink() if target.raw else None,
            overwrite=target.force,
            on_part=self._receiver.progress,
        )

    def check_end(self, require: bool | None) -> None:
        """The stream ended: whether that was its end.

        Args:
            require: Whether the sender must have said so; None is where it matters.

        Raises:
            Truncated: It was not.
        """
        if self._files is not None and self._files.name is not None:
            name = self._files.name
            raise Truncated(f"{name}: the sender went away in the middle of it; nothing of it is kept")
        needs = self._needs_end if require is None else require
        if needs and self._conn.status != "ended":
            raise Truncated(
                "the stream ended and the sender did not say that it finished: something may be missing"
            )

    def refuse(self, error: BaseException | None, timeout: float) -> bool:
        """Remove what is not whole, and tell a sender of files why; whether it should be heard out.

        Closing before it has read that could take the word back.

        Args:
            error: Why; None at the end.
            timeout: Seconds to wait for it to read.
        """
        from tare.messages.files import refusal

        if self._files is None:
            return False
        name = self._files.name
        self._files.abandon()
        if error is None or not self._files.wants_receipt or self._conn.closed:
            return False
        try:
            self._conn.send(refusal(name, _reason(error)), timeout=timeout)
        except TimeoutError:
            return timeout == 0  # it is queued
        except (OSError, EOFError, TareError):
            return False
        return isinstance(error, Exception)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.refuse(error, _LAST_WORDS_S):
            with contextlib.suppress(OSError, EOFError, TareError):
                patience = MessageDeadline(HEARD_S)
                while not patience.over:
                    self._conn.receive(timeout=patience.left())


class _Through(io.RawIOBase):
    """A file that hands on what is written."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        super().__init__()
        self._write = write

    def write(self, data: Any) -> int:
        self._write(bytes(data))
        return len(data)


@contextlib.contextmanager
def _standard_output() -> Iterator[None]:
    """Errors of standard output say that they are, but for a reader that has gone."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        with local("standard output"):
            raise


@contextlib.contextmanager
def _exclusive(path: str, *, force: bool) -> Iterator[BinaryIO]:
    place = Replacement(path, exclusive=not force)
    try:
        with open(place.temporary, "wb") as file:
            yield cast(BinaryIO, file)
        place.commit()
    except BaseException:
        place.abandon()
        raise


def _last_number(folder: str) -> int:
    """Highest number of a value that was kept here before."""
    names = (name.partition(".")[0] for name in os.listdir(folder))
    return max(
        (int(name) for name in names if len(name) == 8 and name.isascii() and name.isdigit()), default=0
    )


def _ending(codec: str) -> str:
    """Ending of a file that holds a payload, which is kept and not decoded.

    Raises:
        Unsupported: Who decodes it later may run code of the sender's.
    """
    from tare.codec import Codec

    try:
        found = Codec.parse(codec.partition("+")[0])
    except TareError:
        return "bin"
    if found.executes_code:
        raise Unsupported(
            f"the sender says that it sends {codec[:80]!a}, which can run code when it is decoded"
        )
    endings = found.format.extensions
    return endings[0].lstrip(".") if endings else "bin"


def _reason(error: BaseException) -> str:
    """Why, in words for the other end: no paths of this one."""
    if isinstance(error, TareError):
        return str(error)
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return "the receiver was stopped" if not isinstance(error, Exception) else "it could not be kept"
