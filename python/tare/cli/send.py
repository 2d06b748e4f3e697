"""`tare send`: values from lines of JSON and other data, or whole files, to the other end of a connection."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from tare.cli.connecting import (
    Place,
    Progress,
    connecting,
    drained,
    local,
    output_is_terminal,
    reached,
    show_summary,
)
from tare.cli.signals import ended_by_signals
from tare.cli.types import Rate
from tare.errors import Truncated, UsageError

if TYPE_CHECKING:
    from tare.messages import Connection

__all__ = ["command"]

_STANDARD = "-"
_VALUES = "json"
_PIECE = 256 << 10
_CREDIT_S = 0.1
# Formats whose values stand one after another, and the codec that reads them so.
_STREAMS = {"ndjson": "json", "jsonl": "json", "msgpack": "msgpack", "cbor": "cbor"}


class Pace(click.ParamType):  # type: ignore[type-arg]  # generic in stubs only
    """Values per second, such as 100/s, or bytes per second, such as 10MB/s."""

    name = "rate"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """What is counted, and how many of it a second takes."""
        text = str(value).strip().removesuffix("/s")
        try:
            return "values", _above_zero(float(text))
        except ValueError:
            pass
        try:
            return "bytes", _above_zero(Rate().convert(value, param, ctx))
        except ValueError:
            self.fail(f"{value!r} is not a rate; write 100/s for values, 10MB/s for bytes", param, ctx)


def _above_zero(number: float) -> float:
    if not 0 < number < float("inf"):
        raise ValueError
    return number


@click.command("send", short_help="Send values or files over TCP, a socket, a fifo or a pipe.")
@click.argument("url")
@click.argument("files", nargs=-1, metavar="[FILE...|-]")
@click.option(
    "--from", "from_", metavar="FORMAT",
    help="Send the values of FILE or standard input, which is in this format.  [default: ndjson]",
)  # fmt: skip
@click.option("--name", metavar="NAME", help="Send standard input, or FILE, as a file of this name.")
@click.option("--compressor", metavar="ID", help="Compress on the way: zstd:3, lz4 or gzip:6.")
@click.option("--rate", type=Pace(), metavar="N/s", help="No faster than so many values, or bytes (10MB/s).")
@click.option("--crc", is_flag=True, help="A checksum in each frame; file: has it anyway.")
@click.option("--append", is_flag=True, help="file: go on at the end of what is there.")
@click.option("--force", is_flag=True, help="file: replace what is there.")
@connecting
def command(url: str, files: tuple[str, ...], **options: Any) -> int:
    """Send to URL: values, one a line of JSON on standard input, or each FILE under its name.

    URL is tcp://HOST:PORT, unix:PATH, fifo:PATH, file:PATH, fd:NUMBER, or - for standard output.
    `tare receive` takes both; values also every program that reads the codec and framing you name.

    Over TCP and sockets a FILE counts as sent when the receiver says that it has it.
    Exit code: 0 done, 1 bad data, 2 usage, 3 could not connect or timed out.

    \b
    Examples:
      tare send tcp://host:7000 data.parquet
      jq -c '.events[]' log.json | tare send tcp://host:7000 --codec msgpack
      pg_dump db | tare send unix:/run/dumps --name db.sql --compressor zstd:3
      tare send fifo:queue --from csv people.csv --rate 100/s
      tar c folder | tare send - --raw | ssh host 'tare receive - --raw | tar x'
    """  # noqa: D301 - click keeps lines after a backspace character
    job = _Job(files, options)
    place = Place(url, "send", options)
    if place.is_standard and output_is_terminal():
        raise UsageError("messages do not go to a terminal: pipe standard output, or give a URL")
    more: dict[str, Any] = {"crc": True} if options["crc"] else {}
    with ended_by_signals(), _opened(place, job, options, more) as conn, reached(place.shown, place):
        job.send(place, conn)
        place.leave(conn)
    return 0


@contextlib.contextmanager
def _opened(place: Place, job: _Job, options: dict[str, Any], more: dict[str, Any]) -> Iterator[Connection]:
    mode = "a" if options["append"] else "w"
    if place.scheme == "file":
        path = place.url.partition(":")[2]
        if options["retry"]:
            raise UsageError("--retry is for what is connected to, not for file:")
        if not (options["append"] or options["force"]) and os.path.isfile(path):
            raise UsageError(
                f"{path} exists already: say --append to go on at its end, --force to replace it"
            )
    elif options["append"] or options["force"]:
        raise UsageError(f"--append and --force are for file:, not for {place.shown}")
    conn = place.connect(job.codec, mode, **more)
    try:
        with conn:
            yield conn
    finally:
        show_summary(conn, options)


class _Job:
    """What is sent: values, files, or bytes.

    Args:
        files: As they were given.
        options: The command's.

    Raises:
        UsageError: Options that do not go together, or a name that no receiver takes.
    """

    def __init__(self, files: tuple[str, ...], options: dict[str, Any]) -> None:
        self._files = files or (_STANDARD,)
        self._options = options
        self._pace: tuple[str, float] | None = options["rate"]
        codec, from_, name = options["codec"], options["from_"], options["name"]
        if options["raw"] or codec == "raw":
            self.kind = "raw"
        elif name or (files != () and _STANDARD not in files and not (codec or from_)):
            self.kind = "files"
        else:
            self.kind = "values"
        plain = {"raw": "raw", "files": "file"}.get(self.kind, codec or _VALUES)
        if self.kind != "values" and (from_ or codec not in (None, plain)):
            raise UsageError("--codec and --from are of values; files and --raw are sent as they are")
        if self.kind == "files" and options["framing"] != "frame":
            raise UsageError("files go with --framing frame alone")
        if self.kind != "values" and self._pace is not None and self._pace[0] == "values":
            raise UsageError("--rate of files and --raw is in bytes, such as 10MB/s")
        self.codec = plain if options["compressor"] is None else f"{plain}+{options['compressor']}"
        self._names = self._named(name) if self.kind == "files" else []
        for file in self._files:
            if self.kind != "files" and file != _STANDARD:
                self._check_readable(file)

    def _named(self, name: str | None) -> list[str]:
        from tare.messages.files import name_fault

        if name is not None and len(self._files) > 1:
            raise UsageError("--name is of one file, and there are several")
        names = [name] if name is not None else [os.path.basename(file.rstrip("/")) for file in self._files]
        for one in names:
            fault = name_fault(one)
            if fault is not None:
                raise UsageError(f"{one[:80]!a}: the name {fault}: give another with --name")
            if names.count(one) > 1:
                raise UsageError(f"{one}: two files of this name: the second would replace the first")
        for file in self._files:
            if file == _STANDARD:
                continue
            if os.path.isdir(file):
                raise UsageError(
                    f"{file} is a folder: name its files, or: tar c {file} | tare send ... --raw"
                )
            self._check_readable(file)
        return names

    def _check_readable(self, file: str) -> None:
        """Tell it before anybody is bothered; a fifo must not be opened for that."""
        with local(file):
            os.stat(file)
            if not os.access(file, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        lines = self._options["from_"] is not None or file.endswith((".ndjson", ".jsonl"))
        if self.kind == "values" and not lines:
            from tare.datasets.source import printable

            text = "say --from FORMAT to send its values, no --codec to send the file"
            raise UsageError(f"{printable(file)}: {text}")

    def send(self, place: Place, conn: Connection) -> None:
        """Send all of it."""
        if self.kind == "files":
            self._send_files(place, conn)
        elif self.kind == "raw":
            self._send_bytes(conn)
        else:
            self._send_values(conn)

    def _send_files(self, place: Place, conn: Connection) -> None:
        from tare.messages.files import PART, send_file
        from tare.report.text import size as sized

        both_ways = place.goes_both_ways(conn)
        progress, throttle, part = Progress(), None, PART
        if self._pace is not None:
            throttle, part = _Throttle(self._pace[1]), max(min(PART, int(self._pace[1] / 10)), 1024)

        def passed(name: str, done: int, total: int | None) -> None:
            progress(name, done, total)
            if throttle is not None:
                throttle.up_to(done)

        try:
            for file, name in zip(self._files, self._names):
                if throttle is not None:
                    throttle.restart()
                with _reading(file) as source:
                    facts = os.fstat(source.fileno())
                    regular = stat.S_ISREG(facts.st_mode)
                    sent = send_file(
                        conn,
                        source,
                        name,
                        size=facts.st_size if regular and file != _STANDARD else None,
                        mtime_ns=facts.st_mtime_ns if regular and facts.st_mtime_ns >= 0 else None,
                        wants_receipt=both_ways,
                        part=part,
                        on_part=passed,
                    )
                kept = ", and the receiver has it" if both_ways else ""
                progress.say(f"{name}  {sized(sent.size)} sent{kept}")
        finally:
            progress.clear()

    def _send_bytes(self, conn: Connection) -> None:
        throttle = _Throttle(self._pace[1]) if self._pace is not None else None
        piece = _PIECE if self._pace is None else max(min(_PIECE, int(self._pace[1] / 10)), 1024)
        done = 0
        for file in self._files:
            with _reading(file) as source:
                # What is there is sent at once, and not held until a piece is full.
                while data := _piece(source, piece):
                    conn.send(data)
                    done += len(data)
                    if throttle is not None:
                        throttle.up_to(done)

    def _send_values(self, conn: Connection) -> None:
        throttle = _Throttle(self._pace[1]) if self._pace is not None else None
        counts = self._pace is not None and self._pace[0] == "values"
        number = 0
        for values in _batches(self._files, self._options):
            if throttle is None:
                conn.send_all(values)
                continue
            for value in values:
                conn.send(value)
                number += 1
                throttle.up_to(number if counts else conn.tell()[1])


@contextlib.contextmanager
def _reading(file: str) -> Iterator[BinaryIO]:
    if file == _STANDARD:
        with open(0, "rb", buffering=0, closefd=False) as standard:
            yield cast(BinaryIO, standard)
        return
    with local():
        source = open(file, "rb", buffering=0)
    with source:
        yield cast(BinaryIO, source)


def _piece(source: BinaryIO, most: int) -> bytes:
    with local():
        return source.read(most)


def _batches(files: tuple[str, ...], options: dict[str, Any]) -> Iterator[list[Any]]:
    """Values as they come, as many at once as are there."""
    format = options["from_"]
    for file in files:
        codec = _STREAMS.get(format or "ndjson")
        if codec is not None:
            yield from _streamed(file, codec, options)
        else:
            yield from _converted(file, format)


def _streamed(file: str, codec: str, options: dict[str, Any]) -> Iterator[list[Any]]:
    """Values that stand one after another, by the native framing of their format."""
    from tare import connect

    limits = {"max_message": options["max_message"]} if options["max_message"] else {}
    with local():
        url = f"fd:{os.dup(0)}" if file == _STANDARD else f"file:{file}"
        source = connect(url, codec, mode="r", framing="native", **limits)
    shown = "standard input" if file == _STANDARD else file
    with source:
        try:
            yield from drained(source)
        except Truncated as error:
            rest = _last_line(source, codec)
            if rest is None:
                error.args = (f"{shown}: {error}",)
                raise
            yield [rest]
        except ValueError as error:
            error.args = (f"{shown}: {error}",)
            raise


def _last_line(source: Connection, codec: str) -> Any:
    """The last line without an end, if it cannot be a part of one: a number could be; None if it is not whole."""
    rest = source.partial().strip()
    if codec != "json" or not rest.startswith((b"{", b"[", b'"')):
        return None
    try:
        return json.loads(rest)
    except ValueError:
        return None


def _converted(file: str, format: str) -> Iterator[list[Any]]:
    """The rows or items of other data, converted to lines in another thread as they are sent."""
    from tare import connect, io

    reading, writing = os.pipe()
    trouble: list[BaseException] = []

    def work() -> None:
        try:
            with open(writing, "wb") as sink:
                io.convert(file, sink, codec="ndjson", format=format, verify=False)
        except BrokenPipeError:
            pass  # who reads has an error of its own
        except BaseException as error:
            trouble.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    with connect(f"fd:{reading}", "json", mode="r", framing="native") as source:
        yield from drained(source)
    thread.join()
    if trouble:
        with local():
            raise trouble[0]


class _Throttle:
    """Waits until as much as was sent may have been.

    Args:
        rate: How much a second takes.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self.restart()

    def restart(self) -> None:
        """Count from zero again, from now on."""
        self._start = time.monotonic()

    def up_to(self, done: float) -> None:
        """Wait until so much, counted from the start, may have been sent; a pause saves up little."""
        now, taken = time.monotonic(), done / self._rate
        self._start = max(self._start, now - _CREDIT_S - taken)
        if self._start + taken > now:
            time.sleep(self._start + taken - now)
